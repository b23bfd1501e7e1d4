/* Private to cholesky.cu and large.cu: a condition estimate is kept from launch to launch, in
 * data.scratch. */
#ifndef BD_GPU_GRAM_QR_LARGE_ESTIMATE_CUH
#define BD_GPU_GRAM_QR_LARGE_ESTIMATE_CUH

#include "gpu/gram_qr/estimate.cuh"

/* Loads the estimate from data.scratch, or with KEEP stores it there. */
template <bool KEEP, int THREADS, int PARTS>
static __device__ __forceinline__ void gram_move_estimate(struct gram_estimate<THREADS, PARTS> *e,
                                                          const struct gram_data &d)
{
    auto move = [](double &own, double &kept) { KEEP ? kept = own : own = kept; };
    if (!KEEP || threadIdx.x == 0) {
        move(e->greatest, d.scratch[0]);
        move(e->least, d.scratch[1]);
    }
#pragma unroll
    for (int part = 0; part < PARTS; part++) {
        const int k = part * THREADS + (int)threadIdx.x;
        double *kept = d.scratch + 2 + 3 * k;
        if (k < d.n) {
            move(e->large[part], kept[0]);
            move(e->small[part], kept[1]);
            move(e->norm[part], kept[2]);
        } else if (!KEEP) {
            e->large[part] = e->small[part] = e->norm[part] = 0;
        }
    }
}

#endif
