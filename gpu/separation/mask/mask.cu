/* The mask clean-up on the GPU. Eight launches: a median of tiles with their components
 * (median_tiles), the components joined and their areas summed (join.cuh), the small ones removed,
 * as those that pass are, and the components of the complement found (remove_tiles), those joined
 * and summed, the holes filled, edges trimmed and the rows dilated, the columns dilated
 * (finish.cuh). Between them the picture is bits: 260 KB at 1920 x 1080, which stays in the L2
 * cache. Contact shadows and mirror images take two more before the edges (contact_shadow.cuh,
 * mirror.cuh), the picture of shadows one more at the end (median_shadows). The plain version is
 * separation/cpu/mask.c. */
#include "gpu/separation/mask/mask.h"

#include <stdlib.h>

#include "gpu/separation/mask/contact_shadow.cuh"
#include "gpu/separation/mask/finish.cuh"
#include "gpu/separation/mask/join.cuh"
#include "gpu/separation/mask/median.cuh"
#include "gpu/separation/mask/work.cuh"

/* Shared memory of a block: the filter is done when components are looked for. */
union tile_shared {
    struct median_memory median;
    struct tile_memory tile;
};

struct remove_shared {
    struct tile_memory tile;
    /* A bit a component of the tile: it is removed; it has lasted for 1, 2, ... frames before. */
    uint32_t chosen[tile_nodes / 32], lasted[bd_mask_lasting - 1][tile_nodes / 32];
};

/* lasting.lasted of the components of a tile, word i of row y of which is w: of the frames before.
 * For whole blocks, after find_components. */
static __device__ inline void find_lasted(struct mask_size size, struct mask_lasting lasting,
                                          struct mask_forest forest, int tile, int y, int i,
                                          uint32_t w)
{
    const int first = tile * tile_nodes, head = run_head(w);
    for (int k = threadIdx.x; k < forest.count[tile]; k += tile_threads)
        lasting.lasted[first + k] = 0;
    __syncthreads(); /* the labels are there too */
    for (uint32_t s = run_starts(w); s; s &= s - 1) {
        const int b = __ffs(s) - 1;
        int frames = bd_mask_lasting - 1;
        while (frames &&
               !(run_bits(w, b) & lasting.frames[frames - 1][(int64_t)y * size.pitch + i]))
            frames--;
        if (frames)
            atomicMax(&lasting.lasted[component_of_run(size, forest, y, i, w, head, b)], frames);
    }
}

/* median: the raw picture (bytes; without `out`) after the median filter; with components, those of
 * each tile in `forest` and, unless that is NULL, an empty object for each (contact_shadow.cuh).
 * Also how long these have lasted, unless lasting.lasted is NULL, and clears *foreground for what
 * comes last, unless it is NULL. A block a tile. */
static __global__ void __launch_bounds__(tile_threads, 2)
    median_tiles(struct mask_size size, uint32_t *median, struct mask_forest forest,
                 struct contact_object *objects, struct mask_lasting lasting, int *foreground,
                 const uint8_t *raw, const uint8_t *out, int side, bool components, bool wide)
{
    extern __shared__ __align__(16) unsigned char memory[];
    bd_cuda_await();
    bd_cuda_let_follow();
    union tile_shared *m = (union tile_shared *)memory;
    int y = tile_row(), i = tile_column(), tile = blockIdx.y * size.across + blockIdx.x;
    if (foreground && tile == 0 && threadIdx.x == 0)
        *foreground = 0;
    load_bits(&m->median, size, raw, out, side / 2, wide);
    __syncthreads();
    uint32_t w = median_word(&m->median, side);
    w = y < size.height ? w & valid_bits(size, i) : 0;
    if (y < size.height)
        median[(int64_t)y * size.pitch + i] = w;
    if (!components)
        return;
    __syncthreads();
    find_components<1>(&m->tile, forest, tile, w, 0, UINT32_MAX);
    if (lasting.lasted)
        find_lasted(size, lasting, forest, tile, y, i, w);
    if (!objects)
        return;
    /* The count is there: find_components has a barrier after it. */
    for (int k = threadIdx.x; k < forest.count[tile]; k += tile_threads)
        objects[tile * (tile_nodes / 2) + k] = contact_object_empty();
}

/* out: 255 where the picture of shadows after the median filter is set and the mask is not, else 0.
 * A block a tile; `wide` of all pictures. */
