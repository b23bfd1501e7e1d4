/* The workspace and the table of QR by the Gram matrix and of products with triangles. */
#include "linalg/cpu/gram_qr/plan.h"

#include <cblas.h>
#include <float.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { most_parts = 64, least_parts = 4, l2_bytes = 256 << 10, most_tile_rows = 512 };

/* Tiles take about 256 KiB, a quarter of a Zen 4 core's L2, and have at most 512 rows. There are as
 * many parts as many threads can use, while the parts' Gram matrices take at most an eighth of V.
 */
static void divide(struct bd_cpu_gram *gram)
{
    int64_t rows = l2_bytes / (8 * gram->n) / bd_tall_rows * bd_tall_rows;
    rows = rows < bd_tall_rows ? bd_tall_rows : rows > most_tile_rows ? most_tile_rows : rows;
    int64_t tiles = (gram->m + rows - 1) / rows, parts = gram->m / (8 * gram->n);
    parts = parts < least_parts ? least_parts : parts > most_parts ? most_parts : parts;
    parts = parts < tiles ? parts : tiles;
    int64_t part_tiles = parts ? (tiles + parts - 1) / parts : 0;
    gram->tile_rows = rows;
    gram->part_rows = part_tiles * rows;
    gram->parts = part_tiles ? (tiles + part_tiles - 1) / part_tiles : 0;
}

static void gram_destroy(void *work)
{
    struct bd_cpu_gram *gram = work;
    if (!gram)
        return;
    bd_cpu_free_memory(&gram->memory);
    free(gram);
}

/* What the SVD method needs beside. */
static void make_eigen(struct bd_cpu_gram *gram)
{
    struct bd_cpu_memory *memory = &gram->memory;
    lapack_int n = (lapack_int)gram->n, iwork = 0;
    double eigen = 0, qr = 0;
    gram->u = bd_cpu_doubles(memory, gram->n * gram->n);
    gram->eigenvalue = bd_cpu_doubles(memory, n);
    gram->diagonal = bd_cpu_doubles(memory, n);
    gram->tau = bd_cpu_doubles(memory, n);
    if (LAPACKE_dsyevd_work(LAPACK_COL_MAJOR, 'V', 'U', n, gram->u, n, gram->eigenvalue, &eigen, -1,
                            &iwork, -1) ||
        LAPACKE_dgeqrf_work(LAPACK_COL_MAJOR, n, n, gram->r, n, gram->tau, &qr, -1))
        memory->missing = true;
    gram->work_size = (lapack_int)fmax(eigen, qr);
    gram->iwork_size = iwork;
    gram->work = bd_cpu_doubles(memory, gram->work_size);
    gram->iwork = bd_cpu_take(memory, (size_t)iwork * sizeof *gram->iwork);
}

static enum bd_status gram_create(struct bd_backend *backend, int64_t m, int64_t n,
                                  enum bd_type type, int svd, void **work)
{
    struct bd_cpu_gram *gram = calloc(1, sizeof *gram);
    if (!gram)
        return bd_fail(BD_ERROR_MEMORY, "no memory for the Gram matrix of %lld columns",
                       (long long)n);
    struct bd_cpu_memory *memory = &gram->memory;
    struct bd_cpu_triangle *triangle = &gram->triangle;
    int64_t square = n * n, room = n * (n + 2 * bd_tall_width);
    *gram = (struct bd_cpu_gram){ .backend = backend, .m = m, .n = n, .type = type };
    divide(gram);
    gram->part_g = bd_cpu_doubles(memory, gram->parts * square);
    gram->buffer =
        bd_cpu_doubles(memory, bd_pool_threads(bd_cpu_pool(backend)) * gram->tile_rows * n);
    gram->g = bd_cpu_doubles(memory, square);
    gram->r = bd_cpu_doubles(memory, square);
    gram->r_total = bd_cpu_doubles(memory, square);
    gram->inverse = bd_cpu_doubles(memory, square);
    gram->norm = bd_cpu_doubles(memory, n);
    gram->condition_vector = bd_cpu_doubles(memory, 2 * n);
    triangle->t = bd_cpu_doubles(memory, room);
    triangle->scale = bd_cpu_doubles(memory, n);
    triangle->single = bd_cpu_floats(memory, room);
    triangle->groups = bd_cpu_take(memory, (size_t)n * sizeof *triangle->groups);
    gram->exponent = bd_cpu_take(memory, (size_t)n * sizeof *gram->exponent);
    gram->finite = bd_cpu_take(memory, (size_t)gram->parts * sizeof *gram->finite);
    if (svd)
        make_eigen(gram);
    if (memory->missing) {
        gram_destroy(gram);
        return bd_fail(BD_ERROR_MEMORY, "no memory for the Gram matrix of %lld columns",
                       (long long)n);
    }
    *work = gram;
    return BD_OK;
}

