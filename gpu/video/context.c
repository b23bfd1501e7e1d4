/* To which context memory belongs. Only the driver knows, which the runtime has loaded; nothing of
 * this project is linked with it. */
#include <cuda.h>

#include "gpu/video/state.h"

struct driver {
    CUresult (*attribute)(void *data, CUpointer_attribute attribute, CUdeviceptr address);
    CUresult (*current)(CUcontext *context);
};

static cudaError_t find(void **function, const char *name)
{
    enum cudaDriverEntryPointQueryResult found;
#if CUDART_VERSION >= 12050
    return cudaGetDriverEntryPointByVersion(name, function, 12000, cudaEnableDefault, &found);
#else
    return cudaGetDriverEntryPoint(name, function, cudaEnableDefault, &found);
#endif
}

enum bd_status bd_cuda_is_own(const void *address, bool *own)
{
    static const char *const what = "looking for the driver's functions";
    struct driver driver = { 0 };
    CUcontext owner = NULL, current = NULL;
    *own = false;
    enum bd_status status =
        bd_cuda_check(find((void **)&driver.attribute, "cuPointerGetAttribute"), what);
    if (status == BD_OK)
        status = bd_cuda_check(find((void **)&driver.current, "cuCtxGetCurrent"), what);
    if (status != BD_OK || !driver.attribute || !driver.current)
        return status;
    /* Memory that belongs to no context is for all of them. */
    *own = driver.attribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, (CUdeviceptr)address) ==
               CUDA_SUCCESS &&
           driver.current(&current) == CUDA_SUCCESS && (!owner || owner == current);
    return BD_OK;
}
