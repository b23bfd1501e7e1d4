/* What bd_separator_* refuse (backdrop/status.h), and that it names the argument. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <backdrop/separator.h>

enum { width = 96, height = 64 };

static const struct bd_separator_options small = {
    .width = width, .height = height, .channels = 3, .window = 20, .memory = 8
};

static void refused(enum bd_status status, const char *argument)
{
    assert_int_equal(status, BD_ERROR_ARGUMENT);
    assert_non_null(strstr(bd_error_detail(), argument));
}

static void test_bad_options(void **state)
{
    (void)state;
    struct bd_backend *backend;
    struct bd_separator *separator = NULL;
    assert_int_equal(bd_backend_open(&backend, "cpu", 1), BD_OK);
    refused(bd_separator_create(NULL, backend, &small), "separator is NULL");
    refused(bd_separator_create(&separator, NULL, &small), "backend is NULL");
    refused(bd_separator_create(&separator, backend, NULL), "options is NULL");
    struct bd_separator_options bad[32];
    int cases = 0;
#define BAD(field, value) (bad[cases] = small, bad[cases++].field = (value))
    BAD(width, 0);
    BAD(height, -1);
    BAD(width, 100000);
    BAD(channels, 2);
    BAD(window, 1);
    BAD(window, 1001);
    BAD(rank, 9);
    BAD(rank, -1);
    BAD(median, 4);
    BAD(median, 17);
    BAD(lambda, 256);
    BAD(lambda, (double)NAN);
    BAD(threshold, (double)INFINITY);
    BAD(memory, (double)NAN);
    BAD(frame_rate, (double)INFINITY);
    BAD(noise_gain, (double)NAN);
    BAD(outputs, 16);
    BAD(results, -1);
    BAD(results, 5);
    BAD(noise_gain, -2);
    BAD(lambda, -1);
    BAD(threshold, -1);
    BAD(memory, -1);
    BAD(frame_rate, -25);
    BAD(refine, 101);
    BAD(refine, -2);
    BAD(min_area, -2);
    BAD(max_hole, -2);
    BAD(shadows, 1);
    BAD(shadows, -2);
#undef BAD
    for (int i = 0; i < cases; i++) {
        assert_int_equal(bd_separator_create(&separator, backend, &bad[i]), BD_ERROR_ARGUMENT);
        assert_null(separator);
        assert_true(strlen(bd_error_detail()) > 10);
    }
    struct bd_separator_options options = small;
    options.width = 3;
    options.height = 2;
    options.window = 19; /* 3 x 2 x 3 values are one fewer */
    assert_int_equal(bd_separator_create(&separator, backend, &options), BD_ERROR_ARGUMENT);
    assert_non_null(strstr(bd_error_detail(), "smaller window"));
    options.window = 18;
    assert_int_equal(bd_separator_create(&separator, backend, &options), BD_OK);
    bd_separator_destroy(&separator);
    bd_backend_close(&backend);
}

static void test_bad_frames(void **state)
{
    (void)state;
    struct bd_backend *backend;
    struct bd_separator *separator;
    assert_int_equal(bd_backend_open(&backend, "cpu", 1), BD_OK);
    assert_int_equal(bd_separator_create(&separator, backend, &small), BD_OK);
    static const uint8_t picture[width * height * 3];
    struct bd_separation out;
    assert_int_equal(bd_separator_push(separator, picture, width * 3, (double)NAN, &out),
                     BD_ERROR_ARGUMENT);
    assert_int_equal(
        bd_separator_push_known(separator, picture, width * 3, picture, (double)INFINITY, &out),
        BD_ERROR_ARGUMENT);
    const int64_t strides[] = { 1, -64, 0, width * 3 - 1, INT64_MAX };
    for (int i = 0; i < 5; i++) {
        refused(bd_separator_look_ahead(separator, picture, strides[i]), "stride");
        refused(bd_separator_look_after(separator, 0, picture, strides[i]), "stride");
        refused(bd_separator_submit(separator, picture, strides[i], 0), "stride");
        refused(bd_separator_push(separator, picture, strides[i], 0, &out), "stride");
        refused(bd_separator_push_known(separator, picture, strides[i], picture, 0, &out),
                "stride");
    }
    refused(bd_separator_look_ahead(separator, NULL, width * 3), "picture");
    refused(bd_separator_look_after(separator, 0, NULL, width * 3), "picture");
    refused(bd_separator_look_after(NULL, 0, picture, width * 3), "separator");
    assert_int_equal(bd_separator_look_after(separator, 0, picture, width * 3), BD_OK); /* none */
    refused(bd_separator_push_known(separator, picture, width * 3, NULL, 0, &out), "background");
    refused(bd_separator_push(separator, picture, width * 3, 0, NULL), "out");
    refused(bd_separator_push(NULL, picture, width * 3, 0, &out), "separator");
    assert_int_equal(bd_separator_in_flight(separator), 0);
    assert_int_equal(bd_separator_set_lambda(separator, 0), BD_ERROR_ARGUMENT);
    assert_int_equal(bd_separator_set_threshold(separator, 300), BD_ERROR_ARGUMENT);
    assert_int_equal(bd_separator_set_lambda(separator, 7), BD_OK);
    assert_int_equal(bd_separator_set_threshold(separator, 33), BD_OK);
    assert_float_equal(bd_separator_options(separator)->lambda, 7, 0);
    assert_float_equal(bd_separator_options(separator)->threshold, 33, 0);
    bd_separator_destroy(&separator);
    bd_backend_close(&backend);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_options),
        cmocka_unit_test(test_bad_frames),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
