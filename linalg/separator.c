#include "linalg/separator.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "linalg/backend_ops.h"
#include "linalg/matrix.h"
#include "linalg/qr_update.h"
#include "linalg/separator_ops.h"
#include "linalg/small_svd.h"

enum {
    max_window = 1000,
    max_rank = 8,
    rounds_a_frame = 3, /* of the robust projection; it starts from the frame before */
    rounds_a_start = 10 /* after a start or a seek */
};

static const double start_seconds = 10;  /* a window without a look ahead is filled in this time */
static const double longest_step = 5;    /* seconds; a longer one between frames is a seek */
static const double noise_seconds = 2;   /* time constant of a pixel's noise level */
static const double most_threshold = 60; /* grey levels: a pixel's noise never asks for more */

/* A sudden change of light: most of the picture is foreground, and the share of foreground has
 * risen by more than flood_rise above its average over flood_average seconds, for flood_seconds.
 * What was learned is then of no use and learning starts anew. The rise keeps out large objects,
 * which come gradually. */
static const double flood_share = 0.6, flood_rise = 0.4, flood_average = 0.3, flood_seconds = 0.15;

struct bd_separator {
    struct bd_backend *backend;
    struct bd_separator_options options;
    void *state; /* the backend's */
    struct bd_qr_update *update;
    struct bd_small_svd *svd;
    struct bd_matrix r, v; /* n x n; r is R of X(:, order) while r_valid */
    bool r_valid;
    float *sigma, *v_host;
    float *g, *k; /* n x rank, rank x n: see sep_basis */
    double *gram; /* n */
    int *order;   /* all n slots: those in use, oldest first, then the free ones */
    int columns;  /* slots in use */
    bool settled; /* the window has been cleaned of what moved while it was filled */
    bool frozen;
    bool started;
    double share;             /* of foreground pixels, average over flood_average seconds */
    double flooded;           /* seconds for which a sudden change of light has been seen */
    double start, last, next; /* seconds: first frame, frame before, next to enter the window */
};

struct bd_separator_options bd_separator_defaults(const struct bd_separator_options *given)
{
    struct bd_separator_options o = *given;
    int64_t pixels = (int64_t)o.width * o.height;
    if (o.frame_rate <= 0)
        o.frame_rate = 25;
    if (!o.window)
        o.window = 50;
    if (o.memory <= 0)
        o.memory = 60;
    if (o.lambda <= 0)
        o.lambda = 10;
    if (o.threshold <= 0)
        o.threshold = 20;
    if (o.noise_gain < 0)
        o.noise_gain = 4;
    if (o.refine < 0)
        o.refine = 1;
    if (!o.rank)
        o.rank = 1;
    if (!o.median)
        o.median = 5;
    if (o.min_area < 0)
        o.min_area = (int)(pixels / 3000);
    if (o.max_hole < 0)
        o.max_hole = (int)(pixels / 150);
    return o;
}

static enum bd_status check(const struct bd_separator_options *o)
{
    if (o->width < 1 || o->height < 1 || o->width > 32768 || o->height > 32768)
        return bd_fail(BD_ERROR_ARGUMENT, "frames of %d x %d: sides of 1 to 32768 are wanted",
                       o->width, o->height);
    if (o->channels != 1 && o->channels != 3)
        return bd_fail(BD_ERROR_ARGUMENT, "%d channels: 1 (gray) or 3 (rgb) are wanted",
                       o->channels);
    if (o->window < 2 || o->window > max_window)
        return bd_fail(BD_ERROR_ARGUMENT, "window of %d frames: 2 to %d are wanted", o->window,
                       max_window);
    if (o->rank < 1 || o->rank > max_rank || o->rank > o->window)
        return bd_fail(BD_ERROR_ARGUMENT, "rank %d: 1 to %d, and at most the window, are wanted",
                       o->rank, max_rank);
    if (o->median < 1 || o->median > 15 || o->median % 2 == 0)
        return bd_fail(BD_ERROR_ARGUMENT, "median filter of side %d: odd, 1 to 15, is wanted",
                       o->median);
    if (!(o->lambda <= 255 && o->threshold <= 255))
        return bd_fail(BD_ERROR_ARGUMENT,
                       "lambda %g, threshold %g: up to 255 grey levels are wanted", o->lambda,
                       o->threshold);
    if (!isfinite(o->memory) || !isfinite(o->frame_rate) || !isfinite(o->noise_gain))
        return bd_fail(BD_ERROR_ARGUMENT,
                       "memory %g s, %g frames/s, noise gain %g: finite numbers are wanted",
                       o->memory, o->frame_rate, o->noise_gain);
    if ((int64_t)o->width * o->height * o->channels < o->window)
        return bd_fail(BD_ERROR_ARGUMENT,
                       "frames of %d x %d have fewer values than the window has frames (%d); a "
                       "smaller --window is wanted",
                       o->width, o->height, o->window);
    return BD_OK;
}

