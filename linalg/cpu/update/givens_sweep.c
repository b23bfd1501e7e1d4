#include "linalg/cpu/update/givens_sweep.h"

#include <string.h>

#include "linalg/shared/kernels.h"

enum {
    tile_rows = 256, /* of Q: with a window's columns twice and G that is 320 KiB of 1 MiB of L2 */
    tile_cols = 64,  /* of R */
    square = bd_givens_ld * bd_givens_ld
};

static int64_t block_of(int64_t p)
{
    return bd_most(bd_givens_least, bd_round_up(p, 16));
}

void bd_givens_create(struct bd_givens *givens, struct bd_cpu_memory *memory, struct bd_pool *pool,
                      int64_t n, int64_t p)
{
    int64_t windows = n / bd_givens_least + 2;
    givens->pool = pool;
    givens->kernels = bd_kernels()->block;
    givens->columns = bd_kernels()->column;
    givens->ld_g = 2 * block_of(p);
    /* Two arrays of a tile, or of a window four, the work of the block kernels (less than one), and
     * what reorthogonalises it, four. */
    givens->scratch_size = 9 * square;
    givens->g = bd_cpu_floats(memory, windows * givens->ld_g * givens->ld_g);
    givens->gt = bd_cpu_floats(memory, windows * givens->ld_g * givens->ld_g);
    givens->v = bd_cpu_floats(memory, windows * bd_givens_most * bd_givens_most);
    givens->t = bd_cpu_floats(memory, windows * bd_kernel_inner * bd_givens_most);
    givens->scratch = bd_cpu_floats(memory, bd_pool_threads(pool) * givens->scratch_size);
}

void bd_givens_begin(struct bd_givens *givens, int64_t p, int64_t first, int64_t rows,
                     int64_t shift, int up)
{
    givens->p = p;
    givens->b = block_of(p);
    givens->first = first;
    givens->rows = rows;
    givens->shift = shift;
    givens->up = up;
}

static int64_t windows_of(const struct bd_givens *givens)
{
    return (givens->rows + givens->b - 1) / givens->b;
}

/* Rows of block t. */
static int64_t rows_of(const struct bd_givens *givens, int64_t t)
{
    return bd_least(givens->b, givens->rows - t * givens->b);
}

static void clear(int64_t rows, int64_t cols, float *x, int64_t ldx)
{
    for (int64_t j = 0; j < cols; j++)
        memset(x + j * ldx, 0, (size_t)rows * sizeof *x);
}

/* --- making the windows --- */

/* G := G (3 I - G^T G) / 2, a step of Newton's iteration to the nearest orthogonal matrix.
 * Reflectors in float32 leave up to some tens of roundings in G^T G - I, and every update would add
 * them to Q. room: a square in float64 and two in float32. */
static void reorthogonalise(const struct bd_givens *givens, int64_t size, float *g, float *room)
{
    double *inner = (double *)(void *)room;
    float *skew = room + 2 * square, *change = skew + square;
    memset(inner, 0, (size_t)(size * size) * sizeof *inner);
    givens->columns->dots(size, size, size, g, givens->ld_g, g, givens->ld_g, inner);
    for (int64_t c = 0; c < size; c++)
        inner[c + c * size] -= 1;
    for (int64_t i = 0; i < size * size; i++)
        skew[i] = (float)(0.5 * inner[i]);
    givens->kernels->gemm(size, size, size, g, givens->ld_g, skew, size, change, size);
    for (int64_t c = 0; c < size; c++)
        for (int64_t i = 0; i < size; i++)
            g[i + c * givens->ld_g] -= change[i + c * size];
}

/* Stores G of window t: rows of the overlap from `top`, rows of the block from `bottom`; column c
 * becomes column (c + offset) mod size. */
static void keep_window(const struct bd_givens *givens, int64_t t, int64_t block, const float *top,
                        const float *bottom, int64_t offset, float *room)
{
    int64_t p = givens->p, size = p + block;
    int64_t ld = givens->ld_g;
    float *g = givens->g + t * ld * ld, *gt = givens->gt + t * ld * ld;
    for (int64_t c = 0; c < size; c++) {
        int64_t to = (c + offset) % size;
        memcpy(g + to * ld, top + c * bd_givens_ld, (size_t)p * sizeof *g);
        memcpy(g + to * ld + p, bottom + c * bd_givens_ld, (size_t)block * sizeof *g);
    }
    reorthogonalise(givens, size, g, room);
    for (int64_t c = 0; c < size; c++)
        for (int64_t i = 0; i < size; i++)
            gt[c + i * ld] = g[i + c * ld];
}

