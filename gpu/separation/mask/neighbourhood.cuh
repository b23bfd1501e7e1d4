/* Private to light.cu and its parts: a thread block's tile of a picture with a halo of `HALO`
 * pixels around it, one bit a pixel, and sums over the neighbourhoods of its pixels. */
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

/* What a block searches. */
struct neighbourhood_input {
    struct neighbourhood_tile tile;
    const uint64_t *set;  /* the tile's foreground, in shared memory */
    const uint8_t *f, *l; /* frame and background */
};

/* The bits of `a`, lane by lane, and of `b`, whose lanes are columns 32 .. 63. For whole warps. */
static __device__ __forceinline__ uint64_t ballot_row(bool a, bool b)
{
    const uint32_t low = __ballot_sync(~0u, a), high = __ballot_sync(~0u, b);
    return (uint64_t)high << 32 | low;
}

/* Whether a column, or a row, is at least MARGIN from either side of the halo. */
template <int MARGIN> static __device__ __forceinline__ bool is_within(int column)
{
    return column >= MARGIN && column < neighbourhood_columns - MARGIN;
}

template <int MARGIN> static __device__ __forceinline__ bool is_row_within(int row)
{
    return row >= MARGIN && row < neighbourhood_rows - MARGIN;
}

/* Whether a pixel may have `least` or more in its neighbourhood, if its rows have at most so many
 * each. */
template <int REACH> static __device__ __forceinline__ bool may_have(int in_row, int least)
{
    return in_row * (2 * REACH + 1) >= least;
}

/* Of a pixel, or sums over pixels: (f, f), below 2^23; (f, l), which may be negative, modulo 2^32;
 * (l, l); and how many pixels, or pairs, were added up, below 2^9. */
struct neighbourhood_products {
    uint32_t ff, fl, ll, count;
};

enum { neighbourhood_count_bit = 23 }; /* the lowest one of the count, above (f, f) */

/* Numbers of each pixel, such as the products, the count above (f, f); then their sums over the
 * neighbours in the column. Rows are an odd number of words apart: threads with a row each read
 * different banks. */
template <int NUMBERS = 3> struct neighbourhood_sums {
    uint32_t of[NUMBERS][neighbourhood_rows][neighbourhood_columns + 1];
};

/* The products of pixel (row, column) of the tile. */
template <int NUMBERS>
static __device__ __forceinline__ void put_products(struct neighbourhood_sums<NUMBERS> *m, int row,
                                                    int column,
                                                    const struct neighbourhood_products &products)
{
    m->of[0][row][column] = products.ff + (products.count << neighbourhood_count_bit);
    m->of[1][row][column] = products.fl;
    m->of[2][row][column] = products.ll;
}

/* m := the sums of what has been put there along the columns, of the first USED numbers, for rows
 * at least MARGIN from the sides of the halo. For whole blocks, after a barrier; ends with a
 * barrier. */
template <int REACH, int MARGIN, int USED = 3, int NUMBERS>
static __device__ __forceinline__ void add_up_columns(struct neighbourhood_sums<NUMBERS> *m)
{
    enum {
        groups = neighbourhood_threads / neighbourhood_columns,
        rows = (neighbourhood_rows - 2 * MARGIN) / groups
    };
    static_assert(rows * groups == neighbourhood_rows - 2 * MARGIN, "all rows");
    static_assert(MARGIN >= REACH, "all of a neighbourhood is in the tile");
    const int column = threadIdx.x % neighbourhood_columns;
    const int first = MARGIN + (int)threadIdx.x / neighbourhood_columns * rows;
    uint32_t sums[USED][rows];
#pragma unroll
    for (int which = 0; which < USED; which++) {
        uint32_t products[rows + 2 * REACH], sum = 0;
#pragma unroll
        for (int r = 0; r < rows + 2 * REACH; r++) {
            sum += products[r] = m->of[which][first - REACH + r][column];
            if (r >= 2 * REACH) {
                sums[which][r - 2 * REACH] = sum;
                sum -= products[r - 2 * REACH];
            }
        }
    }
    __syncthreads();
#pragma unroll
    for (int which = 0; which < USED; which++)
#pragma unroll
        for (int r = 0; r < rows; r++)
            m->of[which][first + r][column] = sums[which][r];
    __syncthreads();
}

/* to := the pixels of `from`, by the first three numbers: at least MARGIN columns from the sides of
 * the halo, for which test(sums over the neighbourhood). Rows nearer than MARGIN to the sides are
 * left as they are; `to` is not `from`. A thread has eight pixels of a row. For whole blocks, after
 * add_up_columns; ends with a barrier. */
template <int REACH, int MARGIN, int NUMBERS, class Test>
static __device__ __forceinline__ void keep_by_sums(uint64_t *to, const uint64_t *from,
                                                    const struct neighbourhood_sums<NUMBERS> *m,
                                                    Test test)
{
    enum { rows = neighbourhood_rows - 2 * MARGIN };
    for (int i = threadIdx.x; i < rows * neighbourhood_columns / 8; i += neighbourhood_threads) {
        const int row = MARGIN + i % rows, first = i / rows * 8;
        const unsigned among = (unsigned)(from[row] >> first) & 0xff;
        unsigned kept = 0;
        uint32_t sum[3] = { 0, 0, 0 };
#pragma unroll
        for (int k = -2 * REACH; among && k < 8; k++) {
            const int newest = first + k + REACH, oldest = first + k - REACH - 1;
#pragma unroll
            for (int which = 0; which < 3; which++) {
                if (newest >= 0 && newest < neighbourhood_columns)
                    sum[which] += m->of[which][row][newest];
                if (k > 0 && oldest >= 0)
                    sum[which] -= m->of[which][row][oldest];
            }
            if (k >= 0 && among >> k & 1 && is_within<MARGIN>(first + k) &&
                test({ sum[0] & ((1u << neighbourhood_count_bit) - 1), sum[1], sum[2],
                       sum[0] >> neighbourhood_count_bit }))
                kept |= 1u << k;
        }
        ((uint8_t *)&to[row])[first / 8] = (uint8_t)kept;
    }
    __syncthreads();
}

#endif
