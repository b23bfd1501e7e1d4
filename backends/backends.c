#include <backdrop/backend.h>

#include <stdlib.h>
#include <string.h>

#include "backends/tables.h"

/* In the order in which `auto` tries them: the fastest first, the CPU, which is always there, last.
 */
static const struct bd_backend_ops *const backends[] = {
#ifdef BD_HAVE_CUDA
    &bd_cuda_ops,
#endif
    &bd_cpu_ops
};
#define BACKEND_COUNT (sizeof backends / sizeof backends[0])

static const char *const names[BACKEND_COUNT + 1] = {
#ifdef BD_HAVE_CUDA
    "cuda",
#endif
    "cpu"
};

const char *const *bd_backend_names(void)
{
    return names;
}

static enum bd_status open_one(struct bd_backend **out, const struct bd_backend_ops *ops,
                               int threads)
{
    struct bd_backend *backend = calloc(1, sizeof *backend);
    if (!backend)
        return bd_fail(BD_ERROR_MEMORY, "no memory for a backend");
    backend->ops = ops;
    enum bd_status status = ops->device->open(backend, threads);
    if (status != BD_OK) {
        free(backend);
        return status;
    }
    *out = backend;
    return BD_OK;
}

enum bd_status bd_backend_open(struct bd_backend **backend, const char *name, int threads)
{
    *backend = NULL;
    bool automatic = !name || !strcmp(name, "auto");
    enum bd_status status = BD_ERROR_UNSUPPORTED;
    for (size_t i = 0; i < BACKEND_COUNT; i++) {
        if (!automatic && strcmp(name, backends[i]->name) != 0)
            continue;
        status = open_one(backend, backends[i], threads);
        if (status == BD_OK || !automatic)
            return status;
        bd_log(BD_LOG_INFO, "backend %s: %s", backends[i]->name, bd_error_detail());
    }
    if (automatic)
        return status;
    if (!strcmp(name, "cuda"))
        return bd_fail(BD_ERROR_UNSUPPORTED,
                       "backend cuda: not in this build; use --backend cpu or auto");
    return bd_fail(BD_ERROR_ARGUMENT, "backend %s: unknown; known are auto, cpu and cuda", name);
}

void bd_backend_close(struct bd_backend **backend)
{
    if (!*backend)
        return;
    (*backend)->ops->device->close(*backend);
    free(*backend);
    *backend = NULL;
}

const char *bd_backend_name(const struct bd_backend *backend)
{
    return backend->ops->name;
}

const char *bd_backend_description(const struct bd_backend *backend)
{
    return backend->description;
}

enum bd_status bd_backend_sync(struct bd_backend *backend)
{
    return backend->ops->device->sync(backend);
}
