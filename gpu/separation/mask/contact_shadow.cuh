/* Private to the mask clean-up: contact shadows, bit for bit what
 * separation/shared/contact_shadow.h defines. The plain version is separation/cpu/contact_shadow.c.
 *
 * The search comes between the filling of holes and the trimming of edges, and takes two launches:
 * fill_mask fills the holes and joins the components across them, look_at_objects counts the black
 * pixels in the foot of each component, and looks for mirror images as well. The last step of the
 * clean-up cuts the images, and the shadows of the components that have one. */
#ifndef BD_GPU_SEPARATION_MASK_CONTACT_SHADOW_CUH
#define BD_GPU_SEPARATION_MASK_CONTACT_SHADOW_CUH

#include "gpu/cuda.h"
#include "gpu/separation/mask/component.cuh"
#include "gpu/separation/mask/mask.h"
#include "separation/shared/contact_shadow.h"

/* Of a component, at its root. */
struct contact_object {
    int left, right, top, bottom; /* right and bottom inclusive */
    int longest;                  /* black run along a row of its foot */
    int tops, dark_tops;          /* of black runs in columns of its foot; nothing brighter above */
};

/* Pictures as those of the mask clean-up. */
struct contact_work {
    const uint32_t *labelled; /* before holes were filled */
    struct mask_forest set; /* its components; then those of `filled`, as trees of several links */
    uint32_t *filled;       /* holes filled, nothing cut */
    uint32_t *cut;          /* black pixels of feet and those below them; NULL: no search */
    uint32_t *image;        /* mirror images (mirror.cuh); NULL: no search */
    /* Components of a tile that touch at corners are at most a quarter of its pixels: that of
     * number t * tile_nodes + k has object t * tile_nodes / 2 + k. */
    struct contact_object *objects;
};

/* A component without pixels. */
static __device__ inline struct contact_object contact_object_empty(void)
{
    return { INT32_MAX, -1, INT32_MAX, -1, 0, 0, 0 };
}

static __device__ inline struct contact_object *contact_object_of(const struct contact_work &work,
                                                                  int root)
{
    return &work.objects[root / tile_nodes * (tile_nodes / 2) + root % tile_nodes];
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

static __device__ inline bool has_contact_shadow(const struct contact_object *object)
{
    return bd_contact_shadow_found(object->right - object->left + 1, object->longest, object->tops,
                                   object->dark_tops);
}

/* The contact shadows and mirror images in word i of row y, which is in the picture; after
 * look_at_objects. */
static __device__ inline uint32_t cut_word(struct mask_size size, const struct contact_work &work,
                                           int y, int i)
{
    uint32_t cut = work.cut ? work.cut[(int64_t)y * size.pitch + i] : 0;
    uint32_t out = work.image ? work.image[(int64_t)y * size.pitch + i] : 0;
    for (uint32_t s = run_starts(cut); s; s &= s - 1) {
        int b = __ffs(s) - 1;
        if (has_contact_shadow(contact_object_of(work, contact_root(size, work, y, i, b))))
            out |= run_bits(cut, b);
    }
    return out;
}

/* work.filled := `from` after the change; work.cut, work.image, and the components of work.filled
 * with their objects. On entry work.set has the components of work.labelled, with empty objects.
 * contact_shadow.cu */
enum bd_status bd_cuda_contact_shadow_find(struct bd_cuda *cuda, struct mask_size size,
                                           const struct contact_work &work,
                                           const struct mask_change &from,
                                           const struct bd_cuda_mask_pictures *pictures);

#endif
