/* Tracks that share a component are told apart by its outline, as in W4 (Haritaoglu, Harwood and
 * Davis 2000): each has a mean silhouette from the time when it was alone. The silhouettes are
 * placed so that each pixel of the component is in one of them, and each pixel beside it in none.
 * Edges of boxes alone say less: who crosses behind another has none. */
#include "objects/shape.h"

#include <math.h>
#include <string.h>

#include "objects/state.h"

static const double learning = 2.5;   /* of the mean silhouette, in a second */
static const double surprise = .05;   /* probability that a pixel is not as the silhouettes say */
static const double weight = .2;      /* of a cell of the grid: neighbours tell the same */
static const double doubt = 1;        /* noise of a place in a component, against that of a box */
static const double cells_across = 9; /* of the grid, in the narrowest member */
enum { most_members = 5, most_rows = 40, most_columns = 80, rounds = 2, reach = 4, levels = 64 };

/* A picture of few cells, over a box. */
struct grid {
    struct bd_extent box;
    int rows, columns;
};

/* The row or column of a place; -1: outside. */
static int cell_of(double at, double from, double size, int cells)
{
    const int cell = (int)floor((at - from) / size * cells);
    return cell < 0 || cell >= cells ? -1 : cell;
}

/* Adds the pixels of a run to the cells of a row, in parts where they are in two. */
static void add_run(float *row, const struct grid *grid, const struct bd_run *run, float pixel)
{
    const double cell = bd_extent_width(&grid->box) / grid->columns;
    const double from = fmax(0, (run->from - grid->box.left) / cell);
    const double to = fmin(grid->columns, (run->to - grid->box.left) / cell);
    for (int i = (int)from; i < to; i++)
        row[i] += (float)((fmin(to, i + 1) - fmax(from, i)) * cell) * pixel;
}

/* cells (rows x columns) become the share of each cell that is in the component. */
static void rasterise(float *cells, const struct grid *grid, struct bd_tracker *tracker, int piece)
{
    const struct bd_piece *component = &tracker->pieces[piece];
    const double width = bd_extent_width(&grid->box), height = bd_extent_height(&grid->box);
    const int count = grid->rows * grid->columns;
    const float pixel = (float)(count / (width * height));
    memset(cells, 0, (size_t)count * sizeof *cells);
    for (int32_t i = component->first; i < tracker->components.count; i++) {
        const struct bd_run *run = &tracker->components.runs[i];
        const int row = cell_of(run->y + .5, grid->box.top, height, grid->rows);
        if (run->y >= (int)component->box.bottom)
            break;
        if (row < 0 || bd_components_root(&tracker->components, i) != component->first)
            continue;
        add_run(&cells[row * grid->columns], grid, run, pixel);
    }
    for (int i = 0; i < count; i++)
        cells[i] = fminf(cells[i], 1);
}

void bd_shape_learn(struct bd_tracker *tracker, int t)
{
    struct bd_track *track = &tracker->tracks[t];
    struct bd_shape *shape = &track->shape;
    const struct grid grid = { tracker->pieces[track->piece].box, bd_shape_rows, bd_shape_columns };
    float seen[bd_shape_rows * bd_shape_columns];
    rasterise(seen, &grid, tracker, track->piece);
    const float rate = shape->known ? (float)fmin(1, learning * tracker->step) : 1;
    for (int i = 0; i < bd_shape_rows * bd_shape_columns; i++)
        shape->share[i] += rate * (seen[i] - shape->share[i]);
    shape->known = true;
}

/* The members of a group on the grid of its component. */
struct fit {
    struct grid grid;
    int count;
    struct bd_track *member[most_members];
    float mask[most_rows * most_columns];
    float free[most_rows * most_columns];   /* probability that no other member is there */
    float others[most_rows * most_columns]; /* how well the others explain each cell */
    /* Logarithms, where members cover a pixel with a probability of level / levels: of the
     * probability that it is not in the component, and how much larger that of being in it is. */
    float out[levels + 1], gain[levels + 1];
};

/* Where a member is on the grid: the cells from `from` to `to` (exclusive) of an axis are in its
 * box, and lie at these rows or columns of its shape. */
struct span {
    int from, to;
    int at[most_columns];
};

struct cells {
    struct span rows, columns;
};

/* The cells of an axis whose middles are from `low` to `high`; the shape has `parts` there. */
static void find_span(struct span *span, double origin, double cell, int cells, double low,
                      double high, int parts)
{
    span->from = (int)fmax(0, floor((low - origin) / cell - .5));
    span->to = (int)fmin(cells, ceil((high - origin) / cell + .5));
    while (span->from < span->to && origin + (span->from + .5) * cell < low)
        span->from++;
    while (span->to > span->from && origin + (span->to - .5) * cell >= high)
        span->to--;
    for (int i = span->from; i < span->to; i++) {
        const int part = (int)((origin + (i + .5) * cell - low) / (high - low) * parts);
        span->at[i] = part < parts ? part : parts - 1;
    }
}

static void find_cells(struct cells *cells, const struct grid *grid, const struct bd_track *track)
{
    const struct bd_extent box = bd_kalman_box(&track->kalman);
    find_span(&cells->rows, grid->box.top, bd_extent_height(&grid->box) / grid->rows, grid->rows,
              box.top, box.bottom, bd_shape_rows);
    find_span(&cells->columns, grid->box.left, bd_extent_width(&grid->box) / grid->columns,
              grid->columns, box.left, box.right, bd_shape_columns);
}

