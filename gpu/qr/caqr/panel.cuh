/* Private to factor.cu and gpu/qr/householder/panel.cu: the Householder factorisation of 16 columns
 * in the registers of a warp, or of several warps with 128 rows each.
 *
 * The columns are [top; body], top 16 x 16. In lane 4 g + t the warp holds columns g and g + 8: of
 * the body tiles as in block.cuh, of the top rows 2 t, 2 t + 1, 8 + 2 t, 8 + 2 t + 1.
 * Reflector j is v_j = [e_j + top(j + 1 .., j); body(:, j)] scaled: columns stay as they are and
 * their factors come in at the end, so that a column is final as soon as the reflectors before it
 * are applied.
 *
 * Where several warps have the rows, all but the one with the top have zeros there, and `join` adds
 * up over the warps what a step needs: join.sum(row, dots), the lane's two elements of row j and
 * its two products with column j; join.most(x), the largest element by column. */
#ifndef BD_GPU_QR_CAQR_PANEL_CUH
#define BD_GPU_QR_CAQR_PANEL_CUH

#include "gpu/qr/caqr/block.cuh"

/* The squared norm of a column below its diagonal under which the column counts as zero: columns
 * are scaled to above 2^-20 before, so this is far below rounding. */
#define CAQR_TINY_SQUARE 1e-31f

/* R's diagonal keeps its sign (Parlett's formula for alpha - beta): a fold of a small block then
 * has a small tau and disturbs R by that much rounding only; not below this ratio of squares,
 * because reflectors grow as the column below the diagonal shrinks. As in
 * linalg/cpu/kernels/block_panel.inc.
 */
#define CAQR_SMALL_SQUARE 1e-12f

struct caqr_panel_shared {
    float4 column[2][4 * (caqr_tiles / 2 + 1)]; /* column j, j even and odd: rows of tiles 2 i, 2 i
                                                   + 1 of lane t at 4 i + t, the top's last */
    float z[caqr_inner][caqr_inner];            /* v_k . v_j at [j][k], k < j */
    float tau[caqr_inner];
};

struct caqr_top {
    float x[2][2][2]; /* column g + 8 c, row 8 h + 2 t + e at [c][h][e] */
};

struct caqr_reflector {
    float beta, tau, scale;
};

/* One warp has all rows. */
struct caqr_alone {
    __device__ __forceinline__ void sum(float (&)[2], float (&)[2])
    {
    }
    __device__ __forceinline__ void most(float (&)[2])
    {
    }
};

/* 1 / x to about an ulp, for x neither tiny nor huge, without branches. */
static __device__ __forceinline__ float caqr_reciprocal(float x)
{
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return fmaf(y, fmaf(-x, y, 1.0f), y);
}

/* From alpha (the diagonal element) and the squared norm below it. NaN spreads. */
static __device__ __forceinline__ caqr_reflector caqr_reflect(float alpha, float square)
{
    caqr_reflector r;
    float squares = fmaf(alpha, alpha, square), inverse;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(squares));
    float root = squares * inverse;
    root = fmaf(0.5f * inverse, fmaf(-root, root, squares), root);
    float end = copysignf(root, alpha), sum = alpha + end;
    bool keep = square > CAQR_SMALL_SQUARE * (alpha * alpha), none = square < CAQR_TINY_SQUARE;
    r.tau = (keep ? square : sum) * caqr_reciprocal(keep ? sum * end : end);
    r.scale = (keep ? -sum : 1.0f) * caqr_reciprocal(keep ? square : sum);
    r.beta = keep ? end : -end;
    if (none) {
        r.beta = alpha;
        r.tau = 0;
        r.scale = 0;
    }
    return r;
}

/* The largest magnitude in a lane's column c of body and top, over its 4 lanes. */
static __device__ __forceinline__ float caqr_largest(const float (&body)[caqr_tiles][4],
                                                     const caqr_top &top, int c)
{
    float most = 0;
#pragma unroll
    for (int k = 0; k < caqr_tiles; k++)
        most = fmaxf(most, fmaxf(fabsf(body[k][2 * c]), fabsf(body[k][2 * c + 1])));
#pragma unroll
    for (int i = 0; i < 4; i++)
        most = fmaxf(most, fabsf(top.x[c][i / 2][i % 2]));
    most = fmaxf(most, __shfl_xor_sync(~0u, most, 1));
    return fmaxf(most, __shfl_xor_sync(~0u, most, 2));
}

