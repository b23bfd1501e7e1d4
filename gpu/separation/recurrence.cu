/* The live separator on the GPU: what moves in place, bit for bit what
 * separation/shared/recurrence.h defines. The plain version is separation/cpu/recurrence.c. */
#include "gpu/separation/recurrence.cuh"

#include "gpu/separation/state.cuh"
#include "separation/shared/recurrence.h"

/* The picture and the window as the kernels have them. */
struct scene {
    struct bd_recurrence_window window; /* newest and columns are in the rates; no lights */
    const float *c; /* bd_max_rank x slots: the first coefficient gives the light of a frame */
    const uint8_t *f, *background, *difference;
    const uint8_t *shadow; /* 0 or 1; NULL: none */
    uint8_t *raw, *visit;
    const float *w; /* of the frame */
    int64_t pixels;
};

/* The pixel that a warp judges, and the part of the window that is compared with it. */
struct judged {
    int x, y;
    int64_t i; /* of the pixel's first element */
    unsigned visit;
    float w;
};

static __device__ __forceinline__ struct judged judged_pixel(const struct scene &scene, int p)
{
    const int width = scene.window.width;
    return { p % width, p / width, (int64_t)p * scene.window.channels, scene.visit[p], scene.w[0] };
}

/* The slot of the frame that entered the window j frames before the newest. */
static __device__ __forceinline__ int slot_of(const struct scene &scene,
                                              const struct bd_sep_rates &rates, int j)
{
    const int slot = rates.newest - j;
    return slot < 0 ? slot + scene.window.slots : slot;
}

static __device__ __forceinline__ unsigned visit_in(const struct scene &scene, int slot,
                                                    const struct judged &on)
{
    return scene.window
        .visits[slot * scene.window.pitch + (int64_t)on.y * scene.window.width + on.x];
}

/* Whether the pixel is like element `at` of a slot. */
static __device__ __forceinline__ bool is_like(const struct scene &scene, const struct judged &on,
                                               int slot, int light, int64_t at)
{
    return bd_recurrence_is_like(scene.f + on.i, scene.background + on.i,
                                 scene.window.samples + slot * scene.window.ld + at, light,
                                 scene.window.channels, scene.window.reach);
}

static __device__ __forceinline__ int light_in(const struct scene &scene, int slot,
                                               const struct judged &on)
{
    return bd_recurrence_light(scene.c[slot * bd_max_rank], on.w);
}

/* bd_recurrence_recurs at the very pixel, by a warp: a sample a lane, of which it loads `ahead` at
 * once. */
static __device__ bool recurs_here(const struct scene &scene, const struct bd_sep_rates &rates,
                                   const struct judged &on)
{
    enum { ahead = 4 };
    const int lane = threadIdx.x % 32;
    unsigned last = on.visit; /* of the newer samples that are like it, the oldest */
    int found = 0;
    for (int first = 0; first < rates.columns && found < bd_recurrence_visits;
         first += 32 * ahead) {
        unsigned visits[ahead];
        bool near[ahead];
#pragma unroll
        for (int k = 0; k < ahead; k++) {
            const int j = first + 32 * k + lane;
            const int slot = slot_of(scene, rates, j < rates.columns ? j : 0);
            near[k] = is_like(scene, on, slot, light_in(scene, slot, on), on.i);
            visits[k] = visit_in(scene, slot, on);
            near[k] &= j < rates.columns && visits[k] != on.visit;
        }
#pragma unroll
        for (int k = 0; k < ahead; k++) {
            const unsigned likes = __ballot_sync(~0u, near[k]), newer = likes & ((1u << lane) - 1);
            const unsigned before = __shfl_sync(~0u, visits[k], newer ? 31 - __clz(newer) : 0);
            const bool another = near[k] && visits[k] != (newer ? before : last);
            found += __popc(__ballot_sync(~0u, another));
            if (likes)
                last = __shfl_sync(~0u, visits[k], 31 - __clz(likes));
        }
    }
    return found >= bd_recurrence_visits;
}

