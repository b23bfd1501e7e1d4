#include "lapack/orthogonal.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

void bd_orthogonal_dots(int64_t m, int64_t k, const float *q, int64_t ldq, const float *x, float *w)
{
    if (k > 0)
        cblas_sgemv(CblasColMajor, CblasTrans, (blasint)m, (blasint)k, 1, q, (blasint)ldq, x, 1, 0,
                    w, 1);
}

static double norm(int64_t m, const float *x)
{
    double sum = 0;
    for (int64_t i = 0; i < m; i++)
        sum += (double)x[i] * x[i];
    return sqrt(sum);
}

static void multiply(int64_t m, float *x, double factor)
{
    for (int64_t i = 0; i < m; i++)
        x[i] = (float)(x[i] * factor);
}

/* u := u - Q (Q^T u); the products with column j of Q are added to w[j] times `unit`, where w is
 * not NULL. Returns the norm of the new u. */
static double subtract(int64_t m, int64_t k, const float *q, int64_t ldq, float *u, double unit,
                       float *w)
{
    enum { COLS = 64 };
    float part[COLS];
    /* By modified Gram-Schmidt over groups of columns, which need no memory. */
    for (int64_t j = 0; j < k; j += COLS) {
        const int64_t cols = k - j < COLS ? k - j : COLS;
        bd_orthogonal_dots(m, cols, q + j * ldq, ldq, u, part);
        cblas_sgemv(CblasColMajor, CblasNoTrans, (blasint)m, (blasint)cols, -1, q + j * ldq,
                    (blasint)ldq, part, 1, 1, u, 1);
        for (int64_t i = 0; i < cols && w; i++)
            w[j + i] = (float)(w[j + i] + unit * part[i]);
    }
    return norm(m, u);
}

/* u (norm 1) := its part orthogonal to Q, scaled to norm 1; the multiples of Q's columns are added
 * to w. Returns the norm that the part had. The smaller the part, the larger its share of rounding
 * that is not orthogonal: this is repeated until most of u remains. */
static double separate(int64_t m, int64_t k, const float *q, int64_t ldq, float *u, double unit,
                       float *w)
{
    enum { MOST = 4 };
    double part = 1;
    for (int i = 0; i < MOST; i++) {
        const double rest = subtract(m, k, q, ldq, u, unit * part, w);
        if (!(rest > 1e-30))
            return 0;
        multiply(m, u, 1 / rest);
        part *= rest;
        if (rest > 0.7)
            return part;
    }
    return 0;
}

/* A unit vector that is not nearly in the span of Q: e_i for the row i of Q with the least norm. */
static void start(int64_t m, int64_t k, const float *q, int64_t ldq, float *u)
{
    int64_t best = 0;
    memset(u, 0, (size_t)m * sizeof *u);
    for (int64_t j = 0; j < k; j++)
        for (int64_t i = 0; i < m; i++)
            u[i] += q[i + j * ldq] * q[i + j * ldq];
    for (int64_t i = 1; i < m; i++)
        best = u[i] < u[best] ? i : best;
    memset(u, 0, (size_t)m * sizeof *u);
    u[best] = 1;
}

float bd_orthogonal_append(int64_t m, int64_t k, float *q, int64_t ldq, const float *x, float *w)
{
    /* Of an x in the span, float32 rounding leaves less than this part. */
    const double rounding = 0x1p-24 * sqrt((double)(k + 1));
    float *u = q + k * ldq;
    const double length = norm(m, x);
    memset(w, 0, (size_t)k * sizeof *w);
    double part = 0;
    if (length != 0) { /* also for NaN, which must be returned */
        for (int64_t i = 0; i < m; i++)
            u[i] = (float)(x[i] / length);
        part = separate(m, k, q, ldq, u, length, w);
    }
    if (part > rounding || isnan(length))
        return (float)(length * part);
    start(m, k, q, ldq, u);
    separate(m, k, q, ldq, u, 0, NULL);
    return 0;
}
