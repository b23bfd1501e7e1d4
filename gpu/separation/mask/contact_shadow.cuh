/* Private to the mask clean-up: the black shadow under what stands on the ground, bit for bit what
 * separation/cpu/contact_shadow.h defines.
 *
 * It is taken out between the filling of holes and the trimming of edges, and costs two launches
 * there: settle_mask fills the holes and makes components of the whole mask out of those that there
 * were before, find_contacts counts what is black under each of them. The last step of the clean-up
 * cuts what belongs to components that turn out to stand on a shadow. */
#ifndef BD_GPU_SEPARATION_MASK_CONTACT_SHADOW_CUH
#define BD_GPU_SEPARATION_MASK_CONTACT_SHADOW_CUH

#include "gpu/cuda.h"
#include "gpu/separation/mask/change.cuh"
#include "gpu/separation/mask/component.cuh"
#include "gpu/separation/mask/mask.h"
#include "separation/cpu/contact_shadow.h" /* for its numbers */

/* Of a component, at its root. */
struct contact_stand {
    int left, right, top, bottom; /* right and bottom inclusive */
    int longest;                  /* black run along a row of its foot */
    int tops, blacks;             /* of black runs in columns of its foot; those below more black */
};

/* Pictures as those of the mask clean-up. */
struct contact_work {
    const uint32_t *labelled; /* before holes were filled */
    struct mask_forest set; /* its components; then those of `filled`, as trees of several links */
    uint32_t *filled;       /* holes filled, nothing cut */
    uint32_t *cut; /* what goes if its component stands on a shadow; NULL: nothing is looked for */
    /* Components of a tile that touch at corners are at most a quarter of its pixels: that of
     * number t * tile_nodes + k has stand t * tile_nodes / 2 + k. */
    struct contact_stand *stands;
};

/* A component without pixels. */
static __device__ inline struct contact_stand contact_none(void)
{
    return { INT32_MAX, -1, INT32_MAX, -1, 0, 0, 0 };
}

static __device__ inline struct contact_stand *contact_stand_of(const struct contact_work &work,
                                                                int root)
{
    return &work.stands[root / tile_nodes * (tile_nodes / 2) + root % tile_nodes];
}

/* The root of the component of the filled mask that its pixel (y, 32 i + b) belongs to. */
static __device__ inline int contact_root(struct mask_size size, const struct contact_work &work,
                                          int y, int i, int b)
{
    /* A pixel of a hole belongs to what is at its left: a hole does not touch the border. */
    const uint32_t *row = work.labelled + (int64_t)y * size.pitch;
    uint32_t w = row[i] & (~0u >> (31 - b));
    while (!w)
        w = row[--i];
    b = 31 - __clz(w);
    return find_root(work.set.parent, component_at<1>(size, work.labelled, work.set, y, i, b));
}

static __device__ inline bool stands_on_shadow(const struct contact_stand *stand)
{
    int width = stand->right - stand->left + 1;
    return 3 * stand->longest >= width && 2 * stand->tops >= width &&
           2 * stand->blacks <= stand->tops;
}

/* What is taken out of word i of row y, which is in the picture; all has been counted. */
static __device__ inline uint32_t contact_word(struct mask_size size,
                                               const struct contact_work &work, int y, int i)
{
    uint32_t cut = work.cut ? work.cut[(int64_t)y * size.pitch + i] : 0, out = 0;
    for (uint32_t s = run_starts(cut); s; s &= s - 1) {
        int b = __ffs(s) - 1;
        if (stands_on_shadow(contact_stand_of(work, contact_root(size, work, y, i, b))))
            out |= run_bits(cut, b);
    }
    return out;
}

/* work.filled := `from` after the change; work.cut and all but work.labelled and the components of
 * it, which have empty stands, is found. contact_shadow.cu */
enum bd_status bd_cuda_contact_shadow_find(struct bd_cuda *cuda, struct mask_size size,
                                           const struct contact_work &work,
                                           const struct mask_change &from,
                                           const struct bd_cuda_mask_pictures *pictures);

#endif
