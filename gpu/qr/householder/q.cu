/* Blocked Householder QR on the GPU: columns of Q from many reflectors at once.
 *
 * Up to 512 reflectors V are one I - V T V^T (Schreiber, Van Loan 1989). Of T, upper triangular,
 * the blocks of 16 are there from the panels; two neighbours T1, T2 of any size are joined by -T1
 * (V1^T V2) T2 on their right. All elements of T are inner products of reflectors with others that
 * have been reflected, so none grows with the size. Then with P = V T^T
 *
 *     Q [I; C] := (I - V P^T) [I; C],
 *
 * from the last reflectors to the first: columns that were still those of an identity need no
 * product for P^T [I; 0], rows above C are 0, and Q is read and written once for 512 reflectors. */
#include <string.h>

#include "gpu/core/dependent_launch.cuh"
#include "gpu/qr/householder/plan.h"
#include "gpu/qr/householder/product.cuh"
#include "gpu/qr/householder/t.cuh"

/* Reflectors at once; with 256 there is more memory traffic. */
enum { most_wide = 512 };

/* Floats of V at most: the workspace is some three times that. */
static const int64_t most_floats = 8 << 20;

/* Splits of sums at most, in tiles for each multiprocessor. */
enum { most_parts = 2 };

/* v := `cols` reflectors of the factored a from row and column j0 on, with their ones and zeros. */
static __global__ void take_wide(float *v, int64_t ldv, const float *a, int64_t lda, int64_t rows)
{
    const int64_t column = blockIdx.y;
    bd_cuda_await();
    bd_cuda_let_follow();
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < rows;
         i += (int64_t)gridDim.x * blockDim.x)
        v[i + column * ldv] = i < column ? 0 : i == column ? 1 : __ldcg(a + i + column * lda);
}

/* out[i] := the sum of `splits` parts that are `count` floats each. */
static __global__ void add_parts(float *out, const float *parts, int64_t count, int splits)
{
    bd_cuda_await();
    bd_cuda_let_follow();
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count;
         i += (int64_t)gridDim.x * blockDim.x) {
        float sum = 0;
        for (int s = 0; s < splits; s++)
            sum += __ldcg(parts + i + s * count);
        out[i] = sum;
    }
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The most splits of a sum of k that are of use. */
static int64_t splits_most(int64_t k)
{
    return (k + 4 * product_depth - 1) / (4 * product_depth);
}

/* Floats for the parts of sums: of all splits that help. */
static int64_t parts_room(const struct bd_cuda *cuda, int64_t m, int64_t cols)
{
    return least((int64_t)most_parts * cuda->sms * product_tile * product_tile,
                 splits_most(m) * cols * (cols > m ? cols : m));
}

/* By enum house_job. */
static void (*const kernels[])(struct product_args) = { multiply<true, PRODUCT_PARTS>,
                                                        multiply<false, PRODUCT_TURN>,
                                                        multiply<false, PRODUCT_Q> };

enum bd_status house_wide_create(struct bd_cuda *cuda, int64_t m, int64_t n,
                                 struct house_wide *wide)
{
    const int64_t all = (n + base - 1) / base * base;
    const int64_t cols = least(least(most_wide, all), most_floats / m / base * base);
    memset(wide, 0, sizeof *wide);
    enum bd_status status = BD_OK;
    for (int i = 0; i < 3 && status == BD_OK; i++)
        status =
            bd_cuda_allow_shared(cuda, (const void *)kernels[i], "Householder QR: shared memory");
    for (int pieces = 3; pieces > 1 && !wide->pieces; pieces--)
        if (product_bytes(pieces, true) <= (size_t)cuda->shared_most)
            wide->pieces = pieces;
    if (status != BD_OK || cols < base || !wide->pieces)
        return status;
    wide->cols = cols;
    wide->ldv = (m + 31) / 32 * 32;
    wide->room = parts_room(cuda, m, cols);
    const struct {
        float **data;
        int64_t floats;
    } parts[] = {
        { &wide->v, wide->ldv * cols }, { &wide->p, wide->ldv * cols },
        { &wide->w, cols * m },         { &wide->t, cols * cols },
        { &wide->x, cols * cols },      { &wide->parts, wide->room },
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts && status == BD_OK; i++)
        status = bd_cuda_alloc(cuda, (void **)parts[i].data,
                               (size_t)parts[i].floats * sizeof(float), "a Householder QR");
    return status;
}

