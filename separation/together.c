/* The live separator: frames of several separators, submitted together. */
#include <pthread.h>
#include <string.h>

#include "separation/state.h"

enum { most_together = 32 }; /* frames that the table gets in one call */

struct together {
    struct bd_separator *const *separators;
    const uint8_t *const *pictures;
    const int64_t *strides;
    const double *times;
    int of[most_together]; /* load i is of separator of[i] */
    pthread_mutex_t lock;  /* of what follows */
    enum bd_status status; /* of the last separator that failed, and which that is */
    int failed;
    char detail[bd_detail_size]; /* what its thread said */
};

/* Keeps the failure of the last separator, in the order of the call: not of the threads. */
static void note_failure(struct together *t, int j, enum bd_status status)
{
    pthread_mutex_lock(&t->lock);
    if (j >= t->failed) {
        t->failed = j;
        t->status = status;
        memcpy(t->detail, bd_error_detail(), sizeof t->detail);
    }
    pthread_mutex_unlock(&t->lock);
}

/* By any thread. */
static void separate_loaded(void *arg, int i, enum bd_status status)
{
    struct together *t = arg;
    const int j = t->of[i];
    if (status == BD_OK)
        status = bd_sep_separate(t->separators[j], t->times[j]);
    if (status != BD_OK)
        note_failure(t, j, status);
}

/* Separators first .. end - 1, by the table's function for several. */
static void submit_some(struct together *t, int first, int end)
{
    struct bd_separation_load loads[most_together];
    int count = 0;
    for (int j = first; j < end; j++) {
        const enum bd_status status = bd_sep_prepare(t->separators[j], t->times[j]);
        if (status != BD_OK) {
            note_failure(t, j, status);
            continue;
        }
        loads[count] =
            (struct bd_separation_load){ t->separators[j]->state, t->pictures[j], t->strides[j] };
        t->of[count++] = j;
    }
    if (count)
        t->separators[0]->backend->ops->separation->load_several(loads, count, separate_loaded, t);
}

/* Whether separator j differs from those before it, and has their backend. */
static enum bd_status check_others(struct bd_separator *const *separators, int j)
{
    if (separators[j]->home != separators[0]->home)
        return bd_fail(BD_ERROR_ARGUMENT, "separators %d and 0 have not the same backend", j);
    for (int i = 0; i < j; i++)
        if (separators[i] == separators[j])
            return bd_fail(BD_ERROR_ARGUMENT, "separators %d and %d are the same", i, j);
    return BD_OK;
}

static enum bd_status check_all(const struct together *t, int count)
{
    enum bd_status status = bd_check_pointer(t->separators, "separators");
    if (status == BD_OK)
        status = bd_check_pointer(t->pictures, "pictures");
    if (status == BD_OK)
        status = bd_check_pointer(t->strides, "strides");
    if (status == BD_OK)
        status = bd_check_pointer(t->times, "times");
    if (status == BD_OK && count < 1)
        status = bd_fail(BD_ERROR_ARGUMENT, "count = %d: at least 1 is wanted", count);
    for (int j = 0; status == BD_OK && j < count; j++) {
        status = bd_sep_check_submit(t->separators[j], t->pictures[j], t->strides[j], t->times[j]);
        if (status == BD_OK)
            status = check_others(t->separators, j);
    }
    return status;
}

enum bd_status bd_separator_submit_all(struct bd_separator *const *separators, int count,
                                       const uint8_t *const *pictures, const int64_t *strides,
                                       const double *times)
{
    struct together t = { .separators = separators,
                          .pictures = pictures,
                          .strides = strides,
                          .times = times,
                          .lock = PTHREAD_MUTEX_INITIALIZER };
    const enum bd_status status = check_all(&t, count);
    if (status != BD_OK)
        return status;
    const bool several = count > 1 && separators[0]->backend->ops->separation->load_several;
    for (int first = 0; several && first < count; first += most_together)
        submit_some(&t, first, count - first < most_together ? count : first + most_together);
    for (int j = 0; !several && j < count; j++) {
        const enum bd_status one =
            bd_separator_submit(separators[j], pictures[j], strides[j], times[j]);
        if (one != BD_OK)
            note_failure(&t, j, one);
    }
    return t.status == BD_OK ? BD_OK : bd_fail(t.status, "%s", t.detail);
}
