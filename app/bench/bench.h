/* backdrop bench [SUITE...]: how fast the kernels are, against LAPACK (on the cpu backend) or
 * cuSOLVER and cuBLAS (on cuda; app/bench/gpu/gpu.h) in the same run, and against the least time
 * that the machine's memory and multipliers would need. */
#ifndef BD_APP_BENCH_BENCH_H
#define BD_APP_BENCH_BENCH_H

#include "app/options.h"
#include <backdrop/matrix.h>

enum { BD_BENCH_NAME = 64, bd_bench_extras = 12 };

/* One measurement. Negative numbers: not measured, null in JSON. */
struct bd_bench_row {
    const char *suite;
    char name[BD_BENCH_NAME];   /* the case */
    char method[BD_BENCH_NAME]; /* what was timed */
    char peer[BD_BENCH_NAME];   /* what it is compared with; "": nothing */
    int64_t m, n;
    double ms;       /* median */
    double floor_ms; /* from the bandwidth and the multiplication rate measured in this run */
    double peer_ms;
    double residual, orthogonality; /* relative, computed in float64 */
    double peak_rss, rss_growth;    /* MiB; separate-long */
    /* What else there is to say of this case, such as what a paper published for it: printed after
     * the peer, and a field of that name in JSON. Filled by bd_bench_extra. */
    struct bd_bench_extra {
        const char *name; /* a constant; lower case and underscores */
        double value;
    } extra[bd_bench_extras];
    int extra_count;
};

/* One thing to time: `prepare` (may be NULL) is not timed, `run` is. */
struct bd_bench_task {
    enum bd_status (*prepare)(void *user);
    enum bd_status (*run)(void *user);
    void *user;
    double ms; /* result: median */
};

struct bd_bench {
    const struct bd_options *options;
    struct bd_backend *backend;
    const struct bd_bench_platform *platform; /* where the data live (platform.h) */
    struct bd_bench_gpu *gpu;                 /* of the cuda backend; NULL on others */
    bool has_peers;                           /* the platform's library is there */
    int threads;                              /* of the cpu backend and of its peers */
    /* Measured in this run; 0: not measured. Bytes read and written a second in the backend's
     * memory, floating-point operations a second of large products, and bytes a second of each
     * direction of a GPU's bus. */
    double copy_rate, sgemm_rate, tf32_rate, fp64_rate, upload_rate, download_rate;
    int64_t cache; /* bytes that inputs should not fit; 0: runs take the same input again */
    char date[32], cpu[300]; /* when it began, and on what processor */
    struct bd_bench_row *rows;
    int count;
    struct bd_bench_held *held; /* what bd_bench_release frees */
    const char *part; /* what follows ':' in the suite's name as the user gave it; NULL: all */
};

/* Takes a step if all steps before it succeeded: `status` is the caller's variable. */
#define BD_TRY(step) (status = status ? status : (step))

/* Returns the exit status of the program. */
int bd_bench_run(const struct bd_options *options);

/* A row with everything unmeasured; peer = NULL: compared with nothing. */
struct bd_bench_row bd_bench_row_begin(const char *suite, int64_t m, int64_t n, const char *method,
                                       const char *peer);

/* Adds a number to a row; what comes after the bd_bench_extras first is not kept. */
void bd_bench_extra(struct bd_bench_row *row, const char *name, double value);

/* Prints a row and keeps it for the JSON file. */
enum bd_status bd_bench_add(struct bd_bench *bench, const struct bd_bench_row *row);

/* Memory until bd_bench_release: a zeroed array of the host, NULL if there is none; a matrix of the
 * backend; the same with ld = rows (its elements stay together); elements without a shape. */
void *bd_bench_memory(struct bd_bench *bench, int64_t count, size_t size);
enum bd_status bd_bench_matrix(struct bd_bench *bench, struct bd_matrix *matrix, int64_t rows,
                               int64_t cols, enum bd_type type);
enum bd_status bd_bench_tight(struct bd_bench *bench, struct bd_matrix *matrix, int64_t rows,
                              int64_t cols, enum bd_type type);
enum bd_status bd_bench_elements(struct bd_bench *bench, void **data, int64_t count,
                                 enum bd_type type);

/* Frees what was taken since `held` was bench->held; NULL: everything. */
void bd_bench_release(struct bd_bench *bench, struct bd_bench_held *held);

