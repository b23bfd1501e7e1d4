/* The functions gram_* of the table (linalg/shared/gram_qr_ops.h). */
#include <stdlib.h>
#include <string.h>

#include "gpu/core/dependent_launch.cuh"
#include "gpu/gram_qr/solver.cuh"
#include "gpu/triangular/triangular.h"
#include "linalg/shared/gram_qr_ops.h"

static struct gram_plan *plan_of(void *work)
{
    return static_cast<struct gram_plan *>(work);
}

/* largest[j] := max |v_ij| as bits, in whose order NaN is above Inf and Inf above all numbers.
 * blockIdx.y: the column; `gridDim.x` blocks share it. */
template <class Element>
__global__ __launch_bounds__(256) void measure(unsigned long long *largest, const Element *v,
                                               int64_t ldv, int64_t m)
{
    const Element *column = v + blockIdx.y * ldv;
    unsigned long long most = 0;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < m;
         i += (int64_t)gridDim.x * blockDim.x)
        most = max(most, (unsigned long long)__double_as_longlong(fabs((double)column[i])));
    for (int step = 16; step > 0; step /= 2)
        most = max(most, __shfl_xor_sync(~0u, most, step));
    if (threadIdx.x % 32 == 0)
        atomicMax(largest + blockIdx.y, most);
}

/* In -1 .. 1, a function of the place alone: Steele, Lea, Flood: Fast splittable pseudorandom
 * number generators (2014), the finaliser of SplitMix64. */
static __device__ __forceinline__ double noise(uint64_t row, uint64_t column)
{
    uint64_t z = row * 0x9e3779b97f4a7c15 + column * 0xd1342543de82ef95 + 1;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    z ^= z >> 31;
    return (double)(z >> 11) * 0x1p-52 - 1;
}

template <class Element>
__global__ __launch_bounds__(256) void repair(Element *v, int64_t ldv, int64_t m, int64_t first_row,
                                              const int *exponents)
{
    Element *column = v + blockIdx.y * ldv;
    const int exponent = exponents[blockIdx.y];
    if (exponent == 0)
        return;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < m;
         i += (int64_t)gridDim.x * blockDim.x)
        column[i] = exponent == bd_gram_fill ? (Element)noise(first_row + i, blockIdx.y)
                                             : (Element)scalbn((double)column[i], exponent);
}

/* Rounds R_total to R. aside: the kernel before is V R^-1, which has itself waited for R_total;
 * this kernel then runs beside it, and waits for it only at its end, so that this kernel counts
 * as done after it. */
template <class Element>
__global__ __launch_bounds__(256) void round_r(Element *r, int64_t ldr, const double *total, int n,
                                               int aside)
{
    const int i = blockIdx.x * 32 + threadIdx.x, j = blockIdx.y * 8 + threadIdx.y;
    if (!aside)
        bd_cuda_await();
    if (i < n && j < n)
        r[i + j * ldr] = i <= j ? (Element)total[i + (int64_t)j * n] : (Element)0;
    if (aside)
        bd_cuda_await();
}

static dim3 column_grid(const struct gram_plan *plan)
{
    const int64_t blocks = (plan->m + 2047) / 2048;
    return dim3((unsigned)(blocks < 64 ? blocks : 64), (unsigned)plan->data.n);
}

/* Allocates all of plan->data in one piece of memory. */
static enum bd_status make_data(struct gram_plan *plan)
{
    struct gram_data *d = &plan->data;
    const size_t n = (size_t)d->n, square = n * n, packed = gram_packed_size(d->n);
    const size_t side = (n + 15) / 16 * 16; /* scratch has room for whole diagonal blocks */
    const size_t scratch = gram_matrices(d->n, plan->svd) * side * side;
    const size_t doubles = 4 * square + packed + scratch + 4 * n;
    const size_t bytes = doubles * sizeof(double) + n * sizeof(int) + sizeof(struct gram_decision);
    enum bd_status status =
        bd_cuda_alloc(plan->cuda, &plan->memory, bytes, "QR by the Gram matrix");
    if (status != BD_OK)
        return status;
    /* packed comes first, because it is read two doubles at a time */
    double *next = static_cast<double *>(plan->memory);
    d->packed = next;
    d->g = next += packed;
    d->r = next += square;
    d->total = next += square;
    d->other = next += square;
    d->scratch = next += square;
    d->norms = next += scratch;
    d->inverse = next += n;
    plan->largest = next += n;
    next += n;
    d->decision = reinterpret_cast<struct gram_decision *>(next);
    d->exponents = reinterpret_cast<int *>(d->decision + 1);
    return BD_OK;
}

