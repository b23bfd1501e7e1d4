/* The LAPACK drop-in's qrupdate routines against the matrices they update, in float64. */
#include "tests/lapack/check.h"

#include <dlfcn.h>

#include "tests/support/quick.h"

/* A (m x n, float64) with its Q (ld ldq, k columns) and R (k x n, ld ldr), and room to grow. */
struct factored {
    int32_t m, n, k, ldq, ldr;
    double *a; /* ld m + 1 of the beginning */
    int64_t lda;
    float *q, *r;
};

enum { ROOM = 4 }; /* rows and columns more than there are, at the most */

static struct factored make(int32_t m, int32_t n, int economical)
{
    struct factored x = { .m = m, .n = n, .k = economical ? n : m };
    x.ldq = m + ROOM;
    x.ldr = m + ROOM;
    x.lda = m + ROOM;
    x.a = new_doubles(x.lda * (n + ROOM));
    x.q = new_random((int64_t)x.ldq * (m + ROOM)); /* nothing may depend on what is not Q or R */
    x.r = new_random((int64_t)x.ldr * (n + ROOM));
    const int32_t most = m < n ? m : n, size = m > n ? m : n;
    int32_t info = 0;
    float *f = new_random((int64_t)x.ldq * n), *tau = new_floats(most), *work = new_floats(size);
    for (int32_t j = 0; j < n; j++)
        for (int32_t i = 0; i < m; i++)
            x.a[i + j * x.lda] = f[i + j * x.ldq];
    if (m > 0) {
        if (n > 0)
            sgeqrf_(&m, &n, f, &x.ldq, tau, work, &size, &info);
        for (int32_t j = 0; j < most; j++)
            memcpy(x.q + (int64_t)j * x.ldq, f + (int64_t)j * x.ldq, (size_t)m * sizeof *f);
        sorgqr_(&m, &x.k, &most, x.q, &x.ldq, tau, work, &size, &info);
        assert_int_equal(info, 0);
    }
    for (int32_t j = 0; j < n; j++)
        for (int32_t i = 0; i < x.k; i++)
            x.r[i + j * x.ldr] = i <= j ? f[i + j * x.ldq] : 0;
    free(f);
    free(tau);
    free(work);
    return x;
}

static void destroy(struct factored *x)
{
    free(x->a);
    free(x->q);
    free(x->r);
}

/* A = Q R, Q orthonormal, R upper trapezoidal with zeros below. */
static void check(const struct factored *x, const char *what, int32_t j)
{
    double error = 0, norm = 0, *q = new_doubles((int64_t)x->m * x->k);
    for (int32_t c = 0; c < x->n; c++)
        for (int32_t i = 0; i < x->m; i++) {
            double sum = -x->a[i + c * x->lda];
            for (int32_t p = 0; p < x->k; p++)
                sum += (double)x->q[i + (int64_t)p * x->ldq] * x->r[p + (int64_t)c * x->ldr];
            error += sum * sum;
            norm += x->a[i + c * x->lda] * x->a[i + c * x->lda];
        }
    for (int32_t c = 0; c < x->n; c++)
        for (int32_t p = c + 1; p < x->k; p++)
            if (x->r[p + (int64_t)c * x->ldr] != 0)
                fail_msg("%s at %d: R(%d, %d) is %g", what, j, p, c,
                         (double)x->r[p + (int64_t)c * x->ldr]);
    for (int32_t c = 0; c < x->k; c++)
        for (int32_t i = 0; i < x->m; i++)
            q[i + (int64_t)c * x->m] = x->q[i + (int64_t)c * x->ldq];
    const double orthogonality = orthogonality64(x->m, x->k, q, x->m);
    const double rounding = FLT_EPSILON * (6 + 2 * (double)x->k);
    if (!(sqrt(error) <= rounding * sqrt(norm) + 1e-37 && orthogonality <= rounding))
        fail_msg("%s at %d, now m = %d, n = %d, k = %d: residual %g, orthogonality %g", what, j,
                 x->m, x->n, x->k, sqrt(error / norm), orthogonality);
    free(q);
}

