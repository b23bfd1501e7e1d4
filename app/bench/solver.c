/* Least squares by LAPACK, and the choice between it and cuSOLVER. */
#include <lapacke.h>
#include <stdlib.h>

#include "app/bench/change.h"
#include "app/bench/gpu/gpu.h"

struct lapack {
    float *tau;  /* most_n */
    float *work; /* lwork */
    lapack_int lwork;
};

static void lapack_destroy(struct lapack **out)
{
    struct lapack *l = *out;
    if (!l)
        return;
    free(l->tau);
    free(l->work);
    free(l);
    *out = NULL;
}

/* The most that any of the three asks for. */
static lapack_int ask_size(lapack_int m, lapack_int n, bool full_q)
{
    float sizes[3] = { 0 }, most = 1;
    LAPACKE_sgeqrf_work(LAPACK_COL_MAJOR, m, n, NULL, m, NULL, &sizes[0], -1);
    LAPACKE_sormqr_work(LAPACK_COL_MAJOR, 'L', 'T', m, 1, n, NULL, m, NULL, NULL, m, &sizes[1], -1);
    if (full_q)
        LAPACKE_sorgqr_work(LAPACK_COL_MAJOR, m, m, n, NULL, m, NULL, &sizes[2], -1);
    for (int i = 0; i < 3; i++)
        most = sizes[i] > most ? sizes[i] : most;
    return (lapack_int)most;
}

static enum bd_status lapack_create(struct lapack **out, int64_t most_m, int64_t most_n,
                                    bool full_q)
{
    struct lapack *l = calloc(1, sizeof *l);
    *out = l;
    if (l) {
        l->lwork = ask_size((lapack_int)most_m, (lapack_int)most_n, full_q);
        l->tau = calloc((size_t)most_n, sizeof *l->tau);
        l->work = calloc((size_t)l->lwork, sizeof *l->work);
    }
    if (l && l->tau && l->work)
        return BD_OK;
    lapack_destroy(out);
    return bd_fail(BD_ERROR_MEMORY, "out of memory for LAPACK's workspace");
}

static enum bd_status lapack_run(struct lapack *l, struct bd_matrix *a, struct bd_matrix *r,
                                 struct bd_matrix *b, bool full_q)
{
    enum { layout = LAPACK_COL_MAJOR };
    lapack_int m = (lapack_int)a->rows, n = (lapack_int)a->cols, ld = (lapack_int)a->ld;
    lapack_int ldb = (lapack_int)b->ld;
    if (LAPACKE_sgeqrf_work(layout, m, n, a->data, ld, l->tau, l->work, l->lwork) ||
        LAPACKE_sormqr_work(layout, 'L', 'T', m, 1, n, a->data, ld, l->tau, b->data, ldb, l->work,
                            l->lwork) ||
        LAPACKE_strtrs_work(layout, 'U', 'N', 'N', n, 1, a->data, ld, b->data, ldb))
        return bd_fail(BD_ERROR_NUMERIC, "LAPACK's least squares failed");
    if (!full_q)
        return BD_OK;
    if (LAPACKE_slacpy_work(layout, 'U', n, n, a->data, ld, r->data, (lapack_int)r->ld) ||
        LAPACKE_sorgqr_work(layout, m, m, n, a->data, ld, l->tau, l->work, l->lwork))
        return bd_fail(BD_ERROR_NUMERIC, "sorgqr failed");
    return BD_OK;
}

struct bd_bench_solver {
    struct lapack *lapack;
#ifdef BD_HAVE_CUDA
    struct bd_bench_peer_solver *cusolver;
#endif
};

enum bd_status bd_bench_solver_create(struct bd_bench_solver **out, struct bd_bench *bench,
                                      int64_t most_m, int64_t most_n, bool full_q)
{
    struct bd_bench_solver *solver = calloc(1, sizeof *solver);
    *out = solver;
    if (!solver)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for the bench");
    enum bd_status status = BD_OK;
#ifdef BD_HAVE_CUDA
    if (bench->gpu)
        status = bd_bench_peer_solver_create(&solver->cusolver, bench->gpu, most_m, most_n, full_q);
#endif
    if (!bench->gpu)
        status = lapack_create(&solver->lapack, most_m, most_n, full_q);
    if (status)
        bd_bench_solver_destroy(out);
    return status;
}

void bd_bench_solver_destroy(struct bd_bench_solver **out)
{
    struct bd_bench_solver *solver = *out;
    if (!solver)
        return;
    lapack_destroy(&solver->lapack);
#ifdef BD_HAVE_CUDA
    bd_bench_peer_solver_destroy(&solver->cusolver);
#endif
    free(solver);
    *out = NULL;
}

const char *bd_bench_solver_name(const struct bd_bench *bench, bool full_q)
{
#ifdef BD_HAVE_CUDA
    if (bench->gpu && !bd_bench_gpu_has_peers(bench->gpu))
        return NULL;
#endif
    if (bench->gpu)
        return full_q ? "cuSOLVER geqrf+ormqr+trsm+orgqr" : "cuSOLVER geqrf+ormqr+trsm";
    return full_q ? "LAPACK sgeqrf+sormqr+strtrs+sorgqr" : "LAPACK sgeqrf+sormqr+strtrs";
}

enum bd_status bd_bench_solver_run(struct bd_bench_solver *solver, struct bd_matrix *a,
                                   struct bd_matrix *r, struct bd_matrix *b, bool full_q)
{
#ifdef BD_HAVE_CUDA
    if (solver->cusolver)
        return bd_bench_peer_solver_run(solver->cusolver, a, r, b, full_q);
#endif
    return lapack_run(solver->lapack, a, r, b, full_q);
}
