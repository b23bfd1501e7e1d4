/* Sums over the neighbourhood of each pixel. */
#include "separation/cpu/neighbourhood.h"

enum { BLOCK = bd_mask_sums_block };

/* Rows of sums that a strip has at once: those of a neighbourhood, and their sum. */
struct rows {
    uint32_t *memory; /* of a thread */
    int blocks;       /* of a row */
};

static struct bd_sums sums_at(struct rows rows, int slot)
{
    const size_t blocks = (size_t)rows.blocks, line = blocks * BLOCK;
    uint32_t *at = rows.memory + (size_t)slot * bd_mask_sums_of_row(blocks);
    return (struct bd_sums){ at, at + line, at + 2 * line, at + 3 * line, at + 4 * line };
}

/* sum += row; most rows have few blocks in use. */
static void add_row(struct rows rows, struct bd_sums sum, struct bd_sums row)
{
    for (int block = 0; block < rows.blocks; block++)
        for (int k = 0; row.used[block] && k < 4; k++) {
            const size_t at = ((size_t)k * (size_t)rows.blocks + (size_t)block) * BLOCK;
            uint32_t *restrict to = sum.ff + at;
            const uint32_t *restrict from = row.ff + at;
            for (int i = 0; i < BLOCK; i++)
                to[i] += from[i];
        }
}

/* sum -= row, and row := 0. */
static void take_away(struct rows rows, struct bd_sums sum, struct bd_sums row)
{
    for (int block = 0; block < rows.blocks; block++) {
        for (int k = 0; row.used[block] && k < 4; k++) {
            const size_t at = ((size_t)k * (size_t)rows.blocks + (size_t)block) * BLOCK;
            uint32_t *restrict to = sum.ff + at;
            uint32_t *restrict from = row.ff + at;
            for (int i = 0; i < BLOCK; i++) {
                to[i] -= from[i];
                from[i] = 0;
            }
        }
        row.used[block] = 0;
    }
}

void bd_neighbourhood_strip(const struct bd_mask_work *work,
                            const struct bd_neighbourhood *neighbourhood, int64_t item, int thread)
{
    const int reach = neighbourhood->reach, side = 2 * reach + 1;
    const struct rows rows = { work->sums + (size_t)thread * bd_mask_sums(work->width),
                               (int)bd_mask_sums_blocks(work->width) };
    const struct bd_sums sum = sums_at(rows, side);
    int to, from = bd_mask_strip(work, item, &to);
    /* Row y enters the sum, row y - side leaves it, row y - reach is the middle one. */
    for (int y = from - reach; y < to + reach; y++) {
        const struct bd_sums row = sums_at(rows, (y + side) % side);
        const int middle = y - reach;
        take_away(rows, sum, row);
        if (y >= 0 && y < work->height) {
            neighbourhood->take(neighbourhood->search, row, y, y >= from && y < to);
            add_row(rows, sum, row);
        }
        if (middle >= from)
            neighbourhood->judge(neighbourhood->search, sum, middle);
    }
    for (int slot = 0; slot < side; slot++)
        take_away(rows, sum, sums_at(rows, slot));
}
