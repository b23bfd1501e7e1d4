/* The live separator on the GPU: what moves in place, bit for bit what
 * separation/shared/recurrence.h defines. The plain version is separation/cpu/recurrence.c. */
#include "gpu/separation/recurrence.cuh"

#include "gpu/separation/state.cuh"
#include "separation/shared/recurrence.h"

enum { cell = bd_recurrence_cell };

/* The picture and the window as the kernels have them. */
struct scene {
    struct bd_recurrence_window window; /* newest and columns are in the rates */
    const uint8_t *f, *background, *difference;
    const uint8_t *shadow; /* 0 or 1; NULL: none */
    uint8_t *raw, *visit;
    const struct bd_sep_numbers *numbers;
    int64_t pixels;
};

static __device__ __forceinline__ bool is_foreground(const struct scene &scene, int64_t p)
{
    return scene.raw[p] & bd_cuda_mask_set && !(scene.shadow && scene.shadow[p]);
}

/* bd_recurrence_recurs by a warp, a sample a lane. All lanes have the same arguments. */
static __device__ bool recurs(const struct scene &scene, const struct bd_sep_rates &rates, int x,
                              int y, int near)
{
    const struct bd_recurrence_window &window = scene.window;
    const int lane = threadIdx.x % 32;
    const int64_t p = (int64_t)y * window.width + x, i = p * window.channels;
    const unsigned visit = scene.visit[p];
    const float w = scene.numbers->w[0];
    unsigned last = visit; /* of the newer samples that are like it, the oldest */
    int found = 0;
    for (int j = 0; j < rates.columns && found < bd_recurrence_visits; j += 32) {
        const bool counts = j + lane < rates.columns;
        int slot = counts ? rates.newest - j - lane : 0;
        slot += slot < 0 ? window.slots : 0;
        const unsigned then = counts ? window.visits[slot * window.pitch + p] : visit;
        const bool like =
            then != visit &&
            bd_recurrence_is_near(
                &window, scene.f + i, scene.background + i, window.samples + slot * window.ld,
                bd_recurrence_light(window.c[slot * window.stride], w), x, y, near);
        const unsigned likes = __ballot_sync(~0u, like), newer = likes & ((1u << lane) - 1);
        const unsigned before = __shfl_sync(~0u, then, newer ? 31 - __clz(newer) : 0);
        const bool another = like && then != (newer ? before : last);
        found += __popc(__ballot_sync(~0u, another));
        if (likes)
            last = __shfl_sync(~0u, then, 31 - __clz(likes));
    }
    return found >= bd_recurrence_visits;
}

/* Whether most pixels around are foreground too. */
static __device__ bool is_solid(const struct scene &scene, int x, int y)
{
    const int near = bd_recurrence_near, side = 2 * near + 1;
    const int width = scene.window.width, height = scene.window.height;
    int count = 0;
    if (x < near || y < near || x + near >= width || y + near >= height)
        return false;
    for (int row = y - near; row <= y + near; row++)
        for (int column = x - near; column <= x + near; column++)
            count += is_foreground(scene, (int64_t)row * width + column);
    return 2 * count > side * side;
}

