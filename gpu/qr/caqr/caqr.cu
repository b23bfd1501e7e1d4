/* CAQR on the GPU: the plan, and the order of the levels' work (Anderson et al. 2011, figure 4). */
#include "gpu/qr/caqr/caqr.h"

#include <stdlib.h>

#include "gpu/qr/caqr/plan.h"
#include "gpu/qr/caqr/tuning.h"

/* Rows of a leaf, so that its sub-blocks can be counted. */
static const int64_t most_block_rows = 1 << 30;

static int64_t round_up(int64_t x, int64_t step)
{
    return (x + step - 1) / step * step;
}

static int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t max64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The levels of a panel's tree, without their memory. */
static void shape_panel(struct caqr_panel *panel, int64_t rows, int64_t leaf_rows, int64_t arity)
{
    int64_t step = panel->padded;
    struct caqr_level *level = panel->level;
    level->rows = rows;
    level->leaf_rows = leaf_rows;
    level->leaves = rows / leaf_rows;
    if (rows - level->leaves * leaf_rows >= panel->cols)
        level->leaves++;
    level->leaves = max64(level->leaves, 1);
    int64_t longest = max64(min64(rows, leaf_rows), rows - (level->leaves - 1) * leaf_rows);
    level->subs = (int)((longest + caqr_rows - 1) / caqr_rows);
    panel->levels = 1;
    for (; level->leaves > 1; level++, panel->levels++) {
        level[1].rows = level->leaves * step;
        level[1].leaf_rows = arity * step;
        level[1].leaves = (level->leaves + arity - 1) / arity;
        level[1].subs =
            (int)((min64((arity - 1) * step, level[1].rows) + caqr_rows - 1) / caqr_rows);
        level[1].tree = 1;
        level[1].ldv = level[1].rows;
    }
}

/* Gives the levels of a panel their parts of `memory` and returns the number of floats; with
 * NULL it only counts. */
static int64_t place_panel(struct caqr_panel *panel, int keep, float *memory)
{
    int64_t used = 0;
    for (int i = 0; i < panel->levels; i++) {
        struct caqr_level *level = &panel->level[i];
        int64_t v = level->tree ? level->rows * panel->padded : 0;
        int64_t t = keep ? level->leaves * level->subs * panel->padded * caqr_inner : 0;
        if (memory) {
            level->v = memory + used;
            level->t = memory + used + v;
        }
        used += v + t; /* multiples of 256 floats, both */
    }
    return used;
}

static void init_panel(struct caqr_panel *panel, int64_t m, int64_t j0, int64_t cols,
                       const struct bd_cuda_caqr_shape *shape)
{
    panel->j0 = j0;
    panel->cols = (int)cols;
    panel->padded = (int)round_up(cols, caqr_inner);
    shape_panel(panel, m - j0, shape->block_rows, shape->arity);
}

/* dst := src, rows x cols. */
static __global__ void copy(float *dst, int64_t ldd, const float *src, int64_t lds, int64_t rows,
                            int64_t cols)
{
    for (int64_t j = blockIdx.y; j < cols; j += gridDim.y)
        for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < rows;
             i += (int64_t)gridDim.x * blockDim.x)
            dst[i + j * ldd] = src[i + j * lds];
}

/* dst := 0 (rows x cols) but for `one` on its diagonal. */
static __global__ void fill(float *dst, int64_t ldd, int64_t rows, int64_t cols, float one)
{
    for (int64_t j = blockIdx.y; j < cols; j += gridDim.y)
        for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < rows;
             i += (int64_t)gridDim.x * blockDim.x)
            dst[i + j * ldd] = i == j ? one : 0;
}

/* Copies R above its diagonal blocks of panel_cols columns from A, where it is. */
static __global__ void collect_r(float *r, int64_t n, int panel_cols, const float *a, int64_t lda)
{
    for (int64_t j = blockIdx.y; j < n; j += gridDim.y)
        for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
             i < j / panel_cols * panel_cols; i += (int64_t)gridDim.x * blockDim.x)
            r[i + j * n] = a[i + j * lda];
}

