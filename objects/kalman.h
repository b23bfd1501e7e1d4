/* A Kalman filter for a box. The centre has a velocity that changes by white noise of acceleration;
 * the size wanders. The axes do not depend on each other, so each is a filter of two numbers, or of
 * one. SORT (Bewley et al. 2016) filters the box as a whole in the same way; noise that grows with
 * the box is from DeepSORT (Wojke et al. 2017). Steps of time may differ. */
#ifndef BD_OBJECTS_KALMAN_H
#define BD_OBJECTS_KALMAN_H

#include <stdbool.h>

#include "objects/extent.h"

/* Place and speed, with their covariance. */
struct bd_kalman_axis {
    double x, v; /* pixels, pixels a second */
    double xx, xv, vv;
};

struct bd_kalman {
    struct bd_kalman_axis centre_x, centre_y;
    double width, height;             /* pixels, at least 1 */
    double width_error, height_error; /* variances */
};

/* A box that was seen once, with the speed of what it came out of (0: unknown). */
void bd_kalman_start(struct bd_kalman *kalman, const struct bd_extent *seen, double vx, double vy);

/* Moves on by dt seconds. */
void bd_kalman_predict(struct bd_kalman *kalman, double dt);

/* Takes in the box that was seen. `doubt` multiplies the noise of the measurement, 1 or more. */
void bd_kalman_correct(struct bd_kalman *kalman, const struct bd_extent *seen, double doubt);

/* Takes in a centre that was seen along one axis. */
void bd_kalman_correct_axis(struct bd_kalman_axis *axis, double centre, double deviation);

/* Where the object should be. */
struct bd_extent bd_kalman_box(const struct bd_kalman *kalman);

/* How far `now` is from where `before` would be after dt seconds: the squared Mahalanobis distance
 * of place and speed, along both axes. */
double bd_kalman_distance(const struct bd_kalman *before, const struct bd_kalman *now, double dt);

/* The length to which noise is proportional: the side of a square as large as the box. */
double bd_kalman_scale(const struct bd_kalman *kalman);

/* The standard deviation of a measured edge, pixels. */
double bd_kalman_noise(const struct bd_kalman *kalman);

#endif