static __global__ void __launch_bounds__(tile_threads)
    median_shadows(struct mask_size size, uint8_t *out, const uint8_t *shadow, const uint8_t *mask,
                   int side, bool wide)
{
    __shared__ struct median_memory m;
    bd_cuda_await();
    bd_cuda_let_follow();
    int y = tile_row(), i = tile_column();
    int64_t at = (int64_t)y * size.width + 32 * i;
    int count = y < size.height ? size.width - 32 * i : 0;
    load_bits(&m, size, shadow, NULL, side / 2, wide);
    __syncthreads();
    uint32_t w = median_word(&m, side) & ~load_bytes(mask + at, count, wide);
    store_bytes(out + at, w, count, 255, wide);
}

/* m->chosen and, unless `wanted` is 0, m->lasted of the components of a tile: removed are those of
 * fewer than `least` pixels, and those that have not lasted for the frames that are wanted. For
 * whole blocks; ends with a barrier. */
static __device__ inline void judge_components(struct remove_shared *m, struct mask_forest set,
                                               struct mask_lasting lasting, int tile, int least,
                                               int wanted)
{
    const int first = tile * tile_nodes, count = set.count[tile], lane = threadIdx.x % 32;
    for (int k = threadIdx.x; k - lane < count; k += tile_threads) {
        const int root = k < count ? set.parent[first + k] : first;
        const uint32_t area = set.area[root];
        const int lasted = wanted ? lasting.lasted[root] : 0;
        const bool large = k < count && area >= (uint32_t)least;
        const bool passes = wanted && bd_mask_passes(area, least, lasted + 1, wanted);
        const uint32_t chosen = __ballot_sync(~0u, !large || passes);
        if (lane == 0)
            m->chosen[k / 32] = chosen;
        for (int before = 0; wanted && before < bd_mask_lasting - 1; before++) {
            const uint32_t so_many = __ballot_sync(~0u, large && lasted >= before);
            if (lane == 0)
                m->lasted[before][k / 32] = so_many;
        }
    }
    __syncthreads();
}

/* kept: `median` without its components of fewer than `least` pixels (least <= 1: all of it) and,
 * unless `wanted` is 0, without those that have not lasted for so many frames; lasting.frames :=
 * those with this frame. Then the components of each tile's complement, in `clear`, those of more
 * than `hole` pixels all as one. A block a tile. */
static __global__ void __launch_bounds__(tile_threads, 2)
    remove_tiles(struct mask_size size, uint32_t *kept, struct mask_forest clear,
                 const uint32_t *median, struct mask_forest set, int least,
                 struct mask_lasting lasting, int wanted, uint32_t hole)
{
    extern __shared__ __align__(16) unsigned char memory[];
    bd_cuda_await();
    bd_cuda_let_follow();
    struct remove_shared *m = (struct remove_shared *)memory;
    int y = tile_row(), i = tile_column(), tile = blockIdx.y * size.across + blockIdx.x;
    int first = tile * tile_nodes;
    uint32_t w = y < size.height ? median[(int64_t)y * size.pitch + i] : 0;
    if (least > 1) {
        judge_components(m, set, lasting, tile, least, wanted);
        int head = run_head(w), row = threadIdx.x / tile_words;
        uint32_t remove = 0, frames[bd_mask_lasting - 1] = {};
        for (uint32_t s = run_starts(w); s; s &= s - 1) {
            int b = __ffs(s) - 1;
            int node = row * row_nodes + run_start(w, head, i % tile_words, b) / 2;
            int k = set.label[first + node];
            remove |= (m->chosen[k / 32] >> k % 32 & 1) << b;
#pragma unroll
            for (int before = 0; before < bd_mask_lasting - 1; before++)
                if (wanted && m->lasted[before][k / 32] >> k % 32 & 1)
                    frames[before] |= run_bits(w, b);
        }
#pragma unroll
        for (int before = 0; before < bd_mask_lasting - 1; before++)
            if (wanted && y < size.height)
                lasting.frames[before][(int64_t)y * size.pitch + i] = frames[before];
        /* The carry of each start clears its run and sets the bit after it, which w has not. */
        w &= w + remove;
    }
    if (y < size.height)
        kept[(int64_t)y * size.pitch + i] = w;
    uint32_t valid = y < size.height ? valid_bits(size, i) : 0, edge = 0;
    if (y == 0 || y == size.height - 1)
        edge = ~0u;
    if (i == 0)
        edge |= 1;
    if (i == (size.width - 1) / 32)
        edge |= 1u << (size.width - 1) % 32;
    find_components<0>(&m->tile, clear, tile, ~w & valid, edge, hole + 1);
}

