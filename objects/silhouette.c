/* Where two members of a group stopped at once, or passed between two frames, their motion does not
 * say who is where. If they differ in height, or one stands farther back, the component does: its
 * upper and lower edges are those of one on the left and of the other on the right. */
#include "objects/silhouette.h"

static const double clearly = .12; /* better, by this share of the smaller box */
enum { most_members = 6 };         /* of a group that is looked at */

struct members {
    int count;
    struct bd_track *track[most_members];
};

static struct members members_of(struct bd_tracker *tracker, int piece)
{
    struct members members = { 0 };
    for (int t = 0; t < tracker->count && members.count < most_members; t++)
        if (tracker->tracks[t].piece == piece)
            members.track[members.count++] = &tracker->tracks[t];
    return members;
}

/* Pixels from `from` to `to` of a row that the boxes cover, which are sorted by their left edges.
 */
static double covered(const struct bd_extent *boxes, int count, double row, double from, double to)
{
    double sum = 0;
    for (int i = 0; i < count && from < to; i++) {
        if (row < boxes[i].top || row >= boxes[i].bottom)
            continue;
        const double left = fmax(boxes[i].left, from), right = fmin(boxes[i].right, to);
        if (right > left) {
            sum += right - left;
            from = right;
        }
    }
    return sum;
}

/* Pixels that are in the component or in a box, but not in both. */
static double mismatch(struct bd_tracker *tracker, int piece, const struct members *members)
{
    const struct bd_piece *component = &tracker->pieces[piece];
    struct bd_extent boxes[most_members];
    double both = 0, all = 0;
    for (int i = 0; i < members->count; i++) {
        const struct bd_extent box = bd_kalman_box(&members->track[i]->kalman);
        int place = i;
        for (; place > 0 && boxes[place - 1].left > box.left; place--)
            boxes[place] = boxes[place - 1];
        boxes[place] = box;
    }
    for (int y = (int)component->box.top; y < (int)component->box.bottom; y++)
        all += covered(boxes, members->count, y + .5, component->box.left, component->box.right);
    for (int32_t i = component->first; i < tracker->components.count; i++) {
        const struct bd_run *run = &tracker->components.runs[i];
        if (run->y >= (int)component->box.bottom)
            break;
        if (bd_components_root(&tracker->components, i) == component->first)
            both += covered(boxes, members->count, run->y + .5, run->from, run->to);
    }
    return (double)component->area + all - 2 * both;
}

static struct bd_kalman_axis *axis_of(struct bd_track *track, bool vertical)
{
    return vertical ? &track->kalman.centre_y : &track->kalman.centre_x;
}

static double size_of(const struct bd_track *track, bool vertical)
{
    return vertical ? track->kalman.height : track->kalman.width;
}

/* The outer edges stay where they are: a larger one does not stick out. */
static void exchange(struct bd_track *a, struct bd_track *b, bool vertical)
{
    struct bd_kalman_axis *p = axis_of(a, vertical), *q = axis_of(b, vertical);
    const double change = (size_of(a, vertical) - size_of(b, vertical)) / 2;
    const double outwards = p->x < q->x ? -change : change;
    const struct bd_kalman_axis kept = *p;
    *p = *q;
    *q = kept;
    p->x += outwards;
    q->x += outwards;
}

void bd_silhouette_arrange(struct bd_tracker *tracker, int piece)
{
    const struct members members = members_of(tracker, piece);
    double best = mismatch(tracker, piece, &members);
    for (int i = 0; i < members.count; i++)
        for (int j = 0; j < i; j++)
            for (int vertical = 0; vertical < 2; vertical++) {
                struct bd_track *a = members.track[i], *b = members.track[j];
                const struct bd_kalman_axis p = *axis_of(a, vertical), q = *axis_of(b, vertical);
                const double least =
                    fmin(bd_extent_area(&a->predicted), bd_extent_area(&b->predicted));
                exchange(a, b, vertical);
                const double other = mismatch(tracker, piece, &members);
                if (other < best - clearly * least) {
                    best = other;
                    continue;
                }
                *axis_of(a, vertical) = p;
                *axis_of(b, vertical) = q;
            }
}
