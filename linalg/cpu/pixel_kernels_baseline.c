/* The pixel kernels for the machine's baseline. */
#define BD_ISA baseline
#include "linalg/cpu/pixel_kernels.inc"
