#include "lapack/factor.h"

#include <string.h>

#include "lapack/block_reflector.h"
#include "lapack/context.h"
#include "lapack/fortran.h"
#include "lapack/panel.h"
#include "lapack/reflectors.h"
#include "lapack/tall.h"

enum {
    SMALL = 12000,         /* multiplications below which the plain code is as fast */
    TALL = 16,             /* least rows / columns of a panel that is reconstructed from TSQR */
    TALL_FLOATS = 1 << 16, /* and its least size: a smaller one gains nothing by threads */
    WIDEST_TALL = 192,     /* up to so many columns, one such panel has all of them */
    WIDTH = 64,            /* columns of a panel otherwise */
    FORM_WIDTH = 128       /* columns of a block of given reflectors */
};

static int64_t panel_width(int64_t m, int64_t k)
{
    return m >= TALL * k && k <= WIDEST_TALL ? k : bd_least(k, WIDTH);
}

int64_t bd_lapack_factors_floats(int64_t m, int64_t n)
{
    const int64_t k = bd_least(m, n);
    return k * panel_width(m, k);
}

/* One panel of m x n, n <= m, with its T. */
static void factor_panel(struct bd_lapack *context, int64_t m, int64_t n, float *a, int64_t lda,
                         float *tau, float *t, int wants_t, float *work)
{
    if (m >= TALL * n && m * n >= TALL_FLOATS && bd_tall_factor(context, m, n, a, lda, tau, t, n))
        return;
    bd_panel_factor(context, m, n, a, lda, tau, work);
    if (wants_t)
        bd_block_reflector_t(context, m, n, a, lda, tau, t, n, work);
}

void bd_lapack_factor(int64_t m, int64_t n, float *a, int64_t lda, float *tau,
                      struct bd_lapack_factors *factors)
{
    const int64_t k = bd_least(m, n), width = panel_width(m, k);
    const int64_t work_size = bd_most(bd_panel_work(m, width), bd_block_reflector_work(width, n));
    struct bd_lapack *context = NULL;
    if (m * n * k > SMALL)
        context = bd_lapack_take(
            bd_lapack_floats(width * width) + bd_lapack_floats(work_size) + bd_tall_floats(width),
            bd_most(bd_rows_times_floats(width), bd_block_reflector_floats(width)));
    if (!context) {
        bd_reflectors_factor(m, n, a, lda, tau);
        return;
    }
    float *t = bd_lapack_borrow(context, width * width);
    float *work = bd_lapack_borrow(context, work_size);
    for (int64_t j = 0; j < k; j += width) {
        const int64_t cols = bd_least(width, k - j), next = j + cols;
        float *panel = a + j + j * lda;
        if (factors)
            t = factors->t + j * width;
        factor_panel(context, m - j, cols, panel, lda, tau + j, t, factors || next < n, work);
        if (next < n)
            bd_block_reflector_left(1, m - j, n - next, cols, panel, lda, t, cols,
                                    panel + cols * lda, lda, work);
    }
    if (factors)
        factors->width = width;
    bd_lapack_give(context);
}

void bd_lapack_form(int64_t m, int64_t n, int64_t k, float *a, int64_t lda, const float *tau)
{
    const int64_t width = bd_least(k, FORM_WIDTH), work_size = bd_block_reflector_work(width, n);
    struct bd_lapack *context = NULL;
    if (m * n * k > SMALL)
        context =
            bd_lapack_take(bd_lapack_floats(width * width) + bd_lapack_floats(work_size),
                           bd_most(bd_rows_times_floats(width), bd_block_reflector_floats(width)));
    if (!context) {
        bd_reflectors_form(m, n, k, a, lda, tau);
        return;
    }
    float *t = bd_lapack_borrow(context, width * width);
    float *work = bd_lapack_borrow(context, work_size);
    for (int64_t j = k; j < n; j++) {
        memset(a + j * lda, 0, (size_t)m * sizeof *a);
        a[j + j * lda] = 1;
    }
    for (int64_t j = (k - 1) / width * width; j >= 0; j -= width) {
        const int64_t cols = bd_least(width, k - j), next = j + cols;
        float *block = a + j + j * lda;
        bd_block_reflector_t(context, m - j, cols, block, lda, tau + j, t, cols, work);
        if (next < n)
            bd_block_reflector_left(0, m - j, n - next, cols, block, lda, t, cols,
                                    block + cols * lda, lda, work);
        bd_block_reflector_form(context, m - j, cols, block, lda, t, cols, work);
        for (int64_t p = j; p < next; p++)
            memset(a + p * lda, 0, (size_t)j * sizeof *a);
    }
    bd_lapack_give(context);
}

/* T costs a block of `width` reflectors as much as applying them to width / 2 columns does. */
static int64_t apply_width(int64_t k, int64_t cols)
{
    int64_t width = cols >= FORM_WIDTH ? FORM_WIDTH : cols >= 32 ? 64 : cols >= 8 ? 32 : 16;
    return bd_least(k, width);
}

void bd_lapack_apply(int left, int transposed, int64_t m, int64_t n, int64_t k, const float *v,
                     int64_t ldv, const float *tau, const struct bd_lapack_factors *factors,
                     float *c, int64_t ldc)
{
    const int64_t order = left ? m : n, others = left ? n : m;
    const int has_t = factors && factors->width > 0;
    const int64_t width = has_t ? factors->width : apply_width(k, others);
    const int64_t work_size = bd_block_reflector_work(width, others);
    struct bd_lapack *context = NULL;
    if (m * n * k > SMALL)
        context = bd_lapack_take(bd_lapack_floats(width * width) + bd_lapack_floats(work_size),
                                 bd_block_reflector_floats(width));
    if (!context) {
        bd_reflectors_apply(left, transposed, m, n, k, v, ldv, tau, c, ldc);
        return;
    }
    float *own = bd_lapack_borrow(context, width * width);
    float *work = bd_lapack_borrow(context, work_size);
    const int64_t blocks = (k + width - 1) / width;
    for (int64_t i = 0; i < blocks; i++) {
        /* Q^T C and C Q take the first block first. */
        const int64_t j = (left == transposed ? i : blocks - 1 - i) * width;
        const int64_t cols = bd_least(width, k - j);
        const float *block = v + j + j * ldv, *t = has_t ? factors->t + j * width : own;
        if (!has_t)
            bd_block_reflector_t(context, order - j, cols, block, ldv, tau + j, own, cols, work);
        if (left)
            bd_block_reflector_left(transposed, m - j, n, cols, block, ldv, t, cols, c + j, ldc,
                                    work);
        else
            bd_block_reflector_right(transposed, m, n - j, cols, block, ldv, t, cols, c + j * ldc,
                                     ldc, work);
    }
    bd_lapack_give(context);
}
