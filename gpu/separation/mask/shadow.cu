/* The search for shadows on the GPU, in one kernel. A thread block has a tile and as much around it
 * as the search reaches, each row as 64 bits. Where no pixel has enough plausible neighbours, as in
 * most blocks of a usual frame, the block ends without reading frame and background. The plain
 * version is separation/cpu/shadow.c. */
#include "gpu/separation/mask/shadow.cuh"

#include "gpu/core/dependent_launch.cuh"

enum {
    shadow_reach = bd_shadow_reach,
    shadow_side = 2 * shadow_reach + 1,
    /* A pixel is shadow by a certain pixel within reach, which is certain by those within its
       reach. */
    shadow_halo = 2 * shadow_reach,
    shadow_columns = 64,                                    /* with the halo */
    shadow_rows = 40,                                       /* with the halo */
    shadow_tile_columns = shadow_columns - 2 * shadow_halo, /* 56 */
    shadow_tile_rows = shadow_rows - 2 * shadow_halo,       /* 32 */
    shadow_warps = 8,
    shadow_threads = 32 * shadow_warps
};

struct shadow_memory {
    uint64_t plausible[shadow_rows];
    uint64_t certain[shadow_rows];
    /* (f, f), (f, l), (l, l) of each pixel; then their sums over a row's `shadow_side` pixels. */
    uint32_t sums[3][shadow_rows][shadow_columns];
};

/* Of a tile, and its place in the picture: column 0 and row 0 of the halo. */
struct shadow_tile {
    int x, y, width, height;
};

/* The bits of `a`, lane by lane, and of `b`, whose lanes are columns 32 .. 63. For whole warps. */
static __device__ __forceinline__ uint64_t ballot_row(bool a, bool b)
{
    const uint32_t low = __ballot_sync(~0u, a), high = __ballot_sync(~0u, b);
    return (uint64_t)high << 32 | low;
}

static __device__ __forceinline__ bool is_plausible(const struct shadow_tile &tile,
                                                    const uint8_t *flags, int row, int column)
{
    const int x = tile.x + column, y = tile.y + row;
    return x >= 0 && y >= 0 && x < tile.width && y < tile.height &&
           flags[(int64_t)y * tile.width + x] & bd_cuda_mask_plausible;
}

/* How many plausible pixels the neighbourhood of (row, column) has, which lies in the halo. */
static __device__ __forceinline__ uint32_t count_around(const struct shadow_memory *m, int row,
                                                        int column)
{
    uint32_t count = 0;
#pragma unroll
    for (int r = -shadow_reach; r <= shadow_reach; r++)
        count += __popc((uint32_t)(m->plausible[row + r] >> (column - shadow_reach)) &
                        ((1u << shadow_side) - 1));
    return count;
}

/* The sum around (row, column), whose rows have been added up. */
static __device__ __forceinline__ uint32_t sum_around(const struct shadow_memory *m, int which,
                                                      int row, int column)
{
    uint32_t sum = 0;
#pragma unroll
    for (int r = -shadow_reach; r <= shadow_reach; r++)
        sum += m->sums[which][row + r][column];
    return sum;
}

/* Whether column c has a neighbourhood within the halo. */
static __device__ __forceinline__ bool has_neighbourhood(int column)
{
    return column >= shadow_reach && column < shadow_columns - shadow_reach;
}

/* m->sums of a row's pixels, 0 for those that are not plausible. By the warp that has the row. */
static __device__ __forceinline__ void take_products(struct shadow_memory *m,
                                                     const struct shadow_tile &tile,
                                                     const uint8_t *f, const uint8_t *l, int row)
{
    for (int column = threadIdx.x % 32; column < shadow_columns; column += 32) {
        uint32_t ff = 0, fl = 0, ll = 0;
        if (m->plausible[row] >> column & 1) {
            const int64_t at = 3 * ((int64_t)(tile.y + row) * tile.width + tile.x + column);
#pragma unroll
            for (int c = 0; c < 3; c++) {
                const uint32_t a = f[at + c], b = l[at + c];
                ff += a * a;
                fl += a * b;
                ll += b * b;
            }
        }
        m->sums[0][row][column] = ff;
        m->sums[1][row][column] = fl;
        m->sums[2][row][column] = ll;
    }
}

/* m->sums of a row, of pixels: over the neighbours in the row from now on. By the same warp, after
 * a barrier. */
static __device__ __forceinline__ void add_up_row(struct shadow_memory *m, int row)
{
#pragma unroll
    for (int which = 0; which < 3; which++) {
        uint32_t *sums = m->sums[which][row], total[2] = { 0, 0 };
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int column = threadIdx.x % 32 + 32 * half;
            if (has_neighbourhood(column))
                for (int d = -shadow_reach; d <= shadow_reach; d++)
                    total[half] += sums[column + d];
        }
        __syncwarp();
        sums[threadIdx.x % 32] = total[0];
        sums[threadIdx.x % 32 + 32] = total[1];
    }
}

