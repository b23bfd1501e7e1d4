/* The live separator: its window of frames, and the basis learned from it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "linalg/shared/update_ops.h"
#include "separation/shared/recurrence.h"
#include "separation/state.h"
#include <backdrop/matrix.h>

/* Grey levels: neighbouring pictures of a look-ahead in different light differ by more than this;
 * two of a noisy sensor do not. */
enum { light_reach = 20 };

/* Uncovered background must have been still for a second (two looks), and be found twice: a ghost
 * stays for that long, and a person who stops for that long must not become background. */
enum { ghost_reach = 20, ghost_still = 2, ghost_votes = 2, ghost_times = 3, ghost_margin = 2 };

/* While the window fills, every object of the first frame leaves a ghost, and looks are more
 * frequent: three of them are 0.3 s. The wider reach is for sensors so noisy that no pixel seems
 * still (synth:noise .934 instead of .910; elsewhere the same). */
enum { first_ghost_reach = 30, first_ghost_still = 3 };

/* Columns that the background is looked for in while the window fills: 50 are as good. */
enum { most_first_columns = 24 };

enum bd_status bd_sep_detect(struct bd_separator *s, double seconds, bool learn)
{
    struct bd_detect_params params = bd_sep_detect_params(s, seconds);
    return s->backend->ops->separation->detect(s->state, &params, learn);
}

static enum bd_status decompose(struct bd_separator *s)
{
    return s->backend->ops->svd->compute(s->svd, s->r.data, s->r.ld, NULL, NULL, 0);
}

/* Singular values of the window up to this one are noise. */
static double noise_of_window(const struct bd_separator_options *o)
{
    return o->lambda * sqrt((double)o->width * o->height * o->channels);
}

/* A new basis from the SVD of R of the window: singular vectors above tau, thresholded softly. Or
 * the part of it that is made ahead. */
static enum bd_status learn_basis(struct bd_separator *s, bool ahead)
{
    const struct bd_backend_ops *ops = s->backend->ops;
    const struct bd_separation_ops *separation = ops->separation;
    const double tau = noise_of_window(&s->options);
    int64_t ldv;
    const float *v = ops->svd->v(s->svd, &ldv);
    return (ahead ? separation->basis_ahead : separation->basis)(s->state, s->order, s->columns,
                                                                 (float)s->options.lambda, tau,
                                                                 ops->svd->sigma(s->svd), v, ldv);
}

/* One iteration on the whole window from its frames: QR of X for R alone, SVD of R, new basis.
 * Without wants_r, R is left as it is where the new basis does not need it. */
static enum bd_status refine(struct bd_separator *s, bool wants_r)
{
    const struct bd_separation_ops *ops = s->backend->ops->separation;
    const float lambda = (float)s->options.lambda;
    enum bd_status status = BD_OK;
    bool learned = false;
    if (!wants_r && ops->basis_only)
        status = ops->basis_only(s->state, s->order, s->columns, lambda,
                                 noise_of_window(&s->options), &learned);
    if (status != BD_OK || learned)
        return status;
    status = ops->reduce(s->state, s->order, s->columns, lambda, s->r.data, s->r.ld);
    if (status != BD_OK)
        return status;
    s->r_valid = s->options.refine <= 0; /* else R is made again before it is used */
    s->renewed = s->submitted;
    status = decompose(s);
    return status == BD_OK ? learn_basis(s, false) : status;
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
    struct bd_qr_factors f = { .r = s->r };
    return bd_qr_remove_columns(s->update, &f, 0, 1, NULL);
}

/* The frame in hand enters the window: as it is, or guarded (see insert of the table). */
static enum bd_status enter(struct bd_separator *s, int guarded)
{
    int slot;
    enum bd_status status = next_slot(s, &slot);
    return status == BD_OK ? s->backend->ops->separation->insert(s->state, slot, guarded) : status;
}

/* The next part of the newest column's products; where they are whole the column is appended to R
 * of the others, in place of what was there. */
