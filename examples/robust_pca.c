/* Robust PCA of a small matrix: M = L + S is taken apart into L of low rank and S, which is zero in
 * most places.
 *
 * Made up here: 600 sensors are read 40 times. What they read is a mixture of two patterns (rank
 * 2); one reading in twenty is wrong by far. Least squares would spread the wrong readings over all
 * of L; Robust PCA finds them.
 *
 *   robust_pca [cpu|cuda|auto] */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <backdrop/rpca.h>

enum { sensors = 600, readings = 40 };

/* Column-major, as everywhere in the library: element (i, j) is at [i + j * sensors]. */
static float truth[sensors * readings], measured[sensors * readings];
static float low_rank[sensors * readings], sparse[sensors * readings];

/* Numbers in 0 to 1, the same ones in every run. */
static double random_number(void)
{
    static uint32_t state = 1;
    state = state * 1664525U + 1013904223U;
    return (double)(state >> 8) / (1 << 24);
}

/* Returns how many readings are wrong. */
static int make_measurements(void)
{
    int wrong = 0;
    for (int j = 0; j < readings; j++)
        for (int i = 0; i < sensors; i++) {
            double x = (double)i / sensors, t = (double)j / readings;
            double value = 10 * (1 + x) * (1 + 0.5 * t) + 5 * sin(9 * x) * cos(7 * t);
            int at = i + j * sensors;
            truth[at] = measured[at] = (float)value;
            if (random_number() < 0.05) {
                measured[at] += (float)(random_number() < 0.5 ? -20 : 20);
                wrong++;
            }
        }
    return wrong;
}

/* What every function of the library returns is a status; bd_error_detail() says in one line what
 * was wrong with what. */
static void check(enum bd_status status)
{
    if (status == BD_OK)
        return;
    fprintf(stderr, "%s: %s\n", bd_status_text(status), bd_error_detail());
    exit(1);
}

static int count_found(void)
{
    int found = 0;
    for (int at = 0; at < sensors * readings; at++)
        found += fabsf(sparse[at]) > 10;
    return found;
}

/* ||L - truth||_F / ||truth||_F */
static double relative_error(void)
{
    double error = 0, norm = 0;
    for (int at = 0; at < sensors * readings; at++) {
        double difference = (double)low_rank[at] - (double)truth[at];
        error += difference * difference;
        norm += (double)truth[at] * (double)truth[at];
    }
    return sqrt(error / norm);
}

int main(int argc, char **argv)
{
    struct bd_backend *backend = NULL;
    struct bd_matrix m = { 0 }, l = { 0 }, s = { 0 };
    struct bd_rpca *rpca = NULL;
    struct bd_rpca_result result;
    int wrong = make_measurements();

    /* Where it runs: a GPU where there is one, else all cores. */
    check(bd_backend_open(&backend, argc > 1 ? argv[1] : "auto", 0));
    printf("%s\n", bd_backend_description(backend));

    /* Matrices live in the memory of the backend. */
    check(bd_matrix_create(backend, &m, sensors, readings, BD_F32));
    check(bd_matrix_create(backend, &l, sensors, readings, BD_F32));
    check(bd_matrix_create(backend, &s, sensors, readings, BD_F32));
    check(bd_matrix_upload(backend, &m, measured, sensors));

    /* A plan takes all memory that the solution needs; it can be used for many matrices. */
    check(bd_rpca_create(&rpca, backend, sensors, readings, NULL));
    check(bd_rpca_solve(rpca, &m, &result));
    check(bd_rpca_get(rpca, &l, &s));
    check(bd_matrix_download(backend, low_rank, sensors, &l));
    check(bd_matrix_download(backend, sparse, sensors, &s));

    int found = count_found();
    double error = relative_error();
    printf("rank %d after %d iterations; %d of %d wrong readings found; L is right to %.1e\n",
           (int)result.rank, result.iterations, found, wrong, error);

    bd_rpca_destroy(&rpca);
    bd_matrix_destroy(backend, &s);
    bd_matrix_destroy(backend, &l);
    bd_matrix_destroy(backend, &m);
    bd_backend_close(&backend);
    return result.rank == 2 && found == wrong && error < 1e-3 ? 0 : 1;
}
