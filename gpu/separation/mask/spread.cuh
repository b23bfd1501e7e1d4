/* Private to the mask clean-up: the dilation of a picture. */
#ifndef BD_GPU_SEPARATION_MASK_SPREAD_CUH
#define BD_GPU_SEPARATION_MASK_SPREAD_CUH

#include "gpu/separation/mask/bytes.cuh"
#include "gpu/separation/mask/tile.cuh"

/* Dilates rows of `pitch` words by `radius` columns in shared memory, for whole blocks. memory is
 * [2][2][words]: two copies in turn of what pixels spread to the right (0) and to the left (1), the
 * first of which both hold the picture on entry, after a barrier. Returns the copy whose two sides
 * make up the result. */
static __device__ inline int spread_columns(uint32_t *memory, int words, int pitch, int radius)
{
    int now = 0;
    for (int done = 0; done < radius;) {
        /* Pixels spread by 0 .. done so far; the same again, moved on by at most one more. */
        int step = min(done + 1, radius - done), whole = step / 32, part = step % 32;
        const uint32_t *left = memory + now * 2 * words, *right = left + words;
        uint32_t *next = memory + (1 - now) * 2 * words;
        for (int k = threadIdx.x; k < words; k += blockDim.x) {
            int i = k % pitch;
            uint32_t far = i - whole - 1 >= 0 ? left[k - whole - 1] : 0;
            uint32_t near = i - whole >= 0 ? left[k - whole] : 0;
            next[k] = left[k] | __funnelshift_l(far, near, part);
            near = i + whole < pitch ? right[k + whole] : 0;
            far = i + whole + 1 < pitch ? right[k + whole + 1] : 0;
            next[words + k] = right[k] | __funnelshift_r(near, far, part);
        }
        done += step;
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
        int step = min(done, window - done);
        done += step;
        rows = spread_out + window - done;
        for (int k = threadIdx.x; k < rows * tile_words; k += spread_threads)
            memory[1 - now][k] = memory[now][k] | memory[now][k + step * tile_words];
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

#endif
