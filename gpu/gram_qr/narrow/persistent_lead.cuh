/* Private to persistent.cu: what block 0 does beside what all blocks do: R and T. */
#ifndef BD_GPU_GRAM_QR_NARROW_PERSISTENT_LEAD_CUH
#define BD_GPU_GRAM_QR_NARROW_PERSISTENT_LEAD_CUH

#include "gpu/gram_qr/narrow/factor.cuh"
#include "gpu/gram_qr/narrow/persistent_parts.cuh"

enum { command_threads = 32 * warps }; /* threads that make T and send it */

/* The command that follows pass `pass`. */
static __device__ __forceinline__ int decide(const struct persistent_step &s,
                                             const struct gram_record &record, int pass)
{
    const struct bd_gram_qr_pass command = gram_pass_of(record);
    const bool stays = record.bad || record.skipped;
    const bool good =
        s.factor.enough > 0 && bd_gram_good_enough(s.data.n, s.type, s.factor.enough, &command);
    const bool more = !stays && !good && pass + 1 < s.passes;
    const bool last = !more || pass + 1 == most_passes;
    return pass + !stays + (last ? command_last : 0) + (last && more ? command_form : 0) +
           (record.single && !stays ? command_single : 0);
}

/* Makes R and T of G, which is in b of the scratch memory, in pass `pass`, and sends the others
 * their command; by block 0. Not inlined: the code is long, and each of the kernels would have
 * it. */
static __device__ __noinline__ void factor_pass(const struct persistent_step &s, int pass)
{
    struct persistent_control &c = control_of_block();
    struct gram_memory &m = memory_of_block();
    struct gram_data d = s.data;
    struct gram_factor_step step = s.factor;
    const int n = d.n, triangle = triangle_of(n);
    struct persistent_word *words = s.words + command_at(gridDim.x, n);
    step.pass = pass;
    step.number += pass;
    step.shift = pass ? 0 : step.shift;
    d.g = m.b;
    d.inverse = c.inverse;
    d.decision = &c.decision;
    if (pass % 2) {
        d.total = s.data.other;
        d.other = s.data.total;
    }
    const struct gram_record record = gram_narrow_factor(m, d, step);
    const int what = decide(s, record, pass);
    if (threadIdx.x < command_threads) { /* the other threads still make R_total */
        const unsigned long long command = (unsigned long long)c.decision.starts[0] << 32 | what;
        if (threadIdx.x == 0)
            send(words + triangle + n, command, step.number);
        /* Where V stays as it is, T means nothing, but the others wait for it. */
        for (int e = threadIdx.x; e < triangle; e += command_threads) {
            int row, col;
            place_of(e, &row, &col);
            send_double(words + e, m.b[col * n + row], step.number);
        }
        if (threadIdx.x < n)
            send_double(words + triangle + threadIdx.x, c.inverse[threadIdx.x], step.number);
    }
    if (threadIdx.x == 0) { /* for the host, which waits for the kernel */
        c.bad = record.bad;
        s.records[pass] = record;
        s.records[pass].number = step.number;
        s.outcome->passes = pass + 1;
        s.outcome->more = (what & command_form) != 0;
    }
}

/* Writes R, rounded to its type, after so many passes; by the last warps of block 0, which made
 * it: these warps have rows only where there are many. */
static __device__ __forceinline__ void write_r(const struct persistent_step &s, int passes)
{
    constexpr int WARPS = 4, COLUMNS = gram_narrow_most / WARPS;
    const double *total = passes % 2 ? s.data.other : s.data.total;
    const int n = s.data.n, i = threadIdx.x % 32, first = threadIdx.x / 32 - (all_warps - WARPS);
    double x[COLUMNS];
    if (first < 0)
        return;
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) { /* all loads are independent */
        const int j = first + WARPS * c;
        x[c] = j < n && i <= j ? total[i + j * n] : 0.0;
    }
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
        const int j = first + WARPS * c;
        if (i < n && j < n && s.type == BD_F64)
            static_cast<double *>(s.r)[i + j * s.ldr] = x[c];
        else if (i < n && j < n)
            static_cast<float *>(s.r)[i + j * s.ldr] = (float)x[c];
    }
}

#endif
