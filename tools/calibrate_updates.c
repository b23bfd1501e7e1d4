/* Times QR updates and factoring anew on this machine, fits the model of
 * linalg/shared/update_cost.h to the times, and prints the table of its coefficients as C, for
 * linalg/cpu/update/costs.c or gpu/update/costs.c:
 *
 *     calibrate_updates BACKEND [THREADS [SCALE...]] > table.c
 *
 * THREADS is the cpu backend's, 0 (all cores) by default; with 1, and OPENBLAS_NUM_THREADS=1 in the
 * environment, processor time is taken, which a busy machine disturbs little. SCALE (1) multiplies
 * the sizes of the matrices; of several all sizes are measured: 2 and 5 suit a large GPU. The fit
 * minimises the squares of relative errors over coefficients >= 0; how good it is goes to stderr.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "linalg/shared/update_cost.h"
#include "linalg/shared/update_ops.h"
#include "tools/update_samples.h"

static bool up_to_a_group(const struct bd_qr_change *change, enum bd_cost_form form)
{
    (void)form;
    return change->p <= (int64_t)bd_cost_group;
}

/* What is few: as the backend has it, where it has a table already. */
static bool (*few)(const struct bd_qr_change *, enum bd_cost_form) = up_to_a_group;

static int regime_of(const struct update_sample *s)
{
    if (s->regime >= 0)
        return s->regime;
    return few(&s->change, s->form) ? 0 : 1;
}

static const char *const kind_names[] = { "insert columns", "remove columns", "insert rows",
                                          "remove rows", "factor" };

/* Seconds that do not matter: without them, changes that hardly do anything would decide. */
static const double nothing = 1e-5;

enum { most_terms = bd_cost_update_terms };

struct fit {
    int rows, terms;
    double x[update_samples_most][most_terms]; /* terms / (seconds + nothing) */
    double y[update_samples_most];             /* what is wanted of their sum */
    double scale[most_terms];
    const struct update_sample *of[update_samples_most];
};

/* Least squares over c >= 0 by one coefficient after another, until nothing moves. */
static void solve(struct fit *fit, double *c)
{
    double gram[most_terms][most_terms] = { { 0 } }, right[most_terms] = { 0 };
    for (int j = 0; j < fit->terms; j++) {
        double square = 0;
        for (int i = 0; i < fit->rows; i++)
            square += fit->x[i][j] * fit->x[i][j];
        fit->scale[j] = square > 0 ? 1 / sqrt(square) : 0;
        c[j] = 0;
    }
    for (int i = 0; i < fit->rows; i++)
        for (int j = 0; j < fit->terms; j++) {
            right[j] += fit->x[i][j] * fit->scale[j] * fit->y[i];
            for (int l = 0; l < fit->terms; l++)
                gram[j][l] += fit->x[i][j] * fit->scale[j] * fit->x[i][l] * fit->scale[l];
        }
    for (int round = 0; round < 200000; round++) {
        double moved = 0;
        for (int j = 0; j < fit->terms; j++) {
            double rest = right[j];
            for (int l = 0; l < fit->terms; l++)
                rest -= l == j ? 0 : gram[j][l] * c[l];
            double value = gram[j][j] > 0 && rest > 0 ? rest / gram[j][j] : 0;
            moved = fmax(moved, fabs(value - c[j]));
            c[j] = value;
        }
        if (moved < 1e-9)
            break;
    }
    for (int j = 0; j < fit->terms; j++)
        c[j] *= fit->scale[j];
}

/* Ends a line about the worst sample, or about none. */
static void tell_sample(const struct update_sample *s)
{
    if (s)
        fprintf(stderr, " (%lld x %lld, k = %lld, p = %lld: %.3g s)", (long long)s->change.m,
                (long long)s->change.n, (long long)s->change.k, (long long)s->change.p, s->seconds);
    fputc('\n', stderr);
}