/* The place of an array of `size` bytes, *bytes from the start of `memory`; NULL without memory.
 * *bytes grows by what it takes. */
static void *place_array(unsigned char *memory, size_t *bytes, size_t size)
{
    void *place = memory ? memory + *bytes : NULL;
    *bytes += (size + 255) / 256 * 256;
    return place;
}

static struct mask_forest place_forest(unsigned char *memory, size_t *bytes, size_t tiles)
{
    struct mask_forest forest;
    size_t nodes = tiles * tile_nodes;
    const size_t numbers = nodes + forest_margin;
    forest.parent = (int *)place_array(memory, bytes, numbers * sizeof *forest.parent);
    forest.area = (uint32_t *)place_array(memory, bytes, numbers * sizeof *forest.area);
    if (memory) {
        forest.parent += forest_margin;
        forest.area += forest_margin;
    }
    forest.label = (uint16_t *)place_array(memory, bytes, nodes * sizeof *forest.label);
    forest.count = (int *)place_array(memory, bytes, tiles * sizeof *forest.count);
    return forest;
}

/* The places of all arrays in work->memory; returns how many bytes they take. */
static size_t place(struct bd_cuda_mask *work)
{
    unsigned char *memory = (unsigned char *)work->memory;
    size_t tiles = (size_t)work->size.across * (size_t)work->size.down, bytes = 0;
    size_t picture = (size_t)work->size.pitch * (size_t)work->size.height * sizeof(uint32_t);
    size_t nodes = tiles * tile_nodes;
    struct boundary_sums *sums = &work->sums;
    work->median = (uint32_t *)place_array(memory, &bytes, picture);
    work->kept = (uint32_t *)place_array(memory, &bytes, picture);
    work->spread = (uint32_t *)place_array(memory, &bytes, picture);
    work->cut = (uint32_t *)place_array(memory, &bytes, picture);
    work->image = (uint32_t *)place_array(memory, &bytes, picture);
    work->set = place_forest(memory, &bytes, tiles);
    work->clear = place_forest(memory, &bytes, tiles);
    work->objects =
        (struct contact_object *)place_array(memory, &bytes, nodes / 2 * sizeof *work->objects);
    sums->balance =
        (unsigned long long *)place_array(memory, &bytes, nodes * sizeof *sums->balance);
    sums->judged = (int *)place_array(memory, &bytes, nodes * sizeof *sums->judged);
    work->lasting.lasted = (int *)place_array(memory, &bytes, nodes * sizeof(int));
    for (int k = 0; k < bd_mask_lasting - 1; k++)
        work->lasting.frames[k] = (uint32_t *)place_array(memory, &bytes, picture);
    return bytes;
}

/* forest_large of the complement: it is its own root, as large as can be. */
static enum bd_status make_large(const struct bd_cuda_mask *work)
{
    void *const numbers[] = { work->clear.parent + forest_large, work->clear.area + forest_large };
    cudaError_t error = cudaSuccess;
    static_assert(forest_large == -1, "all of its bits are set");
    for (void *number : numbers)
        if (error == cudaSuccess)
            error = cudaMemsetAsync(number, 0xff, sizeof(int), work->cuda->stream);
    return bd_cuda_check(error, "the mask clean-up");
}

static enum bd_status allow_shared(const void *kernel, size_t bytes)
{
    return bd_cuda_check(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes),
        "asking for the shared memory of the mask clean-up");
}

enum bd_status bd_cuda_mask_create(struct bd_cuda *cuda, int width, int height,
                                   struct bd_cuda_mask **out)
{
    *out = NULL;
    struct bd_cuda_mask *work = (struct bd_cuda_mask *)calloc(1, sizeof *work);
    if (!work)
        return bd_fail(BD_ERROR_MEMORY, "no memory for the mask clean-up");
    int tile_width = 32 * tile_words;
    work->cuda = cuda;
    work->size.width = width;
    work->size.height = height;
    work->size.across = (width + tile_width - 1) / tile_width;
    work->size.down = (height + tile_rows - 1) / tile_rows;
    work->size.pitch = work->size.across * tile_words;
    enum bd_status status = BD_OK;
    if ((int64_t)work->size.across * work->size.down > INT32_MAX / tile_nodes ||
        finish_shared(work->size, true) > finish_shared_most)
        status = bd_fail(BD_ERROR_UNSUPPORTED,
                         "backend cuda: pictures of %d x %d are too large to clean masks of; use "
                         "smaller frames or the backend cpu",
                         width, height);
    if (status == BD_OK)
        status = bd_cuda_alloc(cuda, &work->memory, place(work), "the mask clean-up");
    if (status == BD_OK) {
        place(work);
        status = make_large(work);
    }
    if (status == BD_OK)
        status = allow_shared((const void *)median_tiles, sizeof(union tile_shared));
    if (status == BD_OK)
        status = allow_shared((const void *)remove_tiles, sizeof(struct remove_shared));
    if (status != BD_OK) {
        bd_cuda_mask_destroy(work);
        return status;
    }
    *out = work;
    return BD_OK;
}

