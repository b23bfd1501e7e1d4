/* Contact shadows on the GPU: the components of the cleaned mask and their bounding boxes in one
 * launch, the black pixels in their feet in another. Everything is integers, summed or compared by
 * atomics, and does not depend on the order of threads. The plain version is
 * separation/cpu/contact_shadow.c. */
#include "gpu/separation/mask/contact_shadow.cuh"

#include "gpu/separation/mask/mirror.cuh"

enum {
    fill_threads = 128,
    contact_threads = mirror_threads, /* one launch has blocks of both searches */
    contact_warps = contact_threads / 32,
    /* Rows that are loaded at once where a thread walks along a column: their latencies overlap. */
    contact_ahead = 4
};

/* Joins the components at both ends of the holes' runs that start in word i of row y. Every
 * component that lies in a hole is joined to one that reaches further left, so that all are joined
 * to what is around the hole; that one has the smallest number and is the root, whose bounding box
 * the others cannot make larger. */
static __device__ inline void join_over_holes(struct mask_size size,
                                              const struct contact_work &work, int y, int i,
                                              uint32_t holes, uint32_t labelled)
{
    const uint32_t *row = work.labelled + (int64_t)y * size.pitch;
    for (uint32_t s = run_starts(holes); s; s &= s - 1) {
        int b = __ffs(s) - 1, right = i;
        if (b == 0 && !(row[i - 1] >> 31))
            continue; /* the run starts in a word before */
        uint32_t after = labelled & (~0u << b);
        while (!after)
            after = row[++right];
        unite<true>(
            work.set.parent,
            component_at<1>(size, work.labelled, work.set, y, b ? i : i - 1, b ? b - 1 : 31),
            component_at<1>(size, work.labelled, work.set, y, right, __ffs(after) - 1));
    }
}

/* The part of a component's bounding box that a thread has seen. */
struct contact_box {
    int root; /* -1: none yet */
    int left, right, top, bottom;
};

/* Extends the box of the root, where it is smaller. The box only grows, so that reading an old
 * value costs an atomic operation and no more. */
static __device__ inline void add_box(const struct contact_work &work, struct contact_box box)
{
    if (box.root < 0)
        return;
    struct contact_object *object = contact_object_of(work, box.root);
    volatile struct contact_object *now = object;
    if (box.left < now->left)
        atomicMin(&object->left, box.left);
    if (box.right > now->right)
        atomicMax(&object->right, box.right);
    if (box.top < now->top)
        atomicMin(&object->top, box.top);
    if (box.bottom > now->bottom)
        atomicMax(&object->bottom, box.bottom);
}

/* Adds the runs of word i of row y to the boxes of their components. For whole warps, eight lanes
 * of which have a row of a tile. While components are being joined over holes a root may become a
 * branch. A box that is added to a branch lies in that of the root: see join_over_holes. */
static __device__ inline void add_boxes(struct mask_size size, const struct contact_work &work,
                                        int y, int i, uint32_t w)
{
    int head = run_head(w);
    struct contact_box box = { -1, 0, 0, y, y };
    for (uint32_t s = run_starts(w); s; s &= s - 1) {
        int b = __ffs(s) - 1, x = 32 * i + b;
        int root = find_root(work.set.parent, component_of_run(size, work.set, y, i, w, head, b));
        if (root != box.root) {
            add_box(work, box);
            box.root = root;
            box.left = x;
        }
        box.right = x + run_length(w, b) - 1;
    }
    /* Large components: once for the threads of a warp that share a root. */
    uint32_t sharing = __match_any_sync(~0u, box.root);
    box.left = __reduce_min_sync(sharing, box.left);
    box.right = __reduce_max_sync(sharing, box.right);
    box.top = __reduce_min_sync(sharing, box.top);
    box.bottom = __reduce_max_sync(sharing, box.bottom);
    if (threadIdx.x % 32 == __ffs(sharing) - 1)
        add_box(work, box);
}

/* work.filled := the mask after the change, whose components are in work.set from then on, with
 * their bounding boxes; work.cut and work.image := nothing. A word a thread. */
static __global__ void __launch_bounds__(fill_threads)
    fill_mask(struct mask_size size, const __grid_constant__ struct contact_work work,
              const __grid_constant__ struct mask_change from)
{
    bd_cuda_await();
    bd_cuda_let_follow();
    int k = blockIdx.x * fill_threads + threadIdx.x;
    int y = k / size.pitch, i = k % size.pitch;
    bool inside = y < size.height;
    uint32_t w = changed_word(size, from, y, i, inside);
    uint32_t labelled = inside ? work.labelled[k] : 0;
    if (inside) {
        work.filled[k] = w;
        work.cut[k] = 0;
        if (work.image)
            work.image[k] = 0;
    }
    if (!__any_sync(~0u, w != 0))
        return;
    join_over_holes(size, work, y, i, w & ~labelled, labelled);
    __syncwarp();
    add_boxes(size, work, y, i, w & labelled);
}