static void fit_samples(const struct update_samples *samples, int kind, enum bd_cost_form form,
                        int regime, double *coefficients)
{
    static struct fit fit;
    fit.rows = 0;
    fit.terms = kind == update_factor_kind ? (int)bd_cost_factor_terms : (int)bd_cost_update_terms;
    for (int i = 0; i < samples->count; i++) {
        const struct update_sample *s = &samples->list[i];
        if (s->kind != kind || s->form != form ||
            (kind != update_factor_kind && regime_of(s) != regime))
            continue;
        double terms[most_terms] = { 0 };
        if (kind == update_factor_kind)
            bd_cost_factor(s->change.m, s->change.n, form, terms);
        else
            bd_cost_update(&s->change, form, regime, terms);
        for (int j = 0; j < fit.terms; j++)
            fit.x[fit.rows][j] = terms[j] / (s->seconds + nothing);
        fit.y[fit.rows] = s->seconds / (s->seconds + nothing);
        fit.of[fit.rows++] = s;
    }
    solve(&fit, coefficients);
    double worst = 1, sum = 0;
    const struct update_sample *bad = NULL;
    for (int i = 0; i < fit.rows; i++) {
        double ratio = 1 - fit.y[i]; /* with `nothing` added to both */
        for (int j = 0; j < fit.terms; j++)
            ratio += fit.x[i][j] * coefficients[j];
        ratio = ratio > 1 ? ratio : 1 / ratio;
        if (ratio > worst) {
            worst = ratio;
            bad = fit.of[i];
        }
        sum += ratio;
    }
    if (fit.rows)
        fprintf(stderr, "%s, %s, %s: %d samples, the model is off by %.2f on average, %.2f at most",
                kind_names[kind], update_form_names[form], regime ? "many" : "few", fit.rows,
                sum / fit.rows, worst);
    if (fit.rows)
        tell_sample(bad);
}

/* --- telling --- */

/* Indented lines of five numbers. */
static void print_values(const char *indent, const double *values, int count)
{
    printf("%s{ ", indent);
    for (int i = 0; i < count; i++) {
        if (values[i] > 1e-18) /* less than a billionth of a cycle is rounding of the fit */
            printf("%.3e", values[i]);
        else
            printf("0");
        if (i + 1 < count)
            printf("%s", (i + 1) % 5 ? ", " : ",\n");
        if (i + 1 < count && (i + 1) % 5 == 0)
            printf("%s  ", indent);
    }
    printf(" }");
}

/* All fits. */
static void fit_table(const struct update_samples *samples, struct bd_qr_update_costs *table)
{
    for (int kind = 0; kind < bd_cost_kinds; kind++)
        for (int form = 0; form < bd_cost_forms; form++)
            for (int regime = 0; regime < bd_cost_regimes; regime++)
                fit_samples(samples, kind, (enum bd_cost_form)form, regime,
                            table->update[kind][form][regime]);
    for (int form = 0; form < bd_cost_factor_forms; form++)
        fit_samples(samples, update_factor_kind, (enum bd_cost_form)form, 0, table->factor[form]);
}

static bool same_change(const struct update_sample *a, const struct update_sample *b)
{
    const struct bd_qr_change *x = &a->change, *y = &b->change;
    return a->kind == b->kind && a->form == b->form && x->m == y->m && x->n == y->n &&
           x->k == y->k && x->p == y->p;
}

/* The other regime's sample of the same change, or NULL. */
static const struct update_sample *other_regime(const struct update_samples *samples,
                                                const struct update_sample *s)
{
    for (int i = 0; i < samples->count; i++)
        if (samples->list[i].regime == 1 - s->regime && same_change(&samples->list[i], s))
            return &samples->list[i];
    return NULL;
}

