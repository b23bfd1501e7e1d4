/* Private to light.cu: the search for shadows in a thread block's tile. Where each row has too few
 * foreground pixels for one to have enough in its five rows, as in most tiles of a usual frame,
 * frame and background are not read. Colours are looked at first, grey shadows after them. In a
 * frame that is evidence, blocks add up their pairs in shared memory, and the last block to end
 * makes the kinds of colours for the frames that follow. The plain version is
 * separation/cpu/shadow.c. */
#ifndef BD_GPU_SEPARATION_MASK_SHADOW_CUH
#define BD_GPU_SEPARATION_MASK_SHADOW_CUH

#include <stddef.h>

#include "gpu/separation/mask/light.cuh"
#include "gpu/separation/mask/neighbourhood.cuh"
#include "separation/shared/mirror.h"

enum {
    shadow_reach = bd_shadow_reach,
    /* A pixel is shadow by a certain pixel within reach, which is certain by those within its
       reach. */
    shadow_halo = 2 * shadow_reach
};

/* Evidence of a tile. */
struct shadow_pairs {
    uint32_t pairs, ff, ll;
    int32_t fl;
};

/* For colours, each channel has a number: f, and above it l. The last number is how many dark
 * pixels there are, how many have colours of shadows, and the texture. */
enum { shadow_l_bit = 16, shadow_coloured_bit = 5, shadow_texture_bit = 10 };

/* A bit a pixel, and what the threads of a block share. */
template <int CHANNELS> struct shadow_memory {
    uint64_t plausible[neighbourhood_rows]; /* they may be grey shadow */
    uint64_t certain[neighbourhood_rows];   /* of these */
    uint64_t dark[neighbourhood_rows];      /* foreground with a colour of its own */
    uint64_t coloured[neighbourhood_rows];  /* of these: it is of shadows */
    uint64_t sure[neighbourhood_rows];      /* certain by their colour */
    uint64_t object[neighbourhood_rows];    /* dark, and not certain as grey ones */
    union {
        struct neighbourhood_sums<CHANNELS + 1> sums;
        struct bd_shadow_evidence evidence[bd_shadow_colour_count]; /* of the scene, at the end */
    };
    struct shadow_pairs pairs[bd_shadow_colour_count];
    uint8_t kinds[bd_shadow_colour_count]; /* of the scene */
    unsigned long long all_pairs;
    bool last;
};

/* The texture of the background, with colour, at a pixel. */
static __device__ __forceinline__ uint32_t texture(const struct neighbourhood_input &in, int row,
                                                   int column)
{
    const uint8_t *green = in.l + 3 * place_of(in.tile, row, column) + 1;
    const int right = is_inside(in.tile, row, column + 1) ? green[3] : *green;
    const int below = is_inside(in.tile, row + 1, column) ? green[3 * in.tile.width] : *green;
    return bd_shadow_texture(*green, right, below);
}

/* The numbers of a pixel. Returns the kind of its own colour; -1, with numbers of 0, if it is not
 * dark. */
template <int CHANNELS>
static __device__ __forceinline__ int put_colour(struct shadow_memory<CHANNELS> *m,
                                                 const struct neighbourhood_input &in, int row,
                                                 int column)
{
    uint32_t numbers[CHANNELS + 1] = {};
    int kind = -1;
    if (in.set[row] >> column & 1) {
        const int64_t at = CHANNELS * place_of(in.tile, row, column);
        uint32_t f[3], l[3];
#pragma unroll
        for (int c = 0; c < 3; c++) {
            f[c] = in.f[at + c % CHANNELS];
            l[c] = in.l[at + c % CHANNELS];
        }
        const int colour = bd_shadow_colour(f, l, 1);
        if (colour >= 0) {
            kind = m->kinds[colour];
#pragma unroll
            for (int c = 0; c < CHANNELS; c++)
                numbers[c] = f[c] + (l[c] << shadow_l_bit);
            numbers[CHANNELS] =
                1 + ((uint32_t)(kind == bd_shadow_of_shadows) << shadow_coloured_bit) +
                (CHANNELS == 3 ? texture(in, row, column) << shadow_texture_bit : 0);
        }
    }
#pragma unroll
    for (int i = 0; i <= CHANNELS; i++)
        m->sums.of[i][row][column] = numbers[i];
    return kind;
}

