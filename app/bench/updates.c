/* Updating a QR factorisation against factoring again, over the tables of Andrew and Dingle. */
#include <inttypes.h>

#include "app/bench/cells.h"
#include "app/bench/change.h"

/* A way is run once to warm up and then until it has taken so many milliseconds, 15 times at most;
 * if the first run takes as long, it is the measurement, but for the first problem of all, in which
 * libraries load their kernels. */
static const double cpu_task_ms = 250, gpu_task_ms = 100;
enum { most_runs = 15 };

/* Medians of tasks that take turns; those without `run`, and those that the backend does not have,
 * are left at ms = -1. */
enum { most_tasks = 4 };
static enum bd_status time_tasks(struct bd_bench *bench, struct bd_bench_task *tasks, int count,
                                 bool cold)
{
    double times[most_tasks][most_runs] = { { 0 } }, taken[most_tasks] = { 0 };
    const double enough = bench->gpu ? gpu_task_ms : cpu_task_ms;
    int runs[most_tasks] = { 0 };
    for (int t = 0; t < count; t++)
        tasks[t].ms = -1;
    for (int i = -1; i < most_runs; i++)
        for (int t = 0; t < count; t++) {
            double ms = 0;
            if (!tasks[t].run || taken[t] >= enough)
                continue;
            enum bd_status status = bench->platform->time_once(bench, &tasks[t], &ms);
            if (status == BD_ERROR_UNSUPPORTED) {
                tasks[t].run = NULL;
                continue;
            }
            if (status)
                return status;
            if (i < 0 && (cold || ms < enough))
                continue;
            times[t][runs[t]++] = ms;
            taken[t] += ms;
        }
    for (int t = 0; t < count; t++)
        if (tasks[t].run)
            tasks[t].ms = bd_bench_median(times[t], runs[t]);
    return BD_OK;
}

/* Ways of factoring again. */
enum { again_solver, again_own, again_solver_q, again_own_q, again_count };

struct table {
    int number;
    int cells, won, won_q; /* measured; at least as fast as factoring again */
    double best, best_q;   /* the highest speed-up */
    int paper_won;
    double paper_best;
};

struct grid {
    struct bd_bench *bench;
    struct bd_bench_change change;
    struct bd_bench_cell open; /* the problem that `change` holds; table 0: none */
    int64_t again_m, again_n;
    bool warm; /* everything has run once */
    double again_ms[again_count];
    struct table table;
};

static const char *again_name(const struct grid *g, int way)
{
    bool with_q = way == again_solver_q || way == again_own_q;
    if (way == again_own || way == again_own_q)
        return with_q ? "bd_qr, Q^T b, x, full Q" : "bd_qr, Q^T b, x";
    return bd_bench_solver_name(g->bench, with_q);
}

/* Of the ways with or without Q the fastest; -1: none was measured. */
static int fastest_again(const struct grid *g, bool with_q)
{
    int solver = with_q ? again_solver_q : again_solver, own = with_q ? again_own_q : again_own;
    double solver_ms = g->again_ms[solver], own_ms = g->again_ms[own];
    if (solver_ms < 0 && own_ms < 0)
        return -1;
    return solver_ms >= 0 && (own_ms < 0 || solver_ms <= own_ms) ? solver : own;
}

/* Times the ways to factor the problem after the change again, unless the last cell had the same
 * problem. */
static enum bd_status time_again(struct grid *g, const struct bd_bench_cell *c)
{
    struct bd_bench_change *change = &g->change;
    bool peer = bd_bench_solver_name(g->bench, false) != NULL;
    if (g->again_m == change->m && g->again_n == change->n)
        return BD_OK;
    struct bd_bench_task tasks[again_count] = {
        [again_own] = { bd_bench_change_load, bd_bench_change_own, change, -1 },
    };
    if (c->with_q)
        tasks[again_own_q] =
            (struct bd_bench_task){ bd_bench_change_load, bd_bench_change_own_q, change, -1 };
    if (peer)
        tasks[again_solver] =
            (struct bd_bench_task){ bd_bench_change_load, bd_bench_change_solver, change, -1 };
    if (peer && c->with_q)
        tasks[again_solver_q] =
            (struct bd_bench_task){ bd_bench_change_load_q, bd_bench_change_solver_q, change, -1 };
    enum bd_status status = time_tasks(g->bench, tasks, again_count, !g->warm);
    for (int t = 0; t < again_count && !status; t++) {
        g->again_ms[t] = tasks[t].ms;
        if (tasks[t].ms < 0)
            continue;
        struct bd_bench_row row =
            bd_bench_row_begin("updates", change->m, change->n, again_name(g, t), NULL);
        snprintf(row.name, sizeof row.name, "table %d: anew %" PRId64 "x%" PRId64,
                 c->published.table, change->m, change->n);
        row.ms = tasks[t].ms;
        status = bd_bench_add(g->bench, &row);
    }
    g->again_m = change->m;
    g->again_n = change->n;
    return status;
}

/* A row for one of the two comparisons: with solving again without Q, as the paper has it, or with
 * the full Q that the update keeps. */
