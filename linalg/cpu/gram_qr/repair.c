/* For a V whose Gram matrix cannot be used: magnitudes and repair, a column an item. */
#include <math.h>

#include "linalg/cpu/gram_qr/plan.h"

struct columns {
    struct bd_cpu_gram *gram;
    void *v;
    int64_t ldv, first_row;
    double *largest;
    const int *exponent;
};

static double get(const struct columns *c, int64_t i, int64_t j)
{
    return c->gram->type == BD_F64 ? ((const double *)c->v)[i + j * c->ldv]
                                   : (double)((const float *)c->v)[i + j * c->ldv];
}

static void put(const struct columns *c, int64_t i, int64_t j, double x)
{
    if (c->gram->type == BD_F64)
        ((double *)c->v)[i + j * c->ldv] = x;
    else
        ((float *)c->v)[i + j * c->ldv] = (float)x;
}

static void measure(void *arg, int64_t j, int thread)
{
    const struct columns *c = arg;
    double largest = 0;
    (void)thread;
    for (int64_t i = 0; i < c->gram->m; i++) {
        double x = fabs(get(c, i, j));
        if (!(x <= largest))
            largest = isnan(largest) ? largest : x;
    }
    c->largest[j] = largest;
}

enum bd_status bd_cpu_gram_magnitudes(void *work, const void *v, int64_t ldv, double *largest)
{
    struct bd_cpu_gram *gram = work;
    struct columns columns = { .gram = gram, .v = (void *)v, .ldv = ldv, .largest = largest };
    bd_pool_run(bd_cpu_pool(gram->backend), measure, &columns, gram->n);
    return BD_OK;
}

/* Pseudo-random in -1 .. 1, a function of row and column alone: Steele, Lea, Flood: Fast splittable
 * pseudorandom number generators (2014), the finaliser of SplitMix64. */
static double noise(int64_t row, int64_t column)
{
    uint64_t z = (uint64_t)row * 0x9e3779b97f4a7c15 + (uint64_t)column * 0xd1342543de82ef95 + 1;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    z ^= z >> 31;
    return (double)(z >> 11) * 0x1p-52 - 1;
}

static void repair_column(void *arg, int64_t j, int thread)
{
    const struct columns *c = arg;
    int exponent = c->exponent[j];
    (void)thread;
    for (int64_t i = 0; i < c->gram->m && exponent; i++)
        put(c, i, j,
            exponent == bd_gram_fill ? noise(c->first_row + i, j) : ldexp(get(c, i, j), exponent));
    c->gram->exponent[j] = exponent;
}

enum bd_status bd_cpu_gram_repair(void *work, void *v, int64_t ldv, const int *exponent,
                                  int64_t first_row)
{
    struct bd_cpu_gram *gram = work;
    struct columns columns = {
        .gram = gram, .v = v, .ldv = ldv, .first_row = first_row, .exponent = exponent
    };
    bd_pool_run(bd_cpu_pool(gram->backend), repair_column, &columns, gram->n);
    return BD_OK;
}
