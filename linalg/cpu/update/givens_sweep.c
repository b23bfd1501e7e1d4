#include "linalg/cpu/update/givens_sweep.h"

#include <stdlib.h>
#include <string.h>

#include "linalg/shared/kernels.h"

enum {
    tile_rows = 256, /* of Q: with a window's columns twice and G that is 320 KiB of 1 MiB of L2 */
    tile_cols = 64,  /* of R */
    square = bd_givens_ld * bd_givens_ld
};

static int64_t block_of(int64_t p)
{
    int64_t b = (p + 15) / 16 * 16;
    return b < bd_givens_least ? bd_givens_least : b;
}

int bd_givens_create(struct bd_givens *chase, struct bd_pool *pool, int64_t n, int64_t p)
{
    int64_t windows = n / bd_givens_least + 2;
    chase->pool = pool;
    chase->kernels = bd_kernels()->block;
    chase->columns = bd_kernels()->column;
    chase->ld_g = 2 * block_of(p);
    size_t windows_room = (size_t)(windows * chase->ld_g * chase->ld_g) * sizeof(float);
    /* Two arrays of a tile, or of a window four, the work of the block kernels (less than one), and
     * what straightens it, four. */
    chase->scratch_size = 9 * square;
    chase->g = bd_cpu_alloc(windows_room);
    chase->gt = bd_cpu_alloc(windows_room);
    chase->v = bd_cpu_alloc((size_t)windows * bd_givens_most * bd_givens_most * sizeof(float));
    chase->t = bd_cpu_alloc((size_t)windows * bd_kernel_inner * bd_givens_most * sizeof(float));
    chase->scratch =
        bd_cpu_alloc((size_t)bd_pool_threads(pool) * (size_t)chase->scratch_size * sizeof(float));
    return chase->g && chase->gt && chase->v && chase->t && chase->scratch ? 0 : -1;
}

void bd_givens_destroy(struct bd_givens *chase)
{
    free(chase->g);
    free(chase->gt);
    free(chase->v);
    free(chase->t);
    free(chase->scratch);
}

void bd_givens_begin(struct bd_givens *chase, int64_t p, int64_t first, int64_t rows, int64_t shift,
                     int up)
{
    chase->p = p;
    chase->b = block_of(p);
    chase->first = first;
    chase->rows = rows;
    chase->shift = shift;
    chase->up = up;
}

static int64_t windows_of(const struct bd_givens *chase)
{
    return (chase->rows + chase->b - 1) / chase->b;
}

/* Rows of block t. */
static int64_t rows_of(const struct bd_givens *chase, int64_t t)
{
    int64_t left = chase->rows - t * chase->b;
    return left < chase->b ? left : chase->b;
}

static void copy(int64_t rows, int64_t cols, const float *x, int64_t ldx, float *y, int64_t ldy)
{
    for (int64_t j = 0; j < cols; j++)
        memcpy(y + j * ldy, x + j * ldx, (size_t)rows * sizeof *x);
}

static void clear(int64_t rows, int64_t cols, float *x, int64_t ldx)
{
    for (int64_t j = 0; j < cols; j++)
        memset(x + j * ldx, 0, (size_t)rows * sizeof *x);
}

/* --- what the windows are --- */

/* G := G (3 I - G^T G) / 2, a step of Newton's to the nearest orthogonal matrix: reflectors in
 * float32 leave up to some tens of roundings in G^T G - I, of which every element of Q would take
 * its part at every update. room: a square in float64 and one in float32. */
static void straighten(const struct bd_givens *chase, int64_t size, float *g, float *room)
{
    double *inner = (double *)(void *)room;
    float *skew = room + 2 * square, *change = skew + square;
    memset(inner, 0, (size_t)(size * size) * sizeof *inner);
    chase->columns->dots(size, size, size, g, chase->ld_g, g, chase->ld_g, inner);
    for (int64_t c = 0; c < size; c++)
        inner[c + c * size] -= 1;
    for (int64_t i = 0; i < size * size; i++)
        skew[i] = (float)(0.5 * inner[i]);
    chase->kernels->gemm(size, size, size, g, chase->ld_g, skew, size, change, size);
    for (int64_t c = 0; c < size; c++)
        for (int64_t i = 0; i < size; i++)
            g[i + c * chase->ld_g] -= change[i + c * size];
}

/* G of window t from a square in two parts, the carry's rows (top) and the block's (bottom), whose
 * column c is column (c + turn) mod size of G. */
