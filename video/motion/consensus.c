#include "video/motion/consensus.h"

#include <math.h>

enum { unknowns = 4 };

/* Rotations (radians) and zooms by more are none of a shaking camera. */
static const double most_bend = 1.0 / 16;

/* A similarity transform follows from no fewer blocks. */
enum { least_blocks = 4 };

/* Rounds of a fit, as long as more blocks agree: from the blocks in the middle of a rotation to
 * those at the sides. */
enum { least_rounds = 4, most_rounds = 12 };

/* Rotation and zoom are clear if so many more blocks agree with them than with a shift. Trees in
 * the wind that hide half of the picture (fall-half) made 15 % of it. */
static const double more_by = 1.2, more = 2;

/* Marks the blocks that agree with a motion; returns how many. */
static int mark(const struct bd_consensus *consensus, struct bd_match *match, int count,
                struct bd_similarity motion)
{
    int agreeing = 0;
    for (int i = 0; i < count; i++) {
        struct bd_point at = bd_similarity_apply(motion, match[i].home);
        match[i].agrees = match[i].found && fabs(match[i].seen.x - at.x) <= consensus->agreement &&
                          fabs(match[i].seen.y - at.y) <= consensus->agreement;
        agreeing += match[i].agrees;
    }
    return agreeing;
}

/* The least-squares shift of the agreeing blocks: the mean of their shifts, weighted. */
static struct bd_similarity fit_shift(const struct bd_match *match, int count,
                                      struct bd_similarity near)
{
    double a = 0, b = 0, c = 0, u = 0, v = 0;
    for (int i = 0; i < count; i++) {
        const float *weight = match[i].weight;
        if (!match[i].agrees)
            continue;
        double x = match[i].seen.x - match[i].home.x - near.x;
        double y = match[i].seen.y - match[i].home.y - near.y;
        a += weight[0];
        b += weight[1];
        c += weight[2];
        u += weight[0] * x + weight[1] * y;
        v += weight[1] * x + weight[2] * y;
    }
    double determinant = a * c - b * b;
    if (determinant > 0) {
        near.x += (c * u - b * v) / determinant;
        near.y += (a * v - b * u) / determinant;
    }
    return near;
}

/* Solves the normal equations a x = b by Cholesky's factorisation; false if they are singular. */
static bool solve(double a[unknowns][unknowns], double b[unknowns])
{
    for (int j = 0; j < unknowns; j++) {
        double before = a[j][j];
        for (int k = 0; k < j; k++)
            a[j][j] -= a[j][k] * a[j][k];
        if (!(a[j][j] > 1e-9 * before))
            return false;
        a[j][j] = sqrt(a[j][j]);
        for (int i = j + 1; i < unknowns; i++) {
            for (int k = 0; k < j; k++)
                a[i][j] -= a[i][k] * a[j][k];
            a[i][j] /= a[j][j];
        }
        for (int k = 0; k < j; k++)
            b[j] -= a[j][k] * b[k];
        b[j] /= a[j][j];
    }
    for (int j = unknowns - 1; j >= 0; j--) {
        for (int k = j + 1; k < unknowns; k++)
            b[j] -= a[k][j] * b[k];
        b[j] /= a[j][j];
    }
    return true;
}

/* The least-squares similarity transform of the agreeing blocks; `near` if they do not tell. It
 * takes the square roots of their weights, or one strong edge at a side that is off by a fraction
 * of a pixel would turn the picture: shaken sequences were measured to .135 pixels instead of .166
 * (highway) and .033 instead of .049 (CAVIAR2). */
static struct bd_similarity fit(const struct bd_match *match, int count, struct bd_similarity near)
{
    double a[unknowns][unknowns] = { { 0 } }, b[unknowns] = { 0 };
    for (int i = 0; i < count; i++) {
        const struct bd_match *m = &match[i];
        if (!m->agrees)
            continue;
        struct bd_point at = bd_similarity_apply(near, m->home);
        double root = sqrt((double)m->weight[0] + m->weight[2]);
        double x = (m->seen.x - at.x) / root, y = (m->seen.y - at.y) / root;
        const double rows[2][unknowns] = { { 1, 0, -m->home.y, m->home.x },
                                           { 0, 1, m->home.x, m->home.y } };
        for (int j = 0; j < unknowns; j++) {
            double wx = m->weight[0] * rows[0][j] + m->weight[1] * rows[1][j];
            double wy = m->weight[1] * rows[0][j] + m->weight[2] * rows[1][j];
            b[j] += wx * x + wy * y;
            for (int k = 0; k <= j; k++)
                a[j][k] += (wx * rows[0][k] + wy * rows[1][k]) / root;
        }
    }
    if (!solve(a, b))
        return near;
    return (struct bd_similarity){ near.x + b[0], near.y + b[1], near.turn + b[2],
                                   near.grow + b[3] };
}

