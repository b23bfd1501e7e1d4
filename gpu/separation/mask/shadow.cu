/* The search for shadows on the GPU, in one kernel. A thread block has a tile and as much around it
 * as the search reaches, each row as 64 bits. Where each row has too few plausible pixels for one
 * to have enough in its five rows, as in most blocks of a usual frame, the block ends without
 * reading frame and background. The plain version is separation/cpu/shadow.c. */
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

/* Of a plausible pixel; 0 of others. */
static __device__ __forceinline__ struct neighbourhood_products
products_of(const struct shadow_memory *m, const struct neighbourhood_tile &tile, const uint8_t *f,
            const uint8_t *l, int row, int column)
{
    struct neighbourhood_products products = { 0, 0, 0, 0 };
    if (m->plausible[row] >> column & 1) {
        const int64_t at = 3 * place_of(tile, row, column);
        products.count = 1;
#pragma unroll
        for (int c = 0; c < 3; c++) {
            const uint32_t a = f[at + c], b = l[at + c];
            products.ff += a * a;
            products.fl += a * b;
            products.ll += b * b;
        }
    }
    return products;
}

/* Whether the block may have a certain pixel. For whole blocks; ends with a barrier. */
static __device__ __forceinline__ bool may_have_certain(const struct shadow_memory *m)
{
    const int row = threadIdx.x;
    return __syncthreads_or(
        row < neighbourhood_rows &&
        may_have<shadow_reach>(__popcll(m->plausible[row]), bd_shadow_least_count));
}

/* m->certain := the plausible pixels that are certain. */
static __device__ __forceinline__ void find_certain(struct shadow_memory *m,
                                                    const struct neighbourhood_tile &tile,
                                                    const uint8_t *f, const uint8_t *l)
{
    for (int row = threadIdx.x / 32; row < neighbourhood_rows; row += neighbourhood_warps)
        for (int column = threadIdx.x % 32; column < neighbourhood_columns; column += 32)
            put_products(&m->sums, row, column, products_of(m, tile, f, l, row, column));
    __syncthreads();
    add_up_columns<shadow_reach, shadow_reach>(&m->sums);
    keep_by_sums<shadow_reach, shadow_reach>(
        m->certain, m->plausible, &m->sums, [](const struct neighbourhood_products &sums) {
            return sums.count >= bd_shadow_least_count &&
                   bd_shadow_fits(sums.ff, sums.fl, sums.ll, sums.count, bd_shadow_most_mean);
        });
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
    find_bits(m.plausible,
              [&](int row, int column) { return is_plausible(tile, flags, row, column); });
    const bool any = may_have_certain(&m);
    if (any)
        find_certain(&m, tile, f, l);
    for (int row = shadow_halo + warp; row < neighbourhood_rows - shadow_halo;
         row += neighbourhood_warps) {
        const uint64_t found = any ? shadow_of_row(&m, row) : 0;
        for (int column = lane; column < neighbourhood_columns; column += 32)
            if (is_within<shadow_halo>(column) && is_inside(tile, row, column))
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