static void keep_window(const struct bd_givens *chase, int64_t t, int64_t block, const float *top,
                        const float *bottom, int64_t turn, float *room)
{
    int64_t p = chase->p, size = p + block;
    int64_t ld = chase->ld_g;
    float *g = chase->g + t * ld * ld, *gt = chase->gt + t * ld * ld;
    for (int64_t c = 0; c < size; c++) {
        int64_t to = (c + turn) % size;
        memcpy(g + to * ld, top + c * bd_givens_ld, (size_t)p * sizeof *g);
        memcpy(g + to * ld + p, bottom + c * bd_givens_ld, (size_t)block * sizeof *g);
    }
    straighten(chase, size, g, room);
    for (int64_t c = 0; c < size; c++)
        for (int64_t i = 0; i < size; i++)
            gt[c + i * ld] = g[i + c * ld];
}

struct drive {
    const struct bd_givens *chase;
    const float *r;
    int64_t ldr;
};

/* G = H1 diag(I, H2): H1 takes the driver's p + b rows to the upper p, H2 makes the b x b block of
 * R triangular that H1 has filled. */
static void form_window(void *arg, int64_t t, int thread)
{
    const struct drive *drive = arg;
    const struct bd_givens *chase = drive->chase;
    const struct bd_block_kernels *kernels = chase->kernels;
    enum { ld = bd_givens_ld };
    int64_t p = chase->p, block = rows_of(chase, t), size = p + block;
    float *top = chase->scratch + thread * chase->scratch_size, *bottom = top + square;
    float *filled = bottom + square, *factor = filled + square, *work = factor + square;
    const float *v = chase->v + t * bd_givens_most * bd_givens_most;
    const float *vt = chase->t + t * bd_kernel_inner * bd_givens_most;
    const float *r = drive->r + (chase->first + t * chase->b) * (1 + drive->ldr);
    clear(ld, block, top, ld);
    clear(ld, block, filled, ld);
    for (int64_t j = 0; j < block; j++)
        memcpy(filled + j * ld, r + j * drive->ldr, (size_t)(j + 1) * sizeof *r);
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
    keep_window(chase, t, block, top, bottom, 0, top + 5 * square);
}

void bd_givens_drive(struct bd_givens *chase, const float *d, int64_t ldd, float *s, const float *r,
                     int64_t ldr)
{
    float *work = chase->scratch;
    for (int64_t t = windows_of(chase) - 1; t >= 0; t--) {
        float *v = chase->v + t * bd_givens_most * bd_givens_most;
        clear(bd_givens_most, chase->p, v, bd_givens_most);
        copy(rows_of(chase, t), chase->p, d + t * chase->b, ldd, v, bd_givens_most);
        chase->kernels->tpqrt(rows_of(chase, t), chase->p, s, bd_givens_ld, v, bd_givens_most,
                              chase->t + t * bd_kernel_inner * bd_givens_most, work);
    }
    struct drive drive = { chase, r, ldr };
    bd_pool_run(chase->pool, form_window, &drive, windows_of(chase));
}

/* --- windows at work --- */

/* The two places of a thread that a window goes from and to. */
struct places {
    float *now, *then;
};

static struct places places_of(const struct bd_givens *chase, int thread)
{
    float *first = chase->scratch + thread * chase->scratch_size;
    return (struct places){ first, first + tile_rows * bd_givens_ld };
}

static void turn(struct places *places)
{
    float *now = places->now;
    places->now = places->then;
    places->then = now;
}

/* Rows: window t on `cols` columns of X (its row 0), the carry being in the first p rows of
 * places->now (ld bd_givens_ld), before and after. */
static void pass_rows(const struct bd_givens *chase, int64_t t, int64_t cols, float *x, int64_t ldx,
                      struct places *places)
{
    int64_t p = chase->p, block = rows_of(chase, t), row = chase->first + t * chase->b;
    copy(block, cols, x + row, ldx, places->now + p, bd_givens_ld);
    chase->kernels->gemm(p + block, cols, p + block, chase->gt + t * chase->ld_g * chase->ld_g,
                         chase->ld_g, places->now, bd_givens_ld, places->then, bd_givens_ld);
    turn(places);
    copy(block, cols, places->now + p, bd_givens_ld, x + row + chase->shift, ldx);
}

