/* Private to the CUDA backend: block shapes, chosen by timing (tools/tune_caqr.c). */
#ifndef BD_GPU_QR_CAQR_TUNING_H
#define BD_GPU_QR_CAQR_TUNING_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Shape of a CAQR (plan.h says what the parts are). */
struct bd_cuda_caqr_shape {
    int panel_cols;     /* a multiple of 16, at most 128 */
    int64_t block_rows; /* rows of a leaf */
    int64_t arity;      /* Rs joined at a node, at least 2 */
    int64_t slab_rows; /* rows copied at a time by reduce where there are several panels; 0: as many
                          as a 64th of the GPU's memory holds */
};

/* The shape for m x n matrices on a GPU of this compute capability (10 * major + minor) with this
 * many multiprocessors. */
struct bd_cuda_caqr_shape bd_cuda_caqr_tuned(int capability, int sms, int64_t m, int64_t n);

#ifdef __cplusplus
}
#endif
#endif
