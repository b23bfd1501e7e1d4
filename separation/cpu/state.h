/* The live separator's state on the CPU (contracts in separation/shared/ops.h). */
#ifndef BD_SEPARATION_CPU_STATE_H
#define BD_SEPARATION_CPU_STATE_H

#include "linalg/shared/cpu.h"
#include "linalg/shared/tsqr.h"
#include "separation/cpu/kernels/exact_kernels.h"
#include "separation/cpu/kernels/pixel_kernels.h"
#include "separation/cpu/mask.h"
#include "separation/cpu/mirror.h"
#include "separation/cpu/shadow.h"
#include "separation/shared/ops.h"

enum {
    bd_sep_chunk = 16384,      /* elements of a frame that one item of a parallel loop takes */
    bd_sep_pixel_chunk = 4096, /* pixels, in a loop over those */
    bd_sep_accumulators = 16   /* of TSQR: fixed, so that results do not depend on the threads */
};

_Static_assert(bd_sep_pixel_chunk % bd_sep_tile == 0, "items are whole tiles");

/* The pictures of a frame's results. */
struct bd_sep_set {
    uint8_t *background;  /* l rounded: m */
    uint8_t *difference;  /* |f - l|, maximum over channels: pixels */
    uint8_t *mask;        /* 0 or 255 */
    uint8_t *shadow_mask; /* 0 or 255: shadows after the clean-up; NULL unless wanted */
};

struct bd_cpu_separator {
    struct bd_pool *pool;
    const struct bd_pixel_kernels *kernels;
    const struct bd_exact_kernels *exact;
    struct bd_separation_shape shape;
    int64_t pixels, m;       /* width x height, and times channels */
    int64_t ld;              /* elements from one column of W, B or B_next to the next */
    int64_t chunks;          /* of bd_sep_chunk elements in m */
    const uint8_t *frame;    /* f: m, the caller's while it submits, a sample, or the copy */
    uint8_t *copy;           /* m: of a frame whose rows are apart */
    struct bd_sep_set set;   /* of the frame in hand: one of `sets` */
    bool due;                /* its background is B w, which is still to be formed */
    uint8_t *window;         /* W: ld x n */
    float *basis;            /* B: ld x rank */
    float *next_basis;       /* the new basis is made here, then the two are exchanged */
    float *coefficients;     /* C: bd_max_rank x n, by slot */
    float *g;                /* n x rank: the new basis is X G */
    float w[bd_max_rank];    /* of the frame in hand */
    int rank;                /* columns of B in use; 0 before the first background */
    double norm;             /* squared, of the first column of B */
    double *products;        /* n: X^T b of the columns in order, b the first column of B */
    float products_lambda;   /* lambda of X in them; 0: the window or B has changed since */
    int64_t products_chunks; /* that the parts of gram so far went over; 0 as above */
    int64_t basis_chunks; /* of B_next that are made ahead, with products_lambda, this rank and g */
    int basis_rank;
    double drift;    /* of R: separation/shared/drift.h */
    double *partial; /* chunks x 2 max(n, bd_max_rank): sums of the items, added up in order */
    struct bd_tsqr *tsqr;
    float *tiles;    /* threads x 2 x bd_sep_chunk */
    int64_t *counts; /* of the items of a loop that counts */

    float *noise;       /* mean difference of the pixel while background, grey levels */
    float *known_noise; /* the same before the frame that was learned last: of the next limits */
    float *age;         /* seconds for which the pixel has been foreground */
    uint8_t *aged;      /* a tile of bd_sep_tile pixels: 0 where all ages are 0 */
    uint8_t *raw;       /* 0 or 1, before and during the clean-up */
    uint8_t *shadow;    /* 0 or 1: foreground before the clean-up, but shadow or in other light */
    uint8_t *lasting;   /* frames for which the pixel's component has lasted (shared/mask.h) */
    uint8_t *guard;     /* 0 or 1: must not be learned */
    int64_t foreground;
    int64_t changed;             /* pixels over the threshold, shadows and other light counted */
    int64_t ghost_pixels;        /* pixels that became background since the results before */
    int64_t result_ghost_pixels; /* the same when the results were asked for */
    int result_rank;             /* of the basis when the results were asked for */
    double result_drift;         /* the same */
    struct bd_sep_set sets[bd_sep_most_results]; /* shape.results; they take turns */
    int turn;                                    /* of them: the set in hand */
    bool finished; /* the set in hand has results: the next frame takes another one */
    struct bd_mask_work *mask_work;
    struct bd_recurrence *recurrence;
    struct bd_mirror_places places;
    struct bd_shadow_colours shadows;
    struct bd_flash *flash;
    uint8_t *image;   /* 0 or 1: mirror images */
    uint8_t *still;   /* looks for which the pixel has been as it was in `earlier` */
    uint8_t *votes;   /* looks in a row that voted for the pixel as uncovered background */
    uint8_t *earlier; /* m */
    uint8_t *scratch; /* 2 x pixels */
    uint8_t *picture; /* m: a second picture of the scene, while two are compared */
    uint8_t *lower;   /* 0 or 1: where it has the lower boundary contrast */
};

