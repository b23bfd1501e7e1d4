#include <backdrop/backend.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "linalg/shared/gram_qr_ops.h"
#include "linalg/shared/ops.h"
#include "linalg/shared/qr_ops.h"
#include "linalg/shared/rpca_ops.h"
#include "linalg/shared/svd_ops.h"
#include "linalg/shared/update_ops.h"
#ifdef BD_HAVE_SEPARATION
#include "separation/shared/ops.h"
#endif

static const struct bd_backend_ops cpu = {
    .name = "cpu",
    .device = &bd_cpu_device_ops,
    .qr = &bd_cpu_qr_ops,
    .update = &bd_cpu_update_ops,
    .gram_qr = &bd_cpu_gram_qr_ops,
    .svd = &bd_cpu_svd_ops,
    .rpca = &bd_cpu_rpca_ops,
#ifdef BD_HAVE_SEPARATION
    .separation = &bd_cpu_separation_ops,
#endif
};

#ifdef BD_HAVE_CUDA
static const struct bd_backend_ops cuda = {
    .name = "cuda",
    .device = &bd_cuda_device_ops,
    .qr = &bd_cuda_qr_ops,
    .update = &bd_cuda_update_ops,
    .gram_qr = &bd_cuda_gram_qr_ops,
    .svd = &bd_cuda_svd_ops,
    .rpca = &bd_cuda_rpca_ops,
#ifdef BD_HAVE_SEPARATION
    .separation = &bd_cuda_separation_ops,
#endif
};
#endif

/* In the order in which `auto` tries them: the fastest first, the CPU, which is always there, last.
 */
static const struct bd_backend_ops *const backends[] = {
#ifdef BD_HAVE_CUDA
    &cuda,
#endif
    &cpu
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

enum { no_device = -1, most_device = 1023 };

/* The number of a GPU. `what` says where the text comes from. */
static enum bd_status parse_device(const char *text, const char *what, int *device)
{
    char *end = NULL;
    const long number = isdigit((unsigned char)*text) ? strtol(text, &end, 10) : -1;
    if (number < 0 || number > most_device || *end)
        return bd_fail(BD_ERROR_ARGUMENT, "%s: \"%s\" is no number of a GPU, 0 to %d", what, text,
                       (int)most_device);
    *device = (int)number;
    return BD_OK;
}

/* Takes the number off "NAME:N". Without one *device := no_device. */
static enum bd_status split_name(const char *full, char name[16], int *device)
{
    const char *colon = strchr(full, ':');
    const size_t length = colon ? (size_t)(colon - full) : strlen(full);
    *device = no_device;
    snprintf(name, 16, "%.*s", (int)(length < 15 ? length : 15), full);
    if (!colon)
        return BD_OK;
    if (strcmp(name, "cuda") != 0)
        return bd_fail(BD_ERROR_ARGUMENT, "backend %s: only cuda takes the number of a GPU", full);
    return parse_device(colon + 1, "backend cuda", device);
}

static enum bd_status open_one(struct bd_backend **out, const struct bd_backend_ops *ops,
                               int threads, int device)
{
    const char *wanted = getenv("BACKDROP_DEVICE");
    if (device == no_device && ops != &cpu && wanted && *wanted) {
        enum bd_status status = parse_device(wanted, "BACKDROP_DEVICE", &device);
        if (status != BD_OK)
            return status;
    }
    struct bd_backend *backend = calloc(1, sizeof *backend);
    if (!backend)
        return bd_fail(BD_ERROR_MEMORY, "no memory for a backend");
    backend->ops = ops;
    enum bd_status status = ops->device->open(backend, threads, device);
    if (status != BD_OK) {
        free(backend);
        return status;
    }
    *out = backend;
    return BD_OK;
}

static enum bd_status open_automatic(struct bd_backend **backend, int threads)
{
    enum bd_status status = BD_ERROR_UNSUPPORTED;
    for (size_t i = 0; i < BACKEND_COUNT; i++) {
        status = open_one(backend, backends[i], threads, no_device);
        if (status == BD_OK || status == BD_ERROR_ARGUMENT)
            return status;
        bd_log(BD_LOG_INFO, "backend %s: %s", backends[i]->name, bd_error_detail());
    }
    return status;
}

enum { most_threads = 1024 };

enum bd_status bd_backend_open(struct bd_backend **backend, const char *full_name, int threads)
{
    char name[16];
    int device;
    if (!backend)
        return bd_fail(BD_ERROR_ARGUMENT, "backend is NULL");
    *backend = NULL;
    if (threads < 0 || threads > most_threads)
        return bd_fail(BD_ERROR_ARGUMENT, "threads = %d: must be 0 (one a core) to %d", threads,
                       most_threads);
    if (!full_name || !strcmp(full_name, "auto"))
        return open_automatic(backend, threads);
    enum bd_status status = split_name(full_name, name, &device);
    if (status != BD_OK)
        return status;
    for (size_t i = 0; i < BACKEND_COUNT; i++)
        if (!strcmp(name, backends[i]->name))
            return open_one(backend, backends[i], threads, device);
    if (!strcmp(name, "cuda"))
        return bd_fail(BD_ERROR_UNSUPPORTED,
                       "backend cuda: not in this build; the backends cpu and auto are");
    return bd_fail(BD_ERROR_ARGUMENT, "backend %s: unknown; known are auto, cpu, cuda and cuda:N",
                   full_name);
}

void bd_backend_close(struct bd_backend **backend)
{
    if (!backend || !*backend)
        return;
    (*backend)->ops->device->close(*backend);
    free(*backend);
    *backend = NULL;
}

const char *bd_backend_name(const struct bd_backend *backend)
{
    return backend ? backend->ops->name : "";
}

const char *bd_backend_description(const struct bd_backend *backend)
{
    return backend ? backend->description : "";
}

enum bd_status bd_backend_sync(struct bd_backend *backend)
{
    if (!backend)
        return bd_fail(BD_ERROR_ARGUMENT, "backend is NULL");
    return backend->ops->device->sync(backend);
}
