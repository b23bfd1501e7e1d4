/* The mask clean-up on the GPU. Eight launches: a median of tiles with their components
 * (median_tiles), the components joined and their areas summed (join.cuh), the small ones removed,
 * as those that pass (lasting.cuh) and those that flash are (flash.cuh), and the components of the
 * complement found (remove_tiles), those joined and summed, the holes filled, edges trimmed and the
 * rows dilated, the columns dilated (finish.cuh). Between them the picture is bits: 260 KB at 1920
 * x 1080, which stays in the L2 cache. Contact shadows and mirror images take two more before the
 * edges (contact_shadow.cuh, mirror.cuh), the picture of shadows one more at the end
 * (median_shadows). The plain version is separation/cpu/mask.c. */
#include "gpu/separation/mask/mask.h"

#include <stdlib.h>

#include "gpu/separation/mask/contact_shadow.cuh"
#include "gpu/separation/mask/finish.cuh"
#include "gpu/separation/mask/join.cuh"
#include "gpu/separation/mask/lasting.cuh"
#include "gpu/separation/mask/median.cuh"
#include "gpu/separation/mask/work.cuh"

/* Shared memory of a block: the filter is done when components are looked for. */
union tile_shared {
    struct median_memory median;
    struct tile_memory tile;
};

/* median: the raw picture (bytes; without `out`) after the median filter; with components, those of
 * each tile in `forest` and, unless these are NULL, an empty object (contact_shadow.cuh), 0 frames
 * that it has lasted and no pixels that flash for each. Clears *foreground for what comes last,
 * unless it is NULL. A block a tile. */
static __global__ void __launch_bounds__(tile_threads)
    median_tiles(struct mask_size size, uint32_t *median, struct mask_forest forest,
                 struct contact_object *objects, int *lasted, struct mask_flashes flashes,
                 int *foreground, const uint8_t *raw, const uint8_t *out, int side, bool components,
                 bool wide)
{
    extern __shared__ __align__(16) unsigned char memory[];
    bd_cuda_await();
    bd_cuda_let_follow();
    const bool flash = has_places(flashes);
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
    /* The count is there: find_components has a barrier after it. */
    for (int k = threadIdx.x; k < forest.count[tile]; k += tile_threads) {
        if (objects)
            objects[tile * (tile_nodes / 2) + k] = contact_object_empty();
        if (lasted)
            lasted[tile * tile_nodes + k] = 0;
        if (flash)
            *flash_sums_of(flashes, tile * tile_nodes + k) = 0;
    }
}

/* kept: `median` without its components of fewer than `least` pixels (least <= 1: all of it) and,
 * unless `wanted` is 0, without those that have not lasted for so many frames, nor those that
 * flash; lasting.frames := those with this frame. Then the components of each tile's complement, in
 * `clear`, those of more than `hole` pixels all as one. A block a tile. */
