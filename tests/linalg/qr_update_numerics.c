/* QR updating where rounding shows: dependent columns, extreme scales, NaN, thousands of slides. */
#include "tests/support/qr_window.h"

/* Zero, constant and repeated columns, and ones that depend on others. */
static void test_dependent_columns(void **state)
{
    (void)state;
    FOR_EACH_BACKEND(name)
    {
        for (int wide = 0; wide < 2; wide++) {
            struct window w;
            int64_t m = wide ? 24 : 3000;
            open_window(&w, name, 2, m, 24, 2);
            float *u = make_room(&w, 0, 6);
            memset(u + m, 0, (size_t)m * sizeof *u);
            memcpy(u + 2 * m, u, (size_t)m * sizeof *u);
            for (int64_t i = 0; i < m; i++)
                u[i + 4 * m] = 128;
            send(&w, u, 6);
            assert_int_equal(bd_qr_insert_columns(w.update, &w.f, 0, &w.mu, NULL), BD_OK);
            check(&w, "zero and repeated columns");
            assert_true(w.r[1 + 1 * w.room] == 0);
            assert_true(w.r[2 + 2 * w.room] == 0);
            assert_true(fabsf(w.r[3 + 3 * w.room]) > 1);
            /* the sum of two old ones, alone and in front */
            for (int64_t k = w.n; k >= 0; k -= w.n) {
                u = make_room(&w, k, 1);
                const float *other = w.a + (k ? 3 : 4) * m;
                for (int64_t i = 0; i < m; i++)
                    u[i] = other[i] + other[i + m];
                send(&w, u, 1);
                assert_int_equal(bd_qr_insert_columns(w.update, &w.f, k, &w.mu, NULL), BD_OK);
                check(&w, "a sum of columns");
            }
            /* the same picture for longer than the window, zeros, then noise again */
            for (int round = 0; round < 12; round++) {
                drop(&w, 0, 2);
                u = make_room(&w, w.n, 2);
                for (int64_t i = 0; i < 2 * m; i++)
                    u[i] = round < 5 ? (float)(i % m % 256) : round < 7 ? 0 : u[i];
                send(&w, u, 2);
                assert_int_equal(bd_qr_slide(w.update, &w.f, &w.mu, NULL), BD_OK);
                check(&w, "a still scene");
            }
            while (w.n)
                discard(&w, w.n / 2, 1);
            close_window(&w);
        }
    }
}

static void test_scales(void **state)
{
    (void)state;
    FOR_EACH_BACKEND(name)
    {
        for (int e = -30; e <= 30; e += 15) {
            struct window w;
            open_window(&w, name, 1, 700, 12, 0);
            for (int round = 0; round < 8; round++) {
                int64_t p = round ? 3 : 12;
                drop(&w, 0, round ? p : 0);
                float *u = make_room(&w, w.n, p);
                for (int64_t i = 0; i < p * w.m; i++)
                    u[i] *= (float)pow(10, e);
                send(&w, u, p);
                if (round)
                    assert_int_equal(bd_qr_slide(w.update, &w.f, &w.mu, NULL), BD_OK);
                else
                    assert_int_equal(bd_qr_insert_columns(w.update, &w.f, 0, &w.mu, NULL), BD_OK);
                check(&w, "scaled");
            }
            close_window(&w);
        }
    }
}

/* The drift over many slides, a thousand on the CPU and ten on a GPU: bounded and told. */
static void test_many_slides(void **state)
{
    (void)state;
    FOR_EACH_BACKEND(name)
    {
        for (int64_t p = 1; p <= 5; p += 4) {
            struct window w;
            open_window(&w, name, 2, 1500, 40, 0);
            insert(&w, 0, 40);
            double most_residual = 0, most_skew = 0, residual, skew;
            int slides = strcmp(name, "cpu") != 0 ? 10000 : 1000;
            for (int step = 1; step <= slides; step++) {
                slide(&w, p);
                if (step % 50 && step != 1)
                    continue;
                measure(&w, &residual, &skew);
                most_residual = fmax(most_residual, residual);
                most_skew = fmax(most_skew, skew);
                if (step == 1 || step % (slides / 4) == 0)
                    print_message("%s, p = %lld, slide %d: residual %.2f, orthogonality %.2f "
                                  "(n eps)\n",
                                  name, (long long)p, step, residual, skew);
            }
            if (!(most_residual <= 30) || !(most_skew <= 30))
                fail_msg("residual %g, orthogonality %g (n eps)", most_residual, most_skew);
            close_window(&w);
        }
    }
}

/* NaN and Inf are refused and leave the factorisation as it was. */
static void test_not_finite(void **state)
{
    (void)state;
    FOR_EACH_BACKEND(name)
    {
        static const float values[] = { NAN, INFINITY, -INFINITY };
        for (int i = 0; i < 6; i++) {
            struct window w;
            open_window(&w, name, 2, 5000, 30, 0);
            insert(&w, 0, 18);
            int64_t p = i < 3 ? 2 : 12;
            float *u = malloc((size_t)(5000 * p) * sizeof *u);
            assert_non_null(u);
            for (int64_t j = 0; j < 5000 * p; j++)
                u[j] = (float)noise(&w.seed);
            u[5000 * p - 3] = values[i % 3];
            send(&w, u, p);
            assert_int_equal(bd_qr_insert_columns(w.update, &w.f, 4, &w.mu, NULL),
                             BD_ERROR_NUMERIC);
            check(&w, "after a refused insert");
            assert_int_equal(bd_qr_slide(w.update, &w.f, &w.mu, NULL), BD_ERROR_NUMERIC);
            check(&w, "after a refused slide");
            free(u);
            close_window(&w);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dependent_columns),
        cmocka_unit_test(test_scales),
        cmocka_unit_test(test_many_slides),
        cmocka_unit_test(test_not_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