struct form {
    const struct bd_givens *givens;
    const float *r;
    int64_t ldr;
};

/* G = H1 diag(I, H2): H1 reduces the p + b rows of the spike to the upper p; H2 makes the b x b
 * diagonal block of R, which H1 has filled, triangular. */
static void form_window(void *arg, int64_t t, int thread)
{
    const struct form *form = arg;
    const struct bd_givens *givens = form->givens;
    const struct bd_block_kernels *kernels = givens->kernels;
    enum { ld = bd_givens_ld };
    int64_t p = givens->p, block = rows_of(givens, t), size = p + block;
    float *top = givens->scratch + thread * givens->scratch_size, *bottom = top + square;
    float *filled = bottom + square, *factor = filled + square, *work = factor + square;
    const float *v = givens->v + t * bd_givens_most * bd_givens_most;
    const float *vt = givens->t + t * bd_kernel_inner * bd_givens_most;
    const float *r = form->r + (givens->first + t * givens->b) * (1 + form->ldr);
    clear(ld, block, top, ld);
    clear(ld, block, filled, ld);
    for (int64_t j = 0; j < block; j++)
        memcpy(filled + j * ld, r + j * form->ldr, (size_t)(j + 1) * sizeof *r);
    kernels->tpmqrt(1, block, p, block, v, bd_givens_most, vt, top, ld, filled, ld, work);
    kernels->geqrt(block, block, filled, ld, factor, work);
    clear(ld, size, top, ld);
    clear(ld, size, bottom, ld);
    for (int64_t i = 0; i < p; i++)
        top[i + i * ld] = 1;
    for (int64_t i = 0; i < block; i++)
        bottom[i + (p + i) * ld] = 1;
    kernels->gemqrt(0, block, block, block, filled, ld, factor, bottom + p * ld, ld, work);
    kernels->tpmqrt(0, block, p, size, v, bd_givens_most, vt, top, ld, bottom, ld, work);
    keep_window(givens, t, block, top, bottom, 0, top + 5 * square);
}

void bd_givens_eliminate(struct bd_givens *givens, const float *d, int64_t ldd, float *s,
                         const float *r, int64_t ldr)
{
    float *work = givens->scratch;
    for (int64_t t = windows_of(givens) - 1; t >= 0; t--) {
        float *v = givens->v + t * bd_givens_most * bd_givens_most;
        clear(bd_givens_most, givens->p, v, bd_givens_most);
        bd_cpu_copy(v, bd_givens_most, d + t * givens->b, ldd, rows_of(givens, t), givens->p);
        givens->kernels->tpqrt(rows_of(givens, t), givens->p, s, bd_givens_ld, v, bd_givens_most,
                               givens->t + t * bd_kernel_inner * bd_givens_most, work);
    }
    struct form form = { givens, r, ldr };
    bd_pool_run(givens->pool, form_window, &form, windows_of(givens));
}

/* --- applying the windows --- */

/* The two arrays of a thread: what a window reads, and what it writes. */
struct buffers {
    float *in, *out;
};

static struct buffers buffers_of(const struct bd_givens *givens, int thread)
{
    float *first = givens->scratch + thread * givens->scratch_size;
    return (struct buffers){ first, first + tile_rows * bd_givens_ld };
}

static void swap(struct buffers *buffers)
{
    float *now = buffers->in;
    buffers->in = buffers->out;
    buffers->out = now;
}

/* Window t on `cols` columns of X (from its row 0). The overlap is the first p rows of buffers->in
 * (ld bd_givens_ld), before and after. */
static void pass_rows(const struct bd_givens *givens, int64_t t, int64_t cols, float *x,
                      int64_t ldx, struct buffers *buffers)
{
    int64_t p = givens->p, block = rows_of(givens, t), row = givens->first + t * givens->b;
    bd_cpu_copy(buffers->in + p, bd_givens_ld, x + row, ldx, block, cols);
    givens->kernels->gemm(p + block, cols, p + block, givens->gt + t * givens->ld_g * givens->ld_g,
                          givens->ld_g, buffers->in, bd_givens_ld, buffers->out, bd_givens_ld);
    swap(buffers);
    bd_cpu_copy(x + row + givens->shift, ldx, buffers->in + p, bd_givens_ld, block, cols);
}

/* Window t on `rows` rows of X; the overlap is the first p columns of buffers->in (ld tile_rows).
 */
