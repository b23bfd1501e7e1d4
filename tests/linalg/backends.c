/* Names of backends and GPUs, and backends that cannot do everything. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <backdrop/gram_qr.h>
#include <backdrop/qr.h>
#include <backdrop/qr_update.h>
#include <backdrop/rpca.h>
#include <backdrop/small_svd.h>
#include <backdrop/triangular.h>

#include "linalg/shared/ops.h"

static void check_refused(const char *name, enum bd_status status, const char *part)
{
    struct bd_backend *backend = (struct bd_backend *)&backend;
    assert_int_equal(bd_backend_open(&backend, name, 1), status);
    assert_null(backend);
    if (!strstr(bd_error_detail(), part))
        fail_msg("%s: \"%s\" does not say \"%s\"", name, bd_error_detail(), part);
}

static void test_names(void **state)
{
    (void)state;
    check_refused("gpu", BD_ERROR_ARGUMENT, "known are auto, cpu, cuda and cuda:N");
    check_refused("", BD_ERROR_ARGUMENT, "known are");
    check_refused("cuda and a name that is longer than any", BD_ERROR_ARGUMENT, "known are");
    check_refused("cpu:0", BD_ERROR_ARGUMENT, "only cuda takes the number of a GPU");
    check_refused("auto:0", BD_ERROR_ARGUMENT, "only cuda takes the number of a GPU");
    static const char *const wrong[] = {
        "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "cuda: 1", "cuda:1024", "cuda:99999999999999999999"
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        check_refused(wrong[i], BD_ERROR_ARGUMENT, "is no number of a GPU, 0 to 1023");
    assert_int_equal(bd_backend_open(NULL, "cpu", 1), BD_ERROR_ARGUMENT);
    assert_int_equal(bd_backend_sync(NULL), BD_ERROR_ARGUMENT);
    struct bd_backend *backend;
    bd_backend_close(NULL);
    assert_int_equal(bd_backend_open(&backend, "cpu", 1), BD_OK);
    assert_string_equal(bd_backend_name(backend), "cpu");
    bd_backend_close(&backend);
    assert_null(backend);
}

static int has_cuda_tables(void)
{
    for (const char *const *name = bd_backend_names(); *name; name++)
        if (!strcmp(*name, "cuda"))
            return 1;
    return 0;
}

/* The environment names a GPU for those who name none; the cpu backend does not look at it. */
static void test_environment(void **state)
{
    (void)state;
    struct bd_backend *backend;
    setenv("BACKDROP_DEVICE", "first", 1);
    if (has_cuda_tables()) {
        check_refused("cuda", BD_ERROR_ARGUMENT, "BACKDROP_DEVICE: \"first\"");
        check_refused("auto", BD_ERROR_ARGUMENT, "BACKDROP_DEVICE: \"first\"");
        setenv("BACKDROP_DEVICE", "1023", 1);
        check_refused("cuda", BD_ERROR_UNSUPPORTED, "backend cuda");
    }
    assert_int_equal(bd_backend_open(&backend, "cpu", 1), BD_OK);
    bd_backend_close(&backend);
    unsetenv("BACKDROP_DEVICE");
}

static void test_devices(void **state)
{
    (void)state;
    struct bd_backend *backend;
    if (!has_cuda_tables())
        check_refused("cuda:0", BD_ERROR_UNSUPPORTED, "not in this build");
    if (!has_cuda_tables() || bd_backend_open(&backend, "cuda", 1) != BD_OK)
        skip();
    bd_backend_close(&backend);
    assert_int_equal(bd_backend_open(&backend, "cuda:0", 1), BD_OK);
    assert_non_null(strstr(bd_backend_description(backend), "GPU 0 of "));
    bd_backend_close(&backend);
    check_refused("cuda:1023", BD_ERROR_UNSUPPORTED, "no GPU 1023");
}

/* What a backend lacks is said when it is asked for. */
static void test_missing_tables(void **state)
{
    (void)state;
    struct bd_backend *backend;
    assert_int_equal(bd_backend_open(&backend, "cpu", 1), BD_OK);
    const struct bd_backend_ops *whole = backend->ops;
    const struct bd_backend_ops nothing = { .name = "cpu", .device = whole->device };
    backend->ops = &nothing;

    struct bd_qr *qr;
    struct bd_qr_update *update;
    struct bd_gram_qr *gram_qr;
    struct bd_triangular *triangular;
    struct bd_small_svd *svd;
    struct bd_rpca *rpca;
    const struct bd_qr_update_shape shape = { .max_rows = 4, .max_cols = 2, .max_block = 1 };
    const int64_t rows = 4;
    const enum bd_status answers[] = {
        bd_qr_create(&qr, backend, 4, 2, NULL),
        bd_qr_update_create(&update, backend, &shape),
        bd_gram_qr_create(&gram_qr, &backend, &rows, 1, 2, BD_F32, NULL),
        bd_triangular_create(&triangular, backend, 4, 2, BD_F32),
        bd_small_svd_create(&svd, backend, 2),
        bd_rpca_create(&rpca, backend, 4, 2, NULL),
    };
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        assert_int_equal(answers[i], BD_ERROR_UNSUPPORTED);
    assert_non_null(strstr(bd_error_detail(), "backend cpu"));
    assert_non_null(strstr(bd_error_detail(), "Robust PCA"));
    backend->ops = whole;
    bd_backend_close(&backend);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_environment),
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_missing_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