static dim3 grid_of(const struct bd_cuda *cuda, int64_t rows, int64_t cols)
{
    int64_t x = min64((rows + 255) / 256, 8 * cuda->sms), y = min64(cols, 4096);
    return dim3((unsigned)max64(x, 1), (unsigned)max64(y, 1));
}

static void copy_matrix(struct bd_cuda *cuda, float *dst, int64_t ldd, const float *src,
                        int64_t lds, int64_t rows, int64_t cols)
{
    if (rows > 0)
        copy<<<grid_of(cuda, rows, cols), 256, 0, cuda->stream>>>(dst, ldd, src, lds, rows, cols);
}

static void fill_matrix(struct bd_cuda *cuda, float *dst, int64_t ldd, int64_t rows, int64_t cols,
                        float one)
{
    if (rows > 0)
        fill<<<grid_of(cuda, rows, cols), 256, 0, cuda->stream>>>(dst, ldd, rows, cols, one);
}

static enum bd_status alloc_floats(struct bd_cuda *cuda, float **to, int64_t count)
{
    return bd_cuda_alloc(cuda, (void **)to, (size_t)count * sizeof **to, "a QR plan");
}

/* A plan that factors but cannot reduce. */
static enum bd_status create_plan(struct bd_cuda *cuda, int64_t m, int64_t n,
                                  const struct bd_cuda_caqr_shape *shape, struct bd_cuda_caqr **out)
{
    struct bd_cuda_caqr *plan = (struct bd_cuda_caqr *)calloc(1, sizeof *plan);
    *out = NULL;
    if (!plan)
        return bd_fail(BD_ERROR_MEMORY, "no memory for a QR plan");
    plan->cuda = cuda;
    plan->m = m;
    plan->n = n;
    plan->arity = shape->arity;
    plan->panel_cols = shape->panel_cols;
    plan->panels = (int)((n + plan->panel_cols - 1) / plan->panel_cols);
    plan->panel = (struct caqr_panel *)calloc((size_t)plan->panels, sizeof *plan->panel);
    enum bd_status status = BD_OK;
    int64_t used = 0;
    if (!plan->panel)
        status = bd_fail(BD_ERROR_MEMORY, "no memory for a QR plan");
    for (int i = 0; status == BD_OK && i < plan->panels; i++) {
        struct caqr_panel *panel = &plan->panel[i];
        int64_t j0 = (int64_t)i * plan->panel_cols;
        init_panel(panel, m, j0, min64(plan->panel_cols, n - j0), shape);
        used += place_panel(panel, 1, NULL);
        plan->ld_tops = max64(plan->ld_tops, panel->level->leaves * panel->padded);
    }
    if (status == BD_OK)
        status = alloc_floats(cuda, &plan->memory, used);
    if (status == BD_OK)
        status = alloc_floats(cuda, &plan->tops, plan->ld_tops * plan->panel->padded);
    if (status == BD_OK)
        status = alloc_floats(cuda, &plan->r, n * n);
    if (status != BD_OK) {
        bd_cuda_caqr_destroy(plan);
        return status;
    }
    used = 0;
    for (int i = 0; i < plan->panels; i++)
        used += place_panel(&plan->panel[i], 1, plan->memory + used);
    *out = plan;
    return BD_OK;
}

