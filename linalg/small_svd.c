#include <backdrop/small_svd.h>

#include <math.h>
#include <stdlib.h>

#include "linalg/check.h"
#include "linalg/shared/svd_ops.h"

enum { max_size = 4096 };

struct bd_small_svd {
    struct bd_backend *backend;
    int64_t n;
    int ready; /* there has been a successful compute */
    void *work;
};

enum bd_status bd_small_svd_create(struct bd_small_svd **out, struct bd_backend *backend, int64_t n)
{
    enum bd_status status = bd_check_create(out, "svd", backend);
    if (status == BD_OK && (n < 1 || n > max_size))
        status = bd_fail(BD_ERROR_ARGUMENT, "n = %lld: must be 1 to %d", (long long)n, max_size);
    if (status == BD_OK)
        status = bd_backend_require(backend, backend->ops->svd, "SVD");
    if (status != BD_OK)
        return status;
    struct bd_small_svd *svd = calloc(1, sizeof *svd);
    if (!svd)
        return bd_fail(BD_ERROR_MEMORY, "no memory for an SVD");
    svd->backend = backend;
    svd->n = n;
    status = backend->ops->svd->create(backend, n, &svd->work);
    if (status != BD_OK) {
        free(svd);
        return status;
    }
    *out = svd;
    return BD_OK;
}

void bd_small_svd_destroy(struct bd_small_svd **svd)
{
    if (!svd || !*svd)
        return;
    (*svd)->backend->ops->svd->destroy((*svd)->work);
    free(*svd);
    *svd = NULL;
}

static enum bd_status check_square(const struct bd_small_svd *svd, const struct bd_matrix *matrix,
                                   const char *name)
{
    enum bd_status status = bd_check_pointer(svd, "svd");
    return status == BD_OK ? bd_check_shape(matrix, BD_F32, svd->n, svd->n, name) : status;
}

enum bd_status bd_small_svd_compute(struct bd_small_svd *svd, float *sigma, struct bd_matrix *v,
                                    const struct bd_matrix *r)
{
    enum bd_status status = check_square(svd, r, "r");
    if (status == BD_OK && v)
        status = check_square(svd, v, "v");
    if (status != BD_OK)
        return status;
    svd->ready = 0;
    status = svd->backend->ops->svd->compute(svd->work, r->data, r->ld, sigma, v ? v->data : NULL,
                                             v ? v->ld : 0);
    svd->ready = status == BD_OK;
    return status;
}

static enum bd_status check_threshold(const struct bd_small_svd *svd, double tau)
{
    if (!(tau >= 0) || !isfinite(tau))
        return bd_fail(BD_ERROR_ARGUMENT, "tau = %g: a finite threshold from 0 on is wanted", tau);
    if (!svd->ready)
        return bd_fail(BD_ERROR_ARGUMENT, "threshold: there has been no SVD yet");
    return BD_OK;
}

enum bd_status bd_small_svd_threshold(struct bd_small_svd *svd, struct bd_matrix *w, int64_t *rank,
                                      double tau)
{
    enum bd_status status = check_square(svd, w, "w");
    if (status == BD_OK)
        status = check_threshold(svd, tau);
    if (status != BD_OK)
        return status;
    int64_t count;
    return svd->backend->ops->svd->weights(svd->work, w->data, w->ld, rank ? rank : &count, tau);
}

/* `matrix` has room for n x n; after an earlier call it may be less than that. */
static enum bd_status check_room(const struct bd_small_svd *svd, const struct bd_matrix *matrix,
                                 const char *name)
{
    enum bd_status status = bd_check_pointer(svd, "svd");
    if (status == BD_OK)
        status = bd_check_pointer(matrix, name);
    if (status != BD_OK)
        return status;
    struct bd_matrix whole = *matrix;
    whole.rows = whole.cols = svd->n;
    return check_square(svd, &whole, name);
}

enum bd_status bd_small_svd_factor(struct bd_small_svd *svd, struct bd_matrix *f,
                                   struct bd_matrix *ft, double tau)
{
    enum bd_status status = check_room(svd, f, "f");
    if (status == BD_OK)
        status = check_room(svd, ft, "ft");
    if (status == BD_OK)
        status = check_threshold(svd, tau);
    if (status != BD_OK)
        return status;
    int64_t rank;
    status =
        svd->backend->ops->svd->factor(svd->work, f->data, f->ld, ft->data, ft->ld, &rank, tau);
    f->rows = ft->cols = svd->n;
    f->cols = ft->rows = rank;
    return status;
}
