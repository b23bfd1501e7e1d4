#include "linalg/shared/column_kernels.h"

#include <string.h>

#include "linalg/cpu/kernels/vector.h"

/* One body serves whole vectors (lanes = BD_VECTOR, a constant) and what is left of a column. */
BD_INLINE vec get(const float *p, int64_t lanes)
{
    if (lanes == BD_VECTOR)
        return LOAD(p);
    vec v = splat(0);
    memcpy(&v, p, (size_t)lanes * sizeof *p);
    return v;
}

BD_INLINE void put(float *p, vec v, int64_t lanes)
{
    if (lanes == BD_VECTOR)
        STORE(p, v);
    else
        memcpy(p, &v, (size_t)lanes * sizeof *p);
}

BD_INLINE double total(vec v)
{
    float s[4] = { 0 };
    add_sums4(s, v, splat(0), splat(0), splat(0));
    return (double)s[0];
}

/* Calls body(.., i, lanes) down a column. */
#define DOWN(rows, body, ...)                           \
    do {                                                \
        int64_t i = 0;                                  \
        for (; i + BD_VECTOR <= (rows); i += BD_VECTOR) \
            body(__VA_ARGS__, i, BD_VECTOR);            \
        if (i < (rows))                                 \
            body(__VA_ARGS__, i, (rows)-i);             \
    } while (0)

/* The columns come from memory in pieces of a block's rows, too short for the hardware to foresee
 * the next column: ask for it while this one is worked on. */
BD_INLINE void prefetch(const float *p, int64_t i)
{
    for (int line = 0; line < BD_VECTOR; line += 16)
        __builtin_prefetch(p + i + line, 0, 2);
}

/* nq columns of Q against nu of U; both are constants where this is inlined. */
BD_INLINE void dots_step(int nq, int nu, const float *q, int64_t ldq, const float *u, int64_t ldu,
                         int ahead, vec acc[4][2], int64_t i, int64_t lanes)
{
    vec x[2];
    for (int b = 0; b < nu; b++)
        x[b] = get(u + b * ldu + i, lanes);
    for (int a = 0; a < nq; a++) {
        vec z = get(q + a * ldq + i, lanes);
        if (ahead)
            prefetch(q + (nq + a) * ldq, i);
        for (int b = 0; b < nu; b++)
            acc[a][b] += z * x[b];
    }
}

BD_INLINE void dots_tile(int nq, int nu, int ahead, int64_t rows, int64_t n, const float *q,
                         int64_t ldq, const float *u, int64_t ldu, double *w)
{
    vec acc[4][2];
    for (int a = 0; a < nq; a++)
        for (int b = 0; b < nu; b++)
            acc[a][b] = splat(0);
    DOWN(rows, dots_step, nq, nu, q, ldq, u, ldu, ahead, acc);
    for (int a = 0; a < nq; a++)
        for (int b = 0; b < nu; b++)
            w[a + b * n] += total(acc[a][b]);
}

BD_INLINE void dots_pass(int nu, int64_t rows, int64_t n, const float *q, int64_t ldq,
                         const float *u, int64_t ldu, double *w)
{
    int64_t j = 0;
    for (; j + 8 <= n; j += 4)
        dots_tile(4, nu, 1, rows, n, q + j * ldq, ldq, u, ldu, w + j);
    for (; j + 4 <= n; j += 4)
        dots_tile(4, nu, 0, rows, n, q + j * ldq, ldq, u, ldu, w + j);
    for (; j < n; j++)
        dots_tile(1, nu, 0, rows, n, q + j * ldq, ldq, u, ldu, w + j);
}

static void dots(int64_t rows, int64_t n, int64_t p, const float *q, int64_t ldq, const float *u,
                 int64_t ldu, double *w)
{
    int64_t b = 0;
    for (; b + 2 <= p; b += 2)
        dots_pass(2, rows, n, q, ldq, u + b * ldu, ldu, w + b * n);
    if (b < p)
        dots_pass(1, rows, n, q, ldq, u + b * ldu, ldu, w + b * n);
}

BD_INLINE void subtract_step(int nq, int nu, int64_t n, const float *q, int64_t ldq, const float *w,
                             float *u, int64_t ldu, int ahead, int64_t i, int64_t lanes)
{
    vec x[2];
    for (int b = 0; b < nu; b++)
        x[b] = get(u + b * ldu + i, lanes);
    for (int a = 0; a < nq; a++) {
        vec z = get(q + a * ldq + i, lanes);
        if (ahead)
            prefetch(q + (nq + a) * ldq, i);
        for (int b = 0; b < nu; b++)
            x[b] -= splat(w[a + b * n]) * z;
    }
    for (int b = 0; b < nu; b++)
        put(u + b * ldu + i, x[b], lanes);
}

BD_INLINE void subtract_tile(int nq, int nu, int ahead, int64_t rows, int64_t n, const float *q,
                             int64_t ldq, const float *w, float *u, int64_t ldu)
{
    DOWN(rows, subtract_step, nq, nu, n, q, ldq, w, u, ldu, ahead);
}

