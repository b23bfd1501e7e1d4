#include "gpu/qr/caqr/tuning.h"

/* A class of shapes: up to most_rows rows and most_cols columns on GPUs of that capability or
 * newer. There are leaves_per_sm leaves a multiprocessor, unless they would be too short. */
struct caqr_entry {
    int capability;
    int64_t most_rows, most_cols;
    int panel_cols, leaves_per_sm, arity;
};

/* The first that fits counts. Made by tools/tune_caqr.c on one H100 80GB (132 multiprocessors, CUDA
 * 13.0), medians of R alone and of the factorisation with reflectors, in ms, with the runner-up:
 *
 *   110592 x 16    { 16, 3, 9 }   0.054   0.063    { 16, 3, 7 }   0.054   0.064
 *   1000000 x 20   { 32, 6, 5 }   0.226   0.242    { 32, 6, 9 }   0.232   0.248
 *   110592 x 48    { 48, 2, 9 }   0.198   0.207    { 48, 3, 9 }   0.200   0.210
 *   110592 x 100   { 112, 1, 3 }  0.598   0.611    { 32, 6, 5 }   0.637   0.633
 *   2073600 x 100  { 64, 3, 5 }   3.206   3.214    { 64, 3, 3 }   3.223   3.239
 *   110592 x 192   { 64, 1, 5 }   1.233   1.231    { 64, 3, 5 }   1.267   1.266
 *   1000000 x 192  { 64, 3, 5 }   3.954   3.966    { 64, 3, 3 }   4.001   4.058
 *   20000 x 512    { 128, 1, 3 }  2.918   2.918    { 112, 1, 3 }  3.069   3.059
 *
 * Where rows are few the tree's latency counts, and long leaves keep it low; where they are many
 * all that the multiprocessors can hold: 12 warps each. The bounds between classes are guesses. */
static const struct caqr_entry caqr_table[] = {
    { 80, 300000, 16, 16, 3, 9 },           { 80, INT64_MAX, 32, 32, 6, 5 },
    { 80, INT64_MAX, 48, 48, 3, 9 },        { 80, 300000, 112, 112, 1, 3 },
    { 80, 300000, 384, 64, 1, 5 },          { 80, 100000, INT64_MAX, 128, 1, 3 },
    { 80, INT64_MAX, INT64_MAX, 64, 3, 5 },
};

struct bd_cuda_caqr_shape bd_cuda_caqr_tuned(int capability, int sms, int64_t m, int64_t n)
{
    /* Every sub-block that is folded under an R rounds it: errors grow with the root of their
     * number in a leaf (720000001 x 3: 7.3e-7 of the columns, and 2.5e-6 without this). Instead of
     * longer leaves there are a multiple of so many, one after the other. */
    enum { least_rows = 256, most_rows = 1 << 16 };
    const struct caqr_entry *entry = caqr_table;
    while (entry->capability > capability || m > entry->most_rows || n > entry->most_cols)
        entry++; /* the last takes everything */
    int64_t leaves = (int64_t)entry->leaves_per_sm * sms;
    leaves *= (m + leaves * most_rows - 1) / (leaves * most_rows);
    int64_t rows = ((m + leaves - 1) / leaves + 127) / 128 * 128;
    return (struct bd_cuda_caqr_shape){ .panel_cols = entry->panel_cols,
                                        .block_rows = rows < least_rows ? least_rows : rows,
                                        .arity = entry->arity };
}
