/* Least squares over a window that slides: with each observation that arrives, the oldest goes, and
 * the factorisation A = Q R follows by two updates of O(m n) instead of being made anew in
 * O(m n^2).
 *
 * Made up here: a signal y(t) = c0 + c1 sin(t) + c2 cos(t) with a little noise, whose coefficients
 * change at once in the middle. The fit over the last 200 observations forgets the old ones.
 *
 *   sliding_least_squares [cpu|cuda|auto] */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <backdrop/least_squares.h>
#include <backdrop/qr.h>

enum { window = 200, unknowns = 3, steps = 1000 };

static const double old_coefficients[unknowns] = { 4, 1, -2 };
static const double new_coefficients[unknowns] = { 7, -3, 0.5 };

static void check(enum bd_status status)
{
    if (status == BD_OK)
        return;
    fprintf(stderr, "%s: %s\n", bd_status_text(status), bd_error_detail());
    exit(1);
}

/* Numbers in -0.5 to 0.5, the same ones in every run. */
static double noise(void)
{
    static uint32_t state = 1;
    state = state * 1664525U + 1013904223U;
    return (double)(state >> 8) / (1 << 24) - 0.5;
}

static float signal_of[steps]; /* y: the right-hand sides, in the order of their arrival */

static void make_signal(void)
{
    for (int i = 0; i < steps; i++) {
        const double *c = i < steps / 2 ? old_coefficients : new_coefficients;
        double t = 0.1 * i;
        signal_of[i] = (float)(c[0] + c[1] * sin(t) + c[2] * cos(t) + 0.01 * noise());
    }
}

/* The row of A of observation i, whose elements lie `ld` apart. */
static void make_row(int i, float *row, int64_t ld)
{
    double t = 0.1 * i;
    row[0] = 1;
    row[ld] = (float)sin(t);
    row[2 * ld] = (float)cos(t);
}

/* All that the window needs. */
struct fit {
    struct bd_backend *backend;
    struct bd_qr_factors f;      /* Q (m x n), R (n x n), d = Q^T b */
    struct bd_matrix q, r, d;    /* the memory behind them, with room for one more row */
    struct bd_matrix u, e, b, x; /* a row of A, its right-hand side, the window's, the solution */
    struct bd_qr_update *update; /* workspace: an update allocates nothing */
};

static void create(struct fit *fit)
{
    struct bd_qr_update_shape shape = {
        .max_rows = window + 1, .max_cols = unknowns, .max_block = 1, .max_rhs = 1
    };
    check(bd_matrix_create(fit->backend, &fit->q, window + 1, unknowns, BD_F32));
    check(bd_matrix_create(fit->backend, &fit->r, unknowns, unknowns, BD_F32));
    check(bd_matrix_create(fit->backend, &fit->d, unknowns, 1, BD_F32));
    check(bd_matrix_create(fit->backend, &fit->u, 1, unknowns, BD_F32));
    check(bd_matrix_create(fit->backend, &fit->e, 1, 1, BD_F32));
    check(bd_matrix_create(fit->backend, &fit->b, window, 1, BD_F32));
    check(bd_matrix_create(fit->backend, &fit->x, unknowns, 1, BD_F32));
    check(bd_qr_update_create(&fit->update, fit->backend, &shape));
    /* views of the part that is used */
    fit->f.q = fit->q;
    fit->f.q.rows = window;
    fit->f.r = fit->r;
    fit->f.d = fit->d;
}

static void destroy(struct fit *fit)
{
    bd_qr_update_destroy(&fit->update);
    bd_matrix_destroy(fit->backend, &fit->q);
    bd_matrix_destroy(fit->backend, &fit->r);
    bd_matrix_destroy(fit->backend, &fit->d);
    bd_matrix_destroy(fit->backend, &fit->u);
    bd_matrix_destroy(fit->backend, &fit->e);
    bd_matrix_destroy(fit->backend, &fit->b);
    bd_matrix_destroy(fit->backend, &fit->x);
}

/* The first window: A = Q R, and d = Q^T b. */
static void factor(struct fit *fit)
{
    static float a[window * unknowns], q[window * unknowns];
    float d[unknowns] = { 0 };
    struct bd_qr *qr = NULL;
    for (int i = 0; i < window; i++)
        make_row(i, a + i, window);
    check(bd_matrix_upload(fit->backend, &fit->f.q, a, window));
    check(bd_qr_create(&qr, fit->backend, window, unknowns, NULL));
    check(bd_qr_thin(qr, &fit->f.q, &fit->f.q, &fit->f.r)); /* Q takes A's place */
    bd_qr_destroy(&qr);
    check(bd_matrix_download(fit->backend, q, window, &fit->f.q));
    for (int j = 0; j < unknowns; j++)
        for (int i = 0; i < window; i++)
            d[j] += q[i + j * window] * signal_of[i];
    check(bd_matrix_upload(fit->backend, &fit->f.d, d, unknowns));
}

/* Observation i comes in at the end, the oldest leaves. A row that leaves takes with it what the
 * thin Q knows of it, so the right-hand sides that stay are shown. */
static void slide(struct fit *fit, int i)
{
    const struct bd_qr_problem after = { .b = &fit->b };
    float row[unknowns];
    make_row(i, row, 1);
    check(bd_matrix_upload(fit->backend, &fit->u, row, 1));
    check(bd_matrix_upload(fit->backend, &fit->e, &signal_of[i], 1));
    check(bd_matrix_upload(fit->backend, &fit->b, &signal_of[i + 1 - window], window));
    check(bd_qr_insert_rows(fit->update, &fit->f, window, &fit->u, &fit->e, NULL));
    check(bd_qr_remove_rows(fit->update, &fit->f, 0, 1, &after));
}

/* Solves, prints, and returns how far the solution is from `right`. */
static double solve(struct fit *fit, int i, const double *right)
{
    float x[unknowns];
    double worst = 0;
    check(bd_qr_solve(fit->update, &fit->f, &fit->x));
    check(bd_matrix_download(fit->backend, x, unknowns, &fit->x));
    for (int j = 0; j < unknowns; j++)
        worst = fmax(worst, fabs(x[j] - right[j]));
    printf("%5d observations: c = %7.4f %7.4f %7.4f\n", i + 1, x[0], x[1], x[2]);
    return worst;
}

int main(int argc, char **argv)
{
    struct fit fit = { 0 };
    double worst = 0;
    make_signal();
    check(bd_backend_open(&fit.backend, argc > 1 ? argv[1] : "auto", 0));
    printf("%s\n", bd_backend_description(fit.backend));
    create(&fit);
    factor(&fit);
    for (int i = window; i < steps; i++) {
        slide(&fit, i);
        if (i == steps / 2 - 1)
            worst = solve(&fit, i, old_coefficients);
        else if (i == steps - 1)
            worst = fmax(worst, solve(&fit, i, new_coefficients));
        else if (i % 100 == 99) /* the window holds some of both */
            solve(&fit, i, new_coefficients);
    }
    printf("off by %.4f at most where the window holds one set of coefficients\n", worst);
    destroy(&fit);
    bd_backend_close(&fit.backend);
    return worst < 0.01 ? 0 : 1;
}
