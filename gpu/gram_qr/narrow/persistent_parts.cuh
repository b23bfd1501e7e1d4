/* Private to persistent.cu and persistent_lead.cuh: what the thread blocks share, where it is,
 * and how their sums become G. */
#ifndef BD_GPU_GRAM_QR_NARROW_PERSISTENT_PARTS_CUH
#define BD_GPU_GRAM_QR_NARROW_PERSISTENT_PARTS_CUH

#include "gpu/gram_qr/narrow/narrow.cuh"
#include "gpu/gram_qr/narrow/rows.cuh"
#include "gpu/gram_qr/narrow/words.cuh"

enum {
    most_passes = 2,
    tile_rows = 32 /* that a warp takes at a time */
};

/* What block 0 commands the others, in the lower half of a word; the upper half has the begins
 * of blocks of T. */
enum {
    command_products = 3, /* by how many T rows of V are to be multiplied */
    command_last = 4,     /* and to be written, in the last sweep */
    command_form = 8,     /* which forms G of them as well */
    command_single = 16   /* the last T is for products in float32 */
};

/* By value to the kernels. */
struct persistent_step {
    struct gram_data data;
    struct gram_factor_step factor; /* of the first pass */
    struct gram_record *records;
    void *v, *r; /* r may be NULL */
    int64_t m, ldv, ldr;
    enum bd_type type;
    int passes; /* at most so many, including those that other kernels make */
    int kept;   /* tiles that a block keeps */
    struct persistent_word *words;
    struct gram_persistent_outcome *outcome; /* the host's */
};

/* At the beginning of dynamic shared memory. Behind it is scratch memory, for rows of the warps
 * or for R, then T of each pass, the scales that belong to them, and rows of V. */
struct __align__(16) persistent_control
{
    unsigned long long command;
    struct gram_decision decision;
    double inverse[gram_narrow_most];
    int bad; /* the last pass, in block 0 */
    unsigned short places[gram_narrow_most * (gram_narrow_most + 1) / 2]; /* place_of */
};

extern __shared__ __align__(16) unsigned char persistent_shared[];

/* Bytes of the part after the control. */
static __host__ __device__ constexpr int scratch_bytes(int n)
{
    const int staged = all_warps * bd_rows_stage(n) * (int)sizeof(double);
    const int joined = all_warps / 2 * (bd_rows_groups(n) == 3 ? 4 : 6) * 1024;
    const int factor = (int)sizeof(struct gram_memory), most = staged > joined ? staged : joined;
    return ((most > factor ? most : factor) + 15) / 16 * 16;
}

/* Bytes before the rows. */
static __host__ __device__ constexpr int fixed_bytes(int n)
{
    return (int)sizeof(struct persistent_control) + scratch_bytes(n) +
           most_passes * n * (n + 1) * (int)sizeof(double);
}

static __device__ __forceinline__ struct persistent_control &control_of_block(void)
{
    return *reinterpret_cast<struct persistent_control *>(persistent_shared);
}

static __device__ __forceinline__ struct gram_memory &memory_of_block(void)
{
    return *reinterpret_cast<struct gram_memory *>(persistent_shared +
                                                   sizeof(struct persistent_control));
}

/* Elements of the upper triangle, column by column, and where number `e` of them is. */
static __host__ __device__ __forceinline__ int triangle_of(int n)
{
    return n * (n + 1) / 2;
}

static __device__ __forceinline__ void place_of(int e, int *row, int *col)
{
    const unsigned place = control_of_block().places[e];
    *row = (int)(place & 255);
    *col = (int)(place >> 8);
}

static __device__ __forceinline__ void make_places(int n)
{
    for (int j = threadIdx.x / 32; j < n; j += all_warps) {
        const int i = threadIdx.x % 32;
        if (i <= j)
            control_of_block().places[triangle_of(j) + i] = (unsigned short)(j << 8 | i);
    }
}

/* Where words are: the sums of each block, those of twelve blocks, and what block 0 sends: T,
 * the scales, and the command. */
static __host__ __device__ __forceinline__ int groups_of(int blocks)
{
    return (blocks + group_blocks - 1) / group_blocks;
}

static __host__ __device__ __forceinline__ int64_t command_at(int blocks, int n)
{
    return (int64_t)(blocks + groups_of(blocks)) * triangle_of(n);
}

static __host__ __device__ __forceinline__ int command_words(int n)
{
    return triangle_of(n) + n + 1;
}

/* G (n x n, ld n, both triangles, in block 0) := the sums of all warps of all blocks. */
template <int TILES, int GROUPS>
static __device__ __forceinline__ void reduce(const struct persistent_step &s, double *g,
                                              double (&sum)[TILES][4], double *stage, int number)
{
    using Slots = bd_gram_narrow_slots<GROUPS>;
    constexpr int HALF = all_warps / 2;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, block = blockIdx.x;
    const int blocks = gridDim.x, groups = groups_of(blocks), n = s.data.n, count = triangle_of(n);
    double2 *own = reinterpret_cast<double2 *>(stage) + warp % HALF * (Slots::count / 2) + lane;
    struct persistent_word *parts = s.words, *joined = s.words + (int64_t)blocks * count;
    int row, col;
    __syncthreads();
    if (warp >= HALF)
#pragma unroll
        for (int e = 0; e < TILES * 2; e++)
            own[e * 32] = make_double2(sum[e / 2][e % 2 * 2], sum[e / 2][e % 2 * 2 + 1]);
    __syncthreads();
    if (warp < HALF)
#pragma unroll
        for (int e = 0; e < TILES * 2; e++) {
            const double2 more = own[e * 32];
            own[e * 32] =
                make_double2(sum[e / 2][e % 2 * 2] + more.x, sum[e / 2][e % 2 * 2 + 1] + more.y);
        }
    __syncthreads();
    for (int e = threadIdx.x; e < count; e += threads) {
        place_of(e, &row, &col);
        const int slot = Slots::slot_of(row, col);
        double x = 0;
#pragma unroll
        for (int w = 0; w < HALF; w++)
            x += stage[w * Slots::count + slot];
        send_double(parts + (int64_t)block * count + e, x, number);
    }
    if (block >= groups)
        return;
    const int first = block * group_blocks, size = min(blocks - first, (int)group_blocks);
    for (int e = threadIdx.x; e < count; e += threads)
        send_double(joined + block * count + e,
                    add_up(parts + (int64_t)first * count + e, size, count, number), number);
    if (block > 0)
        return;
    __syncthreads(); /* g may be in the stage */
    for (int e = threadIdx.x; e < count; e += threads) {
        place_of(e, &row, &col);
        g[row + col * n] = g[col + row * n] = add_up(joined + e, groups, count, number);
    }
    __syncthreads();
}

#endif