static __device__ __forceinline__ bool is_certain(const struct shadow_memory *m, uint64_t among,
                                                  int row, int column)
{
    return among >> column & 1 &&
           bd_shadow_fits(sum_around(m, 0, row, column), sum_around(m, 1, row, column),
                          sum_around(m, 2, row, column), count_around(m, row, column),
                          bd_shadow_most_mean);
}

/* m->certain := the candidates: pixels with enough plausible neighbours, in rows that have a
 * neighbourhood. Returns whether the block has any. A warp takes every shadow_warps-th row. */
static __device__ __forceinline__ bool find_candidates(struct shadow_memory *m)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint64_t any = 0;
    for (int row = shadow_reach + warp; row < shadow_rows - shadow_reach; row += shadow_warps) {
        uint64_t among = m->plausible[row];
        if (among) {
            bool enough[2];
            for (int half = 0; half < 2; half++) {
                const int column = lane + 32 * half;
                enough[half] = has_neighbourhood(column) && among >> column & 1 &&
                               count_around(m, row, column) >= bd_shadow_least_count;
            }
            among = ballot_row(enough[0], enough[1]);
        }
        if (lane == 0)
            m->certain[row] = among;
        any |= among;
    }
    return __syncthreads_or(any != 0);
}

/* m->certain: those of the candidates that are certain. */
static __device__ __forceinline__ void find_certain(struct shadow_memory *m,
                                                    const struct shadow_tile &tile,
                                                    const uint8_t *f, const uint8_t *l)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int row = warp; row < shadow_rows; row += shadow_warps) {
        take_products(m, tile, f, l, row);
        __syncwarp();
        add_up_row(m, row);
    }
    __syncthreads();
    for (int row = shadow_reach + warp; row < shadow_rows - shadow_reach; row += shadow_warps) {
        const uint64_t among = m->certain[row];
        if (!among)
            continue;
        const uint64_t certain =
            ballot_row(is_certain(m, among, row, lane), is_certain(m, among, row, lane + 32));
        __syncwarp(); /* all lanes have read the candidates */
        if (lane == 0)
            m->certain[row] = certain;
    }
    __syncthreads();
}

/* The plausible pixels of a row that are near a certain one. */
static __device__ __forceinline__ uint64_t shadow_of_row(const struct shadow_memory *m, int row)
{
    uint64_t column = 0;
#pragma unroll
    for (int r = -shadow_reach; r <= shadow_reach; r++)
        column |= m->certain[row + r];
    uint64_t near = column;
#pragma unroll
    for (int d = 1; d <= shadow_reach; d++)
        near |= column << d | column >> d;
    return near & m->plausible[row];
}

static __global__ void __launch_bounds__(shadow_threads)
    find_shadows(uint8_t *shadow, const uint8_t *flags, const uint8_t *f, const uint8_t *l,
                 int width, int height)
{
    __shared__ struct shadow_memory m;
    bd_cuda_await();
    bd_cuda_let_follow();
    const struct shadow_tile tile = { (int)blockIdx.x * shadow_tile_columns - shadow_halo,
                                      (int)blockIdx.y * shadow_tile_rows - shadow_halo, width,
                                      height };
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int row = warp; row < shadow_rows; row += shadow_warps) {
        const uint64_t plausible = ballot_row(is_plausible(tile, flags, row, lane),
                                              is_plausible(tile, flags, row, lane + 32));
        if (lane == 0)
            m.plausible[row] = plausible;
    }
    __syncthreads();
    const bool any = find_candidates(&m);
    if (any)
        find_certain(&m, tile, f, l);
    for (int row = shadow_halo + warp; row < shadow_rows - shadow_halo; row += shadow_warps) {
        const uint64_t found = any ? shadow_of_row(&m, row) : 0;
        const int y = tile.y + row;
        for (int column = lane; column < shadow_columns - shadow_halo; column += 32) {
            const int x = tile.x + column;
            if (column >= shadow_halo && x < width && y < height)
                shadow[(int64_t)y * width + x] = found >> column & 1;
        }
    }
}

enum bd_status bd_cuda_shadow_find(struct bd_cuda *cuda, uint8_t *shadow, const uint8_t *flags,
                                   const uint8_t *f, const uint8_t *l, int width, int height)
{
    const dim3 tiles((unsigned)((width + shadow_tile_columns - 1) / shadow_tile_columns),
                     (unsigned)((height + shadow_tile_rows - 1) / shadow_tile_rows));
    bd_cuda_follow(cuda, find_shadows, tiles, shadow_threads, 0, shadow, flags, f, l, width,
                   height);
    return bd_cuda_launched("looking for shadows");
}
