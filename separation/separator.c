#include <backdrop/separator.h>

#include <math.h>
#include <stdlib.h>

#include "separation/shared/drift.h"
#include "separation/state.h"
#include <backdrop/matrix.h>

static const double look_seconds = 0.5;       /* between looks for ghosts */
static const double first_look_seconds = 0.1; /* the same while the window fills */
static const double longest_step = 5;         /* seconds; a longer one between frames is a seek */

/* A sudden change of light: most of the picture is foreground (bd_sep_flood_share), and the share
 * of foreground has risen by more than flood_rise above its average over flood_average seconds, for
 * flood_seconds. What was learned is then of no use, and learning starts again. A large object is
 * no change of light: it comes gradually. */
static const double flood_rise = 0.4, flood_average = 0.3, flood_seconds = 0.15;

void bd_separator_destroy(struct bd_separator **inout)
{
    if (!inout || !*inout)
        return;
    struct bd_separator *s = *inout;
    s->backend->ops->separation->destroy(s->state);
    s->backend->ops->svd->destroy(s->svd);
    bd_qr_update_destroy(&s->update);
    bd_matrix_destroy(s->backend, &s->r);
    s->backend->ops->device->free(s->backend, s->gram);
    if (s->backend == &s->lane)
        s->backend->ops->device->close(&s->lane);
    free(s->order);
    free(s);
    *inout = NULL;
}

/* s->backend: a lane, so that the work of several separators overlaps. */
static enum bd_status take_lane(struct bd_separator *s, struct bd_backend *home)
{
    const struct bd_device_ops *device = home->ops->device;
    s->home = s->backend = home;
    enum bd_status status = device->open_lane ? device->open_lane(home, &s->lane) : BD_OK;
    if (status == BD_OK && device->open_lane)
        s->backend = &s->lane;
    return status;
}

enum bd_status bd_separator_create(struct bd_separator **out, struct bd_backend *home,
                                   const struct bd_separator_options *options)
{
    enum bd_status status = bd_check_create(out, "separator", home);
    if (status == BD_OK)
        status = bd_check_pointer(options, "options");
    const struct bd_separator_options o = bd_separator_defaults(options);
    if (status == BD_OK)
        status = bd_sep_check_options(&o);
    if (status == BD_OK)
        status = bd_backend_require(home, home->ops->separation, "separation");
    if (status != BD_OK)
        return status;
    struct bd_separator *s = calloc(1, sizeof *s);
    if (!s)
        return bd_fail(BD_ERROR_MEMORY, "no memory for the separator");
    s->options = o;
    size_t n = (size_t)o.window;
    status = take_lane(s, home);
    struct bd_backend *const backend = s->backend;
    s->order = calloc(n, sizeof *s->order);
    if (status == BD_OK && !s->order)
        status = bd_fail(BD_ERROR_MEMORY, "no memory for the separator");
    struct bd_separation_shape shape = { .width = o.width,
                                         .height = o.height,
                                         .channels = o.channels,
                                         .window = o.window,
                                         .rank = o.rank,
                                         .outputs = o.outputs,
                                         .results = o.results };
    if (status == BD_OK)
        status = backend->ops->separation->create(backend, &shape, &s->state);
    if (status == BD_OK)
        status = bd_matrix_create(backend, &s->r, o.window, o.window, BD_F32);
    if (status == BD_OK)
        status = backend->ops->device->alloc(backend, n * sizeof(double), &s->gram);
    const struct bd_qr_update_shape triangle = { .max_rows = o.window,
                                                 .max_cols = o.window,
                                                 .max_block = 1 };
    if (status == BD_OK)
        status = bd_qr_update_create(&s->update, backend, &triangle);
    if (status == BD_OK)
        status = backend->ops->svd->create(backend, o.window, &s->svd);
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
    enum bd_status status = bd_check_pointer(s, "separator");
    if (status != BD_OK)
        return status;
    s->columns = s->looked = s->ahead = 0;
    for (int j = 0; j < s->options.window; j++)
        s->order[j] = j;
    s->cleaned = s->started = s->r_valid = s->sliding = false;
    s->share = s->flooded = 0;
    for (int i = 0; i < bd_sep_lag; i++)
        s->frames[i].counts = false;
    status = s->backend->ops->separation->reset(s->state); /* after it no SVD is under way */
    if (status == BD_OK && s->backend->ops->svd->forget)
        s->backend->ops->svd->forget(s->svd);
    return status;
}