BD_INLINE void subtract_pass(int nu, int64_t rows, int64_t n, const float *q, int64_t ldq,
                             const float *w, float *u, int64_t ldu)
{
    int64_t j = 0;
    for (; j + 8 <= n; j += 4)
        subtract_tile(4, nu, 1, rows, n, q + j * ldq, ldq, w + j, u, ldu);
    for (; j + 4 <= n; j += 4)
        subtract_tile(4, nu, 0, rows, n, q + j * ldq, ldq, w + j, u, ldu);
    for (; j < n; j++)
        subtract_tile(1, nu, 0, rows, n, q + j * ldq, ldq, w + j, u, ldu);
}

static void subtract(int64_t rows, int64_t n, int64_t p, const float *q, int64_t ldq,
                     const float *w, float *u, int64_t ldu)
{
    int64_t b = 0;
    for (; b + 2 <= p; b += 2)
        subtract_pass(2, rows, n, q, ldq, w + b * n, u + b * ldu, ldu);
    if (b < p)
        subtract_pass(1, rows, n, q, ldq, w + b * n, u + b * ldu, ldu);
}

static double square(int64_t rows, const float *u)
{
    double s[8] = { 0 };
    int64_t i = 0;
    for (; i + 8 <= rows; i += 8)
        for (int k = 0; k < 8; k++)
            s[k] += (double)u[i + k] * (double)u[i + k];
    for (; i < rows; i++)
        s[0] += (double)u[i] * (double)u[i];
    return ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]));
}

/* `steps` (1 .. 4) steps of `sweeps` sequences on one vector of rows: both are constants, so that
 * all values stay in registers between loading the columns and storing them. From call to call the
 * columns that the sequences move are kept in `moving` (ldc apart). */
BD_INLINE void rotate_step(int sweeps, int steps, const float *x, int64_t ldx, float *y,
                           int64_t ldy, const float *cs, int64_t ldcs, float *moving, int64_t ldc,
                           int64_t i, int64_t lanes)
{
    vec k[bd_sweep_group];
    for (int s = 0; s < sweeps; s++)
        k[s] = LOAD(moving + s * ldc + i);
    for (int t = 0; t < steps; t++) {
        vec z = get(x + t * ldx + i, lanes);
        prefetch(x + (t + steps) * ldx, i);
        for (int s = 0; s < sweeps; s++) {
            const float *g = cs + (t * ldcs + s) * 2;
            vec c = splat(g[0]), d = splat(g[1]);
            vec out = c * k[s] + d * z;
            k[s] = c * z - d * k[s];
            z = out;
        }
        put(y + t * ldy + i, z, lanes);
    }
    for (int s = 0; s < sweeps; s++)
        STORE(moving + s * ldc + i, k[s]);
}

enum { rotate_rows = 512 };

BD_INLINE void rotate_sweeps(int sweeps, int64_t rows, int64_t steps, const float *x, int64_t ldx,
                             float *y, int64_t ldy, const float *cs, int64_t ldcs)
{
    float moving[bd_sweep_group * (rotate_rows + BD_VECTOR)] __attribute__((aligned(64)));
    const int64_t ldc = rotate_rows + BD_VECTOR;
    for (int s = 0; s < sweeps; s++)
        memcpy(moving + s * ldc, x + (sweeps - 1 - s) * ldx, (size_t)rows * sizeof *x);
    x += sweeps * ldx;
    int64_t t = 0;
    for (; t + 4 <= steps; t += 4)
        DOWN(rows, rotate_step, sweeps, 4, x + t * ldx, ldx, y + t * ldy, ldy, cs + t * ldcs * 2,
             ldcs, moving, ldc);
    for (; t < steps; t++)
        DOWN(rows, rotate_step, sweeps, 1, x + t * ldx, ldx, y + t * ldy, ldy, cs + t * ldcs * 2,
             ldcs, moving, ldc);
    for (int s = 0; s < sweeps; s++)
        memcpy(y + (steps + sweeps - 1 - s) * ldy, moving + s * ldc, (size_t)rows * sizeof *y);
}

static void rotate(int64_t rows, int64_t steps, int sweeps, const float *x, int64_t ldx, float *y,
                   int64_t ldy, const float *cs, int64_t ldcs)
{
    for (int64_t i = 0; i < rows; i += rotate_rows) {
        int64_t part = rows - i < rotate_rows ? rows - i : rotate_rows;
        if (sweeps == 1)
            rotate_sweeps(1, part, steps, x + i, ldx, y + i, ldy, cs, ldcs);
        else if (sweeps == 2)
            rotate_sweeps(2, part, steps, x + i, ldx, y + i, ldy, cs, ldcs);
        else if (sweeps == 3)
            rotate_sweeps(3, part, steps, x + i, ldx, y + i, ldy, cs, ldcs);
        else
            rotate_sweeps(4, part, steps, x + i, ldx, y + i, ldy, cs, ldcs);
    }
}

BD_INLINE float clip(float t, float bound)
{
    float low = t < -bound ? -bound : t;
    return low > bound ? bound : low;
}

