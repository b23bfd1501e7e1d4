/* The scratch memory of mask.cu and of boundary_contrast.cu, which finds components in the same
 * way. */
#ifndef BD_GPU_SEPARATION_MASK_WORK_CUH
#define BD_GPU_SEPARATION_MASK_WORK_CUH

#include "gpu/separation/mask/mask.h"
#include "gpu/separation/mask/tile.cuh"
#include "separation/shared/mask.h"

/* Of a component, at its root, for bd_boundary_is_lower. The balance is in two's complement:
 * atomics add unsigned numbers only. */
struct boundary_sums {
    unsigned long long *balance; /* one a node */
    int *judged;                 /* the same */
};

/* How long components have lasted: separation/shared/mask.h. */
struct mask_lasting {
    uint32_t *frames[bd_mask_lasting - 1]; /* height x pitch words: pixels whose component had
                                              lasted for 1, 2, ... frames or more */
    int *lasted;                           /* one a node: the most of these for its tree */
};

struct bd_cuda_mask {
    struct bd_cuda *cuda;
    struct mask_size size;
    struct mask_forest set, clear;    /* components of the mask, of its complement */
    uint32_t *median, *kept, *spread; /* height x pitch words: after that step */
    uint32_t *image;                  /* mirror images (mirror.cuh) */
    uint32_t *cut;                    /* contact shadows (contact_shadow.cuh): */
    struct contact_object *objects;
    struct boundary_sums sums; /* boundary_contrast.cu */
    struct mask_lasting lasting;
    void *memory; /* all of the above */
};

/* Whether a picture can be read and written 16 bytes at a time. */
static inline bool is_wide(struct mask_size size, const void *picture)
{
    return size.width % 16 == 0 && (uintptr_t)picture % 16 == 0;
}

/* work->median := the raw picture (as for bd_cuda_mask_clean) after the median filter, and its
 * 8-connected components with their areas in work->set: each component of a tile is linked straight
 * to its root. mask.cu */
enum bd_status bd_cuda_mask_components(struct bd_cuda_mask *work, const uint8_t *raw, int side);

#endif
