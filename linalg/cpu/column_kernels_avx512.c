/* The column kernels for -march=x86-64-v4. */
#define BD_VECTOR 16 /* floats in a vector */
#define BD_ISA_NAME "AVX-512"
#define BD_COLUMN_KERNELS bd_column_kernels_avx512
#include "linalg/cpu/column_kernels.inc"