static void insert_column(struct factored *x, int32_t j, const float *column)
{
    float *w = new_floats(x->k);
    sqrinc_(&x->m, &x->n, &x->k, x->q, &x->ldq, x->r, &x->ldr, &j, column, w);
    for (int64_t c = x->n; c >= j; c--)
        memcpy(x->a + c * x->lda, x->a + (c - 1) * x->lda, (size_t)x->m * sizeof *x->a);
    for (int32_t i = 0; i < x->m; i++)
        x->a[i + (j - 1) * x->lda] = column[i];
    x->n++;
    x->k += x->k < x->m;
    free(w);
    check(x, "sqrinc", j);
}

static void delete_column(struct factored *x, int32_t j)
{
    float *w = new_floats(x->k);
    const int economical = x->k == x->n && x->k < x->m;
    sqrdec_(&x->m, &x->n, &x->k, x->q, &x->ldq, x->r, &x->ldr, &j, w);
    for (int64_t c = j; c < x->n; c++)
        memcpy(x->a + (c - 1) * x->lda, x->a + c * x->lda, (size_t)x->m * sizeof *x->a);
    x->n--;
    x->k -= economical;
    free(w);
    check(x, "sqrdec", j);
}

static void insert_row(struct factored *x, int32_t j)
{
    float *row = new_random(x->n), *w = new_floats(x->n < x->m ? x->n : x->m);
    for (int32_t c = 0; c < x->n; c++) {
        double *column = x->a + c * x->lda;
        memmove(column + j, column + j - 1, (size_t)(x->m - j + 1) * sizeof *column);
        column[j - 1] = row[c];
    }
    sqrinr_(&x->m, &x->n, x->q, &x->ldq, x->r, &x->ldr, &j, row, w);
    x->m++;
    x->k++;
    free(row);
    free(w);
    check(x, "sqrinr", j);
}

static void delete_row(struct factored *x, int32_t j)
{
    float *w = new_floats(2 * (int64_t)x->m);
    for (int32_t c = 0; c < x->n; c++) {
        double *column = x->a + c * x->lda;
        memmove(column + j - 1, column + j, (size_t)(x->m - j) * sizeof *column);
    }
    sqrder_(&x->m, &x->n, x->q, &x->ldq, x->r, &x->ldr, &j, w);
    x->m--;
    x->k--;
    free(w);
    check(x, "sqrder", j);
}

/* All of them at the first, middle and last places, with full and economical Q. */
static void places(void **state)
{
    static const int32_t shapes[][2] = { { 1, 1 },  { 2, 1 },   { 6, 4 },   { 5, 5 },
                                         { 4, 7 },  { 30, 20 }, { 20, 30 }, { 60, 40 },
                                         { 90, 1 }, { 6, 0 },   { 1, 0 },   { 150, 70 } };
    (void)state;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int economical = 0; economical < 2; economical++)
            for (int place = 0; place < 3; place++) {
                const int32_t m = shapes[s][0], n = shapes[s][1];
                struct factored x;
                if (economical && n >= m)
                    continue;
                float *column = new_random(m);
                x = make(m, n, economical);
                check(&x, "sgeqrf", 0);
                insert_column(&x, place == 0 ? 1 : place == 1 ? n / 2 + 1 : n + 1, column);
                destroy(&x);
                free(column);
                x = make(m, n, economical);
                if (n > 0)
                    delete_column(&x, place == 0 ? 1 : place == 1 ? n / 2 + 1 : n);
                destroy(&x);
                x = make(m, n, 0);
                insert_row(&x, place == 0 ? 1 : place == 1 ? m / 2 + 1 : m + 1);
                destroy(&x);
                x = make(m, n, 0);
                if (m > 1)
                    delete_row(&x, place == 0 ? 1 : place == 1 ? m / 2 + 1 : m);
                destroy(&x);
            }
}

/* A window that slides: many updates of one factorisation. */
static void sequences(void **state)
{
    (void)state;
    for (int economical = 0; economical < 2; economical++) {
        struct factored x = make(40, 25, economical);
        for (int32_t i = 0; i < 60; i++) {
            float *column = new_random(x.m);
            insert_column(&x, 1 + i * 7 % (x.n + 1), column);
            delete_column(&x, 1 + i * 5 % x.n);
            free(column);
        }
        for (int32_t i = 0; i < 30 && !economical; i++) {
            insert_row(&x, 1 + i * 7 % (x.m + 1));
            delete_row(&x, 1 + i * 5 % x.m);
        }
        destroy(&x);
    }
}