/* Columns: the same for `rows` rows of X (ld of the places: tile_rows). */
static void pass_columns(const struct bd_givens *chase, int64_t t, int64_t rows, float *x,
                         int64_t ldx, struct places *places)
{
    int64_t p = chase->p, block = rows_of(chase, t), column = chase->first + t * chase->b;
    const float *g = chase->g + t * chase->ld_g * chase->ld_g;
    copy(rows, block, x + column * ldx, ldx, places->now + p * tile_rows, tile_rows);
    chase->kernels->gemm(rows, p, p + block, places->now, tile_rows, g, chase->ld_g, places->then,
                         tile_rows);
    chase->kernels->gemm(rows, block, p + block, places->now, tile_rows, g + p * chase->ld_g,
                         chase->ld_g, x + (column + chase->shift) * ldx, ldx);
    turn(places);
}

struct sweep {
    const struct bd_givens *chase;
    const struct bd_givens_carry *carry;
    float *x;
    int64_t ldx, rows, cols;
    int triangle;
};

static void sweep_columns(void *arg, int64_t item, int thread)
{
    const struct sweep *sweep = arg;
    const struct bd_givens *chase = sweep->chase;
    const struct bd_givens_carry *carry = sweep->carry;
    struct places places = places_of(chase, thread);
    int64_t row = item * tile_rows, p = chase->p, count = windows_of(chase);
    int64_t rows = sweep->rows - row < tile_rows ? sweep->rows - row : tile_rows;
    if (carry->from) {
        copy(rows, p, carry->from + row, carry->ld_from, places.now, tile_rows);
    } else {
        clear(rows, p, places.now, tile_rows);
        for (int64_t i = 0; i < p && carry->unit >= 0; i++)
            if (carry->unit + i >= row && carry->unit + i < row + rows)
                places.now[carry->unit + i - row + i * tile_rows] = 1;
    }
    for (int64_t i = 0; i < count; i++)
        pass_columns(chase, chase->up ? count - 1 - i : i, rows, sweep->x + row, sweep->ldx,
                     &places);
    if (carry->to)
        copy(rows, p, places.now, tile_rows, carry->to + row, carry->ld_to);
}

void bd_givens_columns(const struct bd_givens *chase, int64_t x_rows, float *x, int64_t ldx,
                       const struct bd_givens_carry *carry)
{
    struct sweep sweep = { .chase = chase, .carry = carry, .x = x, .ldx = ldx, .rows = x_rows };
    bd_pool_run(chase->pool, sweep_columns, &sweep, (x_rows + tile_rows - 1) / tile_rows);
}

/* A block of columns as wide as those of the chase, or a tile of them. */
static void sweep_rows(void *arg, int64_t item, int thread)
{
    const struct sweep *sweep = arg;
    const struct bd_givens *chase = sweep->chase;
    const struct bd_givens_carry *carry = sweep->carry;
    struct places places = places_of(chase, thread);
    int64_t width = sweep->triangle ? chase->b : tile_cols, p = chase->p;
    int64_t column = item * width, count = windows_of(chase);
    int64_t cols = sweep->cols - column < width ? sweep->cols - column : width;
    float *x = sweep->x + column * sweep->ldx;
    if (carry->from)
        copy(p, cols, carry->from + column * carry->ld_from, carry->ld_from, places.now,
             bd_givens_ld);
    else
        clear(p, cols, places.now, bd_givens_ld);
    for (int64_t i = sweep->triangle ? count - 1 - item : 0; i < count; i++)
        pass_rows(chase, chase->up ? count - 1 - i : i, cols, x, sweep->ldx, &places);
    if (carry->to)
        copy(p, cols, places.now, bd_givens_ld, carry->to + column * carry->ld_to, carry->ld_to);
    int64_t diagonal = chase->first + column + chase->shift;
    for (int64_t j = 0; j < cols && sweep->triangle; j++)
        memset(x + j * sweep->ldx + diagonal + j + 1, 0, (size_t)(cols - j - 1) * sizeof *x);
}

void bd_givens_rows(const struct bd_givens *chase, int64_t cols, float *x, int64_t ldx,
                    const struct bd_givens_carry *carry, int triangle)
{
    struct sweep sweep = {
        .chase = chase, .carry = carry, .x = x, .ldx = ldx, .cols = cols, .triangle = triangle
    };
    int64_t width = triangle ? chase->b : tile_cols;
    bd_pool_run(chase->pool, sweep_rows, &sweep, (cols + width - 1) / width);
}

/* --- windows that depend on what those before them did to R --- */

/* One window on the columns of R to its right; the carry is in memory of its own. */
struct trail {
    const struct bd_givens *chase;
    int64_t window, column, cols; /* the first column, and how many */
    float *r;
    int64_t ldr;
    float *from, *to; /* the carry's rows, by the column of R, before and after */
    int64_t ld_carry;
};

