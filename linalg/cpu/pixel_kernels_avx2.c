/* The pixel kernels for -march=x86-64-v3. */
#define BD_ISA avx2
#include "linalg/cpu/pixel_kernels.inc"
