/* Merges and splits, as trackers of blobs treat them: a component with several objects is a group,
 * whose members keep their numbers and are told apart again when it splits (McKenna et al.,
 * "Tracking groups of people", 2000; Fuentes and Velastin, "People tracking in surveillance
 * applications", 2006). Their shapes say where they are in it (shape.c). */
#include "objects/groups.h"

#include <math.h>

#include "objects/match.h"

static const double joined_share = .4; /* of a predicted box that a piece covers: it is in there */
static const double rest_share = .35;  /* of a predicted box, which is no whole object */
static const double room = .5;         /* of an object's size must be free for one more */
static const double short_life = 3;    /* seconds: a fragment that heals sooner was no object */
static const double alike = 1.15;      /* a group so much larger than a member may be it alone */
static const double needless_patience = 2; /* times the patience: then the others are forgotten */

/* Whether a piece has room for a track beside those that are in it. */
static bool has_room(const struct bd_tracker *tracker, const struct bd_track *track, int piece)
{
    double taken = room * bd_extent_area(&track->predicted);
    for (int t = 0; t < tracker->count; t++)
        if (tracker->tracks[t].piece == piece)
            taken += bd_extent_area(&tracker->tracks[t].predicted);
    return taken < bd_extent_area(&tracker->pieces[piece].box);
}

/* The piece of others that covers most of where a track should be; *most: how much, as a share. */
static int best_cover(const struct bd_tracker *tracker, const struct bd_track *track, double *most)
{
    const double area = bd_extent_area(&track->predicted);
    int best = -1;
    *most = joined_share;
    for (int i = 0; i < tracker->piece_count; i++) {
        const double share = bd_extent_shared(&track->predicted, &tracker->pieces[i].box) / area;
        if (tracker->holder[i] < 0 || i == track->piece || share <= *most)
            continue;
        *most = share;
        best = i;
    }
    return best;
}

/* Whether the child is a fragment that has come back to what it broke off. */
static bool heals(const struct bd_track *child, const struct bd_track *origin, double time)
{
    return child->origin == origin->serial && !child->own &&
           time - child->object.since < short_life;
}

/* Track t joins the holder of a piece, of which it is the only one so far; or one of the two
 * proves to be a fragment of the other, or no object yet, and ends. */
static void join(struct bd_tracker *tracker, int t, int piece)
{
    struct bd_track *track = &tracker->tracks[t];
    struct bd_track *holder = &tracker->tracks[tracker->holder[piece]];
    if (!track->object.id || heals(track, holder, tracker->time)) {
        track->gone = true;
    } else if (!holder->object.id || heals(holder, track, tracker->time)) {
        holder->gone = true;
        holder->piece = -1;
        tracker->members[piece]--;
        bd_track_hold(tracker, t, piece);
    } else {
        track->piece = piece;
        tracker->members[piece]++;
    }
}

/* A track whose own piece is a small rest of it, while another piece covers most of it, is in that
 * one. Its own will be a fragment of the group. */
static void leave_rest(struct bd_tracker *tracker, int t)
{
    struct bd_track *track = &tracker->tracks[t];
    if (track->piece < 0 || track->unseen > 0 || tracker->members[track->piece] > 1)
        return;
    const struct bd_extent *rest = &tracker->pieces[track->piece].box;
    double cover = 0;
    const double own =
        bd_extent_shared(&track->predicted, rest) / bd_extent_area(&track->predicted);
    const int piece = own < rest_share ? best_cover(tracker, track, &cover) : -1;
    if (piece < 0 || !has_room(tracker, track, piece))
        return;
    tracker->holder[track->piece] = -1;
    tracker->members[track->piece] = 0;
    track->piece = -1;
    track->pieces = 0;
    track->box = track->predicted;
}

/* A piece that is no track's, being much larger than each, but covers several objects that have
 * none: they have all met at once. The first holds it, so that the others can join. */
static void meet(struct bd_tracker *tracker, int piece)
{
    const struct bd_extent *box = &tracker->pieces[piece].box;
    int first = -1, count = 0;
    for (int t = 0; t < tracker->count; t++) {
        const struct bd_track *track = &tracker->tracks[t];
        const struct bd_extent *predicted = &track->predicted;
        if (!track->object.id || track->piece >= 0 || track->unseen > 0 ||
            bd_extent_shared(predicted, box) < joined_share * bd_extent_area(predicted))
            continue;
        first = count++ ? first : t;
    }
    if (count > 1)
        bd_track_hold(tracker, first, piece);
}

