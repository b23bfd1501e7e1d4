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

/* The rotation that takes `lower` to zero. g holds its cosine, and its sine times `sign`. */
static void make_rotation(double *upper, double *lower, float sign, float *g)
{
    double h = hypot(*upper, *lower);
    g[0] = h > 0 ? (float)(*upper / h) : 1;
    g[1] = h > 0 ? sign * (float)(*lower / h) : 0;
    *upper = h;
    *lower = 0;
}

/* Column j of the new R has entries down to row j + p: chain s takes row j + p - s to zero. The
 * last columns leave nothing to do: the rest is triangular as it is. */
void bd_update_r_remove(struct bd_cpu_update *work, float *r, int64_t ldr, int64_t n, int64_t k,
                        int64_t p)
{
    struct bd_transform *t = &work->transform;
    *t = (struct bd_transform){
        .direction = 1, .origin = k + p, .steps = n - p - k, .sweeps = p, .cs = t->cs
    };
    double *x = work->column;
    for (int64_t j = k; j < n - p; j++) {
        load_column(x, r + (j + p) * ldr, j + p + 1, n);
        for (int64_t i = k; i < j; i++)
            for (int64_t s = 0; s < p; s++)
                rotate_rows(&x[i + p - 1 - s], t->cs + ((i - k) * p + s) * 2);
        for (int64_t s = 0; s < p; s++) {
            double *upper = &x[j + p - 1 - s];
            make_rotation(upper, upper + 1, 1, t->cs + ((j - k) * p + s) * 2);
        }
        store_column(r + j * ldr, x, j + 1, n);
    }
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
        double *upper = &x[t->origin + s - step];
        make_rotation(upper, upper + 1, -1, t->cs + (step * t->sweeps + s) * 2);
    }
}

/* Chain s takes new column s to zero from row n + s up to row k + s + 1. The old columns gain one
 * entry below the diagonal a chain, which their move by p places makes room for. */
void bd_update_r_insert(struct bd_cpu_update *work, float *r, int64_t ldr, int64_t n, int64_t k,
                        int64_t p)
{
    struct bd_transform *t = &work->transform;
    *t = (struct bd_transform){
        .direction = -1, .origin = n - 1, .steps = n - k, .sweeps = p, .cs = t->cs
    };
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
    for (int64_t j = 0; j < cols; j++)
        for (int64_t step = 0; step < t->steps; step++)
            for (int64_t s = 0; s < t->sweeps; s++)
                rotate_rows(w + j * ld + t->origin - 1 + step - s,
                            t->cs + (step * t->sweeps + s) * 2);
}