/* How well a cell is explained where no member is with probability `free`, as a logarithm. */
static float explained(const struct fit *fit, int cell, float free)
{
    const int level = (int)((1 - free) * levels + .5f);
    return fit->out[level] + fit->mask[cell] * fit->gain[level];
}

static void leave_out(struct fit *fit, int member)
{
    const struct grid *grid = &fit->grid;
    for (int i = 0; i < grid->rows * grid->columns; i++)
        fit->free[i] = 1;
    for (int m = 0; m < fit->count; m++) {
        const float *share = fit->member[m]->shape.share;
        struct cells cells;
        if (m == member)
            continue;
        find_cells(&cells, grid, fit->member[m]);
        for (int i = cells.rows.from; i < cells.rows.to; i++)
            for (int j = cells.columns.from; j < cells.columns.to; j++)
                fit->free[i * grid->columns + j] *=
                    1 - share[cells.rows.at[i] * bd_shape_columns + cells.columns.at[j]];
    }
    for (int i = 0; i < grid->rows * grid->columns; i++)
        fit->others[i] = explained(fit, i, fit->free[i]);
}

/* How much likelier the component is with this member where its filter says than without it, as a
 * logarithm. */
static double likelihood(const struct fit *fit, int member)
{
    const struct grid *grid = &fit->grid;
    const float *share = fit->member[member]->shape.share;
    struct cells cells;
    double sum = 0;
    find_cells(&cells, grid, fit->member[member]);
    for (int i = cells.rows.from; i < cells.rows.to; i++)
        for (int j = cells.columns.from; j < cells.columns.to; j++) {
            const int cell = i * grid->columns + j;
            const float here = share[cells.rows.at[i] * bd_shape_columns + cells.columns.at[j]];
            sum += explained(fit, cell, fit->free[cell] * (1 - here)) - fit->others[cell];
        }
    return weight * sum;
}

/* Moves a member along an axis to the best place that is near its present one. */
static void search(struct fit *fit, int member, bool vertical)
{
    struct bd_track *track = fit->member[member];
    const struct bd_extent *box = &track->predicted;
    struct bd_kalman_axis *axis = vertical ? &track->kalman.centre_y : &track->kalman.centre_x;
    const double predicted = vertical ? (box->top + box->bottom) / 2 : (box->left + box->right) / 2;
    const double noise = bd_kalman_noise(&track->kalman) / 2;
    const double deviation = sqrt(axis->xx + noise * noise);
    const double step = fmax(.5, deviation / 3), middle = axis->x;
    double best = -INFINITY, at = middle;
    leave_out(fit, member);
    for (int i = -reach; i <= reach; i++) {
        axis->x = middle + i * step;
        const double off = (axis->x - predicted) / deviation;
        const double value = likelihood(fit, member) - off * off / 2;
        if (value > best) {
            best = value;
            at = axis->x;
        }
    }
    axis->x = at;
}

static void open_fit(struct fit *fit, struct bd_tracker *tracker, int piece)
{
    struct grid *grid = &fit->grid;
    double narrowest = INFINITY;
    fit->count = 0;
    grid->box = tracker->pieces[piece].box;
    for (int t = 0; t < tracker->count && fit->count < most_members; t++) {
        struct bd_track *track = &tracker->tracks[t];
        if (track->piece != piece || !track->shape.known)
            continue;
        fit->member[fit->count++] = track;
        grid->box = bd_extent_union(&grid->box, &track->predicted);
        narrowest = fmin(narrowest, track->kalman.width);
    }
    const double width = bd_extent_width(&grid->box), height = bd_extent_height(&grid->box);
    const double cell =
        fmax(fmax(height / most_rows, width / most_columns), fmax(1, narrowest / cells_across));
    grid->rows = (int)fmin(most_rows, ceil(height / cell));
    grid->columns = (int)fmin(most_columns, ceil(width / cell));
    rasterise(fit->mask, grid, tracker, piece);
    for (int i = 0; i <= levels; i++) {
        const double inside = surprise + (1 - 2 * surprise) * i / levels;
        fit->out[i] = (float)log(1 - inside);
        fit->gain[i] = (float)(log(inside) - log(1 - inside));
    }
}

/* The place that was found for a member is a measurement. */
static void correct(struct bd_track *track)
{
    struct bd_kalman *kalman = &track->kalman;
    const struct bd_extent *box = &track->predicted;
    const double x = kalman->centre_x.x, y = kalman->centre_y.x;
    const double noise = doubt * bd_kalman_noise(kalman);
    kalman->centre_x.x = (box->left + box->right) / 2;
    kalman->centre_y.x = (box->top + box->bottom) / 2;
    bd_kalman_correct_axis(&kalman->centre_x, x, noise);
    bd_kalman_correct_axis(&kalman->centre_y, y, noise);
}

void bd_shape_fit(struct bd_tracker *tracker, int piece)
{
    struct fit fit;
    open_fit(&fit, tracker, piece);
    for (int round = 0; round < rounds; round++)
        for (int m = 0; m < fit.count; m++) {
            search(&fit, m, false);
            search(&fit, m, true);
        }
    for (int m = 0; m < fit.count; m++)
        correct(fit.member[m]);
}