/* Allocates what reduce needs: the tree of one panel, or a plan for a part of the rows. */
static enum bd_status prepare_reduce(struct bd_cuda_caqr *plan,
                                     const struct bd_cuda_caqr_shape *shape)
{
    size_t left, total;
    struct bd_cuda_caqr_shape part = *shape;
    enum bd_status status;
    if (plan->panels == 1) {
        plan->single = (struct caqr_panel *)calloc(1, sizeof *plan->single);
        if (!plan->single)
            return bd_fail(BD_ERROR_MEMORY, "no memory for a QR plan");
        init_panel(plan->single, plan->m, 0, plan->n, shape);
        status = alloc_floats(plan->cuda, &plan->single_memory, place_panel(plan->single, 0, NULL));
        if (status == BD_OK)
            place_panel(plan->single, 0, plan->single_memory);
        return status;
    }
    /* The R so far on top of the next rows, in a 64th of the GPU's memory if A is larger. */
    status = bd_cuda_check(cudaMemGetInfo(&left, &total), "CAQR: the GPU's memory");
    if (status != BD_OK)
        return status;
    plan->slab_rows = max64((int64_t)(total / 64 / sizeof(float)) / plan->n, 8 * plan->n);
    if (shape->slab_rows)
        plan->slab_rows = shape->slab_rows;
    if (plan->m <= plan->n + plan->slab_rows)
        plan->slab_rows = plan->m - plan->n;
    plan->slab_ld = round_up(plan->n + plan->slab_rows, 32);
    status = alloc_floats(plan->cuda, &plan->slab_a, plan->slab_ld * plan->n);
    if (status != BD_OK)
        return status;
    /* As many leaves as a whole A has. */
    part.block_rows =
        (int64_t)((double)shape->block_rows * (double)plan->slab_rows / (double)plan->m);
    part.block_rows = round_up(max64(part.block_rows, 2 * part.panel_cols), caqr_rows);
    return create_plan(plan->cuda, plan->n + plan->slab_rows, plan->n, &part, &plan->slab);
}

/* Whether shared memory is enough for panels of so many columns; on any GPU it is for 48. */
static int fits(const struct bd_cuda *cuda, int panel_cols)
{
    int warps = panel_cols / caqr_inner;
    return warps == 1 || (caqr_factor_bytes(warps) <= (size_t)cuda->shared_most &&
                          caqr_apply_bytes(warps, panel_cols) <= (size_t)cuda->shared_most);
}

static enum bd_status create(struct bd_cuda *cuda, int64_t m, int64_t n,
                             const struct bd_cuda_caqr_shape *wanted, int reduces,
                             struct bd_cuda_caqr **out)
{
    struct bd_cuda_caqr_shape shape = *wanted;
    shape.panel_cols = (int)round_up(min64(min64(shape.panel_cols, caqr_most_cols), n), caqr_inner);
    while (!fits(cuda, shape.panel_cols))
        shape.panel_cols -= caqr_inner;
    shape.block_rows = min64(max64(shape.block_rows, 2 * shape.panel_cols), most_block_rows);
    shape.block_rows = round_up(shape.block_rows, caqr_inner);
    shape.arity = max64(shape.arity, 2);
    enum bd_status status = create_plan(cuda, m, n, &shape, out);
    if (status == BD_OK)
        status = caqr_factor_prepare(cuda);
    if (status == BD_OK)
        status = caqr_apply_prepare(cuda);
    if (status == BD_OK && reduces)
        status = prepare_reduce(*out, &shape);
    if (status != BD_OK) {
        bd_cuda_caqr_destroy(*out);
        *out = NULL;
    }
    return status;
}

enum bd_status bd_cuda_caqr_create_shaped(struct bd_cuda *cuda, int64_t m, int64_t n,
                                          const struct bd_cuda_caqr_shape *shape,
                                          struct bd_cuda_caqr **out)
{
    return create(cuda, m, n, shape, 1, out);
}

enum bd_status bd_cuda_caqr_create(struct bd_cuda *cuda, int64_t m, int64_t n,
                                   const struct bd_qr_options *options, int reduces,
                                   struct bd_cuda_caqr **out)
{
    struct bd_cuda_caqr_shape shape = bd_cuda_caqr_tuned(cuda->capability, cuda->sms, m, n);
    if (options && options->panel_cols)
        shape.panel_cols = options->panel_cols;
    if (options && options->block_rows) {
        shape.block_rows = min64(options->block_rows, most_block_rows);
        shape.arity = shape.block_rows / shape.panel_cols;
    }
    return create(cuda, m, n, &shape, reduces, out);
}

