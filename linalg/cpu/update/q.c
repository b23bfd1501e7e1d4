/* The passes of a QR update over the tall Q: a block of rows is brought into cache once and goes
 * through all that one pass has for it. The rows are shared out in the same pieces whatever the
 * number of threads, and sums are added in their order, so results do not depend on it. */
#include <string.h>

#include "linalg/cpu/update/update.h"

enum {
    /* Rows of a block. A block of 100 columns then takes 200 KiB of the 1 MiB of L2 cache, and a
     * column's piece of it is long enough to be fetched at full speed. */
    block_rows = 512
};

struct loop {
    struct bd_cpu_update *work;
    const struct bd_update_pass *pass;
};

/* The first group of chains takes the columns from X to Y; further groups are in place there. */
static void rotate_block(const struct bd_column_kernels *kernels, const struct bd_transform *t,
                         int64_t rows, const float *x, int64_t ldx, float *y, int64_t ldy)
{
    for (int64_t g = 0; g < t->sweeps; g += bd_sweep_group) {
        int sweeps = t->sweeps - g < bd_sweep_group ? (int)(t->sweeps - g) : bd_sweep_group;
        int64_t base = t->origin - t->direction * (g + sweeps);
        kernels->rotate(rows, t->steps, sweeps, x + base * ldx, t->direction * ldx, y + base * ldy,
                        t->direction * ldy, t->cs + g * 2, t->sweeps);
        x = y;
        ldx = ldy;
    }
}

/* Transforms a block of Q. A pass that goes on with it (after a removal, whose chains go from left
 * to right) does so from a copy whose columns lie close together: columns of Q are often a multiple
 * of 4 KiB apart and would evict each other. Returns where the block is now. */
static const float *transform_block(const struct bd_cpu_update *work,
                                    const struct bd_update_pass *pass, int64_t rows, float *q,
                                    float *pack, int64_t *ld)
{
    const struct bd_transform *t = pass->transform;
    int joined = pass->subtract || pass->dots;
    *ld = joined ? block_rows + 16 : pass->ldq;
    float *x = joined ? pack : q;
    if (joined) /* the columns that the first group leaves where they are */
        bd_cpu_copy(x, *ld, q, pass->ldq, rows, t->origin - bd_least(t->sweeps, bd_sweep_group));
    rotate_block(work->kernels, t, rows, q, pass->ldq, x, *ld);
    if (joined)
        bd_cpu_copy(q, pass->ldq, x, *ld, rows, pass->n);
    return x;
}

static void run_block(const struct bd_cpu_update *work, const struct bd_update_pass *pass,
                      int64_t row, int64_t rows, double *partial, float *pack)
{
    const struct bd_column_kernels *kernels = work->kernels;
    float *v = pass->v ? pass->v + row : NULL;
    const float *from = pass->u ? pass->u + row : v;
    int64_t ldq = pass->ldq, ldv = pass->u && !pass->subtract ? pass->ldu : pass->ldv;
    const float *q = pass->q ? pass->q + row : NULL;
    if (pass->transform && pass->q)
        q = transform_block(work, pass, rows, pass->q + row, pack, &ldq);
    if (pass->subtract) {
        if (pass->u)
            bd_cpu_copy(v, pass->ldv, from, pass->ldu, rows, pass->b);
        kernels->subtract(rows, pass->n, pass->b, q, ldq, work->small, v, pass->ldv);
        from = v;
    }
    if (pass->dots)
        kernels->dots(rows, pass->n, pass->b, q, ldq, from, ldv, partial);
    if (pass->squares)
        for (int64_t j = 0; j < pass->b; j++)
            partial[pass->n * pass->b + j] += kernels->square(rows, from + j * ldv);
    if (v && pass->scale != 0)
        for (int64_t i = 0; i < rows; i++)
            v[i] = (float)(pass->scale * (double)v[i]);
}

static void run_item(void *arg, int64_t item, int thread)
{
    const struct loop *loop = arg;
    const struct bd_cpu_update *work = loop->work;
    const struct bd_update_pass *pass = loop->pass;
    /* Each pass begins where the one before ended, with what is still in the last-level cache. */
    if (pass->backwards)
        item = work->items - 1 - item;
    int64_t room = work->max_cols * bd_update_group + bd_update_group;
    double *partial = work->partials + item * room;
    memset(partial, 0, (size_t)((pass->n + 1) * pass->b) * sizeof *partial);
    int64_t first = item * work->item_rows, end = first + work->item_rows;
    if (end > work->m)
        end = work->m;
    int64_t blocks = (end - first + block_rows - 1) / block_rows;
    for (int64_t i = 0; i < blocks; i++) {
        int64_t row = first + (pass->backwards ? blocks - 1 - i : i) * block_rows;
        int64_t rows = end - row < block_rows ? end - row : block_rows;
        run_block(work, pass, row, rows, partial, work->pack + thread * work->pack_size);
    }
}

void bd_update_run(struct bd_cpu_update *work, const struct bd_update_pass *pass)
{
    struct loop loop = { work, pass };
    bd_pool_run(work->pool, run_item, &loop, work->items);
    if (!pass->dots && !pass->squares)
        return;
    int64_t room = work->max_cols * bd_update_group + bd_update_group;
    int64_t count = (pass->n + 1) * pass->b;
    memset(work->sums, 0, (size_t)count * sizeof *work->sums);
    for (int64_t item = 0; item < work->items; item++)
        for (int64_t i = 0; i < count; i++)
            work->sums[i] += work->partials[item * room + i];
}

void bd_update_noise(const struct bd_cpu_update *work, float *v, uint64_t seed)
{
    for (int64_t i = 0; i < work->m; i++) {
        /* splitmix64 */
        uint64_t x = (seed << 40) + (uint64_t)(i + 1) * 0x9e3779b97f4a7c15u;
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
        x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
        v[i] = (float)((double)(x >> 32) * 0x1p-31 - 1);
    }
}
