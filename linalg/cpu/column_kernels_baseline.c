/* The column kernels for any machine: vectors of 128 bits, which all 64-bit targets have. */
#define BD_VECTOR 4 /* floats in a vector */
#define BD_ISA_NAME "baseline"
#define BD_COLUMN_KERNELS bd_column_kernels_baseline
#include "linalg/cpu/column_kernels.inc"