static enum bd_status make_plan(struct gram_plan *plan)
{
    struct bd_cuda *cuda = plan->cuda;
    const int n = plan->data.n;
    void *memory = NULL;
    const size_t parts = bd_cuda_gram_form_workspace(cuda, plan->m, n, plan->type);
    enum bd_status status = make_data(plan);
    if (status == BD_OK)
        status = bd_cuda_alloc(cuda, &plan->parts, parts, "a Gram matrix");
    const size_t records = bd_gram_qr_max_passes * sizeof *plan->records;
    const size_t bytes = records + (size_t)n * (sizeof(double) + sizeof(int)) + 3 * sizeof(int);
    if (status == BD_OK)
        status = bd_cuda_alloc_host(&memory, bytes, "QR by the Gram matrix");
    if (status != BD_OK)
        return status;
    plan->records = static_cast<struct gram_record *>(memory);
    plan->host = reinterpret_cast<double *>(plan->records + bd_gram_qr_max_passes);
    plan->host_exponents = reinterpret_cast<int *>(plan->host + n);
    plan->status = plan->host_exponents + n;
    return bd_cuda_gram_persistent_create(plan);
}

static void gram_destroy(void *work)
{
    struct gram_plan *plan = plan_of(work);
    if (!plan)
        return;
    bd_cuda_free(plan->memory);
    bd_cuda_free(plan->parts);
    bd_cuda_free_host(plan->records);
    bd_cuda_gram_persistent_destroy(plan);
    free(plan);
}

static enum bd_status gram_create(struct bd_backend *backend, int64_t m, int64_t n,
                                  enum bd_type type, int svd, void **work)
{
    const int most = svd ? gram_most_svd : gram_most;
    *work = NULL;
    if (n > most || !bd_cuda_triangular_fits(bd_cuda_of(backend), n))
        return bd_fail(BD_ERROR_UNSUPPORTED,
                       "cuda: QR by the Gram matrix and triangular products take up to %d columns "
                       "(fewer on small GPUs), by singular values %d, not %lld",
                       (int)gram_most, (int)gram_most_svd, (long long)n);
    struct gram_plan *plan = static_cast<struct gram_plan *>(calloc(1, sizeof *plan));
    if (!plan)
        return bd_fail(BD_ERROR_MEMORY, "no memory for QR by the Gram matrix");
    plan->cuda = bd_cuda_of(backend);
    plan->m = m;
    plan->type = type;
    plan->svd = svd;
    plan->data.n = (int)n;
    const enum bd_status status = make_plan(plan);
    if (status != BD_OK) {
        gram_destroy(plan);
        return status;
    }
    *work = plan;
    return BD_OK;
}

static enum bd_status gram_form(void *work, const void *v, int64_t ldv)
{
    struct gram_plan *plan = plan_of(work);
    plan->solved = 0;
    return bd_cuda_gram_form_enqueue(plan, v, ldv);
}

static enum bd_status copy_g(const struct gram_plan *plan, void *to, const void *from)
{
    const size_t bytes = (size_t)plan->data.n * (size_t)plan->data.n * sizeof(double);
    cudaError_t error = cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, plan->cuda->stream);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(plan->cuda->stream);
    return bd_cuda_check(error, "copying a Gram matrix");
}

static enum bd_status gram_get(void *work, double *g)
{
    return copy_g(plan_of(work), g, plan_of(work)->data.g);
}

static enum bd_status gram_put(void *work, const double *g)
{
    return copy_g(plan_of(work), plan_of(work)->data.g, g);
}

static enum bd_status gram_factor(void *work, const struct bd_gram_step *step)
{
    struct gram_plan *plan = plan_of(work);
    plan->numbers[step->pass] = ++plan->number;
    const enum bd_status status =
        bd_cuda_gram_factor_enqueue(plan, step, &plan->records[step->pass]);
    double *other = plan->data.other;
    plan->data.other = plan->data.total;
    plan->data.total = other;
    plan->solved = 0;
    return status;
}

static enum bd_status gram_solve(void *work, void *v, int64_t ldv, int form)
{
    struct gram_plan *plan = plan_of(work);
    enum bd_status status = BD_OK;
    if (plan->m > 0)
        status = bd_cuda_triangular_product(plan, v, ldv, NULL);
    if (status == BD_OK && form)
        status = bd_cuda_gram_form_enqueue(plan, v, ldv);
    plan->solved = plan->m > 0;
    return status;
}

/* Waits for the record itself: an event after gram_factor would keep gram_solve, which is
 * enqueued next, from beginning before gram_factor has ended. Now and then it asks whether there
 * is still anything to wait for. */