void house_wide_destroy(struct house_wide *wide)
{
    bd_cuda_free(wide->v);
    bd_cuda_free(wide->p);
    bd_cuda_free(wide->w);
    bd_cuda_free(wide->t);
    bd_cuda_free(wide->x);
    bd_cuda_free(wide->parts);
}

/* How many splits of a sum of k over so many tiles take the least time, with `room` for them. */
static int splits_for(const struct bd_cuda *cuda, int64_t tiles, int64_t k, int64_t room)
{
    const int64_t most = least(room, splits_most(k));
    int best = 1;
    double least_time = 1e30;
    for (int splits = 1; splits <= most; splits++) {
        const double waves = (double)((tiles * splits + cuda->sms - 1) / cuda->sms);
        const double time = waves * ((double)k / splits + 4 * product_depth);
        if (time < 0.98 * least_time) {
            least_time = time;
            best = splits;
        }
    }
    return best;
}

static unsigned tiles_of(int64_t x)
{
    return (unsigned)((x + product_tile - 1) / product_tile);
}

static int64_t share_of(int64_t k, int splits)
{
    return ((k + splits - 1) / splits + product_depth - 1) / product_depth * product_depth;
}

static void launch(const struct bd_cuda *cuda, enum house_job job, dim3 grid,
                   const struct product_args &args)
{
    bd_cuda_follow(cuda, kernels[job], grid, dim3(product_threads),
                   product_bytes(args.pieces, job == PRODUCT_Q), args);
}

/* Of a product (m x n, over k) what all have in common; A is the V in wide->v. */
static struct product_args product_of(const struct house_wide *wide, int64_t m, int64_t n,
                                      int64_t k)
{
    struct product_args args = {};
    args.a = wide->v;
    args.lda = wide->ldv;
    args.m = m;
    args.n = n;
    args.k = k;
    args.b_fours = args.c_fours = 1;
    args.pieces = wide->pieces;
    return args;
}

/* T of wide->v (rows x cols) from those of its panels. */
static void make_t(const struct bd_cuda *cuda, const struct house_wide *wide, const float *t16,
                   int64_t rows, int cols)
{
    struct product_args gram = product_of(wide, cols, cols, rows);
    gram.b = wide->v;
    gram.ldb = wide->ldv;
    gram.c = wide->parts;
    gram.ldc = wide->cols;
    gram.stride = wide->cols * wide->cols;
    gram.upper = 1;
    const unsigned side = tiles_of(cols);
    const int splits =
        splits_for(cuda, (int64_t)side * (side + 1) / 2, rows, wide->room / gram.stride);
    gram.share = share_of(rows, splits);
    launch(cuda, PRODUCT_PARTS, dim3(side, side, (unsigned)splits), gram);
    struct t_args args = { wide->t, wide->x, wide->parts, t16, wide->cols, cols, splits, 0 };
    const unsigned bases = (unsigned)(wide->cols / base);
    bd_cuda_follow(cuda, start_t, dim3(bases, bases), dim3(step_threads), 0, args);
    for (args.half = base; args.half < cols; args.half *= 2) {
        /* the last pair's second may be cut short by the edge of T, which is a multiple of 64 */
        const unsigned side = (unsigned)args.half / step_tile;
        const dim3 grid(side, side, (unsigned)((cols + args.half - 1) / args.half / 2));
        bd_cuda_follow(cuda, join_t<true>, grid, dim3(step_threads), 0, args);
        bd_cuda_follow(cuda, join_t<false>, grid, dim3(step_threads), 0, args);
    }
}

/* w (s x n, tight) := P^T C for the s columns of P at p, and n columns of C, both of k rows. */
static void project(const struct bd_cuda *cuda, const struct house_wide *wide, const float *p,
                    const float *c, int64_t ldc, int64_t k, int64_t s, int64_t n, float *w)
{
    struct product_args args = product_of(wide, s, n, k);
    args.a = p;
    args.b = c;
    args.ldb = ldc;
    args.ldc = s;
    args.stride = s * n;
    args.b_fours = caqr_aligned(c, ldc, 4);
    const dim3 tiles(tiles_of(s), tiles_of(n));
    const int splits = splits_for(cuda, (int64_t)tiles.x * tiles.y, k, wide->room / args.stride);
    args.share = share_of(k, splits);
    args.c = splits > 1 ? wide->parts : w;
    launch(cuda, PRODUCT_PARTS, dim3(tiles.x, tiles.y, (unsigned)splits), args);
    if (splits > 1)
        bd_cuda_follow(cuda, add_parts,
                       dim3((unsigned)least((args.stride + 255) / 256, 8 * cuda->sms)), dim3(256),
                       0, w, wide->parts, args.stride, splits);
}

