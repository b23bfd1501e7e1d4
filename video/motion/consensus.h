/* The motion that most blocks of a picture agree on. Private to global_motion.c. */
#ifndef BD_VIDEO_MOTION_CONSENSUS_H
#define BD_VIDEO_MOTION_CONSENSUS_H

#include "video/motion/similarity.h"

/* A block in a picture. Points are measured from the centre of the picture, pixels. */
struct bd_match {
    bool found, agrees;
    struct bd_point home, seen; /* where it was when nothing had moved; where it was found */
    float weight[3];            /* of its place across, of both directions, down */
};

struct bd_consensus {
    int width, height; /* of the picture */
    double agreement;  /* blocks agree if their places differ by at most this, pixels */
    double clear;      /* rotation and zoom that move a corner by less may be errors, pixels */
    bool bends;        /* the camera has been rotated or zoomed lately: they are not */
    int enough;        /* agreeing blocks; with fewer all pairs are asked for a better answer */
};

/* Sets *motion to what most of the blocks agree on, and match[0..count-1].agrees; returns how many
 * agree. A similarity transform, or the shift that explains as much. */
int bd_consensus_find(const struct bd_consensus *consensus, struct bd_match *match, int count,
                      struct bd_similarity *motion);

#endif
