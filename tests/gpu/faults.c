/* What the CUDA backend says and leaves behind when something is missing or fails: no GPU, a driver
 * that is too old, memory that runs out in each of its allocations, and an error in mid-run. The
 * faults are injected (gpu/cuda.h); the last two need a GPU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gpu/cuda.h"
#include "tests/gpu/open_gpu.h"
#include <backdrop/backend.h>
#include <backdrop/matrix.h>
#include <backdrop/qr.h>
#include <backdrop/rpca.h>
#include <backdrop/separator.h>

enum { width = 96, height = 64, frames = 12 };

static void assert_says(const char *part)
{
    if (!strstr(bd_error_detail(), part))
        fail_msg("\"%s\" does not say \"%s\"", bd_error_detail(), part);
    assert_null(strchr(bd_error_detail(), '\n'));
}

/* Whatever the machine has: opening fails in one line that says what would work. */
static void open_failing(cudaError_t error, const char *part)
{
    struct bd_backend *backend = NULL;
    bd_cuda_inject(error, 0);
    assert_int_equal(bd_backend_open(&backend, "cuda", 1), BD_ERROR_UNSUPPORTED);
    assert_null(backend);
    assert_says(part);
    assert_says("use the backend cpu");
    bd_cuda_inject(cudaSuccess, 0);
}

static void test_no_gpu(void **state)
{
    (void)state;
    open_failing(cudaErrorNoDevice, "no usable NVIDIA GPU");
}

static void test_old_driver(void **state)
{
    (void)state;
    open_failing(cudaErrorInsufficientDriver, "driver");
}

/* `auto` goes on without the GPU. */
static void test_auto(void **state)
{
    (void)state;
    struct bd_backend *backend = NULL;
    bd_cuda_inject(cudaErrorNoDevice, 0);
    assert_int_equal(bd_backend_open(&backend, "auto", 1), BD_OK);
    assert_string_equal(bd_backend_name(backend), "cpu");
    bd_cuda_inject(cudaSuccess, 0);
    bd_backend_close(&backend);
}

static enum bd_status make_separator(struct bd_backend *backend, struct bd_separator **separator)
{
    struct bd_separator_options options = {
        .width = width, .height = height, .channels = 3, .window = 8
    };
    return bd_separator_create(separator, backend, &options);
}

static enum bd_status make(struct bd_backend *backend, int kind)
{
    struct bd_separator *separator = NULL;
    struct bd_rpca *rpca = NULL;
    struct bd_qr *qr = NULL;
    struct bd_matrix matrix = { 0 };
    enum bd_status status = kind == 0   ? make_separator(backend, &separator)
                            : kind == 1 ? bd_rpca_create(&rpca, backend, 1000, 20, NULL)
                            : kind == 2 ? bd_qr_create(&qr, backend, 1000, 20, NULL)
                                        : bd_matrix_create(backend, &matrix, 100, 100, BD_F32);
    if (status != BD_OK) {
        assert_null(separator);
        assert_null(rpca);
        assert_null(qr);
        assert_null(matrix.data);
    }
    bd_separator_destroy(&separator);
    bd_rpca_destroy(&rpca);
    bd_qr_destroy(&qr);
    bd_matrix_destroy(backend, &matrix);
    return status;
}

/* Each allocation of each kind of plan fails once; after that the same plan can be made, and none
 * of the failures has kept any memory. */
static void test_out_of_memory(void **state)
{
    (void)state;
    struct bd_backend *backend = open_gpu();
    for (int kind = 0; kind < 4; kind++) {
        int failures = 0, before = bd_cuda_blocks();
        for (;; failures++) {
            bd_cuda_inject(cudaErrorMemoryAllocation, failures);
            enum bd_status status = make(backend, kind);
            bd_cuda_inject(cudaSuccess, 0);
            if (status == BD_OK)
                break;
            assert_int_equal(status, BD_ERROR_MEMORY);
            assert_says("MiB");
        }
        assert_true(failures > 0);
        assert_int_equal(bd_cuda_blocks(), before);
    }
    bd_backend_close(&backend);
}

/* A call fails in the middle of a separation: the frame is reported as failed, and nothing hangs or
 * crashes on the way out. */
static void test_mid_run(void **state)
{
    (void)state;
    struct bd_backend *backend = open_gpu();
    uint8_t *picture = malloc((size_t)width * height * 3);
    assert_non_null(picture);
    for (int after = 0; after < 40; after += 3) {
        struct bd_separator *separator = NULL;
        enum bd_status status = make_separator(backend, &separator);
        assert_int_equal(status, BD_OK);
        bd_cuda_inject(cudaErrorLaunchFailure, after);
        for (int i = 0; i < frames && status == BD_OK; i++) {
            struct bd_separation out;
            memset(picture, 100 + i, (size_t)width * height * 3);
            status = bd_separator_push(separator, picture, (int64_t)width * 3, i * 0.5, &out);
        }
        bd_cuda_inject(cudaSuccess, 0);
        assert_int_equal(status, BD_ERROR_BACKEND);
        assert_says("cuda:");
        bd_separator_destroy(&separator);
    }
    free(picture);
    bd_backend_close(&backend);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_gpu),  cmocka_unit_test(test_old_driver),
        cmocka_unit_test(test_auto),    cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_mid_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