static void pass_columns(const struct bd_givens *givens, int64_t t, int64_t rows, float *x,
                         int64_t ldx, struct buffers *buffers)
{
    int64_t p = givens->p, block = rows_of(givens, t), column = givens->first + t * givens->b;
    const float *g = givens->g + t * givens->ld_g * givens->ld_g;
    bd_cpu_copy(buffers->in + p * tile_rows, tile_rows, x + column * ldx, ldx, rows, block);
    givens->kernels->gemm(rows, p, p + block, buffers->in, tile_rows, g, givens->ld_g, buffers->out,
                          tile_rows);
    givens->kernels->gemm(rows, block, p + block, buffers->in, tile_rows, g + p * givens->ld_g,
                          givens->ld_g, x + (column + givens->shift) * ldx, ldx);
    swap(buffers);
}

struct sweep {
    const struct bd_givens *givens;
    const struct bd_givens_overlap *overlap;
    float *x;
    int64_t ldx, rows, cols;
    int64_t first, end; /* of rows: windows in their order */
    int triangle;
};

static void sweep_columns(void *arg, int64_t item, int thread)
{
    const struct sweep *sweep = arg;
    const struct bd_givens *givens = sweep->givens;
    const struct bd_givens_overlap *overlap = sweep->overlap;
    struct buffers buffers = buffers_of(givens, thread);
    int64_t row = item * tile_rows, p = givens->p, count = windows_of(givens);
    int64_t rows = sweep->rows - row < tile_rows ? sweep->rows - row : tile_rows;
    if (overlap->from) {
        bd_cpu_copy(buffers.in, tile_rows, overlap->from + row, overlap->ld_from, rows, p);
    } else {
        clear(rows, p, buffers.in, tile_rows);
        for (int64_t i = 0; i < p && overlap->unit >= 0; i++)
            if (overlap->unit + i >= row && overlap->unit + i < row + rows)
                buffers.in[overlap->unit + i - row + i * tile_rows] = 1;
    }
    for (int64_t i = 0; i < count; i++)
        pass_columns(givens, givens->up ? count - 1 - i : i, rows, sweep->x + row, sweep->ldx,
                     &buffers);
    if (overlap->to)
        bd_cpu_copy(overlap->to + row, overlap->ld_to, buffers.in, tile_rows, rows, p);
}

void bd_givens_columns(const struct bd_givens *givens, int64_t x_rows, float *x, int64_t ldx,
                       const struct bd_givens_overlap *overlap)
{
    struct sweep sweep = {
        .givens = givens, .overlap = overlap, .x = x, .ldx = ldx, .rows = x_rows
    };
    bd_pool_run(givens->pool, sweep_columns, &sweep, (x_rows + tile_rows - 1) / tile_rows);
}

/* Item: b columns where X is a triangle, else tile_cols. */
static void sweep_rows(void *arg, int64_t item, int thread)
{
    const struct sweep *sweep = arg;
    const struct bd_givens *givens = sweep->givens;
    const struct bd_givens_overlap *overlap = sweep->overlap;
    struct buffers buffers = buffers_of(givens, thread);
    int64_t width = sweep->triangle ? givens->b : tile_cols, p = givens->p;
    int64_t column = item * width, count = windows_of(givens);
    int64_t first = sweep->triangle ? count - 1 - item : sweep->first;
    int64_t cols = sweep->cols - column < width ? sweep->cols - column : width;
    float *x = sweep->x + column * sweep->ldx;
    if (overlap->from)
        bd_cpu_copy(buffers.in, bd_givens_ld, overlap->from + column * overlap->ld_from,
                    overlap->ld_from, p, cols);
    else
        clear(p, cols, buffers.in, bd_givens_ld);
    for (int64_t i = first; i < sweep->end; i++)
        pass_rows(givens, givens->up ? count - 1 - i : i, cols, x, sweep->ldx, &buffers);
    if (overlap->to)
        bd_cpu_copy(overlap->to + column * overlap->ld_to, overlap->ld_to, buffers.in, bd_givens_ld,
                    p, cols);
    int64_t diagonal = givens->first + column + givens->shift;
    for (int64_t j = 0; j < cols && sweep->triangle; j++)
        memset(x + j * sweep->ldx + diagonal + j + 1, 0, (size_t)(cols - j - 1) * sizeof *x);
}

void bd_givens_rows(const struct bd_givens *givens, int64_t cols, float *x, int64_t ldx,
                    const struct bd_givens_overlap *overlap, int triangle)
{
    struct sweep sweep = { .givens = givens,
                           .overlap = overlap,
                           .x = x,
                           .ldx = ldx,
                           .cols = cols,
                           .end = windows_of(givens),
                           .triangle = triangle };
    int64_t width = triangle ? givens->b : tile_cols;
    bd_pool_run(givens->pool, sweep_rows, &sweep, (cols + width - 1) / width);
}

