/* Finds cuBLAS and cuSOLVER, and holds their handles and the events. */
#include "app/bench/gpu/gpu.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Where the dynamic linker finds them, else in the default folder of the toolkit; the newest
 * first. */
static const char *const blas_names[] = { "libcublas.so.13", "libcublas.so.12",
                                          "/usr/local/cuda/lib64/libcublas.so.13",
                                          "/usr/local/cuda/lib64/libcublas.so.12", NULL };
static const char *const solver_names[] = { "libcusolver.so.12", "libcusolver.so.11",
                                            "/usr/local/cuda/lib64/libcusolver.so.12",
                                            "/usr/local/cuda/lib64/libcusolver.so.11", NULL };

struct symbol {
    const char *name;
    size_t offset;
};
/* clang-format off */
#define SYMBOL(name, arguments) { #name, offsetof(struct bd_libraries, name) },
static const struct symbol blas_symbols[] = { BD_BLAS_CALLS(SYMBOL) { NULL, 0 } };
static const struct symbol solver_symbols[] = { BD_SOLVER_CALLS(SYMBOL) { NULL, 0 } };
/* clang-format on */

/* The first library of `names` that opens and has all symbols; NULL if none has. */
static void *load(struct bd_libraries *lib, const char *const *names, const struct symbol *symbols)
{
    for (; *names; names++) {
        void *library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
        if (!library)
            continue;
        const struct symbol *s = symbols;
        for (; s->name; s++) {
            void *address = dlsym(library, s->name);
            if (!address)
                break;
            memcpy((char *)lib + s->offset, &address, sizeof address);
        }
        if (!s->name)
            return library;
        dlclose(library);
    }
    return NULL;
}

enum bd_status bd_bench_library(int code, const char *call)
{
    return code ? bd_fail(BD_ERROR_BACKEND, "%s failed with status %d", call, code) : BD_OK;
}

/* Handles on the backend's stream. */
static enum bd_status open_libraries(struct bd_bench_gpu *gpu)
{
    struct bd_libraries *lib = &gpu->lib;
    int blas_version = 0, part[3] = { 0 };
    lib->blas_library = load(lib, blas_names, blas_symbols);
    if (!lib->blas_library) {
        snprintf(gpu->description, sizeof gpu->description, "peer not found: %s", blas_names[0]);
        return BD_OK;
    }
    enum bd_status status = BD_CALL(gpu, cublasCreate_v2, &gpu->blas);
    BD_TRY(BD_CALL(gpu, cublasSetStream_v2, gpu->blas, gpu->cuda->stream));
    if (status)
        return status;
    lib->cublasGetVersion_v2(gpu->blas, &blas_version);
    lib->solver_library = load(lib, solver_names, solver_symbols);
    if (!lib->solver_library) {
        snprintf(gpu->description, sizeof gpu->description, "cuBLAS %d; peer not found: %s",
                 blas_version, solver_names[0]);
        return BD_OK;
    }
    status = BD_CALL(gpu, cusolverDnCreate, &gpu->solver);
    BD_TRY(BD_CALL(gpu, cusolverDnSetStream, gpu->solver, gpu->cuda->stream));
    BD_TRY(BD_CALL(gpu, cusolverDnCreateGesvdjInfo, &gpu->jacobi));
    for (int i = 0; i < 3 && !status; i++)
        lib->cusolverGetProperty(i, &part[i]);
    snprintf(gpu->description, sizeof gpu->description, "cuBLAS %d.%d.%d, cuSOLVER %d.%d.%d",
             blas_version / 10000, blas_version % 10000 / 100, blas_version % 100, part[0], part[1],
             part[2]);
    return status;
}

void bd_bench_gpu_close(struct bd_bench *bench)
{
    struct bd_bench_gpu *gpu = bench->gpu;
    if (!gpu)
        return;
    if (gpu->jacobi)
        gpu->lib.cusolverDnDestroyGesvdjInfo(gpu->jacobi);
    if (gpu->solver)
        gpu->lib.cusolverDnDestroy(gpu->solver);
    if (gpu->blas)
        gpu->lib.cublasDestroy_v2(gpu->blas);
    for (int i = 0; i < bd_bench_events; i++)
        if (gpu->events[i])
            cudaEventDestroy(gpu->events[i]);
    if (gpu->lib.solver_library)
        dlclose(gpu->lib.solver_library);
    if (gpu->lib.blas_library)
        dlclose(gpu->lib.blas_library);
    free(gpu);
    bench->gpu = NULL;
}

enum bd_status bd_bench_gpu_open(struct bd_bench *bench)
{
    struct bd_bench_gpu *gpu = bench->gpu = calloc(1, sizeof *gpu);
    if (!gpu)
        return bd_bench_out_of_memory();
    gpu->cuda = bd_cuda_of(bench->backend);
    enum bd_status status = BD_OK;
    for (int i = 0; i < bd_bench_events && !status; i++)
        status = bd_cuda_check(cudaEventCreate(&gpu->events[i]), "making an event");
    BD_TRY(open_libraries(gpu));
    BD_TRY(bd_bench_gpu_measure(bench));
    bench->has_peers = gpu->solver;
    return status;
}

enum bd_status bd_bench_gpu_mark(struct bd_bench_gpu *gpu, int event)
{
    return bd_cuda_check(cudaEventRecord(gpu->events[event], gpu->cuda->stream), "an event");
}

enum bd_status bd_bench_gpu_elapsed(struct bd_bench_gpu *gpu, int first, int second, double *ms)
{
    float time = 0;
    enum bd_status status =
        bd_cuda_check(cudaEventSynchronize(gpu->events[second]), "what was timed");
    BD_TRY(bd_cuda_check(cudaEventElapsedTime(&time, gpu->events[first], gpu->events[second]),
                         "timing"));
    *ms = (double)time;
    return status;
}