/* The pair of a pixel with another one becomes evidence of a colour. */
template <int CHANNELS>
static __device__ __forceinline__ void
add_pair(struct shadow_memory<CHANNELS> *m, const struct neighbourhood_input &in, int colour,
         int row, int column, int other_row, int other_column)
{
    if (!(in.set[other_row] >> other_column & 1))
        return;
    const int64_t from = CHANNELS * place_of(in.tile, row, column);
    const int64_t to = CHANNELS * place_of(in.tile, other_row, other_column);
    const int f = bd_illumination_of_pair(in.f + from, in.f + to, CHANNELS);
    const int l = bd_illumination_of_pair(in.l + from, in.l + to, CHANNELS);
    struct shadow_pairs *pairs = &m->pairs[colour];
    atomicAdd(&pairs->pairs, 1u);
    atomicAdd(&pairs->ff, (uint32_t)(f * f));
    atomicAdd(&pairs->fl, f * l);
    atomicAdd(&pairs->ll, (uint32_t)(l * l));
}

/* Whether a pixel is certain by its colour; *object: it is not certain as a grey shadow. learn: its
 * pairs become evidence. */
template <int CHANNELS, int HALO>
static __device__ __forceinline__ bool judge_colour(struct shadow_memory<CHANNELS> *m,
                                                    const struct neighbourhood_input &in, int row,
                                                    int column, bool learn, bool *object)
{
    uint32_t sums[CHANNELS + 1] = {}, f[3], l[3];
    *object = false;
    if (!is_within<HALO - shadow_reach>(column) || !(m->dark[row] >> column & 1))
        return false;
#pragma unroll
    for (int i = 0; i <= CHANNELS; i++)
#pragma unroll
        for (int d = -shadow_reach; d <= shadow_reach; d++)
            sums[i] += m->sums.of[i][row][column + d];
#pragma unroll
    for (int c = 0; c < 3; c++) {
        f[c] = sums[c % CHANNELS] & ((1u << shadow_l_bit) - 1);
        l[c] = sums[c % CHANNELS] >> shadow_l_bit;
    }
    const uint32_t few = (1u << shadow_coloured_bit) - 1, count = sums[CHANNELS] & few;
    const int colour = count < bd_shadow_least_count ? -1 : bd_shadow_colour(f, l, count);
    if (colour < 0)
        return false;
    const int kind = m->kinds[colour];
    *object = CHANNELS == 3 && kind == bd_shadow_of_objects &&
              sums[CHANNELS] >> shadow_texture_bit >= bd_shadow_least_texture * count;
    if (learn && count >= bd_shadow_least_around && is_within<HALO>(column) &&
        is_row_within<HALO>(row)) {
        add_pair<CHANNELS>(m, in, colour, row, column, row, column + 1);
        add_pair<CHANNELS>(m, in, colour, row, column, row + 1, column);
    }
    return kind == bd_shadow_of_shadows && m->coloured[row] >> column & 1 &&
           (sums[CHANNELS] >> shadow_coloured_bit & few) >= bd_shadow_least_count;
}

/* m->dark, m->coloured, m->sure and m->object. For whole blocks, after a barrier; ends with one. */
template <int CHANNELS, int HALO>
static __device__ __forceinline__ void
look_at_colours(struct shadow_memory<CHANNELS> *m, const struct neighbourhood_input &in, bool learn)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int row = warp; row < neighbourhood_rows; row += neighbourhood_warps) {
        const int left = put_colour<CHANNELS>(m, in, row, lane);
        const int right = put_colour<CHANNELS>(m, in, row, lane + 32);
        const uint64_t dark = ballot_row(left >= 0, right >= 0);
        const uint64_t coloured =
            ballot_row(left == bd_shadow_of_shadows, right == bd_shadow_of_shadows);
        if (lane == 0) {
            m->dark[row] = dark;
            m->coloured[row] = coloured;
        }
    }
    __syncthreads();
    add_up_columns<shadow_reach, HALO - shadow_reach, CHANNELS + 1>(&m->sums);
    enum { margin = HALO - shadow_reach };
    for (int row = margin + warp; row < neighbourhood_rows - margin; row += neighbourhood_warps) {
        bool objects[2];
        const bool left = judge_colour<CHANNELS, HALO>(m, in, row, lane, learn, &objects[0]);
        const bool right = judge_colour<CHANNELS, HALO>(m, in, row, lane + 32, learn, &objects[1]);
        const uint64_t sure = ballot_row(left, right);
        const uint64_t object = ballot_row(objects[0], objects[1]);
        if (lane == 0) {
            m->sure[row] = sure;
            m->object[row] = object;
        }
    }
    __syncthreads();
}

