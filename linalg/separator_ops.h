/* Private: what separator.c tells a backend's sep_ slots. */
#ifndef BD_LINALG_SEPARATOR_OPS_H
#define BD_LINALG_SEPARATOR_OPS_H

#include "linalg/separator.h"

/* A light that has changed: more than this share of all values differ from the background before by
 * more than 2 lambda. Someone who fills half of the picture (Board) is not to be taken for it. */
static const double bd_sep_outlier_share = 0.6;

/* A light that has changed is found if at most this share of those are left. */
static const double bd_sep_explained_share = 0.7;

/* It is looked for by a round each with this many times lambda, half of that, and so on down to 2.
 */
enum { bd_sep_light_times = 8 };

/* The first background of sep_lasting. */
enum {
    bd_sep_lasting_reach = 20, /* grey levels within which two values are the same seen twice */
    /* A second value that was there in one of so many pictures may be the background's: in
     * components of one in so many pixels, that are so many times smoother. */
    bd_sep_second_share = 8,
    bd_sep_second_least = 3000,
    bd_sep_second_times = 2
};

/* A pixel at the edge of the mask goes that differs by less than this part of what those around it
 * do. */
enum { bd_sep_trim_part = 7, bd_sep_trim_of = 20 };

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
struct bd_reveal_params {
    int reach;   /* grey levels: a pixel that differs by at most this is what it was */
    int still;   /* looks for which a pixel must have been what it is */
    int votes;   /* looks in a row that must agree */
    int least;   /* pixels of the smallest component */
    int times;   /* by so much smoother must it be */
    int margin;  /* pixels around a component that become background with it */
    float noise; /* grey levels: first noise level of what becomes background */
};

#endif
