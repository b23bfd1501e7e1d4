/* The specification of contact shadows: the black shadow under an object, on the ground.
 *
 * Where no light comes, a shadow is as black as tyres and windscreens, and neither colour nor
 * texture separates it from an object. Its place does: under a vehicle the ground is darker than
 * all of the road (by which Tzomakas and von Seelen 1998 find vehicles), and it is a flat strip
 * along the foot of an object that is about as wide as high, with something else above it. A person
 * in black is black further up; an object that is black all over has no contact shadow. Everything
 * is computed in integers.
 *
 * A pixel of the mask is black if (f, l) < 3/10 (l, l), sums over channels, and if the brightness
 * (mean of the channels) of the pixels around it, 3 x 3 inside the picture, spans at most 10 grey
 * levels: noise may span them, the parts of a car span more.
 *
 * Of a component of the mask of width w and height h: its foot is those of its pixels below which,
 * the pixel itself counted, its column goes on for at most h / 7. The component has a contact
 * shadow if
 * - the picture does not cut it off below, and w >= 3/4 h: people are narrower;
 * - black runs along rows of its foot are at least w / 3 long: legs are not;
 * - the black runs in columns of its foot have at least w / 2 tops;
 * - above half of these tops or more, within h / 5 and without leaving the mask, there is a pixel
 *   brighter than the top by more than 30 grey levels: else the whole object may be black.
 * What is cut out of the mask is the black pixels of the foot of such a component, and the pixels
 * below them in its columns (the shadow's blurred edge).
 *
 * On highway (F .973, .960 without) every one of these numbers can be moved by a third alone, for
 * .968 to .977. Without w / 3, walkers beside each other lose their legs and black cars of the
 * rendered scenes their sills (synth:drift .977 instead of .984); without the first condition,
 * people in front of the camera (Board) lose something. */
#ifndef BD_SEPARATION_SHARED_CONTACT_SHADOW_H
#define BD_SEPARATION_SHARED_CONTACT_SHADOW_H

#include "separation/shared/mask.h"

enum {
    bd_contact_shadow_tenths = 3, /* of (l, l): a black pixel's (f, l) is below it */
    bd_contact_shadow_range = 10, /* grey levels: of brightness around a black pixel */
    bd_contact_shadow_foot = 7,   /* the foot is 1/7 of the height */
    bd_contact_shadow_above = 5,  /* something brighter is looked for in 1/5 of the height */
    bd_contact_shadow_rise = 30   /* grey levels: brighter by more than these */
};

/* By (f, l) and (l, l) of the pixel. */
BD_RULE bool bd_contact_shadow_dark(int fl, int ll)
{
    return 10 * fl < bd_contact_shadow_tenths * ll;
}

/* least and most: sums over the channels, of the pixels around. */
BD_RULE bool bd_contact_shadow_even(int least, int most, int channels)
{
    return most - least <= bd_contact_shadow_range * channels;
}

/* The condition on the shape of a component whose lowest row is `bottom` of a picture of `rows`. */
BD_RULE bool bd_contact_shadow_possible(int width, int height, int bottom, int rows)
{
    return bottom < rows - 1 && 4 * width >= 3 * height;
}

/* The other conditions: longest black run along a row of the foot, tops of black runs in its
 * columns, and those tops that have nothing brighter above them. */
BD_RULE bool bd_contact_shadow_found(int width, int longest, int tops, int dark_tops)
{
    return 3 * longest >= width && 2 * tops >= width && 2 * dark_tops <= tops;
}

#endif