static inline enum bd_status bd_bench_out_of_memory(void)
{
    bd_fail(BD_ERROR_MEMORY, "out of memory for the bench");
    return BD_ERROR_MEMORY; /* as a constant, which static analysis follows */
}

/* Least time in milliseconds for moving `bytes` and computing `operations` in float32. */
double bd_bench_floor(const struct bd_bench *bench, double bytes, double operations);

/* What a factorisation cannot do without, and its least time in milliseconds. */
struct bd_bench_work {
    double bytes;
    double gram; /* m n^2 of an R: symmetric products, counted as half of the full ones. By a
                    float64 Gram matrix on tensor cores, or twice that by reflectors */
    double
        triangular; /* m n^2 of a thin Q: a GPU multiplies by a triangle, the CPU by reflectors */
    double product; /* operations of float32 products: fp32, or three TF32 products */
};
double bd_bench_work_floor(const struct bd_bench *bench, struct bd_bench_work work);

/* BD_ERROR_INTERRUPTED when the user asks to stop. */
enum bd_status bd_bench_check_interrupt(void);

/* The next 64 random bits: SplitMix64 (Steele, Lea, Flood 2014). */
uint64_t bd_bench_random(uint64_t *state);
/* `count` floats in -1..1, seeded: on the host, and in the backend's memory. */
void bd_bench_fill(float *data, int64_t count, uint64_t seed);
enum bd_status bd_bench_fill_there(struct bd_bench *bench, void *data, int64_t count,
                                   uint64_t seed);

/* ||A - Q R||_F / ||A||_F, or where q is NULL ||A^T A - R^T R||_F / ||A||_F^2, and
 * ||Q^T Q - I||_F; all float64. Host arrays: a, q m x n with leading dimension ld, r n x n, upper,
 * tight. */
enum bd_status bd_bench_check(double *residual, double *orthogonality, const float *a,
                              const float *q, const float *r, int64_t m, int64_t n, int64_t ld);

/* ||G - R^T R||_F of a symmetric G (n x n, upper half, overwritten) and an upper triangular R with
 * zeros below, both tight; r = NULL: ||G - I||_F. */
double bd_bench_gram_distance(double *g, const double *r, int64_t n);

/* Of an SVD R = U diag(sigma) V^T without U: ||R^T R - V sigma^2 V^T||_F / ||R||_F^2, and
 * ||V^T V - I||_F, float64. Host arrays, r and v n x n, tight. */
void bd_bench_check_svd(double *residual, double *orthogonality, const float *r, const float *sigma,
                        const float *v, int64_t n);

/* ||Q^T Q - I||_2 of Q (m x k), and ||Q R - A||_2 / ||A||_2 of A, Q (m x n) and R (n x n, upper;
 * what is below is not read), float64, by Lanczos' method: from below, to about 3 %. Host arrays,
 * tight. */
enum bd_status bd_bench_norm_orthogonality(double *norm, const float *q, int64_t m, int64_t k);
enum bd_status bd_bench_norm_backward(double *norm, const float *a, const float *q, const float *r,
                                      int64_t m, int64_t n);

struct bd_bench_scene {
    int width, height;
    int channels; /* 1: brightness, 3: RGB */
    int first;    /* frame of the scene */
    int count;
};
/* Renders frames first .. first + count - 1 of the scene "street" as tight pictures, one after the
 * other: width x height x channels bytes each. *pictures: memory for them, or NULL for memory until
 * bd_bench_release. */
enum bd_status bd_bench_render(struct bd_bench *bench, uint8_t **pictures,
                               const struct bd_bench_scene *scene);

/* The middle of `count` values, which are sorted on return. */
double bd_bench_median(double *values, int count);

/* The suites. */
enum bd_status bd_bench_qr(struct bd_bench *bench);
enum bd_status bd_bench_update(struct bd_bench *bench);
enum bd_status bd_bench_svd(struct bd_bench *bench);
enum bd_status bd_bench_rpca(struct bd_bench *bench);
enum bd_status bd_bench_separate(struct bd_bench *bench);
enum bd_status bd_bench_app(struct bd_bench *bench); /* needs video/ */
enum bd_status bd_bench_updates(struct bd_bench *bench);
enum bd_status bd_bench_wy(struct bd_bench *bench);
enum bd_status bd_bench_svqr(struct bd_bench *bench);
enum bd_status bd_bench_accuracy(struct bd_bench *bench); /* both parts */
enum bd_status bd_bench_accuracy_gram(struct bd_bench *bench);

#endif
