/* LAPACK's routines: the drop-in's beside those of the BLAS library, which are LAPACK's own. Both
 * must refuse the same calls in the same words, ask for the same workspace and compute the same. */
#include <dlfcn.h>

#include "tests/fuzz/lapack.h"

enum { OURS, THEIRS, SIDES };

static struct {
    __typeof__(sgeqrf_) *geqrf;
    __typeof__(sgeqr2_) *geqr2;
    __typeof__(sorgqr_) *orgqr;
    __typeof__(sorg2r_) *org2r;
    __typeof__(sormqr_) *ormqr;
    __typeof__(sorm2r_) *orm2r;
    __typeof__(sgeqr_) *geqr;
    __typeof__(sgemqr_) *gemqr;
    __typeof__(sgels_) *gels;
} lapack[SIDES] = { { sgeqrf_, sgeqr2_, sorgqr_, sorg2r_, sormqr_, sorm2r_, sgeqr_, sgemqr_,
                      sgels_ } };

/* What their routines call must be theirs, too: ours are hidden (CMakeLists.txt). */
#define FIND(field)                                                            \
    do {                                                                       \
        *(void **)&lapack[THEIRS].field = dlsym(RTLD_DEFAULT, "s" #field "_"); \
        REQUIRE(lapack[THEIRS].field &&lapack[THEIRS].field != s##field##_);   \
    } while (0)

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    FIND(geqrf);
    FIND(geqr2);
    FIND(orgqr);
    FIND(org2r);
    FIND(ormqr);
    FIND(orm2r);
    FIND(geqr);
    FIND(gemqr);
    FIND(gels);
    return 0;
}

/* ---- a call of both sides ---------------------------------------------------------------------
 */

struct call {
    int32_t info[SIDES], lwork;
    struct told told[SIDES];
    struct array work;
    bool query; /* of the size of WORK: no matrix is touched */
};

/* The routines that do not work in blocks have no LWORK. */
static struct call make_call(bool blocked)
{
    return (struct call){ .query = take_byte(&in) % 8 == 7 && blocked };
}

/* WORK of at least so many floats, as the documentation says. */
static void make_work(struct call *call, int64_t least, bool blocked)
{
    least = least > 1 ? least : 1;
    call->lwork = call->query ? -1 : blocked ? take_least(least) : 0;
    call->query = call->lwork == -1;
    call->work = make_vector(blocked ? call->lwork : least);
    share(&call->work);
}

#define BOTH(call, routine, ...)                \
    for (int side = 0; side < SIDES; side++) {  \
        float *work = (call)->work.after[side]; \
        int32_t *info = &(call)->info[side];    \
        told = (struct told){ .times = 0 };     \
        *info = 99;                             \
        (void)work;                             \
        lapack[side].routine(__VA_ARGS__);      \
        (call)->told[side] = told;              \
    }

/* The sides agree about the arguments, and about the size of WORK that a query is told. A number
 * that float32 does not hold is rounded up by us alone. Whether the call has computed something. */
static bool computed(const struct call *call)
{
    const struct told *ours = &call->told[OURS], *theirs = &call->told[THEIRS];
    const float size = call->work.after[THEIRS][0];
    /* With NaN they need not agree about what is singular. */
    const bool same = call->info[OURS] == call->info[THEIRS] ||
                      (isnan(scale) && call->info[OURS] >= 0 && call->info[THEIRS] >= 0);
    if (!same || memcmp(ours, theirs, sizeof *ours) != 0)
        fprintf(stderr, "INFO = %d and %d, XERBLA was told %s, %d, %d times and %s, %d, %d times\n",
                call->info[OURS], call->info[THEIRS], ours->name, ours->argument, ours->times,
                theirs->name, theirs->argument, theirs->times);
    REQUIRE(same);
    REQUIRE(memcmp(ours, theirs, sizeof *ours) == 0);
    if (call->info[OURS] == 0 && call->query && !huge && size < 0x1p24F)
        REQUIRE(call->work.after[OURS][0] == size);
    return call->info[OURS] >= 0 && !call->query;
}

/* Ours (rows x cols) is theirs but for roundings, relative to the norm and `floor`: of so many
 * reflectors, and of sums of `length` products, which they make in float32 one after the other. */
static void require_near(const struct array *x, int64_t rows, int64_t reflectors, int64_t length,
                         double floor)
{
    double error = 0;
    if (rows <= 0 || x->cols <= 0 || isnan(scale))
        return;
    for (int64_t j = 0; j < x->cols; j++)
        for (int64_t i = 0; i < rows; i++)
            error +=
                pow((double)x->after[OURS][i + j * x->ld] - x->after[THEIRS][i + j * x->ld], 2);
    const double norm = norm64(rows, x->cols, x->after[THEIRS], x->ld) + floor;
    const double rounding = (double)(reflectors + 10) * 0x1p-21 + (double)length * 0x1p-24;
    REQUIRE(sqrt(error) <= rounding * norm);
}

/* A, factored by us, is still Q R: both times a vector. Q is applied by their routine from `t`, the
 * scale factors of reflectors, or by ours from a T of `tsize` floats. */
static void require_product(const struct array *a, const float *t, int32_t tsize)
{
    static float work[1 << 16];
    const int32_t m = a->rows, n = a->cols, k = m < n ? m : n, one = 1, lwork = 1 << 16;
    if (k <= 0 || isnan(scale) || scale == 0)
        return;
    float *y = new_floats(m);
    double *x = malloc((size_t)n * sizeof *x), error = 0, norm = 0, length = 0;
    int32_t info;
    REQUIRE(x);
    for (int32_t j = 0; j < n; j++)
        x[j] = noise(&random_state);
    for (int32_t i = 0; i < m; i++) {
        double sum = 0;
        for (int32_t j = i; j < n; j++)
            sum += (double)a->after[OURS][i + (int64_t)j * a->ld] * x[j];
        y[i] = (float)(sum / scale);
        length += (double)y[i] * y[i];
    }
    if (tsize)
        sgemqr_("L", "N", &m, &one, &k, a->after[OURS], &a->ld, t, &tsize, y, &m, work, &lwork,
                &info, 1, 1);
    else
        lapack[THEIRS].ormqr("L", "N", &m, &one, &k, a->after[OURS], &a->ld, t, y, &m, work, &lwork,
                             &info, 1, 1);
    REQUIRE(info == 0);
    for (int32_t i = 0; i < m; i++) {
        double sum = 0;
        for (int32_t j = 0; j < n; j++)
            sum += (double)a->before[i + (int64_t)j * a->ld] * x[j];
        error += pow(sum / scale - y[i], 2);
        norm += (double)y[i] * y[i];
    }
    const double rounding = (double)(n + 10) * 0x1p-21 + (double)m * 0x1p-24;
    REQUIRE(fabs(sqrt(norm) - sqrt(length)) <= rounding * sqrt(length));
    REQUIRE(sqrt(error) <= rounding * norm64(m, n, a->before, a->ld) / fabsf(scale));
    free(x);
    free(y);
}

/* ---- the routines ------------------------------------------------------------------------------
 */

/* Where nothing was computed, nothing was written. */
static bool end(struct call *call, struct array *out)
{
    const bool ran = computed(call);
    release(&call->work);
    if (ran)
        require_gaps(out);
    else
        require_same(out);
    return ran;
}

static void geqrf(bool blocked)
{
    struct call call = make_call(blocked);
    const int32_t m = take_size(), n = take_size();
    struct array a = make_matrix(m, n, !call.query), tau = make_vector(m < n ? m : n);
    make_work(&call, n, blocked);
    share(&a);
    share(&tau);
    if (blocked)
        BOTH(&call, geqrf, &m, &n, a.after[side], &a.ld, tau.after[side], work, &call.lwork, info)
    else
        BOTH(&call, geqr2, &m, &n, a.after[side], &a.ld, tau.after[side], work, info)
    if (end(&call, &a))
        require_product(&a, tau.after[OURS], 0);
    release(&a);
    release(&tau);
}

static bool has_room(const struct array *v, int32_t order, int32_t k)
{
    return k > 0 && k <= order && v->ld >= order && v->count >= (int64_t)v->ld * (k - 1) + order;
}

/* V gets k reflectors of that order, and tau their scale factors, if it has room. */
static void make_reflectors(struct array *v, int32_t order, int32_t k, struct array *tau)
{
    int32_t info, lwork = k;
    if (!has_room(v, order, k))
        return;
    float *work = new_floats(k);
    lapack[THEIRS].geqrf(&order, &k, v->before, &v->ld, tau->before, work, &lwork, &info);
    REQUIRE(info == 0);
    free(work);
}

static void orgqr(bool blocked)
{
    struct call call = make_call(blocked);
    const int32_t m = take_size(), n = take_up_to(m), k = take_up_to(n);
    struct array a = make_matrix(m, n, !call.query), tau = make_vector(k);
    make_work(&call, n, blocked);
    make_reflectors(&a, m, k, &tau);
    share(&a);
    share(&tau);
    if (blocked)
        BOTH(&call, orgqr, &m, &n, &k, a.after[side], &a.ld, tau.after[side], work, &call.lwork,
             info)
    else
        BOTH(&call, org2r, &m, &n, &k, a.after[side], &a.ld, tau.after[side], work, info)
    if (end(&call, &a))
        require_near(&a, m, k, m, 0);
    require_same(&tau);
    release(&a);
    release(&tau);
}

/* Q on one side of C. */
struct product {
    char side, trans;
    int32_t m, n, k, order, others;
    struct array v, c;
};

static struct product make_product(bool touched)
{
    struct product p = { .side = "LRlrLRL/"[take_byte(&in) % 8],
                         .trans = "NTntNTNC"[take_byte(&in) % 8] };
    const bool left = p.side == 'L' || p.side == 'l';
    p.m = take_size();
    p.n = take_size();
    p.order = left ? p.m : p.n;
    p.others = left ? p.n : p.m;
    p.k = take_up_to(p.order);
    p.v = make_matrix(p.order, p.k, touched);
    p.c = make_matrix(p.m, p.n, touched);
    return p;
}

static void end_product(struct call *call, struct product *p)
{
    if (end(call, &p->c))
        require_near(&p->c, p->m, p->k, p->order, 0);
    require_same(&p->v);
    release(&p->v);
    release(&p->c);
}

static void ormqr(bool blocked)
{
    struct call call = make_call(blocked);
    struct product p = make_product(!call.query);
    struct array tau = make_vector(p.k);
    make_work(&call, p.others, blocked);
    make_reflectors(&p.v, p.order, p.k, &tau);
    share(&p.v);
    share(&p.c);
    share(&tau);
    if (blocked)
        BOTH(&call, ormqr, &p.side, &p.trans, &p.m, &p.n, &p.k, p.v.after[side], &p.v.ld,
             tau.after[side], p.c.after[side], &p.c.ld, work, &call.lwork, info, 1, 1)
    else
        BOTH(&call, orm2r, &p.side, &p.trans, &p.m, &p.n, &p.k, p.v.after[side], &p.v.ld,
             tau.after[side], p.c.after[side], &p.c.ld, work, info, 1, 1)
    end_product(&call, &p);
    require_same(&tau);
    release(&tau);
}

/* The sizes of T and WORK that side asks for, the best (-1) or the least (-2). */
static void ask_geqr(int side, int32_t m, int32_t n, int32_t which, int32_t *tsize, int32_t *lwork)
{
    const int32_t lda = m > 1 ? m : 1;
    float t[5] = { 0 }, work = 0;
    int32_t info;
    lapack[side].geqr(&m, &n, &work, &lda, t, &which, &work, &which, &info);
    *tsize = info ? 5 : (int32_t)fminf(t[0], 0x1p30F);
    *lwork = info ? 1 : (int32_t)fminf(work, 0x1p30F);
}

static void geqr(void)
{
    struct call call = make_call(true);
    const int32_t m = take_size(), size = take_size(), least = take_byte(&in) % 2 ? -2 : -1;
    const int32_t n = size == INT_MAX ? 1 << 30 : size; /* LAPACK adds to it, in 32 bits */
    struct array a = make_matrix(m, n, !call.query);
    int32_t tsize, lwork;
    ask_geqr(OURS, m, n, least, &tsize, &lwork);
    tsize = call.query ? least : take_least(tsize);
    struct array t = make_vector(tsize < 5 || tsize > most_floats ? 5 : tsize);
    make_work(&call, lwork, true);
    share(&a);
    share(&t);
    BOTH(&call, geqr, &m, &n, a.after[side], &a.ld, t.after[side], &tsize, work, &call.lwork, info)
    call.query |= tsize == -1 || tsize == -2 || call.lwork == -1 || call.lwork == -2;
    const bool query = call.query && call.info[OURS] == 0;
    if (query && !huge && t.after[THEIRS][0] < 0x1p24F)
        REQUIRE(same_bits(t.after[OURS], t.after[THEIRS], 3));
    if (end(&call, &a))
        require_product(&a, t.after[OURS], tsize);
    release(&a);
    release(&t);
}

/* The Q that one side's SGEQR made is applied by both. */
static void gemqr(void)
{
    struct call call = make_call(true);
    struct product p = make_product(!call.query);
    const int maker = take_byte(&in) % SIDES;
    int32_t tsize, lwork, info;
    ask_geqr(maker, p.order, p.k, -1, &tsize, &lwork);
    tsize = tsize < 5 || tsize > most_floats ? 5 : tsize; /* V has no room then, either */
    struct array t = make_vector(tsize);
    memset(t.before, 0, (size_t)t.count * sizeof(float));
    if (has_room(&p.v, p.order, p.k)) {
        float *work = new_floats(lwork);
        lapack[maker].geqr(&p.order, &p.k, p.v.before, &p.v.ld, t.before, &tsize, work, &lwork,
                           &info);
        REQUIRE(info == 0);
        free(work);
    }
    tsize = take_byte(&in) < 240 ? tsize : take_size();
    const int64_t rows = p.side == 'L' || p.side == 'l' ? p.n : (int64_t)t.before[1];
    make_work(&call, (int64_t)t.before[2] * rows, true);
    share(&p.v);
    share(&p.c);
    share(&t);
    /* LAPACK's SGEMQR may write behind the WORK that it asks for (lapack/sgeqr.c). */
    static float room[most_floats];
    BOTH(&call, gemqr, &p.side, &p.trans, &p.m, &p.n, &p.k, p.v.after[side], &p.v.ld, t.after[side],
         &tsize, p.c.after[side], &p.c.ld,
         call.query || (side == OURS && maker == OURS) ? work : room, &call.lwork, info, 1, 1)
    end_product(&call, &p);
    require_same(&t);
    release(&t);
}

static void gels(void)
{
    struct call call = make_call(true);
    const char trans = "NTntNTNC"[take_byte(&in) % 8];
    const int32_t m = take_size(), n = take_size(), nrhs = take_size();
    const int32_t k = m < n ? m : n, longest = m > n ? m : n;
    struct array a = make_matrix(m, n, !call.query), b = make_matrix(longest, nrhs, !call.query);
    make_work(&call, (int64_t)k + (k > nrhs ? k : nrhs), true);
    /* Perhaps singular. */
    const int zero = take_byte(&in);
    for (int64_t i = 0; a.count > 1 && zero >= 192 && i < longest; i++)
        a.before[m >= n ? i + zero % n * (int64_t)a.ld : zero % m + i * a.ld] = 0;
    share(&a);
    share(&b);
    BOTH(&call, gels, &trans, &m, &n, &nrhs, a.after[side], &a.ld, b.after[side], &b.ld, work,
         &call.lwork, info, 1)
    const double norm =
        b.count > 1 && scale != 0 ? norm64(longest, nrhs, b.before, b.ld) / fabsf(scale) : 0;
    if (end(&call, &b) && call.info[OURS] == 0)
        require_near(&b, trans == 'N' || trans == 'n' ? n : m, k, longest, norm);
    require_gaps(&a);
    release(&a);
    release(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    begin(data, size);
    const uint8_t routine = take_byte(&in);
    const bool blocked = routine & 8;
    switch (routine % 6) {
    case 0:
        geqrf(blocked);
        break;
    case 1:
        orgqr(blocked);
        break;
    case 2:
        ormqr(blocked);
        break;
    case 3:
        geqr();
        break;
    case 4:
        gemqr();
        break;
    default:
        gels();
    }
    return 0;
}
