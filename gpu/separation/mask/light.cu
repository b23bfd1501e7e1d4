/* The searches for shadows and for background in other light on the GPU. A thread block has a tile
 * and as much around it as a search reaches, each row as 64 bits. Of gray frames one kernel does
 * both. With colour they are two kernels: one needs so much shared memory that fewer thread blocks
 * fit, and takes longer. The plain versions are separation/cpu/shadow.c and illumination.c. */
#include "gpu/separation/mask/light.cuh"

#include "gpu/core/dependent_launch.cuh"
#include "gpu/separation/mask/illumination.cuh"
#include "gpu/separation/mask/shadow.cuh"

/* What a kernel looks for. */
enum light_search { light_shadows = 1, light_other = 2, light_both = 3 };

/* What the threads of a block share. CHANNELS: of the search for shadows; 1 where there is none,
 * for then it needs less than the other search. */
template <int CHANNELS> struct light_memory {
    uint64_t set[neighbourhood_rows];   /* foreground */
    uint64_t found[neighbourhood_rows]; /* shadows and other light, of the tile without its halo */
    union {
        struct shadow_memory<CHANNELS> shadows;
        struct illumination_memory other; /* once the shadows are found */
    };
};
static_assert(sizeof(struct shadow_memory<1>) <= sizeof(struct illumination_memory), "as above");

struct light_job {
    uint8_t *shadow;
    const uint8_t *flags, *f, *l;
    int width, height;
    int searches; /* enum light_search: what is wanted; a kernel does its own of these */
    bool add;     /* to what is in `shadow` */
    struct bd_cuda_shadow_colours colours;
};

/* The bits of a flag in the flags of a row, lane by lane. */
static __device__ __forceinline__ uint64_t bits_of(const uint8_t flags[2], int flag)
{
    return ballot_row(flags[0] & flag, flags[1] & flag);
}

/* The foreground and, unless that is NULL, what may be grey shadow. For whole blocks; ends with a
 * barrier. */
static __device__ __forceinline__ void read_flags(uint64_t *set, uint64_t *plausible,
                                                  const uint8_t *flags,
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
        const uint64_t foreground = bits_of(read[r], bd_cuda_mask_set);
        const uint64_t grey = plausible ? bits_of(read[r], bd_cuda_mask_plausible) : 0;
        if (lane == 0)
            set[row] = foreground;
        if (lane == 0 && plausible)
            plausible[row] = grey;
    }
    __syncthreads();
}

/* HALO: of the search that reaches furthest. */
template <int CHANNELS, int SEARCHES, int HALO>
static __global__ void __launch_bounds__(neighbourhood_threads) find_light(struct light_job job)
{
    __shared__ struct light_memory<SEARCHES & light_shadows ? CHANNELS : 1> m;
    bd_cuda_await();
    bd_cuda_let_follow();
    const struct neighbourhood_tile tile = neighbourhood_tile_at<HALO>(job.width, job.height);
    const struct neighbourhood_input in = { tile, m.set, job.f, job.l };
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint64_t *plausible = NULL;
    if constexpr (CHANNELS == 3 && SEARCHES & light_shadows)
        plausible = m.shadows.plausible;
    if (threadIdx.x < neighbourhood_rows)
        m.found[threadIdx.x] = 0;
    read_flags(m.set, plausible, job.flags, tile);
    if constexpr (SEARCHES & light_shadows)
        if (job.searches & light_shadows)
            find_shadows<CHANNELS, HALO>(&m.shadows, in, job.colours, m.found);
    if constexpr (SEARCHES & light_other)
        if (job.searches & light_other)
            find_other_light<CHANNELS>(&m.other, in, m.found);
    for (int row = HALO + warp; row < neighbourhood_rows - HALO; row += neighbourhood_warps)
        for (int column = lane; column < neighbourhood_columns; column += 32) {
            const bool found = m.found[row] >> column & 1;
            if (is_within<HALO>(column) && is_inside(tile, row, column) && (found || !job.add))
                job.shadow[place_of(tile, row, column)] = found;
        }
}

template <int CHANNELS, int SEARCHES>
static enum bd_status launch(struct bd_cuda *cuda, const struct light_job *job)
{
    constexpr int halo = SEARCHES & light_other ? (int)illumination_halo : (int)shadow_halo;
    bd_cuda_follow(cuda, find_light<CHANNELS, SEARCHES, halo>,
                   neighbourhood_tiles<halo>(job->width, job->height), neighbourhood_threads, 0,
                   *job);
    return bd_cuda_launched("looking for shadows and other light");
}

enum bd_status bd_cuda_light_find(struct bd_cuda *cuda, uint8_t *shadow,
                                  const struct bd_cuda_shadow_colours *colours, bool other_light,
                                  const uint8_t *flags, const uint8_t *f, const uint8_t *l,
                                  int width, int height, int channels)
{
    struct light_job job = { shadow, flags, f, l, width, height, 0, false, {} };
    job.searches = (colours ? light_shadows : 0) | (other_light ? light_other : 0);
    if (colours)
        job.colours = *colours;
    if (channels == 1)
        return launch<1, light_both>(cuda, &job);
    enum bd_status status = colours ? launch<3, light_shadows>(cuda, &job) : BD_OK;
    job.add = colours != NULL;
    return status == BD_OK && other_light ? launch<3, light_other>(cuda, &job) : status;
}
