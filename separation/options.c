/* The live separator: its options, and the parameters of a mask that follow from them. */
#include <math.h>

#include "separation/shared/flash.h"
#include "separation/shared/recurrence.h"
#include "separation/state.h"

static const double noise_seconds = 2;     /* time constant of a pixel's noise level */
static const double lasting_seconds = .15; /* of small foreground, four frames of 25 a second */
static const double most_threshold = 60;   /* grey levels: a pixel's noise never asks for more */

static const double quiet_seconds = .16; /* before and after a flash */

/* Up to this share of its limit a pixel is plain background: 0.5 trims real footage as little, and
 * the edges of rendered scenes more. */
static const float plain_share = 0.3f;

enum { most_refinements = 100 }; /* of R at a slide */

struct bd_separator_options bd_separator_defaults(const struct bd_separator_options *given)
{
    const struct bd_separator_options none = { 0 };
    struct bd_separator_options o = given ? *given : none;
    int64_t pixels = (int64_t)o.width * o.height;
    if (o.frame_rate == 0)
        o.frame_rate = 25;
    if (!o.window)
        o.window = 50;
    if (o.memory == 0)
        o.memory = 60;
    if (o.lambda == 0)
        o.lambda = 10;
    if (o.threshold == 0)
        o.threshold = 20;
    if (o.noise_gain == 0)
        o.noise_gain = 3;
    if (!o.rank)
        o.rank = 1;
    if (!o.median)
        o.median = 5;
    if (!o.min_area)
        o.min_area = (int)(pixels / 3000);
    if (!o.max_hole)
        o.max_hole = (int)(pixels / 150);
    if (!o.outputs)
        o.outputs = BD_SEPARATOR_MASK | BD_SEPARATOR_BACKGROUND | BD_SEPARATOR_DIFFERENCE;
    if (!o.results)
        o.results = 1;
    return o;
}

enum bd_status bd_sep_check_options(const struct bd_separator_options *o)
{
    if (o->width < 1 || o->height < 1 || o->width > 32768 || o->height > 32768)
        return bd_fail(BD_ERROR_ARGUMENT, "frames of %d x %d: sides of 1 to 32768 are wanted",
                       o->width, o->height);
    if (o->channels != 1 && o->channels != 3)
        return bd_fail(BD_ERROR_ARGUMENT, "%d channels: 1 (gray) or 3 (rgb) are wanted",
                       o->channels);
    if (o->window < 2 || o->window > bd_max_window)
        return bd_fail(BD_ERROR_ARGUMENT, "window of %d frames: 2 to %d are wanted", o->window,
                       bd_max_window);
    if (o->rank < 1 || o->rank > bd_max_rank || o->rank > o->window)
        return bd_fail(BD_ERROR_ARGUMENT, "rank %d: 1 to %d, and at most the window, are wanted",
                       o->rank, bd_max_rank);
    if (o->median < 1 || o->median > 15 || o->median % 2 == 0)
        return bd_fail(BD_ERROR_ARGUMENT, "median filter of side %d: odd, 1 to 15, is wanted",
                       o->median);
    if (!(o->lambda > 0 && o->lambda <= 255 && o->threshold > 0 && o->threshold <= 255))
        return bd_fail(BD_ERROR_ARGUMENT,
                       "lambda %g, threshold %g: above 0, up to 255 grey levels are wanted",
                       o->lambda, o->threshold);
    if (!(o->memory > 0 && o->frame_rate > 0) || !isfinite(o->memory) || !isfinite(o->frame_rate) ||
        !isfinite(o->noise_gain))
        return bd_fail(BD_ERROR_ARGUMENT,
                       "memory %g s, %g frames/s, noise gain %g: finite numbers above 0 are wanted",
                       o->memory, o->frame_rate, o->noise_gain);
    if (o->shadows && o->shadows != BD_NONE)
        return bd_fail(BD_ERROR_ARGUMENT, "shadows %d: 0 or BD_NONE (-1) is wanted", o->shadows);
    if (o->outputs & ~(BD_SEPARATOR_MASK | BD_SEPARATOR_BACKGROUND | BD_SEPARATOR_DIFFERENCE |
                       BD_SEPARATOR_SHADOW))
        return bd_fail(BD_ERROR_ARGUMENT, "outputs %#x: a sum of 1, 2, 4 and 8 is wanted",
                       (unsigned)o->outputs);
    if (o->results < 1 || o->results > bd_sep_most_results)
        return bd_fail(BD_ERROR_ARGUMENT, "results of %d frames in use: 1 to %d are wanted",
                       o->results, bd_sep_most_results);
    if ((o->noise_gain < 0 && o->noise_gain != BD_NONE) || o->refine < BD_NONE ||
        o->refine > most_refinements || o->min_area < BD_NONE || o->max_hole < BD_NONE)
        return bd_fail(
            BD_ERROR_ARGUMENT,
            "noise gain %g, %d refinements (at most %d), min_area %d, max_hole %d: above 0, or "
            "BD_NONE (-1), is wanted",
            o->noise_gain, o->refine, most_refinements, o->min_area, o->max_hole);
    if ((int64_t)o->width * o->height * o->channels < o->window)
        return bd_fail(BD_ERROR_ARGUMENT,
                       "frames of %d x %d have fewer values than the window has frames (%d); a "
                       "smaller window is wanted",
                       o->width, o->height, o->window);
    return BD_OK;
}