/* Whether the model takes the faster regime where both have been timed. */
static void tell_choices(const struct update_samples *samples,
                         const struct bd_qr_update_costs *table)
{
    int choices = 0, slower = 0;
    double worst = 1, sum = 0;
    const struct update_sample *bad = NULL;
    for (int i = 0; i < samples->count; i++) {
        const struct update_sample *few_s = &samples->list[i], *many_s;
        if (few_s->regime != 0 || !(many_s = other_regime(samples, few_s)))
            continue;
        const double as_few = bd_cost_update_seconds(table, &few_s->change, few_s->form, 0),
                     as_many = bd_cost_update_seconds(table, &few_s->change, few_s->form, 1);
        double ratio =
            as_few <= as_many ? few_s->seconds / many_s->seconds : many_s->seconds / few_s->seconds;
        choices++;
        slower += ratio > 1.1;
        sum += ratio > 1 ? ratio : 1;
        if (ratio > worst) {
            worst = ratio;
            bad = few_s;
        }
    }
    if (!choices)
        return;
    fprintf(stderr,
            "of %d choices between few and many %d are slower by a tenth or more, by %.2f on "
            "average, %.2f at most",
            choices, slower, sum / choices, worst);
    tell_sample(bad);
}

static void print_table(const struct bd_qr_update_costs *table, struct bd_backend *backend,
                        const char *name)
{
    static const char *const kinds[] = { "BD_QR_INSERT_COLUMNS", "BD_QR_REMOVE_COLUMNS",
                                         "BD_QR_INSERT_ROWS", "BD_QR_REMOVE_ROWS" };
    static const char *const forms[] = { "bd_cost_thin", "bd_cost_full", "bd_cost_no_q",
                                         "bd_cost_no_q_d" };
    printf("/* Seconds a term of linalg/shared/update_cost.h: printed by calibrate_updates.c. */\n"
           "#include \"%s\"\n\n"
           "const struct bd_qr_update_costs bd_%s_update_costs = {\n"
           "    .machine = \"%s\",\n    .few = bd_%s_update_few,\n    .update = {\n",
           strcmp(name, "cpu") == 0 ? "linalg/cpu/update/update.h" : "gpu/update/update.h", name,
           bd_backend_description(backend), name);
    for (int kind = 0; kind < bd_cost_kinds; kind++) {
        printf("        [%s] = {\n", kinds[kind]);
        const bool needs_q = kind == BD_QR_INSERT_COLUMNS || kind == BD_QR_REMOVE_ROWS;
        for (int form = 0; form < (needs_q ? (int)bd_cost_no_q : (int)bd_cost_forms); form++) {
            printf("            [%s] = {\n", forms[form]);
            for (int regime = 0; regime < bd_cost_regimes; regime++) {
                print_values("                ", table->update[kind][form][regime],
                             bd_cost_update_terms);
                printf(",\n");
            }
            printf("            },\n");
        }
        printf("        },\n");
    }
    printf("    },\n    .factor = {\n");
    for (int form = 0; form < bd_cost_factor_forms; form++) {
        printf("        [%s] =\n", forms[form]);
        print_values("            ", table->factor[form], bd_cost_factor_terms);
        printf(",\n");
    }
    printf("    },\n};\n");
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: calibrate_updates BACKEND [THREADS [SCALE...]] > table.c\n");
        return 1;
    }
    int threads = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0;
    const bool alone = threads == 1 && strcmp(argv[1], "cpu") == 0;
    static struct update_samples samples;
    struct bd_backend *backend;
    enum bd_status status = bd_backend_open(&backend, argv[1], threads);
    if (status != BD_OK) {
        fprintf(stderr, "calibrate_updates: %s\n", bd_error_detail());
        return 1;
    }
    if (backend->ops->update->costs)
        few = backend->ops->update->costs->few;
    for (int i = 3; status == BD_OK && (i < argc || i == 3); i++) {
        int64_t scale = i < argc ? strtol(argv[i], NULL, 10) : 1;
        status = scale < 1
                     ? bd_fail(BD_ERROR_ARGUMENT, "SCALE %s: a number from 1 on is wanted", argv[i])
                     : update_samples_measure(backend, scale, alone, &samples);
    }
    if (status == BD_OK) {
        static struct bd_qr_update_costs table;
        fit_table(&samples, &table);
        tell_choices(&samples, &table);
        print_table(&table, backend, argv[1]);
    } else {
        fprintf(stderr, "calibrate_updates: %s\n", bd_error_detail());
    }
    bd_backend_close(&backend);
    return status ? 1 : 0;
}
