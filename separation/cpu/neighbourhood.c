/* Sums over the neighbourhood of each pixel. */
#include "separation/cpu/neighbourhood.h"

/* What a strip has at once: the rows of a neighbourhood, and their sum. */
struct rows {
    const struct bd_exact_kernels *kernels;
    int blocks;           /* of a row */
    struct bd_sums *sums; /* of a row, one behind the other */
    uint64_t *used;       /* the blocks of them that are part of the sum */
    size_t words;         /* of a row */
    uint32_t *sum;        /* at the first column of the picture */
    int64_t pitch;
};

static struct rows rows_of(const struct bd_mask_work *work, int thread)
{
    const size_t blocks = bd_mask_blocks(work->width), words = bd_mask_block_words(work->width);
    const size_t pitch = bd_mask_sum_pitch(work->width), first = (size_t)thread * bd_mask_sum_rows;
    return (struct rows){ .kernels = work->kernels,
                          .blocks = (int)blocks,
                          .sums = work->sums + first * blocks,
                          .used = work->sums_used + first * words,
                          .words = words,
                          .sum = work->sum + (size_t)thread * 4 * pitch + bd_block_pixels,
                          .pitch = (int64_t)pitch };
}

static struct bd_sums *sums_at(struct rows rows, int slot, int block)
{
    return rows.sums + (size_t)slot * (size_t)rows.blocks + (size_t)block;
}

static uint64_t *used_at(struct rows rows, int slot)
{
    return rows.used + (size_t)slot * rows.words;
}

static uint32_t *sum_at(struct rows rows, int block)
{
    return rows.sum + (size_t)block * bd_block_pixels;
}

/* A loop over the blocks that are in use in row `slot`. */
#define FOR_EACH_BLOCK(i, rows, slot)                                                 \
    for (int i = bd_block_next(used_at(rows, slot), 0, rows.blocks); i < rows.blocks; \
         i = bd_block_next(used_at(rows, slot), i + 1, rows.blocks))

/* Row `slot` leaves the sum. Most rows have few blocks in use. */
static void take_away(struct rows rows, int slot)
{
    FOR_EACH_BLOCK(i, rows, slot)
    {
        rows.kernels->take_sums(sums_at(rows, slot, i), sum_at(rows, i), rows.pitch);
    }
    memset(used_at(rows, slot), 0, rows.words * sizeof *rows.used);
}

/* Row y of the picture enters the sum, as row `slot`. */
static void take_row(const struct bd_mask_work *work, const struct bd_neighbourhood *neighbourhood,
                     struct rows rows, int slot, int y, bool own)
{
    rows.kernels->find_blocks(work->width, neighbourhood->taken + (size_t)y * (size_t)work->width,
                              used_at(rows, slot));
    FOR_EACH_BLOCK(i, rows, slot)
    {
        struct bd_sums *sums = sums_at(rows, slot, i);
        struct bd_block block = bd_block_at(work, i, y);
        block.own = own;
        neighbourhood->take(neighbourhood->search, block, sums);
        rows.kernels->add_sums(sums, sum_at(rows, i), rows.pitch);
    }
}

/* Row y of the picture, which entered the sum as row `slot`. */
static void judge_row(const struct bd_mask_work *work, const struct bd_neighbourhood *neighbourhood,
                      struct rows rows, int slot, int y)
{
    struct bd_sums totals;
    FOR_EACH_BLOCK(i, rows, slot)
    {
        const struct bd_block block = bd_block_at(work, i, y);
        if (rows.kernels->has(block.count, neighbourhood->judged + block.first,
                              neighbourhood->bits) &&
            rows.kernels->sum_around(neighbourhood->reach, neighbourhood->counted,
                                     neighbourhood->least, sum_at(rows, i), rows.pitch, &totals))
            neighbourhood->judge(neighbourhood->search, block, &totals);
    }
}

void bd_neighbourhood_strip(const struct bd_mask_work *work,
                            const struct bd_neighbourhood *neighbourhood, int64_t item, int thread)
{
    const int reach = neighbourhood->reach, side = 2 * reach + 1;
    const struct rows rows = rows_of(work, thread);
    int to, from = bd_mask_strip(work, item, &to);
    /* Row y enters the sum, row y - side leaves it, row y - reach is the middle one. */
    for (int y = from - reach; y < to + reach; y++) {
        const int slot = (y + side) % side, middle = y - reach;
        take_away(rows, slot);
        if (y >= 0 && y < work->height)
            take_row(work, neighbourhood, rows, slot, y, y >= from && y < to);
        if (middle >= from)
            judge_row(work, neighbourhood, rows, middle % side, middle);
    }
    for (int slot = 0; slot < side; slot++)
        take_away(rows, slot);
}
