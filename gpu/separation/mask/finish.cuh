/* Private to the mask clean-up: its last step, on whole rows, and the dilation of a picture. */
#ifndef BD_GPU_SEPARATION_MASK_FINISH_CUH
#define BD_GPU_SEPARATION_MASK_FINISH_CUH

#include "gpu/separation/mask/bytes.cuh"
#include "gpu/separation/mask/contact_shadow.cuh"
#include "gpu/separation/mask/mask.h"
#include "gpu/separation/mask/tile.cuh"
#include "separation/shared/mask.h"

/* A dilation takes steps, after each of which a barrier is. A step reaches so many times as far as
 * the last. */
enum { spread_times = 4 };

/* Dilates rows of `pitch` words by `radius` columns in shared memory, for whole blocks. memory is
 * [2][2][words]: two copies in turn of what pixels spread to the right (0) and to the left (1), the
 * first of which both hold the picture on entry, after a barrier. Returns the copy whose two sides
 * make up the result. */
static __device__ inline int spread_columns(uint32_t *memory, int words, int pitch, int radius)
{
    int now = 0;
    for (int done = 0; done < radius;) {
        /* Pixels spread by 0 .. done so far; the same three times more, each moved on by at most
         * one more than the last. */
        const int after = min(spread_times * (done + 1) - 1, radius);
        const uint32_t *left = memory + now * 2 * words, *right = left + words;
        uint32_t *next = memory + (1 - now) * 2 * words;
        for (int k = threadIdx.x; k < words; k += blockDim.x) {
            int i = k % pitch;
            uint32_t to_right = left[k], to_left = right[k];
#pragma unroll
            for (int time = 1; time < spread_times; time++) {
                const int step = min(time * (done + 1), after - done);
                const int whole = step / 32, part = step % 32;
                uint32_t far = i - whole - 1 >= 0 ? left[k - whole - 1] : 0;
                uint32_t near = i - whole >= 0 ? left[k - whole] : 0;
                to_right |= __funnelshift_l(far, near, part);
                near = i + whole < pitch ? right[k + whole] : 0;
                far = i + whole + 1 < pitch ? right[k + whole + 1] : 0;
                to_left |= __funnelshift_r(near, far, part);
            }
            next[k] = to_right;
            next[words + k] = to_left;
        }
        done = after;
        now = 1 - now;
        __syncthreads();
    }
    return now;
}

/* Rows of a block of spread_rows, and the most rows it reaches up and down: a larger radius is
 * taken in several goes. */
enum { spread_threads = 512, spread_out = 64, spread_most = 192 };

/* dst: src dilated by `radius` <= spread_most rows; as bits, or as bytes 0 and 1 (the other is
 * NULL). A block has tile_words words of spread_out rows, thread t word t % tile_words. */
static __global__ void __launch_bounds__(spread_threads)
    spread_rows(struct mask_size size, uint32_t *bits, uint8_t *bytes, const uint32_t *src,
                int radius, bool wide)
{
    enum { most = (spread_out + 2 * spread_most) * tile_words };
    __shared__ uint32_t memory[2][most];
    bd_cuda_await();
    bd_cuda_let_follow();
    int i = threadIdx.x % tile_words, x = blockIdx.x * tile_words + i;
    int top = blockIdx.y * spread_out;
    int window = 2 * radius + 1, rows = spread_out + window - 1;
    for (int r = threadIdx.x / tile_words; r < rows; r += spread_threads / tile_words) {
        int y = top - radius + r;
        memory[0][r * tile_words + i] =
            y >= 0 && y < size.height ? src[(int64_t)y * size.pitch + x] : 0;
    }
    __syncthreads();
    int now = 0;
    for (int done = 1; done < window;) {
        /* Row r has the union of rows r .. r + done - 1. */
        const int after = min(spread_times * done, window);
        rows = spread_out + window - after;
        for (int k = threadIdx.x; k < rows * tile_words; k += spread_threads) {
            uint32_t w = memory[now][k];
#pragma unroll
            for (int time = 1; time < spread_times; time++)
                w |= memory[now][k + min(time * done, after - done) * tile_words];
            memory[1 - now][k] = w;
        }
        done = after;
        now = 1 - now;
        __syncthreads();
    }
    for (int r = threadIdx.x / tile_words; r < spread_out; r += spread_threads / tile_words) {
        int y = top + r;
        uint32_t w = memory[now][r * tile_words + i];
        if (bytes) {
            int count = y < size.height ? size.width - 32 * x : 0;
            store_bytes(bytes + (int64_t)y * size.width + 32 * x, w, count, 1, wide);
        } else if (y < size.height) {
            bits[(int64_t)y * size.pitch + x] = w;
        }
    }
}

