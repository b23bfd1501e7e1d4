/* SORT (Bewley et al., "Simple online and realtime tracking", ICIP 2016): predicted boxes and
 * pieces form a bipartite graph, and the Hungarian method pairs them by overlap. The distance of
 * the centres is added as in DIoU (Zheng et al. 2020), so that boxes which do not overlap have an
 * order, and the change of size, so that a fragment does not take the number of a whole. The graph
 * falls into parts that touch nothing else; each is solved alone, which is fast. */
#include "objects/match.h"

#include <math.h>

const double bd_match_limit = 1.8;

static const double size_weight = .3;     /* of a change of size by e */
static const double candidate_cost = 1.2; /* so an object that is close comes before a candidate */
static const double candidate_weight = 1. / 3;
static const double unseen_cost = .3;     /* what is seen comes before what is nearly lost */
static const double most_growth = 5;      /* a piece may be so many times larger or smaller */
static const double reach_scales = .3;    /* beyond its box, and */
static const double reach_deviations = 2; /* of the predicted place: how far a track looks */

static double square(double x)
{
    return x * x;
}

/* Where the pieces of a track may be. */
static struct bd_extent reach_of(const struct bd_track *track)
{
    const struct bd_kalman *kalman = &track->kalman;
    const double slack = reach_scales * bd_kalman_scale(kalman);
    const double x = slack + reach_deviations * sqrt(kalman->centre_x.xx);
    const double y = slack + reach_deviations * sqrt(kalman->centre_y.xx);
    const struct bd_extent *box = &track->predicted;
    return (struct bd_extent){ box->left - x, box->top - y, box->right + x, box->bottom + y };
}

double bd_match_cost(const struct bd_tracker *tracker, const struct bd_track *track,
                     const struct bd_piece *piece)
{
    const struct bd_extent *a = &track->predicted, *b = &piece->box;
    const struct bd_extent both = bd_extent_union(a, b);
    const double shared = bd_extent_shared(a, b);
    const double growth = bd_extent_area(b) / bd_extent_area(a);
    if (growth > most_growth || growth * most_growth < 1)
        return 2 * bd_match_limit;
    const double overlap = shared / (bd_extent_area(a) + bd_extent_area(b) - shared);
    const double distance = (square(a->left + a->right - b->left - b->right) +
                             square(a->top + a->bottom - b->top - b->bottom)) /
                            4 / (square(bd_extent_width(&both)) + square(bd_extent_height(&both)));
    const double size = fabs(log(bd_extent_width(b) / bd_extent_width(a))) +
                        fabs(log(bd_extent_height(b) / bd_extent_height(a)));
    const double cost = 1 - overlap + distance + size_weight * size;
    if (!track->object.id)
        return candidate_cost + candidate_weight * cost;
    return cost + unseen_cost * fmin(1, track->unseen / tracker->options.patience);
}

static int root_of(struct bd_tracker *tracker, int i)
{
    short *forest = tracker->forest;
    while (forest[i] != i)
        i = forest[i] = forest[forest[i]];
    return i;
}

/* Joins tracks and pieces that may belong together: tracks are the first nodes of the forest. */
static void make_graph(struct bd_tracker *tracker)
{
    for (int i = 0; i < tracker->count + tracker->piece_count; i++)
        tracker->forest[i] = (short)i;
    for (int t = 0; t < tracker->count; t++) {
        const struct bd_extent reach = reach_of(&tracker->tracks[t]);
        for (int i = 0; i < tracker->piece_count; i++) {
            if (bd_extent_shared(&reach, &tracker->pieces[i].box) <= 0)
                continue;
            const int a = root_of(tracker, t), b = root_of(tracker, tracker->count + i);
            tracker->forest[a > b ? a : b] = (short)(a > b ? b : a);
        }
    }
}

/* What a pair costs: bd_match_limit where there is none. */
static double cost_of(const struct bd_tracker *tracker, int t, int piece)
{
    const struct bd_track *track = &tracker->tracks[t];
    const struct bd_extent reach = reach_of(track);
    if (bd_extent_shared(&reach, &tracker->pieces[piece].box) <= 0)
        return bd_match_limit;
    return fmin(bd_match_limit, bd_match_cost(tracker, track, &tracker->pieces[piece]));
}

/* Solves the part of the graph whose first track is `root`. */
static void solve_part(struct bd_tracker *tracker, int root)
{
    int rows[bd_most_tracks], columns[bd_most_pieces], column_of[bd_most_tracks];
    int row_count = 0, column_count = 0;
    for (int t = root; t < tracker->count; t++)
        if (root_of(tracker, t) == root)
            rows[row_count++] = t;
    for (int i = 0; i < tracker->piece_count; i++)
        if (root_of(tracker, tracker->count + i) == root)
            columns[column_count++] = i;
    for (int i = 0; i < row_count; i++)
        for (int j = 0; j < column_count; j++)
            tracker->costs[i * column_count + j] = cost_of(tracker, rows[i], columns[j]);
    bd_assignment_solve(&tracker->assignment, column_of, tracker->costs, row_count, column_count,
                        column_count);
    for (int i = 0; i < row_count; i++)
        if (column_of[i] >= 0 && tracker->costs[i * column_count + column_of[i]] < bd_match_limit)
            bd_track_hold(tracker, rows[i], columns[column_of[i]]);
}

void bd_match(struct bd_tracker *tracker)
{
    make_graph(tracker);
    for (int t = 0; t < tracker->count; t++)
        if (root_of(tracker, t) == t)
            solve_part(tracker, t);
}
