/* Sweeps over V: V := V times a triangle, and the Gram matrix, of a tile at a time while it is in
 * the cache. */
#include <cblas.h>
#include <string.h>

#include "linalg/cpu/gram_qr/plan.h"

struct sweep {
    struct bd_cpu_gram *gram;
    const struct bd_tall_kernels *kernels;
    void *v;
    int64_t ldv;
    int multiply, with_gram, check;
    int64_t ahead; /* rows ahead that kernels prefetch: the next tile; 0: none */
};

/* Up to so many columns, the factors of a triangle stay in L1 beside 64 rows of V. */
enum { narrow_columns = 64 };

/* V is prefetched a tile ahead if it has more bytes: 100000 x 20 on one core gains a tenth, and a V
 * that fits into L2 would lose as much. */
enum { large_bytes = 4 << 20 };

/* Rows rounded up to what the kernels take. */
static int64_t padded(int64_t rows)
{
    return (rows + bd_tall_rows - 1) / bd_tall_rows * bd_tall_rows;
}

static void multiply_double(const struct sweep *s, int64_t rows, double *v, int64_t ldv,
                            int64_t ahead)
{
    const struct bd_cpu_triangle *t = &s->gram->triangle;
    int64_t step = s->gram->n <= narrow_columns ? bd_tall_rows : rows;
    for (int64_t row = 0; row < rows; row += step)
        s->kernels->multiply(step, v + row, ldv, ahead, t->groups, t->count, t->t);
}

static void multiply_single(const struct sweep *s, int64_t rows, float *v, int64_t ldv,
                            int64_t ahead)
{
    const struct bd_cpu_triangle *t = &s->gram->triangle;
    int64_t step = s->gram->n <= narrow_columns ? bd_tall_rows : rows;
    for (int64_t row = 0; row < rows; row += step)
        s->kernels->multiply_single(step, v + row, ldv, ahead, t->groups, t->count, t->single);
}

/* rows x n of doubles from V to a tile of its own with zeros below, and back. */
static void copy_in(const struct sweep *s, int64_t rows, const double *v, double *tile)
{
    int64_t ld = padded(rows);
    for (int64_t j = 0; j < s->gram->n; j++) {
        memcpy(tile + j * ld, v + j * s->ldv, (size_t)rows * sizeof *tile);
        memset(tile + rows + j * ld, 0, (size_t)(ld - rows) * sizeof *tile);
    }
}

static void copy_out(const struct sweep *s, int64_t rows, const double *tile, double *v)
{
    int64_t ld = padded(rows);
    for (int64_t j = 0; j < s->gram->n; j++)
        memcpy(v + j * s->ldv, tile + j * ld, (size_t)rows * sizeof *tile);
}

static void widen(const struct sweep *s, int64_t rows, const float *v, int64_t ahead, double *tile)
{
    int64_t ld = padded(rows);
    for (int64_t j = 0; j < s->gram->n; j++) {
        s->kernels->widen(rows, v + j * s->ldv, ahead, tile + j * ld);
        memset(tile + rows + j * ld, 0, (size_t)(ld - rows) * sizeof *tile);
    }
}

/* A tile of a float32 V: all arithmetic on doubles in `tile`. */
static void tile_float(const struct sweep *s, int64_t rows, float *v, double *tile, double *g)
{
    int64_t n = s->gram->n, ld = padded(rows);
    widen(s, rows, v, s->ahead, tile);
    if (s->multiply) {
        multiply_double(s, ld, tile, ld, 0);
        for (int64_t j = 0; j < n; j++)
            s->kernels->narrow(rows, tile + j * ld, 0, 1, v + j * s->ldv);
        if (s->with_gram) /* that of V as it was stored */
            widen(s, rows, v, 0, tile);
    }
    if (s->with_gram)
        s->kernels->gram(ld, n, tile, ld, 0, g);
}

/* A tile of a float64 V is computed with where it is but for its last rows. */
static void tile_double(const struct sweep *s, int64_t rows, double *v, double *tile, double *g)
{
    int64_t n = s->gram->n, whole = rows / bd_tall_rows * bd_tall_rows, rest = rows - whole;
    if (s->multiply && s->gram->triangle.is_single) {
        float *single = (float *)tile;
        int64_t ld = padded(rows);
        for (int64_t j = 0; j < n; j++) {
            s->kernels->narrow(rows, v + j * s->ldv, s->ahead, s->gram->triangle.scale[j],
                               single + j * ld);
            memset(single + rows + j * ld, 0, (size_t)(ld - rows) * sizeof *single);
        }
        multiply_single(s, ld, single, ld, 0);
        for (int64_t j = 0; j < n; j++)
            s->kernels->widen(rows, single + j * ld, 0, v + j * s->ldv);
    } else if (s->multiply) {
        multiply_double(s, whole, v, s->ldv, s->ahead);
        if (rest) {
            copy_in(s, rest, v + whole, tile);
            multiply_double(s, bd_tall_rows, tile, bd_tall_rows, 0);
            copy_out(s, rest, tile, v + whole);
        }
    }
    if (!s->with_gram)
        return;
    if (whole)
        s->kernels->gram(whole, n, v, s->ldv, s->multiply ? 0 : s->ahead, g);
    if (rest) {
        copy_in(s, rest, v + whole, tile);
        s->kernels->gram(bd_tall_rows, n, tile, bd_tall_rows, 0, g);
    }
}

