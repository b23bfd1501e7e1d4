#include "gpu/tuning.h"

/* A class of shapes: up to most_rows rows and most_cols columns on GPUs of that capability or
 * newer. Leaves are as many as leaves_per_sm allows and as their least rows do. */
struct caqr_entry {
    int capability;
    int64_t most_rows, most_cols;
    int panel_cols, leaves_per_sm;
    int64_t least_rows;
    int arity;
};

/* First match counts: newest capability first, then smallest class. */
static const struct caqr_entry caqr_table[] = {
    { 80, INT64_MAX, 16, 16, 8, 512, 9 },
    { 80, INT64_MAX, 32, 32, 8, 512, 5 },
    { 80, INT64_MAX, 48, 48, 5, 512, 3 },
    { 80, INT64_MAX, INT64_MAX, 64, 4, 512, 3 },
};

struct bd_cuda_caqr_shape bd_cuda_caqr_tuned(int capability, int sms, int64_t m, int64_t n)
{
    const struct caqr_entry *entry = caqr_table;
    while (entry->capability > capability || m > entry->most_rows || n > entry->most_cols)
        entry++; /* the last takes everything from the oldest capability on */
    int64_t leaves = (int64_t)entry->leaves_per_sm * sms;
    int64_t rows = (m + leaves - 1) / leaves;
    struct bd_cuda_caqr_shape shape = { .panel_cols = entry->panel_cols,
                                        .block_rows = (rows + 127) / 128 * 128,
                                        .arity = entry->arity };
    if (shape.block_rows < entry->least_rows)
        shape.block_rows = entry->least_rows;
    return shape;
}
