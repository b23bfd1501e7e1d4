/* The search for shadows on the GPU, in one kernel. A thread block has a tile and as much around it
 * as the search reaches, each row as 64 bits. Where no pixel has enough plausible neighbours, as in
 * most blocks of a usual frame, the block ends without reading frame and background. The plain
 * version is separation/cpu/shadow.c. */
#include "gpu/separation/mask/shadow.cuh"

#include "gpu/core/dependent_launch.cuh"
#include "gpu/separation/mask/neighbourhood.cuh"

enum {
    shadow_reach = bd_shadow_reach,
    /* A pixel is shadow by a certain pixel within reach, which is certain by those within its
       reach. */
    shadow_halo = 2 * shadow_reach
};

struct shadow_memory {
    uint64_t plausible[neighbourhood_rows];
    uint64_t certain[neighbourhood_rows];
    struct neighbourhood_sums sums;
};

static __device__ __forceinline__ bool is_plausible(const struct neighbourhood_tile &tile,
                                                    const uint8_t *flags, int row, int column)
{
    return is_inside(tile, row, column) &&
           flags[place_of(tile, row, column)] & bd_cuda_mask_plausible;
}

/* m->sums of a row's pixels, 0 for those that are not plausible. By the warp that has the row. */
static __device__ __forceinline__ void take_products(struct shadow_memory *m,
                                                     const struct neighbourhood_tile &tile,
                                                     const uint8_t *f, const uint8_t *l, int row)
{
    for (int column = threadIdx.x % 32; column < neighbourhood_columns; column += 32) {
        uint32_t ff = 0, fl = 0, ll = 0;
        if (m->plausible[row] >> column & 1) {
            const int64_t at = 3 * place_of(tile, row, column);
#pragma unroll
            for (int c = 0; c < 3; c++) {
                const uint32_t a = f[at + c], b = l[at + c];
                ff += a * a;
                fl += a * b;
                ll += b * b;
            }
        }
        m->sums.of[0][row][column] = ff;
        m->sums.of[1][row][column] = fl;
        m->sums.of[2][row][column] = ll;
    }
}

static __device__ __forceinline__ bool is_certain(const struct shadow_memory *m, uint64_t among,
                                                  int row, int column)
{
    return among >> column & 1 &&
           bd_shadow_fits(sum_around<shadow_reach>(&m->sums, 0, row, column),
                          sum_around<shadow_reach>(&m->sums, 1, row, column),
                          sum_around<shadow_reach>(&m->sums, 2, row, column),
                          count_around<shadow_reach>(m->plausible, row, column),
                          bd_shadow_most_mean);
}

/* m->certain := the candidates: pixels with enough plausible neighbours, in rows that have a
 * neighbourhood. Returns whether the block has any. A warp takes every neighbourhood_warps-th row.
 */
static __device__ __forceinline__ bool find_candidates(struct shadow_memory *m)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint64_t any = 0;
    for (int row = shadow_reach + warp; row < neighbourhood_rows - shadow_reach;
         row += neighbourhood_warps) {
        uint64_t among = m->plausible[row];
        if (among) {
            bool enough[2];
            for (int half = 0; half < 2; half++) {
                const int column = lane + 32 * half;
                enough[half] =
                    has_neighbourhood<shadow_reach>(column) && among >> column & 1 &&
                    count_around<shadow_reach>(m->plausible, row, column) >= bd_shadow_least_count;
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
                                                    const struct neighbourhood_tile &tile,
                                                    const uint8_t *f, const uint8_t *l)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int row = warp; row < neighbourhood_rows; row += neighbourhood_warps) {
        take_products(m, tile, f, l, row);
        __syncwarp();
        add_up_row<shadow_reach>(&m->sums, row);
    }
    __syncthreads();
    for (int row = shadow_reach + warp; row < neighbourhood_rows - shadow_reach;
         row += neighbourhood_warps) {
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

static __global__ void __launch_bounds__(neighbourhood_threads)
    find_shadows(uint8_t *shadow, const uint8_t *flags, const uint8_t *f, const uint8_t *l,
                 int width, int height)
{
    __shared__ struct shadow_memory m;
    bd_cuda_await();
    bd_cuda_let_follow();
    const struct neighbourhood_tile tile = neighbourhood_tile_at<shadow_halo>(width, height);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int row = warp; row < neighbourhood_rows; row += neighbourhood_warps) {
        const uint64_t plausible = ballot_row(is_plausible(tile, flags, row, lane),
                                              is_plausible(tile, flags, row, lane + 32));
        if (lane == 0)
            m.plausible[row] = plausible;
    }
    __syncthreads();
    const bool any = find_candidates(&m);
    if (any)
        find_certain(&m, tile, f, l);
    for (int row = shadow_halo + warp; row < neighbourhood_rows - shadow_halo;
         row += neighbourhood_warps) {
        const uint64_t found = any ? shadow_of_row(&m, row) : 0;
        for (int column = lane; column < neighbourhood_columns - shadow_halo; column += 32)
            if (column >= shadow_halo && is_inside(tile, row, column))
                shadow[place_of(tile, row, column)] = found >> column & 1;
    }
}

enum bd_status bd_cuda_shadow_find(struct bd_cuda *cuda, uint8_t *shadow, const uint8_t *flags,
                                   const uint8_t *f, const uint8_t *l, int width, int height)
{
    bd_cuda_follow(cuda, find_shadows, neighbourhood_tiles<shadow_halo>(width, height),
                   neighbourhood_threads, 0, shadow, flags, f, l, width, height);
    return bd_cuda_launched("looking for shadows");
}
