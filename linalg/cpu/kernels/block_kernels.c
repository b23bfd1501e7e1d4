/* The QR kernels of the table: panels of 8 columns one after the other. */
#include "linalg/shared/block_kernels.h"

#include <math.h>
#include <string.h>

#include "linalg/cpu/kernels/vector.h"

#include "linalg/cpu/kernels/block_panel.inc"

#include "linalg/cpu/kernels/block_apply.inc"

#include "linalg/cpu/kernels/block_gemm.inc"

static int64_t round_rows(int64_t m)
{
    return (m + bd_kernel_rows - 1) / bd_kernel_rows * bd_kernel_rows;
}

static int panel_cols(int64_t n, int64_t j)
{
    return n - j < INNER ? (int)(n - j) : INNER;
}

typedef int32_t bits __attribute__((may_alias));

/* The largest magnitude in m elements and `start`, NaN if there is one: the bit patterns of
 * magnitudes are in the order of the magnitudes, and integer maxima vectorise. */
static float largest(int64_t m, const float *x, float start)
{
    const bits *pattern = (const bits *)(const void *)x;
    int32_t max;
    memcpy(&max, &start, sizeof max);
    for (int64_t i = 0; i < m; i++) {
        int32_t magnitude = pattern[i] & 0x7fffffff;
        max = magnitude > max ? magnitude : max;
    }
    float result;
    memcpy(&result, &max, sizeof result);
    return result;
}

/* The power of two that brings a column with this largest magnitude to about 1, or 1 where squares
 * are safe anyway or nothing helps (0, Inf, NaN). Both it and its inverse are normal numbers. */
static float safe_scale(float magnitude)
{
    int exponent;
    if ((magnitude > 0x1p-20f && magnitude < 0x1p20f) || magnitude == 0 || !isfinite(magnitude))
        return 1;
    frexpf(magnitude, &exponent);
    return ldexpf(1, exponent < -126 ? 126 : exponent > 126 ? -126 : -exponent);
}

static void scale_column(int64_t m, float *x, float scale)
{
    if (scale != 1)
        for (int64_t i = 0; i < m; i++)
            x[i] *= scale;
}

/* T of a panel to and from columns 8 x 8 of t. */
static void t_store(const struct panel *p, float *t)
{
    for (int j = 0; j < INNER; j++)
        for (int i = 0; i < INNER; i++)
            t[i + j * INNER] = p->t[i][j];
}

static void t_load(struct panel *p, const float *t)
{
    for (int j = 0; j < INNER; j++)
        for (int i = 0; i < INNER; i++)
            p->t[i][j] = t[i + j * INNER];
}

/* The square on the diagonal of geqrt's panel at column j, or tpqrt's triangle. */
static void top_load(struct panel *p, int cols, const float *a, int64_t lda)
{
    memset(p->top, 0, sizeof p->top);
    for (int j = 0; j < cols; j++)
        for (int i = 0; i < (p->square ? INNER : j + 1); i++)
            p->top[i][j] = a[i + j * lda];
}

static void top_store(const struct panel *p, int cols, float *a, int64_t lda)
{
    for (int j = 0; j < cols; j++)
        for (int i = 0; i < (p->square ? INNER : j + 1); i++)
            a[i + j * lda] = p->top[i][j];
}

/* Where the body of geqrt's panel at column j starts: whole vectors of the rows below its square,
 * of which the first `skip` rows (those of the square) are not the body's. */
static int64_t body_start(int64_t j, int *skip)
{
    int64_t row = (j + INNER) / BD_VECTOR * BD_VECTOR;
    *skip = (int)(j + INNER - row);
    return row;
}

