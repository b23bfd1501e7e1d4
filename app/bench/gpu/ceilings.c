/* What the GPU can do: copies, and the products of cuBLAS. */
#include "app/bench/gpu/gpu.h"

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
        return BD_CALL(gpu, cublasSgemm_v2, gpu->blas, bd_blas_n, bd_blas_n, n, n, n, &one, x->a, n,
                       x->b, n, &zero, x->c, n);
    case tf32:
        return BD_CALL(gpu, cublasGemmEx, gpu->blas, bd_blas_n, bd_blas_n, n, n, n, &one, x->a,
                       bd_blas_real_32, n, x->b, bd_blas_real_32, n, &zero, x->c, bd_blas_real_32,
                       n, bd_blas_tf32, -1);
    case dgemm:
        return BD_CALL(gpu, cublasDgemm_v2, gpu->blas, bd_blas_n, bd_blas_n, n, n, n, &one64, x->a,
                       n, x->b, n, &zero64, x->c, n);
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
        BD_TRY(run(gpu, step, x));
        BD_TRY(bd_bench_gpu_mark(gpu, 2 * i + 1));
    }
    for (int i = 0; i < repeats && !status; i++)
        status = bd_bench_gpu_elapsed(gpu, 2 * i, 2 * i + 1, &times[i]);
    if (!status)
        *ms = bd_bench_median(times, repeats);
    return status;
}

/* Random values, none of them small, in the type that the products take. */
static enum bd_status fill(struct bd_bench *bench, const struct buffers *x, enum step step)
{
    void *const data[] = { x->a, x->b };
    enum bd_status status = BD_OK;
    for (int i = 0; i < 2 && !status; i++) {
        /* the floats in c, whose content does not matter */
        float *floats = step == dgemm ? x->c : data[i];
        status = bd_bench_fill_there(bench, floats, (int64_t)x->n * x->n, (uint64_t)i + 1);
        if (!status && step == dgemm)
            bd_bench_kernel_widen(data[i], floats, x->n, x->n, x->n, bench->gpu->cuda->stream);
    }
    return status ? status : bd_cuda_launched("filling matrices");
}

enum bd_status bd_bench_gpu_measure(struct bd_bench *bench)
{
    struct bd_bench_gpu *gpu = bench->gpu;
    struct buffers x = { .n = bench->options->quick ? 4096 : 8192, .host_bytes = (size_t)64 << 20 };
    double ms[step_count] = { 0 }, products = 2.0 * x.n * x.n * x.n;
    const int64_t elements = (int64_t)x.n * x.n;
    x.bytes = (size_t)elements * sizeof(double);
    enum bd_status status = bd_bench_elements(bench, &x.a, elements, BD_F64);
    BD_TRY(bd_bench_elements(bench, &x.b, elements, BD_F64));
    BD_TRY(bd_bench_elements(bench, &x.c, elements, BD_F64));
    BD_TRY(bd_cuda_alloc_host(&x.host, x.host_bytes, "the bench"));
    for (enum step s = copy; s < step_count && !status; s++) {
        if (s == sgemm && !gpu->blas)
            break;
        if (s == copy || s == sgemm || s == dgemm)
            status = fill(bench, &x, s);
        BD_TRY(time_step(gpu, s, &x, &ms[s]));
    }
    bd_bench_release(bench, NULL);
    bd_cuda_free_host(x.host);
    if (status)
        return status;
    bench->cache = (int64_t)gpu->cuda->l2;
    bench->copy_rate = 2 * (double)x.bytes / ms[copy] * 1e3;
    bench->upload_rate = (double)x.host_bytes / ms[upload] * 1e3;
    bench->download_rate = (double)x.host_bytes / ms[download] * 1e3;
    if (gpu->blas) {
        bench->sgemm_rate = products / ms[sgemm] * 1e3;
        bench->tf32_rate = products / ms[tf32] * 1e3;
        bench->fp64_rate = products / ms[dgemm] * 1e3;
    }
    return BD_OK;
}
