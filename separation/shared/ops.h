/* The table of live separation (backdrop/separator.h), and its parameters: what separation/ asks of
 * a backend, on the CPU (separation/cpu/) and on a GPU (gpu/separation/). */
#ifndef BD_SEPARATION_SHARED_OPS_H
#define BD_SEPARATION_SHARED_OPS_H

#include <backdrop/separator.h>

#include "linalg/shared/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A sudden change of light: more than this share of all values differ from the background before by
 * more than 2 lambda. A person who fills half of the picture (Board) must not be taken for one. */
static const double bd_sep_outlier_share = 0.6;

/* The change of light is explained if at most this share of those values still differ. */
static const double bd_sep_explained_share = 0.7;

/* The search for it takes a round with this many times lambda, one with half of that, and so on
 * down to 2. */
enum { bd_sep_light_times = 8 };

/* A direction b of norm 1 takes part in 1 / (m sum b^4) of the elements. A change of light takes
 * part in most, a person who stays somewhere in few: columns of B after the first one that take
 * part in less than this share are people. */
static const double bd_sep_least_participation = 0.2;

/* Grey levels: the largest first noise level. Where things pass often, the spread of the first
 * window is theirs, not noise: without this bound people in a corridor (HallAndMonitor) are hidden
 * in it, F 0.66 instead of 0.82. 3 and 7 do worse on the average of the clips at hand. */
static const float bd_sep_most_start_noise = 5;

/* The first background, from the stable value of each pixel. */
enum {
    bd_max_stable = 100,      /* columns that are looked at */
    bd_sep_stable_reach = 20, /* grey levels within which two values are the same seen twice */
    /* A second value that one in so many of these columns has may be the background's: in
     * components of one in so many pixels, whose contrast is so many times lower. */
    bd_sep_second_share = 8,
    bd_sep_second_least = 3000,
    bd_sep_second_times = 2
};

struct bd_separation_shape {
    int width, height, channels;
    int window;  /* slots n */
    int rank;    /* columns of B */
    int outputs; /* pictures that sep_collect gives: a sum of enum bd_separator_output */
};

struct bd_detect_params {
    float threshold;  /* least difference, grey levels */
    float noise_gain; /* times the pixel's noise level ... */
    float most;       /* ... but never more than this, grey levels */
    float plain;      /* share of the pixel's threshold below which it is plain background; < 0:
                         edges are not trimmed */
    int shadows;      /* 1: pixels in the shadow of something are no foreground */
    int median;       /* side of the median filter, odd */
    int min_area;     /* pixels */
    int max_hole;     /* pixels */
    int guard;        /* pixels around the mask that must not be learned either */
    float noise_rate; /* share of the newest difference in the noise level */
    float seconds;    /* since the frame before: added to the age of foreground pixels */
    float memory; /* seconds: a pixel that has been foreground for longer is no longer guarded */
};

/* For sep_reveal. */
struct bd_ghost_params {
    int reach;   /* grey levels: a pixel that differs by at most this is what it was */
    int still;   /* looks for which a pixel must have been what it is */
    int votes;   /* looks in a row that must agree */
    int least;   /* pixels of the smallest component */
    int times;   /* by so much lower must it be */
    int margin;  /* pixels around a component that become background with it */
    float noise; /* grey levels: first noise level of what becomes background */
};

/* The live separator (backdrop/separator.h, separation/shared/ops.h).
 * The state holds: the frame in hand f (m bytes); the window W, m x n bytes, a column a slot;
 * the basis B (m x rank_max) and the coefficients C (rank_max x n, by slot), both float; the
 * background l = B w of the frame in hand; a noise level and an age for each pixel; masks.
 * With L = B C, the window without its sparse part is X = L + clip(W - L, +-lambda): it is
 * never stored but formed on the fly. `order` lists the slots of the window, oldest first. */