static bool plausible(struct bd_similarity motion)
{
    return fabs(motion.turn) <= most_bend && fabs(motion.grow) <= most_bend;
}

/* The shift that most blocks agree on. */
static int find_shift(const struct bd_consensus *consensus, struct bd_match *match, int count,
                      struct bd_similarity *motion)
{
    int most = 0;
    *motion = (struct bd_similarity){ 0 };
    for (int i = 0; i < count; i++) {
        struct bd_similarity shift = { .x = match[i].seen.x - match[i].home.x,
                                       .y = match[i].seen.y - match[i].home.y };
        int agreeing = match[i].found ? mark(consensus, match, count, shift) : 0;
        if (agreeing > most) {
            most = agreeing;
            *motion = shift;
        }
    }
    most = mark(consensus, match, count, *motion);
    for (int round = 0; round < 2 && most; round++) {
        *motion = fit_shift(match, count, *motion);
        most = mark(consensus, match, count, *motion);
    }
    return most;
}

/* Improves a motion by the blocks that agree with it, more of which may do so then. */
static int refine(const struct bd_consensus *consensus, struct bd_match *match, int count,
                  struct bd_similarity *motion)
{
    int agreeing = mark(consensus, match, count, *motion), before = 0;
    for (int round = 0; round < most_rounds && agreeing >= least_blocks; round++) {
        struct bd_similarity better = fit(match, count, *motion);
        if (!plausible(better) || (round >= least_rounds && agreeing <= before))
            break;
        *motion = better;
        before = agreeing;
        agreeing = mark(consensus, match, count, *motion);
    }
    return agreeing;
}

/* The motion of the picture that takes two blocks to where they are; false if they are too close to
 * each other to tell. */
static bool of_pair(const struct bd_consensus *consensus, const struct bd_match *a,
                    const struct bd_match *b, struct bd_similarity *motion)
{
    double hx = b->home.x - a->home.x, hy = b->home.y - a->home.y;
    double sx = b->seen.x - a->seen.x - hx, sy = b->seen.y - a->seen.y - hy;
    double square = hx * hx + hy * hy;
    if (16 * square <
        (double)consensus->width * consensus->width + (double)consensus->height * consensus->height)
        return false;
    motion->turn = (hx * sy - hy * sx) / square;
    motion->grow = (hx * sx + hy * sy) / square;
    motion->x = motion->y = 0;
    struct bd_point at = bd_similarity_apply(*motion, a->home);
    motion->x = a->seen.x - at.x;
    motion->y = a->seen.y - at.y;
    return plausible(*motion);
}

/* The similarity transform of two blocks that most others agree with. */
static int ask_pairs(const struct bd_consensus *consensus, struct bd_match *match, int count,
                     struct bd_similarity *motion)
{
    int most = 0;
    for (int i = 0; i < count; i++)
        for (int j = 0; j < i && match[i].found; j++) {
            struct bd_similarity pair;
            if (!match[j].found || !of_pair(consensus, &match[i], &match[j], &pair))
                continue;
            int agreeing = mark(consensus, match, count, pair);
            if (agreeing > most) {
                most = agreeing;
                *motion = pair;
            }
        }
    return most;
}

int bd_consensus_find(const struct bd_consensus *consensus, struct bd_match *match, int count,
                      struct bd_similarity *motion)
{
    struct bd_similarity shift, bent;
    int of_shift = find_shift(consensus, match, count, &shift);
    bent = shift;
    int of_bent = refine(consensus, match, count, &bent);
    if (of_bent < consensus->enough) {
        struct bd_similarity pair = { 0 };
        if (ask_pairs(consensus, match, count, &pair) > of_bent)
            bent = pair;
        of_bent = refine(consensus, match, count, &bent);
    }
    bool clear =
        bd_similarity_bend(bent, consensus->width, consensus->height) >= consensus->clear &&
        of_bent >= more_by * of_shift + more;
    *motion = clear || (consensus->bends && of_bent >= of_shift) ? bent : shift;
    return mark(consensus, match, count, *motion);
}