static enum bd_status gram_form(void *work, const void *v, int64_t ldv)
{
    /* A sweep that does not multiply only reads. */
    bd_cpu_gram_sweep(work, (void *)v, ldv, 0, 1, 0);
    return BD_OK;
}

static enum bd_status gram_get(void *work, double *g)
{
    const struct bd_cpu_gram *gram = work;
    memcpy(g, gram->g, (size_t)(gram->n * gram->n) * sizeof *g);
    return BD_OK;
}

static enum bd_status gram_put(void *work, const double *g)
{
    const struct bd_cpu_gram *gram = work;
    memcpy(gram->g, g, (size_t)(gram->n * gram->n) * sizeof *g);
    return BD_OK;
}

static void set_identity(struct bd_cpu_gram *gram)
{
    memset(gram->r, 0, (size_t)(gram->n * gram->n) * sizeof *gram->r);
    for (int64_t j = 0; j < gram->n; j++)
        gram->r[j + j * gram->n] = 1;
    gram->identity = 1;
}

/* R_total := R R_total, or R in pass 0. First R is corrected for what repair did to V. */
static void accumulate(struct bd_cpu_gram *gram, int pass)
{
    int64_t n = gram->n;
    double *r = gram->inverse; /* not in use yet */
    memcpy(r, gram->r, (size_t)(n * n) * sizeof *r);
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = 0; i <= j && gram->exponent[j]; i++)
            r[i + j * n] =
                gram->exponent[j] == bd_gram_fill ? 0 : ldexp(r[i + j * n], -gram->exponent[j]);
        gram->exponent[j] = 0;
    }
    if (pass == 0)
        memcpy(gram->r_total, r, (size_t)(n * n) * sizeof *r);
    else
        cblas_dtrmm(CblasColMajor, CblasLeft, CblasUpper, CblasNoTrans, CblasNonUnit, (int)n,
                    (int)n, 1, r, (int)n, gram->r_total, (int)n);
}

/* ||G - I||_F, and whether its diagonal is in range. */
static double departure(const struct bd_cpu_gram *gram, int *in_range)
{
    double sum = 0;
    *in_range = 1;
    for (int64_t j = 0; j < gram->n; j++) {
        const double *column = gram->g + j * gram->n;
        for (int64_t i = 0; i < j; i++)
            sum += 2 * column[i] * column[i];
        sum += (column[j] - 1) * (column[j] - 1);
        *in_range = *in_range && column[j] >= 0x1p-900 && column[j] <= 0x1p1000;
    }
    return sqrt(sum);
}

static enum bd_status gram_factor(void *work, const struct bd_gram_step *step)
{
    struct bd_cpu_gram *gram = work;
    struct bd_gram_qr_pass *record = &gram->record[step->pass];
    int in_range;
    *record = (struct bd_gram_qr_pass){ 0 };
    record->orthogonality = departure(gram, &in_range);
    record->skipped = in_range && record->orthogonality < step->enough;
    gram->bad[step->pass] = !in_range;
    gram->identity = 0;
    if (!in_range || record->skipped)
        set_identity(gram);
    else if (step->method != BD_GRAM_QR_SVD)
        bd_cpu_gram_cholesky(gram, step->shift, record);
    else if (bd_cpu_gram_svd(gram, record) != BD_OK)
        gram->bad[step->pass] = 1;
    if (gram->bad[step->pass]) {
        set_identity(gram);
        return BD_OK;
    }
    accumulate(gram, step->pass);
    if (!gram->identity) {
        double condition = sqrt(fmin(record->condition, 1 / DBL_EPSILON));
        record->single = step->mixed && record->condition >= 1 / DBL_EPSILON;
        bd_cpu_triangle_invert(gram, condition, step->solve, record->single);
    }
    return BD_OK;
}