struct bd_separation_ops {
    enum bd_status (*create)(struct bd_backend *backend, const struct bd_separation_shape *shape,
                             void **state);
    void (*destroy)(void *state);
    /* Forgets everything but the shape. */
    enum bd_status (*reset)(void *state);
    /* f := the picture, rows `stride` bytes apart. */
    enum bd_status (*load)(void *state, const uint8_t *picture, int64_t stride);
    /* l := a picture of m tight bytes found by another solver. Both copy before they return. */
    enum bd_status (*load_background)(void *state, const uint8_t *background);
    /* `rounds` rounds of w := B^T (l + clip(f - l, +-lambda)), l := B w; starts from the w of the
     * frame before. Where there are rounds, and more than 0.6 of the elements of f differ from that
     * by more than 2 lambda, the light has changed: a round each with 8, 4 and 2 times lambda comes
     * first, and counts if at most 0.7 times as many differ then. The bytes of l are there after
     * detect. */
    enum bd_status (*project)(void *state, int rounds, float lambda);
    /* |f - l| to the cleaned mask, the guard, noise levels and ages (learn = 0 leaves those two).
     */
    enum bd_status (*detect)(void *state, const struct bd_detect_params *params, int learn);
    /* May be NULL: project, detect and finish of the frame in hand in one call, which
     * knows that they come together. */
    enum bd_status (*step)(void *state, int rounds, float lambda,
                           const struct bd_detect_params *params, int learn);
    /* W(:, slot) := f, but l where the guard forbids learning (guarded = 1); C(:, slot) := w. */
    enum bd_status (*insert)(void *state, int slot, int guarded);
    /* f := W(:, slot), for as long as nothing is inserted there. */
    enum bd_status (*recall)(void *state, int slot);
    /* g[j] = X(:, order[j])^T X(:, order[count - 1]), j = 0 .. count - 1, float64, in the backend's
     * memory. */
    enum bd_status (*gram)(void *state, const int *order, int count, float lambda, double *g);
    /* R (count x count) of X(:, order) by TSQR; the rest of r, window x window, becomes 0. The
     * sparse part's remainder clip(W - L, +-lambda) may be rounded to 2^-12 lambda. */
    enum bd_status (*reduce)(void *state, const int *order, int count, float lambda, float *r,
                             int64_t ldr);
    /* The basis from the SVD of R, R that of X(:, order): with r the number of leading sigma above
     * tau, at most the shape's rank and count, B := X(:, order) V diag(1 / sigma) and C(:, order)
     * := diag(sigma - tau) V^T, both of the r leading sigma and columns of V. r = 0 leaves the
     * basis as it is. Columns of B after the first are kept only while they spread over the picture
     * as a change of light does. w of the frame in hand is carried over to the new basis. sigma and
     * v (at least count values, and count x r) are in the backend's memory. */
    enum bd_status (*basis)(void *state, const int *order, int count, float lambda, double tau,
                            const float *sigma, const float *v, int64_t ldv);
    /* B := the per-pixel median of W(:, order), scaled to norm 1 (rank 1), C := its robust
     * coefficients, w those of the newest; noise := median difference of W(:, order) from it,
     * bounded. Leaves f := the newest column and l undefined. */
    enum bd_status (*median)(void *state, const int *order, int count, float lambda);
    /* As median, but with a value that lasts (cpu/kernels/pixel_kernels.h) in place of the
     * median: slower, and right where somebody stood for most of the time. At most bd_max_stable
     * columns, evenly spread over the order, are looked at. With choose = 1, where a second value
     * was there in at least an eighth of them (the region, after a 3 x 3 median), components of at
     * least 1 / 3000 of the picture take the second value if it is lower there (cpu/boundary.h):
     * the background is what continues its surroundings. */
    enum bd_status (*stable)(void *state, const int *order, int count, float lambda, int choose);
    /* A look for what has been revealed: something that was taken for background has left, and what
     * stood behind it is foreground since, and still. Each pixel of f that differs in no channel by
     * more than params->reach from what it was at an earlier look has been still for one look more,
     * else it is remembered as it is now. Region: the mask, where pixels have been still for
     * params->still looks, after a 3 x 3 median; apart: the rest of the mask. A component of the
     * region across whose border f is lower than l (cpu/boundary.h) gets a vote, other pixels lose
     * theirs. Pixels with params->votes votes, and those still for long enough around them (as far
     * as params->margin, but not in the mask), become background: W := f in all slots of `order`,
     * B := f / w(1) in the first column and 0 in others, noise := params->noise, age, stillness and
     * votes 0. Then the first column is scaled to norm 1 again, and w(1) and C with it. Nothing is
     * taken where w(1) < 1: the background is black. The number of pixels is told with the results
     * of the next frame. */
    enum bd_status (*remove_ghosts)(void *state, const int *order, int count,
                                    const struct bd_ghost_params *params);
    /* Frames of which results may be in flight: finish calls without their collect. */
    int depth;
    /* Asks for the results of the frame in hand: the pictures of shape.outputs, the pixels of the
     * mask and those that have changed, and the rank, as they are now. Does not wait. */
    enum bd_status (*finish)(void *state);
    /* Waits for the results of the oldest frame that was finished and not collected (there is one);
     * host pointers, NULL for pictures that are not in shape.outputs, valid until the next
     * load. */
    enum bd_status (*collect)(void *state, struct bd_separation *results);
};

/* The implementations; cuda in builds that have it. */
extern const struct bd_separation_ops bd_cpu_separation_ops, bd_cuda_separation_ops;

#ifdef __cplusplus
}
#endif
#endif
