/* Objects by hand, frame by frame, for tests of what happens. */
#ifndef BD_TESTS_APP_ACTIVITY_FIXTURE_H
#define BD_TESTS_APP_ACTIVITY_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "app/activity/activity.h"

enum { field_width = 400, field_height = 300 };

/* An input and what is told of it. */
struct field {
    struct bd_options options;
    struct bd_reader_info info;
    struct bd_activity *activity;
    struct bd_frame mask; /* without pixels: the activity looks at none */
    struct bd_result result;
};

/* Frames of 400x300 with times in units of 1/den seconds. */
static inline void open_field(struct field *field, int64_t den)
{
    field->info = (struct bd_reader_info){ .width = field_width,
                                           .height = field_height,
                                           .time_base = { 1, den },
                                           .live = field->info.live };
    field->mask = (struct bd_frame){ .width = field_width, .height = field_height, .index = -1 };
    assert_int_equal(bd_activity_create(&field->activity, &field->options, &field->info), BD_OK);
}

/* A seen object of 20x40 pixels, whose foot is the middle of its lower side. */
static inline struct bd_object object_at(int64_t id, int foot_x, int foot_y, double since)
{
    return (struct bd_object){ .id = id,
                               .x = foot_x - 10,
                               .y = foot_y - 39,
                               .width = 20,
                               .height = 40,
                               .area = 400,
                               .confidence = 1,
                               .since = since,
                               .seen = true };
}

/* The next frame, of this time, shows these objects. */
static inline void add_frame(struct field *field, int64_t pts, const struct bd_object *objects,
                             int count)
{
    field->mask.pts = pts;
    field->mask.index++;
    field->result = (struct bd_result){ .mask = &field->mask,
                                        .objects = objects,
                                        .object_count = count,
                                        .time = (double)pts * (double)field->info.time_base.num /
                                                (double)field->info.time_base.den };
    assert_int_equal(bd_activity_add(field->activity, &field->result), BD_OK);
}

static inline void close_field(struct field *field)
{
    bd_activity_destroy(&field->activity);
    assert_null(field->activity);
}

#endif
