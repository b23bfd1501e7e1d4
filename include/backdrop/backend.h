/* Where the linear algebra runs: the CPU (the reference, always there) or a GPU. */
#ifndef BACKDROP_BACKEND_H
#define BACKDROP_BACKEND_H

#include <stdbool.h>

#include <backdrop/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct bd_backend;

/* Opens the backend `name`: "cpu", "cuda", "cuda:N", or "auto" (NULL means "auto": the fastest one
 * present; bd_backend_description says which and why). N is the number of a GPU as CUDA counts
 * them, from 0. Without N the environment variable BACKDROP_DEVICE gives the number, and where that
 * is not set the GPU with most multiprocessors is taken. A backend or a GPU that is named is never
 * replaced by another: BD_ERROR_UNSUPPORTED says what is missing. `threads` is the number of CPU
 * threads that the backend may use, up to 1024; 0 for one a core.
 *
 * A backend and everything made from it belong to one thread at a time; with several GPUs, to the
 * thread that opened it. A thread uses one GPU: opening a backend makes its GPU the current one of
 * the thread, and backends of another GPU do not work in that thread from then on. */
BD_API enum bd_status bd_backend_open(struct bd_backend **backend, const char *name, int threads);

/* Frees the backend (whatever was made from it must be gone) and nulls the pointer. Safe on NULL.
 */
BD_API void bd_backend_close(struct bd_backend **backend);

/* "cpu" or "cuda"; "" of NULL. */
BD_API const char *bd_backend_name(const struct bd_backend *backend);

/* One line for people: device, threads, instruction set, library; and why `auto` chose it. */
BD_API const char *bd_backend_description(const struct bd_backend *backend);

/* Waits until everything asked of the backend is done. */
BD_API enum bd_status bd_backend_sync(struct bd_backend *backend);

/* The names of the backends in this build, in the order in which `auto` tries them; NULL at the
 * end. */
BD_API const char *const *bd_backend_names(void);

#ifdef __cplusplus
}
#endif
#endif
