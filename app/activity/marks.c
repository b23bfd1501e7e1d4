#include "app/activity/marks.h"

#include <math.h>
#include <string.h>

/* The name must fit a column of CSV that separates with ';' and ':'. */
static enum bd_status read_name(struct bd_marks *marks, const char *text, const char **rest)
{
    const char *equals = strchr(text, '=');
    const int length = equals ? (int)(equals - text) : 0;
    char *name = marks->shapes[marks->count].name;
    if (length == 0)
        return bd_fail(BD_ERROR_ARGUMENT, "%s: must be NAME=x,y,x,y,...", text);
    if (length >= bd_mark_name_size)
        return bd_fail(BD_ERROR_ARGUMENT, "%.*s: the name has more than %d bytes", length, text,
                       bd_mark_name_size - 1);
    memcpy(name, text, (size_t)length);
    name[length] = 0;
    if (name[strcspn(name, ",;:\"\\")])
        return bd_fail(BD_ERROR_ARGUMENT, "%s: the name may not contain , ; : \\ or \"", name);
    for (const char *c = name; *c; c++)
        if ((unsigned char)*c < ' ')
            return bd_fail(BD_ERROR_ARGUMENT, "%s: the name may not contain control characters",
                           text);
    for (int i = 0; i < marks->count; i++)
        if (strcmp(marks->shapes[i].name, name) == 0)
            return bd_fail(BD_ERROR_ARGUMENT, "%s: a line or zone before has this name", name);
    *rest = equals + 1;
    return BD_OK;
}

static enum bd_status read_shape(struct bd_marks *marks, const char *text, bool zone, int width,
                                 int height)
{
    const char *end;
    struct bd_mark_shape *shape = &marks->shapes[marks->count];
    struct bd_polygon *polygon = &shape->polygon;
    enum bd_status status = read_name(marks, text, &text);
    if (status)
        return status;
    status = bd_shape_read(polygon, text, bd_polygon_points, &end);
    if (!status && *end)
        status = bd_fail(BD_ERROR_ARGUMENT, "%s: must be numbers with commas alone", text);
    if (!status && !zone && polygon->count != 2)
        status =
            bd_fail(BD_ERROR_ARGUMENT, "%s: a line has two points, not %d", text, polygon->count);
    if (!status && zone && polygon->count < 3)
        status = bd_fail(BD_ERROR_ARGUMENT, "%s: a zone has 3 points at least, not %d", text,
                         polygon->count);
    if (!status)
        status = bd_shape_check(polygon, width, height);
    if (!status && !zone && polygon->points[0].x == polygon->points[1].x &&
        polygon->points[0].y == polygon->points[1].y)
        status = bd_fail(BD_ERROR_ARGUMENT, "%s: its two points are the same", text);
    if (status)
        return bd_fail(status, "%s: %s", shape->name, bd_error_detail());
    marks->totals[marks->count++] = (struct bd_mark_total){ .name = shape->name, .zone = zone };
    return BD_OK;
}

enum bd_status bd_marks_read(struct bd_marks *marks, const struct bd_options *options, int width,
                             int height)
{
    enum bd_status status = BD_OK;
    *marks = (struct bd_marks){ 0 };
    for (int i = 0; i < options->lines.count + options->zones.count && !status; i++) {
        bool zone = i >= options->lines.count;
        const char *text =
            zone ? options->zones.items[i - options->lines.count] : options->lines.items[i];
        status = read_shape(marks, text, zone, width, height);
        if (status)
            return bd_fail(status, "--%s %s", zone ? "zone" : "line", bd_error_detail());
    }
    marks->lines = options->lines.count;
    return BD_OK;
}

/* Follows the foot at line `i`: 1 or -1 where the object has crossed it, else 0. */
static int cross(const struct bd_marks *marks, struct bd_mark_state *state, int i,
                 struct bd_point foot, double margin)
{
    const struct bd_point *line = marks->shapes[i].polygon.points;
    const double distance = bd_line_side(line[0], line[1], foot);
    const int8_t side = distance > 0 ? 1 : distance < 0 ? -1 : state->lines[i].nearest;
    if (state->begun && side != state->lines[i].nearest)
        state->lines[i].met = bd_line_met(line[0], line[1], state->foot, foot);
    state->lines[i].nearest = side;
    if (fabs(distance) < margin || side == state->lines[i].side)
        return 0;
    const bool crossed = state->lines[i].side && state->lines[i].met;
    state->lines[i].side = side;
    return crossed ? side : 0;
}

/* Whether the object has entered or left zone `i`; the zone knows which. */
static bool pass(const struct bd_marks *marks, struct bd_mark_state *state, int i,
                 struct bd_point foot, double margin)
{
    const struct bd_polygon *zone = &marks->shapes[marks->lines + i].polygon;
    bool *inside = &state->zones[i].inside;
    const bool now = bd_polygon_contains(zone, foot);
    if (now == *inside || (*inside && bd_polygon_distance(zone, foot) < margin))
        return false;
    *inside = now;
    return true;
}

/* The mark of entering or leaving zone `i`. */
static struct bd_mark zone_mark(const struct bd_marks *marks, struct bd_mark_state *state, int i,
                                int64_t time)
{
    const char *name = marks->shapes[marks->lines + i].name;
    if (!state->zones[i].inside)
        return (struct bd_mark){ .kind = BD_ZONE_LEFT,
                                 .name = name,
                                 .stay = time - state->zones[i].since };
    state->zones[i].since = time;
    return (struct bd_mark){ .kind = BD_ZONE_ENTERED, .name = name };
}

int bd_marks_see(const struct bd_marks *marks, struct bd_mark_state *state,
                 struct bd_mark out[bd_marks_most], const struct bd_object *object, int64_t time)
{
    const struct bd_point foot = { object->x + object->width / 2.,
                                   object->y + object->height - .5 };
    const double margin = fmax(2, object->height / (object->group ? 3. : 10.));
    int count = 0;
    for (int i = 0; i < marks->lines; i++) {
        const int direction = cross(marks, state, i, foot, margin);
        if (direction)
            out[count++] = (struct bd_mark){ .kind = BD_LINE_CROSSED,
                                             .name = marks->shapes[i].name,
                                             .direction = direction };
    }
    for (int i = 0; i < marks->count - marks->lines; i++)
        if (pass(marks, state, i, foot, margin))
            out[count++] = zone_mark(marks, state, i, time);
    state->foot = foot;
    state->begun = true;
    return count;
}

int bd_marks_lose(const struct bd_marks *marks, struct bd_mark_state *state,
                  struct bd_mark out[bd_marks_most], int64_t time)
{
    int count = 0;
    for (int i = 0; i < marks->count - marks->lines; i++) {
        if (!state->zones[i].inside)
            continue;
        state->zones[i].inside = false;
        out[count++] = zone_mark(marks, state, i, time);
    }
    return count;
}

void bd_marks_total(struct bd_marks *marks, const struct bd_mark *mark)
{
    for (int i = 0; i < marks->count; i++) {
        struct bd_mark_total *total = &marks->totals[i];
        if (total->name != mark->name)
            continue;
        total->right += mark->kind == BD_LINE_CROSSED && mark->direction > 0;
        total->left += mark->kind == BD_LINE_CROSSED && mark->direction < 0;
        total->entered += mark->kind == BD_ZONE_ENTERED;
        total->out += mark->kind == BD_ZONE_LEFT;
        if (mark->kind == BD_ZONE_LEFT &&
            __builtin_add_overflow(total->stay, mark->stay, &total->stay))
            total->stay = INT64_MAX;
    }
}