/* A power of two that brings a column with this largest element into a range where squares
 * neither overflow nor vanish; 1 if it is there already. */
static __device__ __forceinline__ float caqr_scale(float most)
{
    if (!(most > 0) || isinf(most) || (most > 0x1p-20f && most < 0x1p40f))
        return 1;
    uint32_t e = __float_as_uint(most) >> 23; /* 2^(127 - e), 1 / which is a float as well */
    e = e < 1 ? 1 : e;
    return __uint_as_float(e < 254 ? (254 - e) << 23 : 0x00400000);
}

/* Writes column 8 H + owner, unscaled, for all lanes to read. */
template <int H>
static __device__ __forceinline__ void caqr_publish(const float (&body)[caqr_tiles][4],
                                                    const caqr_top &top, float4 *column, int owner,
                                                    int lane)
{
    int t = lane & 3;
    if (lane >> 2 != owner)
        return;
#pragma unroll
    for (int k = 0; k < caqr_tiles; k += 2)
        column[2 * k + t] = make_float4(body[k][2 * H], body[k][2 * H + 1], body[k + 1][2 * H],
                                        body[k + 1][2 * H + 1]);
    column[2 * caqr_tiles + t] =
        make_float4(top.x[H][0][0], top.x[H][0][1], top.x[H][1][0], top.x[H][1][1]);
}

/* Reads column j, which has been published, below row j: v of the body, vt of the top. */
static __device__ __forceinline__ void caqr_read(float4 (&v)[caqr_tiles / 2], float4 &vt,
                                                 const float4 *column, int j, int lane)
{
    const int t = lane & 3;
    vt = column[2 * caqr_tiles + t];
#pragma unroll
    for (int k = 0; k < caqr_tiles / 2; k++)
        v[k] = column[4 * k + t];
    vt.x = 2 * t > j ? vt.x : 0;
    vt.y = 2 * t + 1 > j ? vt.y : 0;
    vt.z = 8 + 2 * t > j ? vt.z : 0;
    vt.w = 8 + 2 * t + 1 > j ? vt.w : 0;
}

/* Column j . columns g and g + 8 below row j, over the lane's 4 lanes. */
static __device__ __forceinline__ void
caqr_dots(float (&dots)[2], const float (&body)[caqr_tiles][4], const caqr_top &top,
          const float4 (&v)[caqr_tiles / 2], const float4 &vt)
{
#pragma unroll
    for (int c = 0; c < 2; c++) {
        float sum[4] = { vt.x * top.x[c][0][0], vt.y * top.x[c][0][1], vt.z * top.x[c][1][0],
                         vt.w * top.x[c][1][1] };
#pragma unroll
        for (int k = 0; k < caqr_tiles; k += 2) {
            sum[0] = fmaf(v[k / 2].x, body[k][2 * c], sum[0]);
            sum[1] = fmaf(v[k / 2].y, body[k][2 * c + 1], sum[1]);
            sum[2] = fmaf(v[k / 2].z, body[k + 1][2 * c], sum[2]);
            sum[3] = fmaf(v[k / 2].w, body[k + 1][2 * c + 1], sum[3]);
        }
        dots[c] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }
#pragma unroll
    for (int c = 0; c < 2; c++) {
        dots[c] += __shfl_xor_sync(~0u, dots[c], 1);
        dots[c] += __shfl_xor_sync(~0u, dots[c], 2);
    }
}