static __global__ void __launch_bounds__(tile_threads)
    remove_tiles(struct mask_size size, uint32_t *kept, struct mask_forest clear,
                 const uint32_t *median, struct mask_forest set, int least,
                 struct mask_lasting lasting, int wanted, struct mask_flashes flashes,
                 uint32_t hole)
{
    extern __shared__ __align__(16) unsigned char memory[];
    const bool flash = has_places(flashes);
    bd_cuda_await();
    bd_cuda_let_follow();
    struct remove_shared *m = (struct remove_shared *)memory;
    int y = tile_row(), i = tile_column(), tile = blockIdx.y * size.across + blockIdx.x;
    int first = tile * tile_nodes;
    uint32_t w = y < size.height ? median[(int64_t)y * size.pitch + i] : 0;
    if (least > 1 || flash) {
        judge_components(m, set, lasting, flashes, flash, tile, least, wanted);
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
    for (struct mask_turn &turn : work->turns) {
        turn.median = (uint32_t *)place_array(memory, &bytes, picture);
        turn.kept = (uint32_t *)place_array(memory, &bytes, picture);
        turn.set = place_forest(memory, &bytes, tiles);
        turn.clear = place_forest(memory, &bytes, tiles);
        turn.objects =
            (struct contact_object *)place_array(memory, &bytes, nodes / 2 * sizeof *turn.objects);
        turn.lasted = (int *)place_array(memory, &bytes, nodes * sizeof(int));
    }
    work->spread = (uint32_t *)place_array(memory, &bytes, picture);
    work->cut = (uint32_t *)place_array(memory, &bytes, picture);
    work->image = (uint32_t *)place_array(memory, &bytes, picture);
    sums->balance =
        (unsigned long long *)place_array(memory, &bytes, nodes * sizeof *sums->balance);
    sums->judged = (int *)place_array(memory, &bytes, nodes * sizeof *sums->judged);
    work->flashing =
        (unsigned long long *)place_array(memory, &bytes, nodes / 2 * sizeof *work->flashing);
    for (uint32_t *&frames : work->lasting.frames)
        frames = (uint32_t *)place_array(memory, &bytes, picture);
    return bytes;
}

/* forest_large of the complement: it is its own root, as large as can be. */
static enum bd_status make_large(const struct bd_cuda_mask *work)
{
    cudaError_t error = cudaSuccess;
    static_assert(forest_large == -1, "all of its bits are set");
    for (const struct mask_turn &turn : work->turns) {
        void *const numbers[] = { turn.clear.parent + forest_large,
                                  turn.clear.area + forest_large };
        for (void *number : numbers)
            if (error == cudaSuccess)
                error = cudaMemsetAsync(number, 0xff, sizeof(int), work->cuda->stream);
    }
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
    for (uint32_t *frames : work->lasting.frames)
        if (error == cudaSuccess)
            error = cudaMemsetAsync(frames, 0xff, picture, work->cuda->stream);
    return bd_cuda_check(error, "forgetting how long components have lasted");
}

void bd_cuda_mask_destroy(struct bd_cuda_mask *work)
{
    if (!work)
        return;
    bd_cuda_free(work->memory);
    free(work);
}

/* Components of tiles to components of the picture. */
template <int reach>
static enum bd_status join(struct bd_cuda_mask *work, const uint32_t *bits,
                           struct mask_forest forest)
{
    struct mask_size size = work->size;
    int threads = (size.down - 1) * size.pitch * edge_parts + (size.across - 1) * size.height;
    if (threads == 0) /* one tile */
        return BD_OK;
    bd_cuda_follow(work->cuda, join_tiles<reach>, (threads + join_threads - 1) / join_threads,
                   join_threads, 0, size, bits, forest);
    return bd_cuda_launched("joining the components of a mask");
}

/* The areas of these components and, unless lasting.lasted is NULL, what they have lasted; their
 * pixels in places that flash. */
static enum bd_status sum(struct bd_cuda_mask *work, const uint32_t *bits,
                          struct mask_forest forest, struct mask_lasting lasting,
                          struct mask_flashes flashes)
{
    dim3 tiles((unsigned)work->size.across, (unsigned)work->size.down);
    auto *kernel = flashes.sums ? sum_areas<true> : sum_areas<false>;
    bd_cuda_follow(work->cuda, kernel, tiles, tile_threads, 0, work->size, bits, forest, lasting,
                   flashes);
    return bd_cuda_launched("summing the areas of a mask's components");
}

/* guard := work->spread dilated by `radius` rows; `between` is used meanwhile. */
static enum bd_status spread(struct bd_cuda_mask *work, uint32_t *between, uint8_t *guard,
                             int radius, bool wide)
{
    struct mask_size size = work->size;
    dim3 grid((unsigned)size.across, (unsigned)((size.height + spread_out - 1) / spread_out));
    uint32_t *src = work->spread, *dst = between;
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

/* found->median := raw without `out` after the median filter; with components, those of it, with
 * empty objects and nothing that they have lasted unless these are NULL. */
static enum bd_status filter(struct bd_cuda_mask *work, const struct mask_turn *found,
                             const uint8_t *raw, const uint8_t *out, int side, bool components,
                             int *d_foreground)
{
    struct mask_size size = work->size;
    dim3 tiles((unsigned)size.across, (unsigned)size.down);
    bd_cuda_follow(work->cuda, median_tiles, tiles, tile_threads, sizeof(union tile_shared), size,
                   found->median, found->set, found->objects, found->lasted, found->flashes,
                   d_foreground, raw, out, side, components,
                   is_wide(size, raw) && is_wide(size, out));
    enum bd_status status = bd_cuda_launched("filtering a mask");
    return status == BD_OK && components ? join<1>(work, found->median, found->set) : status;
}

enum bd_status bd_cuda_mask_components(struct bd_cuda_mask *work, const uint8_t *raw, int side)
{
    struct mask_turn found = work->turns[0];
    found.objects = NULL;
    found.lasted = NULL;
    enum bd_status status = filter(work, &found, raw, NULL, side, true, NULL);
    return status == BD_OK ? sum(work, found.median, found.set, {}, {}) : status;
}

/* What the parameters ask of the turn. Where small components must last, or flashes are looked for,
 * remove_tiles runs whether holes are filled or not. */
static struct mask_turn turn_of(const struct bd_cuda_mask *work, int turn,
                                const struct bd_cuda_mask_pictures *pictures,
                                const struct bd_detect_params *params)
{
    struct mask_turn found = work->turns[turn];
    if (!pictures->all_shadow)
        found.objects = NULL;
    if (!params->lasting || params->min_area <= 1)
        found.lasted = NULL;
    found.flashes.map = pictures->flashes;
    found.flashes.sums = pictures->flashes.own ? work->flashing : NULL;
    return found;
}

static bool has_components(const struct mask_turn *found, const struct bd_detect_params *params)
{
    return found->objects || found->flashes.sums || params->min_area > 1;
}

/* Areas of the components that were found, and found->kept, without small ones; the components of
 * its complement in tiles. */
static enum bd_status remove_small(struct bd_cuda_mask *work, const struct mask_turn *found,
                                   const struct bd_detect_params *params)
{
    struct mask_size size = work->size;
    dim3 tiles((unsigned)size.across, (unsigned)size.down);
    const bool last = found->lasted != NULL;
    struct mask_lasting lasting = work->lasting;
    enum bd_status status = BD_OK;
    lasting.lasted = found->lasted;
    if (has_components(found, params))
        status = sum(work, found->median, found->set, lasting, found->flashes);
    if (status != BD_OK || !(last || found->flashes.sums || params->max_hole >= 1))
        return status;
    bd_cuda_follow(work->cuda, remove_tiles, tiles, tile_threads, sizeof(struct remove_shared),
                   size, found->kept, found->clear, found->median, found->set, params->min_area,
                   lasting, last ? params->lasting : 0, found->flashes, (uint32_t)params->max_hole);
    return bd_cuda_launched("removing small components of a mask");
}

enum bd_status bd_cuda_mask_filter(struct bd_cuda_mask *work, int turn,
                                   const struct bd_cuda_mask_pictures *pictures,
                                   const struct bd_detect_params *params)
{
    const struct mask_turn found = turn_of(work, turn, pictures, params);
    enum bd_status status = filter(work, &found, pictures->raw, pictures->shadow, params->median,
                                   has_components(&found, params), pictures->foreground);
    return status == BD_OK ? remove_small(work, &found, params) : status;
}

/* Fills holes (or removes small components, if that has not been done), cuts contact shadows and
 * mirror images and trims edges. Results: the mask, the number of its pixels, and work->spread: the
 * guard along rows. */
static enum bd_status finish(struct bd_cuda_mask *work, const struct mask_turn *found,
                             const struct bd_cuda_mask_pictures *pictures,
                             const struct bd_detect_params *params)
{
    struct mask_size size = work->size;
    bool fill = params->max_hole >= 1, removed = fill || found->lasted || found->flashes.sums;
    bool remove = params->min_area > 1 && !removed;
    bool trim = pictures->difference != NULL;
    int rows = finish_block_rows(size, trim);
    struct finish_job job = {};
    job.change.bits = removed ? found->kept : found->median;
    job.change.forest = fill ? found->clear : found->set;
    /* Holes have at most max_hole pixels, components that are removed fewer than min_area. */
    job.change.step = fill ? change_fill : remove ? change_remove : change_nothing;
    job.change.limit = fill ? (uint32_t)params->max_hole + 1 : (uint32_t)params->min_area;
    if (pictures->all_shadow) {
        /* The other one of the two pictures is free. */
        uint32_t *filled = removed ? found->median : found->kept;
        uint32_t *image = pictures->mirrors.counts ? work->image : NULL;
        job.contact = { job.change.bits, found->set, filled, work->cut, image, found->objects };
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
    const uint8_t *shadow = bd_cuda_mask_shadows(pictures);
    if (!shadow)
        return bd_cuda_check(
            cudaMemsetAsync(out, 0, (size_t)size.width * (size_t)size.height, work->cuda->stream),
            "clearing shadows");
    bool wide = is_wide(size, out) && is_wide(size, shadow) && is_wide(size, pictures->mask);
    bd_cuda_follow(work->cuda, median_shadows, tiles, tile_threads, 0, size, out, shadow,
                   pictures->mask, side, wide);
    return bd_cuda_launched("filtering shadows");
}

enum bd_status bd_cuda_mask_clean(struct bd_cuda_mask *work, int turn,
                                  const struct bd_cuda_mask_pictures *pictures,
                                  const struct bd_detect_params *params)
{
    struct mask_size size = work->size;
    const struct mask_turn found = turn_of(work, turn, pictures, params);
    const bool holes = params->max_hole >= 1;
    enum bd_status status = holes ? join<0>(work, found.kept, found.clear) : BD_OK;
    if (status == BD_OK && holes)
        status = sum(work, found.kept, found.clear, {}, {});
    if (status == BD_OK)
        status = finish(work, &found, pictures, params);
    if (status != BD_OK)
        return status;
    int radius = params->guard < size.height - 1 ? params->guard : size.height - 1;
    status = spread(work, found.median, pictures->guard, radius, is_wide(size, pictures->guard));
    if (status == BD_OK && pictures->shadow_mask)
        status = write_shadows(work, pictures, params->median);
    return status;
}
