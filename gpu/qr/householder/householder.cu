/* Blocked Householder QR on the GPU: the plan and the order of the work. */
#include "gpu/qr/householder/householder.h"

#include <stdlib.h>

#include "gpu/core/columns.h"
#include "gpu/qr/householder/plan.h"

enum { chunk_cols = 4096 }; /* columns that apply takes at a time */

/* Elements on the right of 64 columns above which these are factored first and applied together:
 * fewer stay in L2 (an H100's has 50 MB), where 16 reflectors at a time cost less than the launches
 * that they save. */
static const int64_t together_elements = 6 << 20;

/* While there are more elements than wide_elements on the right of wide_step columns, these
 * columns are factored first and applied together, by products of large matrices (q.cu): 8192 x
 * 4096 takes 15.7 ms on an H100, and 20.8 without. */
static const int64_t wide_step = 256, wide_elements = 2 << 20;

/* Up to so many columns the thin Q is made 64 reflectors at a time: on an H100 that takes 0.092
 * ms for 256 x 256 and 0.060 for 3000 x 100, and many reflectors at once 0.106 and 0.084; for
 * 1024 columns 0.37 and 0.34. */
enum { few_wide = 256 };

/* What belongs to the reflectors in a factored matrix: T of panel i at 256 i, and the products
 * of the four panels from column 64 i on at house_cross_floats i. */
struct factors {
    float *t, *cross;
    int64_t crossed; /* columns for which `cross` is there */
};

struct bd_cuda_householder {
    struct bd_cuda *cuda;
    int64_t m, n;
    struct factors factors;
    float *r;     /* n x n, tight */
    float *v;     /* ldv x min(n, 64): reflectors while form_q writes Q in their place */
    float *parts; /* of the updates */
    float *copy;  /* for reduce: ldv x n */
    struct factors copy_factors;
    int64_t ldv;
    struct house_wide wide;
    struct house_box box;
    const float *a; /* the matrix factored last */
    int64_t lda;
};

/* R (n x n), zeros below the diagonal, from the factored a. */
static __global__ void take_r(float *r, int64_t ldr, const float *a, int64_t lda, int64_t n)
{
    for (int64_t j = blockIdx.y; j < n; j += gridDim.y)
        for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n;
             i += (int64_t)gridDim.x * blockDim.x)
            r[i + j * ldr] = i <= j ? a[i + j * lda] : 0;
}

/* v := the reflectors of columns j0 .. j0 + cols - 1 of a, with their ones and zeros, from row j0
 * down; the same columns of q (m rows, may be a) := those of an identity. Block y: a column. */
static __global__ void take_v(float *v, int64_t ldv, float *q, int64_t ldq, const float *a,
                              int64_t lda, int64_t m, int64_t j0)
{
    const int64_t column = blockIdx.y, diagonal = j0 + column;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < m;
         i += (int64_t)gridDim.x * blockDim.x) {
        const float x = i > diagonal ? a[i + diagonal * lda] : 0;
        if (i >= j0)
            v[i - j0 + column * ldv] = i == diagonal ? 1 : x;
        q[i + diagonal * ldq] = i == diagonal ? 1 : 0;
    }
}

static int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Thread blocks of 256 for the rows of a column. */
static unsigned blocks_for(const struct bd_cuda *cuda, int64_t rows)
{
    return (unsigned)min64((rows + 255) / 256, 2 * cuda->sms);
}

enum bd_status bd_cuda_householder_create(struct bd_cuda *cuda, int64_t m, int64_t n, int reduces,
                                          struct bd_cuda_householder **out)
{
    struct bd_cuda_householder *plan = (struct bd_cuda_householder *)calloc(1, sizeof *plan);
    *out = NULL;
    if (!plan)
        return bd_fail(BD_ERROR_MEMORY, "no memory for a QR plan");
    plan->cuda = cuda;
    plan->m = m;
    plan->n = n;
    plan->ldv = (m + 31) / 32 * 32;
    plan->box.turn = 1;
    const int64_t t = (n + caqr_inner - 1) / caqr_inner * caqr_t_size;
    const int64_t cross = (n + house_most_cols - 1) / house_most_cols * house_cross_floats;
    const int64_t cols = n < chunk_cols ? (int64_t)chunk_cols : n;
    const int64_t together = min64(n, house_most_cols);
    const struct {
        float **data;
        int64_t floats;
    } parts[] = {
        { &plan->factors.t, t },
        { &plan->factors.cross, cross },
        { &plan->r, n * n },
        { &plan->v, plan->ldv * together },
        { &plan->parts, house_parts_floats(cuda, cols) },
        { &plan->copy, reduces ? plan->ldv * n : 0 },
        { &plan->copy_factors.t, reduces ? t : 0 },
        { &plan->copy_factors.cross, reduces ? cross : 0 },
    };
    enum bd_status status =
        bd_cuda_alloc(cuda, (void **)&plan->box.words,
                      house_box_words(cuda) * sizeof *plan->box.words, "a Householder QR");
    if (status == BD_OK)
        status = house_prepare(cuda, &plan->box.most_cluster);
    if (status == BD_OK)
        status = house_prepare_update(cuda);
    if (status == BD_OK)
        status = house_wide_create(cuda, m, n, &plan->wide);
    for (size_t i = 0; i < sizeof parts / sizeof *parts && status == BD_OK; i++)
        if (parts[i].floats > 0)
            status = bd_cuda_alloc(cuda, (void **)parts[i].data,
                                   (size_t)parts[i].floats * sizeof(float), "a Householder QR");
    if (status != BD_OK) {
        bd_cuda_householder_destroy(plan);
        return status;
    }
    *out = plan;
    return BD_OK;
}

