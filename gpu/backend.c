/* The CUDA backend: its device, stream and memory, and its table (linalg/shared/ops.h). */
#include "gpu/cuda.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "gpu/core/columns.h"

/* The oldest architecture that the kernels are built for. */
enum { oldest_capability = 80 };

/* Threads of the host that load and separate frames of several lanes, at most: to copy 8 MB takes
 * 210 us with eight, 290 with four (gpu/separation/state.cuh). */
enum { lane_threads = 8 };

/* Readers wait for all of the GPU; the writer captures. */
static pthread_rwlock_t waiting = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t capturing = PTHREAD_MUTEX_INITIALIZER;

bool bd_cuda_begin_capture(void)
{
    pthread_mutex_lock(&capturing);
    const bool begun = pthread_rwlock_trywrlock(&waiting) == 0;
    if (!begun)
        pthread_mutex_unlock(&capturing);
    return begun;
}

void bd_cuda_end_capture(void)
{
    pthread_rwlock_unlock(&waiting);
    pthread_mutex_unlock(&capturing);
}

void bd_cuda_begin_waiting(void)
{
    pthread_rwlock_rdlock(&waiting);
}

void bd_cuda_end_waiting(void)
{
    pthread_rwlock_unlock(&waiting);
}

static atomic_int blocks;

int bd_cuda_blocks(void)
{
    return atomic_load(&blocks);
}

#ifdef BD_DEVELOPER
static struct {
    atomic_bool armed;    /* else no lock is taken */
    pthread_mutex_t lock; /* threads of several lanes make calls at once */
    cudaError_t error;
    int after;
} injected = { .lock = PTHREAD_MUTEX_INITIALIZER };

int bd_cuda_inject(cudaError_t error, int after)
{
    pthread_mutex_lock(&injected.lock);
    int left = injected.after;
    injected.error = error;
    injected.after = after;
    atomic_store(&injected.armed, error != cudaSuccess);
    pthread_mutex_unlock(&injected.lock);
    return left;
}

/* The injected fault in place of `error`, if it is its turn. */
static cudaError_t with_fault(cudaError_t error, int allocation)
{
    if (!atomic_load(&injected.armed))
        return error;
    pthread_mutex_lock(&injected.lock);
    if (injected.error != cudaSuccess &&
        (injected.error == cudaErrorMemoryAllocation) == allocation && injected.after-- <= 0) {
        error = injected.error;
        injected.error = cudaSuccess;
        atomic_store(&injected.armed, false);
    }
    pthread_mutex_unlock(&injected.lock);
    return error;
}
#else
static cudaError_t with_fault(cudaError_t error, int allocation)
{
    (void)allocation;
    return error;
}
#endif

struct bd_cuda *bd_cuda_of(struct bd_backend *backend)
{
    return backend->state;
}

/* Takes the error, so that later checks do not see it again. */
static enum bd_status failed(cudaError_t error, const char *what)
{
    cudaGetLastError();
    return bd_fail(error == cudaErrorMemoryAllocation ? BD_ERROR_MEMORY : BD_ERROR_BACKEND,
                   "cuda: %s: %s", what, cudaGetErrorString(error));
}

enum bd_status bd_cuda_check(cudaError_t error, const char *what)
{
    error = with_fault(error, 0);
    return error == cudaSuccess ? BD_OK : failed(error, what);
}

enum bd_status bd_cuda_launched(const char *what)
{
    return bd_cuda_check(cudaGetLastError(), what);
}

enum bd_status bd_cuda_allow_shared(const struct bd_cuda *cuda, const void *kernel,
                                    const char *what)
{
    struct cudaFuncAttributes attributes;
    cudaError_t error = cudaFuncGetAttributes(&attributes, kernel);
    if (error == cudaSuccess)
        error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     cuda->shared_most - (int)attributes.sharedSizeBytes);
    return bd_cuda_check(error, what);
}

enum bd_status bd_cuda_alloc(struct bd_cuda *cuda, void **data, size_t bytes, const char *what)
{
    *data = NULL;
    void *memory = NULL;
    cudaError_t error = with_fault(cudaSuccess, 1);
    if (error == cudaSuccess)
        error = cudaMalloc(&memory, bytes ? bytes : 256);
    if (error == cudaErrorMemoryAllocation) {
        size_t free_bytes = 0, total = 0;
        cudaGetLastError(); /* the failure is reported here: later checks must not see it */
        cudaMemGetInfo(&free_bytes, &total);
        return bd_fail(BD_ERROR_MEMORY,
                       "cuda: %s needs %zu MiB of GPU memory and %zu of %zu MiB are free", what,
                       (bytes + (1 << 20) - 1) >> 20, free_bytes >> 20, total >> 20);
    }
    if (error == cudaSuccess)
        error = cudaMemsetAsync(memory, 0, bytes, cuda->stream);
    if (error != cudaSuccess) {
        cudaFree(memory);
        return failed(error, what);
    }
    *data = memory;
    atomic_fetch_add(&blocks, 1);
    return BD_OK;
}