/* The evidence of the tile joins that of the scene. */
template <int CHANNELS>
static __device__ __forceinline__ void add_evidence(const struct shadow_memory<CHANNELS> *m,
                                                    struct bd_cuda_shadow_scene *scene)
{
    for (int i = threadIdx.x; i < bd_shadow_colour_count; i += neighbourhood_threads) {
        const struct shadow_pairs *one = &m->pairs[i];
        unsigned long long *all = (unsigned long long *)&scene->known.evidence[i];
        if (!one->pairs)
            continue;
        static_assert(offsetof(struct bd_shadow_evidence, ll) == 3 * sizeof(int64_t), "as below");
        atomicAdd(&all[0], (unsigned long long)one->pairs);
        atomicAdd(&all[1], (unsigned long long)one->ff);
        atomicAdd(&all[2], (unsigned long long)(long long)one->fl);
        atomicAdd(&all[3], (unsigned long long)one->ll);
    }
}

/* The kinds of colours, from the evidence of the scene, of which there is not too much afterwards.
 * By a whole block, when no other one reads or writes the scene. */
template <int CHANNELS>
static __device__ void make_kinds(struct shadow_memory<CHANNELS> *m,
                                  struct bd_cuda_shadow_scene *scene)
{
    const long long *from = (const long long *)scene->known.evidence;
    if (threadIdx.x == 0)
        m->all_pairs = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < bd_shadow_colour_count; i += neighbourhood_threads) {
        m->evidence[i] = { __ldcg(from + 4 * i), __ldcg(from + 4 * i + 1), __ldcg(from + 4 * i + 2),
                           __ldcg(from + 4 * i + 3) };
        atomicAdd(&m->all_pairs, (unsigned long long)m->evidence[i].pairs);
    }
    __syncthreads();
    const int64_t divisor = bd_shadow_divisor((int64_t)m->all_pairs);
    for (int i = threadIdx.x; i < bd_shadow_colour_count && divisor > 1;
         i += neighbourhood_threads) {
        bd_shadow_divide(&m->evidence[i], divisor);
        scene->known.evidence[i] = m->evidence[i];
    }
    __syncthreads();
    bool shadows = false, objects = false;
    for (int i = threadIdx.x; i < bd_shadow_colour_count; i += neighbourhood_threads) {
        const enum bd_shadow_kind kind = bd_shadow_judge(m->evidence, i);
        scene->known.kinds[i] = (uint8_t)kind;
        shadows |= kind == bd_shadow_of_shadows;
        objects |= kind == bd_shadow_of_objects;
    }
    shadows = __syncthreads_or(shadows);
    objects = __syncthreads_or(objects);
    if (threadIdx.x == 0) {
        scene->known.any = shadows << bd_shadow_of_shadows | objects << bd_shadow_of_objects;
        scene->done = 0;
    }
}

/* The end of a frame that is evidence. any: the block may have some. For whole blocks. */
template <int CHANNELS>
static __device__ void learn_colours(struct shadow_memory<CHANNELS> *m,
                                     struct bd_cuda_shadow_scene *scene, bool any)
{
    if (any)
        add_evidence(m, scene);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        m->last = atomicAdd(&scene->done, 1u) == gridDim.x * gridDim.y - 1;
    __syncthreads();
    if (m->last) {
        __threadfence();
        make_kinds(m, scene);
    }
}

