/* Updating a window's QR factorisation against factoring it again. */
#include <inttypes.h>

#include "app/bench/platform.h"
#include <backdrop/qr.h>
#include <backdrop/qr_update.h>

/* Columns beyond the window's that enter in turn: a window holds no column twice. */
enum { spare = 37, block = 10 };

struct update_case;

/* A factorisation that columns are removed from and inserted into, back and forth. */
struct edit {
    struct update_case *c;
    int64_t p, from, to; /* p columns are removed from column `from` on, and inserted before `to` */
    struct bd_qr_factors f; /* of n columns, or n - p */
    struct bd_matrix u;     /* what is inserted, a view of the pool */
    int64_t gone;           /* columns of time that have left; -1: the same columns come back */
};

struct update_case {
    int64_t m, n;
    struct bd_bench *bench;
    struct bd_bench_peer_qr peer;
    struct bd_qr_update *update;
    struct bd_matrix pool;   /* m x (n + spare): column t of time is column t mod (n + spare) */
    int64_t first;           /* time of the window's first column */
    struct bd_qr_factors f;  /* of the window: columns first .. first + n - 1 of time */
    struct edit ends;        /* the first column goes, a last one comes */
    struct edit middle;      /* columns in the middle go and come back: the window stays the same */
    struct bd_matrix window; /* what the peers overwrite, and what is checked against */
    int slides;              /* of a run of many */
};

/* `cols` columns of the pool from one on; they must not wrap. */
static struct bd_matrix columns(const struct update_case *c, int64_t from, int64_t cols)
{
    struct bd_matrix view = c->pool;
    view.data = (float *)view.data + from * view.ld;
    view.cols = cols;
    return view;
}

/* The last column of the window whose first one is that of time `first`. */
static struct bd_matrix last_column(const struct update_case *c, int64_t first)
{
    return columns(c, (first + c->n - 1) % (c->n + spare), 1);
}

static enum bd_status run_slide(void *user)
{
    struct update_case *c = user;
    struct bd_matrix u = last_column(c, c->first + 1);
    c->first++;
    return bd_qr_slide(c->update, &c->f, &u, NULL);
}

static enum bd_status run_slides(void *user)
{
    struct update_case *c = user;
    enum bd_status status = BD_OK;
    for (int i = 0; i < c->slides && !status; i++)
        status = run_slide(c);
    return status;
}

/* The window as it is now. */
static enum bd_status gather_window(void *user)
{
    struct update_case *c = user;
    size_t bytes = (size_t)c->m * sizeof(float);
    int64_t period = c->n + spare;
    enum bd_status status = BD_OK;
    for (int64_t j = 0; j < c->n && !status; j++)
        status = c->bench->platform->copy(
            c->bench, (float *)c->window.data + j * c->window.ld,
            (float *)c->pool.data + (c->first + j) % period * c->pool.ld, bytes);
    return status;
}

static enum bd_status run_factor(void *user)
{
    struct update_case *c = user;
    const struct bd_bench_platform *p = c->bench->platform;
    float *a = c->window.data;
    enum bd_status status = p->geqrf(&c->peer, c->m, c->n, a, c->window.ld);
    BD_TRY(p->orgqr(&c->peer, c->m, c->n, c->n, a, c->window.ld));
    return status;
}

/* Removing and inserting leave each other's starting point. */
static enum bd_status run_remove(void *user)
{
    struct edit *e = user;
    if (e->gone >= 0)
        e->gone++;
    return bd_qr_remove_columns(e->c->update, &e->f, e->from, e->p, NULL);
}

static enum bd_status run_insert(void *user)
{
    struct edit *e = user;
    const struct update_case *c = e->c;
    if (e->gone >= 0)
        e->u = last_column(c, e->gone);
    return bd_qr_insert_columns(c->update, &e->f, e->to, &e->u, NULL);
}

static enum bd_status prepare_remove(void *user)
{
    struct edit *e = user;
    return e->f.r.cols < e->c->n ? run_insert(e) : BD_OK;
}

static enum bd_status prepare_insert(void *user)
{
    struct edit *e = user;
    return e->f.r.cols == e->c->n ? run_remove(e) : BD_OK;
}

