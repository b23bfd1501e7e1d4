#include "objects/kalman.h"

#include <math.h>

/* In scales of the box (bd_kalman_scale). A person's is about a metre, and he stops within a
 * second; a car's is about two metres and a half. */
static const double first_speed = 3;    /* a second: how fast what was seen once may move */
static const double child_speed = 1;    /* a second: the same against what it came out of */
static const double acceleration = 1.6; /* a second, in a second: how much a speed wanders */
static const double growth = .5;        /* in a second: how much a size wanders */
static const double edge_noise = .06;   /* of a measured edge */

double bd_kalman_scale(const struct bd_kalman *kalman)
{
    return sqrt(kalman->width * kalman->height);
}

double bd_kalman_noise(const struct bd_kalman *kalman)
{
    return 1 + edge_noise * bd_kalman_scale(kalman);
}

void bd_kalman_start(struct bd_kalman *kalman, const struct bd_extent *seen, double vx, double vy)
{
    kalman->width = fmax(1, bd_extent_width(seen));
    kalman->height = fmax(1, bd_extent_height(seen));
    const double scale = bd_kalman_scale(kalman), noise = bd_kalman_noise(kalman);
    const double speed = (vx == 0 && vy == 0 ? first_speed : child_speed) * scale;
    const struct bd_kalman_axis still = { .xx = noise * noise, .vv = speed * speed };
    kalman->centre_x = kalman->centre_y = still;
    kalman->centre_x.x = (seen->left + seen->right) / 2;
    kalman->centre_y.x = (seen->top + seen->bottom) / 2;
    kalman->centre_x.v = vx;
    kalman->centre_y.v = vy;
    kalman->width_error = kalman->height_error = noise * noise;
}

/* White noise of acceleration of density q, integrated over dt. */
static void predict_axis(struct bd_kalman_axis *axis, double dt, double q)
{
    axis->x += axis->v * dt;
    axis->xx += dt * (2 * axis->xv + dt * axis->vv) + q * dt * dt * dt / 3;
    axis->xv += dt * axis->vv + q * dt * dt / 2;
    axis->vv += q * dt;
}

void bd_kalman_predict(struct bd_kalman *kalman, double dt)
{
    const double scale = bd_kalman_scale(kalman);
    const double q = acceleration * scale * acceleration * scale;
    predict_axis(&kalman->centre_x, dt, q);
    predict_axis(&kalman->centre_y, dt, q);
    kalman->width_error += growth * scale * growth * scale * dt;
    kalman->height_error += growth * scale * growth * scale * dt;
}

void bd_kalman_correct_axis(struct bd_kalman_axis *axis, double centre, double deviation)
{
    const double sum = axis->xx + deviation * deviation;
    const double gain = axis->xx / sum, speed_gain = axis->xv / sum, error = centre - axis->x;
    axis->x += gain * error;
    axis->v += speed_gain * error;
    axis->vv -= speed_gain * axis->xv;
    axis->xv *= 1 - gain;
    axis->xx *= 1 - gain;
}

static void correct_size(double *size, double *error, double seen, double deviation)
{
    const double gain = *error / (*error + deviation * deviation);
    *size = fmax(1, *size + gain * (seen - *size));
    *error *= 1 - gain;
}

void bd_kalman_correct(struct bd_kalman *kalman, const struct bd_extent *seen, double doubt)
{
    const double noise = doubt * bd_kalman_noise(kalman);
    bd_kalman_correct_axis(&kalman->centre_x, (seen->left + seen->right) / 2, noise);
    bd_kalman_correct_axis(&kalman->centre_y, (seen->top + seen->bottom) / 2, noise);
    correct_size(&kalman->width, &kalman->width_error, bd_extent_width(seen), noise);
    correct_size(&kalman->height, &kalman->height_error, bd_extent_height(seen), noise);
}

static double axis_distance(const struct bd_kalman_axis *a, const struct bd_kalman_axis *b)
{
    const double x = b->x - a->x, v = b->v - a->v;
    const double xx = a->xx + b->xx, xv = a->xv + b->xv, vv = a->vv + b->vv;
    return (vv * x * x - 2 * xv * x * v + xx * v * v) / (xx * vv - xv * xv);
}

double bd_kalman_distance(const struct bd_kalman *before, const struct bd_kalman *now, double dt)
{
    struct bd_kalman then = *before;
    bd_kalman_predict(&then, dt);
    return axis_distance(&then.centre_x, &now->centre_x) +
           axis_distance(&then.centre_y, &now->centre_y);
}

struct bd_extent bd_kalman_box(const struct bd_kalman *kalman)
{
    const double x = kalman->centre_x.x, y = kalman->centre_y.x;
    return (struct bd_extent){ x - kalman->width / 2, y - kalman->height / 2, x + kalman->width / 2,
                               y + kalman->height / 2 };
}
