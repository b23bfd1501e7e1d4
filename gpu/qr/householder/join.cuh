/* Private to panel.cu: sums over the warps of a thread block, and over thread blocks that run at
 * the same time, 16 columns of each: the `join` of gpu/qr/caqr/panel.cuh.
 *
 * In a cluster, sums travel to the shared memory of all its blocks by asynchronous stores. An
 * mbarrier there counts them and knows how many are to come. Between blocks that are not a cluster,
 * a float travels in a word of 64 bits of global memory together with the number of its exchange,
 * so that the reader sees whether it has come: one way and no fence (the protocol LL of NCCL). Such
 * a word is written and read by single relaxed operations on all of it, so no other order is
 * needed.
 *
 * Even and odd exchanges use different memory. A block sends for exchange s + 2 after all its
 * warps have received all of s + 1, which every other block sent after all its warps had left
 * exchange s: so no block reads or waits for memory that is being overwritten. All blocks add up
 * in the same order, because they must agree to the last bit. */
#ifndef BD_GPU_QR_HOUSEHOLDER_JOIN_CUH
#define BD_GPU_QR_HOUSEHOLDER_JOIN_CUH

#include "gpu/qr/caqr/panel.cuh"

enum { house_warps = 8, house_threads = 32 * house_warps, house_most_cluster = 2 * house_warps };

struct house_shared {
    float sums[2][house_warps][caqr_inner]; /* by warp; of even and odd exchanges */
    float come[2][house_warps][caqr_inner]; /* from blocks w, w + 16, .. and w + 8, w + 24, .. */
    float row[2][caqr_inner], row_come[2][caqr_inner];
    /* In a cluster: by block, the last is row j; and the mbarriers that count them. */
    float inbox[2][house_most_cluster + 1][caqr_inner];
    uint64_t arrived[2];
};

static __device__ __forceinline__ uint64_t house_word(float x, uint32_t turn)
{
    return (uint64_t)turn << 32 | __float_as_uint(x);
}

static __device__ __forceinline__ bool house_is_of(uint64_t word, uint32_t turn)
{
    return (uint32_t)(word >> 32) == turn;
}

static __device__ __forceinline__ float house_value(uint64_t word)
{
    return __uint_as_float((uint32_t)word);
}

static __device__ __forceinline__ uint64_t house_peek(const uint64_t *word)
{
    uint64_t x;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(x) : "l"(word) : "memory");
    return x;
}

static __device__ __forceinline__ void house_post(uint64_t *word, float x, uint32_t turn)
{
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(word), "l"(house_word(x, turn))
                 : "memory");
}

/* What follows is for the blocks of a cluster; nothing calls it before Hopper. */
static __device__ __forceinline__ uint32_t house_shared_address(const void *x)
{
    return (uint32_t)__cvta_generic_to_shared(x);
}

/* Stores x where `to` is in the shared memory of another block, which counts it at `arrived`. */
static __device__ __forceinline__ void house_send(float *to, uint64_t *arrived, int block, float x)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile(
        "{ .reg .u32 to, arrived;\n"
        "mapa.shared::cluster.u32 to, %0, %2;\n"
        "mapa.shared::cluster.u32 arrived, %1, %2;\n"
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [to], %3, [arrived]; }" ::
            "r"(house_shared_address(to)),
        "r"(house_shared_address(arrived)), "r"(block), "r"(__float_as_uint(x))
        : "memory");
#endif
}

/* One thread says that so many bytes will come; the wait is over when they have. */
static __device__ __forceinline__ void house_expect(uint64_t *arrived, int bytes)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                     house_shared_address(arrived)),
                 "r"(bytes)
                 : "memory");
#endif
}

static __device__ __forceinline__ void house_receive(uint64_t *arrived, int phase)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    uint32_t done;
    do
        asm volatile("{ .reg .pred p;\n"
                     "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n"
                     "selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(house_shared_address(arrived)), "r"(phase & 1)
                     : "memory");
    while (!done);
#endif
}

static __device__ __forceinline__ void house_open(uint64_t *arrived)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n"
                 "fence.mbarrier_init.release.cluster;" ::"r"(house_shared_address(arrived))
                 : "memory");
#endif
}

/* All blocks of the cluster are here. */
static __device__ __forceinline__ void house_meet(void)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.release.aligned;\n"
                 "barrier.cluster.wait.acquire.aligned;" ::
                     : "memory");
#endif
}

struct house_join {
    struct house_shared *s;
    uint64_t *words; /* 2 x (blocks + 1) x 16, the last for row j; or NULL: a cluster */
    uint32_t turn;
    int w, lane, head; /* head: this warp has the top */
    int exchanges;     /* so far */

    /* begin() before the first exchange, end() after the last. In a cluster they make sure that
     * no block writes to a block that is not running. */
    __device__ __forceinline__ void begin()
    {
        /* Warps that are not there add zeros. */
        for (int i = (int)blockDim.x / 32 * caqr_inner + (int)threadIdx.x;
             i < house_warps * caqr_inner; i += (int)blockDim.x)
            (&s->sums[0][0][0])[i] = (&s->sums[1][0][0])[i] = 0;
        if (words || gridDim.x == 1)
            return;
        if (threadIdx.x < 2)
            house_open(&s->arrived[threadIdx.x]);
        house_meet();
    }

