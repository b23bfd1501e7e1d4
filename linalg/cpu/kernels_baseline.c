/* The kernels for any machine: vectors of 128 bits, which all 64-bit targets have. */
#define BD_VECTOR 4
#ifdef __aarch64__
#define BD_REGISTERS 32
#else
#define BD_REGISTERS 16
#endif
#define BD_ISA_NAME "baseline"
#define BD_KERNELS bd_kernels_baseline
#include "linalg/cpu/kernels.inc"
