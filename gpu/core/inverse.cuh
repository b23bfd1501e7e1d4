/* Private to the CUDA backend: inverses of doubles without branches, from the approximations of the
 * hardware. */
#ifndef BD_GPU_CORE_INVERSE_CUH
#define BD_GPU_CORE_INVERSE_CUH

#include <cuda_runtime.h>

/* 1 / x and 1 / sqrt(x) to about an ulp, for an x > 0 that is a normal number and whose inverse
 * is one. There are no branches for other numbers. */
static __device__ __forceinline__ double gram_inverse(double x)
{
    double y;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    const double e = fma(-x, y, 1.0);
    return fma(fma(e, e, e), y, y);
}

static __device__ __forceinline__ double gram_inverse_root(double x)
{
    double y;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    const double e = fma(-x * y, y, 1.0);
    return fma(y * e, fma(0.375, e, 0.5), y);
}

#endif