/* The body's column c of the lane += f times v. */
static __device__ __forceinline__ void caqr_add(float (&body)[caqr_tiles][4],
                                                const float4 (&v)[caqr_tiles / 2], float f, int c)
{
#pragma unroll
    for (int k = 0; k < caqr_tiles; k += 2) {
        body[k][2 * c] = fmaf(v[k / 2].x, f, body[k][2 * c]);
        body[k][2 * c + 1] = fmaf(v[k / 2].y, f, body[k][2 * c + 1]);
        body[k + 1][2 * c] = fmaf(v[k / 2].z, f, body[k + 1][2 * c]);
        body[k + 1][2 * c + 1] = fmaf(v[k / 2].w, f, body[k + 1][2 * c + 1]);
    }
}

/* Reflector j = 8 H + i from rows j and products of the lane's columns (joined): to z and tau, and
 * its factor to the lanes of its column; w[c] is what row j of column c loses, w[c] * -r.scale
 * times column j what the rows below lose. */
template <int H>
static __device__ __forceinline__ caqr_reflector caqr_make(float (&w)[2], float (&factor)[2],
                                                           const float (&row)[2],
                                                           const float (&dots)[2],
                                                           caqr_panel_shared *s, int i, int lane)
{
    const int g = lane >> 2, j = 8 * H + i;
    caqr_reflector r =
        caqr_reflect(__shfl_sync(~0u, row[H], 4 * i), __shfl_sync(~0u, dots[H], 4 * i));
    float u[2] = { fmaf(r.scale, dots[0], row[0]), fmaf(r.scale, dots[1], row[1]) };
    s->z[j][g] = factor[0] * u[0]; /* the same in all 4 lanes; of use below j */
    s->z[j][g + 8] = factor[1] * u[1];
    s->tau[j] = r.tau;
    factor[H] = g == i ? r.scale : factor[H];
#pragma unroll
    for (int c = 0; c < 2; c++)
        w[c] = g + 8 * c > j ? r.tau * u[c] : 0;
    return r;
}

/* The top of the lane's column c after reflector j = 8 H + i. */
template <int H>
static __device__ __forceinline__ void caqr_add_top(caqr_top &top, const float4 &vt, float w,
                                                    const caqr_reflector &r, int i, int c, int lane)
{
    const int g = lane >> 2, t = lane & 3;
    const float f = -r.scale * w;
    top.x[c][0][0] = fmaf(vt.x, f, top.x[c][0][0]);
    top.x[c][0][1] = fmaf(vt.y, f, top.x[c][0][1]);
    top.x[c][1][0] = fmaf(vt.z, f, top.x[c][1][0]);
    top.x[c][1][1] = fmaf(vt.w, f, top.x[c][1][1]);
#pragma unroll
    for (int e = 0; e < 2; e++) {
        float x = g + 8 * c == 8 * H + i ? r.beta : top.x[c][H][e] - w;
        top.x[c][H][e] = 2 * t + e == i ? x : top.x[c][H][e];
    }
}

/* Row 8 H + i of the lane's columns, from the lane that has it. */
template <int H>
static __device__ __forceinline__ void caqr_row(float (&row)[2], const caqr_top &top, int i,
                                                int lane)
{
#pragma unroll
    for (int c = 0; c < 2; c++)
        row[c] = __shfl_sync(~0u, i & 1 ? top.x[c][H][1] : top.x[c][H][0], (lane & ~3) + i / 2);
}

/* Reflector j = 8 H + i from column j, which has been published, applied to the columns after it;
 * the next of the same half is published as soon as it is final. One piece of code for 8 columns:
 * all 16 unrolled wait for instructions. */
template <int H, class Join>
static __device__ __forceinline__ void caqr_step(float (&body)[caqr_tiles][4], caqr_top &top,
                                                 float (&factor)[2], caqr_panel_shared *s, int i,
                                                 int lane, Join &join)
{
    float4 v[caqr_tiles / 2], vt;
    float row[2], dots[2], w[2];
    __syncwarp();
    caqr_read(v, vt, s->column[i & 1], 8 * H + i, lane);
    caqr_row<H>(row, top, i, lane);
    caqr_dots(dots, body, top, v, vt);
    join.sum(row, dots);
    caqr_reflector r = caqr_make<H>(w, factor, row, dots, s, i, lane);
#pragma unroll
    for (int c = H; c < 2; c++) { /* H = 1: columns below 8 are done */
        caqr_add(body, v, -r.scale * w[c], c);
        caqr_add_top<H>(top, vt, w[c], r, i, c, lane);
        if (c == H && i < 7)
            caqr_publish<H>(body, top, s->column[(i + 1) & 1], i + 1, lane);
    }
}

