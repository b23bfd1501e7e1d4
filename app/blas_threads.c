#include "app/blas_threads.h"

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>

/* Present when the BLAS is OpenBLAS. */
extern void openblas_set_num_threads(int threads) __attribute__((weak));
extern int openblas_get_num_threads(void) __attribute__((weak));
extern void *blas_memory_alloc(int position) __attribute__((weak));
extern void blas_memory_free(void *buffer) __attribute__((weak));

/* The processors that the process may run on, as sched_getaffinity says: up to 8192. */
enum { mask_words = 128 };
static unsigned long processors[mask_words];
static bool confined;

/* Runs before the constructors of the libraries. That of OpenBLAS starts a thread for each
 * processor that the process may run on, and each takes 136 MiB of address space, or tries for ever
 * where there is less. Here it sees one processor, and starts none. Its environment variable for
 * that cannot be set so early: the C library has no environment yet. */
static void confine(void)
{
    unsigned long first[mask_words] = { 0 };
    int i = 0;
    if (sched_getaffinity(0, sizeof processors, (cpu_set_t *)processors))
        return;
    while (i < mask_words - 1 && !processors[i])
        i++;
    first[i] = processors[i] & -processors[i];
    confined = sched_setaffinity(0, sizeof first, (cpu_set_t *)first) == 0;
}

__attribute__((section(".preinit_array"),
               used)) static void (*const before_libraries)(void) = confine;

/* Runs when all libraries have started. */
__attribute__((constructor)) static void release(void)
{
    if (confined)
        sched_setaffinity(0, sizeof processors, (cpu_set_t *)processors);
    bd_blas_set_threads(1); /* where it saw more than one processor all the same */
}

void bd_blas_set_threads(int threads)
{
    if (openblas_set_num_threads)
        openblas_set_num_threads(threads);
}

int bd_blas_threads(void)
{
    return openblas_get_num_threads ? openblas_get_num_threads() : 0;
}

/* Whether as much can be taken as OpenBLAS takes for a thread on x86-64 and arm64 (32 << 22), and
 * something beside it for what else runs at that time. */
static bool has_room(void)
{
    const size_t size = (size_t)144 << 20;
    /* cppcheck-suppress invalidFunctionArg ; it knows no descriptor -1 */
    void *probe = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return probe != MAP_FAILED && munmap(probe, size) == 0;
}

enum bd_status bd_blas_reserve(int threads)
{
    enum { most = 64 };
    void *buffers[most];
    int wanted = threads < most ? threads : most, taken = 0;
    if (!blas_memory_alloc || !blas_memory_free)
        return BD_OK;
    while (taken < wanted && has_room())
        buffers[taken++] = blas_memory_alloc(0);
    for (int i = 0; i < taken; i++) /* OpenBLAS keeps them for its next calls */
        blas_memory_free(buffers[i]);
    return taken == wanted ? BD_OK
                           : bd_fail(BD_ERROR_MEMORY,
                                     "too little memory (ulimit -v?): the BLAS needs 144 MiB in "
                                     "each of %d thread%s",
                                     threads, threads == 1 ? "" : "s");
}