/* bd_recurrence_recurs at the pixel or near it, by a warp: a neighbour a lane, of which it loads
 * `ahead` samples at once. Neighbours outside the picture are those at its border. */
static __device__ bool recurs_near(const struct scene &scene, const struct bd_sep_rates &rates,
                                   const struct judged &on)
{
    enum { near = bd_recurrence_near, side = 2 * near + 1, ahead = 16 };
    const struct bd_recurrence_window &window = scene.window;
    const int lane = threadIdx.x % 32, place = min(lane, side * side - 1);
    const int x = min(max(on.x + place % side - near, 0), window.width - 1);
    const int y = min(max(on.y + place / side - near, 0), window.height - 1);
    const int64_t at = ((int64_t)y * window.width + x) * window.channels;
    unsigned last = on.visit;
    int found = 0;
    for (int j = 0; j < rates.columns; j += 32) {
        const bool counts = j + lane < rates.columns;
        const int slot = slot_of(scene, rates, counts ? j + lane : 0);
        const int light = light_in(scene, slot, on);
        const unsigned then = counts ? visit_in(scene, slot, on) : on.visit;
        unsigned left = __ballot_sync(~0u, then != on.visit && then != last);
        while (left) {
            unsigned like = 0, taken = 0, visits[ahead];
#pragma unroll
            for (int k = 0; k < ahead; k++) {
                const int from = left ? __ffs(left) - 1 : 0;
                visits[k] = __shfl_sync(~0u, then, from);
                const int its_slot = __shfl_sync(~0u, slot, from);
                const int its_light = __shfl_sync(~0u, light, from);
                taken |= (left != 0) << k;
                left &= left - 1;
                like |= is_like(scene, on, its_slot, its_light, at) << k;
            }
            like = __reduce_or_sync(~0u, like) & taken;
#pragma unroll
            for (int k = 0; k < ahead; k++)
                if (like >> k & 1 && visits[k] != last) {
                    last = visits[k];
                    found++;
                }
            if (found >= bd_recurrence_visits)
                return true;
            left &= __ballot_sync(~0u, then != last);
        }
    }
    return false;
}

/* bd_recurrence_is_solid by a warp: a neighbour a lane. *edges: bd_recurrence_edges. */
static __device__ bool is_solid(const struct scene &scene, const struct judged &on, uint32_t *edges)
{
    enum { near = bd_recurrence_near, side = 2 * near + 1, middle = near * side + near };
    const int lane = threadIdx.x % 32, width = scene.window.width;
    if (on.x < near || on.y < near || on.x + near >= width || on.y + near >= scene.window.height)
        return false;
    const int64_t p = (int64_t)(on.y + lane / side - near) * width + on.x + lane % side - near;
    const bool set = lane < side * side &&
                     (scene.raw[p] & (bd_cuda_mask_set | bd_cuda_mask_recurs)) &&
                     !(scene.shadow && scene.shadow[p]);
    const unsigned around = __ballot_sync(~0u, set);
    const unsigned next = 1u << (middle - side) | 5u << (middle - 1) | 1u << (middle + side);
    *edges = 4 - __popc(around & next);
    return 2 * __popc(around) > side * side;
}

/* The foreground among four pixels: 1 in their bytes. */
static __device__ __forceinline__ uint32_t foreground_of(const struct scene &scene, int64_t word)
{
    const uint32_t raw = bd_sep_load_word(scene.raw + 4 * word) & 0x01010101u;
    return scene.shadow ? raw & ~bd_sep_load_word(scene.shadow + 4 * word) : raw;
}

/* Four visits after a frame; foreground: 1 in its bytes, plain: 0xff. */
static __device__ __forceinline__ uint32_t visits_after(uint32_t visits, uint32_t foreground,
                                                        uint32_t plain)
{
    const uint32_t ones = 0x01010101u, set = foreground * 0xff;
    return ((visits | ones) & set) | (__vadd4(visits, visits & ones & plain) & ~set);
}

