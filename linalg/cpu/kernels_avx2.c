/* The kernels for -march=x86-64-v3. */
#define BD_VECTOR 8     /* floats in a vector */
#define BD_REGISTERS 16 /* vector registers */
#define BD_ISA_NAME "AVX2"
#define BD_KERNELS bd_kernels_avx2
#include "linalg/cpu/kernels.inc"