/* Whether this frame has to enter the window, and when the next one will. While the window fills,
 * frames come densely at first (frame i after start_seconds (i / n)^2), since the first ones matter
 * most; from then on every memory / n seconds. */
static bool its_turn(struct bd_separator *s, double time)
{
    int n = s->options.window;
    if (s->frozen && s->columns)
        return false;
    if (!s->cleaned) {
        double filled = (double)s->columns / n;
        return time >= s->start + bd_sep_start_span(s) * filled * filled;
    }
    double stride = s->options.memory / n;
    if (time < s->next)
        return false;
    s->next += stride;
    if (s->next <= time)
        s->next = time + stride;
    return true;
}

static double next_look(const struct bd_separator *s, double time)
{
    return time + (s->cleaned ? look_seconds : first_look_seconds);
}

/* Seconds since the frame before. A step back, or a long one ahead, is a seek (or a source that was
 * away): it counts as one frame, and the filling of the window goes on from where it was. */
static double advance(struct bd_separator *s, double time)
{
    double frame = 1 / s->options.frame_rate, seconds = time - s->last;
    s->jumped = !s->started || seconds < 0 || seconds > longest_step;
    if (!s->started)
        s->start = time;
    else if (s->jumped)
        s->start += seconds - frame;
    if (!s->started || seconds < 0) {
        s->look = next_look(s, time);
        s->next = time + s->options.memory / s->options.window;
    }
    s->started = true;
    s->last = time;
    return s->jumped ? frame : seconds;
}

/* Whether the light has changed so much that learning must start again, by a frame whose results
 * are known. */
static bool light_changed(struct bd_separator *s, const struct bd_sep_frame *frame)
{
    double share = bd_sep_share(s, frame->changed);
    if (s->frozen)
        return false;
    if (share > bd_sep_flood_share && share > s->share + flood_rise) {
        s->flooded += frame->seconds;
        return s->flooded >= flood_seconds;
    }
    s->flooded = 0;
    s->share += (1 - exp(-frame->seconds / flood_average)) * (share - s->share);
    return false;
}

/* Whether R has drifted too far from the window's, by a frame whose results are known, and has not
 * been made again since. */
static bool has_drifted(const struct bd_separator *s, const struct bd_sep_frame *frame)
{
    return s->options.refine == 0 && s->submitted - bd_sep_lag >= s->renewed &&
           !(frame->drift <= bd_sep_drift_bound);
}

enum bd_status bd_sep_prepare(struct bd_separator *s, double time)
{
    const struct bd_sep_frame *earlier = &s->frames[s->submitted % bd_sep_lag];
    if (earlier->counts && light_changed(s, earlier)) {
        bd_log(BD_LOG_INFO, "%.2f s: the light has changed; learning the background again", time);
        return bd_separator_reset(s);
    }
    if (earlier->counts && earlier->ghost_pixels)
        s->r_valid = false; /* the window has changed: the next slide makes R again */
    if (earlier->counts && s->r_valid && has_drifted(s, earlier)) {
        bd_log(BD_LOG_DEBUG, "%.2f s: R has drifted by %.1e and is made again", time,
               earlier->drift);
        s->r_valid = false;
    }
    if (!s->cleaned && s->columns == s->options.window && !s->frozen)
        return bd_sep_clean_window(s);
    return BD_OK;
}

/* The frame in hand is in flight. */
static void launched(struct bd_separator *s, struct bd_sep_frame frame)
{
    frame.columns = s->columns;
    s->frames[s->submitted++ % bd_sep_lag] = frame;
}

