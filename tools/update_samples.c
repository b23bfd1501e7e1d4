#include "tools/update_samples.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "linalg/shared/update_ops.h"
#include "linalg/update/private.h"
#include <backdrop/qr.h>

enum {
    repeats = 5,
    narrow_most = 200 /* columns: more are not tried as few */
};

const char *const update_form_names[bd_cost_factor_forms] = { "thin Q", "full Q", "no Q",
                                                              "no Q, but d" };

static clockid_t times_by = CLOCK_MONOTONIC;

static double now(void)
{
    struct timespec time;
    clock_gettime(times_by, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* What else the machine does only adds to a time. */
static double least_of(const double *times)
{
    double least = times[0];
    for (int i = 1; i < repeats; i++)
        least = fmin(least, times[i]);
    return fmax(least, 1e-7); /* the clock's own time */
}

/* A factorisation with room for p more rows and columns. */
struct bench {
    struct bd_backend *backend;
    struct bd_qr_update *update;
    struct bd_qr *qr;
    enum bd_cost_form form;
    int regime; /* of changes of columns: 0, 1, or -1, as struct update_sample */
    int64_t m, n, p;
    struct bd_qr_factors f;
    struct bd_matrix a, factored, columns, rows; /* factored: with reflectors */
};

static enum bd_status fill(struct bd_backend *backend, struct bd_matrix *x, int64_t rows,
                           int64_t cols, int64_t room, uint64_t seed)
{
    enum bd_status status = bd_matrix_create(backend, x, rows + room, cols + room, BD_F32);
    float *host = malloc((size_t)(rows * cols) * sizeof *host);
    x->rows = rows;
    x->cols = cols;
    for (int64_t i = 0; host && i < rows * cols; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        host[i] = (float)(seed >> 40) / 8388608.0F - 1;
    }
    if (status == BD_OK && !host)
        status = bd_fail(BD_ERROR_MEMORY, "no memory for a matrix of the calibration");
    if (status == BD_OK)
        status = bd_matrix_upload(backend, x, host, rows);
    free(host);
    return status;
}

static void close_bench(struct bench *b)
{
    struct bd_matrix *const all[] = {
        &b->f.q, &b->f.r, &b->a, &b->factored, &b->columns, &b->rows
    };
    for (int i = 0; i < 6; i++)
        bd_matrix_destroy(b->backend, all[i]);
    bd_qr_destroy(&b->qr);
    bd_qr_update_destroy(&b->update);
}

/* Factors anew as the library does: thin in one call, else with reflectors. */
static enum bd_status factor(struct bench *b)
{
    if (b->form == bd_cost_thin)
        return bd_qr_thin(b->qr, &b->a, &b->f.q, &b->f.r);
    if (b->form == bd_cost_no_q)
        return bd_qr_reduce(b->qr, &b->a, &b->f.r);
    enum bd_status status = bd_qr_factor(b->qr, &b->factored);
    if (status == BD_OK)
        status = bd_qr_get_r(b->qr, &b->f.r);
    if (status != BD_OK)
        return status;
    return b->form == bd_cost_full ? bd_qr_form_full_q(b->qr, &b->f.q)
                                   : bd_qr_apply(b->qr, BD_QR_Q_TRANSPOSED, &b->columns);
}

static enum bd_status open_bench(struct bench *b)
{
    struct bd_backend *backend = b->backend;
    int64_t m = b->m, n = b->n, p = b->p;
    const struct bd_qr_update_shape shape = {
        .max_rows = m + p, .max_cols = n + p, .max_block = p, .full_q = b->form == bd_cost_full
    };
    const struct bd_qr_options householder = { .method = BD_QR_HOUSEHOLDER };
    const bool reflectors = b->form == bd_cost_full || b->form == bd_cost_no_q_d;
    const bool q = b->form == bd_cost_full || b->form == bd_cost_thin;
    enum bd_status status = bd_qr_update_create(&b->update, backend, &shape);
    if (status == BD_OK)
        status = bd_qr_create(&b->qr, backend, m, n, reflectors ? &householder : NULL);
    if (status == BD_OK)
        status = fill(backend, &b->a, m, n, 0, 1);
    if (status == BD_OK)
        status = fill(backend, &b->columns, m, p, 0, 2);
    if (status == BD_OK)
        status = fill(backend, &b->rows, p, n, 0, 3);
    if (status == BD_OK && reflectors)
        status = fill(backend, &b->factored, m, n, 0, 1);
    if (status == BD_OK && q)
        status = bd_matrix_create(backend, &b->f.q, m + p, (shape.full_q ? m : n) + p, BD_F32);
    if (status == BD_OK)
        status = bd_matrix_create(backend, &b->f.r, n + p, n + p, BD_F32);
    b->f.r.rows = b->f.r.cols = n;
    b->f.q.rows = b->f.q.data ? m : 0;
    b->f.q.cols = !b->f.q.data ? 0 : shape.full_q ? m : n;
    return status;
}

static enum bd_status apply(struct bench *b, const struct bd_qr_change *c)
{
    switch (c->kind) {
    case BD_QR_INSERT_COLUMNS:
        return bd_qr_insert_columns(b->update, &b->f, c->k, &b->columns, NULL);
    case BD_QR_REMOVE_COLUMNS:
        return bd_qr_remove_columns(b->update, &b->f, c->k, c->p, NULL);
    case BD_QR_INSERT_ROWS:
        return bd_qr_insert_rows(b->update, &b->f, c->k, &b->rows, NULL, NULL);
    case BD_QR_REMOVE_ROWS:
        return bd_qr_remove_rows(b->update, &b->f, c->k, c->p, NULL);
    }
    return BD_OK;
}

/* Times `there`, or factoring where that is NULL, and `back`, which leaves what there was (without
 * Q columns do not come back: R is factored again then, untimed). */
static enum bd_status measure(struct bench *b, struct update_samples *samples,
                              const struct bd_qr_change *there, const struct bd_qr_change *back)
{
    double times[2][repeats] = { { 0 } };
    enum bd_status status = BD_OK;
    for (int round = -1; round < repeats && status == BD_OK; round++)
        for (int way = 0; way < 2 && status == BD_OK; way++) {
            const struct bd_qr_change *change = way ? back : there;
            if (way && !change && b->form == bd_cost_no_q && there)
                status = factor(b);
            if (way && !change)
                continue;
            status = bd_backend_sync(b->backend);
            double start = now();
            if (status == BD_OK)
                status = change ? apply(b, change) : factor(b);
            if (status == BD_OK)
                status = bd_backend_sync(b->backend);
            if (round >= 0)
                times[way][round] = now() - start;
            if (!there || (b->form == bd_cost_no_q && way == 0)) {
                b->f.r.rows = b->f.r.cols = b->n; /* factored again, or soon */
            }
        }
    for (int way = 0; way < 2 && status == BD_OK; way++) {
        const struct bd_qr_change *change = way ? back : there;
        if ((way && !change) || samples->count == update_samples_most)
            continue;
        struct update_sample *s = &samples->list[samples->count++];
        s->kind = change ? (int)change->kind : update_factor_kind;
        s->form = b->form;
        s->regime = b->regime;
        s->change = change ? *change : (struct bd_qr_change){ .m = b->m, .n = b->n };
        s->seconds = least_of(times[way]);
    }
    return status;
}

/* Columns that come and go, or without Q go; by either kind of kernels where there are two. */
static enum bd_status measure_columns(struct bench *b, struct update_samples *samples,
                                      const struct bd_qr_change *there,
                                      const struct bd_qr_change *back)
{
    void (*force)(void *, int) = b->backend->ops->update->force;
    enum bd_status status = BD_OK;
    if (!force)
        return measure(b, samples, there, back);
    for (int regime = 0; regime < bd_cost_regimes && status == BD_OK; regime++) {
        if (regime == 0 && there->p > narrow_most)
            continue;
        b->regime = regime;
        force(b->update->work, regime);
        status = measure(b, samples, there, back);
        if (status == BD_ERROR_UNSUPPORTED) /* not by these kernels */
            status = BD_OK;
    }
    b->regime = -1;
    force(b->update->work, -1);
    return status;
}

/* All changes of p columns or rows at k = 0, in the middle and at the end. */
static enum bd_status measure_changes(struct bench *b, struct update_samples *samples)
{
    int64_t m = b->m, n = b->n, p = b->p;
    bool q = b->form != bd_cost_no_q;
    enum bd_status status = BD_OK;
    for (int half = 0; half <= 2 && status == BD_OK; half++) {
        int64_t k = n * half / 2, row = m * half / 2;
        const struct bd_qr_change in = { BD_QR_INSERT_COLUMNS, m, n, k, p, q };
        const struct bd_qr_change out = { BD_QR_REMOVE_COLUMNS, m, n + p, k, p, q };
        const struct bd_qr_change alone = {
            BD_QR_REMOVE_COLUMNS, m, n, k < n - p ? k : n - p, p, q
        };
        if (q && n + p <= m)
            status = measure_columns(b, samples, &in, &out);
        else if (!q && p < n)
            status = measure_columns(b, samples, &alone, NULL);
        const struct bd_qr_change rows_in = { BD_QR_INSERT_ROWS, m, n, row, p, q };
        const struct bd_qr_change rows_out = { BD_QR_REMOVE_ROWS, m + p, n, row, p, q };
        if (status == BD_OK && half != 1) /* where rows are makes little difference */
            status = measure(b, samples, &rows_in, q ? &rows_out : NULL);
        if (status == BD_ERROR_UNSUPPORTED)
            fprintf(stderr, "skipped: %s\n", bd_error_detail());
    }
    return status;
}

/* Factoring where nothing is updated. */
static enum bd_status measure_factoring(struct bd_backend *backend, enum bd_cost_form form,
                                        int64_t m, int64_t n, struct update_samples *samples)
{
    struct bench b = { .backend = backend, .form = form, .regime = -1, .m = m, .n = n, .p = 1 };
    enum bd_status status = open_bench(&b);
    if (status == BD_OK)
        status = measure(&b, samples, NULL, NULL);
    close_bench(&b);
    return status;
}

static enum bd_status measure_shape(struct bd_backend *backend, enum bd_cost_form form, int64_t m,
                                    int64_t n, struct update_samples *samples)
{
    static const int64_t blocks[] = { 1, 4, 8, 12, 32, 64, 200, 600, 1500 };
    enum bd_status status = BD_OK;
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        struct bench b = {
            .backend = backend, .form = form, .regime = -1, .m = m, .n = n, .p = blocks[i]
        };
        if (b.p > n || (b.p > m - n && form != bd_cost_no_q && n > 1))
            continue;
        status = open_bench(&b);
        if (status == BD_OK)
            status = factor(&b);
        if (status == BD_OK && i == 0)
            status = measure(&b, samples, NULL, NULL);
        if (status == BD_OK)
            status = measure_changes(&b, samples);
        close_bench(&b);
        if (status == BD_ERROR_UNSUPPORTED)
            status = BD_OK;
        if (status != BD_OK)
            break;
    }
    if (status == BD_OK && form == bd_cost_no_q)
        status = measure_factoring(backend, bd_cost_no_q_d, m, n, samples);
    fprintf(stderr, "%s, %lld x %lld: %d samples\n", update_form_names[form], (long long)m,
            (long long)n, samples->count);
    return status;
}

enum bd_status update_samples_measure(struct bd_backend *backend, int64_t scale,
                                      bool processor_time, struct update_samples *samples)
{
    static const struct {
        enum bd_cost_form form;
        int64_t m, n;
    } shapes[] = {
        { bd_cost_thin, 200, 10 },    { bd_cost_thin, 500, 40 },    { bd_cost_thin, 20000, 60 },
        { bd_cost_thin, 100000, 20 }, { bd_cost_thin, 2000, 200 },  { bd_cost_thin, 3000, 500 },
        { bd_cost_thin, 1000, 800 },  { bd_cost_thin, 400000, 20 }, { bd_cost_full, 150, 40 },
        { bd_cost_full, 1500, 30 },   { bd_cost_full, 1500, 100 },  { bd_cost_full, 700, 60 },
        { bd_cost_full, 300, 100 },   { bd_cost_full, 500, 400 },   { bd_cost_full, 900, 300 },
        { bd_cost_full, 1200, 800 },  { bd_cost_no_q, 300, 40 },    { bd_cost_no_q, 5000, 60 },
        { bd_cost_no_q, 2000, 300 },  { bd_cost_no_q, 1000, 800 }
    };
    enum bd_status status = BD_OK;
    times_by = processor_time ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes && status == BD_OK; i++)
        status = measure_shape(backend, shapes[i].form, shapes[i].m * scale, shapes[i].n * scale,
                               samples);
    return status;
}
