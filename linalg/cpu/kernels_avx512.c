/* The kernels for -march=x86-64-v4. */
#define BD_VECTOR 16    /* floats in a vector */
#define BD_REGISTERS 32 /* vector registers */
#define BD_ISA_NAME "AVX-512"
#define BD_KERNELS bd_kernels_avx512
#include "linalg/cpu/kernels.inc"
