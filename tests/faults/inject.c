#include "tests/faults/inject.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A place in the code that calls a function that can fail. Its name is the function's with the
 * address of the call, which is the same in each run: "malloc+1a2b3". */
enum { sites_most = 2000, name_size = 96 };

struct site {
    const void *caller;
    char name[name_size]; /* "": a library that is none of our concern */
    int calls;
};

static struct site sites[sites_most];
static int site_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *record, *fault; /* from the environment */

extern const char __executable_start[]; /* of the linker */

static void describe(struct site *site, const char *name)
{
    Dl_info module = { 0 };
    if (!dladdr(site->caller, &module) || !module.dli_fname)
        return;
    const char *library = strstr(module.dli_fname, "/libavformat") ? "libavformat:" : "";
    if (module.dli_fbase == __executable_start || *library)
        snprintf(site->name, sizeof site->name, "%s%s+%" PRIxPTR, library, name,
                 (uintptr_t)site->caller - (uintptr_t)module.dli_fbase);
}

/* Called with the lock held. */
static struct site *find(const char *name, const void *caller)
{
    for (int i = 0; i < site_count; i++)
        if (sites[i].caller == caller)
            return &sites[i];
    if (site_count == sites_most)
        abort();
    struct site *site = &sites[site_count++];
    site->caller = caller;
    describe(site, name);
    return site;
}

/* BD_FAULT is SITE:N. */
static bool is_the_one(const struct site *site, bool for_good)
{
    size_t length = strlen(site->name);
    if (!fault || strncmp(fault, site->name, length) != 0 || fault[length] != ':')
        return false;
    int number = atoi(fault + length + 1);
    return site->calls == number || (for_good && site->calls > number);
}

bool inject(const char *name, const void *caller, int error, bool for_good)
{
    bool fails = false;
    pthread_mutex_lock(&lock);
    struct site *site = record || fault ? find(name, caller) : NULL;
    if (site && *site->name) {
        site->calls++;
        fails = is_the_one(site, for_good);
    }
    pthread_mutex_unlock(&lock);
    if (fails)
        errno = error;
    return fails;
}

/* Before the program's own constructors, which allocate. */
__attribute__((constructor(101))) static void begin(void)
{
    record = getenv("BD_FAULT_RECORD");
    fault = getenv("BD_FAULT");
}

/* BD_FAULT_RECORD names a file for the sites and how often each has called. */
__attribute__((destructor)) static void end(void)
{
    int file =
        record ? openat(AT_FDCWD, record, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : -1;
    for (int i = 0; i < site_count && file >= 0; i++)
        if (*sites[i].name)
            dprintf(file, "%s %d\n", sites[i].name, sites[i].calls);
}