/* Of a plausible pixel; 0 of others. */
static __device__ __forceinline__ struct neighbourhood_products
products_of_pixel(const struct shadow_memory<3> *m, const struct neighbourhood_input &in, int row,
                  int column)
{
    struct neighbourhood_products products = { 0, 0, 0, 0 };
    if (m->plausible[row] >> column & 1) {
        const int64_t at = 3 * place_of(in.tile, row, column);
        products.count = 1;
#pragma unroll
        for (int c = 0; c < 3; c++) {
            const uint32_t a = in.f[at + c], b = in.l[at + c];
            products.ff += a * a;
            products.fl += a * b;
            products.ll += b * b;
        }
    }
    return products;
}

/* Whether the block may have a certain pixel, if those `bits` may be. For whole blocks; ends with a
 * barrier. */
static __device__ __forceinline__ bool may_have_certain(const uint64_t *bits)
{
    const int row = threadIdx.x;
    return __syncthreads_or(row < neighbourhood_rows &&
                            may_have<shadow_reach>(__popcll(bits[row]), bd_shadow_least_count));
}

/* m->certain := the plausible pixels that are certain; but_objects: without m->object. */
template <int HALO>
static __device__ __forceinline__ void
find_certain(struct shadow_memory<3> *m, const struct neighbourhood_input &in, bool but_objects)
{
    for (int row = threadIdx.x / 32; row < neighbourhood_rows; row += neighbourhood_warps)
        for (int column = threadIdx.x % 32; column < neighbourhood_columns; column += 32)
            put_products(&m->sums, row, column, products_of_pixel(m, in, row, column));
    __syncthreads();
    add_up_columns<shadow_reach, HALO - shadow_reach>(&m->sums);
    keep_by_sums<shadow_reach, HALO - shadow_reach>(
        m->certain, m->plausible, &m->sums, [](const struct neighbourhood_products &sums) {
            return sums.count >= bd_shadow_least_count &&
                   bd_shadow_fits(sums.ff, sums.fl, sums.ll, sums.count, bd_shadow_most_mean);
        });
    const int row = threadIdx.x;
    if (but_objects && is_row_within<HALO - shadow_reach>(row))
        m->certain[row] &= ~m->object[row];
    __syncthreads();
}

/* The pixels of a row that are near one of the set `certain`. */
static __device__ __forceinline__ uint64_t near_row(const uint64_t *certain, int row)
{
    uint64_t column = 0;
#pragma unroll
    for (int r = -shadow_reach; r <= shadow_reach; r++)
        column |= certain[row + r];
    uint64_t near = column;
#pragma unroll
    for (int d = 1; d <= shadow_reach; d++)
        near |= column << d | column >> d;
    return near;
}

/* found := the shadows of the tile. With colour, m->plausible is there. For whole blocks; ends with
 * a barrier. */
template <int CHANNELS, int HALO>
static __device__ __forceinline__ void
find_shadows(struct shadow_memory<CHANNELS> *m, const struct neighbourhood_input &in,
             const struct bd_cuda_shadow_colours &colours, uint64_t *found)
{
    const bool learn =
        colours.learn && bd_mirror_is_evidence(colours.loaded ? *colours.loaded : colours.look);
    const bool with_colours = (learn || colours.scene->known.any) && may_have_certain(in.set);
    const bool grey = CHANNELS == 3 && may_have_certain(m->plausible);
    if (with_colours) {
        for (int i = threadIdx.x; i < bd_shadow_colour_count; i += neighbourhood_threads) {
            m->kinds[i] = colours.scene->known.kinds[i];
            m->pairs[i] = { 0, 0, 0, 0 };
        }
        __syncthreads();
        look_at_colours<CHANNELS, HALO>(m, in, learn);
    }
    if constexpr (CHANNELS == 3)
        if (grey)
            find_certain<HALO>(m, in, with_colours);
    const int row = threadIdx.x;
    if (is_row_within<HALO>(row)) {
        uint64_t here = grey ? near_row(m->certain, row) & m->plausible[row] : 0;
        if (with_colours)
            here |= near_row(m->sure, row) & m->coloured[row];
        found[row] = here;
    }
    if (learn)
        learn_colours(m, colours.scene, with_colours);
    __syncthreads();
}

#endif