enum bd_status bd_cuda_mask_forget(struct bd_cuda_mask *work)
{
    cudaError_t error = cudaSuccess;
    size_t picture = (size_t)work->size.pitch * (size_t)work->size.height * sizeof(uint32_t);
    for (int k = 0; k < bd_mask_lasting - 1 && error == cudaSuccess; k++)
        error = cudaMemsetAsync(work->lasting.frames[k], 0xff, picture, work->cuda->stream);
    return bd_cuda_check(error, "forgetting how long components have lasted");
}

void bd_cuda_mask_destroy(struct bd_cuda_mask *work)
{
    if (!work)
        return;
    bd_cuda_free(work->memory);
    free(work);
}

/* Components of tiles to components of the picture, with their areas, and what they have lasted
 * unless that is NULL. */
template <int reach>
static enum bd_status join(struct bd_cuda_mask *work, const uint32_t *bits,
                           struct mask_forest forest, int *lasted)
{
    struct mask_size size = work->size;
    int threads = (size.down - 1) * size.pitch * edge_parts + (size.across - 1) * size.height;
    if (threads == 0) /* one tile */
        return BD_OK;
    const struct bd_cuda *cuda = work->cuda;
    bd_cuda_follow(cuda, join_tiles<reach>, (threads + join_threads - 1) / join_threads,
                   join_threads, 0, size, bits, forest);
    enum bd_status status = bd_cuda_launched("joining the components of a mask");
    if (status != BD_OK)
        return status;
    bd_cuda_follow(cuda, sum_areas, size.across * size.down, tile_threads, 0, forest, lasted);
    return bd_cuda_launched("summing the areas of a mask's components");
}

/* guard := work->spread dilated by `radius` rows; work->median is used between. */
static enum bd_status spread(struct bd_cuda_mask *work, uint8_t *guard, int radius, bool wide)
{
    struct mask_size size = work->size;
    dim3 grid((unsigned)size.across, (unsigned)((size.height + spread_out - 1) / spread_out));
    uint32_t *src = work->spread, *dst = work->median;
    for (;;) {
        int step = radius < spread_most ? radius : spread_most;
        radius -= step;
        bd_cuda_follow(work->cuda, spread_rows, grid, spread_threads, 0, size, radius ? dst : NULL,
                       radius ? NULL : guard, src, step, wide);
        enum bd_status status = bd_cuda_launched("dilating a mask");
        if (status != BD_OK || radius == 0)
            return status;
        uint32_t *other = src;
        src = dst;
        dst = other;
    }
}

/* work->median := raw without `out` after the median filter; with components, those of it in
 * work->set, with empty objects unless `objects` is NULL, and what they had lasted for in
 * lasting.lasted unless that is. */
static enum bd_status filter(struct bd_cuda_mask *work, const uint8_t *raw, const uint8_t *out,
                             int side, bool components, struct contact_object *objects,
                             struct mask_lasting lasting, int *d_foreground)
{
    struct mask_size size = work->size;
    dim3 tiles((unsigned)size.across, (unsigned)size.down);
    bd_cuda_follow(work->cuda, median_tiles, tiles, tile_threads, sizeof(union tile_shared), size,
                   work->median, work->set, objects, lasting, d_foreground, raw, out, side,
                   components, is_wide(size, raw) && is_wide(size, out));
    enum bd_status status = bd_cuda_launched("filtering a mask");
    return status == BD_OK && components ? join<1>(work, work->median, work->set, lasting.lasted)
                                         : status;
}

enum bd_status bd_cuda_mask_components(struct bd_cuda_mask *work, const uint8_t *raw, int side)
{
    return filter(work, raw, NULL, side, true, NULL, {}, NULL);
}

/* Whether small components must last; then remove_tiles runs whether holes are filled or not. */
static bool must_last(const struct bd_detect_params *params)
{
    return params->lasting && params->min_area > 1;
}

/* Fills holes (or removes small components, if that has not been done), cuts contact shadows and
 * mirror images and trims edges. Results: the mask, the number of its pixels, and work->spread: the
 * guard along rows. */
