/* Which instruction sets the CPU kernels of this build may use on this machine: for linalg/cpu and
 * separation/cpu. */
#ifndef BD_LINALG_SHARED_DISPATCH_H
#define BD_LINALG_SHARED_DISPATCH_H

enum bd_isa { BD_ISA_BASELINE, BD_ISA_AVX2, BD_ISA_AVX512, BD_ISA_COUNT };

/* Fills in `list`, the best one first, and returns how many there are. */
int bd_isa_list(enum bd_isa list[BD_ISA_COUNT]);

enum bd_isa bd_isa_best(void);

/* For people: "AVX-512", "AVX2", "baseline". */
const char *bd_isa_name(enum bd_isa isa);

#endif
