/* Private to the CUDA backend: the slots of bd_cuda_ops by group; contracts in
 * linalg/backend_ops.h. */
#ifndef BD_GPU_SLOTS_H
#define BD_GPU_SLOTS_H

#include "linalg/backend_ops.h"
#include "linalg/qr_update_cost.h"

#ifdef __cplusplus
extern "C" {
#endif

/* qr: gpu/qr.cu */
enum bd_status bd_cuda_qr_create(struct bd_backend *backend, int64_t m, int64_t n,
                                 const struct bd_qr_options *options, void **plan);
void bd_cuda_qr_destroy(void *plan);
enum bd_status bd_cuda_qr_factor(void *plan, float *a, int64_t lda);
enum bd_status bd_cuda_qr_get_r(void *plan, float *r, int64_t ldr);
enum bd_status bd_cuda_qr_form_q(void *plan, float *q, int64_t ldq);
enum bd_status bd_cuda_qr_form_full_q(void *plan, float *q, int64_t ldq);
enum bd_status bd_cuda_qr_apply(void *plan, enum bd_qr_op op, float *c, int64_t ldc, int64_t k);
enum bd_status bd_cuda_qr_reduce(void *plan, const float *a, int64_t lda, float *r, int64_t ldr);
enum bd_status bd_cuda_qr_thin(void *plan, const float *a, int64_t lda, float *q, int64_t ldq,
                               float *r, int64_t ldr);

/* update: gpu/qr_update.cu */
enum bd_status bd_cuda_update_create(struct bd_backend *backend,
                                     const struct bd_qr_update_shape *shape, void **work);
void bd_cuda_update_destroy(void *work);
enum bd_status bd_cuda_update_remove(void *work, const struct bd_qr_parts *parts, int64_t k,
                                     int64_t p);
enum bd_status bd_cuda_update_insert(void *work, const struct bd_qr_parts *parts, int64_t k,
                                     int64_t p, const float *u, int64_t ldu);
enum bd_status bd_cuda_update_slide(void *work, const struct bd_qr_parts *parts, int64_t p,
                                    const float *u, int64_t ldu);
enum bd_status bd_cuda_update_insert_rows(void *work, const struct bd_qr_parts *parts, int64_t k,
                                          int64_t p, const float *u, int64_t ldu, const float *e,
                                          int64_t lde);
enum bd_status bd_cuda_update_remove_rows(void *work, const struct bd_qr_parts *parts, int64_t k,
                                          int64_t p);
enum bd_status bd_cuda_update_check(void *work, const float *x, int64_t ldx, int64_t rows,
                                    int64_t cols);
enum bd_status bd_cuda_update_project(void *work, const struct bd_qr_parts *parts, const float *b,
                                      int64_t ldb);
enum bd_status bd_cuda_update_solve(void *work, const float *r, int64_t ldr, int64_t n,
                                    const float *d, int64_t ldd, int64_t rhs, float *x,
                                    int64_t ldx);
enum bd_status bd_cuda_update_append_gram(void *work, float *r, int64_t ldr, int64_t n,
                                          const double *g);

/* gram, triangular: gpu/gram_qr.cu, gpu/gram_qr_resident.cu, gpu/triangular.cu */
enum bd_status bd_cuda_gram_create(struct bd_backend *backend, int64_t m, int64_t n,
                                   enum bd_type type, int svd, void **work);
void bd_cuda_gram_destroy(void *work);
enum bd_status bd_cuda_gram_begin(void *work, void *v, int64_t ldv, void *r, int64_t ldr,
                                  const struct bd_gram_step *step, int passes, int *made,
                                  int *more);
enum bd_status bd_cuda_gram_form(void *work, const void *v, int64_t ldv);
enum bd_status bd_cuda_gram_get(void *work, double *g);
enum bd_status bd_cuda_gram_put(void *work, const double *g);
enum bd_status bd_cuda_gram_factor(void *work, const struct bd_gram_step *step);
enum bd_status bd_cuda_gram_solve(void *work, void *v, int64_t ldv, int form);
enum bd_status bd_cuda_gram_tell(void *work, int pass, struct bd_gram_qr_pass *record);
enum bd_status bd_cuda_gram_get_r(void *work, void *r, int64_t ldr);
enum bd_status bd_cuda_gram_magnitudes(void *work, const void *v, int64_t ldv, double *largest);
enum bd_status bd_cuda_gram_repair(void *work, void *v, int64_t ldv, const int *exponent,
                                   int64_t first_row);
enum bd_status bd_cuda_triangular_solve(void *work, const void *r, int64_t ldr, void *v,
                                        int64_t ldv, enum bd_triangular_solve solve, int mixed);
enum bd_status bd_cuda_triangular_multiply(void *work, const void *r, int64_t ldr, void *v,
                                           int64_t ldv, int mixed);

/* update_costs: gpu/update_costs.c; the rule for few columns: gpu/qr_update.cu */
extern const struct bd_qr_update_costs bd_cuda_update_costs;
bool bd_cuda_update_few(const struct bd_qr_change *change, enum bd_cost_form form);
void bd_cuda_update_force(void *work, int regime);

/* svd: gpu/small_svd.cu, gpu/small_svd_weights.cu */
enum bd_status bd_cuda_svd_create(struct bd_backend *backend, int64_t n, void **work);
void bd_cuda_svd_destroy(void *work);
enum bd_status bd_cuda_svd_compute(void *work, const float *r, int64_t ldr, float *sigma, float *v,
                                   int64_t ldv);
const float *bd_cuda_svd_sigma(void *work);
const float *bd_cuda_svd_v(void *work, int64_t *ldv);
enum bd_status bd_cuda_svd_weights(void *work, float *w, int64_t ldw, int64_t *rank, double tau);
enum bd_status bd_cuda_svd_factor(void *work, float *f, int64_t ldf, float *ft, int64_t ldft,
                                  int64_t *rank, double tau);

/* rpca: gpu/rpca.cu */
enum bd_status bd_cuda_rpca_create(struct bd_backend *backend, int64_t m, int64_t n, void **plan);
void bd_cuda_rpca_destroy(void *plan);
enum bd_status bd_cuda_rpca_start(void *plan, const void *x, int64_t ldx, enum bd_type type,
                                  struct bd_rpca_norms *norms);
enum bd_status bd_cuda_rpca_iterate(void *plan, const struct bd_rpca_step *step, double enough);
enum bd_status bd_cuda_rpca_tell(void *plan, int wait, struct bd_rpca_outcome *outcome, int *told);
enum bd_status bd_cuda_rpca_get(void *plan, const struct bd_rpca_step *step, float *l, int64_t ldl,
                                float *s, int64_t lds);

/* sep: gpu/separator.cu, separator_basis.cu, separator_frame.cu, separator_gram.cu,
 * separator_lasting.cu, separator_project.cu, separator_reveal.cu, separator_start.cu,
 * separator_step.cu, separator_sums.cu, separator_transfer.cu, separator_window.cu */
enum bd_status bd_cuda_sep_create(struct bd_backend *backend,
                                  const struct bd_separation_shape *shape, void **state);
void bd_cuda_sep_destroy(void *state);
enum bd_status bd_cuda_sep_reset(void *state);
enum bd_status bd_cuda_sep_load(void *state, const uint8_t *picture, int64_t stride);
enum bd_status bd_cuda_sep_load_background(void *state, const uint8_t *background);
enum bd_status bd_cuda_sep_project(void *state, int rounds, float lambda);
enum bd_status bd_cuda_sep_detect(void *state, const struct bd_detect_params *params, int learn);
enum bd_status bd_cuda_sep_step(void *state, int rounds, float lambda,
                                const struct bd_detect_params *params, int learn);
enum bd_status bd_cuda_sep_insert(void *state, int slot, int guarded);
enum bd_status bd_cuda_sep_recall(void *state, int slot);
enum bd_status bd_cuda_sep_gram(void *state, const int *order, int count, float lambda, double *g);
enum bd_status bd_cuda_sep_reduce(void *state, const int *order, int count, float lambda, float *r,
                                  int64_t ldr);
enum bd_status bd_cuda_sep_basis(void *state, const int *order, int count, float lambda, double tau,
                                 const float *sigma, const float *v, int64_t ldv);
enum bd_status bd_cuda_sep_median(void *state, const int *order, int count, float lambda);
enum bd_status bd_cuda_sep_lasting(void *state, const int *order, int count, float lambda,
                                   int choose);
enum bd_status bd_cuda_sep_reveal(void *state, const int *order, int count,
                                  const struct bd_reveal_params *params);
enum bd_status bd_cuda_sep_finish(void *state);
enum bd_status bd_cuda_sep_collect(void *state, struct bd_separation *results);

#ifdef __cplusplus
}
#endif
#endif