static int none_is_zero(int value)
{
    return value == BD_NONE ? 0 : value;
}

static bool looks_for_shadows(const struct bd_separator *s)
{
    return s->options.shadows != BD_NONE && !bd_sep_without(s, BD_WITHOUT_SHADOWS);
}

bool bd_sep_looks_for_mirrors(const struct bd_separator *s)
{
    return s->options.channels == 3 && looks_for_shadows(s) &&
           !bd_sep_without(s, BD_WITHOUT_MIRROR_IMAGES);
}

/* For how many frames small foreground must last: .15 seconds. Where frames are rare it need not:
 * what is small and moves does not overlap with where it was. */
static int frames_to_last(const struct bd_separator *s)
{
    const double frames = round(lasting_seconds * s->options.frame_rate);
    if (frames < 2 || bd_sep_without(s, BD_WITHOUT_LASTING))
        return 0;
    return frames < bd_mask_lasting ? (int)frames : bd_mask_lasting;
}

/* For how many frames nothing must move around a flash. Where frames are rare, or one is long after
 * the one before, an object may come and stand between two of them. */
static int frames_of_quiet(const struct bd_separator *s, double seconds)
{
    const double frames = round(quiet_seconds * s->options.frame_rate);
    if (frames < 2 || seconds > quiet_seconds || s->jumped || bd_sep_without(s, BD_WITHOUT_FLASHES))
        return 0;
    return frames < bd_flash_most_quiet ? (int)frames : bd_flash_most_quiet;
}

struct bd_detect_params bd_sep_detect_params(const struct bd_separator *s, double seconds)
{
    const struct bd_separator_options *o = &s->options;
    bool moving =
        o->threshold >= bd_recurrence_least_threshold && !bd_sep_without(s, BD_WITHOUT_RECURRENCE);
    double most = o->threshold > most_threshold ? o->threshold : most_threshold;
    return (struct bd_detect_params){
        .threshold = (float)o->threshold,
        .noise_gain = o->noise_gain == BD_NONE ? 0 : (float)o->noise_gain,
        .most = (float)most,
        .median = o->median,
        .min_area = none_is_zero(o->min_area),
        .lasting = frames_to_last(s),
        .max_hole = none_is_zero(o->max_hole),
        .flash_quiet = frames_of_quiet(s, seconds),
        .plain = bd_sep_without(s, BD_WITHOUT_TRIMMING) ? -1 : plain_share,
        .shadows = looks_for_shadows(s),
        .illumination = looks_for_shadows(s) && !bd_sep_without(s, BD_WITHOUT_ILLUMINATION),
        .mirrors = s->cleaned && bd_sep_looks_for_mirrors(s),
        .guard = (o->width < o->height ? o->width : o->height) / 16,
        .noise_rate = (float)(1 - exp(-seconds / noise_seconds)),
        .seconds = (float)seconds,
        .memory = (float)o->memory,
        .look = (unsigned)s->submitted,
        .looks = !s->frozen,
        .newest = s->columns ? s->order[s->columns - 1] : 0,
        .columns = s->cleaned && moving ? s->columns : 0,
    };
}