void bd_separator_destroy(struct bd_separator **inout)
{
    struct bd_separator *s = *inout;
    if (!s)
        return;
    s->backend->ops->sep_destroy(s->state);
    bd_qr_update_destroy(&s->update);
    bd_small_svd_destroy(&s->svd);
    bd_matrix_destroy(s->backend, &s->r);
    bd_matrix_destroy(s->backend, &s->v);
    free(s->sigma);
    free(s->v_host);
    free(s->g);
    free(s->k);
    free(s->gram);
    free(s->order);
    free(s);
    *inout = NULL;
}

enum bd_status bd_separator_create(struct bd_separator **out, struct bd_backend *backend,
                                   const struct bd_separator_options *options)
{
    *out = NULL;
    struct bd_separator_options o = bd_separator_defaults(options);
    enum bd_status status = check(&o);
    if (status != BD_OK)
        return status;
    struct bd_separator *s = calloc(1, sizeof *s);
    if (!s)
        return bd_fail(BD_ERROR_MEMORY, "no memory for the separator");
    s->backend = backend;
    s->options = o;
    size_t n = (size_t)o.window;
    s->sigma = calloc(n, sizeof *s->sigma);
    s->v_host = calloc(n * n, sizeof *s->v_host);
    s->g = calloc(n * (size_t)o.rank, sizeof *s->g);
    s->k = calloc(n * (size_t)o.rank, sizeof *s->k);
    s->gram = calloc(n, sizeof *s->gram);
    s->order = calloc(n, sizeof *s->order);
    if (!s->sigma || !s->v_host || !s->g || !s->k || !s->gram || !s->order)
        status = bd_fail(BD_ERROR_MEMORY, "no memory for the separator");
    struct bd_separation_shape shape = { .width = o.width,
                                         .height = o.height,
                                         .channels = o.channels,
                                         .window = o.window,
                                         .rank = o.rank };
    if (status == BD_OK)
        status = backend->ops->sep_create(backend, &shape, &s->state);
    if (status == BD_OK)
        status = bd_matrix_create(backend, &s->r, o.window, o.window, BD_F32);
    if (status == BD_OK)
        status = bd_matrix_create(backend, &s->v, o.window, o.window, BD_F32);
    if (status == BD_OK)
        status = bd_qr_update_create(&s->update, backend, o.window, o.window, 1);
    if (status == BD_OK)
        status = bd_small_svd_create(&s->svd, backend, o.window);
    if (status == BD_OK)
        status = bd_separator_reset(s);
    if (status != BD_OK) {
        bd_separator_destroy(&s);
        return status;
    }
    *out = s;
    return BD_OK;
}

enum bd_status bd_separator_reset(struct bd_separator *s)
{
    s->columns = 0;
    for (int j = 0; j < s->options.window; j++)
        s->order[j] = j;
    s->settled = s->started = s->r_valid = false;
    s->share = s->flooded = 0;
    return s->backend->ops->sep_reset(s->state);
}

static enum bd_status detect(struct bd_separator *s, double seconds, bool learn)
{
    const struct bd_separator_options *o = &s->options;
    double most = o->threshold > most_threshold ? o->threshold : most_threshold;
    struct bd_detect_params params = {
        .threshold = (float)o->threshold,
        .noise_gain = (float)o->noise_gain,
        .most = (float)most,
        .median = o->median,
        .min_area = o->min_area,
        .max_hole = o->max_hole,
        .guard = (o->width < o->height ? o->width : o->height) / 16,
        .noise_rate = (float)(1 - exp(-seconds / noise_seconds)),
        .seconds = (float)seconds,
        /* What is let into the window takes half of it before it counts for most of the columns. */
        .memory = (float)(o->memory / 2),
    };
    return s->backend->ops->sep_detect(s->state, &params, learn);
}