static enum bd_status factor(struct update_case *c, struct bd_matrix *q, struct bd_matrix *r)
{
    struct bd_qr *qr = NULL;
    struct bd_matrix window = columns(c, 0, c->n);
    enum bd_status status = bd_qr_create(&qr, c->bench->backend, c->m, c->n, NULL);
    BD_TRY(bd_qr_thin(qr, &window, q, r));
    BD_TRY(bd_backend_sync(c->bench->backend));
    bd_qr_destroy(&qr);
    return status;
}

static void close_case(struct update_case *c)
{
    bd_qr_update_destroy(&c->update);
    bd_bench_release(c->bench, NULL);
}

static enum bd_status open_case(struct update_case *c, struct bd_bench *bench, int64_t m, int64_t n)
{
    *c = (struct update_case){ .m = m, .n = n, .bench = bench };
    struct bd_matrix *const tall[] = { &c->f.q, &c->ends.f.q, &c->middle.f.q, &c->window };
    struct bd_matrix *const small[] = { &c->f.r, &c->ends.f.r, &c->middle.f.r };
    const struct bd_qr_update_shape shape = { .max_rows = m,
                                              .max_cols = n,
                                              .max_block = bench->gpu ? block : 1 };
    enum bd_status status = bd_bench_matrix(bench, &c->pool, m, n + spare, BD_F32);
    BD_TRY(bd_bench_fill_there(bench, c->pool.data, c->pool.ld * (n + spare), 3));
    for (int i = 0; i < 4; i++)
        BD_TRY(bd_bench_matrix(bench, tall[i], m, n, BD_F32));
    for (int i = 0; i < 3; i++)
        BD_TRY(bd_bench_tight(bench, small[i], n, n, BD_F32));
    for (int i = 0; i < 3; i++)
        BD_TRY(factor(c, tall[i], small[i]));
    c->ends = (struct edit){ c, 1, 0, n - 1, c->ends.f, { 0 }, 0 };
    const int64_t at = (n - block) / 2;
    c->middle = (struct edit){ c, block, at, at, c->middle.f, columns(c, at, block), -1 };
    BD_TRY(bd_qr_update_create(&c->update, bench->backend, &shape));
    if (bench->has_peers)
        BD_TRY(bd_bench_peer_qr_create(&c->peer, bench, m, n, n));
    return status;
}

/* Is Q R the window from column `first` of time on? */
static enum bd_status check(struct update_case *c, int64_t first, const struct bd_qr_factors *f,
                            struct bd_bench_row *row)
{
    int64_t now = c->first;
    c->first = first;
    enum bd_status status = gather_window(c);
    c->first = now;
    BD_TRY(c->bench->platform->check(c->bench, &row->residual, &row->orthogonality, c->window.data,
                                     f->q.data, f->r.data, c->m, c->n, c->window.ld));
    return status;
}

/* The first column gone and a last one there, as often as the timing wanted. */
static enum bd_status check_ends(struct update_case *c, struct bd_bench_row *row)
{
    enum bd_status status = prepare_remove(&c->ends); /* whole again */
    BD_TRY(check(c, c->ends.gone, &c->ends.f, row));
    return status;
}

/* Of one removal and one insertion: what the timing left has seen thousands. */
static enum bd_status check_middle(struct update_case *c, struct bd_bench_row *row)
{
    struct edit *e = &c->middle;
    enum bd_status status = prepare_remove(e); /* whole again */
    BD_TRY(factor(c, &e->f.q, &e->f.r));
    BD_TRY(run_remove(e));
    BD_TRY(run_insert(e));
    BD_TRY(check(c, 0, &e->f, row));
    return status;
}

enum { slide, remove_first, append, remove_block, insert_block, refactor, task_count };

/* Floors: Q is read and written once where columns are removed, from the first of them on; read
 * whole, to make new columns orthogonal to it, and written from them on where columns are
 * inserted. A slide does both in one pass. Four operations an element for each column that comes,
 * two for each that goes. */
static const struct {
    const char *name, *method;
    double reads, writes, operations; /* of m n */
} kinds[] = {
    [slide] = { "slide by one column", "QR slide", 1, 1, 6 },
    [remove_first] = { "remove the first column", "QR remove", 1, 1, 2 },
    [append] = { "append a column", "QR insert", 1, 0, 4 },
    [remove_block] = { "remove 10 in the middle", "QR remove", 0.5, 0.5, 2.0 * block / 2 },
    [insert_block] = { "insert 10 in the middle", "QR insert", 1, 0.5, 4.0 * block },
};

