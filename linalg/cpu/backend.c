/* The CPU backend: the reference implementation of linalg/shared/ops.h. */
#include "linalg/shared/cpu.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "linalg/shared/dispatch.h"

enum { line_bytes = 64 };

/* What memory of so many bytes is aligned to. From 4 MiB on it comes in pages of 2 MiB, where the
 * system gives these to whoever asks: a film of 1920 x 1080 at full size takes 6 % less processor
 * time. */
static int64_t alignment_of(size_t bytes)
{
#ifdef MADV_HUGEPAGE
    if (bytes >= 4 << 20)
        return 2 << 20;
#endif
    (void)bytes;
    return line_bytes;
}

struct bd_pool *bd_cpu_pool(struct bd_backend *backend)
{
    return backend->state;
}

void *bd_cpu_reserve(size_t bytes)
{
    const int64_t alignment = alignment_of(bytes);
    if (bytes > (size_t)(INT64_MAX - alignment)) /* no system has so much */
        return NULL;
    const size_t size = (size_t)bd_round_up(bytes ? (int64_t)bytes : 1, alignment);
    void *data = aligned_alloc((size_t)alignment, size);
    if (!data)
        return NULL;
#ifdef MADV_HUGEPAGE
    if (alignment > line_bytes)
        madvise(data, size, MADV_HUGEPAGE); /* a wish: it works without, too */
#endif
    return data;
}

void *bd_cpu_alloc(size_t bytes)
{
    void *data = bd_cpu_reserve(bytes);
    return data ? memset(data, 0, (size_t)bd_round_up((int64_t)bytes, line_bytes)) : NULL;
}

void *bd_cpu_take(struct bd_cpu_memory *memory, size_t bytes)
{
    enum { header = 64 }; /* holds the address of what was taken before */
    void **block = bd_cpu_alloc(header + bytes);
    if (!block) {
        memory->missing = true;
        return NULL;
    }
    *block = memory->last;
    memory->last = block;
    return (char *)block + header;
}

void bd_cpu_free_memory(struct bd_cpu_memory *memory)
{
    while (memory->last) {
        void **block = memory->last;
        memory->last = *block;
        free(block);
    }
}

static enum bd_status cpu_open(struct bd_backend *backend, int threads, int device)
{
    (void)device;
    struct bd_pool *pool;
    enum bd_status status = bd_pool_create(&pool, threads);
    if (status != BD_OK)
        return status;
    backend->state = pool;
    snprintf(backend->description, sizeof backend->description, "cpu: %d thread%s, %s",
             bd_pool_threads(pool), bd_pool_threads(pool) == 1 ? "" : "s",
             bd_isa_name(bd_isa_best()));
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
        return bd_fail(BD_ERROR_MEMORY, "no %zu MiB of memory for a matrix",
                       (bytes + (1 << 20) - 1) >> 20);
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

const struct bd_device_ops bd_cpu_device_ops = {
    .open = cpu_open,
    .close = cpu_close,
    .sync = cpu_sync,
    .alloc = cpu_alloc,
    .free = cpu_free,
    .upload = cpu_copy,
    .download = cpu_copy,
    .copy = cpu_copy,
};