static void geqrt(int64_t m, int64_t n, float *a, int64_t lda, float *t, float *work)
{
    int64_t rows = round_rows(m), reflectors = rows < n ? rows : n;
    struct panel p = { .body = (vec *)work, .square = 1 };
    float *scale = work + rows * INNER;
    for (int64_t j = 0; j < n; j++) {
        scale[j] = safe_scale(largest(rows, a + j * lda, 0));
        scale_column(rows, a + j * lda, scale[j]);
    }
    for (int64_t j = 0; j < reflectors; j += INNER) {
        int cols = panel_cols(n, j), skip;
        int64_t row = body_start(j, &skip), next = j + cols;
        p.vectors = (rows - row) / BD_VECTOR;
        top_load(&p, cols, a + j + j * lda, lda);
        panel_pack(&p, cols, a + row + j * lda, lda, NULL, skip);
        panel_factor(&p);
        top_store(&p, cols, a + j + j * lda, lda);
        panel_unpack(&p, cols, a + row + j * lda, lda, skip);
        t_store(&p, t + j * INNER);
        panel_apply(&p, 1, n - next, a + j + next * lda, lda, a + row + next * lda, lda);
    }
    for (int64_t j = 0; j < n; j++)
        scale_column(j < rows ? j + 1 : rows, a + j * lda, 1 / scale[j]);
}

static void gemqrt(int transposed, int64_t m, int64_t n, int64_t k, const float *v, int64_t ldv,
                   const float *t, float *c, int64_t ldc, float *work)
{
    int64_t rows = round_rows(m), reflectors = rows < n ? rows : n;
    int64_t panels = (reflectors + INNER - 1) / INNER;
    struct panel p = { .body = (vec *)work, .square = 1 };
    for (int64_t i = 0; i < panels; i++) {
        int64_t j = (transposed ? i : panels - 1 - i) * INNER;
        int cols = panel_cols(n, j), skip;
        int64_t row = body_start(j, &skip);
        p.vectors = (rows - row) / BD_VECTOR;
        top_load(&p, cols, v + j + j * ldv, ldv);
        panel_pack(&p, cols, v + row + j * ldv, ldv, NULL, skip);
        t_load(&p, t + j * INNER);
        panel_apply(&p, transposed, k, c + j, ldc, c + row, ldc);
    }
}

static void tpqrt(int64_t m, int64_t n, float *r, int64_t ldr, float *b, int64_t ldb, float *t,
                  float *work)
{
    int64_t rows = round_rows(m);
    struct panel p = { .vectors = rows / BD_VECTOR, .body = (vec *)work };
    float *scale = work + rows * INNER;
    for (int64_t j = 0; j < n; j++) {
        scale[j] = safe_scale(largest(rows, b + j * ldb, largest(j + 1, r + j * ldr, 0)));
        scale_column(rows, b + j * ldb, scale[j]);
        scale_column(j + 1, r + j * ldr, scale[j]);
    }
    for (int64_t j = 0; j < n; j += INNER) {
        int cols = panel_cols(n, j);
        int64_t next = j + cols;
        top_load(&p, cols, r + j + j * ldr, ldr);
        panel_pack(&p, cols, b + j * ldb, ldb, NULL, 0);
        panel_factor(&p);
        top_store(&p, cols, r + j + j * ldr, ldr);
        if (t) {
            panel_unpack(&p, cols, b + j * ldb, ldb, 0);
            t_store(&p, t + j * INNER);
        }
        panel_apply(&p, 1, n - next, r + j + next * ldr, ldr, b + next * ldb, ldb);
    }
    for (int64_t j = 0; j < n; j++)
        scale_column(j + 1, r + j * ldr, 1 / scale[j]);
}

static void tpmqrt(int transposed, int64_t m, int64_t n, int64_t k, const float *v, int64_t ldv,
                   const float *t, float *d, int64_t ldd, float *c, int64_t ldc, float *work)
{
    int64_t panels = (n + INNER - 1) / INNER;
    struct panel p = { .vectors = round_rows(m) / BD_VECTOR, .body = (vec *)work };
    for (int64_t i = 0; i < panels; i++) {
        int64_t j = (transposed ? i : panels - 1 - i) * INNER;
        panel_pack(&p, panel_cols(n, j), v + j * ldv, ldv, NULL, 0);
        t_load(&p, t + j * INNER);
        panel_apply(&p, transposed, k, d + j, ldd, c, ldc);
    }
}

#define TABLE BD_ISA_SYMBOL(bd_block)
extern const struct bd_block_kernels TABLE;
const struct bd_block_kernels TABLE = {
    .geqrt = geqrt,
    .gemqrt = gemqrt,
    .tpqrt = tpqrt,
    .tpmqrt = tpmqrt,
    .gemm = gemm,
};
