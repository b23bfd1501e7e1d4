/* Private to cholesky.cu and large.cu: a condition estimate is kept from launch to launch, in
 * data.scratch. */
#ifndef BD_GPU_GRAM_QR_LARGE_ESTIMATE_CUH
#define BD_GPU_GRAM_QR_LARGE_ESTIMATE_CUH

#include "gpu/gram_qr/estimate.cuh"

/* Loads the estimate from data.scratch. */
template <int THREADS, int PARTS>
static __device__ __forceinline__ void gram_load_estimate(struct gram_estimate<THREADS, PARTS> *e,
                                                          const struct gram_data &d)
{
    e->greatest = d.scratch[0];
    e->least = d.scratch[1];
#pragma unroll
    for (int part = 0; part < PARTS; part++) {
        const int k = part * THREADS + (int)threadIdx.x;
        const double *own = d.scratch + 2 + 3 * k;
        const bool in = k < d.n;
        e->large[part] = in ? own[0] : 0.0;
        e->small[part] = in ? own[1] : 0.0;
        e->norm[part] = in ? own[2] : 0.0;
    }
}

/* Writes the estimate to data.scratch. */
template <int THREADS, int PARTS>
static __device__ __forceinline__ void
gram_keep_estimate(const struct gram_estimate<THREADS, PARTS> &e, const struct gram_data &d)
{
    if (threadIdx.x == 0) {
        d.scratch[0] = e.greatest;
        d.scratch[1] = e.least;
    }
#pragma unroll
    for (int part = 0; part < PARTS; part++) {
        const int k = part * THREADS + (int)threadIdx.x;
        double *own = d.scratch + 2 + 3 * k;
        if (k < d.n) {
            own[0] = e.large[part];
            own[1] = e.small[part];
            own[2] = e.norm[part];
        }
    }
}

#endif