void bd_cuda_caqr_destroy(struct bd_cuda_caqr *plan)
{
    if (!plan)
        return;
    bd_cuda_caqr_destroy(plan->slab);
    bd_cuda_free(plan->slab_a);
    bd_cuda_free(plan->single_memory);
    bd_cuda_free(plan->memory);
    bd_cuda_free(plan->tops);
    bd_cuda_free(plan->r);
    free(plan->single);
    free(plan->panel);
    free(plan);
}

/* The rows of a level as rows of a matrix in which the tops of the leaves are `step` rows apart. */
static struct caqr_row_map map_of(const struct bd_cuda_caqr *plan, const struct caqr_panel *panel,
                                  int level, int64_t step, int live)
{
    struct caqr_row_map map = { step, 0, 0 };
    if (level == 0)
        return map;
    map.group = panel->padded;
    map.live = live;
    for (int i = 1; i < level; i++)
        map.stride *= plan->arity;
    return map;
}

/* C (k columns, from row j0 on) := Q C or Q^T C with the Q of one panel: its levels upwards for
 * Q^T, downwards for Q. */
static enum bd_status apply_panel(const struct bd_cuda_caqr *plan, const struct caqr_panel *panel,
                                  int transposed, const float *from, int64_t ldf, float *c,
                                  int64_t ldc, int64_t k)
{
    enum bd_status status = BD_OK;
    for (int i = 0; k > 0 && status == BD_OK && i < panel->levels; i++) {
        int level = transposed ? i : panel->levels - 1 - i;
        struct caqr_row_map map = map_of(plan, panel, level, panel->level->leaf_rows, panel->cols);
        status = caqr_apply_level(plan->cuda, panel, level, transposed, level ? c : from,
                                  level ? ldc : ldf, c, ldc, k, map, NULL, 0);
    }
    return status;
}

/* Factors X, which is at `from` (a itself, or a matrix that does not change); the factors go to
 * a. */
static enum bd_status factor_from(struct bd_cuda_caqr *plan, const float *from, int64_t ldf,
                                  float *a, int64_t lda)
{
    enum bd_status status = BD_OK;
    plan->a = a;
    plan->lda = lda;
    for (int i = 0; status == BD_OK && i < plan->panels; i++) {
        struct caqr_panel *panel = &plan->panel[i];
        int64_t j0 = panel->j0, next = j0 + panel->cols;
        panel->level->v = a + j0 + j0 * lda;
        panel->level->ldv = lda;
        panel->level->from = from + j0 + j0 * ldf;
        panel->level->ldf = ldf;
        for (int level = 0; status == BD_OK && level < panel->levels; level++)
            status = caqr_factor_level(plan->cuda, panel, level, 1, plan->r + j0 + j0 * plan->n,
                                       plan->n);
        if (status == BD_OK)
            status = apply_panel(plan, panel, 1, from + j0 + next * ldf, ldf, a + j0 + next * lda,
                                 lda, plan->n - next);
        from = a;
        ldf = lda;
    }
    if (status != BD_OK)
        return status;
    collect_r<<<grid_of(plan->cuda, plan->n, plan->n), 256, 0, plan->cuda->stream>>>(
        plan->r, plan->n, plan->panel_cols, a, lda);
    return bd_cuda_launched("CAQR: R");
}

enum bd_status bd_cuda_caqr_factor(struct bd_cuda_caqr *plan, float *a, int64_t lda)
{
    return factor_from(plan, a, lda, a, lda);
}

enum bd_status bd_cuda_caqr_get_r(struct bd_cuda_caqr *plan, float *r, int64_t ldr)
{
    copy_matrix(plan->cuda, r, ldr, plan->r, plan->n, plan->n, plan->n);
    return bd_cuda_launched("CAQR: R");
}

/* Q(:, the panel's columns), zero above j0: the panel's Q applied to an identity, whose rows reach
 * the leaves by `tops`. Where q is A, Q takes the place of the reflectors. */
