/* Private to the mask clean-up: mirror images, bit for bit what separation/shared/mirror.h defines.
 * The plain version is separation/cpu/mirror.c.
 *
 * The search is done by blocks of their own in the launch that looks for contact shadows: both need
 * the components of the filled mask with their bounding boxes, and neither waits for the other. A
 * block takes the objects whose root is in one tile; without any it ends at once. A launch more
 * would cost every frame 2 us. */
#ifndef BD_GPU_SEPARATION_MASK_MIRROR_CUH
#define BD_GPU_SEPARATION_MASK_MIRROR_CUH

#include "gpu/separation/mask/contact_shadow.cuh"
#include "separation/shared/mirror.h"

enum { mirror_threads = 512, mirror_warps = mirror_threads / 32 };

struct mirror_scene {
    const uint8_t *f, *l; /* height x width x 3, tight rows */
    struct bd_cuda_mirrors places;
};

/* What the threads of a block share. */
struct mirror_memory {
    int listed;
    int roots[mirror_threads]; /* of the objects that are to be looked at */
    struct bd_mirror_votes votes[bd_mirror_most_axes];
};

static __device__ inline struct bd_mirror_box mirror_box(const struct contact_work &work, int root)
{
    const struct contact_object *object = contact_object_of(work, root);
    return { object->left, object->right, object->top, object->bottom };
}

static __device__ inline bool mirror_is_set(struct mask_size size, const struct contact_work &work,
                                            int x, int y)
{
    return work.filled[(int64_t)y * size.pitch + x / 32] >> x % 32 & 1;
}

/* Whether pixel (x, y) explains pixel (u, v). */
static __device__ inline bool
mirror_explains(struct mask_size size, const struct mirror_scene &scene, int x, int y, int u, int v)
{
    int64_t above = 3 * ((int64_t)y * size.width + x), below = 3 * ((int64_t)v * size.width + u);
    return bd_mirror_explains(scene.f + above, scene.f + below, scene.l + below);
}

/* The votes for an axis, by a warp: a pixel of the object a lane. */
static __device__ inline struct bd_mirror_votes mirror_ask(struct mask_size size,
                                                           const struct contact_work &work,
                                                           const struct mirror_scene &scene,
                                                           struct bd_mirror_box box, int axis)
{
    const int across = bd_mirror_column_step(box), down = bd_mirror_row_step(box);
    const int columns = (box.right - box.left) / across + 1;
    const int last = min(box.bottom, (axis - 1) / 2); /* the last row above the axis */
    const int count = ((last - box.top) / down + 1) * columns;
    int votes = 0, all = 0;
    for (int n = threadIdx.x % 32; n < count; n += 32) {
        const int x = box.left + n % columns * across, y = box.top + n / columns * down;
        if (!mirror_is_set(size, work, x, y))
            continue;
        all++;
        votes += axis - y < size.height && mirror_explains(size, scene, x, y, x, axis - y);
    }
    return { __reduce_add_sync(~0u, votes), __reduce_add_sync(~0u, all) };
}

/* An axis a warp. inside: axes inside the box are asked too. By whole blocks; ends with a barrier
 * before all threads read memory->votes. */
static __device__ inline struct bd_mirror_finding
mirror_look_at(struct mask_size size, const struct contact_work &work,
               const struct mirror_scene &scene, struct bd_mirror_box box, bool inside,
               struct mirror_memory *memory)
{
    const int axes = bd_mirror_axes(box);
    for (int k = threadIdx.x / 32; k < axes; k += mirror_warps) {
        const int axis = bd_mirror_axis(box, k);
        struct bd_mirror_votes votes = { 0, 0 };
        if (inside || bd_mirror_is_below(box, axis))
            votes = mirror_ask(size, work, scene, box, axis);
        if (threadIdx.x % 32 == 0)
            memory->votes[k] = votes;
    }
    __syncthreads();
    struct bd_mirror_finding finding = { false, -1, { 0, 1 } };
    for (int k = 0; k < axes; k++)
        bd_mirror_take(&finding, box, bd_mirror_axis(box, k), memory->votes[k]);
    return finding;
}

