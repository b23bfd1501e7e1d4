/* What a backend provides: a table of tables of functions, one for each group of operations. Shared
 * by linalg/, separation/ and gpu/; other programs use the headers in include/backdrop.
 *
 * A function of a table does a whole step of an algorithm, so that a GPU can fuse its parts and
 * keep the data in its memory. The public functions check arguments; the tables' functions rely on
 * that. Pointers named a, q, r, u, v, w, x, c are in the backend's memory; everything else is on
 * the host. Leading dimensions are in elements. Functions may run asynchronously until
 * device->sync, except where they fill host memory. A plan, workspace or state is made by the
 * create function of its table, holds all the memory that the table needs, and is freed by its
 * destroy function (which accepts NULL). */
#ifndef BD_LINALG_SHARED_OPS_H
#define BD_LINALG_SHARED_OPS_H

#include <stddef.h>

#include <backdrop/backend.h>

#ifdef __cplusplus
extern "C" {
#endif

struct bd_qr_ops;         /* linalg/shared/qr_ops.h */
struct bd_update_ops;     /* linalg/shared/update_ops.h */
struct bd_gram_qr_ops;    /* linalg/shared/gram_qr_ops.h */
struct bd_svd_ops;        /* linalg/shared/svd_ops.h */
struct bd_rpca_ops;       /* linalg/shared/rpca_ops.h */
struct bd_separation_ops; /* separation/shared/ops.h */

struct bd_backend {
    const struct bd_backend_ops *ops;
    void *state;           /* the backend's own */
    char description[256]; /* filled in by device->open */
};

/* The device and its memory. */
struct bd_device_ops {
    /* Opens device number `device`, or with -1 the one that suits best, and fills in
     * backend->state and backend->description. */
    enum bd_status (*open)(struct bd_backend *backend, int threads, int device);
    void (*close)(struct bd_backend *backend);
    enum bd_status (*sync)(struct bd_backend *backend);
    /* Makes the device the current one of the calling thread, for a backend that another thread has
     * opened or used. NULL where threads have no current device. */
    enum bd_status (*attach)(struct bd_backend *backend);
    /* Fills in `lane`: the same device, whose work runs beside that of the backend and of its other
     * lanes, and is waited for by sync of either. `close` ends it, before the backend. NULL where
     * functions are done on return: the backend serves as its own lane. */
    enum bd_status (*open_lane)(struct bd_backend *backend, struct bd_backend *lane);

    /* Memory of the backend, 64-byte aligned or better, zeroed. */
    enum bd_status (*alloc)(struct bd_backend *backend, size_t bytes, void **data);
    void (*free)(struct bd_backend *backend, void *data);
    /* `height` columns of `width` bytes, `pitch` bytes apart. Done on return. */
    enum bd_status (*upload)(struct bd_backend *backend, void *dst, size_t dst_pitch,
                             const void *host, size_t host_pitch, size_t width, size_t height);
    enum bd_status (*download)(struct bd_backend *backend, void *host, size_t host_pitch,
                               const void *src, size_t src_pitch, size_t width, size_t height);

    /* The same from the backend's memory to the backend's memory. May run asynchronously. */
    enum bd_status (*copy)(struct bd_backend *backend, void *dst, size_t dst_pitch, const void *src,
                           size_t src_pitch, size_t width, size_t height);
};

extern const struct bd_device_ops bd_cpu_device_ops, bd_cuda_device_ops;

/* A backend. What it cannot do, or what this build leaves out, is a NULL table. */
struct bd_backend_ops {
    const char *name;
    const struct bd_device_ops *device; /* never NULL */
    const struct bd_qr_ops *qr;
    const struct bd_update_ops *update;
    const struct bd_gram_qr_ops *gram_qr;
    const struct bd_svd_ops *svd;
    const struct bd_rpca_ops *rpca;
    const struct bd_separation_ops *separation;
};

/* BD_OK where `table` is one of the backend's tables, BD_ERROR_UNSUPPORTED where it is NULL: the
 * detail says that the backend has no `what`. */
enum bd_status bd_backend_require(const struct bd_backend *backend, const void *table,
                                  const char *what);

/* The checks of arguments that all public functions share (the rule is in backdrop/status.h):
 * BD_OK, or BD_ERROR_ARGUMENT with a detail that names the argument. */
enum bd_status bd_check_pointer(const void *pointer, const char *name);

/* Of a create function: `out` (the argument `name`) is the place of its handle, which becomes NULL.
 */
enum bd_status bd_check_create(void *out, const char *name, const struct bd_backend *backend);

#ifdef __cplusplus
}
#endif
#endif
