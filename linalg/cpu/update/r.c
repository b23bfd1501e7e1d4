/* The small matrices of a QR update: R is brought back to triangular form a column at a time, in
 * float64 in between, by transformations rounded to float32 first, so that Q sees the same ones. */
#include <math.h>
#include <string.h>

#include "linalg/cpu/update/update.h"

/* (carry, z) := (c z - s carry, c carry + s z), as in bd_column_kernels.rotate. */
static void rotate_pair(double *carry, double *z, const float *g)
{
    double c = (double)g[0], s = (double)g[1], from = *carry;
    *carry = c * *z - s * from;
    *z = c * from + s * *z;
}

/* Rows x[0], x[1] in a chain from above (the carry is the upper row before, the lower after). */
static void rotate_rows(double *x, const float *g)
{
    double carry = x[0];
    rotate_pair(&carry, &x[1], g);
    x[0] = x[1];
    x[1] = carry;
}

static void load_column(double *column, const float *r, int64_t rows, int64_t room)
{
    for (int64_t i = 0; i < rows; i++)
        column[i] = (double)r[i];
    for (int64_t i = rows; i < room; i++)
        column[i] = 0;
}

static void store_column(float *r, const double *column, int64_t rows, int64_t room)
{
    for (int64_t i = 0; i < rows; i++)
        r[i] = (float)column[i];
    for (int64_t i = rows; i < room; i++)
        r[i] = 0;
}

/* Column j of the new R has entries down to row j + p: chain s takes row j + p - s to zero. */
static void remove_by_rotations(struct bd_cpu_update *work, float *r, int64_t ldr, int64_t n,
                                int64_t k, int64_t p)
{
    struct bd_transform *t = &work->transform;
    *t = (struct bd_transform){ .kind = bd_transform_rotations,
                                .direction = 1,
                                .origin = k + p,
                                .steps = n - p - k,
                                .sweeps = p,
                                .cs = t->cs,
                                .v = t->v,
                                .vt = t->vt,
                                .tau = t->tau };
    double *x = work->column;
    for (int64_t j = k; j < n - p; j++) {
        load_column(x, r + (j + p) * ldr, j + p + 1, n);
        for (int64_t i = k; i < j; i++)
            for (int64_t s = 0; s < p; s++)
                rotate_rows(&x[i + p - 1 - s], t->cs + ((i - k) * p + s) * 2);
        for (int64_t s = 0; s < p; s++) {
            double *upper = &x[j + p - 1 - s], *lower = upper + 1;
            double h = hypot(*upper, *lower);
            float *g = t->cs + ((j - k) * p + s) * 2;
            g[0] = h > 0 ? (float)(*upper / h) : 1;
            g[1] = h > 0 ? (float)(*lower / h) : 0;
            *upper = h;
            *lower = 0;
        }
        store_column(r + j * ldr, x, j + 1, n);
    }
}

/* The reflector that takes x[1 .. p] to zero: v (v[0] = 1, rounded to float, `stride` apart); x is
 * overwritten by its image. Returns the scale factor tau = 2 / v^T v of the rounded v, or 0. */
static double make_reflector(double *x, int64_t p, float *v, int64_t stride)
{
    double tail = 0, head = x[0];
    for (int64_t i = 1; i <= p; i++)
        tail += x[i] * x[i];
    v[0] = 1;
    for (int64_t i = 1; i <= p; i++)
        v[i * stride] = 0;
    if (tail == 0)
        return 0;
    double pivot = head + copysign(sqrt(head * head + tail), head), square = 1, inner = head;
    for (int64_t i = 1; i <= p; i++) {
        float y = (float)(x[i] / pivot);
        v[i * stride] = y;
        square += (double)y * (double)y;
        inner += (double)y * x[i];
    }
    x[0] = head - 2 / square * inner;
    for (int64_t i = 1; i <= p; i++)
        x[i] = 0;
    return 2 / square;
}

static void apply_reflector(double *x, int64_t ld, int64_t cols, int64_t p, const float *v,
                            int64_t stride, double tau)
{
    for (int64_t j = 0; j < cols; j++) {
        double *y = x + j * ld, inner = 0;
        for (int64_t i = 0; i <= p; i++)
            inner += (double)v[i * stride] * y[i];
        inner *= tau;
        for (int64_t i = 0; i <= p; i++)
            y[i] -= inner * (double)v[i * stride];
    }
}

/* The columns of V for reflector j (its first row). */
static float *reflector(const struct bd_transform *t, int64_t j)
{
    int64_t group = j / bd_reflect_group, in = j % bd_reflect_group;
    int64_t size = (t->p + bd_reflect_group) * bd_reflect_group;
    return t->v + group * size + in * bd_reflect_group + in;
}

/* V T^T of a group, from V and tau: T is the triangular factor of the compact WY form. */
static void close_group(struct bd_transform *t, int64_t group)
{
    enum { B = bd_reflect_group };
    int64_t band = t->p + B;
    const float *v = t->v + group * band * B;
    float *vt = t->vt + group * band * B;
    double f[B][B] = { { 0 } };
    for (int c = 0; c < B; c++) {
        double inner[B] = { 0 };
        for (int64_t j = 0; j < band; j++)
            for (int a = 0; a < c; a++)
                inner[a] += (double)v[j * B + a] * (double)v[j * B + c];
        f[c][c] = group * B + c < t->steps ? t->tau[group * B + c] : 0;
        for (int a = 0; a < c; a++)
            for (int b = a; b < c; b++)
                f[a][c] -= f[a][b] * inner[b] * f[c][c];
    }
    for (int64_t j = 0; j < band; j++)
        for (int a = 0; a < B; a++) {
            double value = 0;
            for (int b = a; b < B; b++)
                value += f[a][b] * (double)v[j * B + b];
            vt[j * B + a] = (float)value;
        }
}