/* Background and mask of the frame in hand, up to finish. */
static enum bd_status step(struct bd_separator *s, int rounds, double seconds)
{
    const struct bd_backend_ops *ops = s->backend->ops;
    const float lambda = (float)s->options.lambda;
    const struct bd_detect_params params = bd_sep_detect_params(s, seconds);
    if (ops->separation->step)
        return ops->separation->step(s->state, rounds, lambda, &params, !s->frozen);
    enum bd_status status = ops->separation->project(s->state, rounds, lambda);
    if (status == BD_OK)
        status = ops->separation->detect(s->state, &params, !s->frozen);
    return status == BD_OK ? ops->separation->finish(s->state) : status;
}

enum bd_status bd_sep_separate(struct bd_separator *s, double time)
{
    const bool starting = !s->cleaned;
    enum bd_status status = BD_OK;
    struct bd_sep_frame frame = { .counts = true };
    frame.seconds = advance(s, time);
    frame.learned = its_turn(s, time);
    if (frame.learned && starting)
        status = bd_sep_start(s);
    if (status == BD_OK)
        status = step(s, s->jumped ? bd_sep_start_rounds : bd_sep_rounds, frame.seconds);
    if (status == BD_OK)
        launched(s, frame);
    if (status == BD_OK && frame.learned && !starting) {
        status = bd_sep_slide(s);
        s->frames[(s->submitted - 1) % bd_sep_lag].columns = s->columns;
    } else if (status == BD_OK) {
        status = bd_sep_go_on_sliding(s);
    }
    if (status == BD_OK && !s->frozen && time >= s->look) {
        s->look = next_look(s, time);
        status = bd_sep_remove_ghosts(s);
    }
    return status;
}

enum bd_status bd_sep_check_picture(const struct bd_separator *s, const uint8_t *picture,
                                    int64_t stride)
{
    enum bd_status status = bd_check_pointer(s, "separator");
    if (status == BD_OK)
        status = bd_check_pointer(picture, "picture");
    if (status != BD_OK)
        return status;
    const int64_t row = (int64_t)s->options.width * s->options.channels;
    if (stride < row || stride > INT64_MAX / s->options.height)
        return bd_fail(BD_ERROR_ARGUMENT,
                       "stride = %lld: at least the bytes of a row, %lld, are wanted",
                       (long long)stride, (long long)row);
    return BD_OK;
}

enum bd_status bd_sep_check_submit(const struct bd_separator *s, const uint8_t *picture,
                                   int64_t stride, double time)
{
    enum bd_status status = bd_sep_check_picture(s, picture, stride);
    if (status != BD_OK)
        return status;
    if (!isfinite(time))
        return bd_fail(BD_ERROR_ARGUMENT, "a frame at %g s: a finite time is wanted", time);
    if (bd_separator_in_flight(s) >= bd_separator_depth(s))
        return bd_fail(BD_ERROR_ARGUMENT,
                       "%d frames are in flight, as many as can be: receive one first",
                       bd_separator_in_flight(s));
    return BD_OK;
}

enum bd_status bd_separator_submit(struct bd_separator *s, const uint8_t *picture, int64_t stride,
                                   double time)
{
    enum bd_status status = bd_sep_check_submit(s, picture, stride, time);
    if (status == BD_OK)
        status = bd_sep_prepare(s, time);
    if (status == BD_OK)
        status = s->backend->ops->separation->load(s->state, picture, stride);
    if (status == BD_OK)
        status = bd_sep_separate(s, time);
    return status;
}

/* `out` becomes zero. */
static enum bd_status check_out(const struct bd_separator *s, struct bd_separation *out)
{
    enum bd_status status = bd_check_pointer(out, "out");
    if (status != BD_OK)
        return status;
    *out = (struct bd_separation){ 0 };
    return bd_check_pointer(s, "separator");
}

enum bd_status bd_separator_receive(struct bd_separator *s, struct bd_separation *out)
{
    enum bd_status status = check_out(s, out);
    if (status == BD_OK && !bd_separator_in_flight(s))
        status = bd_fail(BD_ERROR_ARGUMENT, "no frame is in flight: submit one first");
    if (status != BD_OK)
        return status;
    struct bd_sep_frame *frame = &s->frames[s->received % bd_sep_lag];
    status = s->backend->ops->separation->collect(s->state, out);
    s->received++;
    frame->changed = out->changed;
    frame->ghost_pixels = out->ghost_pixels;
    frame->drift = out->drift;
    out->columns = frame->columns;
    out->learned = frame->learned;
    return status;
}

