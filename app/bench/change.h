/* A least-squares problem with one right-hand side, one change to it (columns or rows are inserted
 * or removed), and the ways to the factors and the solution after the change: updating them, or
 * factoring the problem again by the library, by LAPACK, or on a GPU by cuSOLVER. The suite updates
 * times the ways, the suite accuracy looks at their errors. */
#ifndef BD_APP_BENCH_CHANGE_H
#define BD_APP_BENCH_CHANGE_H

#include "app/bench/platform.h"
#include <backdrop/qr.h>
#include <backdrop/qr_update.h>

/* What the peer's least squares are called; NULL: there is none. */
const char *bd_bench_solver_name(const struct bd_bench *bench, bool full_q);

/* The problem before the change: A (m x n) and b are random, in -1..1. Rows come and go at k = 0
 * only. Q, where it is kept, is full. */
struct bd_bench_change_shape {
    enum bd_qr_change_kind kind;
    int64_t m, n, most_p;
    bool with_q;
};

struct bd_bench_change {
    struct bd_bench *bench;
    struct bd_bench_change_shape shape;
    int64_t k, p;                 /* of the change that was set */
    int64_t m, n;                 /* of A after it */
    struct bd_bench_peer_qr peer; /* where the platform has peers */
    struct bd_qr_update *update;  /* NULL: the backend has none for this shape */
    struct bd_qr *qr;             /* for m x n; made when it is first wanted */
    struct bd_matrix pool;        /* all columns and rows that A ever has, and b */
    struct bd_matrix start_q, start_r, start_d;
    /* The results of the way that was run last: full Q (or none), R, d = Q^T b, x. cuSOLVER and
     * LAPACK leave d undefined. */
    struct bd_matrix q, r, d, x;
    struct bd_matrix after, after_b; /* A and b after the change */
    struct bd_matrix work, work_b;   /* what is overwritten where they are factored */
};

/* Makes the problem and factors it. */
enum bd_status bd_bench_change_open(struct bd_bench_change *change, struct bd_bench *bench,
                                    const struct bd_bench_change_shape *shape);
void bd_bench_change_close(struct bd_bench_change *change);

/* The change to look at from here on: p <= most_p columns or rows at k. */
enum bd_status bd_bench_change_set(struct bd_bench_change *change, int64_t k, int64_t p);

/* What updating is expected to save: BD_OK and factor = false also where there is no model. */
enum bd_status bd_bench_change_choice(struct bd_bench_change *change, bool *factor);

/* Errors of the last run's R and, where it is kept, Q: in 2-norms with Q, else in Frobenius norms.
 */
enum bd_status bd_bench_change_check(const struct bd_bench_change *change,
                                     struct bd_bench_row *row);

/* The ways, as tasks of which user is the change: the first of each pair prepares the second. All
 * end with x; update, choose, own_q and solver_q give the full Q as well (of changes with Q). */
enum bd_status bd_bench_change_restore(void *user); /* the factors before the change */
enum bd_status bd_bench_change_update(void *user);
enum bd_status bd_bench_change_choose(void *user); /* after restore too: with A at hand, so that
                                                      the library may factor it again */
enum bd_status bd_bench_change_load(void *user);   /* A and b after the change */
enum bd_status bd_bench_change_solver(void *user);
enum bd_status bd_bench_change_own(void *user);
enum bd_status bd_bench_change_load_q(void *user); /* the same, where Q is wanted */
enum bd_status bd_bench_change_solver_q(void *user);
enum bd_status bd_bench_change_own_q(void *user);

#endif