static void remove_by_reflectors(struct bd_cpu_update *work, float *r, int64_t ldr, int64_t n,
                                 int64_t k, int64_t p)
{
    struct bd_transform *t = &work->transform;
    *t = (struct bd_transform){ .kind = bd_transform_reflectors,
                                .direction = 1,
                                .origin = k,
                                .steps = n - p - k,
                                .p = p,
                                .cs = t->cs,
                                .v = t->v,
                                .vt = t->vt,
                                .tau = t->tau };
    int64_t groups = (t->steps + bd_reflect_group - 1) / bd_reflect_group;
    int64_t size = (p + bd_reflect_group) * bd_reflect_group;
    memset(t->v, 0, (size_t)(groups * size) * sizeof *t->v);
    double *x = work->column;
    for (int64_t j = 0; j < t->steps; j++) {
        load_column(x, r + (k + j + p) * ldr, k + j + p + 1, n);
        for (int64_t i = 0; i < j; i++)
            apply_reflector(x + k + i, 0, 1, p, reflector(t, i), bd_reflect_group, t->tau[i]);
        t->tau[j] = make_reflector(x + k + j, p, reflector(t, j), bd_reflect_group);
        store_column(r + (k + j) * ldr, x, k + j + 1, n);
    }
    for (int64_t group = 0; group < groups; group++)
        close_group(t, group);
}

void bd_update_r_remove(struct bd_cpu_update *work, float *r, int64_t ldr, int64_t n, int64_t k,
                        int64_t p)
{
    work->transform.kind = bd_transform_none;
    if (k + p == n)
        return; /* the last columns: the rest is triangular as it is */
    if (p < bd_update_reflect_p)
        remove_by_rotations(work, r, ldr, n, k, p);
    else
        remove_by_reflectors(work, r, ldr, n, k, p);
}

/* Chain s, which comes from below, over one column, from step `from` on. */
static void insert_chain(const struct bd_transform *t, double *x, int64_t s, int64_t from)
{
    for (int64_t step = from; step < t->steps; step++) {
        double *upper = &x[t->origin + s - step], carry = upper[1];
        rotate_pair(&carry, upper, t->cs + (step * t->sweeps + s) * 2);
        upper[1] = upper[0];
        upper[0] = carry;
    }
}

static void make_insert_chain(const struct bd_transform *t, double *x, int64_t s)
{
    for (int64_t step = 0; step < t->steps; step++) {
        double *upper = &x[t->origin + s - step], *lower = upper + 1;
        double h = hypot(*upper, *lower);
        float *g = t->cs + (step * t->sweeps + s) * 2;
        g[0] = h > 0 ? (float)(*upper / h) : 1;
        g[1] = h > 0 ? (float)(-*lower / h) : 0;
        *upper = h;
        *lower = 0;
    }
}

/* Chain s takes new column s to zero from row n + s up to row k + s + 1. The old columns gain one
 * entry below the diagonal a chain, which their move by p places makes room for. */
void bd_update_r_insert(struct bd_cpu_update *work, float *r, int64_t ldr, int64_t n, int64_t k,
                        int64_t p)
{
    struct bd_transform *t = &work->transform;
    *t = (struct bd_transform){ .kind = k < n ? bd_transform_rotations : bd_transform_none,
                                .direction = -1,
                                .origin = n - 1,
                                .steps = n - k,
                                .sweeps = p,
                                .cs = t->cs,
                                .v = t->v,
                                .vt = t->vt,
                                .tau = t->tau };
    for (int64_t j = 0; j < p; j++) {
        double *x = work->w + j * work->max_cols;
        for (int64_t s = 0; s < j; s++)
            insert_chain(t, x, s, 0);
        make_insert_chain(t, x, j);
    }
    double *x = work->column;
    for (int64_t j = n - 1; j >= k; j--) {
        load_column(x, r + j * ldr, j + 1, n + p);
        for (int64_t s = 0; s < p; s++)
            insert_chain(t, x, s, n - 1 - j); /* above that the rows are zero yet */
        store_column(r + (j + p) * ldr, x, j + p + 1, n + p);
    }
    for (int64_t j = 0; j < p; j++)
        store_column(r + (k + j) * ldr, work->w + j * work->max_cols, k + j + 1, n + p);
    for (int64_t j = 0; j < k; j++)
        memset(r + j * ldr + n, 0, (size_t)p * sizeof *r);
}

void bd_update_transform_rows(const struct bd_transform *t, double *w, int64_t ld, int64_t cols)
{
    if (t->kind == bd_transform_rotations)
        for (int64_t j = 0; j < cols; j++)
            for (int64_t step = 0; step < t->steps; step++)
                for (int64_t s = 0; s < t->sweeps; s++)
                    rotate_rows(w + j * ld + t->origin - 1 + step - s,
                                t->cs + (step * t->sweeps + s) * 2);
    if (t->kind == bd_transform_reflectors)
        for (int64_t j = 0; j < t->steps; j++)
            apply_reflector(w + t->origin + j, ld, cols, t->p, reflector(t, j), bd_reflect_group,
                            t->tau[j]);
}
