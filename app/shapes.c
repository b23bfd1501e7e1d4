#include "app/shapes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool bd_shapes_are(const char *text)
{
    return strchr(text, ',') && !text[strspn(text, "0123456789+-.,; ")];
}

/* A plain number: strtod also takes words and hexadecimals. */
static bool read_number(double *number, const char **at)
{
    char *end;
    size_t length = strspn(*at, "+-.0123456789");
    *number = strtod(*at, &end);
    bool good = length > 0 && end == *at + length && fabs(*number) < 1e6;
    *at = end;
    return good;
}

enum bd_status bd_shape_read(struct bd_polygon *shape, const char *text, int most, const char **end)
{
    int numbers = 0;
    const int length = (int)strcspn(text, ";");
    shape->count = 0;
    if (length == 0)
        return bd_fail(BD_ERROR_ARGUMENT, "is empty: must be numbers with commas");
    for (const char *at = text;; at++) {
        double number;
        if (!read_number(&number, &at) || (at < text + length && *at != ',') || at > text + length)
            return bd_fail(BD_ERROR_ARGUMENT,
                           "%.*s: must be numbers with commas, as in 10,20,30,40", length, text);
        if (numbers == 2 * most)
            return bd_fail(BD_ERROR_ARGUMENT, "%.*s: more than %d points", length, text, most);
        struct bd_point *point = &shape->points[numbers / 2];
        *(numbers % 2 ? &point->y : &point->x) = number;
        shape->count = ++numbers / 2;
        if (at == text + length)
            break;
    }
    *end = text + length;
    return numbers % 2 == 0
               ? BD_OK
               : bd_fail(BD_ERROR_ARGUMENT, "%.*s: has %d numbers; a point is two, x,y", length,
                         text, numbers);
}

static bool has_area(const struct bd_polygon *shape)
{
    const struct bd_point *a = shape->points;
    for (int i = 1; i + 1 < shape->count; i++)
        for (int j = i + 1; j < shape->count; j++)
            if ((a[i].x - a->x) * (a[j].y - a->y) != (a[i].y - a->y) * (a[j].x - a->x))
                return true;
    return false;
}

enum bd_status bd_shape_check(const struct bd_polygon *shape, int width, int height)
{
    for (int i = 0; i < shape->count; i++) {
        struct bd_point point = shape->points[i];
        if (point.x < 0 || point.y < 0 || point.x > width || point.y > height)
            return bd_fail(BD_ERROR_ARGUMENT, "point %.10g,%.10g is outside of the %dx%d picture",
                           point.x, point.y, width, height);
    }
    if (shape->count > 2 && !has_area(shape))
        return bd_fail(BD_ERROR_ARGUMENT, "its points are all on one line");
    return BD_OK;
}

bool bd_polygon_contains(const struct bd_polygon *polygon, struct bd_point point)
{
    bool inside = false;
    for (int i = 0, j = polygon->count - 1; i < polygon->count; j = i++) {
        struct bd_point a = polygon->points[i], b = polygon->points[j];
        if ((a.y > point.y) != (b.y > point.y) &&
            point.x < (b.x - a.x) * (point.y - a.y) / (b.y - a.y) + a.x)
            inside = !inside;
    }
    return inside;
}

/* To the part of the line between a and b. */
static double segment_distance(struct bd_point a, struct bd_point b, struct bd_point point)
{
    double dx = b.x - a.x, dy = b.y - a.y, square = dx * dx + dy * dy;
    double t = square > 0 ? ((point.x - a.x) * dx + (point.y - a.y) * dy) / square : 0;
    t = fmin(fmax(t, 0), 1);
    return hypot(a.x + t * dx - point.x, a.y + t * dy - point.y);
}

double bd_polygon_distance(const struct bd_polygon *polygon, struct bd_point point)
{
    double least = INFINITY;
    for (int i = 0, j = polygon->count - 1; i < polygon->count; j = i++)
        least = fmin(least, segment_distance(polygon->points[i], polygon->points[j], point));
    return least;
}

double bd_line_side(struct bd_point a, struct bd_point b, struct bd_point point)
{
    double dx = b.x - a.x, dy = b.y - a.y;
    return (dx * (point.y - a.y) - dy * (point.x - a.x)) / hypot(dx, dy);
}

bool bd_line_met(struct bd_point a, struct bd_point b, struct bd_point p, struct bd_point q)
{
    double side_p = bd_line_side(a, b, p), side_q = bd_line_side(a, b, q);
    double share = side_p == side_q ? 0 : side_p / (side_p - side_q);
    double x = p.x + share * (q.x - p.x), y = p.y + share * (q.y - p.y);
    double dx = b.x - a.x, dy = b.y - a.y;
    double t = ((x - a.x) * dx + (y - a.y) * dy) / (dx * dx + dy * dy);
    return t >= 0 && t <= 1;
}

void bd_polygon_fill(uint8_t *data, int64_t stride, int width, int height,
                     const struct bd_polygon *polygon)
{
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            if (bd_polygon_contains(polygon, (struct bd_point){ x + .5, y + .5 }))
                data[y * stride + x] = 255;
}