/* A new basis from R of the window: singular vectors above tau, thresholded softly. */
static enum bd_status learn_basis(struct bd_separator *s)
{
    const struct bd_separator_options *o = &s->options;
    int n = o->window;
    enum bd_status status = bd_small_svd_compute(s->svd, s->sigma, &s->v, &s->r);
    if (status == BD_OK)
        status = bd_matrix_download(s->backend, s->v_host, n, &s->v);
    if (status != BD_OK)
        return status;
    double m = (double)o->width * o->height * o->channels, tau = o->lambda * sqrt(m);
    int rank = 0;
    while (rank < o->rank && rank < s->columns && s->sigma[rank] > tau)
        rank++;
    if (!rank) /* darker than lambda: keep the basis there is */
        return BD_OK;
    for (int k = 0; k < rank; k++)
        for (int j = 0; j < s->columns; j++) {
            float v = s->v_host[(int64_t)k * n + j];
            s->g[(int64_t)k * s->columns + j] = v / s->sigma[k];
            s->k[(int64_t)j * rank + k] = (float)(s->sigma[k] - tau) * v;
        }
    return s->backend->ops->sep_basis(s->state, s->order, s->columns, (float)o->lambda, rank, s->g,
                                      s->k);
}

/* One iteration on the whole window from its frames: CAQR of X, SVD of R, new basis. */
static enum bd_status refine(struct bd_separator *s)
{
    enum bd_status status = s->backend->ops->sep_reduce(
        s->state, s->order, s->columns, (float)s->options.lambda, s->r.data, s->r.ld);
    if (status != BD_OK)
        return status;
    s->r_valid = true;
    return learn_basis(s);
}

/* The slot for the next frame: a free one, or the oldest, which leaves the window and R. The slot
 * is the newest in `order` from then on. */
static enum bd_status next_slot(struct bd_separator *s, int *slot)
{
    int n = s->options.window;
    if (s->columns < n) {
        *slot = s->order[s->columns++];
        return BD_OK;
    }
    *slot = s->order[0];
    memmove(s->order, s->order + 1, (size_t)(n - 1) * sizeof *s->order);
    s->order[n - 1] = *slot;
    if (!s->r_valid)
        return BD_OK;
    struct bd_matrix r = s->r;
    return bd_qr_remove_columns(s->update, NULL, &r, 0, 1);
}

/* The newest column of the window is appended to R of the others. */
static enum bd_status append_newest(struct bd_separator *s)
{
    struct bd_matrix r = s->r;
    r.rows = r.cols = s->columns - 1;
    enum bd_status status = s->backend->ops->sep_gram(s->state, s->order, s->columns,
                                                      (float)s->options.lambda, s->gram);
    if (status == BD_OK)
        status = bd_qr_append_gram(s->update, &r, s->gram, s->gram[s->columns - 1]);
    return status;
}

/* The frame in hand enters the window by a QR update of R; then the window is refined. */
static enum bd_status slide(struct bd_separator *s)
{
    int slot;
    enum bd_status status = next_slot(s, &slot);
    if (status == BD_OK)
        status = s->backend->ops->sep_insert(s->state, slot, 1);
    if (status == BD_OK && s->r_valid)
        status = append_newest(s);
    if (status != BD_OK)
        s->r_valid = false; /* R has lost a column and not gained one */
    if (status == BD_OK && s->r_valid)
        status = learn_basis(s);
    int refinements = s->r_valid ? s->options.refine : 1;
    for (int i = 0; status == BD_OK && i < refinements; i++)
        status = refine(s);
    return status;
}

/* While the window fills: the frame in hand enters as it is, the background is the median. */
static enum bd_status start_with_frame(struct bd_separator *s)
{
    int slot;
    enum bd_status status = next_slot(s, &slot);
    if (status == BD_OK)
        status = s->backend->ops->sep_insert(s->state, slot, 0);
    if (status == BD_OK)
        status =
            s->backend->ops->sep_median(s->state, s->order, s->columns, (float)s->options.lambda);
    return status;
}

/* Takes what moves out of the frames of the window, which entered it as they were, and learns the
 * first basis from what remains. */