static enum bd_status finish(struct bd_cuda_mask *work,
                             const struct bd_cuda_mask_pictures *pictures,
                             const struct bd_detect_params *params)
{
    struct mask_size size = work->size;
    bool fill = params->max_hole >= 1, removed = fill || must_last(params);
    bool remove = params->min_area > 1 && !removed;
    bool trim = pictures->difference != NULL;
    int rows = finish_block_rows(size, trim);
    struct finish_job job = {};
    job.change.bits = removed ? work->kept : work->median;
    job.change.forest = fill ? work->clear : work->set;
    /* Holes have at most max_hole pixels, components that are removed fewer than min_area. */
    job.change.step = fill ? change_fill : remove ? change_remove : change_nothing;
    job.change.limit = fill ? (uint32_t)params->max_hole + 1 : (uint32_t)params->min_area;
    if (pictures->all_shadow) {
        /* The other one of the two pictures is free. */
        uint32_t *filled = removed ? work->median : work->kept;
        uint32_t *image = pictures->mirrors.counts ? work->image : NULL;
        job.contact = { job.change.bits, work->set, filled, work->cut, image, work->objects };
        enum bd_status status =
            bd_cuda_contact_shadow_find(work->cuda, size, job.contact, job.change, pictures);
        if (status != BD_OK)
            return status;
        job.change.bits = filled;
        job.change.step = change_nothing;
    }
    job.rows = rows;
    job.radius = params->guard < size.width - 1 ? params->guard : size.width - 1;
    job.wide = is_wide(size, pictures->mask) && is_wide(size, pictures->shadow) &&
               is_wide(size, pictures->all_shadow);
    auto *kernel = trim ? finish_rows<true> : finish_rows<false>;
    bd_cuda_follow(work->cuda, kernel, (size.height + rows - 1) / rows, finish_threads,
                   finish_shared(size, trim), size, work->spread, *pictures, job);
    return bd_cuda_launched("filling the holes of a mask");
}

/* The picture of shadows: empty, where there was no search for them. */
static enum bd_status write_shadows(struct bd_cuda_mask *work,
                                    const struct bd_cuda_mask_pictures *pictures, int side)
{
    struct mask_size size = work->size;
    dim3 tiles((unsigned)size.across, (unsigned)size.down);
    uint8_t *out = pictures->shadow_mask;
    const uint8_t *shadow = pictures->all_shadow ? pictures->all_shadow : pictures->shadow;
    if (!shadow)
        return bd_cuda_check(
            cudaMemsetAsync(out, 0, (size_t)size.width * (size_t)size.height, work->cuda->stream),
            "clearing shadows");
    bool wide = is_wide(size, out) && is_wide(size, shadow) && is_wide(size, pictures->mask);
    bd_cuda_follow(work->cuda, median_shadows, tiles, tile_threads, 0, size, out, shadow,
                   pictures->mask, side, wide);
    return bd_cuda_launched("filtering shadows");
}

enum bd_status bd_cuda_mask_clean(struct bd_cuda_mask *work,
                                  const struct bd_cuda_mask_pictures *pictures,
                                  const struct bd_detect_params *params)
{
    struct mask_size size = work->size;
    dim3 tiles((unsigned)size.across, (unsigned)size.down);
    bool contact = pictures->all_shadow != NULL, last = must_last(params);
    enum bd_status status = filter(work, pictures->raw, pictures->shadow, params->median,
                                   params->min_area > 1 || contact, contact ? work->objects : NULL,
                                   last ? work->lasting : mask_lasting{}, pictures->foreground);
    if (status == BD_OK && (last || params->max_hole >= 1)) {
        bd_cuda_follow(work->cuda, remove_tiles, tiles, tile_threads, sizeof(struct remove_shared),
                       size, work->kept, work->clear, work->median, work->set, params->min_area,
                       work->lasting, last ? params->lasting : 0, (uint32_t)params->max_hole);
        status = bd_cuda_launched("removing small components of a mask");
        if (status == BD_OK && params->max_hole >= 1)
            status = join<0>(work, work->kept, work->clear, NULL);
    }
    if (status == BD_OK)
        status = finish(work, pictures, params);
    if (status != BD_OK)
        return status;
    int radius = params->guard < size.height - 1 ? params->guard : size.height - 1;
    status = spread(work, pictures->guard, radius, is_wide(size, pictures->guard));
    if (status == BD_OK && pictures->shadow_mask)
        status = write_shadows(work, pictures, params->median);
    return status;
}