/* Adds pixel p of the lanes that want it to the list. By whole warps. */
static __device__ __forceinline__ void list_pixel(int *list, int *listed, int64_t p, bool wanted)
{
    const unsigned want = __ballot_sync(~0u, wanted), lane = threadIdx.x % 32;
    int first = 0;
    if (!want)
        return;
    if (lane == 0)
        first = atomicAdd(listed, __popc(want));
    first = __shfl_sync(~0u, first, 0);
    if (wanted)
        list[first + __popc(want & ((1u << lane) - 1))] = (int)p;
}

/* Pixel p begins or ends a visit: counts which way the edge there goes. */
static __device__ void follow(struct bd_recurrence_counts *counts, const struct scene &scene,
                              int64_t p, int x, int y, bool begins)
{
    const int width = scene.window.width;
    int right, down;
    if (x == 0 || y == 0 || x + 1 == width || y + 1 == scene.window.height)
        return;
    bd_recurrence_way(&right, &down, scene.raw, scene.shadow, width, p);
    if (!right && !down)
        return;
    atomicAdd(&counts->changes, 1);
    atomicAdd(&counts->right, begins ? right : -right);
    atomicAdd(&counts->down, begins ? down : -down);
}

/* What the kernels share, besides the scene and the rates. The first list is of pixels that are
 * evidence, the second one of foreground in cells that move. */
struct search {
    int *lists[2], *listed; /* listed: 2, their lengths */
    struct bd_recurrence_counts *counts;
    const uint8_t *moves;
    const int *any;
    int across, power;               /* cells in a row; bd_recurrence_cell_power */
    int learn, look, clear, follows; /* see watch */
    uint8_t half;
};

/* Four pixels a thread: their visits (if `learn`), and the ways of those that change; those that
 * look number `look` after the frame's looks at (< 0: none) are counted and listed, and, if
 * `clear`, those in cells that move. If `follows`, the ways of all that change, and nothing else.
 * The rates are those at `loaded` unless that is NULL. */
static __global__ void __launch_bounds__(bd_sep_threads)
    watch(const __grid_constant__ scene scene, const struct bd_sep_rates *loaded,
          struct bd_sep_rates rates, const __grid_constant__ search search)
{
    const int64_t word = (int64_t)blockIdx.x * bd_sep_threads + threadIdx.x;
    const int width = scene.window.width;
    uint32_t foreground = 0, changed = 0;
    bd_cuda_await();
    bd_cuda_let_follow();
    if (4 * word < scene.pixels) {
        foreground = foreground_of(scene, word);
        if (search.learn || search.follows) {
            uint32_t *visits = reinterpret_cast<uint32_t *>(scene.visit) + word;
            const uint32_t plain = __vcmpleu4(bd_sep_load_word(scene.difference + 4 * word),
                                              search.half * 0x01010101u);
            const uint32_t before = *visits, after = visits_after(before, foreground, plain);
            if (search.learn)
                *visits = after;
            changed = (before ^ after) & 0x01010101u;
        }
    }
    if (loaded)
        rates = *loaded;
    if (!(rates.columns || search.follows) || !__any_sync(~0u, (foreground | changed) != 0))
        return;
    const bool clear = search.clear && *search.any;
    for (int e = 0; e < 4; e++) {
        const int64_t p = 4 * word + e;
        const int x = (int)(p % width), y = (int)(p / width);
        const int at = (y >> search.power) * search.across + (x >> search.power);
        const bool set = foreground >> 8 * e & 1;
        const bool looked_at = search.look >= 0 &&
                               bd_recurrence_looks_at(x, y, rates.look + search.look, search.power);
        if ((looked_at || search.follows) && (changed >> 8 * e & 1))
            follow(&search.counts[at], scene, p, x, y, set);
        list_pixel(search.lists[0], &search.listed[0], p, set && looked_at);
        list_pixel(search.lists[1], &search.listed[1], p, clear && set && search.moves[at]);
    }
}

