#include "app/summary/heat_scale.h"

#include <math.h>

double bd_heat_place(double seconds, double top)
{
    const double range = 100;
    return fmin(log1p((range - 1) * seconds / top) / log(range), 1);
}

/* Hues differ, and each is lighter than the one before: the order is seen without colour vision,
 * too. Blue is far from the dark gray of the background. */
static const struct {
    double place;
    uint8_t rgb[3];
    uint8_t opacity;
} points[] = {
    { 0, { 40, 40, 170 }, 130 },    { .25, { 70, 60, 230 }, 190 }, { .5, { 200, 40, 160 }, 215 },
    { .75, { 250, 120, 40 }, 230 }, { 1, { 255, 240, 110 }, 240 },
};

/* `share` of the way from a to b. */
static double mix(double a, double b, double share)
{
    return a + share * (b - a);
}

void bd_heat_tint(uint8_t rgb[3], double place)
{
    const int last = (int)(sizeof points / sizeof *points) - 1;
    int i = 0;
    while (i < last - 1 && place > points[i + 1].place)
        i++;
    double share = (place - points[i].place) / (points[i + 1].place - points[i].place);
    share = fmin(fmax(share, 0), 1);
    double opacity = mix(points[i].opacity, points[i + 1].opacity, share) / 255;
    for (int c = 0; c < 3; c++) {
        double colour = mix(points[i].rgb[c], points[i + 1].rgb[c], share);
        rgb[c] = (uint8_t)lrint(mix(rgb[c], colour, opacity));
    }
}
