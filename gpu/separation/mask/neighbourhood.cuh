/* Private to shadow.cu and illumination.cu: a thread block's tile of a picture with a halo of
 * `HALO` pixels around it, one bit a pixel, and sums over the neighbourhoods of its pixels. Warps
 * take the rows in turn. */
#ifndef BD_GPU_SEPARATION_MASK_NEIGHBOURHOOD_CUH
#define BD_GPU_SEPARATION_MASK_NEIGHBOURHOOD_CUH

#include <stdint.h>

enum {
    neighbourhood_columns = 64, /* with the halo */
    neighbourhood_rows = 40,    /* with the halo */
    neighbourhood_warps = 8,
    neighbourhood_threads = 32 * neighbourhood_warps
};

/* A picture, and where the tile is in it: column 0 and row 0 of the halo. */
struct neighbourhood_tile {
    int x, y, width, height;
};

template <int HALO>
static __device__ __forceinline__ struct neighbourhood_tile neighbourhood_tile_at(int width,
                                                                                  int height)
{
    return { (int)blockIdx.x * (neighbourhood_columns - 2 * HALO) - HALO,
             (int)blockIdx.y * (neighbourhood_rows - 2 * HALO) - HALO, width, height };
}

/* Thread blocks for a picture. */
template <int HALO> static dim3 neighbourhood_tiles(int width, int height)
{
    const int columns = neighbourhood_columns - 2 * HALO, rows = neighbourhood_rows - 2 * HALO;
    return dim3((unsigned)((width + columns - 1) / columns),
                (unsigned)((height + rows - 1) / rows));
}

static __device__ __forceinline__ bool is_inside(const struct neighbourhood_tile &tile, int row,
                                                 int column)
{
    const int x = tile.x + column, y = tile.y + row;
    return x >= 0 && y >= 0 && x < tile.width && y < tile.height;
}

/* The place in the picture of a pixel that is inside. */
static __device__ __forceinline__ int64_t place_of(const struct neighbourhood_tile &tile, int row,
                                                   int column)
{
    return (int64_t)(tile.y + row) * tile.width + tile.x + column;
}

/* The bits of `a`, lane by lane, and of `b`, whose lanes are columns 32 .. 63. For whole warps. */
static __device__ __forceinline__ uint64_t ballot_row(bool a, bool b)
{
    const uint32_t low = __ballot_sync(~0u, a), high = __ballot_sync(~0u, b);
    return (uint64_t)high << 32 | low;
}

/* Whether a column is at least MARGIN columns from either side of the halo. */
template <int MARGIN> static __device__ __forceinline__ bool is_within(int column)
{
    return column >= MARGIN && column < neighbourhood_columns - MARGIN;
}

/* bits := the pixels for which test(row, column). */
template <class Test> static __device__ __forceinline__ void find_bits(uint64_t *bits, Test test)
{
    const int lane = threadIdx.x % 32;
    for (int row = threadIdx.x / 32; row < neighbourhood_rows; row += neighbourhood_warps) {
        const uint64_t found = ballot_row(test(row, lane), test(row, lane + 32));
        if (lane == 0)
            bits[row] = found;
    }
    __syncthreads();
}

/* to := the pixels of `from`, which it may be, for which test(row, column), at least MARGIN rows
 * and columns from the sides of the halo. Returns whether the block has any. */
template <int MARGIN, class Test>
static __device__ __forceinline__ bool keep_bits(uint64_t *to, const uint64_t *from, Test test)
{
    const int lane = threadIdx.x % 32;
    uint64_t any = 0;
    for (int row = MARGIN + threadIdx.x / 32; row < neighbourhood_rows - MARGIN;
         row += neighbourhood_warps) {
        uint64_t among = from[row];
        if (among) {
            bool kept[2];
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const int column = lane + 32 * half;
                kept[half] = among >> column & 1 && is_within<MARGIN>(column) && test(row, column);
            }
            among = ballot_row(kept[0], kept[1]);
        }
        __syncwarp(); /* all lanes have read `from` */
        if (lane == 0)
            to[row] = among;
        any |= among;
    }
    return __syncthreads_or(any != 0);
}

/* How many bits are set in the neighbourhood of (row, column), which lies in the halo. */
template <int REACH>
static __device__ __forceinline__ uint32_t count_around(const uint64_t *bits, int row, int column)
{
    uint32_t count = 0;
#pragma unroll
    for (int r = -REACH; r <= REACH; r++)
        count +=
            __popc((uint32_t)(bits[row + r] >> (column - REACH)) & ((1u << (2 * REACH + 1)) - 1));
    return count;
}

struct neighbourhood_products {
    uint32_t ff, fl, ll; /* f l may be negative: modulo 2^32 */
};

/* The products of each pixel; then their sums over the neighbours in the row. */
struct neighbourhood_sums {
    uint32_t of[3][neighbourhood_rows][neighbourhood_columns];
};

/* The sums of a row, of pixels: over the neighbours in the row from now on. By the warp that has
 * written them, after a barrier. */
template <int REACH>
static __device__ __forceinline__ void add_up_row(struct neighbourhood_sums *m, int row)
{
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int which = 0; which < 3; which++) {
        uint32_t *sums = m->of[which][row], total[2] = { 0, 0 };
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int column = lane + 32 * half;
            if (is_within<REACH>(column))
                for (int d = -REACH; d <= REACH; d++)
                    total[half] += sums[column + d];
        }
        __syncwarp();
        sums[lane] = total[0];
        sums[lane + 32] = total[1];
    }
}

/* m := the sums of products(row, column) along the rows. */
template <int REACH, class Products>
static __device__ __forceinline__ void add_up_rows(struct neighbourhood_sums *m, Products products)
{
    for (int row = threadIdx.x / 32; row < neighbourhood_rows; row += neighbourhood_warps) {
        for (int column = threadIdx.x % 32; column < neighbourhood_columns; column += 32) {
            const struct neighbourhood_products here = products(row, column);
            m->of[0][row][column] = here.ff;
            m->of[1][row][column] = here.fl;
            m->of[2][row][column] = here.ll;
        }
        __syncwarp();
        add_up_row<REACH>(m, row);
    }
    __syncthreads();
}

/* The sum around (row, column), whose rows have been added up. */
template <int REACH>
static __device__ __forceinline__ uint32_t sum_around(const struct neighbourhood_sums *m, int which,
                                                      int row, int column)
{
    uint32_t sum = 0;
#pragma unroll
    for (int r = -REACH; r <= REACH; r++)
        sum += m->of[which][row + r][column];
    return sum;
}

#endif
