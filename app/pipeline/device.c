#include "app/pipeline/device.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "app/pipeline/pipeline.h"
#ifdef BD_HAVE_CUDA
#include "gpu/video/device.h"
#endif

/* Whether the backend may be the GPU that FFmpeg decodes on, which is the first one. */
static bool is_first_gpu(const char *backend)
{
    const char *chosen = getenv("BACKDROP_DEVICE");
    if (backend && strcmp(backend, "cuda:0") == 0)
        return true;
    if (chosen && *chosen && strcmp(chosen, "0") != 0)
        return false;
    return !backend || strcmp(backend, "auto") == 0 || strcmp(backend, "cuda") == 0;
}

enum bd_status bd_open_device(struct bd_device **device, const struct bd_options *options,
                              unsigned wants)
{
    const unsigned pixels =
        BD_WANT_FOREGROUND | BD_WANT_OVERLAY | BD_WANT_COLOR | BD_WANT_INPUT | BD_WANT_DECODED;
    const char *hwaccel = options->hwaccel;
    *device = NULL;
    const bool possible = !hwaccel || strcmp(hwaccel, "cuda") == 0 || strcmp(hwaccel, "auto") == 0;
    if (!possible || (wants & pixels) || !is_first_gpu(options->backend))
        return BD_OK;
#ifdef BD_HAVE_CUDA
    enum bd_status status = bd_cuda_device_open(device, 0);
    if (!status && hwaccel) /* the reader makes a context */
        (*device)->ops->prepare(*device);
    return status;
#else
    return BD_OK;
#endif
}