/* What find_black looks at. */
struct contact_scene {
    const uint8_t *f, *l; /* height x width x CHANNELS, tight rows */
    int rows;             /* of a block */
};

/* The pixels of word i of row y of the filled mask, w, that are in the foot of a component that may
 * have a contact shadow by its shape. */
static __device__ inline uint32_t foot_bits(struct mask_size size, const struct contact_work &work,
                                            int y, int i, uint32_t w)
{
    uint32_t foot = 0;
    for (uint32_t s = run_starts(w); s; s &= s - 1) {
        int b = __ffs(s) - 1;
        const struct contact_object *object =
            contact_object_of(work, contact_root(size, work, y, i, b));
        int width = object->right - object->left + 1, height = object->bottom - object->top + 1;
        int depth = height / bd_contact_shadow_foot;
        if (!bd_contact_shadow_possible(width, height, object->bottom, size.height) || depth == 0)
            continue;
        /* A pixel whose column goes on for `depth` pixels below it is not in the foot. The row
         * below the component's last one is in the picture and not in the component. */
        uint32_t run = run_bits(w, b), goes_on = run;
        int last = min(y + depth, object->bottom + 1);
        for (int v = y + 1; v <= last && goes_on; v += contact_ahead) {
#pragma unroll
            for (int ahead = 0; ahead < contact_ahead; ahead++)
                goes_on &= work.filled[(int64_t)min(v + ahead, last) * size.pitch + i];
        }
        foot |= run & ~goes_on;
    }
    return foot;
}

template <int CHANNELS>
static __device__ inline int brightness(const struct contact_scene &scene, int64_t at)
{
    int sum = 0;
#pragma unroll
    for (int c = 0; c < CHANNELS; c++)
        sum += scene.f[at * CHANNELS + c];
    return sum;
}

template <int CHANNELS>
static __device__ inline bool is_dark(const struct contact_scene &scene, int64_t at)
{
    int fl = 0, ll = 0;
#pragma unroll
    for (int c = 0; c < CHANNELS; c++) {
        int f = scene.f[at * CHANNELS + c], l = scene.l[at * CHANNELS + c];
        fl += f * l;
        ll += l * l;
    }
    return bd_contact_shadow_dark(fl, ll);
}

/* The least and the largest brightness of a column's pixels in rows y - 1 .. y + 1. */
struct contact_range {
    int least, most;
};

template <int CHANNELS>
static __device__ inline struct contact_range
range_of_column(struct mask_size size, const struct contact_scene &scene, int x, int y)
{
    struct contact_range range = { INT32_MAX, 0 };
    if (x < 0 || x >= size.width)
        return range;
#pragma unroll
    for (int r = -1; r <= 1; r++) {
        /* Outside the picture the pixel itself: it does not widen the range. */
        int v = y + r < 0 || y + r >= size.height ? y : y + r;
        int sum = brightness<CHANNELS>(scene, (int64_t)v * size.width + x);
        range.least = min(range.least, sum);
        range.most = max(range.most, sum);
    }
    return range;
}

/* The black pixels among `foot`, of word i of row y. A lane a pixel; all get the word. */
template <int CHANNELS>
static __device__ inline uint32_t
black_bits(struct mask_size size, const struct contact_scene &scene, int y, int i, uint32_t foot)
{
    int lane = threadIdx.x % 32, x = 32 * i + lane;
    bool dark = foot >> lane & 1 && is_dark<CHANNELS>(scene, (int64_t)y * size.width + x);
    uint32_t among = __ballot_sync(~0u, dark);
    if (!among)
        return 0;
    struct contact_range here = range_of_column<CHANNELS>(size, scene, x, y);
    struct contact_range beyond = here;
    if (lane == 0 || lane == 31)
        beyond = range_of_column<CHANNELS>(size, scene, lane ? x + 1 : x - 1, y);
    int left = __shfl_up_sync(~0u, here.least, 1), right = __shfl_down_sync(~0u, here.least, 1);
    int least = min(here.least, min(lane ? left : beyond.least, lane < 31 ? right : beyond.least));
    left = __shfl_up_sync(~0u, here.most, 1), right = __shfl_down_sync(~0u, here.most, 1);
    int most = max(here.most, max(lane ? left : beyond.most, lane < 31 ? right : beyond.most));
    return __ballot_sync(~0u, dark && bd_contact_shadow_even(least, most, CHANNELS));
}