/* A listed pixel a warp: it is counted, or it is not set any more if its value recurs. */
static __global__ void __launch_bounds__(bd_sep_threads)
    judge(const __grid_constant__ scene scene, const struct bd_sep_rates *loaded,
          struct bd_sep_rates rates, const __grid_constant__ search search)
{
    bd_cuda_await();
    bd_cuda_let_follow();
    const int warps = bd_sep_threads / 32, lane = threadIdx.x % 32;
    const int seen = search.listed[0], all = seen + search.listed[1];
    if (loaded)
        rates = *loaded;
    for (int i = blockIdx.x * warps + threadIdx.x / 32; i < all; i += gridDim.x * warps) {
        const int p = i < seen ? search.lists[0][i] : search.lists[1][i - seen];
        const struct judged on = judged_pixel(scene, p);
        uint32_t edges;
        if (i >= seen) {
            if (recurs_near(scene, rates, on) && lane == 0)
                scene.raw[p] ^= bd_cuda_mask_set | bd_cuda_mask_recurs;
        } else if (is_solid(scene, on, &edges)) {
            const bool again = recurs_here(scene, rates, on);
            struct bd_recurrence_counts *counts =
                &search.counts[(on.y >> search.power) * search.across + (on.x >> search.power)];
            if (lane == 0) {
                atomicAdd(&counts->seen, 1);
                atomicAdd(&counts->edges, edges);
                atomicAdd(&counts->recurring, again);
            }
        }
    }
}

enum bd_status bd_sep_find_recurring(struct bd_cuda_separator *s,
                                     const struct bd_detect_params *params, int learn,
                                     const struct bd_sep_rates *loaded, const uint8_t *shadow)
{
    const struct bd_sep_set *set = &s->sets[s->set];
    const struct bd_sep_moving *moving = &s->moving;
    const struct bd_sep_rates rates = bd_sep_rates_from(params);
    struct scene scene = {};
    scene.window.samples = moving->samples;
    scene.window.visits = moving->visits;
    scene.c = s->coefficients;
    scene.window.ld = s->ld;
    scene.window.pitch = s->pitch;
    scene.window.width = s->shape.width;
    scene.window.height = s->shape.height;
    scene.window.channels = s->shape.channels;
    scene.window.slots = s->shape.window;
    scene.window.reach = bd_recurrence_reach_of(params->threshold);
    scene.f = s->f;
    scene.background = set->background;
    scene.difference = set->difference;
    scene.shadow = shadow;
    scene.raw = bd_sep_turn_of(s)->raw;
    scene.visit = learn || moving->recalled < 0 ? moving->visit
                                                : moving->visits + moving->recalled * s->pitch;
    if (params->follows)
        scene.visit = moving->visits + params->newest * s->pitch;
    scene.w = s->numbers->w;
    scene.pixels = s->pixels;
    struct search search = {};
    search.lists[0] = moving->list;
    search.lists[1] = moving->list + s->pixels;
    search.listed = moving->listed;
    search.counts = moving->counts;
    search.moves = moving->moves;
    search.any = moving->any;
    search.across = moving->across;
    search.power = bd_recurrence_cell_power(s->shape.height);
    search.half = (uint8_t)(params->threshold / 2);
    /* Thread blocks that take what is listed in turn, mostly nothing: as many as the GPU holds, or
     * an eighth where other lanes have work for it. */
    const unsigned judges = s->cuda->crowded ? 128 : 1024;
    enum bd_status status = BD_OK;
    for (int look = params->looks ? 0 : -1; status == BD_OK && look < params->looks; look++) {
        search.learn = learn && look <= 0;
        search.look = look;
        search.clear = look == params->looks - 1 && !params->follows;
        search.follows = params->follows;
        if (look > 0)
            status = bd_cuda_check(
                cudaMemsetAsync(moving->listed, 0, 2 * sizeof *moving->listed, s->cuda->stream),
                "emptying two lists");
        if (status != BD_OK)
            break;
        bd_sep_follow(s, watch, bd_sep_blocks(s->pixels, 4 * bd_sep_threads), scene, loaded, rates,
                      search);
        status = bd_cuda_launched("looking for what moves in place");
        if (status != BD_OK)
            break;
        bd_sep_follow(s, judge, judges, scene, loaded, rates, search);
        status = bd_cuda_launched("judging what moves in place");
    }
    return status;
}

