#include "lapack/rotations.h"

#include <math.h>

/* Rows of Q that a thread takes at a time. */
enum { ROWS = 2048 };

struct bd_rotation bd_rotation_make(float *p, float *q)
{
    struct bd_rotation rotation = { 1, 0 };
    if (*q == 0)
        return rotation;
    const double norm = copysign(sqrt((double)*p * *p + (double)*q * *q), *p);
    rotation.c = (float)(*p / norm);
    rotation.s = (float)(*q / norm);
    *p = (float)norm;
    *q = 0;
    return rotation;
}

void bd_rotations_rise(const struct bd_rotation *chain, int64_t count, float *x)
{
    for (int64_t i = 0; i < count; i++) {
        const float p = x[i], q = x[i + 1];
        x[i] = chain[i].c * p + chain[i].s * q;
        x[i + 1] = chain[i].c * q - chain[i].s * p;
    }
}

void bd_rotations_fall(const struct bd_rotation *chain, int64_t count, float *x)
{
    for (int64_t i = count - 1; i >= 0; i--) {
        const float p = x[i], q = x[i + 1];
        x[i] = chain[i].c * p + chain[i].s * q;
        x[i + 1] = chain[i].c * q - chain[i].s * p;
    }
}

struct job {
    const struct bd_column_kernels *kernels;
    const struct bd_rotation *chain;
    int64_t count, m, ld;
    float *q;
};

static void rotate(void *arg, int64_t item, int thread)
{
    const struct job *job = arg;
    const int64_t row = item * ROWS, rows = job->m - row < ROWS ? job->m - row : ROWS;
    (void)thread;
    job->kernels->rotate(rows, job->count, 1, job->q + row, job->ld, job->q + row, job->ld,
                         &job->chain->c, 1);
}

static void run(struct bd_lapack *context, struct job *job)
{
    const int64_t items = (job->m + ROWS - 1) / ROWS;
    if (job->count == 0)
        return;
    job->kernels = bd_kernels()->column;
    if (context && job->m * job->count > 1 << 17)
        bd_pool_run(context->pool, rotate, job, items);
    else
        for (int64_t i = 0; i < items; i++)
            rotate(job, i, 0);
}

void bd_rotations_rise_columns(struct bd_lapack *context, const struct bd_rotation *chain,
                               int64_t count, int64_t m, float *q, int64_t ldq)
{
    struct job job = { .chain = chain, .count = count, .m = m, .ld = ldq, .q = q };
    run(context, &job);
}

/* The kernel carries one column along and combines it with the next, from the last column to the
 * first here: the chain backwards, and (p, q) change places, so s changes sign. */
void bd_rotations_fall_columns(struct bd_lapack *context, struct bd_rotation *chain, int64_t count,
                               int64_t m, float *q, int64_t ldq)
{
    for (int64_t i = 0, j = count - 1; i <= j; i++, j--) {
        const struct bd_rotation first = chain[i], last = chain[j];
        chain[i] = (struct bd_rotation){ last.c, -last.s };
        chain[j] = (struct bd_rotation){ first.c, -first.s };
    }
    struct job job = { .chain = chain, .count = count, .m = m, .ld = -ldq, .q = q + count * ldq };
    run(context, &job);
}
