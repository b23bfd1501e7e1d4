/* The GPU in whose memory pictures stay. */
#ifndef BD_APP_PIPELINE_DEVICE_H
#define BD_APP_PIPELINE_DEVICE_H

#include "app/options.h"
#include "video/device.h"

/* Opens the GPU, where it may decode (--hwaccel) and separate (--backend) the input, and masks
 * alone are made of its pictures (`wants`: bits of enum bd_want). Else *device is NULL: then
 * pictures come to the host. Close it after all readers and frames. BD_ERROR_MEMORY. */
enum bd_status bd_open_device(struct bd_device **device, const struct bd_options *options,
                              unsigned wants);

#endif