/* A cell a thread: the seeds, and the places of mirror images. any is 0, 0 before. */
static __global__ void find_seeds(uint8_t *seeds, uint8_t *places, int *any,
                                  const struct bd_recurrence_counts *counts,
                                  const struct bd_mirror_counts *mirrored, int across, int down,
                                  int looks, int followed, int height)
{
    const int i = blockIdx.x * bd_sep_threads + threadIdx.x;
    if (i >= across * down)
        return;
    const struct bd_recurrence_counts sum = bd_recurrence_sum_around(
        counts, across, down, i % across, i / across, bd_recurrence_around);
    const bool seed = bd_recurrence_is_seed(sum, looks, followed, height);
    const bool place = bd_mirror_is_place(mirrored, across, down, i % across, i / across);
    seeds[i] = seed;
    places[i] = place;
    if (seed)
        any[0] = 1;
    if (place)
        any[1] = 1;
}

/* A cell a thread: the map from the seeds. */
static __global__ void grow_seeds(uint8_t *moves, const uint8_t *seeds, const int *any,
                                  const struct bd_recurrence_counts *counts, int across, int down,
                                  int followed, int height)
{
    const int i = blockIdx.x * bd_sep_threads + threadIdx.x;
    if (i >= across * down || !*any)
        return;
    moves[i] =
        bd_recurrence_moves(seeds, counts, across, down, i % across, i / across, followed, height);
}

enum bd_status bd_sep_make_map(struct bd_cuda_separator *s)
{
    struct bd_sep_moving *moving = &s->moving;
    const int across = moving->across, down = moving->down, height = s->shape.height;
    const unsigned blocks = bd_sep_blocks((int64_t)across * down, bd_sep_threads);
    cudaStream_t stream = s->cuda->stream;
    if (!moving->stale || moving->recalled >= 0)
        return BD_OK;
    s->behind = 1;
    enum bd_status status = bd_cuda_check(
        cudaMemsetAsync(moving->any, 0, 2 * sizeof *moving->any, stream), "clearing two flags");
    if (status != BD_OK)
        return status;
    find_seeds<<<blocks, bd_sep_threads, 0, stream>>>(
        moving->seeds, moving->places, moving->any, moving->counts, moving->mirrored, across, down,
        moving->looks, moving->followed, height);
    status = bd_cuda_launched("finding cells that move");
    if (status != BD_OK)
        return status;
    grow_seeds<<<blocks, bd_sep_threads, 0, stream>>>(moving->moves, moving->seeds, moving->any,
                                                      moving->counts, across, down,
                                                      moving->followed, height);
    moving->stale = 0;
    return bd_cuda_launched("growing cells that move");
}

static __global__ void halve(struct bd_recurrence_counts *counts, struct bd_mirror_counts *mirrored,
                             int count)
{
    const int i = blockIdx.x * bd_sep_threads + threadIdx.x;
    if (i >= count)
        return;
    bd_recurrence_halve(&counts[i]);
    bd_mirror_halve(&mirrored[i]);
}

enum bd_status bd_sep_enter_moving(struct bd_cuda_separator *s, int slot)
{
    struct bd_sep_moving *moving = &s->moving;
    const int cells = moving->across * moving->down;
    moving->stale = 1;
    if (slot % ((s->shape.window + 1) / 2))
        return BD_OK;
    moving->looks /= 2;
    moving->followed /= 2;
    halve<<<bd_sep_blocks(cells, bd_sep_threads), bd_sep_threads, 0, s->cuda->stream>>>(
        moving->counts, moving->mirrored, cells);
    return bd_cuda_launched("forgetting half of what moved");
}
