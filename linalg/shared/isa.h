/* Private to the kernels: the instruction set that a file is compiled for. The build compiles every
 * group of kernels once for each instruction set (linalg/CMakeLists.txt), with BD_ISA one of the
 * names below. */
#ifndef BD_LINALG_SHARED_ISA_H
#define BD_LINALG_SHARED_ISA_H

/* For tools that read a file without the build's flags. */
#ifndef BD_ISA
#define BD_ISA baseline
#endif

#define BD_JOIN_EXPANDED(a, b) a##b
#define BD_JOIN(a, b) BD_JOIN_EXPANDED(a, b)

/* NAME_avx2: what a file defines under this name for its instruction set. */
#define BD_ISA_SYMBOL(name) BD_JOIN(name, BD_JOIN(_, BD_ISA))

#define BD_ISA_NUMBER_baseline 1
#define BD_ISA_NUMBER_avx2 2
#define BD_ISA_NUMBER_avx512 3
#define BD_ISA_NUMBER BD_JOIN(BD_ISA_NUMBER_, BD_ISA)

/* BD_VECTOR: floats in a vector. BD_REGISTERS: vector registers. */
#if BD_ISA_NUMBER == BD_ISA_NUMBER_avx512
#define BD_VECTOR 16
#define BD_REGISTERS 32
#elif BD_ISA_NUMBER == BD_ISA_NUMBER_avx2
#define BD_VECTOR 8
#define BD_REGISTERS 16
#elif BD_ISA_NUMBER == BD_ISA_NUMBER_baseline /* 128 bits, which all 64-bit targets have */
#define BD_VECTOR 4
#ifdef __aarch64__
#define BD_REGISTERS 32
#else
#define BD_REGISTERS 16
#endif
#else
#error "BD_ISA is none of the instruction sets above"
#endif

#define BD_INLINE static inline __attribute__((always_inline))

#endif