static enum bd_status gram_report(void *work, int pass, struct bd_gram_qr_pass *record)
{
    struct gram_plan *plan = plan_of(work);
    const struct gram_record *own = &plan->records[pass];
    auto written = [&] {
        return __atomic_load_n(&own->number, __ATOMIC_ACQUIRE) == plan->numbers[pass];
    };
    cudaError_t error = cudaErrorNotReady;
    for (int spins = 1; !written() && error == cudaErrorNotReady; spins++)
        if (spins % 1000 == 0) {
            error = cudaStreamQuery(plan->cuda->stream);
            spins = 0;
        }
    if (error == cudaErrorNotReady || written())
        error = cudaSuccess;
    else if (error == cudaSuccess)
        error = cudaErrorLaunchFailure;
    cudaGetLastError(); /* "not ready" may have become the last error */
    const enum bd_status status = bd_cuda_check(error, "QR by the Gram matrix");
    if (status != BD_OK)
        return status;
    *record = gram_pass_of(*own);
    return own->bad ? BD_ERROR_NUMERIC : BD_OK;
}

static enum bd_status gram_get_r(void *work, void *r, int64_t ldr)
{
    const struct gram_plan *plan = plan_of(work);
    const int n = plan->data.n, aside = plan->solved;
    const dim3 grid((unsigned)(n + 31) / 32, (unsigned)(n + 7) / 8), block(32, 8);
    if (plan->type == BD_F64)
        bd_cuda_follow(plan->cuda, round_r<double>, grid, block, 0, static_cast<double *>(r), ldr,
                       plan->data.total, n, aside);
    else
        bd_cuda_follow(plan->cuda, round_r<float>, grid, block, 0, static_cast<float *>(r), ldr,
                       plan->data.total, n, aside);
    return bd_cuda_launched("R");
}

static enum bd_status gram_magnitudes(void *work, const void *v, int64_t ldv, double *largest)
{
    struct gram_plan *plan = plan_of(work);
    const size_t bytes = (size_t)plan->data.n * sizeof(double);
    cudaStream_t stream = plan->cuda->stream;
    plan->solved = 0;
    unsigned long long *bits = reinterpret_cast<unsigned long long *>(plan->largest);
    cudaError_t error = cudaMemsetAsync(bits, 0, bytes, stream);
    if (plan->m > 0 && plan->type == BD_F64)
        measure<<<column_grid(plan), 256, 0, stream>>>(bits, static_cast<const double *>(v), ldv,
                                                       plan->m);
    else if (plan->m > 0)
        measure<<<column_grid(plan), 256, 0, stream>>>(bits, static_cast<const float *>(v), ldv,
                                                       plan->m);
    if (error == cudaSuccess)
        error = cudaGetLastError();
    if (error == cudaSuccess)
        error = cudaMemcpyAsync(plan->host, bits, bytes, cudaMemcpyDeviceToHost, stream);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(stream);
    if (error == cudaSuccess)
        memcpy(largest, plan->host, bytes);
    return bd_cuda_check(error, "the largest elements of V");
}

static enum bd_status gram_repair(void *work, void *v, int64_t ldv, const int *exponent,
                                  int64_t first_row)
{
    struct gram_plan *plan = plan_of(work);
    const size_t bytes = (size_t)plan->data.n * sizeof *exponent;
    cudaStream_t stream = plan->cuda->stream;
    plan->solved = 0;
    memcpy(plan->host_exponents, exponent, bytes); /* not in use: bad passes have been waited for */
    cudaError_t error = cudaMemcpyAsync(plan->data.exponents, plan->host_exponents, bytes,
                                        cudaMemcpyHostToDevice, stream);
    if (plan->m > 0 && plan->type == BD_F64)
        repair<<<column_grid(plan), 256, 0, stream>>>(static_cast<double *>(v), ldv, plan->m,
                                                      first_row, plan->data.exponents);
    else if (plan->m > 0)
        repair<<<column_grid(plan), 256, 0, stream>>>(static_cast<float *>(v), ldv, plan->m,
                                                      first_row, plan->data.exponents);
    if (error == cudaSuccess)
        error = cudaGetLastError();
    return bd_cuda_check(error, "scaling columns of V");
}

const struct bd_gram_qr_ops bd_cuda_gram_qr_ops = {
    .create = gram_create,
    .destroy = gram_destroy,
    .begin = bd_cuda_gram_begin,
    .form = gram_form,
    .get = gram_get,
    .put = gram_put,
    .factor = gram_factor,
    .solve = gram_solve,
    .report = gram_report,
    .get_r = gram_get_r,
    .magnitudes = gram_magnitudes,
    .repair = gram_repair,
    .triangular_solve = bd_cuda_triangular_solve,
    .triangular_multiply = bd_cuda_triangular_multiply,
};
