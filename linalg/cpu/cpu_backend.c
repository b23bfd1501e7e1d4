/* The CPU backend: the reference implementation of linalg/backend_ops.h. */
#include "linalg/cpu/cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "linalg/cpu/kernels/kernels.h"

struct bd_pool *bd_cpu_pool(struct bd_backend *backend)
{
    return backend->state;
}

void *bd_cpu_alloc(size_t bytes)
{
    size_t size = (bytes + 63) / 64 * 64;
    void *data = aligned_alloc(64, size ? size : 64);
    if (data)
        memset(data, 0, size);
    return data;
}

static enum bd_status cpu_open(struct bd_backend *backend, int threads)
{
    struct bd_pool *pool;
    enum bd_status status = bd_pool_create(&pool, threads);
    if (status != BD_OK)
        return status;
    backend->state = pool;
    snprintf(backend->description, sizeof backend->description, "cpu: %d thread%s, %s",
             bd_pool_threads(pool), bd_pool_threads(pool) == 1 ? "" : "s", bd_kernels()->isa);
    return BD_OK;
}

static void cpu_close(struct bd_backend *backend)
{
    struct bd_pool *pool = backend->state;
    bd_pool_destroy(&pool);
    backend->state = NULL;
}

static enum bd_status cpu_sync(struct bd_backend *backend)
{
    (void)backend;
    return BD_OK;
}

static enum bd_status cpu_alloc(struct bd_backend *backend, size_t bytes, void **data)
{
    (void)backend;
    *data = bd_cpu_alloc(bytes);
    if (!*data)
        return bd_fail(BD_ERROR_MEMORY,
                       "no memory for %zu MiB; a smaller --window or --scale needs less",
                       bytes >> 20);
    return BD_OK;
}

static void cpu_free(struct bd_backend *backend, void *data)
{
    (void)backend;
    free(data);
}

static enum bd_status cpu_copy(struct bd_backend *backend, void *dst, size_t dst_pitch,
                               const void *src, size_t src_pitch, size_t width, size_t height)
{
    (void)backend;
    for (size_t i = 0; i < height; i++)
        memcpy((char *)dst + i * dst_pitch, (const char *)src + i * src_pitch, width);
    return BD_OK;
}

const struct bd_backend_ops bd_cpu_ops = {
    .name = "cpu",
    .open = cpu_open,
    .close = cpu_close,
    .sync = cpu_sync,
    .alloc = cpu_alloc,
    .free = cpu_free,
    .upload = cpu_copy,
    .download = cpu_copy,
    .copy = cpu_copy,
    .qr_create = bd_cpu_qr_create,
    .qr_destroy = bd_cpu_qr_destroy,
    .qr_factor = bd_cpu_qr_factor,
    .qr_get_r = bd_cpu_qr_get_r,
    .qr_form_q = bd_cpu_qr_form_q,
    .qr_form_full_q = bd_cpu_qr_form_full_q,
    .qr_apply = bd_cpu_qr_apply,
    .qr_reduce = bd_cpu_qr_reduce,
    .qr_thin = bd_cpu_qr_thin,
    .update_create = bd_cpu_update_create,
    .update_destroy = bd_cpu_update_destroy,
    .update_remove = bd_cpu_update_remove,
    .update_insert = bd_cpu_update_insert,
    .update_slide = bd_cpu_update_slide,
    .update_insert_rows = bd_cpu_update_insert_rows,
    .update_remove_rows = bd_cpu_update_remove_rows,
    .update_check = bd_cpu_update_check,
    .update_project = bd_cpu_update_project,
    .update_solve = bd_cpu_update_solve,
    .update_append_gram = bd_cpu_update_append_gram,
    .update_costs = &bd_cpu_update_costs,
    .gram_create = bd_cpu_gram_create,
    .gram_destroy = bd_cpu_gram_destroy,
    .gram_form = bd_cpu_gram_form,
    .gram_get = bd_cpu_gram_get,
    .gram_put = bd_cpu_gram_put,
    .gram_factor = bd_cpu_gram_factor,
    .gram_solve = bd_cpu_gram_solve,
    .gram_tell = bd_cpu_gram_tell,
    .gram_get_r = bd_cpu_gram_get_r,
    .gram_magnitudes = bd_cpu_gram_magnitudes,
    .gram_repair = bd_cpu_gram_repair,
    .triangular_solve = bd_cpu_triangular_solve,
    .triangular_multiply = bd_cpu_triangular_multiply,
    .svd_create = bd_cpu_svd_create,
    .svd_destroy = bd_cpu_svd_destroy,
    .svd_compute = bd_cpu_svd_compute,
    .svd_sigma = bd_cpu_svd_sigma,
    .svd_v = bd_cpu_svd_v,
    .svd_weights = bd_cpu_svd_weights,
    .svd_factor = bd_cpu_svd_factor,
    .rpca_create = bd_cpu_rpca_create,
    .rpca_destroy = bd_cpu_rpca_destroy,
    .rpca_start = bd_cpu_rpca_start,
    .rpca_iterate = bd_cpu_rpca_iterate,
    .rpca_tell = bd_cpu_rpca_tell,
    .rpca_get = bd_cpu_rpca_get,
    .sep_create = bd_cpu_sep_create,
    .sep_destroy = bd_cpu_sep_destroy,
    .sep_reset = bd_cpu_sep_reset,
    .sep_load = bd_cpu_sep_load,
    .sep_load_background = bd_cpu_sep_load_background,
    .sep_project = bd_cpu_sep_project,
    .sep_detect = bd_cpu_sep_detect,
    .sep_insert = bd_cpu_sep_insert,
    .sep_recall = bd_cpu_sep_recall,
    .sep_gram = bd_cpu_sep_gram,
    .sep_reduce = bd_cpu_sep_reduce,
    .sep_basis = bd_cpu_sep_basis,
    .sep_median = bd_cpu_sep_median,
    .sep_lasting = bd_cpu_sep_lasting,
    .sep_reveal = bd_cpu_sep_reveal,
    .sep_depth = 1,
    .sep_finish = bd_cpu_sep_finish,
    .sep_collect = bd_cpu_sep_collect,
};
