/* What Yamazaki, Tomov, Dongarra published in figures 2 and 12 to 18 of: Stability and performance
 * of various singular value QR implementations on multicore CPU with a GPU (2016). */
#ifndef BD_APP_BENCH_GRAM_TABLES_H
#define BD_APP_BENCH_GRAM_TABLES_H

#include <backdrop/gram_qr.h>

enum { bd_gram_most_columns = 5, bd_gram_most_iterations = 8 };

/* How a column of a figure factors. */
struct bd_published_method {
    const char *name;
    enum bd_gram_qr_method method;
    enum bd_triangular_solve solve;
    bool mixed;
};

enum bd_published_matrix {
    BD_PUBLISHED_DEPENDENT,
    BD_PUBLISHED_KRYLOV,
    BD_PUBLISHED_HILBERT,
    BD_PUBLISHED_SYNTHETIC
};

/* Of Q after an iteration: ||I - Q^T Q||_2, the condition number (0: not published), and the marks
 * f (Cholesky failed), t (singular values truncated), + (the paper's dagger: solved in float32). */
struct bd_published_iteration {
    double orthogonality, condition;
    const char *marks;
};

/* iteration[i][k]: of column k, after iteration i + first. */
struct bd_published_figure {
    int number;
    enum bd_published_matrix matrix;
    const struct bd_published_method *columns;
    int column_count, first, last;
    struct bd_published_iteration iteration[bd_gram_most_iterations][bd_gram_most_columns];
};
extern const struct bd_published_figure bd_published_figures[];
extern const int bd_published_figure_count;

/* Figure 18: ||V - Q R||_2 of the five columns of figures 15 to 17, after their last iteration. */
struct bd_published_backward {
    enum bd_published_matrix matrix;
    double error[bd_gram_most_columns];
};
extern const struct bd_published_backward bd_published_backwards[];
extern const int bd_published_backward_count;

#endif