/* --- windows that depend on what those before them did to R --- */

/* Window t alone on `cols` columns of X, from its row 0. */
static void window_rows(const struct bd_givens *givens, int64_t t, int64_t cols, float *x,
                        int64_t ldx, const struct bd_givens_overlap *overlap)
{
    struct sweep sweep = { .givens = givens,
                           .overlap = overlap,
                           .x = x,
                           .ldx = ldx,
                           .cols = cols,
                           .first = t,
                           .end = t + 1 };
    bd_pool_run(givens->pool, sweep_rows, &sweep, (cols + tile_cols - 1) / tile_cols);
}

void bd_givens_lower(struct bd_givens *givens, float *r, int64_t ldr, int64_t n)
{
    enum { ld = bd_givens_ld };
    const struct bd_block_kernels *kernels = givens->kernels;
    int64_t p = givens->p;
    float *panel = givens->scratch, *whole = panel + square, *factor = whole + square;
    float *work = factor + square;
    for (int64_t t = 0; t < windows_of(givens); t++) {
        int64_t block = rows_of(givens, t), size = p + block;
        int64_t row = givens->first - p + t * givens->b; /* of the diagonal, and its column */
        float *diagonal = r + row * (1 + ldr);
        clear(ld, block, panel, ld);
        bd_cpu_copy(panel, ld, diagonal, ldr, size, block);
        kernels->geqrt(size, block, panel, ld, factor, work);
        for (int64_t j = 0; j < block; j++) {
            memcpy(diagonal + j * ldr, panel + j * ld, (size_t)(j + 1) * sizeof *r);
            memset(diagonal + j * ldr + j + 1, 0, (size_t)(size - j - 1) * sizeof *r);
        }
        clear(ld, size, whole, ld);
        for (int64_t i = 0; i < size; i++)
            whole[i + i * ld] = 1;
        kernels->gemqrt(0, size, block, size, panel, ld, factor, whole, ld, work);
        /* the first columns are the block's, the last p the overlap's */
        keep_window(givens, t, block, whole, whole + p, p, panel + 5 * square);
        float *right = diagonal + block * ldr;
        const struct bd_givens_overlap overlap = {
            .from = right, .ld_from = ldr, .to = right + block, .ld_to = ldr
        };
        window_rows(givens, t, n - row - block, right - row, ldr, &overlap);
    }
}

void bd_givens_absorb(struct bd_givens *givens, float *r, int64_t ldr, float *u, int64_t n)
{
    enum { ld = bd_givens_ld };
    const struct bd_block_kernels *kernels = givens->kernels;
    int64_t p = givens->p;
    float *panel = givens->scratch, *top = panel + square, *bottom = top + square;
    float *v = bottom + square, *work = v + square;
    for (int64_t t = 0; t < windows_of(givens); t++) {
        int64_t block = rows_of(givens, t), size = p + block, column = t * givens->b;
        float *diagonal = r + column * (1 + ldr), *factor = givens->t;
        clear(ld, block, panel, ld);
        clear(ld, block, v, ld);
        for (int64_t j = 0; j < block; j++)
            memcpy(panel + j * ld, diagonal + j * ldr, (size_t)(j + 1) * sizeof *r);
        bd_cpu_copy(v, ld, u + column * bd_givens_most, bd_givens_most, p, block);
        kernels->tpqrt(p, block, panel, ld, v, ld, factor, work);
        for (int64_t j = 0; j < block; j++)
            memcpy(diagonal + j * ldr, panel + j * ld, (size_t)(j + 1) * sizeof *r);
        /* The kernel wants the block's rows first: the overlap's are in `bottom`. */
        clear(ld, size, top, ld);
        clear(ld, size, bottom, ld);
        for (int64_t i = 0; i < p; i++)
            bottom[i + i * ld] = 1;
        for (int64_t i = 0; i < block; i++)
            top[i + (p + i) * ld] = 1;
        kernels->tpmqrt(0, p, block, size, v, ld, factor, top, ld, bottom, ld, work);
        keep_window(givens, t, block, bottom, top, 0, panel + 5 * square);
        float *right = u + (column + block) * bd_givens_most;
        const struct bd_givens_overlap overlap = {
            .from = right, .ld_from = bd_givens_most, .to = right, .ld_to = bd_givens_most
        };
        window_rows(givens, t, n - column - block, r + (column + block) * ldr, ldr, &overlap);
    }
}