static void form(int64_t rows, const float *restrict m, const float *restrict t, float bound,
                 float dual, float *restrict x)
{
    for (int64_t i = 0; i < rows; i++) {
        float c = clip(t[i], bound);
        x[i] = m[i] - (t[i] - c) + dual * c;
    }
}

static void form_u8(int64_t rows, const uint8_t *restrict m, const float *restrict t, float bound,
                    float dual, float *restrict x)
{
    for (int64_t i = 0; i < rows; i++) {
        float c = clip(t[i], bound);
        x[i] = (float)m[i] - (t[i] - c) + dual * c;
    }
}

/* c of an element of the state; m is not read unless the problem is relaxed. */
BD_INLINE float clip_state(int relaxed, const float *m, float t, struct bd_column_clip by)
{
    if (!relaxed)
        return clip(t, by.bound);
    return clip(*m == *m ? by.scale * t : 0, by.bound);
}

static void form_relaxed(int64_t rows, const float *restrict m, const float *restrict t,
                         struct bd_column_clip read, float dual, float *restrict x)
{
    for (int64_t i = 0; i < rows; i++) {
        float c = clip_state(1, m + i, t[i], read);
        x[i] = (m[i] == m[i] ? m[i] : 0) - (t[i] - c) + dual * c;
    }
}

/* A piece of `renew`: r := M - L - E and e := new E - E, in units of the bound that is written, so
 * that neither tiny nor huge pictures leave the range of float when squared. */
BD_INLINE void renew_piece(int relaxed, int64_t rows, const float *restrict m,
                           const float *restrict x, const float *restrict l,
                           struct bd_column_clip read, float dual, struct bd_column_clip write,
                           float *restrict t, float *restrict r, float *restrict e)
{
    float unit = 1 / write.bound;
    for (int64_t i = 0; i < rows; i++) {
        const float *seen = relaxed ? m + i : NULL;
        float c = clip_state(relaxed, seen, t[i], read);
        float moved = x[i] - l[i], now = (t[i] - c) + moved;
        float next = clip_state(relaxed, seen, now, write);
        r[i] = (next - dual * c) * unit;
        e[i] = (moved - next) * unit;
        t[i] = now;
    }
}

/* m is NULL unless the problem is relaxed. */
BD_INLINE void renew_all(int relaxed, int64_t rows, const float *m, const float *x, const float *l,
                         struct bd_column_clip read, float dual, struct bd_column_clip write,
                         float *t, double *sums)
{
    enum { piece = 64 };
    float r[piece] __attribute__((aligned(64))), e[piece] __attribute__((aligned(64)));
    double unit = (double)write.bound * (double)write.bound;
    vec residual = splat(0), change = splat(0);
    for (int64_t i = 0; i < rows; i += piece) {
        const float *seen = relaxed ? m + i : NULL;
        if (i + piece <= rows) {
            renew_piece(relaxed, piece, seen, x + i, l + i, read, dual, write, t + i, r, e);
        } else {
            memset(r, 0, sizeof r);
            memset(e, 0, sizeof e);
            renew_piece(relaxed, rows - i, seen, x + i, l + i, read, dual, write, t + i, r, e);
        }
        for (int k = 0; k < piece; k += BD_VECTOR) {
            residual += LOAD(r + k) * LOAD(r + k);
            change += LOAD(e + k) * LOAD(e + k);
        }
    }
    sums[0] += total(residual) * unit;
    sums[1] += total(change) * unit;
}

static void renew(int64_t rows, const float *x, const float *l, float bound, float dual,
                  float next_bound, float *t, double *sums)
{
    const struct bd_column_clip read = { 1, bound }, write = { 1, next_bound };
    renew_all(0, rows, NULL, x, l, read, dual, write, t, sums);
}

static void renew_relaxed(int64_t rows, const float *m, const float *x, const float *l,
                          struct bd_column_clip read, float dual, struct bd_column_clip write,
                          float *t, double *sums)
{
    renew_all(1, rows, m, x, l, read, dual, write, t, sums);
}

static void sparse(int64_t rows, const float *x, const float *l, const float *t, float bound,
                   float next_bound, float *s)
{
    for (int64_t i = 0; i < rows; i++) {
        float now = (t[i] - clip(t[i], bound)) + (x[i] - l[i]);
        s[i] = now - clip(now, next_bound);
    }
}

static void sparse_relaxed(int64_t rows, const float *m, const float *x, const float *l,
                           const float *t, struct bd_column_clip read, float next_bound, float *s)
{
    for (int64_t i = 0; i < rows; i++) {
        float now = (t[i] - clip_state(1, m + i, t[i], read)) + (x[i] - l[i]);
        s[i] = m[i] == m[i] ? now - clip(now, next_bound) : 0;
    }
}

#define TABLE BD_ISA_SYMBOL(bd_column)
extern const struct bd_column_kernels TABLE;
const struct bd_column_kernels TABLE = {
    .dots = dots,
    .subtract = subtract,
    .square = square,
    .rotate = rotate,
    .form = form,
    .form_u8 = form_u8,
    .renew = renew,
    .sparse = sparse,
    .form_relaxed = form_relaxed,
    .renew_relaxed = renew_relaxed,
    .sparse_relaxed = sparse_relaxed,
};
