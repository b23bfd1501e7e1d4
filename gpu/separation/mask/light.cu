/* The search for shadows and for background in other light on the GPU, in one kernel. A thread
 * block has a tile and as much around it as the searches reach, each row as 64 bits. */
#include "gpu/separation/mask/light.cuh"

#include "gpu/core/dependent_launch.cuh"
#include "gpu/separation/mask/illumination.cuh"
#include "gpu/separation/mask/shadow.cuh"

/* What the threads of a block share. */
struct light_memory {
    uint64_t set[neighbourhood_rows];   /* foreground */
    uint64_t found[neighbourhood_rows]; /* shadows and other light, of the tile without its halo */
    union {
        struct shadow_memory shadows;
        struct illumination_memory other; /* when shadows are found */
    };
};

struct light_job {
    uint8_t *shadow;
    const uint8_t *flags, *f, *l;
    int width, height;
    bool shadows, other_light;
    struct bd_cuda_shadow_colours colours;
};

/* The bits of a flag in the flags of a row, lane by lane. */
static __device__ __forceinline__ uint64_t bits_of(const uint8_t flags[2], int flag)
{
    return ballot_row(flags[0] & flag, flags[1] & flag);
}

/* The foreground and, with three channels, what may be grey shadow. For whole blocks; ends with a
 * barrier. */
template <int CHANNELS>
static __device__ __forceinline__ void read_flags(struct light_memory *m, const uint8_t *flags,
                                                  const struct neighbourhood_tile &tile)
{
    enum { rows = neighbourhood_rows / neighbourhood_warps };
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint8_t read[rows][2];
#pragma unroll
    for (int r = 0; r < rows; r++) /* all are read before the first is waited for */
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int row = warp + r * neighbourhood_warps, column = lane + 32 * half;
            read[r][half] =
                is_inside(tile, row, column) ? flags[place_of(tile, row, column)] : (uint8_t)0;
        }
#pragma unroll
    for (int r = 0; r < rows; r++) {
        const int row = warp + r * neighbourhood_warps;
        const uint64_t set = bits_of(read[r], bd_cuda_mask_set);
        const uint64_t plausible = CHANNELS == 3 ? bits_of(read[r], bd_cuda_mask_plausible) : 0;
        if (lane == 0) {
            m->set[row] = set;
            m->found[row] = 0;
            m->shadows.plausible[row] = plausible;
        }
    }
    __syncthreads();
}

template <int CHANNELS>
static __global__ void __launch_bounds__(neighbourhood_threads) find_light(struct light_job job)
{
    __shared__ struct light_memory m;
    bd_cuda_await();
    bd_cuda_let_follow();
    const struct neighbourhood_tile tile = neighbourhood_tile_at(job.width, job.height);
    const struct neighbourhood_input in = { tile, m.set, job.f, job.l };
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    read_flags<CHANNELS>(&m, job.flags, tile);
    if (job.shadows)
        find_shadows<CHANNELS>(&m.shadows, in, job.colours, m.found);
    if (job.other_light)
        find_other_light<CHANNELS>(&m.other, in, m.found);
    for (int row = neighbourhood_halo + warp; row < neighbourhood_rows - neighbourhood_halo;
         row += neighbourhood_warps)
        for (int column = lane; column < neighbourhood_columns; column += 32)
            if (is_within<neighbourhood_halo>(column) && is_inside(tile, row, column))
                job.shadow[place_of(tile, row, column)] = m.found[row] >> column & 1;
}

enum bd_status bd_cuda_light_find(struct bd_cuda *cuda, uint8_t *shadow,
                                  const struct bd_cuda_shadow_colours *colours, bool other_light,
                                  const uint8_t *flags, const uint8_t *f, const uint8_t *l,
                                  int width, int height, int channels)
{
    struct light_job job = { shadow, flags, f, l, width, height, colours != NULL, other_light, {} };
    if (colours)
        job.colours = *colours;
    auto *kernel = channels == 3 ? find_light<3> : find_light<1>;
    bd_cuda_follow(cuda, kernel, neighbourhood_tiles(width, height), neighbourhood_threads, 0, job);
    return bd_cuda_launched("looking for shadows and other light");
}
