/* The function table of the live separator (backdrop/separator.h), and its parameters. It is
 * implemented on the CPU (separation/cpu/) and on a GPU (gpu/separation/). */
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

/* The first column b of the basis in use is near the window's first left singular vector if |X^T b|
 * is at least this share of sigma(1) |b|. */
static const float bd_sep_near_share = 0.9f;

/* A slide is spread over so many frames: calls of gram in the first of them, then the SVD of R with
 * part of the basis, and the rest of it in the last. */
enum { bd_sep_gram_parts = 4, bd_sep_slide_frames = bd_sep_gram_parts + 2 };

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

enum { bd_sep_most_results = 4 };

struct bd_separation_shape {
    int width, height, channels;
    int window;  /* columns n */
    int rank;    /* columns of B */
    int outputs; /* pictures that collect returns: a sum of enum bd_separator_output */
    int results; /* what collect returns stays until so many further frames are in hand */
};

/* For detect: see separation/shared/mask.h. */
struct bd_detect_params {
    float threshold;  /* least limit of a pixel, grey levels */
    float noise_gain; /* the limit is so many times the pixel's noise level ... */
    float most;       /* ... but never more than this, grey levels */
    float plain;      /* share of the limit up to which a pixel is plain background; < 0: edges are
                         not trimmed */
    int shadows;      /* 1: pixels in the shadow of something are no foreground */
    int illumination; /* 1: what is background in other light is no foreground (illumination.h) */
    int mirrors;      /* 1: mirror images are no foreground (mirror.h); of three channels only */
    int median;       /* side of the median filter, odd */
    int min_area;     /* pixels */
    int lasting;  /* frames for which small components must last, up to bd_mask_lasting; 0: none */
    int max_hole; /* pixels */
    int flash_quiet;  /* frames for which a cell must be quiet around a flash (flash.h); 0: this
                         frame does not follow the one before, or there is no search */
    int guard;        /* pixels around mask and shadows that must not be learned either */
    float noise_rate; /* share of the newest difference in the noise level */
    float seconds;    /* since the frame before: added to the age of foreground pixels */
    float memory;     /* seconds, above 0: a pixel that has been foreground for longer is no longer
                         guarded */
    /* Of recurrence.h, mirror.h and shadow_colour.h: */
    unsigned look; /* number of the frame */
    int looks;     /* evidence: so many looks, from number `look` on; 0: none */
    int newest;    /* slot of the window's newest frame */
    int columns;   /* frames of the window that count; 0: no search for what moves in place */
    int follows;   /* 1: the frame in hand comes just after that of slot `newest`, and the ways of
                      all pixels between the two are counted, and nothing else */
    int evidence;  /* 1: only evidence is wanted, without learn: mask and guard may be left out */
};

/* For remove_ghosts. */
struct bd_ghost_params {
    int reach;   /* grey levels: a pixel that differs by at most this is unchanged */
    int still;   /* looks for which a pixel must have been unchanged */
    int votes;   /* looks in a row that must agree */
    int least;   /* pixels of the smallest component */
    int times;   /* by so much lower must its boundary contrast be */
    int margin;  /* pixels around a component that become background with it */
    float noise; /* grey levels: first noise level of what becomes background */
};

/* For load_several: what load takes. */
struct bd_separation_load {
    void *state;
    const uint8_t *picture;
    int64_t stride;
};

