/* G = V^T V in float64 (plan.h): of float32 by gpu/core/gram.cuh, of float64 by the kernels here,
 * on the FP64 tensor cores too. Of 16 rows lane 4 g + t holds rows 2 t, 2 t + 1, 8 + 2 t and 9 + 2
 * t of column g of a group of 8 (any order will do: gpu/core/gram_multiply.cuh). These are two
 * loads of 16 bytes, each of which is 64 adjacent bytes of a column for the four lanes of the
 * column. */
#include "gpu/core/gram.cuh"
#include "gpu/gram_qr/pipelined.cuh"
#include "gpu/gram_qr/plan.h"

/* Rows of V for bd_gram_narrow: t has rows 2 t, 2 t + 1, 8 + 2 t and 9 + 2 t. */
struct rows_of_v {
    using element = double;
    static constexpr int blocks = 1;
    const double *v;
    int64_t ldv, m;

    __device__ __forceinline__ void load(int64_t first, int t, int j, double x[4]) const
    {
        const int64_t i = first + 2 * t;
        const double *p = v + i + j * ldv;
        if (pipeline_aligned(v, ldv) && i + 10 <= m) {
            const double2 low = *reinterpret_cast<const double2 *>(p),
                          high = *reinterpret_cast<const double2 *>(p + 8);
            x[0] = low.x, x[1] = low.y, x[2] = high.x, x[3] = high.y;
        } else {
#pragma unroll
            for (int k = 0; k < 4; k++)
                x[k] = i + k % 2 + k / 2 * 8 < m ? p[k % 2 + k / 2 * 8] : 0.0;
        }
    }
};

static int panel_count(int n)
{
    return n <= triangle<8>::most ? 1 : (n + square::panel - 1) / square::panel;
}

/* Fills the device once. Units of a single panel get fewer thread blocks, in proportion to their
 * work. */
template <class Shape>
static struct block_counts block_counts(const struct bd_cuda *cuda, int64_t m, int n)
{
    const int64_t tiles = (m + pipelined_memory<Shape>::rows - 1) / pipelined_memory<Shape>::rows;
    const int singles = panel_count(n), pairs = singles * (singles - 1) / 2;
    const int single = square::single_cost, pair = square::pair_cost;
    auto limited = [&](int64_t blocks) {
        return (int)(blocks < 1 ? 1 : blocks < tiles ? blocks : tiles);
    };
    if (singles == 1)
        return { 0, limited(cuda->sms) };
    const int pair_blocks = limited(cuda->sms * pair / (pairs * pair + singles * single));
    return { pair_blocks, limited((cuda->sms - pairs * pair_blocks) / singles) };
}

static size_t block_count(const struct block_counts &counts, int n)
{
    const size_t singles = (size_t)panel_count(n);
    return singles * (size_t)counts.single + singles * (singles - 1) / 2 * (size_t)counts.pair;
}

template <class Shape> static size_t pipelined_parts(const struct bd_cuda *cuda, int64_t m, int n)
{
    return block_count(block_counts<Shape>(cuda, m, n), n) * Shape::count * sizeof(double);
}

template <class Shape, int STAGES>
static enum bd_status launch_stages(const struct gram_plan *plan, const double *v, int64_t ldv,
                                    const struct block_counts &counts)
{
    struct bd_cuda *cuda = plan->cuda;
    const int n = plan->data.n, panels = panel_count(n);
    const size_t blocks = block_count(counts, n);
    const auto kernel = pipelined<Shape, STAGES>;
    double *part = static_cast<double *>(plan->parts), *g = plan->data.g;
    enum bd_status status =
        bd_cuda_allow_shared(cuda, (const void *)kernel, "shared memory for rows of V");
    if (status != BD_OK)
        return status;
    bd_cuda_follow(cuda, kernel, dim3((unsigned)blocks), dim3(pipelined_memory<Shape>::threads),
                   pipelined_memory<Shape>::bytes(n, STAGES), part, v, ldv, plan->m, n, counts);
    if constexpr (Shape::panel > 0)
        bd_cuda_follow(cuda, add_squares,
                       dim3(square::count / 256, (unsigned)(panels * (panels + 1) / 2)), dim3(256),
                       0, g, part, n, counts);
    else
        bd_gram_add_up<Shape>(cuda, g, part, n, (int)blocks, 1, NULL);
    return bd_cuda_launched("the Gram matrix");
}

/* Every GPU that there is code for has shared memory for the last of these. */
template <class Shape>
static enum bd_status launch_triangle(const struct gram_plan *plan, const double *v, int64_t ldv)
{
    const struct block_counts counts = block_counts<Shape>(plan->cuda, plan->m, plan->data.n);
    return pipelined_memory<Shape>::bytes(plan->data.n, 4) <= (size_t)plan->cuda->shared_most
               ? launch_stages<Shape, 4>(plan, v, ldv, counts)
               : launch_stages<Shape, 2>(plan, v, ldv, counts);
}

static enum bd_status launch_squares(const struct gram_plan *plan, const double *v, int64_t ldv)
{
    const struct block_counts counts = block_counts<square>(plan->cuda, plan->m, plan->data.n);
    return pipelined_memory<square>::bytes(plan->data.n, 3) <= (size_t)plan->cuda->shared_most
               ? launch_stages<square, 3>(plan, v, ldv, counts)
               : launch_stages<low_square, 2>(plan, v, ldv, counts);
}

size_t bd_cuda_gram_form_workspace(const struct bd_cuda *cuda, int64_t m, int n, enum bd_type type)
{
    if (m == 0)
        return 0;
    if (type == BD_F32 || n <= gram_narrow_most)
        return bd_gram_workspace(cuda, m, n);
    return n <= triangle<4>::most   ? pipelined_parts<triangle<4>>(cuda, m, n)
           : n <= triangle<8>::most ? pipelined_parts<triangle<8>>(cuda, m, n)
                                    : pipelined_parts<square>(cuda, m, n);
}

enum bd_status bd_cuda_gram_form_enqueue(const struct gram_plan *plan, const void *v, int64_t ldv)
{
    struct bd_cuda *cuda = plan->cuda;
    const int n = plan->data.n;
    double *part = static_cast<double *>(plan->parts), *g = plan->data.g;
    if (plan->m == 0)
        return bd_cuda_check(cudaMemsetAsync(g, 0, (size_t)n * n * sizeof *g, cuda->stream),
                             "the Gram matrix");
    if (plan->type == BD_F32) {
        const struct bd_gram_matrix x = { static_cast<const float *>(v), ldv, plan->m };
        return bd_gram(cuda, g, x, plan->m, n, part, NULL);
    }
    const double *wide = static_cast<const double *>(v);
    if (n <= gram_narrow_most) {
        bd_gram_of_rows(cuda, g, rows_of_v{ wide, ldv, plan->m }, plan->m, n, part, NULL);
        return bd_cuda_launched("the Gram matrix");
    }
    return n <= triangle<4>::most   ? launch_triangle<triangle<4>>(plan, wide, ldv)
           : n <= triangle<8>::most ? launch_triangle<triangle<8>>(plan, wide, ldv)
                                    : launch_squares(plan, wide, ldv);
}
