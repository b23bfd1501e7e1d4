#include "video/axis.h"

#include <stdlib.h>

/* For `results` averages over `length` pixels, of which a sample covers 2^shift. Result i covers
 * i * length .. (i + 1) * length, in parts of a pixel of which it has `results`. Weights are
 * differences of rounded sums: together they are `whole`. */
static bool create(struct bd_axis *axis, int results, int length, int shift, int whole)
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

bool bd_axes_create(struct bd_axis axes[bd_axis_kinds], const struct bd_axis_plan *plan)
{
    const int width = plan->width, height = plan->height;
    const int columns = plan->small_width, rows = plan->small_height;
    return create(&axes[bd_axis_columns], columns, width, 0, bd_axis_whole_row) &&
           create(&axes[bd_axis_rows], rows, height, 0, bd_axis_whole_column) &&
           create(&axes[bd_axis_chroma_columns], columns, width, plan->shift_x,
                  bd_axis_whole_row) &&
           create(&axes[bd_axis_chroma_rows], rows, height, plan->shift_y, bd_axis_whole_column);
}

void bd_axes_destroy(struct bd_axis axes[bd_axis_kinds])
{
    for (int i = 0; i < bd_axis_kinds; i++) {
        free(axes[i].first);
        free(axes[i].count);
        free(axes[i].at);
        free(axes[i].weights);
    }
}
