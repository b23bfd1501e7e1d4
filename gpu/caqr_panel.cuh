/* Private to caqr_factor.cu: the Householder factorisation of 16 columns in the registers of a
 * warp.
 *
 * The columns are [top; body], top 16 x 16. In lane 4 g + t the warp holds columns g and g + 8: of
 * the body tiles as in caqr_block.cuh, of the top rows 2 t, 2 t + 1, 8 + 2 t, 8 + 2 t + 1.
 * Reflector j is v_j = [e_j + top(j + 1 .., j); body(:, j)] scaled: columns stay as they are and
 * their factors come in at the end, so that a column is final as soon as the reflectors before it
 * are applied. */
#ifndef BD_GPU_CAQR_PANEL_CUH
#define BD_GPU_CAQR_PANEL_CUH

#include "gpu/caqr_block.cuh"

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

/* 1 / x to about an ulp, for x neither tiny nor huge, without the branches of a division. */
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

/* A power of two that brings a column with this largest element where its squares neither overflow
 * nor vanish: 1 for those that are there. */
static __device__ __forceinline__ float caqr_scale(float most)
{
    if (!(most > 0) || isinf(most) || (most > 0x1p-20f && most < 0x1p40f))
        return 1;
    int e = ilogbf(most);
    return ldexpf(1, -(e < -126 ? -126 : e));
}

/* Column 8 H + owner, as it is, for all lanes to read. */
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

/* Step j = 8 H + 2 T + E: reflector j from column j, which has been published, applied to the
 * columns after it; the next is published as early as can be. */
