/* Private to persistent.cu: words that go from thread block to thread block of a kernel through
 * global memory. Each word carries the number of its pass, which the reader polls for, so that
 * no fences and no counters are needed (as the protocol LL of NCCL does between GPUs). The
 * 128-bit loads and stores need PTX ISA 8.3, which CUDA 12.3 has first. */
#ifndef BD_GPU_GRAM_QR_NARROW_WORDS_CUH
#define BD_GPU_GRAM_QR_NARROW_WORDS_CUH

#include <cstdint>

#include <cuda_runtime.h>

enum { group_blocks = 12 }; /* whose sums are received together */

struct __align__(16) persistent_word
{
    unsigned long long bits, number;
};

/* Both halves of a word are written as one, and read as one. */
static __device__ __forceinline__ void send(struct persistent_word *to, unsigned long long bits,
                                            int number)
{
    asm volatile("{.reg .b128 w; mov.b128 w, {%1, %2}; st.relaxed.gpu.global.b128 [%0], w;}"
                 :
                 : "l"(to), "l"(bits), "l"((unsigned long long)number)
                 : "memory");
}

static __device__ __forceinline__ void send_double(struct persistent_word *to, double x, int number)
{
    send(to, (unsigned long long)__double_as_longlong(x), number);
}

static __device__ __forceinline__ void poll(const struct persistent_word *from,
                                            unsigned long long *bits, unsigned long long *number)
{
    asm volatile("{.reg .b128 w; ld.relaxed.gpu.global.b128 w, [%2]; mov.b128 {%0, %1}, w;}"
                 : "=l"(*bits), "=l"(*number)
                 : "l"(from)
                 : "memory");
}

/* The bits of COUNT words, `apart` from each other, of which `count` are wanted; the others give
 * 0. All words are polled until all have come, since polling them one after the other would take
 * that many times as long. */
template <int COUNT>
static __device__ __forceinline__ void receive(unsigned long long bits[COUNT],
                                               const struct persistent_word *from, int count,
                                               int64_t apart, int number)
{
    bool missing;
    do {
        missing = false;
#pragma unroll
        for (int k = 0; k < COUNT; k++) {
            unsigned long long found = number;
            bits[k] = 0;
            if (k < count)
                poll(from + k * apart, &bits[k], &found);
            missing |= found != (unsigned long long)number;
        }
    } while (missing);
}

/* The sum of `count` numbers, `apart` words from each other. */
static __device__ __forceinline__ double add_up(const struct persistent_word *from, int count,
                                                int64_t apart, int number)
{
    double sum = 0;
#pragma unroll 1
    for (int first = 0; first < count; first += group_blocks) {
        unsigned long long bits[group_blocks];
        receive<group_blocks>(bits, from + first * apart, count - first, apart, number);
#pragma unroll
        for (int k = 0; k < group_blocks; k++)
            sum += __longlong_as_double((long long)bits[k]);
    }
    return sum;
}

#endif