static enum bd_status append_newest(struct bd_separator *s, int part)
{
    struct bd_matrix r = s->r;
    bool whole = false;
    r.rows = r.cols = s->columns - 1;
    enum bd_status status = s->backend->ops->separation->gram(
        s->state, s->order, s->columns, (float)s->options.lambda, part, s->gram, &whole);
    if (status == BD_OK && whole)
        status = bd_qr_append_gram_device(s->update, &r, s->gram);
    s->appended |= whole;
    if (status != BD_OK)
        s->r_valid = false; /* R has lost a column and not gained one */
    return status;
}

/* R's share of part `part` of the slide: the SVD of the R that the part before has left, products,
 * in the end part of the basis. */
static enum bd_status slide_r(struct bd_separator *s, int part)
{
    enum bd_status status = s->appended ? decompose(s) : BD_OK;
    s->appended = false;
    if (status != BD_OK)
        return status;
    if (part < bd_sep_gram_parts)
        return append_newest(s, part);
    return s->backend->ops->separation->basis_ahead ? learn_basis(s, true) : BD_OK;
}

/* The same, beside the frames where the backend can do that. */
static enum bd_status slide_r_beside(struct bd_separator *s, int part)
{
    const struct bd_separation_ops *ops = s->backend->ops->separation;
    enum bd_status status = ops->beside ? ops->beside(s->state, 1) : BD_OK;
    if (status != BD_OK)
        return status;
    status = slide_r(s, part);
    enum bd_status ended = ops->beside ? ops->beside(s->state, 0) : BD_OK;
    return status == BD_OK ? ended : status;
}

/* The next part of the slide: products, the SVD of R with half of the basis, the rest of it. Where
 * R must be made again, all of it at once. */
static enum bd_status slide_on(struct bd_separator *s)
{
    enum bd_status status = BD_OK;
    int part = s->part++;
    if (s->r_valid && part < bd_sep_slide_frames - 1)
        return slide_r_beside(s, part);
    s->sliding = false;
    if (s->r_valid)
        status = learn_basis(s, false);
    int refinements = s->options.refine <= 0 ? !s->r_valid : s->options.refine;
    for (int i = 0; status == BD_OK && i < refinements; i++)
        status = refine(s, true);
    return status;
}

/* Whether frames enter the window so rarely that the parts of a slide, and the decision on the
 * drift that it has found, are done well before the next one. */
static bool has_time(const struct bd_separator *s)
{
    const struct bd_separator_options *o = &s->options;
    return o->memory / o->window * o->frame_rate >= bd_sep_slide_frames + bd_sep_lag + 1;
}

enum bd_status bd_sep_go_on_sliding(struct bd_separator *s)
{
    return s->sliding && !s->frozen ? slide_on(s) : BD_OK;
}

enum bd_status bd_sep_slide(struct bd_separator *s)
{
    enum bd_status status = BD_OK;
    while (status == BD_OK && s->sliding) /* it was frozen, or frames were left out */
        status = slide_on(s);
    if (status == BD_OK)
        status = enter(s, 1);
    if (status != BD_OK)
        s->r_valid = false;
    s->sliding = status == BD_OK;
    s->appended = false;
    s->part = 0;
    if (status == BD_OK)
        status = slide_on(s);
    while (status == BD_OK && s->sliding && !has_time(s))
        status = slide_on(s);
    return status;
}

/* The first background, from the columns in `order`. */
static enum bd_status find_background(struct bd_separator *s, const int *order, int count)
{
    return s->backend->ops->separation->stable(s->state, order, count, (float)s->options.lambda,
                                               !bd_sep_without(s, BD_WITHOUT_BOUNDARY_CONTRAST));
}

/* The first background, from columns evenly spread over the window, the newest the last of them. */
static enum bd_status find_first_background(struct bd_separator *s)
{
    int few[most_first_columns];
    int count = s->columns < most_first_columns ? s->columns : most_first_columns;
    for (int j = 0; j < count; j++)
        few[j] = s->order[(int64_t)(j + 1) * s->columns / count - 1];
    s->looked = s->columns;
    return find_background(s, few, count);
}

