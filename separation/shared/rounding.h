/* Rounding that makes both backends learn the same background to the bit.
 *
 * Backends add up sums over all pixels in different orders: the sums agree to about ten digits. A
 * number that comes from such a sum and goes into the background is rounded to fewer digits, and is
 * then the same on all backends, but for one in a million that lies on the edge between two. What
 * is done with it for each pixel is done in the same order, without fused multiply-adds.
 *
 * A film has thousands of fits of a frame, so their sums, B^T e, agree to the last digits of
 * float64. Four products in float32 are a group, ((p0 + p1) + p2) + p3: their elements lie
 * bd_sep_group_stride apart in a block of bd_sep_group_block elements. Groups are added in float64,
 * in any order. */
#ifndef BD_SEPARATION_SHARED_ROUNDING_H
#define BD_SEPARATION_SHARED_ROUNDING_H

#include <math.h>
#include <string.h>

#include "separation/shared/mask.h"

enum { bd_sep_group_stride = 128, bd_sep_group_block = 4 * bd_sep_group_stride };

/* A coefficient or a singular value: to 16 significant bits. B w of a byte is off by 0.002 grey
 * levels at most. */
BD_RULE float bd_sep_round_coefficient(double value)
{
    float f = (float)value;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    bits = (bits + 0x80U) & ~0xffU;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* An element of a vector of norm 1: to a multiple of 2^-12. */
BD_RULE float bd_sep_round_element(double value)
{
    return (float)(rint(value * 4096) / 4096);
}

#endif