/* Adds a pixel that is not at the border to its cell's counts. By a warp. */
static __device__ void look_at(const struct scene &scene, const struct bd_sep_rates &rates,
                               struct bd_recurrence_counts *counts, int across, int x, int y)
{
    const int64_t width = scene.window.width, p = y * width + x;
    struct bd_recurrence_counts *to = &counts[y / cell * across + x / cell];
    const bool again = recurs(scene, rates, x, y, 0);
    if (threadIdx.x % 32)
        return;
    const uint32_t inside = is_foreground(scene, p - 1) + is_foreground(scene, p + 1) +
                            is_foreground(scene, p - width) + is_foreground(scene, p + width);
    atomicAdd(&to->seen, 1);
    if (inside < 4)
        atomicAdd(&to->edges, 4 - inside);
    if (again)
        atomicAdd(&to->recurring, 1);
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

/* Four pixels a thread: their visits (unless learn is 0), and a list of those that look number
 * `look` after the frame's looks at (< 0: none). The rates are those at `loaded` unless that is
 * NULL. */
static __global__ void __launch_bounds__(bd_sep_threads)
    watch(const __grid_constant__ scene scene, const struct bd_sep_rates *loaded,
          struct bd_sep_rates rates, int *list, int *listed, int learn, int look, uint8_t half)
{
    const int64_t word = (int64_t)blockIdx.x * bd_sep_threads + threadIdx.x;
    const int width = scene.window.width;
    uint32_t foreground = 0;
    if (4 * word < scene.pixels) {
        foreground = foreground_of(scene, word);
        if (learn) {
            uint32_t *visits = reinterpret_cast<uint32_t *>(scene.visit) + word;
            const uint32_t plain =
                __vcmpleu4(bd_sep_load_word(scene.difference + 4 * word), half * 0x01010101u);
            *visits = visits_after(*visits, foreground, plain);
        }
    }
    if (loaded)
        rates = *loaded;
    if (look < 0 || !rates.columns || !__any_sync(~0u, foreground != 0))
        return;
    for (int e = 0; e < 4; e++) {
        const int64_t p = 4 * word + e;
        const int x = (int)(p % width), y = (int)(p / width);
        list_pixel(list, listed, p,
                   foreground >> 8 * e & 1 && bd_recurrence_looks_at(x, y, rates.look + look) &&
                       is_solid(scene, x, y));
    }
}

/* A pixel a thread: a list of the foreground in cells that move. */
static __global__ void __launch_bounds__(bd_sep_threads)
    list_moving(const __grid_constant__ scene scene, const struct bd_sep_rates *loaded,
                struct bd_sep_rates rates, int *list, int *listed, const uint8_t *moves,
                const int *any, int across)
{
    const int64_t p = (int64_t)blockIdx.x * bd_sep_threads + threadIdx.x;
    if (!*any || !(loaded ? loaded->columns : rates.columns))
        return;
    const int x = (int)(p % scene.window.width), y = (int)(p / scene.window.width);
    list_pixel(list, listed, p,
               p < scene.pixels && moves[y / cell * across + x / cell] && is_foreground(scene, p));
}

/* A listed pixel a warp: the evidence of a look, or (counts == NULL) it is not set if its value
 * recurs. */
static __global__ void __launch_bounds__(bd_sep_threads)
    judge(const __grid_constant__ scene scene, const struct bd_sep_rates *loaded,
          struct bd_sep_rates rates, const int *list, const int *listed,
          struct bd_recurrence_counts *counts, int across)
{
    const int warps = bd_sep_threads / 32, width = scene.window.width;
    if (loaded)
        rates = *loaded;
    for (int i = blockIdx.x * warps + threadIdx.x / 32; i < *listed; i += gridDim.x * warps) {
        const int p = list[i];
        if (counts)
            look_at(scene, rates, counts, across, p % width, p / width);
        else if (recurs(scene, rates, p % width, p / width, bd_recurrence_near) &&
                 threadIdx.x % 32 == 0)
            scene.raw[p] &= (uint8_t)~bd_cuda_mask_set;
        __syncwarp();
    }
}

/* Judges the pixels of the list, and empties it. */
static enum bd_status judge_list(struct bd_cuda_separator *s, const struct scene *scene,
                                 const struct bd_sep_rates *loaded,
                                 const struct bd_sep_rates *rates,
                                 struct bd_recurrence_counts *counts)
{
    enum { blocks = 1024 };
    const struct bd_sep_moving *moving = &s->moving;
    judge<<<blocks, bd_sep_threads, 0, s->cuda->stream>>>(*scene, loaded, *rates, moving->list,
                                                          moving->listed, counts, moving->across);
    enum bd_status status = bd_cuda_launched("judging what moves in place");
    if (status != BD_OK)
        return status;
    return bd_cuda_check(
        cudaMemsetAsync(moving->listed, 0, sizeof *moving->listed, s->cuda->stream),
        "emptying a list");
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
    scene.window.c = s->coefficients;
    scene.window.ld = s->ld;
    scene.window.pitch = s->pitch;
    scene.window.stride = bd_max_rank;
    scene.window.width = s->shape.width;
    scene.window.height = s->shape.height;
    scene.window.channels = s->shape.channels;
    scene.window.slots = s->shape.window;
    scene.f = s->f;
    scene.background = set->background;
    scene.difference = set->difference;
    scene.shadow = shadow;
    scene.raw = s->raw;
    scene.visit = learn || moving->recalled < 0 ? moving->visit
                                                : moving->visits + moving->recalled * s->pitch;
    scene.numbers = s->numbers;
    scene.pixels = s->pixels;
    /* Visits, and each look: a list, and a warp for each pixel of it. Then the same for the mask.
     */
    enum bd_status status = BD_OK;
    for (int look = params->looks ? 0 : -1; status == BD_OK && look < params->looks; look++) {
        watch<<<bd_sep_blocks(s->pixels, 4 * bd_sep_threads), bd_sep_threads, 0, s->cuda->stream>>>(
            scene, loaded, rates, moving->list, moving->listed, learn && look <= 0, look,
            (uint8_t)(params->threshold / 2));
        status = bd_cuda_launched("looking for what moves in place");
        if (status == BD_OK && look >= 0)
            status = judge_list(s, &scene, loaded, &rates, moving->counts);
    }
    if (status != BD_OK)
        return status;
    list_moving<<<bd_sep_blocks(s->pixels, bd_sep_threads), bd_sep_threads, 0, s->cuda->stream>>>(
        scene, loaded, rates, moving->list, moving->listed, moving->moves, moving->any,
        moving->across);
    status = bd_cuda_launched("looking for what moves in place");
    return status == BD_OK ? judge_list(s, &scene, loaded, &rates, NULL) : status;
}

/* The sum of the counts as far as `reach` cells from (x, y). */
static __device__ struct bd_recurrence_counts
sum_around(const struct bd_recurrence_counts *counts, int across, int down, int x, int y, int reach)
{
    struct bd_recurrence_counts sum = {};
    for (int row = max(y - reach, 0); row <= min(y + reach, down - 1); row++)
        for (int column = max(x - reach, 0); column <= min(x + reach, across - 1); column++)
            bd_recurrence_add(&sum, &counts[row * across + column]);
    return sum;
}

/* A cell a thread. *any is 0 before. */
static __global__ void find_seeds(uint8_t *seeds, int *any,
                                  const struct bd_recurrence_counts *counts, int across, int down,
                                  int looks, int height)
{
    const int i = blockIdx.x * bd_sep_threads + threadIdx.x;
    if (i >= across * down)
        return;
    const bool seed = bd_recurrence_is_seed(
        sum_around(counts, across, down, i % across, i / across, bd_recurrence_around), looks,
        height);
    seeds[i] = seed;
    if (seed)
        *any = 1;
}

/* A cell a thread: the map from the seeds. */
static __global__ void grow_seeds(uint8_t *moves, const uint8_t *seeds, const int *any,
                                  const struct bd_recurrence_counts *counts, int across, int down,
                                  int height)
{
    const int i = blockIdx.x * bd_sep_threads + threadIdx.x, reach = bd_recurrence_grow;
    if (i >= across * down || !*any)
        return;
    const int x = i % across, y = i / across;
    bool near = false;
    for (int row = max(y - reach, 0); row <= min(y + reach, down - 1); row++)
        for (int column = max(x - reach, 0); column <= min(x + reach, across - 1); column++)
            near |= seeds[row * across + column] != 0;
    moves[i] = seeds[i] ||
               (near && bd_recurrence_in_pieces(sum_around(counts, across, down, x, y, 1), height));
}

enum bd_status bd_sep_make_map(struct bd_cuda_separator *s)
{
    struct bd_sep_moving *moving = &s->moving;
    const int across = moving->across, down = moving->down, height = s->shape.height;
    const unsigned blocks = bd_sep_blocks((int64_t)across * down, bd_sep_threads);
    cudaStream_t stream = s->cuda->stream;
    if (!moving->stale || moving->recalled >= 0)
        return BD_OK;
    enum bd_status status = bd_cuda_check(
        cudaMemsetAsync(moving->any, 0, sizeof *moving->any, stream), "clearing a flag");
    if (status != BD_OK)
        return status;
    find_seeds<<<blocks, bd_sep_threads, 0, stream>>>(moving->seeds, moving->any, moving->counts,
                                                      across, down, moving->looks, height);
    status = bd_cuda_launched("finding cells that move");
    if (status != BD_OK)
        return status;
    grow_seeds<<<blocks, bd_sep_threads, 0, stream>>>(moving->moves, moving->seeds, moving->any,
                                                      moving->counts, across, down, height);
    moving->stale = 0;
    return bd_cuda_launched("growing cells that move");
}

static __global__ void halve(struct bd_recurrence_counts *counts, int count)
{
    const int i = blockIdx.x * bd_sep_threads + threadIdx.x;
    if (i < count)
        bd_recurrence_halve(&counts[i]);
}

enum bd_status bd_sep_enter_moving(struct bd_cuda_separator *s, int slot)
{
    struct bd_sep_moving *moving = &s->moving;
    const int cells = moving->across * moving->down;
    moving->stale = 1;
    if (slot % ((s->shape.window + 1) / 2))
        return BD_OK;
    moving->looks /= 2;
    halve<<<bd_sep_blocks(cells, bd_sep_threads), bd_sep_threads, 0, s->cuda->stream>>>(
        moving->counts, cells);
    return bd_cuda_launched("forgetting half of what moved");
}
