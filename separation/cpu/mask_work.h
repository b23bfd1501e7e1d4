/* Private to mask.c, neighbourhood.c, shadow.c, illumination.c, contact_shadow.c, mirror.c,
 * boundary_contrast.c, recurrence.c and flash.c: the scratch memory of a mask's steps. Each step
 * has all of it for itself. */
#ifndef BD_SEPARATION_CPU_MASK_WORK_H
#define BD_SEPARATION_CPU_MASK_WORK_H

#include <stdbool.h>
#include <string.h>

#include "separation/cpu/kernels/kernels.h"
#include "separation/cpu/mask.h"
#include "separation/shared/illumination.h"
#include "separation/shared/mirror.h"
#include "separation/shared/shadow.h"
#include <backdrop/components.h>

/* The largest reach of a neighbourhood (neighbourhood.h). */
enum { bd_mask_most_reach = bd_illumination_reach };

/* For sums over neighbourhoods a thread has the blocks of as many rows, a bit each that says
 * whether a block is part of the sum, and the sum: four numbers a column, with a block of zeros at
 * either end. */
static inline size_t bd_mask_blocks(int width)
{
    return ((size_t)width + bd_block_pixels - 1) / bd_block_pixels;
}

static inline size_t bd_mask_block_words(int width)
{
    return (bd_mask_blocks(width) + 63) / 64;
}

enum { bd_mask_sum_rows = 2 * bd_mask_most_reach + 1 };

static inline size_t bd_mask_sum_pitch(int width)
{
    return (bd_mask_blocks(width) + 2) * bd_block_pixels;
}

/* Of a component, besides what its root has, in the search for contact shadows. */
struct bd_contact_object {
    int32_t longest;         /* black run along a row of its foot */
    int32_t tops, dark_tops; /* of black runs in columns of its foot; nothing brighter above */
    bool possible, has_shadow;
};

/* Of a component: see bd_boundary_is_lower. */
struct bd_boundary_contrast {
    int64_t balance;
    int32_t judged;
};

/* An object in the search for mirror images, whose axes are looked at in parts. */
enum { bd_mirror_parts = 4 };
struct bd_mirror_object {
    struct bd_mirror_box box;
    int cell;   /* in which it stands */
    bool place; /* that is a place of images */
    struct bd_mirror_finding findings[bd_mirror_parts];
};

/* Objects at most: each has a run in every row of its box. */
static inline size_t bd_mirror_most_objects(int width, int height)
{
    return bd_components_most(width, height) / bd_mirror_high + 1;
}

struct bd_mask_work {
    struct bd_pool *pool;
    const struct bd_exact_kernels *kernels;
    int width, height;
    int rows; /* of a strip */
    struct bd_components components;
    struct bd_contact_object *objects;      /* one a run */
    struct bd_boundary_contrast *contrasts; /* one a run */
    struct bd_mirror_object *mirrored;      /* bd_mirror_most_objects */
    uint8_t *lasted;                        /* one a run: frames */
    uint8_t *lines;                         /* of bd_mask_line */
    uint16_t *down;                         /* width: of contact_shadow.c */
    struct bd_sums *sums;                   /* threads x bd_mask_sum_rows x blocks */
    uint64_t *sums_used; /* threads x bd_mask_sum_rows x words of bits, 0 between steps */
    uint32_t *sum;       /* threads x 4 x bd_mask_sum_pitch, 0 between steps */
    uint8_t *picture;    /* height x width */
    uint8_t *none;       /* width: a row in which nothing is set */
};

/* Runs a loop over the rows of a picture, strip by strip. */
void bd_mask_run(struct bd_mask_work *work, bd_pool_fn *strip_fn, void *arg);

/* The rows that item `item` of it takes: from the one returned to before *to. */
int bd_mask_strip(const struct bd_mask_work *work, int64_t item, int *to);

/* A thread's scratch memory for a few rows: 3 times the width, and 15. */
uint8_t *bd_mask_line(const struct bd_mask_work *work, int thread);

/* The first set pixel of those from `at` to before `end`, which hold 0 and 1; NULL: there is none.
 * Set pixels lie side by side: no call for most of them. */
static inline const uint8_t *bd_mask_next(const uint8_t *at, const uint8_t *end)
{
    if (at < end && *at)
        return at;
    return at < end ? memchr(at, 1, (size_t)(end - at)) : NULL;
}

/* Gives `value` to the pixels of a run. */
void bd_mask_paint_run(const struct bd_mask_work *work, uint8_t *mask, const struct bd_run *run,
                       uint8_t value);

#endif