/* How many pixels the black run that starts at bit b of word i has. `row` is in shared memory. */
static __device__ inline int black_length(struct mask_size size, const uint32_t *row, int i, int b)
{
    int length = run_length(row[i], b);
    for (int more = b + length == 32 ? 32 : 0; more == 32 && ++i < size.pitch; length += more)
        more = row[i] == ~0u ? 32 : run_length(row[i], 0);
    return length;
}

/* Whether nothing brighter is above the pixel (x, y) within height / bd_contact_shadow_above rows.
 * For whole warps, whose lanes have the pixels of word i; the result counts where `top` is set. */
template <int CHANNELS>
static __device__ inline bool is_dark_top(struct mask_size size, const struct contact_work &work,
                                          const struct contact_scene &scene, int y, int i,
                                          int height, bool top)
{
    int lane = threadIdx.x % 32, x = 32 * i + lane, reach = height / bd_contact_shadow_above;
    int most = 0;
    bool brighter = false, looking = top;
    if (top)
        most = brightness<CHANNELS>(scene, (int64_t)y * size.width + x) +
               bd_contact_shadow_rise * CHANNELS;
    for (int up = 1; __any_sync(~0u, looking); up += contact_ahead) {
        uint32_t set[contact_ahead];
        int sum[contact_ahead];
#pragma unroll
        for (int ahead = 0; ahead < contact_ahead; ahead++) {
            int v = max(y - up - ahead, 0); /* row 0 again and again does no harm */
            set[ahead] = work.filled[(int64_t)v * size.pitch + i];
            sum[ahead] = looking ? brightness<CHANNELS>(scene, (int64_t)v * size.width + x) : 0;
        }
#pragma unroll
        for (int ahead = 0; ahead < contact_ahead; ahead++) {
            looking = looking && up + ahead <= reach && set[ahead] >> lane & 1;
            if (looking && sum[ahead] > most) {
                brighter = true;
                looking = false;
            }
        }
    }
    return !brighter;
}

/* Marks the pixels of `tops`, of word i of row y, and those of the mask below each of them: a lane
 * a row. */
static __device__ inline void mark_below(struct mask_size size, const struct contact_work &work,
                                         int y, int i, uint32_t tops)
{
    int lane = threadIdx.x % 32;
    for (; tops; y += 32) {
        int v = y + lane;
        uint32_t w = v < size.height ? work.filled[(int64_t)v * size.pitch + i] : 0;
        for (int d = 1; d < 32; d *= 2) {
            uint32_t above = __shfl_up_sync(~0u, w, d);
            w &= lane >= d ? above : ~0u;
        }
        w &= tops;
        if (w)
            atomicOr(&work.cut[(int64_t)v * size.pitch + i], w);
        tops = __shfl_sync(~0u, w, 31);
    }
}

/* Adds the black pixels of word i of row y, row[i], to their components' objects, and marks what is
 * to be cut. `row`, in shared memory, has the row above before it. For whole warps. */
template <int CHANNELS>
static __device__ inline void count_black(struct mask_size size, const struct contact_work &work,
                                          const struct contact_scene &scene, const uint32_t *row,
                                          int y, int i)
{
    int lane = threadIdx.x % 32;
    uint32_t black = row[i], tops = black & ~row[i - size.pitch];
    bool here = black >> lane & 1, top = tops >> lane & 1;
    int root = here ? contact_root(size, work, y, i, lane) : -1, height = 0, length = 0;
    struct contact_object *object = work.objects;
    if (here) {
        object = contact_object_of(work, root);
        height = object->bottom - object->top + 1;
        uint32_t before = lane ? black << (32 - lane) : i ? row[i - 1] : 0;
        if (!(before >> 31))
            length = black_length(size, row, i, lane);
    }
    bool dark_above = is_dark_top<CHANNELS>(size, work, scene, y, i, height, top);
    uint32_t all_dark = __ballot_sync(~0u, top && dark_above);
    uint32_t sharing = __match_any_sync(~0u, root);
    length = __reduce_max_sync(sharing, length);
    if (here && lane == __ffs(sharing) - 1) {
        atomicMax(&object->longest, length);
        atomicAdd(&object->tops, __popc(sharing & tops));
        atomicAdd(&object->dark_tops, __popc(sharing & all_dark));
    }
    mark_below(size, work, y, i, tops);
}