struct finish_job {
    struct mask_change change;   /* what is still to be done to the picture */
    struct contact_work contact; /* contact shadows and images, cut after that; all NULL: none */
    int rows;                    /* of a block */
    int radius;                  /* columns by which the guard is larger */
    bool wide;                   /* of the mask and both pictures of shadows */
};

enum { finish_threads = 512, finish_warps = finish_threads / 32 };

/* Rows of a block: at most a word a thread, with those above and below that trimming looks at.
 * Foreground lies in few rows. Blocks of few rows share it among the multiprocessors (640 x 480 and
 * 1920 x 1080 on an H100). */
static int finish_block_rows(struct mask_size size, bool trim)
{
    int rows = finish_threads / size.pitch - (trim ? 2 : 0);
    return rows < 1 ? 1 : rows > 4 ? 4 : rows;
}

/* What a block gets without asking. A limit that is asked for is the kernel's, not the plan's: one
 * by the size of a picture would fail the launches of plans for others. */
enum { finish_shared_most = 47 << 10 };

/* Shared memory of a block: [2][2][rows x pitch] words for spread_columns and, if edges are
 * trimmed, [rows + 2][pitch] of the mask before that. */
static size_t finish_shared(struct mask_size size, bool trim)
{
    size_t rows = (size_t)finish_block_rows(size, trim);
    return (4 * rows + (trim ? rows + 2 : 0)) * (size_t)size.pitch * sizeof(uint32_t);
}

/* The pixels of word i of `row` (in shared memory, with a row above and below) that have, at a side
 * or a corner, one that is not set. */
static __device__ inline uint32_t edge_bits(const uint32_t *row, int i, int pitch)
{
    uint32_t inner = ~0u;
#pragma unroll
    for (int r = -1; r <= 1; r++) {
        const uint32_t *at = row + r * pitch + i;
        uint32_t before = i ? at[-1] : 0, after = i + 1 < pitch ? at[1] : 0;
        inner &= *at & __funnelshift_l(before, *at, 1) & __funnelshift_r(*at, after, 1);
    }
    return row[i] & ~inner;
}

/* Of the pixels of column x in rows y - 1 .. y + 1: their largest difference, plus trim_touches if
 * one is plain background outside the mask. row: that of y of the mask, in shared memory. */
enum { trim_touches = 256 };

static __device__ inline int look_at_column(struct mask_size size,
                                            const struct bd_cuda_mask_pictures &pictures,
                                            const uint32_t *row, int x, int y)
{
    int most = 0, touches = 0;
    if (x < 0 || x >= size.width)
        return 0;
#pragma unroll
    for (int r = -1; r <= 1; r++) {
        if (y + r < 0 || y + r >= size.height)
            continue;
        int64_t at = (int64_t)(y + r) * size.width + x;
        bool set = row[r * size.pitch + x / 32] >> x % 32 & 1;
        most = max(most, (int)pictures.difference[at]);
        if (!set && pictures.raw[at] & bd_cuda_mask_plain)
            touches = trim_touches;
    }
    return most + touches;
}

/* The pixels of word i of row y of the mask that are mostly background: see
 * separation/shared/mask.h. A lane a pixel; `row` as above. The warp's lanes all get the word. */
static __device__ inline uint32_t trimmed_bits(struct mask_size size,
                                               const struct bd_cuda_mask_pictures &pictures,
                                               const uint32_t *row, int y, int i)
{
    int lane = threadIdx.x % 32, x = 32 * i + lane;
    int here = look_at_column(size, pictures, row, x, y), beyond = 0;
    if (lane == 0 || lane == 31)
        beyond = look_at_column(size, pictures, row, lane ? x + 1 : x - 1, y);
    int left = __shfl_up_sync(~0u, here, 1), right = __shfl_down_sync(~0u, here, 1);
    left = lane == 0 ? beyond : left;
    right = lane == 31 ? beyond : right;
    bool touches = (here | left | right) & trim_touches;
    int low = trim_touches - 1, largest = max(here & low, max(left & low, right & low));
    bool trim = row[i] >> lane & 1 && touches &&
                bd_mask_trim_of * (int)pictures.difference[(int64_t)y * size.width + x] <
                    bd_mask_trim_part * largest;
    return __ballot_sync(~0u, trim);
}

/* words[k] := the mask of the block's rows, with its edges trimmed; word k is k % pitch of row
 * k / pitch. words + total: [3][total] for use meanwhile, [total] of it for a list of words, the
 * rest of it free; whole: [rows + 2][pitch]. Ends with a barrier. */