static enum bd_status settle(struct bd_separator *s)
{
    enum { iterations = 3 };
    const struct bd_backend_ops *ops = s->backend->ops;
    enum bd_status status =
        ops->sep_lasting(s->state, s->order, s->columns, (float)s->options.lambda);
    for (int j = 0; status == BD_OK && j < s->columns; j++) {
        status = ops->sep_recall(s->state, s->order[j]);
        if (status == BD_OK)
            status = ops->sep_project(s->state, rounds_a_frame, (float)s->options.lambda);
        if (status == BD_OK)
            status = detect(s, 0, false);
        if (status == BD_OK)
            status = ops->sep_insert(s->state, s->order[j], 1);
    }
    for (int i = 0; status == BD_OK && i < iterations; i++)
        status = refine(s);
    s->settled = status == BD_OK;
    return status;
}

enum bd_status bd_separator_preview(struct bd_separator *s, const uint8_t *picture, int64_t stride)
{
    int slot;
    if (s->started || s->settled)
        return bd_fail(BD_ERROR_ARGUMENT,
                       "a look ahead after separation has started: reset the separator first");
    enum bd_status status = s->backend->ops->sep_load(s->state, picture, stride);
    if (status == BD_OK)
        status = next_slot(s, &slot);
    if (status == BD_OK)
        status = s->backend->ops->sep_insert(s->state, slot, 0);
    return status;
}

/* The share of frame j + 1 of the window that is foreground against frame j as background. */
static enum bd_status compare_neighbours(struct bd_separator *s, int j, double *share)
{
    const struct bd_backend_ops *ops = s->backend->ops;
    float lambda = (float)s->options.lambda;
    struct bd_separation found;
    enum bd_status status = ops->sep_median(s->state, s->order + j, 1, lambda);
    if (status == BD_OK)
        status = ops->sep_recall(s->state, s->order[j + 1]);
    if (status == BD_OK)
        status = ops->sep_project(s->state, rounds_a_frame, lambda);
    if (status == BD_OK)
        status = detect(s, 0, false);
    if (status == BD_OK)
        status = ops->sep_results(s->state, &found);
    if (status == BD_OK)
        *share = (double)found.foreground / ((double)s->options.width * s->options.height);
    return status;
}

/* Keeps the frames of a look ahead up to the first sudden change of light: the separation begins in
 * the light of the first. */
static enum bd_status keep_first_light(struct bd_separator *s)
{
    enum bd_status status = BD_OK;
    for (int j = 0; status == BD_OK && j + 1 < s->columns; j++) {
        double share;
        status = compare_neighbours(s, j, &share);
        if (status == BD_OK && share > flood_share)
            s->columns = j + 1;
    }
    return status;
}

enum bd_status bd_separator_prime(struct bd_separator *s)
{
    if (!s->columns)
        return bd_fail(BD_ERROR_ARGUMENT, "no frame has been shown to the separator");
    if (s->started || s->settled)
        return bd_fail(BD_ERROR_ARGUMENT,
                       "a look ahead after separation has started: reset the separator first");
    enum bd_status status = keep_first_light(s);
    return status == BD_OK ? settle(s) : status;
}

/* Whether this frame has to enter the window, and when the next one will. While the window fills,
 * frames come densely at first (frame i after start_seconds (i / n)^2), since the first ones matter
 * most; from then on every memory / n seconds. */
static bool its_turn(struct bd_separator *s, double time)
{
    int n = s->options.window;
    if (s->frozen && s->columns)
        return false;
    if (!s->settled) {
        double filled = (double)s->columns / n;
        double span = s->options.memory < start_seconds ? s->options.memory : start_seconds;
        return time >= s->start + span * filled * filled;
    }
    double stride = s->options.memory / n;
    if (time < s->next)
        return false;
    s->next += stride;
    if (s->next <= time)
        s->next = time + stride;
    return true;
}

/* Seconds since the frame before. A step back, or a long one ahead, is a seek (or a source that was
 * away): it counts as one frame, and the filling of the window goes on from where it was. */
static double advance(struct bd_separator *s, double time, bool *jump)
{
    double frame = 1 / s->options.frame_rate, seconds = time - s->last;
    *jump = !s->started || seconds < 0 || seconds > longest_step;
    if (!s->started)
        s->start = time;
    else if (*jump)
        s->start += seconds - frame;
    if (!s->started || seconds < 0)
        s->next = time + s->options.memory / s->options.window;
    s->started = true;
    s->last = time;
    return *jump ? frame : seconds;
}

