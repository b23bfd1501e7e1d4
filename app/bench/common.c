/* What the suites and both platforms share. */
#include <stdlib.h>

#include "app/bench/platform.h"
#include "app/interrupt.h"

/* A list, the last one taken first. */
struct bd_bench_held {
    struct bd_bench_held *before;
    void *memory;            /* of the host */
    struct bd_matrix matrix; /* of the backend */
};

static struct bd_bench_held *hold(struct bd_bench *bench)
{
    struct bd_bench_held *held = calloc(1, sizeof *held);
    if (held) {
        held->before = bench->held;
        bench->held = held;
    }
    return held;
}

void *bd_bench_memory(struct bd_bench *bench, int64_t count, size_t size)
{
    struct bd_bench_held *held = hold(bench);
    return held ? held->memory = calloc((size_t)count, size) : NULL;
}

enum bd_status bd_bench_matrix(struct bd_bench *bench, struct bd_matrix *matrix, int64_t rows,
                               int64_t cols, enum bd_type type)
{
    struct bd_bench_held *held = hold(bench);
    enum bd_status status = held ? BD_OK : bd_bench_out_of_memory();
    BD_TRY(bd_matrix_create(bench->backend, &held->matrix, rows, cols, type));
    if (!status)
        *matrix = held->matrix;
    return status;
}

enum bd_status bd_bench_tight(struct bd_bench *bench, struct bd_matrix *matrix, int64_t rows,
                              int64_t cols, enum bd_type type)
{
    enum bd_status status = bd_bench_matrix(bench, matrix, rows * cols, 1, type);
    if (!status) {
        matrix->rows = matrix->ld = rows;
        matrix->cols = cols;
    }
    return status;
}

enum bd_status bd_bench_elements(struct bd_bench *bench, void **data, int64_t count,
                                 enum bd_type type)
{
    struct bd_matrix matrix = { 0 };
    enum bd_status status = bd_bench_matrix(bench, &matrix, count, 1, type);
    *data = matrix.data;
    return status;
}

void bd_bench_release(struct bd_bench *bench, struct bd_bench_held *last)
{
    while (bench->held != last) {
        struct bd_bench_held *held = bench->held;
        bench->held = held->before;
        free(held->memory);
        bd_matrix_destroy(bench->backend, &held->matrix);
        free(held);
    }
}

enum bd_status bd_bench_check_interrupt(void)
{
    return bd_interrupted(NULL) ? bd_fail(BD_ERROR_INTERRUPTED, "interrupted") : BD_OK;
}

uint64_t bd_bench_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void bd_bench_fill(float *data, int64_t count, uint64_t seed)
{
    uint64_t state = seed << 40; /* seeds do not share a stretch */
    for (int64_t i = 0; i < count; i++)
        data[i] = (float)(int32_t)(bd_bench_random(&state) >> 32) * 0x1p-31F;
}

enum bd_status bd_bench_fill_there(struct bd_bench *bench, void *data, int64_t count, uint64_t seed)
{
    struct bd_matrix matrix = {
        .rows = count, .cols = 1, .ld = count, .type = BD_F32, .data = data
    };
    struct bd_bench_held *held = bench->held;
    float *host = bd_bench_memory(bench, count, sizeof *host);
    if (!host)
        return bd_bench_out_of_memory();
    bd_bench_fill(host, count, seed);
    enum bd_status status = bd_matrix_upload(bench->backend, &matrix, host, count);
    bd_bench_release(bench, held);
    return status;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bd_bench_median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* The larger of what the bytes and the arithmetic take, in milliseconds. */
static double floor_of(const struct bd_bench *bench, double bytes, double arithmetic)
{
    double memory = bytes / bench->copy_rate;
    return (memory > arithmetic ? memory : arithmetic) * 1e3;
}

double bd_bench_floor(const struct bd_bench *bench, double bytes, double operations)
{
    return floor_of(bench, bytes, bench->sgemm_rate > 0 ? operations / bench->sgemm_rate : 0);
}

double bd_bench_work_floor(const struct bd_bench *bench, struct bd_bench_work work)
{
    if (bench->sgemm_rate <= 0)
        return floor_of(bench, work.bytes, 0);
    /* Seconds an operation of a float32 product, and of a symmetric one. */
    double single = 1 / bench->sgemm_rate, gram = 2 * single;
    if (bench->tf32_rate > 0) {
        single = 3 / bench->tf32_rate < single ? 3 / bench->tf32_rate : single;
        gram = 1 / bench->fp64_rate < 2 * single ? 1 / bench->fp64_rate : 2 * single;
    }
    double triangular = bench->gpu ? single : 2 * single;
    return floor_of(bench, work.bytes,
                    work.gram * gram + work.triangular * triangular + work.product * single);
}

enum bd_status bd_bench_peer_qr_create(struct bd_bench_peer_qr *qr, struct bd_bench *bench,
                                       int64_t m, int64_t n, int64_t q_cols)
{
    *qr = (struct bd_bench_peer_qr){ .bench = bench };
    enum bd_status status = bench->platform->qr_work(bench, m, n, q_cols, &qr->lwork);
    BD_TRY(bd_bench_elements(bench, &qr->tau, n, BD_F32));
    BD_TRY(bd_bench_elements(bench, &qr->work, qr->lwork, BD_F32));
    BD_TRY(bd_bench_elements(bench, &qr->info, 1, BD_F32)); /* as large as an int */
    return status;
}