/* The run of elements that item `chunk` takes: from *from, returns how many. */
static inline int64_t bd_sep_range(const struct bd_cpu_separator *state, int64_t chunk,
                                   int64_t *from)
{
    *from = chunk * bd_sep_chunk;
    return state->m - *from < bd_sep_chunk ? state->m - *from : bd_sep_chunk;
}

/* The same for loops over pixels. */
static inline int64_t bd_sep_pixel_chunks(const struct bd_cpu_separator *state)
{
    return (state->pixels + bd_sep_pixel_chunk - 1) / bd_sep_pixel_chunk;
}

static inline int64_t bd_sep_pixel_range(const struct bd_cpu_separator *state, int64_t chunk,
                                         int64_t *from)
{
    *from = chunk * bd_sep_pixel_chunk;
    return state->pixels - *from < bd_sep_pixel_chunk ? state->pixels - *from : bd_sep_pixel_chunk;
}

/* Runs a loop of which item i leaves a number in counts[i]; returns their sum. */
static inline int64_t bd_sep_run_and_count(struct bd_cpu_separator *state, bd_pool_fn *fn,
                                           void *arg, int64_t items)
{
    int64_t sum = 0;
    bd_pool_run(state->pool, fn, arg, items);
    for (int64_t i = 0; i < items; i++)
        sum += state->counts[i];
    return sum;
}

/* Before anything of another frame is written: keeps the results of the last one. separator.c */
void bd_sep_take_set(struct bd_cpu_separator *state);

/* The column of the window in `slot`, and its coefficients. */
static inline uint8_t *bd_sep_column(const struct bd_cpu_separator *state, int slot)
{
    return state->window + (int64_t)slot * state->ld;
}

static inline float *bd_sep_coefficients(const struct bd_cpu_separator *state, int slot)
{
    return state->coefficients + (int64_t)slot * bd_max_rank;
}

/* The window or B has changed. */
static inline void bd_sep_forget_products(struct bd_cpu_separator *state)
{
    state->products_lambda = 0;
    state->products_chunks = 0;
    state->basis_chunks = 0;
}

/* `rounds` robust rounds for w (bd_max_rank values, in and out) of the picture f on B.
 * project.c */
void bd_sep_fit(struct bd_cpu_separator *state, const uint8_t *f, float *w, int rounds,
                float lambda);

/* Functions of bd_cpu_separation_ops (separation/shared/ops.h) outside separator.c. */
enum bd_status bd_cpu_sep_project(void *state, int rounds, float lambda);
enum bd_status bd_cpu_sep_insert(void *state, int slot, int guarded);
enum bd_status bd_cpu_sep_recall(void *state, int slot);
enum bd_status bd_cpu_sep_gram(void *state, const int *order, int count, float lambda, int part,
                               double *g, bool *whole);
enum bd_status bd_cpu_sep_reduce(void *state, const int *order, int count, float lambda, float *r,
                                 int64_t ldr);
enum bd_status bd_cpu_sep_basis_ahead(void *state, const int *order, int count, float lambda,
                                      double tau, const float *sigma, const float *v, int64_t ldv);
enum bd_status bd_cpu_sep_basis(void *state, const int *order, int count, float lambda, double tau,
                                const float *sigma, const float *v, int64_t ldv);
enum bd_status bd_cpu_sep_basis_only(void *state, const int *order, int count, float lambda,
                                     double tau, bool *learned);
enum bd_status bd_cpu_sep_stable(void *state, const int *order, int count, float lambda,
                                 int choose);
enum bd_status bd_cpu_sep_remove_ghosts(void *state, const int *order, int count,
                                        const struct bd_ghost_params *params);

#endif
