/* The specification of boundary contrast: which of two pictures of a scene shows the background.
 *
 * An object has a contour where it ends, and the background behind it has none there. So where two
 * pictures of a scene differ in a region, the one with the lower contrast across the region's
 * boundary shows the background, and the other one an object. (Objects that were left are separated
 * from objects that were removed by edges along a contour: Cheung and Kamath 2005; Spagnolo et al.
 * 2006.)
 *
 * `outside` and `inside` are the two pictures, `inside` is judged in the components (8-connected)
 * of the region. The contrast of a picture is the sum, over the places where the component's
 * boundary runs between two pixels in one of the four directions, of the absolute differences in
 * all channels between a pixel of that picture inside and a pixel of `outside` outside. One pixel
 * to either side of the boundary is stepped over, since it mixes both, as far as the component is
 * wide enough. A place cannot be judged where the outer pixel, or the one stepped over, is `apart`
 * (it shows neither background nor component, but something that moves), or where the outer pixel
 * is in the region again; places beyond the picture's border do not count. The component has the
 * lower contrast in `inside` if at least as many places can be judged as not, and if the contrast
 * of `inside` is less than that of `outside` by more than a factor `times`. */
#ifndef BD_SEPARATION_SHARED_BOUNDARY_CONTRAST_H
#define BD_SEPARATION_SHARED_BOUNDARY_CONTRAST_H

#include "separation/shared/mask.h"

/* The sum over channels of the absolute differences of two pixels. */
BD_RULE int bd_boundary_difference(const uint8_t *a, const uint8_t *b, int channels)
{
    int sum = 0;
    for (int c = 0; c < channels; c++) {
        int d = a[c] - b[c];
        sum += d < 0 ? -d : d;
    }
    return sum;
}

/* balance: contrast of `outside` minus `times` that of `inside`; judged: places of the boundary
 * that can be judged, minus those that cannot. */
BD_RULE bool bd_boundary_is_lower(int64_t balance, int judged)
{
    return judged >= 0 && balance > 0;
}

#endif
