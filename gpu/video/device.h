/* Decoded pictures that stay in the memory of an NVIDIA GPU: a device of video/device.h. */
#ifndef BD_GPU_VIDEO_DEVICE_H
#define BD_GPU_VIDEO_DEVICE_H

#include "video/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* For GPU `number` (from 0, as CUDA counts), whose primary context it uses. Calls
 * nothing of CUDA: a GPU that is missing, or too old, shows when the first picture is taken.
 * *device is NULL on failure; device->ops->close ends it. BD_ERROR_MEMORY. */
enum bd_status bd_cuda_device_open(struct bd_device **device, int number);

#ifdef __cplusplus
}
#endif
#endif
