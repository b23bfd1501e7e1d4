/* Private to the C files of this room: a decoded picture in the memory of the GPU. */
#ifndef BD_GPU_VIDEO_PICTURE_H
#define BD_GPU_VIDEO_PICTURE_H

#include "gpu/video/kernels.h"
#include "gpu/video/state.h"

struct bd_cuda_picture {
    struct bd_yuv yuv;             /* first; its samples are those of `fetched` */
    struct bd_cuda_planes planes;  /* on the GPU, fetched or not */
    struct bd_cuda_block *samples; /* where they are */
    struct bd_cuda_block *fetched; /* the same bytes on the host; NULL until bd_yuv_fetch */
};

#endif
