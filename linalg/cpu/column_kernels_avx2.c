/* The column kernels for -march=x86-64-v3. */
#define BD_VECTOR 8 /* floats in a vector */
#define BD_ISA_NAME "AVX2"
#define BD_COLUMN_KERNELS bd_column_kernels_avx2
#include "linalg/cpu/column_kernels.inc"
