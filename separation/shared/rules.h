/* How the inline rules of this folder are declared: C compilers and nvcc, for the host and the GPU,
 * compile the same text, so that both backends decide alike to the bit. */
#ifndef BD_SEPARATION_SHARED_RULES_H
#define BD_SEPARATION_SHARED_RULES_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __CUDACC__
#define BD_RULE static __host__ __device__ __forceinline__
#else
#define BD_RULE static inline
#endif

#endif
