/* The scratch memory of mask.cu and of boundary_contrast.cu, which finds components in the same
 * way. */
#ifndef BD_GPU_SEPARATION_MASK_WORK_CUH
#define BD_GPU_SEPARATION_MASK_WORK_CUH

#include "gpu/separation/mask/flash.cuh"
#include "gpu/separation/mask/lasting.cuh"
#include "gpu/separation/mask/mask.h"

/* Of a component, at its root, for bd_boundary_is_lower. The balance is in two's complement:
 * atomics add unsigned numbers only. */
struct boundary_sums {
    unsigned long long *balance; /* one a node */
    int *judged;                 /* the same */
};

/* What the filter leaves of a frame, for the clean-up. */
struct mask_turn {
    uint32_t *median, *kept;  /* height x pitch words; kept: without small components */
    struct mask_forest set;   /* the components of `median` */
    struct mask_forest clear; /* of the complement of `kept` */
    struct contact_object *objects;
    int *lasted;                 /* struct mask_lasting */
    struct mask_flashes flashes; /* set by turn_of; the sums are not by turn */
};

struct bd_cuda_mask {
    struct bd_cuda *cuda;
    struct mask_size size;
    struct mask_turn turns[bd_cuda_mask_turns];
    uint32_t *spread;             /* height x pitch words: after that step */
    uint32_t *image;              /* mirror images (mirror.cuh) */
    uint32_t *cut;                /* contact shadows (contact_shadow.cuh) */
    struct boundary_sums sums;    /* boundary_contrast.cu */
    struct mask_lasting lasting;  /* of all turns; `lasted` is that of a turn */
    unsigned long long *flashing; /* struct mask_flashes */
    void *memory;                 /* all of the above */
};

/* Whether a picture can be read and written 16 bytes at a time. */
static inline bool is_wide(struct mask_size size, const void *picture)
{
    return size.width % 16 == 0 && (uintptr_t)picture % 16 == 0;
}

/* In work->turns[0]: the raw picture (as for bd_cuda_mask_filter) after the median filter, and its
 * 8-connected components with their areas: each component of a tile is linked straight to its root.
 * mask.cu */
enum bd_status bd_cuda_mask_components(struct bd_cuda_mask *work, const uint8_t *raw, int side);

#endif