void bd_cuda_free(void *data)
{
    if (data)
        atomic_fetch_sub(&blocks, 1);
    cudaFree(data);
}

enum bd_status bd_cuda_alloc_host(void **data, size_t bytes, const char *what)
{
    *data = NULL;
    void *memory = NULL;
    cudaError_t error = with_fault(cudaSuccess, 1);
    if (error == cudaSuccess)
        error = cudaMallocHost(&memory, bytes ? bytes : 64);
    if (error != cudaSuccess) {
        cudaGetLastError();
        return bd_fail(BD_ERROR_MEMORY, "cuda: no %zu MiB of page-locked memory for %s",
                       (bytes + (1 << 20) - 1) >> 20, what);
    }
    memset(memory, 0, bytes);
    *data = memory;
    atomic_fetch_add(&blocks, 1);
    return BD_OK;
}

void bd_cuda_free_host(void *data)
{
    if (data)
        atomic_fetch_sub(&blocks, 1);
    cudaFreeHost(data);
}

static int runs_kernels(const struct cudaDeviceProp *p)
{
    return p->major * 10 + p->minor >= oldest_capability;
}

/* Device `wanted`, or with -1 the one with the most multiprocessors among those that the kernels
 * are built for. */
static enum bd_status choose_device(int wanted, int *device, int *count,
                                    struct cudaDeviceProp *best)
{
    *count = 0;
    cudaError_t error = with_fault(cudaGetDeviceCount(count), 0);
    if (error == cudaErrorInsufficientDriver)
        return bd_fail(BD_ERROR_UNSUPPORTED,
                       "backend cuda: no NVIDIA driver, or one too old for CUDA %d.%d; install a "
                       "newer one or use the backend cpu",
                       CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    if (error != cudaSuccess || *count == 0)
        return bd_fail(BD_ERROR_UNSUPPORTED,
                       "backend cuda: no usable NVIDIA GPU (%s); use the backend cpu",
                       error != cudaSuccess ? cudaGetErrorString(error) : "none found");
    if (wanted >= *count)
        return bd_fail(BD_ERROR_UNSUPPORTED, "backend cuda: no GPU %d; the GPUs are 0 to %d",
                       wanted, *count - 1);
    best->multiProcessorCount = 0;
    for (int i = wanted < 0 ? 0 : wanted; i < (wanted < 0 ? *count : wanted + 1); i++) {
        struct cudaDeviceProp p;
        if (cudaGetDeviceProperties(&p, i) == cudaSuccess && runs_kernels(&p) &&
            p.multiProcessorCount > best->multiProcessorCount) {
            *best = p;
            *device = i;
        }
    }
    if (best->multiProcessorCount)
        return BD_OK;
    if (wanted >= 0)
        return bd_fail(BD_ERROR_UNSUPPORTED,
                       "backend cuda: GPU %d is older than compute capability %d.%d", wanted,
                       oldest_capability / 10, oldest_capability % 10);
    return bd_fail(BD_ERROR_UNSUPPORTED,
                   "backend cuda: no GPU of compute capability %d.%d or newer; use the backend cpu",
                   oldest_capability / 10, oldest_capability % 10);
}

static void cuda_close(struct bd_backend *backend)
{
    struct bd_cuda *cuda = backend->state;
    for (struct bd_cuda *at = cuda ? cuda->of : NULL; at; at = at->next)
        if (at->next == cuda)
            at->next = cuda->next;
    if (cuda && cuda->stream)
        cudaStreamDestroy(cuda->stream);
    if (cuda && !cuda->of)
        bd_pool_destroy(&cuda->pool);
    free(cuda);
    backend->state = NULL;
}

cudaError_t bd_cuda_make_stream(cudaStream_t *stream, enum bd_cuda_priority priority)
{
    int least = 0, greatest = 0;
    cudaError_t error = cudaDeviceGetStreamPriorityRange(&least, &greatest);
    const int place = priority == bd_cuda_soon   ? greatest
                      : priority == bd_cuda_late ? least
                                                 : (least + greatest) / 2;
    return error == cudaSuccess ? cudaStreamCreateWithPriority(stream, cudaStreamNonBlocking, place)
                                : error;
}

static enum bd_status cuda_open(struct bd_backend *backend, int threads, int wanted)
{
    struct cudaDeviceProp properties;
    int device = 0, count = 0, driver = 0;
    enum bd_status status = choose_device(wanted, &device, &count, &properties);
    if (status != BD_OK)
        return status;
    struct bd_cuda *cuda = calloc(1, sizeof *cuda);
    if (!cuda)
        return bd_fail(BD_ERROR_MEMORY, "no memory for the cuda backend");
    backend->state = cuda;
    cuda->device = device;
    cuda->threads = threads;
    cuda->sms = properties.multiProcessorCount;
    cuda->shared_most = (int)properties.sharedMemPerBlockOptin;
    cuda->l2 = (size_t)properties.l2CacheSize;
    status = bd_cuda_check(cudaSetDevice(device), "choosing the GPU");
    /* kernels have code for clusters or not, and are launched accordingly */
    cuda->capability = properties.major * 10 + properties.minor;
    int compiled = status == BD_OK ? bd_cuda_architecture() : 0;
    if (status == BD_OK && compiled < cuda->capability)
        cuda->capability = compiled;
    if (status == BD_OK)
        status =
            bd_cuda_check(bd_cuda_make_stream(&cuda->stream, bd_cuda_middle), "making a stream");
    if (status != BD_OK) {
        cuda_close(backend);
        return status;
    }
    cudaDriverGetVersion(&driver);
    snprintf(
        backend->description, sizeof backend->description,
        "cuda: %.100s (GPU %d of %d), %zu GiB, compute capability %d.%d, driver for CUDA %d.%d",
        properties.name, device, count, properties.totalGlobalMem >> 30, properties.major,
        properties.minor, driver / 1000, driver % 1000 / 10);
    return BD_OK;
}

/* For the second lane, and those that follow. */
static enum bd_status make_pool(struct bd_cuda *of)
{
    const int cores = bd_pool_cores(), most = of->threads ? of->threads : cores;
    const int threads = most < lane_threads ? most : lane_threads;
    return of->next && !of->pool && threads > 1 ? bd_pool_create(&of->pool, threads) : BD_OK;
}

static enum bd_status cuda_open_lane(struct bd_backend *backend, struct bd_backend *lane)
{
    struct bd_cuda *of = bd_cuda_of(backend), *cuda;
    enum bd_status status = make_pool(of);
    if (status != BD_OK)
        return status;
    cuda = malloc(sizeof *cuda);
    if (!cuda)
        return bd_fail(BD_ERROR_MEMORY, "no memory for a lane of the cuda backend");
    *cuda = *of;
    cuda->stream = NULL;
    status = bd_cuda_check(bd_cuda_make_stream(&cuda->stream, bd_cuda_middle), "making a stream");
    if (status != BD_OK) {
        free(cuda);
        return status;
    }
    cuda->of = of;
    of->next = cuda;
    *lane = *backend;
    lane->state = cuda;
    return BD_OK;
}

static enum bd_status cuda_sync(struct bd_backend *backend)
{
    const struct bd_cuda *cuda = bd_cuda_of(backend);
    enum bd_status status = BD_OK;
    for (cuda = cuda->of ? cuda->of : cuda; cuda && status == BD_OK; cuda = cuda->next)
        status = bd_cuda_check(cudaStreamSynchronize(cuda->stream), "waiting for the GPU");
    return status;
}

static enum bd_status cuda_attach(struct bd_backend *backend)
{
    return bd_cuda_check(cudaSetDevice(bd_cuda_of(backend)->device), "making the GPU current");
}

static enum bd_status cuda_alloc(struct bd_backend *backend, size_t bytes, void **data)
{
    return bd_cuda_alloc(bd_cuda_of(backend), data, bytes, "a matrix");
}

static void cuda_free(struct bd_backend *backend, void *data)
{
    (void)backend;
    bd_cuda_free(data);
}

/* In any direction: CUDA finds out where the two pointers belong. */
static enum bd_status cuda_copy(struct bd_backend *backend, void *dst, size_t dst_pitch,
                                const void *src, size_t src_pitch, size_t width, size_t height)
{
    struct bd_cuda *cuda = bd_cuda_of(backend);
    cudaError_t error = bd_cuda_copy_columns(dst, dst_pitch, src, src_pitch, width, height,
                                             cudaMemcpyDefault, cuda->stream);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(cuda->stream);
    return bd_cuda_check(error, "copying to or from the GPU");
}

const struct bd_device_ops bd_cuda_device_ops = {
    .open = cuda_open,
    .close = cuda_close,
    .sync = cuda_sync,
    .attach = cuda_attach,
    .open_lane = cuda_open_lane,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .upload = cuda_copy,
    .download = cuda_copy,
    .copy = cuda_copy,
};