int bd_separator_depth(const struct bd_separator *s)
{
    return s ? s->backend->ops->separation->depth : 0;
}

int bd_separator_in_flight(const struct bd_separator *s)
{
    return s ? (int)(s->submitted - s->received) : 0;
}

static enum bd_status check_push(const struct bd_separator *s, struct bd_separation *out)
{
    enum bd_status status = check_out(s, out);
    if (status != BD_OK)
        return status;
    if (bd_separator_in_flight(s))
        return bd_fail(BD_ERROR_ARGUMENT, "a push with %d frames in flight: receive them first",
                       bd_separator_in_flight(s));
    return BD_OK;
}

enum bd_status bd_separator_push(struct bd_separator *s, const uint8_t *picture, int64_t stride,
                                 double time, struct bd_separation *out)
{
    enum bd_status status = check_push(s, out);
    if (status != BD_OK)
        return status;
    status = bd_separator_submit(s, picture, stride, time);
    if (status == BD_OK)
        return bd_separator_receive(s, out);
    struct bd_separation dropped;
    if (bd_separator_in_flight(s)) /* separated, but the learning after it failed */
        bd_separator_receive(s, &dropped);
    return status;
}

enum bd_status bd_separator_push_known(struct bd_separator *s, const uint8_t *picture,
                                       int64_t stride, const uint8_t *background, double time,
                                       struct bd_separation *out)
{
    enum bd_status status = check_push(s, out);
    if (status == BD_OK)
        status = bd_sep_check_submit(s, picture, stride, time);
    if (status == BD_OK)
        status = bd_check_pointer(background, "background");
    if (status != BD_OK)
        return status;
    const struct bd_backend_ops *ops = s->backend->ops;
    struct bd_sep_frame frame = { .seconds = advance(s, time) };
    status = ops->separation->load(s->state, picture, stride);
    if (status == BD_OK)
        status = ops->separation->load_background(s->state, background);
    if (status == BD_OK)
        status = bd_sep_detect(s, frame.seconds, !s->frozen);
    if (status == BD_OK)
        status = ops->separation->finish(s->state);
    if (status == BD_OK)
        launched(s, frame);
    return status == BD_OK ? bd_separator_receive(s, out) : status;
}

void bd_separator_freeze(struct bd_separator *s, bool frozen)
{
    if (s)
        s->frozen = frozen;
}

bool bd_separator_frozen(const struct bd_separator *s)
{
    return s && s->frozen;
}

enum bd_status bd_separator_set_lambda(struct bd_separator *s, double lambda)
{
    enum bd_status status = bd_check_pointer(s, "separator");
    if (status != BD_OK)
        return status;
    if (!(lambda > 0 && lambda <= 255))
        return bd_fail(BD_ERROR_ARGUMENT, "lambda %g: above 0, up to 255 is wanted", lambda);
    if (lambda != s->options.lambda)
        s->r_valid = false; /* X, and so R, depends on lambda: the next slide makes R again */
    s->options.lambda = lambda;
    return BD_OK;
}

enum bd_status bd_separator_set_threshold(struct bd_separator *s, double threshold)
{
    enum bd_status status = bd_check_pointer(s, "separator");
    if (status != BD_OK)
        return status;
    if (!(threshold > 0 && threshold <= 255))
        return bd_fail(BD_ERROR_ARGUMENT, "threshold %g: above 0, up to 255 is wanted", threshold);
    s->options.threshold = threshold;
    return BD_OK;
}

#ifdef BD_DEVELOPER
void bd_separator_ablate(struct bd_separator *s, enum bd_ablation part)
{
    s->without = part;
}
#endif

const struct bd_separator_options *bd_separator_options(const struct bd_separator *s)
{
    return s ? &s->options : NULL;
}
