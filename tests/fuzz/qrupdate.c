/* qrupdate's routines, by the drop-in: a factorisation that a few calls change in turn. A call with
 * a fault changes nothing. After another one, Q R is the matrix that was changed beside it. */
#include "tests/fuzz/lapack.h"

enum { most_changes = 8, most_size = 40, room = most_size + most_changes };

/* A (m x n), Q (m x k) and R (k x n), all with `room` as leading dimension. k = m, or n where that
 * is less. */
static int32_t m, n, k;
static double largest; /* norm of A so far: roundings stay when a large column goes */
static float a[room * room], q[room * room], r[room * room];

/* A is a part of the identity, which is its own factorisation. */
static void start(void)
{
    m = take_byte(&in) % most_size;
    n = take_byte(&in) % most_size;
    k = take_byte(&in) % 2 && n < m ? n : m;
    for (int i = 0; i < room * room; i++)
        a[i] = q[i] = r[i] = i % room == i / room;
    for (int i = 0; i < room * room; i++)
        a[i] = i / room < n ? a[i] : 0;
    largest = sqrt(m < n ? m : n);
}

static void check(void)
{
    double error = 0, norm = 0, defect = 0;
    if (isnan(scale))
        return;
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) {
            double sum = -a[i + j * room];
            for (int p = 0; p < k; p++)
                sum += (double)q[i + p * room] * r[p + j * room];
            error += sum * sum;
            norm += (double)a[i + j * room] * a[i + j * room];
        }
    for (int j = 0; j < n; j++)
        for (int p = j + 1; p < k; p++)
            REQUIRE(r[p + j * room] == 0);
    for (int j = 0; j < k; j++)
        for (int p = 0; p <= j; p++) {
            double dot = p == j ? -1 : 0;
            for (int i = 0; i < m; i++)
                dot += (double)q[i + p * room] * q[i + j * room];
            defect += dot * dot;
        }
    largest = fmax(largest, sqrt(norm));
    const double rounding = (10 + k) * 0x1p-20;
    REQUIRE(sqrt(error) <= rounding * largest && sqrt(defect) <= rounding);
}

/* A copy of a matrix with another leading dimension, which ends with its last element. */
static struct array copy_in(const float *from, int32_t rows, int32_t cols, int32_t ld)
{
    struct array x = make_vector(rows > 0 && cols > 0 ? (int64_t)ld * (cols - 1) + rows : 1);
    for (int32_t j = 0; j < cols && rows > 0; j++)
        memcpy(x.before + (int64_t)j * ld, from + (int64_t)j * room, (size_t)rows * sizeof *from);
    x.rows = rows;
    x.cols = cols;
    x.ld = ld;
    share(&x);
    return x;
}

static void copy_out(float *to, const struct array *x)
{
    require_gaps(x);
    for (int32_t j = 0; j < x->cols; j++)
        for (int32_t i = 0; i < x->rows; i++)
            to[i + j * room] = x->after[0][i + (int64_t)j * x->ld];
}

/* A after the change: a row or a column at j, from 0, comes (`x`) or goes (NULL). */
static void change(bool is_row, int32_t j, const float *x)
{
    const int32_t count = is_row ? m : n, others = is_row ? n : m;
    const int step = is_row ? 1 : room, across = is_row ? room : 1;
    for (int32_t i = 0; i < others; i++) {
        float *line = a + i * across;
        for (int32_t p = count; p > j && x; p--)
            line[p * step] = line[(p - 1) * step];
        for (int32_t p = j; p + 1 < count && !x; p++)
            line[p * step] = line[(p + 1) * step];
        if (x)
            line[j * step] = x[i];
    }
    *(is_row ? &m : &n) += x ? 1 : -1;
}

static void step(void)
{
    enum { FAULT_FIRST = 240, FAULTS = 7 };
    const bool economical = k < m;
    const bool is_row = take_byte(&in) % 2 && !economical, grows = take_byte(&in) % 2;
    const int32_t count = is_row ? m : n, places = grows ? count + 1 : count;
    int32_t place = take_byte(&in) % (places ? places : 1) + 1;
    /* What Q and R have at their largest, during the call. */
    const int32_t q_rows = m + (is_row && grows), q_cols = k + (grows && (is_row || economical));
    const int32_t r_rows = q_cols, r_cols = n + (!is_row && grows);
    int32_t ldq = q_rows + take_byte(&in) % 3, ldr = r_rows + take_byte(&in) % 3;
    struct array next_q = copy_in(q, q_rows, q_cols, ldq), next_r = copy_in(r, r_rows, r_cols, ldr);
    struct array x = make_vector(is_row ? n : m);
    if (take_byte(&in) % 4 == 3 && !is_row && n > 0) /* depends on the others */
        memcpy(x.before, a, (size_t)m * sizeof *a);
    share(&x);
    struct array w = make_vector(!is_row ? k : grows ? (m < n ? m : n) : 2 * (int64_t)m);

    const int fault = take_byte(&in);
    int32_t rows = m, cols = n, rank = k;
    int32_t *const numbers[FAULTS] = { &place, &place, &ldq, &ldr, &rank, &rows, &cols };
    const int32_t wrong[FAULTS] = { 0, places + 1, q_rows - 1, r_rows - 1, -1, -1, -1 };
    bool faulty = places == 0;
    if (fault >= FAULT_FIRST) {
        const int which = fault % FAULTS;
        *numbers[which] = wrong[which];
        /* Rows have no rank, and without columns there is no R. */
        faulty |= !(is_row && which == 4) && !(which == 3 && is_row && n == 0);
    }
    if (!is_row && grows)
        sqrinc_(&rows, &cols, &rank, next_q.after[0], &ldq, next_r.after[0], &ldr, &place,
                x.after[0], w.before);
    else if (!is_row)
        sqrdec_(&rows, &cols, &rank, next_q.after[0], &ldq, next_r.after[0], &ldr, &place,
                w.before);
    else if (grows)
        sqrinr_(&rows, &cols, next_q.after[0], &ldq, next_r.after[0], &ldr, &place, x.after[0],
                w.before);
    else
        sqrder_(&rows, &cols, next_q.after[0], &ldq, next_r.after[0], &ldr, &place, w.before);
    if (faulty) {
        require_same(&next_q);
        require_same(&next_r);
    } else {
        REQUIRE(told.times == 0);
        copy_out(q, &next_q);
        copy_out(r, &next_r);
        change(is_row, place - 1, grows ? x.before : NULL);
        k += is_row || economical ? (grows ? 1 : -1) : 0;
        check();
    }
    told.times = 0;
    release(&next_q);
    release(&next_r);
    release(&x);
    free(w.before);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    begin(data, size);
    start();
    for (int i = 0; i < most_changes && in.size > 0; i++)
        step();
    return 0;
}