void bd_cuda_householder_destroy(struct bd_cuda_householder *plan)
{
    if (!plan)
        return;
    bd_cuda_free(plan->box.words);
    bd_cuda_free(plan->factors.t);
    bd_cuda_free(plan->factors.cross);
    bd_cuda_free(plan->r);
    bd_cuda_free(plan->v);
    bd_cuda_free(plan->parts);
    bd_cuda_free(plan->copy);
    bd_cuda_free(plan->copy_factors.t);
    bd_cuda_free(plan->copy_factors.cross);
    house_wide_destroy(&plan->wide);
    free(plan);
}

/* The reflectors of columns j0 .. end - 1 of the factored a; j0 is a multiple of 16, and of 64 if
 * there are more than 16. */
static struct house_reflectors reflectors_of(const struct bd_cuda_householder *plan, const float *a,
                                             int64_t lda, const struct factors *f, int64_t j0,
                                             int64_t end)
{
    struct house_reflectors x = {};
    x.v = a + j0 + j0 * lda;
    x.ldv = lda;
    x.rows = plan->m - j0;
    x.cols = (int)(end - j0);
    x.t = f->t + j0 / caqr_inner * caqr_t_size;
    x.cross = f->cross + j0 / house_most_cols * house_cross_floats;
    return x;
}

/* The products of the reflectors of columns up to `end`, a multiple of 64 or n. */
static enum bd_status make_cross(struct bd_cuda_householder *plan, const float *a, int64_t lda,
                                 struct factors *f, int64_t end)
{
    enum bd_status status = BD_OK;
    while (f->crossed < end && status == BD_OK) {
        const int64_t j0 = f->crossed, next = min64(j0 + house_most_cols, plan->n);
        const struct house_reflectors x = reflectors_of(plan, a, lda, f, j0, next);
        status = house_cross(plan->cuda, &x, f->cross + j0 / house_most_cols * house_cross_floats,
                             plan->parts);
        if (status == BD_OK)
            f->crossed = next;
    }
    return status;
}

/* Factors columns `from` .. `until` - 1 of A panel by panel. Either each panel is applied to the
 * columns up to the end of its 64, and the 64 are then applied to the columns on their right, or
 * each panel is applied to all columns on its right. */
static enum bd_status factor_columns(struct bd_cuda_householder *plan, float *a, int64_t lda,
                                     struct factors *f, int64_t from, int64_t until)
{
    enum bd_status status = BD_OK;
    for (int64_t j = from; j < until && status == BD_OK; j += caqr_inner) {
        const int64_t next = min64(j + caqr_inner, until);
        const int64_t j0 = j / house_most_cols * house_most_cols;
        const int64_t end = min64(j0 + house_most_cols, until);
        const bool together = (plan->m - j0) * (until - end) > together_elements;
        const struct house_reflectors x = reflectors_of(plan, a, lda, f, j, next);
        status = house_factor_panel(plan->cuda, a + j + j * lda, lda, x.rows, x.cols,
                                    f->t + j / caqr_inner * caqr_t_size, &plan->box);
        if (status == BD_OK)
            status = house_apply(plan->cuda, &x, 1, 1, a + j + next * lda, lda,
                                 (together ? end : until) - next, plan->parts);
        if (status != BD_OK || !together || next < end)
            continue;
        status = make_cross(plan, a, lda, f, end);
        const struct house_reflectors all = reflectors_of(plan, a, lda, f, j0, end);
        if (status == BD_OK)
            status = house_apply(plan->cuda, &all, 1, 1, a + j0 + end * lda, lda, until - end,
                                 plan->parts);
    }
    return status;
}

/* A := Q^T A. While many elements are on the right of wide_step columns, these are factored
 * first. */
static enum bd_status factor(struct bd_cuda_householder *plan, float *a, int64_t lda,
                             struct factors *f)
{
    const int64_t m = plan->m, n = plan->n, step = min64(plan->wide.cols, wide_step);
    enum bd_status status = BD_OK;
    f->crossed = 0;
    for (int64_t j0 = 0, end; j0 < n && status == BD_OK; j0 = end) {
        end = j0 + step;
        const bool wide = step == wide_step && end < n && (m - j0) * (n - end) > wide_elements;
        end = wide ? end : n;
        status = factor_columns(plan, a, lda, f, j0, end);
        if (status == BD_OK && wide)
            status = house_wide_apply(plan->cuda, &plan->wide, a + j0 + j0 * lda, lda,
                                      f->t + j0 / caqr_inner * caqr_t_size, m - j0, (int)(end - j0),
                                      a + j0 + end * lda, lda, n - end);
    }
    return status;
}

