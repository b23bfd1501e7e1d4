/* Triangles as the kernels multiply by them: V R^-1 by substitution, by inverses of diagonal blocks
 * or by the inverse of R. For a block, the columns before it are subtracted first, with R's own
 * elements, and the product with the block's inverse comes second: where columns are nearly
 * dependent, the subtraction cancels most of V, and no rounding of an inverse must enter it. */
#include <cblas.h>
#include <float.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

#include "linalg/cpu/gram_qr/plan.h"

static double column_norm(const double *x, int64_t count)
{
    return cblas_dnrm2((int)count, x, 1);
}

double bd_cpu_triangle_condition(struct bd_cpu_gram *gram)
{
    int64_t n = gram->n;
    struct bd_condition_estimate estimate;
    double condition = 1;
    bd_condition_start(&estimate, gram->condition_vector, gram->condition_vector + n);
    for (int64_t j = 0; j < n && condition < HUGE_VAL; j++) {
        double norm = column_norm(gram->r + j * n, j + 1);
        condition = bd_condition_add(&estimate, gram->r + j * n, norm > 0 ? 1 / norm : 0);
    }
    return condition;
}

/* The end of the largest block from column `first` on whose condition, of R with columns of unit
 * norm, stays within the limit. */
static int64_t block_end(struct bd_cpu_gram *gram, int64_t first, double limit)
{
    int64_t n = gram->n, end = first;
    struct bd_condition_estimate estimate;
    bd_condition_start(&estimate, gram->condition_vector, gram->condition_vector + n);
    while (end < n &&
           (bd_condition_add(&estimate, gram->r + first + end * n, 1 / gram->norm[end]) <= limit ||
            end == first))
        end++;
    return end;
}

/* Adds a group for columns first .. first + width - 1; returns the place of its factors, end - from
 * + width rows of `width`. */
static double *add_group(struct bd_cpu_gram *gram, enum bd_tall_step step, int64_t from,
                         int64_t end, int64_t first, int width)
{
    struct bd_cpu_triangle *triangle = &gram->triangle;
    struct bd_tall_group group = {
        .first = first, .from = from, .end = end, .at = triangle->size, .width = width, .step = step
    };
    triangle->groups[triangle->count++] = group;
    triangle->size += (end - from + width) * width;
    return triangle->t + group.at;
}

static int width_to(int64_t first, int64_t end)
{
    return end - first < bd_tall_width ? (int)(end - first) : bd_tall_width;
}

/* Columns first .. first + width - 1 by substitution. */
static void add_substitution(struct bd_cpu_gram *gram, int64_t first, int width)
{
    int64_t n = gram->n;
    const double *r = gram->r + first * n;
    double *t = add_group(gram, BD_TALL_SUBSTITUTE, 0, first, first, width);
    for (int64_t i = 0; i < first + width; i++)
        for (int j = 0; j < width; j++)
            t[i * width + j] = i < first + j    ? -r[i + j * n]
                               : i == first + j ? 1 / r[i + j * n]
                                                : 0;
}

/* Columns first .. end - 1 by substitution: whole groups only, or `all`; returns the first column
 * that is left. */
static int64_t substitute(struct bd_cpu_gram *gram, int64_t first, int64_t end, int all)
{
    while (all ? first < end : end - first >= bd_tall_width) {
        int width = width_to(first, end);
        add_substitution(gram, first, width);
        first += width;
    }
    return first;
}

/* Columns first .. end - 1: adds the columns before them times -R. */
static void add_subtractions(struct bd_cpu_gram *gram, int64_t first, int64_t end)
{
    int64_t n = gram->n;
    for (int64_t left = first; left < end && first > 0; left += bd_tall_width) {
        int width = width_to(left, end);
        const double *r = gram->r + left * n;
        double *t = add_group(gram, BD_TALL_ADD, 0, first, left, width);
        for (int64_t i = 0; i < first; i++)
            for (int j = 0; j < width; j++)
                t[i * width + j] = -r[i + j * n];
    }
}

/* Columns first .. end - 1 times a triangle in the same place of `a`: from the right, so that those
 * on the left, which are needed as they were, are overwritten last. */
static void add_product(struct bd_cpu_gram *gram, const double *a, int64_t first, int64_t end)
{
    int64_t n = gram->n, left = first + (end - first - 1) / bd_tall_width * bd_tall_width;
    for (; left >= first; left -= bd_tall_width) {
        int width = width_to(left, end);
        double *t = add_group(gram, BD_TALL_MULTIPLY, first, left, left, width);
        for (int64_t i = first; i < left + width; i++)
            for (int j = 0; j < width; j++)
                t[(i - first) * width + j] = i <= left + j ? a[i + (left + j) * n] : 0;
    }
}

