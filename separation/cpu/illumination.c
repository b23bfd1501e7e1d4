/* The search for background in other light. */
#include "separation/cpu/neighbourhood.h"

struct search {
    const struct bd_mask_work *work;
    uint8_t *shadow;
    const uint8_t *mask, *f, *l;
    int channels;
};

static void take_pairs(const void *arg, struct bd_block block, struct bd_sums *sums)
{
    const struct search *search = arg;
    const struct bd_mask_work *work = search->work;
    const size_t channels = (size_t)search->channels, at = channels * block.first;
    const bool has_below = block.y + 1 < work->height;
    const size_t below = has_below ? (size_t)work->width : 0;
    const uint8_t *f = search->f + at, *l = search->l + at, *mask = search->mask + block.first;
    bd_block_fetch(work, block, search->f, search->channels);
    bd_block_fetch(work, block, search->l, search->channels);
    work->kernels->pairs(block.count, search->channels, block.x + block.count < work->width,
                         (const uint8_t *[]){ f, f + channels * below },
                         (const uint8_t *[]){ l, l + channels * below },
                         (const uint8_t *[]){ mask, has_below ? mask + below : work->none }, sums);
}

static void judge_pairs(const void *arg, struct bd_block block, const struct bd_sums *totals)
{
    const struct search *search = arg;
    const uint8_t *mask = search->mask + block.first;
    uint8_t *shadow = search->shadow + block.first, lit[bd_block_pixels];
    search->work->kernels->other_light(totals, lit);
    for (int i = 0; i < block.count; i++)
        shadow[i] |= mask[i] & lit[i];
}

static void judge_strip(void *arg, int64_t item, int thread)
{
    const struct search *search = arg;
    const struct bd_neighbourhood neighbourhood = { .reach = bd_illumination_reach,
                                                    .taken = search->mask,
                                                    .judged = search->mask,
                                                    .bits = 1,
                                                    .counted = UINT32_MAX,
                                                    .least = bd_illumination_least_pairs,
                                                    .search = search,
                                                    .take = take_pairs,
                                                    .judge = judge_pairs };
    bd_neighbourhood_strip(search->work, &neighbourhood, item, thread);
}

void bd_illumination_find(struct bd_mask_work *work, uint8_t *shadow, const uint8_t *mask,
                          const uint8_t *f, const uint8_t *l, int channels)
{
    struct search search = { work, shadow, mask, f, l, channels };
    bd_mask_run(work, judge_strip, &search);
}
