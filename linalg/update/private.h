/* Private to linalg/update and linalg/least_squares.c: QR updating above the backend. */
#ifndef BD_LINALG_UPDATE_PRIVATE_H
#define BD_LINALG_UPDATE_PRIVATE_H

#include <backdrop/qr_update.h>

#ifdef __cplusplus
extern "C" {
#endif

struct bd_qr_update {
    struct bd_backend *backend;
    struct bd_qr_update_shape shape;
    void *work;                            /* the backend's */
    double *gram;                          /* max_cols: inner products, in the backend's memory */
    double *host_gram;                     /* max_cols: the same on the host, for one upload */
    struct bd_qr_refactoring *refactoring; /* NULL until a problem is factored again */
};

/* The change of one call. */
struct bd_qr_update_job {
    enum bd_qr_change_kind kind;
    bool slide;                /* columns are removed, and as many come in at the end */
    int64_t m, n, rhs;         /* before; m = 0 without Q, rhs = 0 without d */
    int64_t k, p;              /* where, how many */
    int64_t m_after, n_after;  /* m_after = 0 without Q */
    const struct bd_matrix *u; /* what comes in */
    const struct bd_matrix *e; /* and its right-hand sides */
    const struct bd_matrix *b; /* d is formed from it in the end; NULL: the backend keeps d */
};

/* --- checks of arguments (check.c) --- */

bool bd_qr_update_has_q(const struct bd_qr_factors *f);

/* Checks that the factors fit the workspace; fills what follows of the job. */
enum bd_status bd_qr_update_begin(const struct bd_qr_update *update, const struct bd_qr_factors *f,
                                  struct bd_qr_update_job *job);
enum bd_status bd_qr_update_check_count(const struct bd_qr_update *update, int64_t p);
enum bd_status bd_qr_update_need_q(const struct bd_qr_factors *f, const char *what);

/* Checks that new columns U fit Q, that R has room for all columns, and d for as many rows. more: U
 * comes beside the columns that are there, not in place of some. */
enum bd_status bd_qr_update_check_columns(const struct bd_qr_update *update,
                                          const struct bd_qr_factors *f, const struct bd_matrix *u,
                                          bool more);

/* Checks that U (p x n) and E (p x rhs, NULL without d) fit the factors. */
enum bd_status bd_qr_update_check_rows(const struct bd_qr_update *update,
                                       const struct bd_qr_update_job *job,
                                       const struct bd_matrix *u, const struct bd_matrix *e);

/* Checks that Q and d have room for m rows. */
enum bd_status bd_qr_update_check_room(const struct bd_qr_update *update,
                                       const struct bd_qr_factors *f, int64_t m);

/* Checks that the problem after the change fits the job; sets job->b where d needs it. */
enum bd_status bd_qr_update_check_after(const struct bd_qr_update *update,
                                        struct bd_qr_update_job *job,
                                        const struct bd_qr_problem *after);

/* --- factoring again (refactor.c) --- */

/* Whether factoring again is possible with what the caller gave, and is expected to be faster. */
bool bd_qr_update_prefers_refactoring(const struct bd_qr_update *update,
                                      const struct bd_qr_factors *f,
                                      const struct bd_qr_update_job *job,
                                      const struct bd_qr_problem *after);

/* Makes what factoring A (m x n) needs, unless it is there; BD_ERROR_NUMERIC where A or B hold NaN
 * or Inf. The factors stay as they were. */
enum bd_status bd_qr_refactor_prepare(struct bd_qr_update *update, const struct bd_qr_factors *f,
                                      const struct bd_qr_problem *after);

/* Factors A; the sizes in f are those after the job. */
enum bd_status bd_qr_refactor(struct bd_qr_update *update, struct bd_qr_factors *f,
                              const struct bd_qr_problem *after);
void bd_qr_refactor_destroy(struct bd_backend *backend, struct bd_qr_refactoring **refactoring);

struct bd_qr_parts bd_qr_update_parts(const struct bd_qr_factors *f);

/* Allocates what bd_qr_append_gram needs; at creation. */
enum bd_status bd_qr_update_make_gram(struct bd_qr_update *update);

/* Checks that r is square, of at most max_cols. */
enum bd_status bd_qr_update_check_r(const struct bd_qr_update *update, const struct bd_matrix *r);

#ifdef __cplusplus
}
#endif
#endif