template <int H, int E>
static __device__ __forceinline__ void caqr_step(float (&body)[caqr_tiles][4], caqr_top &top,
                                                 float (&factor)[2], caqr_panel_shared *s, int T,
                                                 int lane)
{
    const int g = lane >> 2, t = lane & 3, j = 8 * H + 2 * T + E, owner = 2 * T + E;
    const float4 *column = s->column[E];
    __syncwarp();
    float vt[2][2];
    float4 x = column[2 * caqr_tiles + t];
    vt[0][0] = 2 * t > j ? x.x : 0;
    vt[0][1] = 2 * t + 1 > j ? x.y : 0;
    vt[1][0] = 8 + 2 * t > j ? x.z : 0;
    vt[1][1] = 8 + 2 * t + 1 > j ? x.w : 0;
    /* Column j . columns g and g + 8, below row j. */
    float dots[2], sum[2][4];
#pragma unroll
    for (int i = 0; i < 8; i++)
        sum[i / 4][i % 4] = vt[i / 2 % 2][i % 2] * top.x[i / 4][i / 2 % 2][i % 2];
    float4 v[caqr_tiles / 2];
#pragma unroll
    for (int k = 0; k < caqr_tiles / 2; k++)
        v[k] = column[4 * k + t];
#pragma unroll
    for (int k = 0; k < caqr_tiles; k += 2) {
#pragma unroll
        for (int c = 0; c < 2; c++) {
            sum[c][0] = fmaf(v[k / 2].x, body[k][2 * c], sum[c][0]);
            sum[c][1] = fmaf(v[k / 2].y, body[k][2 * c + 1], sum[c][1]);
            sum[c][2] = fmaf(v[k / 2].z, body[k + 1][2 * c], sum[c][2]);
            sum[c][3] = fmaf(v[k / 2].w, body[k + 1][2 * c + 1], sum[c][3]);
        }
    }
#pragma unroll
    for (int c = 0; c < 2; c++)
        dots[c] = (sum[c][0] + sum[c][1]) + (sum[c][2] + sum[c][3]);
#pragma unroll
    for (int c = 0; c < 2; c++) {
        dots[c] += __shfl_xor_sync(~0u, dots[c], 1);
        dots[c] += __shfl_xor_sync(~0u, dots[c], 2);
    }
    float square = __shfl_sync(~0u, dots[H], 4 * owner);
    float alpha = __shfl_sync(~0u, top.x[H][H][E], 4 * owner + T);
    float row0 = __shfl_sync(~0u, top.x[0][H][E], 4 * g + T);
    float row1 = __shfl_sync(~0u, top.x[1][H][E], 4 * g + T);
    caqr_reflector r = caqr_reflect(alpha, square);
    float u[2] = { fmaf(r.scale, dots[0], row0), fmaf(r.scale, dots[1], row1) };
    s->z[j][g] = factor[0] * u[0]; /* the same in all 4 lanes; of use below j */
    s->z[j][g + 8] = factor[1] * u[1];
    s->tau[j] = r.tau;
    if (g == owner)
        factor[H] = r.scale;
#pragma unroll
    for (int c = H; c < 2; c++) { /* H = 1: columns below 8 are done */
        float w = g + 8 * c > j ? r.tau * u[c] : 0, f = r.scale * w;
#pragma unroll
        for (int k = 0; k < caqr_tiles; k += 2) {
            body[k][2 * c] = fmaf(-v[k / 2].x, f, body[k][2 * c]);
            body[k][2 * c + 1] = fmaf(-v[k / 2].y, f, body[k][2 * c + 1]);
            body[k + 1][2 * c] = fmaf(-v[k / 2].z, f, body[k + 1][2 * c]);
            body[k + 1][2 * c + 1] = fmaf(-v[k / 2].w, f, body[k + 1][2 * c + 1]);
        }
#pragma unroll
        for (int i = 0; i < 4; i++)
            top.x[c][i / 2][i % 2] = fmaf(-vt[i / 2][i % 2], f, top.x[c][i / 2][i % 2]);
        if (t == T)
            top.x[c][H][E] = g + 8 * c == j ? r.beta : top.x[c][H][E] - w;
        bool turn = E == 1 && T == 3; /* the next column is in the other half */
        if (c == H && !turn)
            caqr_publish<H>(body, top, s->column[1 - E], owner + 1, lane);
        if (c == 1 && H == 0 && turn)
            caqr_publish<1>(body, top, s->column[1 - E], 0, lane);
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

/* QR of [top; body]: on exit the upper triangle of top is R, its lower part and body are the
 * reflectors, unscaled, and `factor` what the lane's two columns of them are to be multiplied by.
 */
static __device__ __forceinline__ void caqr_factor_panel(float (&body)[caqr_tiles][4],
                                                         caqr_top &top, float (&factor)[2],
                                                         caqr_panel_shared *s, int lane)
{
    float scale[2] = { caqr_scale(caqr_largest(body, top, 0)),
                       caqr_scale(caqr_largest(body, top, 1)) };
    bool scaled = __any_sync(~0u, scale[0] != 1 || scale[1] != 1);
    if (scaled) {
#pragma unroll
        for (int k = 0; k < caqr_tiles; k++)
#pragma unroll
            for (int i = 0; i < 4; i++)
                body[k][i] *= scale[i / 2];
#pragma unroll
        for (int i = 0; i < 8; i++)
            top.x[i / 4][i / 2 % 2][i % 2] *= scale[i / 4];
    }
    factor[0] = factor[1] = 0;
    caqr_publish<0>(body, top, s->column[0], 0, lane);
#pragma unroll 1
    for (int i = 0; i < 4; i++) {
        caqr_step<0, 0>(body, top, factor, s, i, lane);
        caqr_step<0, 1>(body, top, factor, s, i, lane);
    }
#pragma unroll 1
    for (int i = 0; i < 4; i++) {
        caqr_step<1, 0>(body, top, factor, s, i, lane);
        caqr_step<1, 1>(body, top, factor, s, i, lane);
    }
    __syncwarp();
    if (scaled) { /* R is of the columns as they were; reflectors have no scale */
        int g = lane >> 2, t = lane & 3;
#pragma unroll
        for (int i = 0; i < 8; i++)
            if (8 * (i / 2 % 2) + 2 * t + i % 2 <= g + 8 * (i / 4))
                top.x[i / 4][i / 2 % 2][i % 2] /= scale[i / 4];
    }
}

#endif