enum bd_status bd_sep_start(struct bd_separator *s)
{
    enum bd_status status = enter(s, 0);
    if (status == BD_OK && (!s->looked || 8 * s->columns >= 9 * s->looked))
        status = find_first_background(s);
    return status;
}

/* first: column j of the window enters it again, guarded, with the numbers of its pixels' visits.
 * Else, when all of these are known, its pixels are looked at for what moves in place. */
static enum bd_status clean_column(struct bd_separator *s, int j, bool first)
{
    const struct bd_separation_ops *ops = s->backend->ops->separation;
    struct bd_detect_params params = bd_sep_detect_params(s, 0);
    enum bd_status status = ops->recall(s->state, s->order[j]);
    /* Columns follow each other too, and what is in one alone is no object. */
    params.lasting = first && params.lasting ? bd_mask_lasting : 0;
    params.flash_quiet = 0;
    params.columns = first ? 0 : s->columns;
    params.mirrors = !first && bd_sep_looks_for_mirrors(s);
    params.evidence = !first;
    params.looks = bd_recurrence_looks;
    params.look = (unsigned)(j * bd_recurrence_looks);
    if (status == BD_OK)
        status = ops->project(s->state, bd_sep_column_rounds, (float)s->options.lambda);
    if (status == BD_OK)
        status = ops->detect(s->state, &params, first);
    if (status == BD_OK && first)
        status = ops->insert(s->state, s->order[j], 1);
    return status;
}

enum bd_status bd_sep_clean_window(struct bd_separator *s)
{
    enum { iterations = 3 };
    enum bd_status status = find_background(s, s->order, s->columns);
    for (int j = 0; status == BD_OK && j < s->columns; j++)
        status = clean_column(s, j, true);
    for (int j = 0; status == BD_OK && j < s->columns; j++)
        status = clean_column(s, j, false);
    for (int i = 1; status == BD_OK && i <= iterations; i++)
        status = refine(s, i == iterations);
    s->cleaned = status == BD_OK;
    return status;
}

enum bd_status bd_sep_remove_ghosts(struct bd_separator *s)
{
    struct bd_ghost_params params = { .reach = s->cleaned ? ghost_reach : first_ghost_reach,
                                      .still = s->cleaned ? ghost_still : first_ghost_still,
                                      .votes = ghost_votes,
                                      .least = s->options.min_area > 1 ? s->options.min_area : 1,
                                      .times = ghost_times,
                                      .margin = ghost_margin,
                                      .noise = 1 };
    if (bd_sep_without(s, BD_WITHOUT_GHOST_REMOVAL))
        return BD_OK;
    return s->backend->ops->separation->remove_ghosts(s->state, s->order, s->columns, &params);
}

/* Frames of a look-ahead would mix with a window that is in use. */
static enum bd_status check_not_started(const struct bd_separator *s)
{
    enum bd_status status = bd_check_pointer(s, "separator");
    if (status != BD_OK)
        return status;
    if (s->started || s->cleaned)
        return bd_fail(BD_ERROR_ARGUMENT,
                       "a look-ahead after separation has started: reset the separator first");
    if (bd_separator_in_flight(s))
        return bd_fail(BD_ERROR_ARGUMENT, "a look-ahead with frames in flight: receive them first");
    return BD_OK;
}

enum bd_status bd_separator_look_ahead(struct bd_separator *s, const uint8_t *picture,
                                       int64_t stride)
{
    enum bd_status status = check_not_started(s);
    if (status == BD_OK)
        status = bd_sep_check_picture(s, picture, stride);
    if (status == BD_OK)
        status = s->backend->ops->separation->load(s->state, picture, stride);
    if (status == BD_OK)
        status = enter(s, 0);
    if (status == BD_OK)
        s->ahead++;
    return status;
}

/* The slot of frame `number` of the look-ahead; -1: it is not in the window. */
static int slot_of_ahead(const struct bd_separator *s, int number)
{
    const int n = s->options.window;
    if (number < 0 || number < s->ahead - n || number >= s->ahead)
        return -1;
    for (int j = 0; j < s->columns; j++)
        if (s->order[j] == number % n)
            return number % n;
    return -1;
}

