/* Private to the CUDA backend: what its files share. The only folder that includes CUDA headers. */
#ifndef BD_GPU_CUDA_H
#define BD_GPU_CUDA_H

#include <cuda_runtime.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "linalg/shared/ops.h"

#ifdef __cplusplus
#include <initializer_list>

extern "C" {
#endif

/* The state of an open cuda backend, or of a lane of one (backend->state). All work of either is
 * enqueued on its one stream, in order; whatever uses streams of its own joins them to this one by
 * events. Lanes are not ordered among each other. */
struct bd_cuda {
    int device;
    int sms;              /* multiprocessors */
    int capability;       /* 10 * major + minor, 80 or 90, of the GPU and of the code it runs */
    int threads;          /* of the host, that a slot may use besides; 0: as many as help */
    int shared_most;      /* bytes of shared memory that a block may ask for */
    size_t l2;            /* bytes */
    cudaStream_t stream;  /* non-blocking, of middle priority */
    struct bd_cuda *of;   /* the backend whose lane this is; NULL: it is none */
    struct bd_cuda *next; /* of a lane: another one of the same backend; of a backend: a lane */
    struct bd_pool *pool; /* of a backend: threads of the host for what its lanes do together; NULL
                             before it has two, and where one thread is to do */
    int crowded; /* 1: kernels of other lanes fill the GPU meanwhile (dependent_launch.cuh) */
};

/* The state of an open cuda backend, or of a lane. */
struct bd_cuda *bd_cuda_of(struct bd_backend *backend);

/* 10 * major + minor of the architecture whose code runs on the current device: less than the
 * device's capability where the library was compiled for older ones only; 0 where it cannot run. */
int bd_cuda_architecture(void);

/* BD_OK, or the failure of a CUDA call as a status and one line: `what` says what was being done.
 * cudaErrorMemoryAllocation is BD_ERROR_MEMORY, anything else BD_ERROR_BACKEND. */
enum bd_status bd_cuda_check(cudaError_t error, const char *what);

/* A stream's place among those of a GPU: what is waited for soon comes before the streams of
 * backends and lanes, and what only the end of a call waits for after them. */
enum bd_cuda_priority { bd_cuda_soon, bd_cuda_middle, bd_cuda_late };

/* A non-blocking stream; *stream stays as it is on failure. */
cudaError_t bd_cuda_make_stream(cudaStream_t *stream, enum bd_cuda_priority priority);

/* The error of the launches before, if any: the status of a slot that only enqueues. */
enum bd_status bd_cuda_launched(const char *what);

/* Lets `kernel` ask for as much dynamic shared memory as its static one leaves. The limit is the
 * kernel's, not a plan's: it must not depend on the size of a plan, or a small plan would take from
 * a larger one what that needs. */
enum bd_status bd_cuda_allow_shared(const struct bd_cuda *cuda, const void *kernel,
                                    const char *what);

/* Zeroed device memory (256-byte aligned) for a plan or a state; `what` names what it is for in the
 * detail of BD_ERROR_MEMORY, which says how much was wanted and how much is free. `*data` is NULL
 * on failure. */
enum bd_status bd_cuda_alloc(struct bd_cuda *cuda, void **data, size_t bytes, const char *what);
void bd_cuda_free(void *data); /* accepts NULL */

/* Page-locked host memory, zeroed. */
enum bd_status bd_cuda_alloc_host(void **data, size_t bytes, const char *what);
void bd_cuda_free_host(void *data);

/* The capture of a stream and calls that wait for all of the GPU exclude each other in a process:
 * such a call breaks a capture, and may crash in the driver meanwhile. A decoder makes such calls
 * when it is opened, emptied and closed. False: another thread waits so; then nothing is to be
 * ended. Captures of several threads come one after the other. */
bool bd_cuda_begin_capture(void);
void bd_cuda_end_capture(void);

/* Around such calls. By several threads at once, and more than once by one of them. */
void bd_cuda_begin_waiting(void);
void bd_cuda_end_waiting(void);

/* Blocks of memory that are allocated by the four functions above and not freed yet, in all of the
 * process: for tests. */
int bd_cuda_blocks(void);

#ifdef BD_DEVELOPER
/* Injects a fault, for tests: the next `after` checked calls pass, the one after them fails with
 * `error` (cudaErrorMemoryAllocation: allocations are counted instead of calls). cudaSuccess
 * removes the fault. Returns how many calls the fault before would still have let pass. */
int bd_cuda_inject(cudaError_t error, int after);
#endif

#ifdef __cplusplus
}

/* bd_cuda_alloc and bd_cuda_alloc_host for `count` elements; nothing where *status is a failure,
 * which theirs becomes. */
template <class T>
inline void bd_cuda_take(enum bd_status *status, struct bd_cuda *cuda, T **place, size_t count,
                         const char *what)
{
    void *memory = nullptr;
    if (*status == BD_OK)
        *status = bd_cuda_alloc(cuda, &memory, count * sizeof(T), what);
    *place = static_cast<T *>(memory);
}

template <class T>
inline void bd_cuda_take_host(enum bd_status *status, T **place, size_t count, const char *what)
{
    void *memory = nullptr;
    if (*status == BD_OK)
        *status = bd_cuda_alloc_host(&memory, count * sizeof(T), what);
    *place = static_cast<T *>(memory);
}

/* bd_cuda_allow_shared for several kernels. */
inline enum bd_status bd_cuda_allow_shared(const struct bd_cuda *cuda,
                                           std::initializer_list<const void *> kernels,
                                           const char *what)
{
    enum bd_status status = BD_OK;
    for (const void *kernel : kernels)
        if (status == BD_OK)
            status = bd_cuda_allow_shared(cuda, kernel, what);
    return status;
}
#endif
#endif