/* wide->v := the `cols` reflectors from a on, wide->t := their T. */
static void take(const struct bd_cuda *cuda, const struct house_wide *wide, const float *a,
                 int64_t lda, const float *t16, int64_t rows, int cols)
{
    const dim3 grid((unsigned)least((rows + 255) / 256, 64), (unsigned)cols);
    bd_cuda_follow(cuda, take_wide, grid, dim3(256), 0, wide->v, wide->ldv, a, lda, rows);
    make_t(cuda, wide, t16, rows, cols);
}

/* wide->p := V B with the V in wide->v and a triangle B, ld = wide->cols, `upper` or lower, that
 * makes it V T or V T^T; the first `turned` rows transposed to wide->w, too. */
static void multiply_t(const struct bd_cuda *cuda, const struct house_wide *wide, const float *b,
                       int upper, int64_t rows, int cols, int64_t turned)
{
    struct product_args args = product_of(wide, rows, cols, cols);
    args.b = b;
    args.c = wide->p;
    args.ldc = wide->ldv;
    args.c_turned = wide->w;
    args.ldb = args.ld_turned = wide->cols;
    args.upper = upper;
    args.identity = turned;
    launch(cuda, PRODUCT_TURN, dim3(tiles_of(rows), tiles_of(cols)), args);
}

/* C (rows x k) := C - V W with the V in wide->v and the W in wide->w. Of C the first `identity`
 * columns are those of an identity, and of the others the first `zero` rows 0. */
static void subtract(const struct bd_cuda *cuda, const struct house_wide *wide, int64_t rows,
                     int cols, int64_t ldw, float *c, int64_t ldc, int64_t k, int64_t identity,
                     int64_t zero)
{
    struct product_args args = product_of(wide, rows, k, cols);
    args.b = wide->w;
    args.ldb = ldw;
    args.c = c;
    args.ldc = ldc;
    args.identity = identity;
    args.zero = zero;
    args.c_fours = caqr_aligned(c, ldc, 4);
    launch(cuda, PRODUCT_Q, dim3(tiles_of(rows), tiles_of(k)), args);
}

/* The k columns from row and column j0 of Q on, at q: those of the reflectors from j0 to `end`
 * applied to what the later ones left. `last`: there are none later. */
static void form(const struct bd_cuda *cuda, const struct house_wide *wide, const float *a,
                 int64_t lda, const float *t16, int64_t rows, int cols, float *q, int64_t ldq,
                 int64_t k, bool last)
{
    const int64_t identity = last ? k : cols;
    take(cuda, wide, a, lda, t16, rows, cols);
    multiply_t(cuda, wide, wide->t, 0, rows, cols, identity);
    if (identity < k)
        project(cuda, wide, wide->p + cols, q + cols + cols * ldq, ldq, rows - cols, cols, k - cols,
                wide->w + cols * wide->cols);
    subtract(cuda, wide, rows, cols, wide->cols, q, ldq, k, identity, cols);
}

enum bd_status house_wide_form(const struct bd_cuda *cuda, const struct house_wide *wide,
                               const float *a, int64_t lda, const float *t16, int64_t m, int64_t n,
                               float *q, int64_t ldq, int64_t k)
{
    for (int64_t end = n, j0; end > 0; end = j0) {
        j0 = (end - 1) / wide->cols * wide->cols;
        form(cuda, wide, a + j0 + j0 * lda, lda, t16 + j0 * caqr_inner, m - j0, (int)(end - j0),
             q + j0 + j0 * ldq, ldq, k - j0, end == n);
    }
    return bd_cuda_launched("Householder QR: Q");
}

enum bd_status house_wide_apply(const struct bd_cuda *cuda, const struct house_wide *wide,
                                const float *a, int64_t lda, const float *t16, int64_t rows,
                                int cols, float *c, int64_t ldc, int64_t k)
{
    const struct t_args t = { wide->t, wide->x, NULL, NULL, wide->cols, cols, 0, 0 };
    const unsigned side = (unsigned)(wide->cols / step_tile);
    take(cuda, wide, a, lda, t16, rows, cols);
    bd_cuda_follow(cuda, turn_t, dim3(side, side), dim3(step_threads), 0, t);
    multiply_t(cuda, wide, wide->x, 1, rows, cols, 0);
    project(cuda, wide, wide->p, c, ldc, rows, cols, k, wide->w);
    subtract(cuda, wide, rows, cols, cols, c, ldc, k, 0, 0);
    return bd_cuda_launched("Householder QR: an update by many reflectors");
}