static __device__ inline void finish_trimmed(struct mask_size size, const struct finish_job &job,
                                             const struct bd_cuda_mask_pictures &pictures,
                                             uint32_t *words, uint32_t *whole)
{
    __shared__ int listed;
    int total = job.rows * size.pitch, lane = threadIdx.x % 32;
    int top = blockIdx.x * job.rows;
    uint32_t *list = words + total;
    if (threadIdx.x == 0)
        listed = 0;
    for (int k = threadIdx.x; k - lane < total + 2 * size.pitch; k += finish_threads) {
        int y = top - 1 + k / size.pitch;
        bool inside = k < total + 2 * size.pitch && y >= 0 && y < size.height;
        uint32_t w = changed_word(size, job.change, y, k % size.pitch, inside);
        if (inside)
            w &= ~cut_word(size, job.contact, y, k % size.pitch);
        if (k < total + 2 * size.pitch)
            whole[k] = w;
    }
    __syncthreads();
    for (int k = threadIdx.x; k < total; k += finish_threads) {
        const uint32_t *row = whole + size.pitch + k / size.pitch * size.pitch;
        int i = k % size.pitch;
        words[k] = row[i];
        if (row[i] && edge_bits(row, i, size.pitch))
            list[atomicAdd(&listed, 1)] = (uint32_t)k;
    }
    __syncthreads();
    for (int n = threadIdx.x / 32; n < listed; n += finish_warps) {
        int k = (int)list[n], r = k / size.pitch;
        const uint32_t *row = whole + (r + 1) * size.pitch;
        uint32_t trimmed = trimmed_bits(size, pictures, row, top + r, k % size.pitch);
        if (lane == 0)
            words[k] &= ~trimmed;
    }
    __syncthreads();
}

/* The shadows of a word at `at` of the pictures, the first `count` pixels of which are in them,
 * with what is `cut` out of the mask; stored where that is asked for. For whole warps. */
static __device__ inline uint32_t finish_shadows(const struct finish_job &job,
                                                 const struct bd_cuda_mask_pictures &pictures,
                                                 int64_t at, int count, uint32_t cut)
{
    uint32_t w = pictures.shadow ? load_bytes(pictures.shadow + at, count, job.wide) : 0;
    if (!pictures.all_shadow)
        return w;
    w |= cut;
    if (pictures.shadow != pictures.all_shadow || __any_sync(~0u, cut != 0))
        store_bytes(pictures.all_shadow + at, w, count, 1, job.wide);
    return w;
}

/* The mask: 0 or 255; *foreground += set pixels; spread := mask and shadows, dilated by job.radius
 * columns. A block has job.rows whole rows, slot k of it word k % pitch of row k / pitch. Shared:
 * finish_shared. */
template <bool TRIM>
static __global__ void __launch_bounds__(finish_threads, 3)
    finish_rows(struct mask_size size, uint32_t *spread,
                const __grid_constant__ struct bd_cuda_mask_pictures pictures,
                const __grid_constant__ struct finish_job job)
{
    extern __shared__ uint32_t words[];
    __shared__ uint32_t warp_set[finish_warps];
    bd_cuda_await();
    bd_cuda_let_follow();
    int total = job.rows * size.pitch, lane = threadIdx.x % 32;
    uint32_t set = 0;
    if (TRIM)
        finish_trimmed(size, job, pictures, words, words + 4 * total);
    for (int k = threadIdx.x; k - lane < total; k += finish_threads) {
        int y = blockIdx.x * job.rows + k / size.pitch, i = k % size.pitch;
        bool inside = k < total && y < size.height;
        int64_t at = (int64_t)y * size.width + 32 * i;
        int count = inside ? size.width - 32 * i : 0;
        uint32_t cut = inside ? cut_word(size, job.contact, y, i) : 0;
        uint32_t w =
            TRIM ? k < total ? words[k] : 0 : changed_word(size, job.change, y, i, inside) & ~cut;
        set += (uint32_t)__popc(w);
        store_bytes(pictures.mask + at, w, count, 255, job.wide);
        w |= finish_shadows(job, pictures, at, count, cut);
        if (k < total)
            words[k] = words[total + k] = w;
    }
    set = __reduce_add_sync(~0u, set);
    if (lane == 0)
        warp_set[threadIdx.x / 32] = set;
    __syncthreads();
    if (threadIdx.x < 32) {
        set = lane < finish_warps ? warp_set[lane] : 0;
        set = __reduce_add_sync(~0u, set);
        if (lane == 0 && set)
            atomicAdd(pictures.foreground, (int)set);
    }
    const uint32_t *result =
        words + spread_columns(words, total, size.pitch, job.radius) * 2 * total;
    for (int k = threadIdx.x; k < total; k += finish_threads) {
        int y = blockIdx.x * job.rows + k / size.pitch, i = k % size.pitch;
        if (y < size.height)
            spread[(int64_t)y * size.pitch + i] =
                (result[k] | result[total + k]) & valid_bits(size, i);
    }
}

#endif
