/* What the GPU can do: copies, and the products of cuBLAS. */
#include "app/bench/gpu/peer_cuda.h"

#include "app/bench/gpu/kernels.h"

enum { repeats = 7 };

/* Which of the ceilings' numbers a step measures. */
enum step { copy, upload, download, sgemm, tf32, dgemm, step_count };

struct buffers {
    void *a, *b, *c, *host;
    size_t bytes, host_bytes;
    int n;
};

static enum bd_status run(struct bd_bench_gpu *gpu, enum step step, const struct buffers *x)
{
    static const float one = 1, zero = 0;
    static const double one64 = 1, zero64 = 0;
    const struct bd_libraries *lib = &gpu->lib;
    cudaStream_t stream = gpu->cuda->stream;
    int n = x->n;
    switch (step) {
    case copy:
        return bd_cuda_check(
            cudaMemcpyAsync(x->b, x->a, x->bytes, cudaMemcpyDeviceToDevice, stream), "a copy");
    case upload:
        return bd_cuda_check(
            cudaMemcpyAsync(x->c, x->host, x->host_bytes, cudaMemcpyHostToDevice, stream),
            "an upload");
    case download:
        return bd_cuda_check(
            cudaMemcpyAsync(x->host, x->a, x->host_bytes, cudaMemcpyDeviceToHost, stream),
            "a download");
    case sgemm:
        return bd_bench_library(lib->cublasSgemm_v2(gpu->blas, bd_blas_n, bd_blas_n, n, n, n, &one,
                                                    x->a, n, x->b, n, &zero, x->c, n),
                                "cublasSgemm");
    case tf32:
        return bd_bench_library(lib->cublasGemmEx(gpu->blas, bd_blas_n, bd_blas_n, n, n, n, &one,
                                                  x->a, bd_blas_real_32, n, x->b, bd_blas_real_32,
                                                  n, &zero, x->c, bd_blas_real_32, n, bd_blas_tf32,
                                                  -1),
                                "cublasGemmEx");
    case dgemm:
        return bd_bench_library(lib->cublasDgemm_v2(gpu->blas, bd_blas_n, bd_blas_n, n, n, n,
                                                    &one64, x->a, n, x->b, n, &zero64, x->c, n),
                                "cublasDgemm");
    default:
        return BD_OK;
    }
}

static enum bd_status time_step(struct bd_bench_gpu *gpu, enum step step, const struct buffers *x,
                                double *ms)
{
    double times[repeats];
    enum bd_status status = run(gpu, step, x);
    for (int i = 0; i < repeats && !status; i++) {
        status = bd_bench_gpu_mark(gpu, 2 * i);
        if (!status)
            status = run(gpu, step, x);
        if (!status)
            status = bd_bench_gpu_mark(gpu, 2 * i + 1);
    }
    for (int i = 0; i < repeats && !status; i++)
        status = bd_bench_gpu_elapsed(gpu, 2 * i, 2 * i + 1, &times[i]);
    if (!status)
        *ms = bd_bench_median(times, repeats);
    return status;
}

/* Random values, none of them small, in the type that the products take. */
static enum bd_status fill(struct bd_bench_gpu *gpu, const struct buffers *x, enum step step)
{
    int64_t count = (int64_t)x->n * x->n;
    void *const data[] = { x->a, x->b };
    cudaStream_t stream = gpu->cuda->stream;
    for (int i = 0; i < 2; i++) {
        /* the floats in c, whose content does not matter */
        float *floats = step == dgemm ? x->c : data[i];
        bd_bench_kernel_fill(floats, count, (uint64_t)i + 1, stream);
        if (step == dgemm)
            bd_bench_kernel_widen(data[i], floats, x->n, x->n, x->n, stream);
    }
    return bd_cuda_launched("filling matrices");
}

enum bd_status bd_bench_gpu_measure(struct bd_bench_gpu *gpu, struct bd_bench_ceilings *ceilings,
                                    bool quick)
{
    struct buffers x = { .n = quick ? 4096 : 8192, .host_bytes = (size_t)64 << 20 };
    double ms[step_count] = { 0 }, products = 2.0 * x.n * x.n * x.n;
    x.bytes = (size_t)x.n * (size_t)x.n * sizeof(double);
    enum bd_status status = bd_cuda_alloc(gpu->cuda, &x.a, x.bytes, "the bench");
    if (!status)
        status = bd_cuda_alloc(gpu->cuda, &x.b, x.bytes, "the bench");
    if (!status)
        status = bd_cuda_alloc(gpu->cuda, &x.c, x.bytes, "the bench");
    if (!status)
        status = bd_cuda_alloc_host(&x.host, x.host_bytes, "the bench");
    for (enum step s = copy; s < step_count && !status; s++) {
        if (s == sgemm && !gpu->blas)
            break;
        if (s == copy || s == sgemm || s == dgemm)
            status = fill(gpu, &x, s);
        if (!status)
            status = time_step(gpu, s, &x, &ms[s]);
    }
    bd_cuda_free(x.a);
    bd_cuda_free(x.b);
    bd_cuda_free(x.c);
    bd_cuda_free_host(x.host);
    if (status)
        return status;
    *ceilings = (struct bd_bench_ceilings){ .copy = 2 * (double)x.bytes / ms[copy] * 1e3,
                                            .upload = (double)x.host_bytes / ms[upload] * 1e3,
                                            .download = (double)x.host_bytes / ms[download] * 1e3 };
    if (gpu->blas) {
        ceilings->fp32 = products / ms[sgemm] * 1e3;
        ceilings->tf32 = products / ms[tf32] * 1e3;
        ceilings->fp64 = products / ms[dgemm] * 1e3;
    }
    gpu->ceilings = *ceilings;
    return BD_OK;
}

const struct bd_bench_ceilings *bd_bench_gpu_ceilings(const struct bd_bench_gpu *gpu)
{
    return &gpu->ceilings;
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

double bd_bench_gpu_floor(const struct bd_bench_gpu *gpu, struct bd_bench_work work)
{
    const struct bd_bench_ceilings *c = &gpu->ceilings;
    double bytes = work.bytes / c->copy, arithmetic = 0;
    if (c->fp32 > 0) {
        double single = least(1 / c->fp32, 3 / c->tf32);
        arithmetic = work.gram * least(1 / c->fp64, 2 * single) + work.product * single;
    }
    return (bytes > arithmetic ? bytes : arithmetic) * 1e3;
}
