/* The LAPACK drop-in's SGEQR and SGEMQR: their own format and the LAPACK library's. */
#include <dlfcn.h>

#include "tests/lapack/check.h"

/* The routine of that name of the LAPACK library beneath, NULL where it has another file name. */
static void *library_routine(const char *name)
{
    static const char *const files[] = { "libopenblas.so.0", "liblapack.so.3" };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        void *library = dlopen(files[i], RTLD_NOW | RTLD_NOLOAD);
        void *routine = library ? dlsym(library, name) : NULL;
        if (routine)
            return routine;
    }
    return NULL;
}

/* What the library's SGEQR made, in blocks, is for the library's SGEMQR: ours hands it on. What
 * ours made the library's SGEMQR reads. */
static void formats_of_others(void **state)
{
    enum { M = 9000, N = 40, SIZE = 1 << 16 }; /* LAPACK's blocks of rows start at 8192 rows */
    const int32_t m = M, n = N, one = 1, size = SIZE;
    int32_t info = 99;
    void (*their_geqr)(const int32_t *, const int32_t *, float *, const int32_t *, float *,
                       const int32_t *, float *, const int32_t *, int32_t *);
    void (*their_gemqr)(const char *, const char *, const int32_t *, const int32_t *,
                        const int32_t *, const float *, const int32_t *, const float *,
                        const int32_t *, float *, const int32_t *, float *, const int32_t *,
                        int32_t *, size_t, size_t);
    (void)state;
    *(void **)&their_geqr = library_routine("sgeqr_");
    *(void **)&their_gemqr = library_routine("sgemqr_");
    if (!their_geqr || !their_gemqr)
        skip();
    float *a = new_random(M * N), *t = new_floats(SIZE), *work = new_floats(SIZE);
    for (int ours = 0; ours < 2; ours++) {
        float *f = new_copy(a, M * N), *c = new_copy(a + 3 * M, M);
        if (ours)
            sgeqr_(&m, &n, f, &m, t, &size, work, &size, &info);
        else
            their_geqr(&m, &n, f, &m, t, &size, work, &size, &info);
        assert_int_equal(info, 0);
        if (!ours)
            assert_true(t[1] < M);
        if (ours)
            their_gemqr("L", "T", &m, &one, &n, f, &m, t, &size, c, &m, work, &size, &info, 1, 1);
        else
            sgemqr_("L", "T", &m, &one, &n, f, &m, t, &size, c, &m, work, &size, &info, 1, 1);
        assert_int_equal(info, 0);
        for (int i = 0; i < M; i++) /* Q^T A = R */
            assert_true(fabsf(c[i] - (i <= 3 ? f[i + 3 * M] : 0)) < 1e-4F);
        free(f);
        free(c);
    }
    free(a);
    free(t);
    free(work);
}

/* SGEMQR by a T of ours, with WORK of the size that its query tells: against SORMQR, and with what
 * lies behind WORK unchanged. */
static void apply_in_told_work(int left, int transposed, int32_t others, int32_t order, int32_t k,
                               const float *f, const float *t, int32_t t_size)
{
    enum { GUARD = 1 << 14 };
    const int32_t rows = left ? order : others, cols = left ? others : order, query = -1;
    const char *side = left ? "L" : "R", *trans = transposed ? "T" : "N";
    float *c = new_random((int64_t)rows * cols), told[1];
    float *d = new_copy(c, (int64_t)rows * cols);
    int32_t info = 99;
    sgemqr_(side, trans, &rows, &cols, &k, f, &order, t, &t_size, c, &rows, told, &query, &info, 1,
            1);
    assert_int_equal(info, 0);
    const int32_t size = (int32_t)told[0], big = rows + cols;
    float *work = new_random(size + GUARD), *guard = new_copy(work + size, GUARD);
    sgemqr_(side, trans, &rows, &cols, &k, f, &order, t, &t_size, c, &rows, work, &size, &info, 1,
            1);
    assert_int_equal(info, 0);
    assert_memory_equal(work + size, guard, GUARD * sizeof *guard);
    float *more = new_floats(big);
    sormqr_(side, trans, &rows, &cols, &k, f, &order, t + 5, d, &rows, more, &big, &info, 1, 1);
    assert_memory_equal(c, d, (size_t)(rows * cols) * sizeof *c);
    free(c);
    free(d);
    free(work);
    free(guard);
    free(more);
}

/* SGEQR and SGEMQR with the sizes that queries tell, and with the least. */
static void opaque_format(void **state)
{
    static const int32_t shapes[][2] = {
        { 30, 20 }, { 20, 30 }, { 3000, 40 }, { 1, 1 }, { 200, 199 }
    };
    (void)state;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int32_t query = -2; query <= -1; query++) {
            const int32_t m = shapes[s][0], n = shapes[s][1], k = m < n ? m : n;
            int32_t info = 99;
            float t_size[5], work_size[1];
            float *a = new_random((int64_t)m * n), *f = new_copy(a, (int64_t)m * n);
            sgeqr_(&m, &n, f, &m, t_size, &query, work_size, &query, &info);
            assert_int_equal(info, 0);
            const int32_t ts = (int32_t)t_size[0], ws = (int32_t)work_size[0];
            assert_true(ts >= n + 5 && ws >= n);
            float *t = new_floats(ts), *work = new_floats(ws);
            sgeqr_(&m, &n, f, &m, t, &ts, work, &ws, &info);
            assert_int_equal(info, 0);
            check_residual(m, n, a, m, f, m, t + 5);
            for (int which = 0; which < 8; which++)
                apply_in_told_work(which & 1, which & 2, which & 4 ? 300 : 9, m, k, f, t, ts);
            free(a);
            free(f);
            free(t);
            free(work);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(opaque_format),
                                        cmocka_unit_test(formats_of_others) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
