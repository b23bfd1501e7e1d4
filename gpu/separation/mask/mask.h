/* From the raw binary picture of the live separator to a clean mask on the GPU, bit for bit what
 * separation/shared/mask.h and separation/shared/contact_shadow.h define, with one bit a pixel
 * between the kernels; and boundary contrast, on the same components. Everything is enqueued on the
 * backend's stream, with launches that depend only on the size and on `params`, so that it can be
 * captured into a graph; nothing waits and nothing is allocated after create. */
#ifndef BD_GPU_SEPARATION_MASK_MASK_H
#define BD_GPU_SEPARATION_MASK_MASK_H

#include <stdint.h>

#include "gpu/cuda.h"
#include "separation/shared/mirror.h"
#include "separation/shared/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

struct bd_cuda_mask; /* scratch memory on the GPU for one size of picture */

enum { bd_cuda_mask_turns = 2 }; /* frames that may be between the two parts of the clean-up */

/* For pictures of width x height pixels (each at least 1). BD_ERROR_MEMORY. */
enum bd_status bd_cuda_mask_create(struct bd_cuda *cuda, int width, int height,
                                   struct bd_cuda_mask **mask);
void bd_cuda_mask_destroy(struct bd_cuda_mask *mask); /* accepts NULL */

/* The next frame is the first: all its components have lasted (separation/shared/mask.h). */
enum bd_status bd_cuda_mask_forget(struct bd_cuda_mask *mask);

/* Flags of a pixel before the clean-up. */
enum bd_cuda_mask_flag {
    bd_cuda_mask_set = 1,       /* it differs by more than its threshold */
    bd_cuda_mask_plain = 2,     /* it is plain background (separation/shared/mask.h) */
    bd_cuda_mask_plausible = 4, /* it may be shadow (separation/shared/shadow.h) */
    bd_cuda_mask_recurs = 8 /* it was set, but moves in place (separation/shared/recurrence.h) */
};

/* Where mirror images are looked for (separation/shared/mirror.h). Pointers are to device memory.
 */
struct bd_cuda_mirrors {
    struct bd_mirror_counts *counts; /* a cell; NULL: no search */
    const uint8_t *map;              /* 0 or 1 a cell: images are cut there */
    const int *any;                  /* 1: the map is not empty */
    const unsigned *loaded;          /* the number of the frame; NULL: it is `look` */
    unsigned look;
    int learn;         /* 0: no frame is evidence */
    int across, power; /* cells in a row of them; bd_recurrence_cell_power */
};

/* Where the picture flashes (separation/shared/flash.h). Pointers are to device memory. */
struct bd_cuda_flashes {
    const uint8_t *own;      /* bd_flash_own of each cell; NULL: there is no search */
    const int *any;          /* not 0: there are places */
    int across, down, power; /* cells in a row and a column of them; bd_recurrence_cell_power */
};

/* Pictures of height x width bytes with tight rows, in device memory. */
struct bd_cuda_mask_pictures {
    uint8_t *mask;         /* result: 255 or 0 */
    uint8_t *guard;        /* result: 1 or 0, mask and all shadows dilated */
    uint8_t *shadow_mask;  /* result: 255 or 0, all shadows after the median filter that are not in
                              the mask; NULL if not wanted */
    uint8_t *all_shadow;   /* result: 1 or 0, `shadow`, contact shadows and mirror images; may be
                              `shadow`. NULL: no search for them, and all shadows are `shadow` */
    int *foreground;       /* result, a number: how many pixels of the mask are set */
    const uint8_t *raw;    /* flags as above, and any others */
    const uint8_t *shadow; /* 1 or 0: pixels that are not set, whatever raw has; NULL: none */
    const uint8_t *difference; /* |f - l|; NULL: edges are not trimmed */
    /* For all_shadow: height x width x channels (1 or 3) bytes. */
    const uint8_t *frame, *background;
    int channels;
    struct bd_cuda_mirrors mirrors; /* with all_shadow and three channels only */
    struct bd_cuda_flashes flashes;
};

/* All shadows; NULL: none. */
static inline const uint8_t *bd_cuda_mask_shadows(const struct bd_cuda_mask_pictures *pictures)
{
    return pictures->all_shadow ? pictures->all_shadow : pictures->shadow;
}

/* The first part of the clean-up, of raw and shadow: the median filter, and components but for
 * those that are small. It writes to nothing but *foreground := 0, to how long components have
 * lasted, which the second part does not touch, and to the turn (0 or 1), which it leaves for that
 * one: the second part of the frame before may run meanwhile, if it has the other turn. Of params:
 * median (1 .. 15), min_area, lasting and max_hole. Pictures that are 16-byte aligned and whose
 * width is a multiple of 16 are read and written 16 bytes at a time; others work, a little slower.
 */
enum bd_status bd_cuda_mask_filter(struct bd_cuda_mask *work, int turn,
                                   const struct bd_cuda_mask_pictures *pictures,
                                   const struct bd_detect_params *params);

/* The second part, with the same pictures and parameters; of params guard, rows and columns, too.
 * The mask may be raw where edges are not trimmed. */
enum bd_status bd_cuda_mask_clean(struct bd_cuda_mask *work, int turn,
                                  const struct bd_cuda_mask_pictures *pictures,
                                  const struct bd_detect_params *params);

/* As struct bd_boundary of the CPU, in device memory. */
struct bd_cuda_boundary {
    const uint8_t *outside, *inside; /* pictures, height x width x channels bytes, tight rows */
    int channels;                    /* 1 or 3 */
    const uint8_t *region;           /* height x width, odd: in it */
    int median;                      /* the region is what this filter leaves of it (1 .. 15) */
    const uint8_t *apart; /* height x width, from 128 on: pixels that show neither, unless they are
                             in the region; or NULL */
    int least;            /* pixels: smaller components are left alone */
    int times;            /* by so much the contrast must be lower; at most 600 */
};

/* Boundary contrast (separation/shared/boundary_contrast.h). lower (height x width bytes in device
 * memory, tight rows): 1 in the components of the region that have the lower contrast in `inside`,
 * else 0. It may be the region. */
enum bd_status bd_cuda_boundary_find(struct bd_cuda_mask *work, uint8_t *lower,
                                     const struct bd_cuda_boundary *boundary);

#ifdef __cplusplus
}
#endif
#endif