/* Rows of a block of find_black: at most half a word a thread, with the row above them. Black
 * pixels lie in few rows, which blocks of few rows share among the multiprocessors. */
static int contact_block_rows(struct mask_size size)
{
    int rows = contact_threads / 2 / size.pitch - 1;
    return rows < 1 ? 1 : rows > 2 ? 2 : rows;
}

/* Counts the black pixels in the feet of components at their roots, and marks them and the pixels
 * below them in work.cut, which is empty on entry. Block number `block` has scene.rows whole rows
 * and reads the one above them. black: [2][rows + 1][pitch] words in shared memory. */
template <int CHANNELS>
static __device__ inline void find_black(struct mask_size size, const struct contact_work &work,
                                         const struct contact_scene &scene, int block,
                                         uint32_t *black)
{
    __shared__ int listed;
    int total = (scene.rows + 1) * size.pitch, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int top = block * scene.rows - 1; /* row 0 of `black` */
    uint32_t *list = black + total;
    if (threadIdx.x == 0)
        listed = 0;
    __syncthreads();
    for (int k = threadIdx.x; k < total; k += contact_threads) {
        int y = top + k / size.pitch, i = k % size.pitch;
        bool inside = y >= 0 && y < size.height;
        uint32_t w = inside ? work.filled[(int64_t)y * size.pitch + i] : 0;
        uint32_t foot = w ? foot_bits(size, work, y, i, w) : 0;
        black[k] = foot;
        if (foot)
            list[atomicAdd(&listed, 1)] = (uint32_t)k;
    }
    __syncthreads();
    for (int n = warp; n < listed; n += contact_warps) {
        int k = (int)list[n];
        uint32_t found =
            black_bits<CHANNELS>(size, scene, top + k / size.pitch, k % size.pitch, black[k]);
        __syncwarp(); /* all lanes have read it */
        if (lane == 0)
            black[k] = found;
    }
    __syncthreads();
    for (int n = warp; n < listed; n += contact_warps) {
        int k = (int)list[n], r = k / size.pitch;
        if (r > 0 && black[k])
            count_black<CHANNELS>(size, work, scene, black + r * size.pitch, top + r,
                                  k % size.pitch);
    }
}

/* The first `tiles` blocks look for mirror images in a tile each, the others for contact shadows in
 * their rows. Dynamic shared memory: that of find_black. */
template <int CHANNELS>
static __global__ void __launch_bounds__(contact_threads, 2)
    look_at_objects(struct mask_size size, const __grid_constant__ struct contact_work work,
                    const __grid_constant__ struct contact_scene scene,
                    const __grid_constant__ struct mirror_scene mirrors, int tiles)
{
    extern __shared__ uint32_t black[];
    __shared__ struct mirror_memory memory;
    bd_cuda_await();
    bd_cuda_let_follow();
    int block = (int)blockIdx.x - tiles;
    if (block >= 0)
        find_black<CHANNELS>(size, work, scene, block, black);
    else if (CHANNELS == 3)
        find_images(size, work, mirrors, (int)blockIdx.x, &memory);
}

enum bd_status bd_cuda_contact_shadow_find(struct bd_cuda *cuda, struct mask_size size,
                                           const struct contact_work &work,
                                           const struct mask_change &from,
                                           const struct bd_cuda_mask_pictures *pictures)
{
    /* Less than 2^31 / tile_nodes tiles: neither does this overflow. */
    int blocks = (size.pitch * size.height + fill_threads - 1) / fill_threads;
    bd_cuda_follow(cuda, fill_mask, blocks, fill_threads, 0, size, work, from);
    enum bd_status status = bd_cuda_launched("finding the components of a mask");
    if (status != BD_OK)
        return status;
    const struct contact_scene scene = { pictures->frame, pictures->background,
                                         contact_block_rows(size) };
    size_t words = 2 * (size_t)(scene.rows + 1) * (size_t)size.pitch;
    const struct mirror_scene mirrors = { pictures->frame, pictures->background,
                                          pictures->mirrors };
    int tiles = work.image ? size.across * size.down : 0;
    auto *kernel = pictures->channels == 1 ? look_at_objects<1> : look_at_objects<3>;
    bd_cuda_follow(cuda, kernel, tiles + (size.height + scene.rows - 1) / scene.rows,
                   contact_threads, words * sizeof(uint32_t), size, work, scene, mirrors, tiles);
    return bd_cuda_launched("looking for contact shadows");
}