/* The state holds: the frame in hand f (m bytes); the window W, m x n bytes, a column a slot;
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
    /* f := the picture, rows `stride` bytes apart, which must stay as it is until the next load or
     * recall: it need not be copied. */
    enum bd_status (*load)(void *state, const uint8_t *picture, int64_t stride);
    /* May be NULL: load of several states of one backend, all different. loaded(arg, i, status) is
     * called once for each, by any thread and by several at once, with the status of its load, in
     * the thread whose error detail that has set. It separates that frame. */
    void (*load_several)(const struct bd_separation_load *loads, int count,
                         void (*loaded)(void *arg, int i, enum bd_status status), void *arg);
    /* l := a picture of m tight bytes found by another solver, which is copied. */
    enum bd_status (*load_background)(void *state, const uint8_t *background);
    /* `rounds` rounds of w := B^T (l + clip(f - l, +-lambda)), l := B w, from the w of the frame
     * before; w is rounded after each (rounding.h). If there are rounds, and more than
     * bd_sep_outlier_share of the elements of f differ from the first l by more than 2 lambda, the
     * light has changed: rounds with 8, 4 and 2 times lambda come first, and are kept if at most
     * bd_sep_explained_share times as many elements differ after them. The bytes of l are written
     * by detect at the latest. */
    enum bd_status (*project)(void *state, int rounds, float lambda);
    /* The mask and the guard from |f - l|; learns noise levels, ages, visits and what moves in
     * place and the colours of shadows (not with learn = 0), with params->looks where images are
     * mirrored, and with params->flash_quiet where the picture flashes (with learn = 0, it follows
     * the cells only): separation/shared/mask.h, shadow_colour.h, recurrence.h, mirror.h and
     * flash.h. */
    enum bd_status (*detect)(void *state, const struct bd_detect_params *params, int learn);
    /* May be NULL: project, detect and finish of the frame in hand in one call. */
    enum bd_status (*step)(void *state, int rounds, float lambda,
                           const struct bd_detect_params *params, int learn);
    /* W(:, slot) := f, but l where the guard forbids learning (guarded = 1); C(:, slot) := w. The
     * samples of the slot := f, and the next new frame makes the map of what moves in place again
     * (recurrence.h). */
    enum bd_status (*insert)(void *state, int slot, int guarded);
    /* f := the frame that entered at the slot, as it came, for as long as nothing else is inserted
     * there. */
    enum bd_status (*recall)(void *state, int slot);
    /* g[j] = X(:, order[j])^T X(:, order[count - 1]), j = 0 .. count - 1, float64, in the backend's
     * memory. It is asked for in bd_sep_gram_parts calls, part 0 first, between which frames may be
     * separated. *whole: g is there, as of this call; it may be there earlier than with the last
     * call, and again with that one if the window or B has changed since. The same pass over the
     * window forms what basis needs of it, which is kept until the window or B changes. */
    enum bd_status (*gram)(void *state, const int *order, int count, float lambda, int part,
                           double *g, bool *whole);
    /* May be NULL. What is asked of gram, of R's update and of its SVD between begin = 1 and
     * begin = 0 may run beside the frames that follow. The functions here that need it wait. */
    enum bd_status (*beside)(void *state, int begin);
    /* R (count x count) of X(:, order); the rest of r, window x window, becomes 0. The
     * remainder clip(W - L, +-lambda) may be rounded to 2^-12 lambda. */
    enum bd_status (*reduce)(void *state, const int *order, int count, float lambda, float *r,
                             int64_t ldr);
    /* The basis from the SVD of R, R that of X(:, order): with r the number of leading sigma above
     * tau, at most the shape's rank and count, B := X(:, order) V diag(1 / sigma) and C(:, order)
     * := diag(sigma - tau) V^T, both of the r leading sigma and columns of V. r = 0 leaves the
     * basis as it is. The first column v of V and sigma(1) are replaced by a step of subspace
     * iteration from the first column b of B: t := X^T b in float64, sigma(1) := |t| / |b|,
     * v := t / |t|, both rounded (rounding.h), so that all backends learn the same; unless b is far
     * from the window (bd_sep_near_share). Columns of B
     * after the first are kept up to the first that takes part in too little
     * (bd_sep_least_participation). w becomes
     * B_new^T B w, rounded. sigma and v (at least count values, and count x r) are in the backend's
     * memory. The drift of R (drift.h), 0 where r = 0, is in the results of the next frame. */
    enum bd_status (*basis)(void *state, const int *order, int count, float lambda, double tau,
                            const float *sigma, const float *v, int64_t ldv);
    /* May be NULL. Does what basis would do with the SVD of R, without it, where the products X^T b
     * alone are enough: with a shape of rank 1, and b that by them is certainly near the window.
     * *learned: it has, but for the drift, which is not measured and 0; else nothing has changed.
     */
    enum bd_status (*basis_only)(void *state, const int *order, int count, float lambda, double tau,
                                 bool *learned);
    /* May be NULL. Part of the work of basis, which follows with the same arguments after further
     * frames: so that no frame takes all of it. What basis does is the same. */
    enum bd_status (*basis_ahead)(void *state, const int *order, int count, float lambda,
                                  double tau, const float *sigma, const float *v, int64_t ldv);
    /* *count := pixels whose values in the columns of two slots differ, in some channel, by more
     * than `reach` grey levels. Waits for it. The difference and the mask of the frame in hand are
     * undefined then. */
    enum bd_status (*compare)(void *state, int slot, int other, int reach, int64_t *count);
    /* B := the stable value of each pixel of W(:, order), scaled to norm 1 (rank 1): right even
     * where a person stayed for most of the time. C := its robust coefficients, w those of the
     * newest; noise := how far the pixel's values are from it. Leaves f := the newest column and l
     * undefined. At most bd_max_stable columns, evenly spread over the order, are looked at.
     * The stable value: a candidate is the pixel in one of the pictures, oldest first; its members
     * are the pictures in which no channel differs from it by more than bd_sep_stable_reach. The
     * candidate wins for which the time that its members span, in pictures, plus their number is
     * the largest (the earliest of equals): a value seen before and after a person stayed there
     * wins over that person, even over a somewhat longer stay. The stable value is the mean of its
     * members, the noise level their mean difference from it (maximum over channels).
     * There is a second stable value, of the pictures that do not show the first. The region is
     * where it has at least 1 / bd_sep_second_share of the pictures as members, and the first one
     * is not seen both before and after it; after a 3 x 3 median. With choose = 1 a component of
     * the region (of at least 1 / bd_sep_second_least of the picture) is taken as a whole, since
     * who comes and stays sways: inside he is the stable value, along his outline what is behind
     * him is. Of both values of each of its pixels it takes what was seen earlier, if the boundary
     * contrast of that is bd_sep_second_times lower (separation/shared/boundary_contrast.h), or
     * what came later, if that of this is; else it takes the stable value. */
    enum bd_status (*stable)(void *state, const int *order, int count, float lambda, int choose);
    /* Ghost removal: an object that was taken for background has left, and the background that it
     * uncovered has been foreground since, without a change. One look: a pixel of f that differs in
     * no channel by more than params->reach from the remembered one has been still for one look
     * more, else it is remembered as it is now. Region: the mask, where pixels have been still for
     * params->still looks, after a 3 x 3 median; apart: the rest of the mask. A component of the
     * region in which f has the lower boundary contrast than l gets a vote
     * (separation/shared/boundary_contrast.h), other pixels lose theirs. Pixels with params->votes
     * votes, and those around them (as far as params->margin, but not in the mask) that have been
     * still for as long, become background: W := f in all slots of `order`, B := f / w(1) in the
     * first column and 0 in others, noise := params->noise, age, stillness and votes 0. Then the
     * first column is scaled to norm 1 again, and w(1) and C with it. Nothing happens where
     * w(1) < 1: the background is black. The number of pixels is in the results of the next frame.
     */
    enum bd_status (*remove_ghosts)(void *state, const int *order, int count,
                                    const struct bd_ghost_params *params);
    /* Frames in flight, at most: calls of finish without their collect. */
    int depth;
    /* Asks for the results of the frame in hand: the pictures of shape.outputs, the pixels of the
     * mask and those that have changed, and the rank, as they are now. Does not wait. */
    enum bd_status (*finish)(void *state);
    /* Waits for the results of the oldest frame that was finished and not collected (there is one);
     * host pointers, NULL for pictures that are not in shape.outputs, valid as shape.results says.
     */
    enum bd_status (*collect)(void *state, struct bd_separation *results);
};

/* The implementations; cuda in builds that have it. */
extern const struct bd_separation_ops bd_cpu_separation_ops, bd_cuda_separation_ops;

#ifdef __cplusplus
}
#endif
#endif