static void run_part(void *arg, int64_t part, int thread)
{
    const struct sweep *s = arg;
    struct bd_cpu_gram *gram = s->gram;
    int64_t n = gram->n, first = part * gram->part_rows, end = first + gram->part_rows;
    double *tile = gram->buffer + (int64_t)thread * gram->tile_rows * n;
    double *g = gram->part_g + part * n * n;
    int finite = 1;
    if (end > gram->m)
        end = gram->m;
    if (s->with_gram)
        memset(g, 0, (size_t)(n * n) * sizeof *g);
    for (int64_t row = first; row < end; row += gram->tile_rows) {
        int64_t rows = end - row < gram->tile_rows ? end - row : gram->tile_rows;
        if (gram->type == BD_F32) {
            float *v = (float *)s->v + row;
            tile_float(s, rows, v, tile, g);
            for (int64_t j = 0; j < n && s->check; j++)
                finite &= s->kernels->finite_single(rows, v + j * s->ldv);
        } else {
            double *v = (double *)s->v + row;
            tile_double(s, rows, v, tile, g);
            for (int64_t j = 0; j < n && s->check; j++)
                finite &= s->kernels->finite(rows, v + j * s->ldv);
        }
    }
    gram->finite[part] = finite;
}

/* Additions that are worth an item of the pool. */
enum { additions = 1 << 16 };

static int64_t columns_together(const struct bd_cpu_gram *gram)
{
    int64_t columns = additions / (gram->n * (gram->parts + 1));
    return columns < 1 ? 1 : columns;
}

static void add_columns(void *arg, int64_t item, int thread)
{
    struct bd_cpu_gram *gram = ((const struct sweep *)arg)->gram;
    int64_t n = gram->n, together = columns_together(gram), end = (item + 1) * together;
    (void)thread;
    for (int64_t j = item * together; j < end && j < n; j++) {
        double *g = gram->g + j * n;
        memset(g, 0, (size_t)n * sizeof *g);
        for (int64_t part = 0; part < gram->parts; part++)
            for (int64_t i = 0; i <= j; i++)
                g[i] += gram->part_g[i + (j + part * n) * n];
    }
}

/* Many columns of float64, by BLAS, so many rows at a time that its integers hold the sizes. */
static void sweep_wide(const struct sweep *s)
{
    struct bd_cpu_gram *gram = s->gram;
    const int64_t step = 1 << 20;
    int n = (int)gram->n, ldv = (int)s->ldv;
    if (s->with_gram)
        memset(gram->g, 0, (size_t)(gram->n * gram->n) * sizeof *gram->g);
    for (int64_t row = 0; row < gram->m; row += step) {
        int rows = (int)(gram->m - row < step ? gram->m - row : step);
        double *v = (double *)s->v + row;
        if (s->multiply && gram->triangle.is_wide < 0)
            cblas_dtrsm(CblasColMajor, CblasRight, CblasUpper, CblasNoTrans, CblasNonUnit, rows, n,
                        1, gram->r, n, v, ldv);
        else if (s->multiply)
            cblas_dtrmm(CblasColMajor, CblasRight, CblasUpper, CblasNoTrans, CblasNonUnit, rows, n,
                        1, gram->triangle.product, n, v, ldv);
        if (s->with_gram)
            cblas_dsyrk(CblasColMajor, CblasUpper, CblasTrans, n, rows, 1, v, ldv, 1, gram->g, n);
    }
}

int bd_cpu_gram_sweep(struct bd_cpu_gram *gram, void *v, int64_t ldv, int multiply, int with_gram,
                      int check)
{
    int is_large = gram->m * gram->n * bd_type_size(gram->type) > large_bytes;
    struct sweep sweep = { .gram = gram,
                           .kernels = bd_kernels()->tall,
                           .v = v,
                           .ldv = ldv,
                           .multiply = multiply,
                           .with_gram = with_gram,
                           .check = check,
                           .ahead = is_large ? gram->tile_rows : 0 };
    struct bd_pool *pool = bd_cpu_pool(gram->backend);
    int finite = 1;
    if (gram->n > bd_cpu_wide_columns && gram->type == BD_F64 &&
        (!multiply || gram->triangle.is_wide)) {
        sweep_wide(&sweep);
        sweep.multiply = sweep.with_gram = 0; /* only the check may be left to do */
    }
    if (sweep.multiply || sweep.with_gram || check)
        bd_pool_run(pool, run_part, &sweep, gram->parts);
    if (sweep.with_gram)
        bd_pool_run(pool, add_columns, &sweep,
                    (gram->n + columns_together(gram) - 1) / columns_together(gram));
    for (int64_t part = 0; part < gram->parts && check; part++)
        finite &= gram->finite[part];
    return finite;
}