static enum bd_status add_row(struct grid *g, const struct bd_bench_cell *c,
                              const struct bd_bench_row *row, bool peer_with_q)
{
    struct bd_bench_row it = *row;
    struct table *table = &g->table;
    int peer = fastest_again(g, peer_with_q);
    if (peer >= 0 && it.ms >= 0) {
        snprintf(it.peer, sizeof it.peer, "%s", again_name(g, peer));
        it.peer_ms = g->again_ms[peer];
        double ratio = it.peer_ms / it.ms, *best = peer_with_q ? &table->best_q : &table->best;
        *(peer_with_q ? &table->won_q : &table->won) += ratio >= 1;
        *best = ratio > *best ? ratio : *best;
    }
    if (!peer_with_q) {
        const struct bd_published_update *u = &c->published;
        bd_bench_extra(&it, "paper_ms", u->update_ms);
        bd_bench_extra(&it, "paper_peer_ms", u->full_ms);
        bd_bench_extra(&it, "paper_ratio", (double)u->full_ms / u->update_ms);
    }
    return bd_bench_add(g->bench, &it);
}

static enum bd_status measure_cell(struct grid *g, const struct bd_bench_cell *c, bool checked)
{
    struct bd_bench_change *change = &g->change;
    struct bd_bench_row row =
        bd_bench_row_begin("updates", c->m, c->n, "the backend has none", NULL);
    bool refactor = false;
    enum bd_status status = bd_bench_change_set(change, c->k, c->p);
    BD_TRY(time_again(g, c));
    if (!status && change->update)
        status = bd_bench_change_choice(change, &refactor);
    struct bd_bench_task tasks[2] = { { bd_bench_change_restore, NULL, change, -1 },
                                      { bd_bench_change_restore, NULL, change, -1 } };
    if (change->update)
        tasks[0].run = bd_bench_change_update;
    if (change->update && refactor)
        tasks[1].run = bd_bench_change_choose;
    BD_TRY(time_tasks(g->bench, tasks, 2, !g->warm));
    g->warm = true;
    if (status)
        return status;
    refactor = refactor && tasks[1].ms >= 0;
    row.ms = tasks[refactor].ms;
    row.floor_ms = bd_bench_cell_floor(g->bench, c);
    snprintf(row.name, sizeof row.name,
             "table %d: %" PRId64 "x%" PRId64 " k=%" PRId64 " p=%" PRId64, c->published.table, c->m,
             c->n, c->k, c->p);
    if (row.ms >= 0) {
        snprintf(row.method, sizeof row.method, "%s%s", refactor ? "anew (model)" : "update",
                 c->with_q ? " Q R d x" : " R d x");
        g->table.cells++;
    }
    if (refactor)
        bd_bench_extra(&row, "update_ms", tasks[0].ms);
    if (row.ms >= 0 && checked)
        status = bd_bench_change_check(change, &row);
    BD_TRY(add_row(g, c, &row, false));
    if (c->with_q && row.ms >= 0)
        BD_TRY(add_row(g, c, &row, true));
    g->table.paper_won += c->published.full_ms >= c->published.update_ms;
    double paper = (double)c->published.full_ms / c->published.update_ms;
    g->table.paper_best = paper > g->table.paper_best ? paper : g->table.paper_best;
    return status;
}

/* Opens the problem of a cell, with room for the largest change to it in its table. */
static enum bd_status open_problem(struct grid *g, const struct bd_bench_cell *c, int64_t scale)
{
    struct bd_bench_change_shape shape = { c->published.kind, c->m, c->n, c->p, c->with_q };
    struct bd_published_update published;
    for (int i = 0; bd_published_update(i, &published); i++) {
        struct bd_bench_cell other = bd_bench_cell_scaled(&published, scale);
        if (other.published.table == c->published.table && bd_bench_cell_same_problem(c, &other))
            shape.most_p = other.p > shape.most_p ? other.p : shape.most_p;
    }
    if (g->open.published.table)
        bd_bench_change_close(&g->change);
    g->again_m = g->again_n = 0;
    g->open = *c;
    return bd_bench_change_open(&g->change, g->bench, &shape);
}

static void print_summary(const struct grid *g, bool with_q, int published)
{
    const struct table *t = &g->table;
    if (!t->number || g->bench->options->quiet)
        return;
    printf("# table %d: at least as fast as solving again in %d of %d cells, at best %.2f times",
           t->number, t->won, t->cells, t->best);
    if (with_q)
        printf("; as factoring again with Q in %d, at best %.2f", t->won_q, t->best_q);
    printf("; the paper: %d of %d, at best %.2f\n", t->paper_won, published, t->paper_best);
    fflush(stdout);
}

enum bd_status bd_bench_updates(struct bd_bench *bench)
{
    struct grid g = { .bench = bench };
    bool wanted[bd_bench_table_count];
    enum bd_status status = bd_bench_choose_tables(bench->part, wanted);
    if (status)
        return status;
    int64_t scale = bd_bench_choose_scale(bench, wanted);
    if (!bench->options->quiet)
        printf("# updates: Andrew and Dingle's tables%s%.0" PRId64 "; with Q it is m x m\n",
               scale > 1 ? ", their sizes divided by " : " at their sizes", scale > 1 ? scale : 0);
    int published = 0;
    struct bd_published_update update;
    for (int i = 0; bd_published_update(i, &update) && !status; i++) {
        struct bd_bench_cell c = bd_bench_cell_scaled(&update, scale);
        if (!wanted[c.published.table])
            continue;
        bool first = c.published.table != g.table.number;
        if (first) {
            print_summary(&g, g.open.with_q, published);
            g.table = (struct table){ .number = c.published.table };
            published = 0;
        }
        if (!g.open.published.table || first || !bd_bench_cell_same_problem(&g.open, &c))
            status = open_problem(&g, &c, scale);
        BD_TRY(measure_cell(&g, &c, first));
        published++;
    }
    if (!status)
        print_summary(&g, g.open.with_q, published);
    if (g.open.published.table)
        bd_bench_change_close(&g.change);
    return status;
}
