#include "linalg/cpu/gram_qr/condition_estimate.h"

#include <math.h>

void bd_condition_start(struct bd_condition_estimate *estimate, double *largest_x, double *least_x)
{
    *estimate = (struct bd_condition_estimate){ .largest_x = largest_x, .least_x = least_x };
}

/* x := (s x; c), the unit vector that makes ||(R v; 0 gamma)^T (s x; c)||^2 = s^2 sigma^2 + (s
 * alpha + c gamma)^2 extreme, alpha = v^T x: an eigenvector of [a b; b d], with a = sigma^2 +
 * alpha^2, b = alpha gamma, d = gamma^2. The larger eigenvalue comes without cancellation, the less
 * from the determinant, (sigma gamma)^2. Returns the new sigma. */
static double extend(double *x, int64_t count, double sigma, double alpha, double gamma, int least)
{
    double size = fmax(fabs(sigma), fmax(fabs(alpha), fabs(gamma)));
    if (size == 0) {
        x[count] = least;
        return 0;
    }
    sigma /= size;
    alpha /= size;
    gamma /= size;
    double a = sigma * sigma + alpha * alpha, b = alpha * gamma, d = gamma * gamma;
    double half = (a - d) / 2, root = hypot(half, b), larger = (a + d) / 2 + root;
    /* Of the two rows of [a - larger, b; b, d - larger] the one without cancellation. */
    double s = half >= 0 ? half + root : b, c = half >= 0 ? b : root - half;
    double norm = hypot(s, c);
    s = norm > 0 ? s / norm : 1;
    c = norm > 0 ? c / norm : 0;
    if (least) {
        double t = s;
        s = -c;
        c = t;
    }
    /* Elements die away; denormal numbers would take a hundred times as long. */
    for (int64_t i = 0; i < count; i++)
        x[i] = fabs(x[i]) < 0x1p-500 ? 0 : x[i] * s;
    x[count] = c;
    return size * (least ? fabs(sigma * gamma) / sqrt(larger) : sqrt(larger));
}

double bd_condition_add(struct bd_condition_estimate *estimate, const double *column, double scale)
{
    int64_t count = estimate->count++;
    double gamma = scale * column[count], alpha = 0, beta = 0;
    if (count == 0) {
        estimate->largest_x[0] = estimate->least_x[0] = 1;
        estimate->largest = estimate->least = fabs(gamma);
        return gamma == 0 ? HUGE_VAL : 1;
    }
    for (int64_t i = 0; i < count; i++) {
        alpha += scale * column[i] * estimate->largest_x[i];
        beta += scale * column[i] * estimate->least_x[i];
    }
    estimate->largest = extend(estimate->largest_x, count, estimate->largest, alpha, gamma, 0);
    estimate->least = extend(estimate->least_x, count, estimate->least, beta, gamma, 1);
    return estimate->least == 0 ? HUGE_VAL : estimate->largest / estimate->least;
}
