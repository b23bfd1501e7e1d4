/* Lines and polygons of pixels, as the command line has them: --line, --zone, --roi. The left upper
 * corner of the picture is 0,0, and the centre of its first pixel .5,.5. */
#ifndef BD_APP_SHAPES_H
#define BD_APP_SHAPES_H

#include <stdbool.h>
#include <stdint.h>

#include <backdrop/status.h>

enum { bd_polygon_points = 32 };

struct bd_point {
    double x, y; /* pixels */
};

struct bd_polygon {
    struct bd_point points[bd_polygon_points]; /* its corners; the last is joined to the first */
    int count;
};

/* Whether the text can only be meant as the numbers of polygons: digits, signs, dots, semicolons
 * and blanks, with at least one comma. */
bool bd_shapes_are(const char *text);

/* Reads x,y,x,y,... of at most `most` points, up to the end of the text or to the first ';', and
 * sets *end to it. BD_ERROR_ARGUMENT: "a,b: must be ...", no number, too many or not pairs. */
enum bd_status bd_shape_read(struct bd_polygon *shape, const char *text, int most,
                             const char **end);

/* BD_ERROR_ARGUMENT where a point is not in the picture or on its border, and where a polygon of
 * three points or more has no area, as all of them are on one line. */
enum bd_status bd_shape_check(const struct bd_polygon *shape, int width, int height);

/* Whether the point is inside, by the rule of even and odd crossings. */
bool bd_polygon_contains(const struct bd_polygon *polygon, struct bd_point point);

/* Pixels from the point to the nearest edge. */
double bd_polygon_distance(const struct bd_polygon *polygon, struct bd_point point);

/* Pixels from the point to the endless line through a and b; positive on the right as seen from a
 * to b, negative on the left. */
double bd_line_side(struct bd_point a, struct bd_point b, struct bd_point point);

/* Whether the way from p to q, which lie on both sides of the endless line through a and b, meets
 * it between a and b. */
bool bd_line_met(struct bd_point a, struct bd_point b, struct bd_point p, struct bd_point q);

/* Sets the bytes of the pixels whose centres are inside to 255; the others stay. */
void bd_polygon_fill(uint8_t *data, int64_t stride, int width, int height,
                     const struct bd_polygon *polygon);

#endif
