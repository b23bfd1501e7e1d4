/* Private to separator.c and separator_window.c: the live separator above the backend table. */
#ifndef BD_LINALG_SEPARATOR_STATE_H
#define BD_LINALG_SEPARATOR_STATE_H

#include "linalg/backend_ops.h"
#include "linalg/qr_update.h"
#include "linalg/separator.h"
#include "linalg/separator_ops.h"
#include "linalg/small_svd.h"

enum {
    bd_sep_rounds = 3,       /* of the robust projection; it starts from the frame before */
    bd_sep_start_rounds = 10 /* after a start or a seek */
};

/* The light may have changed where more than this share of the picture is foreground. */
static const double bd_sep_flood_share = 0.6;

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

/* Pixels as a share of the picture. */
static inline double bd_sep_share(const struct bd_separator *s, int64_t pixels)
{
    return (double)pixels / ((double)s->options.width * s->options.height);
}

/* Mask, guard, noise levels and ages of the frame in hand, which comes `seconds` after the frame
 * before. */
enum bd_status bd_sep_detect(struct bd_separator *s, double seconds, bool learn);

/* While the window fills: the frame in hand enters as it is, the background is the median. */
enum bd_status bd_sep_start(struct bd_separator *s);

/* Takes what moves out of the frames of the window, which entered it as they were, and learns the
 * first basis from what remains. */
enum bd_status bd_sep_settle(struct bd_separator *s);

/* The frame in hand enters the window by a QR update of R; then the window is refined. */
enum bd_status bd_sep_slide(struct bd_separator *s);

#endif
