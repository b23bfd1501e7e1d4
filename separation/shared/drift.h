/* How far R is from the window's.
 *
 * R is updated for the column that leaves the window and the one that enters it. The other columns
 * change a little as well: X = L + clip(W - L, +-lambda), and each slide replaces the basis and the
 * coefficients of L. R has them as they were when they last took part in an update, so it drifts.
 * An element of R^T R is at most n slides old; so the drift does not add up, and neither do
 * rounding errors.
 *
 * It is measured at each slide, at no cost: the step of subspace iteration has t = X^T b of the
 * first column b of the basis, and t / |b| is sigma(1) v(1) of the window as it is now, to second
 * order. The drift is how far sigma v of R is from that, as a share of sigma. */
#ifndef BD_SEPARATION_SHARED_DRIFT_H
#define BD_SEPARATION_SHARED_DRIFT_H

#include <math.h>

#include "separation/shared/mask.h"

/* R is made from the frames again after it has drifted by more than this. ||R^T R - X^T X|| is one
 * to three times as much, as a share of ||X^T X|| (Frobenius), on six sequences and five rendered
 * scenes with a slide every 2 to 30 frames. A drift of d moves the second singular value of R by
 * about d^2 sigma(1); the window's is .003 to .04 sigma(1). */
static const double bd_sep_drift_bound = 0.002;

/* The drift from |t|^2, t^T v, |v|^2, |b|^2, and sigma; the sign of v is free. NaN for b = 0. */
BD_RULE double bd_sep_drift(double t_t, double t_v, double v_v, double b_b, double sigma)
{
    double square = t_t / b_b - 2 * sigma * fabs(t_v) / sqrt(b_b) + sigma * sigma * v_v;
    return square <= 0 ? 0 : sqrt(square) / sigma;
}

#endif
