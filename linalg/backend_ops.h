/* Private: the table of functions that a backend fills in.
 *
 * Slots are algorithm-sized so that a GPU can fuse them and keep its data resident. The public
 * functions check arguments first; slots may rely on them. Pointers named a, q, r, u, v, w, x, c
 * are in the backend's memory; everything else is on the host. Leading dimensions are in elements.
 * Slots that return nothing but a status may run asynchronously until sync(), except where they
 * fill host memory. A plan, workspace or state is made by the _create slot of its group, holds all
 * the memory that group needs, and is freed by its _destroy slot (which accepts NULL). */
#ifndef BD_LINALG_BACKEND_OPS_H
#define BD_LINALG_BACKEND_OPS_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "linalg/backend.h"
#include "linalg/gram_qr.h"
#include "linalg/matrix.h"
#include "linalg/qr.h"

#ifdef __cplusplus
extern "C" {
#endif

struct bd_separation_shape;
struct bd_detect_params;
struct bd_reveal_params;
struct bd_separation;
struct bd_qr_update_costs;
struct bd_qr_update_shape;

/* The factors of an update (qr_update.h) for its slots; in the backend's memory. */
struct bd_qr_parts {
    float *q;               /* m x q_cols; NULL: R and d alone */
    int64_t ldq, m, q_cols; /* q_cols: n, or m for the full Q; all 0 without Q */
    float *r;               /* n x n, zeros below the diagonal */
    int64_t ldr, n;
    float *d;         /* q_cols x rhs, without Q n x rhs; NULL: none */
    int64_t ldd, rhs; /* 0: none */
};

struct bd_backend {
    const struct bd_backend_ops *ops;
    void *state;           /* the backend's own */
    char description[256]; /* filled in by open */
};

/* One iteration of the batch solver, from the state T that the one before wrote; in grey levels as
 * M has them. With c = clip(T, +-clip_read): S = T - c, Y/mu = dual_scale * c, and X = M - S + Y/mu
 * is what the singular-value thresholding works on. */
struct bd_rpca_step {
    float clip_read;  /* lambda / mu of the iteration that wrote T */
    float dual_scale; /* mu of that iteration / mu of this one */
    float clip_write; /* lambda / mu of this iteration: the new S is T - clip(T, +-clip_write) */
    int keep_svd;     /* X is a multiple of M: the SVD of rpca_start serves */
    double tau;       /* what the singular values of that SVD, or else of X, are reduced by */
};

/* Of M: ||M||_F, ||M||_2, max |M|. */
struct bd_rpca_norms {
    double frobenius, spectral, max;
};

/* Of an iteration: ||M - L - S||_F, and the rank of L to float32 rounding (singular values of X
 * above tau + FLT_EPSILON times the largest). */
struct bd_rpca_outcome {
    double residual;
    int64_t rank;
};

/* How many iterations may be under way. */
enum { bd_rpca_ahead = 3 };

/* How gram_factor makes R of G. */
struct bd_gram_step {
    enum bd_gram_qr_method method; /* CHOLESKY (the three of that name are one here) or SVD */
    enum bd_triangular_solve solve;
    int mixed;     /* float32 solves where the condition of the scaled G is >= 1 / DBL_EPSILON */
    double shift;  /* CHOLESKY: of the diagonal of G scaled to unit diagonal */
    double enough; /* skip a V this orthogonal; 0: never */
    int pass;      /* 0 .. bd_gram_qr_max_passes - 1; 0 starts R_total anew */
};

enum { bd_gram_fill = INT_MIN };

struct bd_backend_ops {
    const char *name;

    /* Opens the device; fills backend->state and backend->description. */
    enum bd_status (*open)(struct bd_backend *backend, int threads);
    void (*close)(struct bd_backend *backend);
    enum bd_status (*sync)(struct bd_backend *backend);

    /* Memory of the backend, 64-byte aligned or better, zeroed. */
    enum bd_status (*alloc)(struct bd_backend *backend, size_t bytes, void **data);
    void (*free)(struct bd_backend *backend, void *data);
    /* `height` columns of `width` bytes, `pitch` bytes apart. Done on return. */
    enum bd_status (*upload)(struct bd_backend *backend, void *dst, size_t dst_pitch,
                             const void *host, size_t host_pitch, size_t width, size_t height);
    enum bd_status (*download)(struct bd_backend *backend, void *host, size_t host_pitch,
                               const void *src, size_t src_pitch, size_t width, size_t height);

    /* The same from the backend's memory to the backend's memory: for bd_qr_update_anew. May run
     * asynchronously. */
    enum bd_status (*copy)(struct bd_backend *backend, void *dst, size_t dst_pitch, const void *src,
                           size_t src_pitch, size_t width, size_t height);

    /* QR by the methods of qr.h. options: 0 fields mean the tuned default. */
    enum bd_status (*qr_create)(struct bd_backend *backend, int64_t m, int64_t n,
                                const struct bd_qr_options *options, void **plan);
    void (*qr_destroy)(void *plan);
    enum bd_status (*qr_factor)(void *plan, float *a, int64_t lda);
    enum bd_status (*qr_get_r)(void *plan, float *r, int64_t ldr);
    enum bd_status (*qr_form_q)(void *plan, float *q, int64_t ldq); /* q may be the factored a */
    enum bd_status (*qr_form_full_q)(void *plan, float *q, int64_t ldq); /* m x m, not in a */
    enum bd_status (*qr_apply)(void *plan, enum bd_qr_op op, float *c, int64_t ldc, int64_t k);
    enum bd_status (*qr_reduce)(void *plan, const float *a, int64_t lda, float *r, int64_t ldr);
    /* q may be a (ldq = lda then); may wait for the device. BD_ERROR_NUMERIC for NaN or Inf. */
    enum bd_status (*qr_thin)(void *plan, const float *a, int64_t lda, float *q, int64_t ldq,
                              float *r, int64_t ldr);

    /* QR updating (qr_update.h). The factors come as they are before a change and have room for it;
     * m, q_cols, n, rhs are sizes before it; whether a Q is full is what the shape at creation says
     * (m = n looks the same). Removed columns of a full Q stay at its end. With a thin Q and d,
     * insert, slide and remove_rows leave d to update_project. Slots that take new columns or rows
     * (u: m x p, or p x n; e: p x rhs, NULL without d) return BD_ERROR_NUMERIC where they hold NaN
     * or Inf, with the factors as before. append_gram: g is n + 1 doubles in the backend's memory,
     * A^T u and then u^T u. */
    enum bd_status (*update_create)(struct bd_backend *backend,
                                    const struct bd_qr_update_shape *shape, void **work);
    void (*update_destroy)(void *work);
    enum bd_status (*update_remove)(void *work, const struct bd_qr_parts *parts, int64_t k,
                                    int64_t p);
    enum bd_status (*update_insert)(void *work, const struct bd_qr_parts *parts, int64_t k,
                                    int64_t p, const float *u, int64_t ldu);
    enum bd_status (*update_slide)(void *work, const struct bd_qr_parts *parts, int64_t p,
                                   const float *u, int64_t ldu);
    enum bd_status (*update_insert_rows)(void *work, const struct bd_qr_parts *parts, int64_t k,
                                         int64_t p, const float *u, int64_t ldu, const float *e,
                                         int64_t lde);
    enum bd_status (*update_remove_rows)(void *work, const struct bd_qr_parts *parts, int64_t k,
                                         int64_t p);
    /* BD_ERROR_NUMERIC where X (rows x cols) holds NaN or Inf; waits for the answer. */
    enum bd_status (*update_check)(void *work, const float *x, int64_t ldx, int64_t rows,
                                   int64_t cols);
    /* d := Q^T B, B m x rhs, for a thin Q. */
    enum bd_status (*update_project)(void *work, const struct bd_qr_parts *parts, const float *b,
                                     int64_t ldb);
    /* X (n x rhs) := R^-1 d(1:n), x may be d; BD_ERROR_NUMERIC for a zero on the diagonal of R,
     * which is waited for. */
    enum bd_status (*update_solve)(void *work, const float *r, int64_t ldr, int64_t n,
                                   const float *d, int64_t ldd, int64_t rhs, float *x, int64_t ldx);
    const struct bd_qr_update_costs *update_costs; /* NULL: no model (qr_update_cost.h) */
    /* For tools/calibrate_updates.c: columns come and go as few (regime 0) or many (1) do from here
     * on, by the faster of both by the model (-1) again. A change that is not possible so is
     * BD_ERROR_UNSUPPORTED then. NULL: there is nothing to choose from. */
    void (*update_force)(void *work, int regime);
    enum bd_status (*update_append_gram)(void *work, float *r, int64_t ldr, int64_t n,
                                         const double *g);

    /* QR by the Gram matrix (gram_qr.h) of an m x n block of rows of V, m >= 0, and products with
     * triangles (triangular.h). v is float or double by `type`. The workspace holds, all float64
     * and in the backend's memory: G, and what gram_factor makes of it. svd = 0: the SVD method
     * will not be asked for (a backend may then have more columns); 2: it will be, with mixed steps
     * too.
     * A pass: gram_form (or the gram_solve before it), [gram_get, gram_put], gram_factor,
     * gram_solve; passes may be enqueued without asking gram_tell in between. */
    enum bd_status (*gram_create)(struct bd_backend *backend, int64_t m, int64_t n,
                                  enum bd_type type, int svd, void **work);
    void (*gram_destroy)(void *work);
    /* May be NULL. All passes of one block that is the whole of V, or the first ones, as the slots
     * below would make them one after the other, from step->pass = 0 (step->shift is of that pass)
     * and waits: *made of them, at most `passes`, and none where the backend would not gain by it.
     * With the orthogonality step->enough there is no other pass (bd_gram_good_enough); with 0
     * there is one in any case. *more: another one is to follow by the slots below, its G is there;
     * else r (n x n, may be NULL) := R_total as gram_get_r has it. A last pass that was bad is as
     * one of gram_factor, and r has not been written. */
    enum bd_status (*gram_begin)(void *work, void *v, int64_t ldv, void *r, int64_t ldr,
                                 const struct bd_gram_step *step, int passes, int *made, int *more);
    /* G := V^T V, both triangles or the upper alone as the backend likes. */
    enum bd_status (*gram_form)(void *work, const void *v, int64_t ldv);
    /* The upper triangle of G (n x n, ld n, the rest may be anything) to and from the host. */
    enum bd_status (*gram_get)(void *work, double *g);
    enum bd_status (*gram_put)(void *work, const double *g);
    /* R from G, what the solve needs, and the record of pass step->pass; R_total := R R_total, or R
     * in pass 0. Where an element of G's diagonal is not in 2^-900 .. 2^1000 (0, NaN, Inf, squares
     * that left the range of double), or where the eigenvalues do not converge, the pass is *bad*:
     * R = I. Where ||G - I||_F < step->enough it is skipped: R = I as well. */
    enum bd_status (*gram_factor)(void *work, const struct bd_gram_step *step);
    /* V := V R^-1 as the last gram_factor decided, V as it is where R = I; with form = 1 then G :=
     * V^T V of the new V, as by gram_form. */
    enum bd_status (*gram_solve)(void *work, void *v, int64_t ldv, int form);
    /* The record of a pass; waits for it. BD_ERROR_NUMERIC: the pass was bad. */
    enum bd_status (*gram_tell)(void *work, int pass, struct bd_gram_qr_pass *record);
    /* R_total, rounded to the type; zeros below the diagonal. */
    enum bd_status (*gram_get_r)(void *work, void *r, int64_t ldr);
    /* For bad passes. largest (n, on the host) := the largest |v_ij| of each column, NaN or Inf
     * where there is one; waits. */
    enum bd_status (*gram_magnitudes)(void *work, const void *v, int64_t ldv, double *largest);
    /* Column j of V := 2^exponent[j] V(:, j), every exponent that a double can have included, or
     * with bd_gram_fill pseudo-random numbers in -1 .. 1, a function of first_row + i and j alone;
     * the next gram_factor that is not bad undoes that in R_total: column j of its R, I if it is
     * skipped, counts as 2^-exponent[j] times itself there, or as 0. */
    enum bd_status (*gram_repair)(void *work, void *v, int64_t ldv, const int *exponent,
                                  int64_t first_row);
    /* The public functions of triangular.h, errors included; may wait. */
    enum bd_status (*triangular_solve)(void *work, const void *r, int64_t ldr, void *v, int64_t ldv,
                                       enum bd_triangular_solve solve, int mixed);
    enum bd_status (*triangular_multiply)(void *work, const void *r, int64_t ldr, void *v,
                                          int64_t ldv, int mixed);

    /* SVD of R (small_svd.h). compute: sigma (n, on the host) and v (n x n) may be NULL; without
     * sigma nothing is waited for, and a backend that does not wait then tells of NaN or Inf in R
     * by NaN in sigma and V. sigma, v: those of the last compute in the backend's memory (n, and
     * n x n), overwritten by the next; columns of v are *ldv apart. weights and factor use them. */
    enum bd_status (*svd_create)(struct bd_backend *backend, int64_t n, void **work);
    void (*svd_destroy)(void *work);
    enum bd_status (*svd_compute)(void *work, const float *r, int64_t ldr, float *sigma, float *v,
                                  int64_t ldv);
    const float *(*svd_sigma)(void *work);
    const float *(*svd_v)(void *work, int64_t *ldv);
    /* May be NULL. The next compute starts as the first one did, whatever came between. */
    void (*svd_forget)(void *work);
    enum bd_status (*svd_weights)(void *work, float *w, int64_t ldw, int64_t *rank, double tau);
    /* W as F F^T: f is n x rank, ft its transpose; both have room for n x n. */
    enum bd_status (*svd_factor)(void *work, float *f, int64_t ldf, float *ft, int64_t ldft,
                                 int64_t *rank, double tau);

    /* Batch Robust PCA (rpca.h). M is BD_U8 or BD_F32 by `type` and stays where it is; the state T
     * (m x n) is the plan's. */
    enum bd_status (*rpca_create)(struct bd_backend *backend, int64_t m, int64_t n, void **plan);
    void (*rpca_destroy)(void *plan);
    /* T := M (with clip_read = FLT_MAX that is S = 0 and Y a multiple of M); the SVD of M and its
     * norms; BD_ERROR_NUMERIC on NaN or Inf. Outcomes not told are forgotten. */
    enum bd_status (*rpca_start)(void *plan, const void *x, int64_t ldx, enum bd_type type,
                                 struct bd_rpca_norms *norms);
    /* The SVD of X, L = X W with the singular values reduced by tau, T := M - L + Y/mu =
     * S + (X - L). A residual below `enough` ends it: of the iterations enqueued after that one
     * nothing is done, so that the state is as if the host had waited. The residual is that of the
     * new S, the norm of clip(new T, +-clip_write) - dual_scale * clip(old T, +-clip_read). At most
     * bd_rpca_ahead iterations are enqueued whose outcome has not been told. */
    enum bd_status (*rpca_iterate)(void *plan, const struct bd_rpca_step *step, double enough);
    /* The outcome of the oldest iteration that has not been told; *told = 0 while that is under
     * way, unless it is waited for. Not to be asked for iterations after the one that ended it. */
    enum bd_status (*rpca_tell)(void *plan, int wait, struct bd_rpca_outcome *outcome, int *told);
    /* The L and the new S of that step, either may be NULL; T stays as it is. For when no iteration
     * is under way; the same every time until the next start or iteration. */
    enum bd_status (*rpca_get)(void *plan, const struct bd_rpca_step *step, float *l, int64_t ldl,
                               float *s, int64_t lds);

    /* The live separator (separator.h, separator_ops.h).
     * The state holds: the frame in hand f (m bytes); the window W, m x n bytes, a column a slot;
     * the basis B (m x rank_max) and the coefficients C (rank_max x n, by slot), both float; the
     * background l = B w of the frame in hand; a noise level and an age for each pixel; masks.
     * With L = B C, the window without its sparse part is X = L + clip(W - L, +-lambda): it is
     * never stored but formed on the fly. `order` lists the slots of the window, oldest first. */
    enum bd_status (*sep_create)(struct bd_backend *backend,
                                 const struct bd_separation_shape *shape, void **state);
    void (*sep_destroy)(void *state);
    /* Forgets everything but the shape. */
    enum bd_status (*sep_reset)(void *state);
    /* f := the picture, rows `stride` bytes apart. */
    enum bd_status (*sep_load)(void *state, const uint8_t *picture, int64_t stride);
    /* l := a picture of m tight bytes found by another solver. Both copy before they return. */
    enum bd_status (*sep_load_background)(void *state, const uint8_t *background);
    /* `rounds` rounds of w := B^T (l + clip(f - l, +-lambda)), l := B w; starts from the w of the
     * frame before. Where there are rounds, and more than 0.6 of the elements of f differ from that
     * by more than 2 lambda, the light has changed: a round each with 8, 4 and 2 times lambda comes
     * first, and counts if at most 0.7 times as many differ then. The bytes of l are there after
     * sep_detect. */
    enum bd_status (*sep_project)(void *state, int rounds, float lambda);
    /* |f - l| to the cleaned mask, the guard, noise levels and ages (learn = 0 leaves those two).
     */
    enum bd_status (*sep_detect)(void *state, const struct bd_detect_params *params, int learn);
    /* May be NULL: sep_project, sep_detect and sep_finish of the frame in hand in one call, which
     * knows that they come together. */
    enum bd_status (*sep_step)(void *state, int rounds, float lambda,
                               const struct bd_detect_params *params, int learn);
    /* W(:, slot) := f, but l where the guard forbids learning (guarded = 1); C(:, slot) := w. */
    enum bd_status (*sep_insert)(void *state, int slot, int guarded);
    /* f := W(:, slot), for as long as nothing is inserted there. */
    enum bd_status (*sep_recall)(void *state, int slot);
    /* g[j] = X(:, order[j])^T X(:, order[count - 1]), j = 0 .. count - 1, float64, in the backend's
     * memory. */
    enum bd_status (*sep_gram)(void *state, const int *order, int count, float lambda, double *g);
    /* R (count x count) of X(:, order) by TSQR; the rest of r, window x window, becomes 0. The
     * sparse part's remainder clip(W - L, +-lambda) may be rounded to 2^-12 lambda. */
    enum bd_status (*sep_reduce)(void *state, const int *order, int count, float lambda, float *r,
                                 int64_t ldr);
    /* The basis from the SVD of R, R that of X(:, order): with r the number of leading sigma above
     * tau, at most the shape's rank and count, B := X(:, order) V diag(1 / sigma) and C(:, order)
     * := diag(sigma - tau) V^T, both of the r leading sigma and columns of V. r = 0 leaves the
     * basis as it is. Columns of B after the first are kept only while they spread over the picture
     * as a change of light does. w of the frame in hand is carried over to the new basis. sigma and
     * v (at least count values, and count x r) are in the backend's memory. */
    enum bd_status (*sep_basis)(void *state, const int *order, int count, float lambda, double tau,
                                const float *sigma, const float *v, int64_t ldv);
    /* B := the per-pixel median of W(:, order), scaled to norm 1 (rank 1), C := its robust
     * coefficients, w those of the newest; noise := median difference of W(:, order) from it,
     * bounded. Leaves f := the newest column and l undefined. */
    enum bd_status (*sep_median)(void *state, const int *order, int count, float lambda);
    /* As sep_median, but with a value that lasts (cpu/kernels/pixel_kernels.h) in place of the
     * median: slower, and right where somebody stood for most of the time. At most bd_max_lasting
     * columns, evenly spread over the order, are looked at. With choose = 1, where a second value
     * was there in at least an eighth of them (the region, after a 3 x 3 median), components of at
     * least 1 / 3000 of the picture take the second value if it is smoother there (cpu/seam.h): the
     * background is what continues its surroundings. */
    enum bd_status (*sep_lasting)(void *state, const int *order, int count, float lambda,
                                  int choose);
    /* A look for what has been revealed: something that was taken for background has left, and what
     * stood behind it is foreground since, and still. Each pixel of f that differs in no channel by
     * more than params->reach from what it was at an earlier look has been still for one look more,
     * else it is remembered as it is now. Region: the mask, where pixels have been still for
     * params->still looks, after a 3 x 3 median; apart: the rest of the mask. A component of the
     * region across whose border f is smoother than l (cpu/seam.h) gets a vote, other pixels lose
     * theirs. Pixels with params->votes votes, and those still for long enough around them (as far
     * as params->margin, but not in the mask), become background: W := f in all slots of `order`,
     * B := f / w(1) in the first column and 0 in others, noise := params->noise, age, stillness and
     * votes 0. Then the first column is scaled to norm 1 again, and w(1) and C with it. Nothing is
     * taken where w(1) < 1: the background is black. The number of pixels is told with the results
     * of the next frame. */
    enum bd_status (*sep_reveal)(void *state, const int *order, int count,
                                 const struct bd_reveal_params *params);
    /* Frames of which results may be in flight: sep_finish calls without their sep_collect. */
    int sep_depth;
    /* Asks for the results of the frame in hand: the pictures of shape.outputs, the pixels of the
     * mask and those that have changed, and the rank, as they are now. Does not wait. */
    enum bd_status (*sep_finish)(void *state);
    /* Waits for the results of the oldest frame that was finished and not collected (there is one);
     * host pointers, NULL for pictures that are not in shape.outputs, valid until the next
     * sep_load. */
    enum bd_status (*sep_collect)(void *state, struct bd_separation *results);
};

/* The cpu backend's table, the reference; and that of gpu/, in builds with CUDA. */
extern const struct bd_backend_ops bd_cpu_ops, bd_cuda_ops;

#ifdef __cplusplus
}
#endif

#endif