static void trail_window(void *arg, int64_t item, int thread)
{
    const struct trail *trail = arg;
    const struct bd_givens *chase = trail->chase;
    struct places places = places_of(chase, thread);
    int64_t column = trail->column + item * tile_cols, left = trail->column + trail->cols - column;
    int64_t cols = left < tile_cols ? left : tile_cols, at = column * trail->ld_carry;
    copy(chase->p, cols, trail->from + at, trail->ld_carry, places.now, bd_givens_ld);
    pass_rows(chase, trail->window, cols, trail->r + column * trail->ldr, trail->ldr, &places);
    copy(chase->p, cols, places.now, bd_givens_ld, trail->to + at, trail->ld_carry);
}

static void run_trail(struct trail *trail)
{
    bd_pool_run(trail->chase->pool, trail_window, trail, (trail->cols + tile_cols - 1) / tile_cols);
}

void bd_givens_lower(struct bd_givens *chase, float *r, int64_t ldr, int64_t n)
{
    enum { ld = bd_givens_ld };
    const struct bd_block_kernels *kernels = chase->kernels;
    int64_t p = chase->p;
    float *panel = chase->scratch, *whole = panel + square, *factor = whole + square;
    float *work = factor + square;
    for (int64_t t = 0; t < windows_of(chase); t++) {
        int64_t block = rows_of(chase, t), size = p + block;
        int64_t row = chase->first - p + t * chase->b; /* of the diagonal, and its column */
        float *diagonal = r + row * (1 + ldr);
        clear(ld, block, panel, ld);
        copy(size, block, diagonal, ldr, panel, ld);
        kernels->geqrt(size, block, panel, ld, factor, work);
        for (int64_t j = 0; j < block; j++) {
            memcpy(diagonal + j * ldr, panel + j * ld, (size_t)(j + 1) * sizeof *r);
            memset(diagonal + j * ldr + j + 1, 0, (size_t)(size - j - 1) * sizeof *r);
        }
        clear(ld, size, whole, ld);
        for (int64_t i = 0; i < size; i++)
            whole[i + i * ld] = 1;
        kernels->gemqrt(0, size, block, size, panel, ld, factor, whole, ld, work);
        /* of its columns the first are the block's, the last p the carry's */
        keep_window(chase, t, block, whole, whole + p, p, panel + 5 * square);
        struct trail trail = { .chase = chase,
                               .window = t,
                               .column = row + block,
                               .cols = n - row - block,
                               .r = r,
                               .ldr = ldr,
                               .from = r + row,
                               .to = r + row + block,
                               .ld_carry = ldr };
        run_trail(&trail);
    }
}

void bd_givens_absorb(struct bd_givens *chase, float *r, int64_t ldr, float *u, int64_t n)
{
    enum { ld = bd_givens_ld };
    const struct bd_block_kernels *kernels = chase->kernels;
    int64_t p = chase->p;
    float *panel = chase->scratch, *top = panel + square, *bottom = top + square;
    float *v = bottom + square, *work = v + square;
    for (int64_t t = 0; t < windows_of(chase); t++) {
        int64_t block = rows_of(chase, t), size = p + block, column = t * chase->b;
        float *diagonal = r + column * (1 + ldr), *factor = chase->t;
        clear(ld, block, panel, ld);
        clear(ld, block, v, ld);
        for (int64_t j = 0; j < block; j++)
            memcpy(panel + j * ld, diagonal + j * ldr, (size_t)(j + 1) * sizeof *r);
        copy(p, block, u + column * bd_givens_most, bd_givens_most, v, ld);
        kernels->tpqrt(p, block, panel, ld, v, ld, factor, work);
        for (int64_t j = 0; j < block; j++)
            memcpy(diagonal + j * ldr, panel + j * ld, (size_t)(j + 1) * sizeof *r);
        /* rows of the carry in `bottom`, of the block in `top`: the kernel's order */
        clear(ld, size, top, ld);
        clear(ld, size, bottom, ld);
        for (int64_t i = 0; i < p; i++)
            bottom[i + i * ld] = 1;
        for (int64_t i = 0; i < block; i++)
            top[i + (p + i) * ld] = 1;
        kernels->tpmqrt(0, p, block, size, v, ld, factor, top, ld, bottom, ld, work);
        keep_window(chase, t, block, bottom, top, 0, panel + 5 * square);
        struct trail trail = { .chase = chase,
                               .window = t,
                               .column = column + block,
                               .cols = n - column - block,
                               .r = r,
                               .ldr = ldr,
                               .from = u,
                               .to = u,
                               .ld_carry = bd_givens_most };
        run_trail(&trail);
    }
}