static enum bd_status form_panel(struct bd_cuda_caqr *plan, const struct caqr_panel *panel,
                                 float *q, int64_t ldq)
{
    struct bd_cuda *cuda = plan->cuda;
    enum bd_status status = BD_OK;
    fill_matrix(cuda, plan->tops, plan->ld_tops, panel->level->leaves * panel->padded, panel->cols,
                1);
    for (int i = panel->levels - 1; status == BD_OK && i > 0; i--)
        status = caqr_apply_level(cuda, panel, i, 0, plan->tops, plan->ld_tops, plan->tops,
                                  plan->ld_tops, panel->cols,
                                  map_of(plan, panel, i, panel->padded, panel->cols), NULL, 0);
    if (status != BD_OK)
        return status;
    fill_matrix(cuda, q + panel->j0 * ldq, ldq, panel->j0, panel->cols, 0);
    q += panel->j0 + panel->j0 * ldq;
    return caqr_apply_level(cuda, panel, 0, 0, q, ldq, q, ldq, panel->cols,
                            map_of(plan, panel, 0, 0, 0), plan->tops, plan->ld_tops);
}

enum bd_status bd_cuda_caqr_form_q(struct bd_cuda_caqr *plan, float *q, int64_t ldq)
{
    enum bd_status status = BD_OK;
    /* From the last panel to the first: the columns formed so far are the later panels'. */
    for (int i = plan->panels - 1; status == BD_OK && i >= 0; i--) {
        const struct caqr_panel *panel = &plan->panel[i];
        int64_t next = panel->j0 + panel->cols;
        float *right = q + panel->j0 + next * ldq;
        status = apply_panel(plan, panel, 0, right, ldq, right, ldq, plan->n - next);
        if (status == BD_OK)
            status = form_panel(plan, panel, q, ldq);
    }
    return status;
}

enum bd_status bd_cuda_caqr_apply(struct bd_cuda_caqr *plan, enum bd_qr_op op, float *c,
                                  int64_t ldc, int64_t k)
{
    int transposed = op == BD_QR_Q_TRANSPOSED;
    enum bd_status status = BD_OK;
    for (int i = 0; status == BD_OK && i < plan->panels; i++) {
        const struct caqr_panel *panel = &plan->panel[transposed ? i : plan->panels - 1 - i];
        status = apply_panel(plan, panel, transposed, c + panel->j0, ldc, c + panel->j0, ldc, k);
    }
    return status;
}

enum bd_status bd_cuda_caqr_reduce(struct bd_cuda_caqr *plan, const float *a, int64_t lda, float *r,
                                   int64_t ldr)
{
    struct bd_cuda *cuda = plan->cuda;
    struct bd_cuda_caqr *slab = plan->slab;
    enum bd_status status = BD_OK;
    if (plan->single) {
        struct caqr_panel *panel = plan->single;
        panel->level->from = a;
        panel->level->ldf = lda;
        for (int level = 0; status == BD_OK && level < panel->levels; level++)
            status = caqr_factor_level(cuda, panel, level, 0, r, ldr);
        return status;
    }
    status = factor_from(slab, a, lda, plan->slab_a, plan->slab_ld);
    for (int64_t row = slab->m; status == BD_OK && row < plan->m; row += plan->slab_rows) {
        int64_t rows = min64(plan->slab_rows, plan->m - row);
        float *below = plan->slab_a + plan->n;
        copy_matrix(cuda, plan->slab_a, plan->slab_ld, slab->r, plan->n, plan->n, plan->n);
        copy_matrix(cuda, below, plan->slab_ld, a + row, lda, rows, plan->n);
        fill_matrix(cuda, below + rows, plan->slab_ld, plan->slab_rows - rows, plan->n, 0);
        status = bd_cuda_caqr_factor(slab, plan->slab_a, plan->slab_ld);
    }
    return status == BD_OK ? bd_cuda_caqr_get_r(slab, r, ldr) : status;
}