/* A column that is in the span of the others, or zero, or nearly: Q stays orthonormal all the same.
 */
static void dependent_column(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        struct factored x = make(50, 12, 1);
        float *column = new_floats(50);
        for (int i = 0; i < 50 && kind != 0; i++)
            column[i] = kind == 3 ? 1e-30F * (float)x.a[i + 3 * x.lda]
                                  : (float)(x.a[i + 3 * x.lda] - 2 * x.a[i + 5 * x.lda]);
        if (kind == 2)
            column[17] += 1e-5F;
        insert_column(&x, 5, column);
        insert_column(&x, 1, column);
        free(column);
        destroy(&x);
    }
}

/* Rows enough for the pool, and columns for several groups. */
static void tall(void **state)
{
    (void)state;
    struct factored x = make(test_quick() ? 900 : 9000, 80, 1);
    float *column = new_random(x.m);
    insert_column(&x, 20, column);
    delete_column(&x, 3);
    free(column);
    destroy(&x);
}

/* Columns of different scales; and NaN comes out, and nothing hangs. */
static void scales_and_nan(void **state)
{
    static const float scales[] = { 1e-30F, 1e30F };
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct factored x = make(20, 6, 1);
        float *column = new_random(20);
        for (int p = 0; p < 20; p++)
            column[p] *= scales[i];
        insert_column(&x, 4, column);
        free(column);
        destroy(&x);
    }
    struct factored x = make(20, 6, 1);
    const int32_t j = 2;
    float column[20], w[20];
    for (int i = 0; i < 20; i++)
        column[i] = i == 7 ? NAN : 1;
    sqrinc_(&x.m, &x.n, &x.k, x.q, &x.ldq, x.r, &x.ldr, &j, column, w);
    assert_true(isnan(x.r[(int64_t)1 * x.ldr]));
    destroy(&x);
}

/* ---- arguments: the checks and their order are qrupdate 1.1's -------------------------------- */

enum { SIZE = 64 };
static float a[SIZE], c[SIZE], tau[SIZE], work[SIZE];

static void start(void)
{
    for (int i = 0; i < SIZE; i++)
        a[i] = c[i] = tau[i] = 1 + (float)i;
    forget();
}

struct update_case {
    int32_t m, n, k, ldq, ldr, j;
    const char *name; /* NULL: no complaint */
    int argument;
};

static void check_update(const char *what, const struct update_case *x)
{
    if (told_times != (x->name != NULL) ||
        (x->name && (strcmp(told_name, x->name) != 0 || told_argument != x->argument)))
        fail_msg("%s with m = %d, n = %d, k = %d, ldq = %d, ldr = %d, j = %d: XERBLA was told %s, "
                 "%d, %d times",
                 what, x->m, x->n, x->k, x->ldq, x->ldr, x->j, told_name, told_argument,
                 told_times);
    if (x->name)
        for (int i = 0; i < SIZE; i++)
            assert_true(a[i] == 1 + (float)i && c[i] == 1 + (float)i);
}

