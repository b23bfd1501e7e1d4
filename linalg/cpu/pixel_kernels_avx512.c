/* The pixel kernels for -march=x86-64-v4. */
#define BD_ISA avx512
#include "linalg/cpu/pixel_kernels.inc"