/* T of the compact WY form (its row lane % 16) from z and tau: T(0..j-1, j) = -tau_j T V^T v_j. */
static __device__ __forceinline__ void caqr_form_t(const caqr_panel_shared *s, float (&row)[16],
                                                   int lane)
{
    int q = lane % caqr_inner;
#pragma unroll
    for (int j = 0; j < caqr_inner; j++) {
        float sum[2] = { 0, 0 }, tau = s->tau[j];
#pragma unroll
        for (int k = 0; k < j; k++)
            sum[k % 2] = fmaf(row[k], s->z[j][k], sum[k % 2]);
        float x = j > q ? -(sum[0] + sum[1]) : 0.0f;
        row[j] = tau * (j == q ? 1.0f : x);
    }
}

/* Multiplies the lane's columns of the body. */
static __device__ __forceinline__ void caqr_scale_columns(float (&body)[caqr_tiles][4],
                                                          const float (&scale)[2])
{
#pragma unroll
    for (int k = 0; k < caqr_tiles; k++)
#pragma unroll
        for (int i = 0; i < 4; i++)
            body[k][i] *= scale[i / 2];
}

/* R is of the columns as they were; reflectors have no scale. */
static __device__ __forceinline__ void caqr_unscale_r(caqr_top &top, const float (&scale)[2],
                                                      int lane)
{
    int g = lane >> 2, t = lane & 3;
    float back[2] = { 1 / scale[0], 1 / scale[1] };
#pragma unroll
    for (int i = 0; i < 8; i++)
        if (8 * (i / 2 % 2) + 2 * t + i % 2 <= g + 8 * (i / 4))
            top.x[i / 4][i / 2 % 2][i % 2] *= back[i / 4];
}

/* Only `count` reflectors exist; the others become 0. */
static __device__ __forceinline__ void caqr_pad_reflectors(caqr_panel_shared *s, int count,
                                                           int lane)
{
    for (int j = count; j < caqr_inner; j++) {
        s->z[j][lane % caqr_inner] = 0;
        s->tau[j] = 0;
    }
    __syncwarp();
}

/* QR of [top; body], whose columns from `count` on are 0: on exit the upper triangle of top is R,
 * its lower part and body are the reflectors, unscaled, and `factor` what the lane's two columns of
 * them are to be multiplied by.
 */
template <class Join>
static __device__ __forceinline__ void
caqr_factor_panel(float (&body)[caqr_tiles][4], caqr_top &top, float (&factor)[2],
                  caqr_panel_shared *s, int count, int lane, Join &join)
{
    float most[2] = { caqr_largest(body, top, 0), caqr_largest(body, top, 1) };
    join.most(most);
    float scale[2] = { caqr_scale(most[0]), caqr_scale(most[1]) };
    bool scaled = __any_sync(~0u, scale[0] != 1 || scale[1] != 1);
    if (scaled) {
        caqr_scale_columns(body, scale);
#pragma unroll
        for (int i = 0; i < 8; i++)
            top.x[i / 4][i / 2 % 2][i % 2] *= scale[i / 4];
    }
    factor[0] = factor[1] = 0;
    caqr_publish<0>(body, top, s->column[0], 0, lane);
#pragma unroll 1
    for (int i = 0; i < 8 && i < count; i++)
        caqr_step<0>(body, top, factor, s, i, lane, join);
    if (count > 8) {
        caqr_publish<1>(body, top, s->column[0], 0, lane);
#pragma unroll 1
        for (int i = 0; i < count - 8; i++)
            caqr_step<1>(body, top, factor, s, i, lane, join);
    }
    caqr_pad_reflectors(s, count, lane);
    if (scaled)
        caqr_unscale_r(top, scale, lane);
}

#endif