/* The CPU's case has no size in its name: it has one shape only. */
static void name_row(const struct update_case *c, struct bd_bench_row *row, const char *name)
{
    int used = snprintf(row->name, sizeof row->name, "%.24s", name);
    if (c->bench->gpu)
        snprintf(row->name + used, sizeof row->name - (size_t)used, ", %" PRId64 "x%" PRId64, c->m,
                 c->n);
}

static enum bd_status compare(struct update_case *c)
{
    struct bd_bench *bench = c->bench;
    const bool gpu = bench->gpu, peers = bench->has_peers;
    const char *peer = gpu ? "cuSOLVER geqrf + orgqr" : "sgeqrf + sorgqr";
    struct bd_bench_task tasks[task_count] = {
        [slide] = { NULL, run_slide, c, -1 },
        [remove_first] = { prepare_remove, run_remove, &c->ends, -1 },
        [append] = { prepare_insert, run_insert, &c->ends, -1 },
        [remove_block] = { prepare_remove, gpu ? run_remove : NULL, &c->middle, -1 },
        [insert_block] = { prepare_insert, gpu ? run_insert : NULL, &c->middle, -1 },
        [refactor] = { gather_window, peers ? run_factor : NULL, c, -1 },
    };
    enum bd_status status = bench->platform->time(bench, tasks, task_count, gpu ? 9 : 15);
    for (int t = 0; t < refactor && !status; t++) {
        struct bd_bench_row row = bd_bench_row_begin("update", c->m, c->n, kinds[t].method,
                                                     peers ? peer : "peer not found");
        double elements = (double)(c->m * c->n);
        if (!tasks[t].run)
            continue;
        name_row(c, &row, kinds[t].name);
        row.ms = tasks[t].ms;
        row.peer_ms = tasks[refactor].ms;
        row.floor_ms = bd_bench_floor(bench, 4 * (kinds[t].reads + kinds[t].writes) * elements,
                                      kinds[t].operations * elements);
        if (t == slide)
            status = check(c, c->first, &c->f, &row);
        if (t == append)
            status = check_ends(c, &row);
        if (t == insert_block)
            status = check_middle(c, &row);
        BD_TRY(bd_bench_add(bench, &row));
    }
    return status;
}

/* Many slides from a fresh factorisation: how far Q and R drift from the window. */
static enum bd_status drift(struct update_case *c, int slides)
{
    struct bd_bench *bench = c->bench;
    struct bd_bench_row row = bd_bench_row_begin("update", c->m, c->n, "QR slide", NULL);
    struct bd_bench_task task = { NULL, run_slides, c, -1 };
    char name[32];
    c->first = 0;
    c->slides = slides;
    enum bd_status status = factor(c, &c->f.q, &c->f.r);
    BD_TRY(bench->platform->time_once(bench, &task, &row.ms));
    BD_TRY(check(c, c->first, &c->f, &row));
    snprintf(name, sizeof name, "after %d slides", slides);
    name_row(c, &row, name);
    row.ms /= slides;
    row.floor_ms = bd_bench_floor(bench, 8 * (double)(c->m * c->n), 0);
    BD_TRY(bd_bench_add(bench, &row));
    return status;
}

enum bd_status bd_bench_update(struct bd_bench *bench)
{
    static const struct {
        int64_t m, n;
        int slides; /* of the drift; 0: none */
        bool gpu, quick;
    } shapes[] = { { 20000, 50, 0, false, true },
                   { 110592, 100, 0, false, false },
                   { 20000, 50, 1000, true, true },
                   { 110592, 100, 10000, true, false },
                   { 2073600, 100, 0, true, false } };
    enum bd_status status = BD_OK;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes && !status; i++) {
        struct update_case c;
        if (shapes[i].quick != bench->options->quick || shapes[i].gpu != (bench->gpu != NULL))
            continue;
        status = open_case(&c, bench, shapes[i].m, shapes[i].n);
        BD_TRY(compare(&c));
        if (shapes[i].slides)
            BD_TRY(drift(&c, shapes[i].slides));
        close_case(&c);
    }
    return status;
}