static enum bd_status get_r(const struct bd_cuda_householder *plan, float *r, int64_t ldr,
                            const float *a, int64_t lda)
{
    const dim3 grid(blocks_for(plan->cuda, plan->n), (unsigned)min64(plan->n, 4096));
    take_r<<<grid, 256, 0, plan->cuda->stream>>>(r, ldr, a, lda, plan->n);
    return bd_cuda_launched("Householder QR: R");
}

enum bd_status bd_cuda_householder_factor(struct bd_cuda_householder *plan, float *a, int64_t lda)
{
    plan->a = a;
    plan->lda = lda;
    enum bd_status status = factor(plan, a, lda, &plan->factors);
    return status == BD_OK ? get_r(plan, plan->r, plan->n, a, lda) : status;
}

enum bd_status bd_cuda_householder_get_r(struct bd_cuda_householder *plan, float *r, int64_t ldr)
{
    return get_r(plan, r, ldr, plan->r, plan->n);
}

enum bd_status bd_cuda_householder_form_q(struct bd_cuda_householder *plan, float *q, int64_t ldq)
{
    if (plan->wide.cols > few_wide && plan->n > few_wide)
        return bd_cuda_householder_form_wide_q(plan, q, ldq, plan->n);
    enum bd_status status =
        make_cross(plan, plan->a, plan->lda, &plan->factors, plan->n); /* q may be a */
    /* From the last columns to the first: each 64 columns of Q are made, and the columns on
     * their right updated. */
    for (int64_t end = plan->n, j0; end > 0 && status == BD_OK; end = j0) {
        j0 = (end - 1) / house_most_cols * house_most_cols;
        const dim3 grid(blocks_for(plan->cuda, plan->m), (unsigned)(end - j0));
        struct house_reflectors x =
            reflectors_of(plan, plan->a, plan->lda, &plan->factors, j0, end);
        take_v<<<grid, 256, 0, plan->cuda->stream>>>(plan->v, plan->ldv, q, ldq, plan->a, plan->lda,
                                                     plan->m, j0);
        x.v = plan->v;
        x.ldv = plan->ldv;
        x.whole = 1;
        status =
            house_apply(plan->cuda, &x, 0, 0, q + j0 + j0 * ldq, ldq, plan->n - j0, plan->parts);
    }
    return status;
}

int bd_cuda_householder_is_wide(const struct bd_cuda_householder *plan)
{
    return plan->wide.cols > 0;
}

enum bd_status bd_cuda_householder_form_wide_q(struct bd_cuda_householder *plan, float *q,
                                               int64_t ldq, int64_t k)
{
    return house_wide_form(plan->cuda, &plan->wide, plan->a, plan->lda, plan->factors.t, plan->m,
                           plan->n, q, ldq, k);
}

enum bd_status bd_cuda_householder_apply(struct bd_cuda_householder *plan, enum bd_qr_op op,
                                         float *c, int64_t ldc, int64_t k)
{
    const int transposed = op == BD_QR_Q_TRANSPOSED;
    const int64_t count = (plan->n + house_most_cols - 1) / house_most_cols;
    enum bd_status status = make_cross(plan, plan->a, plan->lda, &plan->factors, plan->n);
    for (int64_t start = 0; start < k; start += chunk_cols)
        for (int64_t i = 0; i < count && status == BD_OK; i++) {
            const int64_t j0 = (transposed ? i : count - 1 - i) * house_most_cols;
            const struct house_reflectors x = reflectors_of(
                plan, plan->a, plan->lda, &plan->factors, j0, min64(j0 + house_most_cols, plan->n));
            status = house_apply(plan->cuda, &x, transposed, 0, c + j0 + start * ldc, ldc,
                                 min64(k - start, chunk_cols), plan->parts);
        }
    return status;
}

enum bd_status bd_cuda_householder_reduce(struct bd_cuda_householder *plan, const float *a,
                                          int64_t lda, float *r, int64_t ldr)
{
    enum bd_status status = bd_cuda_check(
        bd_cuda_copy_columns(plan->copy, (size_t)plan->ldv * sizeof *a, a, (size_t)lda * sizeof *a,
                             (size_t)plan->m * sizeof *a, (size_t)plan->n, cudaMemcpyDeviceToDevice,
                             plan->cuda->stream),
        "copying a matrix");
    if (status == BD_OK)
        status = factor(plan, plan->copy, plan->ldv, &plan->copy_factors);
    return status == BD_OK ? get_r(plan, r, ldr, plan->copy, plan->ldv) : status;
}