    __device__ __forceinline__ void end()
    {
        if (!words && gridDim.x > 1)
            house_meet();
    }

    template <class Op>
    __device__ __forceinline__ void join(float (&row)[2], float (&x)[2], const Op &op)
    {
        const int g = lane >> 2, p = (int)(turn & 1), blocks = (int)gridDim.x;
        if (lane % 4 == 0) {
            s->sums[p][w][g] = x[0];
            s->sums[p][w][g + 8] = x[1];
            if (head) {
                s->row[p][g] = row[0];
                s->row[p][g + 8] = row[1];
            }
        }
        __syncthreads();
        if (blocks == 1) {
            x[0] = add_up(s->sums[p], g, op);
            x[1] = add_up(s->sums[p], g + 8, op);
            row[0] = s->row[p][g];
            row[1] = s->row[p][g + 8];
        } else if (words) {
            exchange(p, blocks, op);
            __syncthreads();
            x[0] = add_up(s->come[p], g, op);
            x[1] = add_up(s->come[p], g + 8, op);
            row[0] = s->row_come[p][g];
            row[1] = s->row_come[p][g + 8];
        } else {
            exchange_in_cluster(row, x, p, blocks, op);
        }
        turn++;
        exchanges++;
    }

    /* A column of the parts of all warps. */
    template <class Op>
    __device__ __forceinline__ float add_up(const float (*parts)[caqr_inner], int column,
                                            const Op &op)
    {
        float x[house_warps];
#pragma unroll
        for (int i = 0; i < house_warps; i++)
            x[i] = parts[i][column];
#pragma unroll
        for (int step = house_warps / 2; step > 0; step /= 2)
#pragma unroll
            for (int i = 0; i < step; i++)
                x[i] = op(x[i], x[i + step]);
        return x[0];
    }

    /* Half a warp sends to one block, so that a warp sends to two at most; every warp receives
     * for itself. */
    template <class Op>
    __device__ __forceinline__ void exchange_in_cluster(float (&row)[2], float (&x)[2], int p,
                                                        int blocks, const Op &op)
    {
        const int g = lane >> 2, column = lane % caqr_inner;
        const int to = w + lane / caqr_inner * ((int)blockDim.x / 32);
        const float mine = add_up(s->sums[p], column, op);
        if (threadIdx.x == 0)
            house_expect(&s->arrived[p], (blocks + 1) * caqr_inner * (int)sizeof mine);
        if (to < blocks) {
            house_send(&s->inbox[p][blockIdx.x][column], &s->arrived[p], to, mine);
            if (blockIdx.x == 0)
                house_send(&s->inbox[p][house_most_cluster][column], &s->arrived[p], to,
                           s->row[p][column]);
        }
        house_receive(&s->arrived[p], exchanges >> 1);
        for (int first = 0; first < blocks; first += 4) {
            float a[4], b[4];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const int block = first + i < blocks ? first + i : first;
                a[i] = s->inbox[p][block][g];
                b[i] = s->inbox[p][block][g + 8];
            }
#pragma unroll
            for (int i = 0; i < 4; i++)
                if (first + i < blocks) {
                    x[0] = first + i ? op(x[0], a[i]) : a[i];
                    x[1] = first + i ? op(x[1], b[i]) : b[i];
                }
        }
        row[0] = s->inbox[p][house_most_cluster][g];
        row[1] = s->inbox[p][house_most_cluster][g + 8];
    }

    /* Warp 0 posts what the block has; half a warp takes the words of every 16th block, its lane
     * those of column lane % 16. */
    template <class Op> __device__ __forceinline__ void exchange(int p, int blocks, const Op &op)
    {
        const int column = lane % caqr_inner;
        uint64_t *box = words + (size_t)p * (blocks + 1) * caqr_inner;
        if (w == 0 && lane < caqr_inner)
            house_post(box + blockIdx.x * caqr_inner + column, add_up(s->sums[p], column, op),
                       turn);
        else if (w == 0 && blockIdx.x == 0)
            house_post(box + blocks * caqr_inner + column, s->row[p][column], turn);
        float sum = 0;
        for (int first = w + lane / caqr_inner * house_warps; first < blocks;
             first += 8 * house_warps) {
            uint64_t x[4];
            bool all;
            do {
                all = true;
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    const int block = first + 2 * i * house_warps;
                    x[i] = block < blocks ? house_peek(box + block * caqr_inner + column)
                                          : house_word(0, turn);
                    all = all && house_is_of(x[i], turn);
                }
            } while (!all);
#pragma unroll
            for (int i = 0; i < 4; i++)
                sum = op(sum, house_value(x[i]));
        }
        sum = op(sum, __shfl_xor_sync(~0u, sum, caqr_inner));
        if (lane < caqr_inner) {
            s->come[p][w][column] = sum;
        } else if (w == house_warps - 1) {
            uint64_t x;
            do
                x = house_peek(box + blocks * caqr_inner + column);
            while (!house_is_of(x, turn));
            s->row_come[p][column] = house_value(x);
        }
    }

    __device__ __forceinline__ void sum(float (&row)[2], float (&x)[2])
    {
        join(row, x, [](float a, float b) { return a + b; });
    }

    __device__ __forceinline__ void most(float (&x)[2])
    {
        float none[2] = { 0, 0 };
        join(none, x, [](float a, float b) { return fmaxf(a, b); });
    }
};

#endif
