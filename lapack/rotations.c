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

/* A sequence moves one element of each column along, up (rising = 1) or down, and combines it with
 * the next one: the finished element stays behind. `rising` and `cols` are constants where this is
 * inlined. */
static inline void move(const int rising, const struct bd_rotation *rotations, int64_t count,
                        float *x, int64_t ldx, const int cols)
{
    float moving[bd_rotations_group];
    for (int p = 0; p < cols; p++)
        moving[p] = x[p * ldx + (rising ? 0 : count)];
    for (int64_t k = 0; k < count; k++) {
        const int64_t i = rising ? k : count - 1 - k;
        const float c = rotations[i].c, s = rising ? rotations[i].s : -rotations[i].s;
        for (int p = 0; p < cols; p++) {
            const float next = x[p * ldx + i + rising];
            x[p * ldx + i + !rising] = c * moving[p] + s * next;
            moving[p] = c * next - s * moving[p];
        }
    }
    for (int p = 0; p < cols; p++)
        x[p * ldx + (rising ? count : 0)] = moving[p];
}

static inline void move_columns(const int rising, const struct bd_rotation *rotations,
                                int64_t count, float *x, int64_t ldx, int64_t cols)
{
    int64_t j = 0;
    if (count <= 0)
        return;
    for (; j + bd_rotations_group <= cols; j += bd_rotations_group)
        move(rising, rotations, count, x + j * ldx, ldx, bd_rotations_group);
    for (; j < cols; j++)
        move(rising, rotations, count, x + j * ldx, ldx, 1);
}

void bd_rotations_rise(const struct bd_rotation *rotations, int64_t count, float *x, int64_t ldx,
                       int64_t cols)
{
    move_columns(1, rotations, count, x, ldx, cols);
}

void bd_rotations_fall(const struct bd_rotation *rotations, int64_t count, float *x, int64_t ldx,
                       int64_t cols)
{
    move_columns(0, rotations, count, x, ldx, cols);
}

struct job {
    const struct bd_column_kernels *kernels;
    const struct bd_rotation *rotations;
    int64_t count, m, ld;
    float *q;
};

static void rotate(void *arg, int64_t item, int thread)
{
    const struct job *job = arg;
    const int64_t row = item * ROWS, rows = bd_least(job->m - row, ROWS);
    (void)thread;
    job->kernels->rotate(rows, job->count, 1, job->q + row, job->ld, job->q + row, job->ld,
                         &job->rotations->c, 1);
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

void bd_rotations_rise_columns(struct bd_lapack *context, const struct bd_rotation *rotations,
                               int64_t count, int64_t m, float *q, int64_t ldq)
{
    struct job job = { .rotations = rotations, .count = count, .m = m, .ld = ldq, .q = q };
    run(context, &job);
}

/* The kernel moves one column along and combines it with the next. Here it goes from the last
 * column to the first: the sequence is reversed, p and q change places, and so s changes sign. */
void bd_rotations_fall_columns(struct bd_lapack *context, struct bd_rotation *rotations,
                               int64_t count, int64_t m, float *q, int64_t ldq)
{
    for (int64_t i = 0, j = count - 1; i <= j; i++, j--) {
        const struct bd_rotation first = rotations[i], last = rotations[j];
        rotations[i] = (struct bd_rotation){ last.c, -last.s };
        rotations[j] = (struct bd_rotation){ first.c, -first.s };
    }
    struct job job = {
        .rotations = rotations, .count = count, .m = m, .ld = -ldq, .q = q + count * ldq
    };
    run(context, &job);
}
