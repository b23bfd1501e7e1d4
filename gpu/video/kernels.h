/* Private to this room: the kernels, as C calls them. Pointers are to memory of the GPU. */
#ifndef BD_GPU_VIDEO_KERNELS_H
#define BD_GPU_VIDEO_KERNELS_H

#include "gpu/cuda.h"
#include "video/yuv_rgb.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The samples of a picture, as in struct bd_yuv (video/yuv.h). */
struct bd_cuda_planes {
    const uint8_t *data[3]; /* Y, U, V */
    int64_t pitch[3];       /* bytes from one row of samples to the next */
    int shift_x, shift_y, step;
    struct bd_yuv_matrix matrix;
};

/* A struct bd_axis (video/axis.h). */
struct bd_cuda_axis {
    const int *first, *count, *at;
    const uint16_t *weights;
};

/* bd_area_average (video/area.c) of a picture. */
struct bd_cuda_shrinking {
    uint8_t *out;                /* result: height x width x channels, tight rows */
    int width, height, channels; /* of the result; 1 gray, 3 RGB */
    struct bd_cuda_planes planes;
    struct bd_cuda_axis columns, rows, chroma_columns, chroma_rows;
};

/* Enqueues the kernel on `stream`. BD_ERROR_BACKEND. */
enum bd_status bd_cuda_shrink(const struct bd_cuda_shrinking *shrinking, cudaStream_t stream);

/* Where a full-size row or column lies among the small ones (struct place of video/upscale.c). */
struct bd_cuda_place {
    int first, second; /* small ones that are interpolated */
    int fraction;      /* of `second`, 0 .. 256 */
};

/* bd_upscale_mask (video/upscale.c). */
struct bd_cuda_enlargement {
    uint8_t *out; /* result: height x pitch, of which height x width is the mask */
    int64_t pitch;
    uint8_t *local; /* workspace: small_height x small_width */
    int width, height, small_width, small_height;
    int channels;              /* of the background: 1 gray, 3 RGB */
    const uint8_t *background; /* small_height x small_width x channels */
    const uint8_t *difference; /* small_height x small_width */
    const uint8_t *mask;       /* small_height x small_width, 0 or 255 */
    int least;                 /* smallest threshold, 1 .. 255 */
    /* The small column and row that each full-size one falls into; pitch and height numbers. */
    const int *cell_columns, *cell_rows;
    const struct bd_cuda_place *columns, *rows; /* width, height */
    struct bd_cuda_planes input;                /* height x width pixels */
};

/* Enqueues both kernels on `stream`. `out` is 4-byte aligned, cell_columns 16-byte aligned, and the
 * pitch a multiple of 4. BD_ERROR_BACKEND. */
enum bd_status bd_cuda_enlarge(const struct bd_cuda_enlargement *enlargement, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
