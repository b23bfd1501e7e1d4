/* The drop-in's store of contexts (lapack/context.h): a context with a GPU may be taken by another
 * thread than the one that opened it. The GPU here is a fake with a current device a thread. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lapack/context.h"
#include "linalg/shared/ops.h"

enum { OTHER_DEVICE, THE_DEVICE };

static _Thread_local int current_device = OTHER_DEVICE;
static enum bd_status attach_status;
static atomic_int opened, closed_elsewhere;

static enum bd_status fake_open(struct bd_backend *backend, int threads)
{
    (void)backend;
    (void)threads;
    current_device = THE_DEVICE;
    opened++;
    return BD_OK;
}

static void fake_close(struct bd_backend *backend)
{
    (void)backend;
    opened--;
    closed_elsewhere += current_device != THE_DEVICE;
}

static enum bd_status fake_attach(struct bd_backend *backend)
{
    (void)backend;
    if (attach_status == BD_OK)
        current_device = THE_DEVICE;
    return attach_status;
}

static const struct bd_device_ops fake_device = { .open = fake_open,
                                                  .close = fake_close,
                                                  .attach = fake_attach };
static const struct bd_backend_ops fake_gpu = { .name = "cuda", .device = &fake_device };
static const struct bd_backend_ops cpu = { .name = "cpu", .device = &bd_cpu_device_ops };

/* In place of backends/backends.c. */
enum bd_status bd_backend_open(struct bd_backend **backend, const char *name, int threads)
{
    *backend = calloc(1, sizeof **backend);
    assert_non_null(*backend);
    (*backend)->ops = strcmp(name, "cuda") ? &cpu : &fake_gpu;
    return (*backend)->ops->device->open(*backend, threads);
}

void bd_backend_close(struct bd_backend **backend)
{
    if (!*backend)
        return;
    (*backend)->ops->device->close(*backend);
    free(*backend);
    *backend = NULL;
}

/* Takes a context, which opens its GPU, and gives it back. */
static void *use_one(void *argument)
{
    struct bd_lapack **context = argument;
    *context = bd_lapack_take(16, 16);
    bd_lapack_give(*context);
    return NULL;
}

static struct bd_lapack *opened_in_a_thread(void)
{
    struct bd_lapack *context = NULL;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, use_one, &context), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_non_null(context);
    return context;
}

static void test_context_of_another_thread(void **state)
{
    (void)state;
    current_device = OTHER_DEVICE;
    attach_status = BD_OK;
    struct bd_lapack *first = opened_in_a_thread();
    struct bd_lapack *context = bd_lapack_take(16, 16);
    assert_ptr_equal(context, first);
    assert_int_equal(opened, 1);
    assert_int_equal(current_device, OTHER_DEVICE);
    assert_ptr_equal(bd_lapack_gpu(context), context->gpu);
    assert_non_null(context->gpu);
    assert_int_equal(current_device, THE_DEVICE);
    bd_lapack_give(context);
}

/* A GPU that cannot be made current is not used. */
static void test_attach_fails(void **state)
{
    (void)state;
    attach_status = BD_ERROR_BACKEND;
    struct bd_lapack *context = bd_lapack_take(16, 16);
    assert_non_null(context->gpu);
    assert_null(bd_lapack_gpu(context));
    bd_lapack_give(context);
}

/* More contexts than are kept, taken at once by threads: those closed are closed on their device.
 */
enum { CROWD = 8 };

static void *use_with_all(void *argument)
{
    struct bd_lapack *context = bd_lapack_take(16, 16);
    pthread_barrier_wait(argument); /* all hold one */
    current_device = OTHER_DEVICE;
    bd_lapack_give(context);
    return NULL;
}

static void test_closed_on_its_device(void **state)
{
    pthread_barrier_t barrier;
    pthread_t threads[CROWD];
    (void)state;
    attach_status = BD_OK;
    closed_elsewhere = 0;
    assert_int_equal(pthread_barrier_init(&barrier, NULL, CROWD), 0);
    for (int i = 0; i < CROWD; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use_with_all, &barrier), 0);
    for (int i = 0; i < CROWD; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    pthread_barrier_destroy(&barrier);
    assert_true(opened > 0 && opened < CROWD);
    assert_int_equal(closed_elsewhere, 0);
}

static int want_gpu(void **state)
{
    (void)state;
    return setenv("BACKDROP_LAPACK_BACKEND", "cuda", 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_context_of_another_thread),
        cmocka_unit_test(test_attach_fails),
        cmocka_unit_test(test_closed_on_its_device),
    };
    return cmocka_run_group_tests_name("lapack context", tests, want_gpu, NULL);
}
