/* A block of a picture that is found again in other pictures with subpixel accuracy. Private to
 * global_motion.c.
 *
 * Blocks consist of cells of `scale` x `scale` pixels, so that a picture of any size has about 240
 * rows of cells. */
#ifndef BD_VIDEO_MOTION_BLOCK_H
#define BD_VIDEO_MOTION_BLOCK_H

#include <stdbool.h>

#include "video/frame.h"
#include "video/motion/similarity.h"

enum {
    bd_block_side = 16,  /* cells */
    bd_block_margin = 2, /* cells around a block that bd_block_find may use */
    bd_block_coarse = 2, /* cells per coarse cell, in each direction, in bd_block_vote */
    bd_block_reach = 6,  /* range of that search in each direction, coarse cells */
    bd_block_shifts = 2 * bd_block_reach + 1,
    bd_block_half = bd_block_side / bd_block_coarse,
    bd_block_most_samples = 2 /* of a cell, in each direction */
};

/* How pictures are seen in cells. */
struct bd_cells {
    int scale;                                  /* pixels of the picture to a cell */
    int samples, sample[bd_block_most_samples]; /* which pixels of a cell are looked at */
};

struct bd_block {
    struct bd_point centre; /* of its texture, from its corner, pixels */
    struct bd_point home;   /* where that centre was when nothing had moved; from the picture's */
    /* Brightness without its mean, and its slopes without their part that a change of brightness or
     * contrast explains. */
    float grey[bd_block_side * bd_block_side], norm;
    float across[bd_block_side * bd_block_side], down[bd_block_side * bd_block_side];
    float slopes[3], inverse[3]; /* sums of across^2, across down, down^2; the inverse of that */
    float coarse[bd_block_half * bd_block_half], coarse_norm;
};

struct bd_cells bd_cells_of(int width, int height);

/* Brightness of n x n cells from pixel (x, y) on, rows n apart; the edge of the picture is repeated
 * outside. */
void bd_cells_read(const struct bd_cells *cells, const struct bd_frame *frame, int x, int y, int n,
                   float *out);

/* The smaller eigenvalue of the matrix a b; b c. */
float bd_block_texture(float a, float b, float c);

/* Copies a block with its corner at pixel (x, y) from a picture that has moved by `at`. False if it
 * has too little texture to be found again. */
bool bd_block_create(struct bd_block *block, const struct bd_cells *cells,
                     const struct bd_frame *frame, int x, int y, struct bd_similarity at);

/* Finds the centre of the block's texture in a picture where it should be at *seen, up to a cell
 * and a half more or less, and corrects *seen (from the centre of the picture): Lucas and Kanade's
 * iteration, inverse compositional (Baker, Matthews 2004), for any brightness and contrast. False
 * if it is not there. */
bool bd_block_find(const struct bd_block *block, const struct bd_cells *cells,
                   const struct bd_frame *frame, struct bd_point *seen);

/* Sets votes[bd_block_shifts][bd_block_shifts] to how well the block matches a picture that has
 * moved by (column - reach, row - reach) times bd_block_coarse cells. */
void bd_block_vote(const struct bd_block *block, const struct bd_cells *cells,
                   const struct bd_frame *frame, float *votes);

#endif