static enum bd_status gram_solve(void *work, void *v, int64_t ldv, int form)
{
    struct bd_cpu_gram *gram = work;
    if (!gram->identity || form)
        bd_cpu_gram_sweep(gram, v, ldv, !gram->identity, form, 0);
    return BD_OK;
}

static enum bd_status gram_report(void *work, int pass, struct bd_gram_qr_pass *record)
{
    const struct bd_cpu_gram *gram = work;
    *record = gram->record[pass];
    return gram->bad[pass] ? BD_ERROR_NUMERIC : BD_OK;
}

static enum bd_status gram_get_r(void *work, void *r, int64_t ldr)
{
    const struct bd_cpu_gram *gram = work;
    int64_t n = gram->n;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++) {
            double x = i <= j ? gram->r_total[i + j * n] : 0;
            if (gram->type == BD_F64)
                ((double *)r)[i + j * ldr] = x;
            else
                ((float *)r)[i + j * ldr] = (float)x;
        }
    return BD_OK;
}

/* R to float64, its upper triangle. 0: it holds NaN, Inf or a 0 on the diagonal. */
static int load_r(struct bd_cpu_gram *gram, const void *r, int64_t ldr)
{
    int64_t n = gram->n;
    int fit = 1;
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = 0; i < n; i++) {
            double x = i > j                  ? 0
                       : gram->type == BD_F64 ? ((const double *)r)[i + j * ldr]
                                              : (double)((const float *)r)[i + j * ldr];
            gram->r[i + j * n] = x;
            fit = fit && isfinite(x);
        }
    }
    return fit;
}

static enum bd_status triangular_solve(void *work, const void *r, int64_t ldr, void *v, int64_t ldv,
                                       enum bd_triangular_solve solve, int mixed)
{
    struct bd_cpu_gram *gram = work;
    if (!load_r(gram, r, ldr))
        return bd_fail(BD_ERROR_NUMERIC, "R holds NaN or Inf");
    for (int64_t j = 0; j < gram->n; j++)
        if (gram->r[j + j * gram->n] == 0)
            return bd_fail(BD_ERROR_NUMERIC, "R is singular: element %lld of its diagonal is 0",
                           (long long)j);
    if (!bd_cpu_triangle_invert(gram, bd_cpu_triangle_condition(gram), solve, mixed))
        return bd_fail(BD_ERROR_NUMERIC, "the inverse of R overflows");
    if (!bd_cpu_gram_sweep(gram, v, ldv, 1, 0, 1))
        return bd_fail(BD_ERROR_NUMERIC, "V R^-1 holds NaN or Inf");
    return BD_OK;
}

static enum bd_status triangular_multiply(void *work, const void *r, int64_t ldr, void *v,
                                          int64_t ldv, int mixed)
{
    struct bd_cpu_gram *gram = work;
    if (!load_r(gram, r, ldr) || !bd_cpu_triangle_copy(gram, mixed))
        return bd_fail(BD_ERROR_NUMERIC, "R holds NaN or Inf, or numbers beyond float32");
    if (!bd_cpu_gram_sweep(gram, v, ldv, 1, 0, 1))
        return bd_fail(BD_ERROR_NUMERIC, "V R holds NaN or Inf");
    return BD_OK;
}

const struct bd_gram_qr_ops bd_cpu_gram_qr_ops = {
    .create = gram_create,
    .destroy = gram_destroy,
    .form = gram_form,
    .get = gram_get,
    .put = gram_put,
    .factor = gram_factor,
    .solve = gram_solve,
    .report = gram_report,
    .get_r = gram_get_r,
    .magnitudes = bd_cpu_gram_magnitudes,
    .repair = bd_cpu_gram_repair,
    .triangular_solve = triangular_solve,
    .triangular_multiply = triangular_multiply,
};