enum bd_status bd_separator_look_after(struct bd_separator *s, int number, const uint8_t *picture,
                                       int64_t stride)
{
    enum bd_status status = bd_check_pointer(s, "separator");
    if (status == BD_OK && (s->started || bd_separator_in_flight(s)))
        status = bd_fail(BD_ERROR_ARGUMENT,
                         "a look-ahead after separation has started: reset the separator first");
    if (status == BD_OK)
        status = bd_sep_check_picture(s, picture, stride);
    if (status != BD_OK)
        return status;
    struct bd_detect_params params = bd_sep_detect_params(s, 0);
    params.newest = slot_of_ahead(s, number);
    if (params.newest < 0 || !params.columns) /* or: not cleaned, or no leaves are looked for */
        return BD_OK;
    const struct bd_separation_ops *ops = s->backend->ops->separation;
    params.follows = 1;
    params.columns = params.looks = params.mirrors = params.lasting = params.flash_quiet = 0;
    status = ops->load(s->state, picture, stride);
    if (status == BD_OK)
        status = ops->project(s->state, bd_sep_column_rounds, (float)s->options.lambda);
    return status == BD_OK ? ops->detect(s->state, &params, 0) : status;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Keeps the frames of a look-ahead up to the first sudden change of light: the separation begins in
 * the light of the first. Where neighbours usually differ (leaves before the camera) a large
 * difference is nothing sudden. */
static enum bd_status keep_first_light(struct bd_separator *s)
{
    double shares[bd_max_window], sorted[bd_max_window];
    int pairs = s->columns - 1;
    enum bd_status status = BD_OK;
    for (int j = 0; status == BD_OK && j < pairs; j++) {
        int64_t pixels = 0;
        status = s->backend->ops->separation->compare(s->state, s->order[j], s->order[j + 1],
                                                      light_reach, &pixels);
        shares[j] = sorted[j] = bd_sep_share(s, pixels);
    }
    if (status != BD_OK || !pairs)
        return status;
    qsort(sorted, (size_t)pairs, sizeof *sorted, by_size);
    for (int j = 0; j < pairs; j++)
        if (shares[j] > bd_sep_flood_share && shares[j] > 2 * sorted[pairs / 2]) {
            s->columns = j + 1;
            break;
        }
    return BD_OK;
}

/* Frames have been shown, and separation has not started. */
static enum bd_status check_shown(const struct bd_separator *s)
{
    enum bd_status status = check_not_started(s);
    if (status == BD_OK && !s->columns)
        status = bd_fail(BD_ERROR_ARGUMENT, "no frame has been shown to the separator");
    return status;
}

enum bd_status bd_separator_initialise(struct bd_separator *s)
{
    enum bd_status status = check_shown(s);
    if (status == BD_OK)
        status = keep_first_light(s);
    return status == BD_OK ? bd_sep_clean_window(s) : status;
}

/* Keeps as many columns as a window without a look-ahead has after `seconds`, evenly spread. */
static void thin_out(struct bd_separator *s, double seconds)
{
    int kept = (int)ceil(s->options.window * sqrt(fmax(seconds, 0) / bd_sep_start_span(s)));
    if (kept < 1 || kept >= s->columns)
        return;
    for (int j = 0; j < kept; j++) { /* what is chosen next lies behind all that has moved */
        int i = (int)((int64_t)(j + 1) * s->columns / kept) - 1, slot = s->order[i];
        s->order[i] = s->order[j];
        s->order[j] = slot;
    }
    s->columns = kept;
}

enum bd_status bd_separator_initialise_start(struct bd_separator *s, double seconds)
{
    enum bd_status status = check_shown(s);
    if (status == BD_OK && isnan(seconds))
        status = bd_fail(BD_ERROR_ARGUMENT, "seconds = %g: a number is wanted", seconds);
    if (status != BD_OK)
        return status;
    if (seconds >= .75 * bd_sep_start_span(s)) /* a window of fewer frames is as good */
        return bd_separator_initialise(s);
    status = keep_first_light(s);
    if (status != BD_OK)
        return status;
    thin_out(s, seconds);
    return find_first_background(s);
}
