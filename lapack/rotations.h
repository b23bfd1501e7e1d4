/* Private to the drop-in: sequences of plane rotations for qrupdate's routines.
 *
 * Rotation i of a sequence acts on neighbours (p, q) as (c p + s q, c q - s p). */
#ifndef BD_LAPACK_ROTATIONS_H
#define BD_LAPACK_ROTATIONS_H

#include <stdint.h>

#include "lapack/context.h"

struct bd_rotation {
    float c, s;
};

/* The rotation that takes (p, q) to (r, 0), in place. */
struct bd_rotation bd_rotation_make(float *p, float *q);

/* Rotation i of a rising sequence acts on elements (i, i + 1) of each of the `cols` columns of X, i
 * = 0 .. count - 1 in this order; of a falling one in the opposite order. */
void bd_rotations_rise(const struct bd_rotation *rotations, int64_t count, float *x, int64_t ldx,
                       int64_t cols);
void bd_rotations_fall(const struct bd_rotation *rotations, int64_t count, float *x, int64_t ldx,
                       int64_t cols);

/* Columns that are best rotated together: the rotations of one column depend on each other. */
enum { bd_rotations_group = 8 };

/* The same for columns i and i + 1 of Q (m x (count + 1)), in one reading of it. context may be
 * NULL: then with the calling thread alone. */
void bd_rotations_rise_columns(struct bd_lapack *context, const struct bd_rotation *rotations,
                               int64_t count, int64_t m, float *q, int64_t ldq);
void bd_rotations_fall_columns(struct bd_lapack *context, struct bd_rotation *rotations,
                               int64_t count, int64_t m, float *q, int64_t ldq);

#endif