void bd_groups_join(struct bd_tracker *tracker)
{
    double cover = 0;
    for (int i = 0; i < tracker->piece_count; i++)
        if (tracker->holder[i] < 0)
            meet(tracker, i);
    for (int t = 0; t < tracker->count; t++)
        leave_rest(tracker, t);
    for (int pass = 0; pass < 2; pass++)
        for (int t = 0; t < tracker->count; t++) {
            const struct bd_track *track = &tracker->tracks[t];
            const bool lost = track->unseen > 0;
            if (track->piece >= 0 || track->gone || lost != (pass == 1))
                continue;
            const int piece = best_cover(tracker, track, &cover);
            if (piece >= 0 && (!lost || has_room(tracker, track, piece)))
                join(tracker, t, piece);
        }
}

/* A group that is no larger than one of its members may be that one alone. When it has been so for
 * long, the others are forgotten: they went unseen. */
static void forget_needless(struct bd_tracker *tracker, int piece, const struct bd_extent *box)
{
    const double most = needless_patience * tracker->options.patience;
    bool one_suffices = false;
    int keeper = -1;
    for (int t = 0; t < tracker->count; t++) {
        const struct bd_track *track = &tracker->tracks[t];
        if (track->piece != piece)
            continue;
        one_suffices = one_suffices || (bd_extent_width(box) < alike * track->kalman.width &&
                                        bd_extent_height(box) < alike * track->kalman.height);
        if (keeper < 0 || track->seen_for > tracker->tracks[keeper].seen_for)
            keeper = t;
    }
    for (int t = 0; t < tracker->count; t++) {
        struct bd_track *track = &tracker->tracks[t];
        if (track->piece != piece)
            continue;
        track->needless = one_suffices ? track->needless + tracker->step : 0;
        track->gone = track->gone || (t != keeper && track->needless > most);
    }
}

/* The box around the pixels of a piece that are in a box; that box itself where there are none. */
static struct bd_extent around_pixels(struct bd_tracker *tracker, const struct bd_piece *piece,
                                      const struct bd_extent *box)
{
    struct bd_extent hull = *box;
    bool any = false;
    for (int32_t i = piece->first; i < tracker->components.count; i++) {
        const struct bd_run *run = &tracker->components.runs[i];
        if (run->y >= (int)fmin(piece->box.bottom, box->bottom))
            break;
        const struct bd_extent row = { fmax(run->from, box->left), run->y,
                                       fmin(run->to, box->right), run->y + 1 };
        if (row.left >= row.right || row.bottom <= box->top ||
            bd_components_root(&tracker->components, i) != piece->first)
            continue;
        hull = any ? bd_extent_union(&hull, &row) : row;
        any = true;
    }
    return hull;
}

void bd_groups_fit(struct bd_tracker *tracker, int piece)
{
    const struct bd_track *holder = &tracker->tracks[tracker->holder[piece]];
    const struct bd_extent box = holder->box;
    const double area = (double)holder->area;
    double sum = 0;
    bd_shape_fit(tracker, piece);
    forget_needless(tracker, piece, &box);
    for (int t = 0; t < tracker->count; t++)
        if (tracker->tracks[t].piece == piece)
            sum += tracker->tracks[t].kalman.width * tracker->tracks[t].kalman.height;
    for (int t = 0; t < tracker->count; t++) {
        struct bd_track *track = &tracker->tracks[t];
        if (track->piece != piece)
            continue;
        const struct bd_extent whole = bd_kalman_box(&track->kalman);
        track->box = around_pixels(tracker, &tracker->pieces[piece], &whole);
        track->area = (int64_t)(area * track->kalman.width * track->kalman.height / sum);
    }
}

/* How much more it would cost if a and b changed their pieces, as a probability that they did not.
 */
static double not_exchanged(const struct bd_tracker *tracker, const struct bd_track *a,
                            const struct bd_track *b)
{
    const struct bd_piece *of_a = &tracker->pieces[a->piece], *of_b = &tracker->pieces[b->piece];
    const double exchanged = bd_match_cost(tracker, a, of_b) + bd_match_cost(tracker, b, of_a);
    const double kept = bd_match_cost(tracker, a, of_a) + bd_match_cost(tracker, b, of_b);
    return 1 / (1 + exp(-4 * (exchanged - kept)));
}

void bd_groups_doubt(struct bd_tracker *tracker)
{
    for (int t = 0; t < tracker->count; t++) {
        struct bd_track *a = &tracker->tracks[t];
        for (int u = 0; u < tracker->count && a->object.group && a->piece >= 0; u++) {
            const struct bd_track *b = &tracker->tracks[u];
            if (b->object.group == a->object.group && b->piece >= 0 && b->piece != a->piece)
                a->certainty *= not_exchanged(tracker, a, b);
        }
    }
}