/* Whether the light has changed so much that learning must start anew. */
static bool light_changed(struct bd_separator *s, int64_t foreground, double seconds)
{
    double share = (double)foreground / ((double)s->options.width * s->options.height);
    if (s->frozen)
        return false;
    if (share > flood_share && share > s->share + flood_rise) {
        s->flooded += seconds;
        return s->flooded >= flood_seconds;
    }
    s->flooded = 0;
    s->share += (1 - exp(-seconds / flood_average)) * (share - s->share);
    return false;
}

/* Background, mask and learning for the frame in hand. */
static enum bd_status separate(struct bd_separator *s, double time, struct bd_separation *out)
{
    const struct bd_backend_ops *ops = s->backend->ops;
    bool jump, learn, starting = !s->settled;
    double seconds = advance(s, time, &jump);
    enum bd_status status = BD_OK;
    learn = its_turn(s, time);
    if (learn && starting)
        status = start_with_frame(s);
    if (status == BD_OK)
        status = ops->sep_project(s->state, jump ? rounds_a_start : rounds_a_frame,
                                  (float)s->options.lambda);
    if (status == BD_OK)
        status = detect(s, seconds, !s->frozen);
    *out = (struct bd_separation){ .learned = learn };
    if (status == BD_OK)
        status = ops->sep_results(s->state, out);
    if (status == BD_OK && light_changed(s, out->foreground, seconds)) {
        bd_log(BD_LOG_INFO, "%.2f s: the light has changed; learning the background anew", time);
        status = bd_separator_reset(s);
        return status == BD_OK ? separate(s, time, out) : status;
    }
    if (status == BD_OK && learn && !starting)
        status = slide(s);
    out->columns = s->columns;
    return status;
}

enum bd_status bd_separator_push(struct bd_separator *s, const uint8_t *picture, int64_t stride,
                                 double time, struct bd_separation *out)
{
    enum bd_status status = BD_OK;
    if (!isfinite(time))
        return bd_fail(BD_ERROR_ARGUMENT, "a frame at %g s: a finite time is wanted", time);
    if (!s->settled && s->columns == s->options.window && !s->frozen)
        status = settle(s);
    if (status == BD_OK)
        status = s->backend->ops->sep_load(s->state, picture, stride);
    return status == BD_OK ? separate(s, time, out) : status;
}

enum bd_status bd_separator_push_known(struct bd_separator *s, const uint8_t *picture,
                                       int64_t stride, const uint8_t *background, double time,
                                       struct bd_separation *out)
{
    const struct bd_backend_ops *ops = s->backend->ops;
    bool jump;
    if (!isfinite(time))
        return bd_fail(BD_ERROR_ARGUMENT, "a frame at %g s: a finite time is wanted", time);
    double seconds = advance(s, time, &jump);
    enum bd_status status = ops->sep_load(s->state, picture, stride);
    if (status == BD_OK)
        status = ops->sep_load_background(s->state, background);
    if (status == BD_OK)
        status = detect(s, seconds, !s->frozen);
    if (status != BD_OK)
        return status;
    *out = (struct bd_separation){ .columns = s->columns };
    return ops->sep_results(s->state, out);
}

void bd_separator_freeze(struct bd_separator *s, bool frozen)
{
    s->frozen = frozen;
}

bool bd_separator_frozen(const struct bd_separator *s)
{
    return s->frozen;
}

enum bd_status bd_separator_set_lambda(struct bd_separator *s, double lambda)
{
    if (!(lambda > 0 && lambda <= 255))
        return bd_fail(BD_ERROR_ARGUMENT, "lambda %g: above 0, up to 255 is wanted", lambda);
    s->options.lambda = lambda;
    return BD_OK;
}

enum bd_status bd_separator_set_threshold(struct bd_separator *s, double threshold)
{
    if (!(threshold > 0 && threshold <= 255))
        return bd_fail(BD_ERROR_ARGUMENT, "threshold %g: above 0, up to 255 is wanted", threshold);
    s->options.threshold = threshold;
    return BD_OK;
}

const struct bd_separator_options *bd_separator_options(const struct bd_separator *s)
{
    return &s->options;
}
