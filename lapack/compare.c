/* Times the drop-in against the LAPACK library it is built with, in one process, in turns, and
 * prints medians: backdrop-lapack-compare [FILE OF THE DROP-IN]. Exit status 1 if it cannot be
 * loaded. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "lapack/names.h"

enum { ROUNDS = 15 };

typedef void geqrf_fn(const int32_t *, const int32_t *, float *, const int32_t *, float *, float *,
                      const int32_t *, int32_t *);
typedef void orgqr_fn(const int32_t *, const int32_t *, const int32_t *, float *, const int32_t *,
                      const float *, float *, const int32_t *, int32_t *);
typedef void gels_fn(const char *, const int32_t *, const int32_t *, const int32_t *, float *,
                     const int32_t *, float *, const int32_t *, float *, const int32_t *, int32_t *,
                     size_t);

struct side { /* 0: ours, 1: the library's */
    geqrf_fn *geqrf;
    orgqr_fn *orgqr;
    gels_fn *gels;
    double factor[ROUNDS], form[ROUNDS], solve[ROUNDS];
};

struct buffers {
    float *a, *factored, *tau, *work, *b;
    int32_t work_size;
};

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *times)
{
    qsort(times, ROUNDS, sizeof *times, ascending);
    return 1e3 * times[ROUNDS / 2];
}

static void time_one(struct side *side, const struct buffers *x, int32_t m, int32_t n, int round)
{
    const int32_t one = 1, k = m < n ? m : n, longest = m > n ? m : n;
    const size_t bytes = (size_t)m * (size_t)n * sizeof(float);
    int32_t info;
    memcpy(x->factored, x->a, bytes);
    double start = bd_clock_seconds();
    side->geqrf(&m, &n, x->factored, &m, x->tau, x->work, &x->work_size, &info);
    side->factor[round] = bd_clock_seconds() - start;
    start = bd_clock_seconds();
    side->orgqr(&m, &k, &k, x->factored, &m, x->tau, x->work, &x->work_size, &info);
    side->form[round] = bd_clock_seconds() - start;
    memcpy(x->factored, x->a, bytes);
    for (int32_t i = 0; i < longest; i++)
        x->b[i] = (float)(i % 7) - 3;
    start = bd_clock_seconds();
    side->gels("N", &m, &n, &one, x->factored, &m, x->b, &longest, x->work, &x->work_size, &info,
               1);
    side->solve[round] = bd_clock_seconds() - start;
}

static void compare(struct side *sides, int32_t m, int32_t n)
{
    const size_t size = (size_t)m * (size_t)n;
    struct buffers x = { .work_size = (m + n) * 80 };
    x.a = malloc(size * sizeof(float));
    x.factored = malloc(size * sizeof(float));
    x.tau = malloc(((size_t)m + (size_t)n) * sizeof(float));
    x.b = malloc(((size_t)m + (size_t)n) * sizeof(float));
    x.work = malloc((size_t)x.work_size * sizeof(float));
    if (x.a && x.factored && x.tau && x.b && x.work) {
        uint32_t random = 1;
        for (size_t i = 0; i < size; i++) {
            random = random * 1664525 + 1013904223;
            x.a[i] = (float)random * 0x1p-32F - 0.5F;
        }
        for (int round = -1; round < ROUNDS; round++)
            for (int i = 0; i < 2; i++)
                time_one(&sides[i], &x, m, n, round < 0 ? 0 : round);
        printf("%8d x %-6d", m, n);
        for (int i = 0; i < 3; i++) {
            double *ours = i == 0 ? sides[0].factor : i == 1 ? sides[0].form : sides[0].solve;
            double *theirs = i == 0 ? sides[1].factor : i == 1 ? sides[1].form : sides[1].solve;
            const double a = median(ours), b = median(theirs);
            printf("  %9.3f %9.3f %6.2f", a, b, b / a);
        }
        printf("\n");
    }
    free(x.a);
    free(x.factored);
    free(x.tau);
    free(x.b);
    free(x.work);
}

static int load(struct side *side, void *library)
{
    *(void **)&side->geqrf = dlsym(library, "sgeqrf_");
    *(void **)&side->orgqr = dlsym(library, "sorgqr_");
    *(void **)&side->gels = dlsym(library, "sgels_");
    return side->geqrf && side->orgqr && side->gels;
}

int main(int argc, char **argv)
{
    static const int32_t shapes[][2] = { { 110592, 100 }, { 110592, 20 }, { 20000, 500 },
                                         { 2000, 2000 },  { 1000, 1000 }, { 500, 500 },
                                         { 2000, 100 },   { 200, 200 },   { 100, 100 },
                                         { 50, 50 },      { 20, 20 },     { 8, 8 },
                                         { 100, 5000 } };
    static struct side sides[2];
    void *ours = dlopen(argc > 1 ? argv[1] : "libbackdrop_lapack.so", RTLD_NOW | RTLD_LOCAL);
    if (!ours || !load(&sides[0], ours)) {
        fprintf(stderr, "backdrop-lapack-compare: %s\n", dlerror());
        return 1;
    }
    if (!load(&sides[1], RTLD_DEFAULT) || sides[0].geqrf == sides[1].geqrf) {
        fprintf(stderr, "backdrop-lapack-compare: no LAPACK to compare with\n");
        return 1;
    }
    printf("milliseconds: drop-in, LAPACK library, ratio\n%17s  %-26s  %-26s  %-26s\n", "",
           "sgeqrf", "sorgqr (thin Q)", "sgels (1 right-hand side)");
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        compare(sides, shapes[i][0], shapes[i][1]);
    return 0;
}