static void insert_column_faults(void **state)
{
    static const struct update_case cases[] = {
        { -1, 2, 2, 5, 5, 1, "SQRINC", 1 }, { 5, -1, 5, 5, 5, 1, "SQRINC", 2 },
        { 5, 3, 2, 5, 5, 1, "SQRINC", 3 },  { 5, 3, 4, 5, 5, 1, "SQRINC", 3 },
        { 3, 5, 5, 3, 3, 1, "SQRINC", 3 },  { 4, 4, 3, 4, 4, 1, "SQRINC", 3 },
        { 5, 3, 5, 4, 5, 1, "SQRINC", 5 },  { 5, 3, 5, 5, 4, 1, "SQRINC", 7 },
        { 5, 3, 3, 5, 3, 1, "SQRINC", 7 },  { 5, 3, 5, 5, 5, 0, "SQRINC", 8 },
        { 5, 3, 5, 5, 5, 5, "SQRINC", 8 },  { 5, 0, 0, 5, 0, 1, "SQRINC", 7 },
        { 0, 3, 0, 0, 0, 9, NULL, 0 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct update_case *x = &cases[i];
        start();
        sqrinc_(&x->m, &x->n, &x->k, a, &x->ldq, c, &x->ldr, &x->j, tau, work);
        check_update("sqrinc", x);
    }
}

static void delete_column_faults(void **state)
{
    static const struct update_case cases[] = {
        { -1, 2, 2, 5, 5, 1, "SQRDEC", 1 }, { 5, -1, 5, 5, 5, 1, "SQRDEC", 2 },
        { 5, 3, 2, 5, 5, 1, "SQRDEC", 3 },  { 3, 5, 5, 3, 3, 1, "SQRDEC", 3 },
        { 5, 3, 5, 4, 5, 1, "SQRDEC", 5 },  { 5, 3, 3, 5, 2, 1, "SQRDEC", 7 },
        { 5, 3, 5, 5, 4, 1, "SQRDEC", 7 },  { 5, 3, 5, 5, 5, 0, "SQRDEC", 8 },
        { 5, 3, 5, 5, 5, 5, "SQRDEC", 8 },  { 5, 3, 5, 5, 5, 4, "SQHQR", 2 },
        { 3, 3, 3, 3, 3, 4, NULL, 0 },      { 0, 3, 0, 0, 0, 2, NULL, 0 },
        { 5, 0, 0, 5, 0, 1, NULL, 0 },      { 5, 3, 4, 1, 1, 3, NULL, 0 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct update_case *x = &cases[i];
        start();
        sqrdec_(&x->m, &x->n, &x->k, a, &x->ldq, c, &x->ldr, &x->j, work);
        check_update("sqrdec", x);
    }
}

static void change_row_faults(void **state)
{
    static const struct update_case insertions[] = {
        { 5, -1, 0, 6, 6, 1, "SQRINR", 2 }, { 5, 3, 0, 6, 6, 0, "SQRINR", 7 },
        { 5, 3, 0, 6, 6, 7, "SQRINR", 7 },  { -1, 2, 0, 6, 6, 1, "SQRINR", 7 },
        { 5, 3, 0, 5, 6, 1, "SQROT", 5 },   { 5, 3, 0, 6, 5, 1, "SQHQR", 4 },
    };
    static const struct update_case deletions[] = {
        { 0, 3, 0, 1, 1, 1, "SQRDER", 1 }, { -1, 3, 0, 1, 1, 1, "SQRDER", 1 },
        { 5, 3, 0, 5, 5, 0, "SQRDER", 7 }, { 5, 3, 0, 5, 5, 6, "SQRDER", 7 },
        { 5, 3, 0, 4, 5, 1, "SQROT", 5 },  { 5, 3, 0, 5, 4, 1, "SQRQH", 4 },
        { 5, -1, 0, 5, 5, 1, "SQRQH", 2 }, { 1, 3, 0, 0, 0, 9, NULL, 0 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof insertions / sizeof *insertions; i++) {
        const struct update_case *x = &insertions[i];
        start();
        sqrinr_(&x->m, &x->n, a, &x->ldq, c, &x->ldr, &x->j, tau, work);
        check_update("sqrinr", x);
    }
    for (size_t i = 0; i < sizeof deletions / sizeof *deletions; i++) {
        const struct update_case *x = &deletions[i];
        start();
        sqrder_(&x->m, &x->n, a, &x->ldq, c, &x->ldr, &x->j, work);
        check_update("sqrder", x);
    }
}

/* What one routine of the two libraries was told with these numbers. */
struct complaint {
    char name[sizeof told_name];
    int argument, times;
};

/* As the routines of qrupdate are called here; those of rows have no k. */
union routine {
    void *symbol;
    void (*insert_column)(const int32_t *, const int32_t *, const int32_t *, float *,
                          const int32_t *, float *, const int32_t *, const int32_t *, const float *,
                          float *);
    void (*delete_column)(const int32_t *, const int32_t *, const int32_t *, float *,
                          const int32_t *, float *, const int32_t *, const int32_t *, float *);
    void (*insert_row)(const int32_t *, const int32_t *, float *, const int32_t *, float *,
                       const int32_t *, const int32_t *, float *, float *);
    void (*delete_row)(const int32_t *, const int32_t *, float *, const int32_t *, float *,
                       const int32_t *, const int32_t *, float *);
};

/* The arrays have room on both sides: the reference goes on after some faults. */
static struct complaint try_update(int which, union routine routine, const struct update_case *x)
{
    enum { MIDDLE = 2048 };
    static float q[2 * MIDDLE], r[2 * MIDDLE], column[MIDDLE], w[MIDDLE];
    float *const q0 = q + MIDDLE, *const r0 = r + MIDDLE;
    struct complaint complaint;
    for (int i = 0; i < 2 * MIDDLE; i++)
        q[i] = r[i] = 1;
    for (int i = 0; i < MIDDLE; i++)
        column[i] = w[i] = 1;
    forget();
    if (which == 0)
        routine.insert_column(&x->m, &x->n, &x->k, q0, &x->ldq, r0, &x->ldr, &x->j, column, w);
    else if (which == 1)
        routine.delete_column(&x->m, &x->n, &x->k, q0, &x->ldq, r0, &x->ldr, &x->j, w);
    else if (which == 2)
        routine.insert_row(&x->m, &x->n, q0, &x->ldq, r0, &x->ldr, &x->j, column, w);
    else
        routine.delete_row(&x->m, &x->n, q0, &x->ldq, r0, &x->ldr, &x->j, w);
    memcpy(complaint.name, told_name, sizeof told_name);
    complaint.argument = told_argument;
    complaint.times = told_times;
    return complaint;
}

/* Every argument, good and bad, in every combination: XERBLA is told what qrupdate's own library
 * tells it. */
static void faults_of_qrupdate(void **state)
{
    static const char *const names[] = { "sqrinc_", "sqrdec_", "sqrinr_", "sqrder_" };
    const union routine ours[] = { { .insert_column = sqrinc_ },
                                   { .delete_column = sqrdec_ },
                                   { .insert_row = sqrinr_ },
                                   { .delete_row = sqrder_ } };
    (void)state;
    void *library = dlopen("libqrupdate.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        print_message("skipped: libqrupdate1 is not installed\n");
        skip();
    }
    int calls = 0, refused = 0;
    for (int which = 0; which < 4; which++) {
        const union routine theirs = { .symbol = dlsym(library, names[which]) };
        assert_non_null(theirs.symbol);
        struct update_case x;
        for (x.m = -1; x.m <= 4; x.m++)
            for (x.n = -1; x.n <= 4; x.n++)
                for (x.k = which < 2 ? -1 : 0; x.k <= (which < 2 ? 4 : 0); x.k++)
                    for (x.ldq = -1; x.ldq <= 5; x.ldq++)
                        for (x.ldr = -1; x.ldr <= 5; x.ldr++)
                            for (x.j = -1; x.j <= 6; x.j++) {
                                const struct complaint got = try_update(which, ours[which], &x),
                                                       want = try_update(which, theirs, &x);
                                calls++;
                                refused += want.times > 0;
                                if (got.times != want.times || got.argument != want.argument ||
                                    strcmp(got.name, want.name) != 0)
                                    fail_msg("%s with m = %d, n = %d, k = %d, ldq = %d, ldr = %d, "
                                             "j = %d: %s %d, %d times, where qrupdate tells %s %d, "
                                             "%d times",
                                             names[which], x.m, x.n, x.k, x.ldq, x.ldr, x.j,
                                             got.name, got.argument, got.times, want.name,
                                             want.argument, want.times);
                            }
    }
    print_message("%d calls, %d refused\n", calls, refused);
    assert_true(refused > 0);
    dlclose(library);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places),
        cmocka_unit_test(sequences),
        cmocka_unit_test(dependent_column),
        cmocka_unit_test(tall),
        cmocka_unit_test(scales_and_nan),
        cmocka_unit_test(insert_column_faults),
        cmocka_unit_test(delete_column_faults),
        cmocka_unit_test(change_row_faults),
        cmocka_unit_test(faults_of_qrupdate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
