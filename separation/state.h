/* Private to separator.c, options.c, together.c and window.c: the live separator above the table of
 * the backend.
 */
#ifndef BD_SEPARATION_STATE_H
#define BD_SEPARATION_STATE_H

#include "linalg/shared/svd_ops.h"
#include "separation/shared/ablation.h"
#include "separation/shared/ops.h"
#include <backdrop/qr_update.h>
#include <backdrop/separator.h>

enum {
    /* Rounds of the robust projection. */
    bd_sep_rounds = 1,        /* of a frame; it starts from the frame before */
    bd_sep_column_rounds = 3, /* of a picture long after the one before, such as a column */
    bd_sep_start_rounds = 10, /* after a start or a seek */
    bd_sep_lag = 3 /* frames from a frame to the decision on the light that it enters; the
                      largest depth of a backend */
};

/* The light may have changed where more than this share of the picture differs from the background.
 */
static const double bd_sep_flood_share = 0.5;

/* The separator's own record of a frame, besides the backend's results. */
struct bd_sep_frame {
    double seconds;       /* since the frame before */
    int64_t changed;      /* pixels, once received */
    int64_t ghost_pixels; /* once received */
    double drift;         /* once received */
    int columns;
    bool learned;
    bool counts; /* in the decision on the light: separated since the last reset */
};

struct bd_separator {
    struct bd_backend *home;    /* the caller's */
    struct bd_backend lane;     /* where that has lanes: the separator's own */
    struct bd_backend *backend; /* the lane, or home */
    struct bd_separator_options options;
#ifdef BD_DEVELOPER
    enum bd_ablation without;
#endif
    void *state; /* the backend's */
    struct bd_qr_update *update;
    void *svd;          /* the backend's: SVD of r */
    struct bd_matrix r; /* n x n: R of X(:, order) while r_valid */
    bool r_valid;
    bool sliding;    /* a frame has entered the window, and the basis has not been learned since */
    int part;        /* of the slide, that comes next */
    bool appended;   /* R has a new column that its SVD has not seen */
    int64_t renewed; /* frames that had been submitted when R was last made from the frames */
    void *gram;      /* n doubles in the backend's memory: see gram of the table */
    int *order;      /* all n slots: those in use, oldest first, then the free ones */
    int ahead;       /* frames of the look-ahead; number i is in slot i % n */
    int columns;     /* slots in use */
    int looked;      /* columns when the first background was last looked for; 0: not yet */
    bool cleaned;    /* the window has been cleaned of what moved while it was filled */
    bool frozen;
    bool started;
    bool jumped;    /* the frame in hand does not follow the one before: a start or a seek */
    double share;   /* of foreground pixels, average over flood_average seconds */
    double flooded; /* seconds for which a sudden change of light has been seen */
    double start, last, next;    /* seconds: first frame, frame before, next to enter the window */
    double look;                 /* seconds: the next look for ghosts */
    int64_t submitted, received; /* frames, since the separator was made */
    struct bd_sep_frame frames[bd_sep_lag]; /* frame i at i mod bd_sep_lag */
};

/* Pixels as a share of the picture. */
static inline double bd_sep_share(const struct bd_separator *s, int64_t pixels)
{
    return (double)pixels / ((double)s->options.width * s->options.height);
}

static inline bool bd_sep_without(const struct bd_separator *s, enum bd_ablation part)
{
#ifdef BD_DEVELOPER
    return s->without == part || s->without == BD_WITHOUT_ANY;
#else
    (void)s;
    (void)part;
    return false;
#endif
}

/* Seconds in which a window without a look-ahead is filled. */
static inline double bd_sep_start_span(const struct bd_separator *s)
{
    const double most = 10;
    return s->options.memory < most ? s->options.memory : most;
}

/* BD_ERROR_ARGUMENT for options, none of them left to a default, that are out of range. */
enum bd_status bd_sep_check_options(const struct bd_separator_options *o);

/* The separator, a picture of its size and its stride, as public functions take them. */
enum bd_status bd_sep_check_picture(const struct bd_separator *s, const uint8_t *picture,
                                    int64_t stride);

/* Whether one more frame may be submitted, at this time. */
enum bd_status bd_sep_check_submit(const struct bd_separator *s, const uint8_t *picture,
                                   int64_t stride, double time);

/* The work before the next frame: a new start in a new light, or cleaning the window once it is
 * full. The frame bd_sep_lag before it has been received, whatever the depth. */
enum bd_status bd_sep_prepare(struct bd_separator *s, double time);

/* Background, mask and learning for the frame in hand. */
enum bd_status bd_sep_separate(struct bd_separator *s, double time);

/* Whether mirror images are looked for once the window has been cleaned. */
bool bd_sep_looks_for_mirrors(const struct bd_separator *s);

/* The parameters of detect for a frame that comes `seconds` after the frame before. */
struct bd_detect_params bd_sep_detect_params(const struct bd_separator *s, double seconds);

/* detect of the table, for a frame that comes `seconds` after the frame before. */
enum bd_status bd_sep_detect(struct bd_separator *s, double seconds, bool learn);

/* While the window fills: the frame in hand enters as it is, and the first background is found
 * again whenever the window has grown by an eighth. */
enum bd_status bd_sep_start(struct bd_separator *s);

/* Takes moving objects out of the frames of the window, which entered it as they were, and learns
 * the first basis from the rest. */
enum bd_status bd_sep_clean_window(struct bd_separator *s);

/* One look for ghosts. */
enum bd_status bd_sep_remove_ghosts(struct bd_separator *s);

/* The frame in hand enters the window, and the first part of a slide is done: R is changed by a QR
 * update, for which the products of gram come in parts, or made from the frames again; then the
 * basis is learned from R. */
enum bd_status bd_sep_slide(struct bd_separator *s);

/* The next part of a slide, if one has begun: once a frame, so that no frame takes much longer than
 * the others. Where frames enter the window often, a slide is one part. */
enum bd_status bd_sep_go_on_sliding(struct bd_separator *s);

#endif