/* Columns first .. end - 1 by the inverse of their diagonal block. */
static void add_inverse(struct bd_cpu_gram *gram, int64_t first, int64_t end)
{
    int64_t n = gram->n;
    for (int64_t j = first; j < end; j++)
        memcpy(gram->inverse + first + j * n, gram->r + first + j * n,
               (size_t)(end - first) * sizeof *gram->r);
    LAPACKE_dtrtri_work(LAPACK_COL_MAJOR, 'U', 'N', (lapack_int)(end - first),
                        gram->inverse + first + first * n, (lapack_int)n);
    add_subtractions(gram, first, end);
    add_product(gram, gram->inverse, first, end);
}

/* The factors in the type of the arithmetic. 0: not all of them are finite. */
static int finish(struct bd_cpu_gram *gram)
{
    struct bd_cpu_triangle *triangle = &gram->triangle;
    int finite = 1;
    for (int64_t i = 0; i < triangle->size; i++) {
        if (triangle->is_single)
            triangle->single[i] = (float)triangle->t[i];
        finite = finite &&
                 (triangle->is_single ? isfinite(triangle->single[i]) : isfinite(triangle->t[i]));
    }
    return finite;
}

static void start(struct bd_cpu_gram *gram, int single)
{
    gram->triangle.count = gram->triangle.size = 0;
    gram->triangle.is_single = single;
    gram->triangle.is_wide = 0;
    for (int64_t j = 0; j < gram->n; j++)
        gram->triangle.scale[j] = 1;
}

/* Columns of V and R times powers of two that bring those of R to about 1, so that the range of
 * float is enough for any scale of columns. */
static void scale_columns(struct bd_cpu_gram *gram)
{
    int64_t n = gram->n;
    for (int64_t j = 0; j < n; j++) {
        double scale = ldexp(1, -(int)fmin(fmax(logb(gram->norm[j]), -1000), 1000));
        gram->triangle.scale[j] = scale;
        gram->norm[j] *= scale;
        for (int64_t i = 0; i <= j; i++)
            gram->r[i + j * n] *= scale;
    }
}

static int is_wide(const struct bd_cpu_gram *gram, int single)
{
    return gram->n > bd_cpu_wide_columns && gram->type == BD_F64 && !single;
}

/* By the inverse of R, or else by substitution, whatever the condition of blocks. */
static int invert_wide(struct bd_cpu_gram *gram, enum bd_triangular_solve solve)
{
    int64_t n = gram->n;
    gram->triangle.is_wide = -1;
    if (solve != BD_TRIANGULAR_INVERSION)
        return 1;
    gram->triangle.is_wide = 1;
    gram->triangle.product = gram->inverse;
    memcpy(gram->inverse, gram->r, (size_t)(n * n) * sizeof *gram->r);
    return LAPACKE_dtrtri_work(LAPACK_COL_MAJOR, 'U', 'N', (lapack_int)n, gram->inverse,
                               (lapack_int)n) == 0;
}

int bd_cpu_triangle_invert(struct bd_cpu_gram *gram, double condition,
                           enum bd_triangular_solve solve, int single)
{
    int64_t n = gram->n, first = 0;
    double epsilon = single ? (double)FLT_EPSILON : DBL_EPSILON;
    double limit = solve == BD_TRIANGULAR_INVERSION      ? HUGE_VAL
                   : solve == BD_TRIANGULAR_SUBSTITUTION ? 0
                                                         : fmax(sqrt(epsilon) * condition, 32);
    start(gram, single);
    if (is_wide(gram, single))
        return invert_wide(gram, solve);
    for (int64_t j = 0; j < n; j++)
        gram->norm[j] = column_norm(gram->r + j * n, j + 1);
    if (single)
        scale_columns(gram);
    /* Blocks that fit into a group gain nothing by inversion. */
    for (int64_t j = 0, end; j < n; j = end) {
        end = solve == BD_TRIANGULAR_INVERSION ? n : block_end(gram, j, limit);
        int wide = end - j > bd_tall_width || solve == BD_TRIANGULAR_INVERSION;
        first = substitute(gram, first, wide ? j : end, wide);
        if (wide) {
            add_inverse(gram, j, end);
            first = end;
        }
    }
    substitute(gram, first, n, 1);
    return finish(gram);
}

int bd_cpu_triangle_copy(struct bd_cpu_gram *gram, int single)
{
    start(gram, single);
    if (is_wide(gram, single)) {
        gram->triangle.is_wide = 1;
        gram->triangle.product = gram->r;
        return 1;
    }
    add_product(gram, gram->r, 0, gram->n);
    return finish(gram);
}
