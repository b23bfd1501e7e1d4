#include "video/axis.h"

#include <stdlib.h>

/* Result i covers i * length .. (i + 1) * length, in parts of a pixel of which it has `results`; a
 * sample covers 2^shift pixels. Weights are differences of rounded sums: together they are `whole`.
 */
bool bd_axis_create(struct bd_axis *axis, int results, int length, int shift, int whole)
{
    int64_t unit = (int64_t)results << shift;
    int most = (int)(length / unit) + 2;
    *axis = (struct bd_axis){ .results = results, .most = most };
    axis->first = calloc((size_t)results, sizeof *axis->first);
    axis->count = calloc((size_t)results, sizeof *axis->count);
    axis->at = calloc((size_t)results, sizeof *axis->at);
    axis->weights = calloc((size_t)results * (size_t)most, sizeof *axis->weights);
    if (!axis->first || !axis->count || !axis->at || !axis->weights)
        return false;
    for (int i = 0; i < results; i++) {
        int64_t from = (int64_t)i * length, to = from + length;
        int64_t first = from / unit, last = (to - 1) / unit, sum = 0;
        axis->first[i] = (int)first;
        axis->count[i] = (int)(last - first + 1);
        axis->at[i] = i * most;
        for (int64_t k = first; k <= last; k++) {
            int64_t end = (k + 1) * unit < to ? (k + 1) * unit : to;
            int64_t next = ((end - from) * whole + length / 2) / length;
            axis->weights[axis->at[i] + (int)(k - first)] = (uint16_t)(next - sum);
            sum = next;
        }
    }
    return true;
}

void bd_axis_destroy(struct bd_axis *axis)
{
    free(axis->first);
    free(axis->count);
    free(axis->at);
    free(axis->weights);
}