/* Whether a pixel above the axis that is mapped to (u, v) or near it explains it. */
static __device__ inline bool mirror_is_image(struct mask_size size,
                                              const struct contact_work &work,
                                              const struct mirror_scene &scene,
                                              struct bd_mirror_box box, int axis, int u, int v)
{
    const int reach = bd_mirror_reach(box), step = bd_mirror_reach_step(box);
    const int bottom = min(min(axis - v + reach, box.bottom), (axis - 1) / 2);
    const int left = max(u - 1, box.left), right = min(u + 1, box.right);
    for (int y = axis - v - reach; y <= bottom; y += step)
        for (int x = left; y >= box.top && x <= right; x++)
            if (mirror_is_set(size, work, x, y) && mirror_explains(size, scene, x, y, u, v))
                return true;
    return false;
}

/* Adds the image of an object to work.image: a word a warp, a pixel a lane. By whole blocks. */
static __device__ inline void mirror_mark(struct mask_size size, const struct contact_work &work,
                                          const struct mirror_scene &scene,
                                          struct bd_mirror_box box, int axis)
{
    const int left = max(box.left - 1, 0), right = min(box.right + 1, size.width - 1);
    const int words = right / 32 - left / 32 + 1;
    const int top = axis / 2 + 1;
    const int bottom = min(axis - box.top + bd_mirror_reach(box), size.height - 1);
    for (int n = threadIdx.x / 32; n < words * (bottom - top + 1); n += mirror_warps) {
        const int v = top + n / words, i = left / 32 + n % words;
        const int u = 32 * i + threadIdx.x % 32;
        const bool image = u >= left && u <= right && mirror_is_set(size, work, u, v) &&
                           mirror_is_image(size, work, scene, box, axis, u, v);
        const uint32_t bits = __ballot_sync(~0u, image);
        if (bits && threadIdx.x % 32 == 0)
            atomicOr(&work.image[(int64_t)v * size.pitch + i], bits);
    }
}

/* Counts the objects whose root is in the tile, if the frame is evidence, and marks the images of
 * those in places of images. work.image is empty before the launch. By whole blocks. */
static __device__ inline void find_images(struct mask_size size, const struct contact_work &work,
                                          const struct mirror_scene &scene, int tile,
                                          struct mirror_memory *memory)
{
    const struct bd_cuda_mirrors &places = scene.places;
    const bool evidence =
        places.learn && bd_mirror_is_evidence(places.loaded ? *places.loaded : places.look);
    if (!evidence && !*places.any)
        return;
    const int count = work.set.count[tile], first = tile * tile_nodes;
    for (int from = 0; from < count; from += mirror_threads) {
        if (threadIdx.x == 0)
            memory->listed = 0;
        __syncthreads();
        const int k = from + (int)threadIdx.x;
        if (k < count && work.set.parent[first + k] == first + k) {
            const struct bd_mirror_box box = mirror_box(work, first + k);
            if (bd_mirror_is_object(box) &&
                (evidence || places.map[bd_mirror_cell(box, places.across, places.power)]))
                memory->roots[atomicAdd(&memory->listed, 1)] = first + k;
        }
        __syncthreads();
        for (int n = 0; n < memory->listed; n++) {
            const struct bd_mirror_box box = mirror_box(work, memory->roots[n]);
            const int cell = bd_mirror_cell(box, places.across, places.power);
            const bool place = places.map[cell];
            const struct bd_mirror_finding finding =
                mirror_look_at(size, work, scene, box, place, memory);
            if (evidence && threadIdx.x == 0) {
                atomicAdd(&places.counts[cell].seen, 1u);
                atomicAdd(&places.counts[cell].found, (uint32_t)finding.below);
            }
            if (place && finding.axis >= 0)
                mirror_mark(size, work, scene, box, finding.axis);
            __syncthreads(); /* the votes have been read */
        }
        __syncthreads(); /* so has the list */
    }
}

#endif
