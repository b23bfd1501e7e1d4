/* Visits, lines and zones, of objects by hand. Times are tenths of a second. */
#include "tests/app/activity_fixture.h"

#include "tests/support/random.h"

/* What happened, in order, as text: "begin 1;cross 1 gate right;end 1;" and the events as they
 * ended. */
struct story {
    char text[4096];
    struct bd_event ended[64];
    int64_t tracks[64][8];
    struct bd_path_point path[256];
    int count;
};

static void tell(struct story *story, const struct field *field)
{
    static const char *const names[] = { "begin", "change", "end", "cross", "enter", "leave" };
    int count;
    const struct bd_happening *happenings = bd_activity_happenings(field->activity, &count);
    for (int i = 0; i < count; i++) {
        const struct bd_happening *h = &happenings[i];
        size_t used = strlen(story->text);
        char more[64] = "";
        if (h->kind == BD_LINE_CROSSED)
            snprintf(more, sizeof more, " %d %s %s", (int)h->object, h->name,
                     h->direction > 0 ? "right" : "left");
        else if (h->kind > BD_LINE_CROSSED)
            snprintf(more, sizeof more, " %d %s", (int)h->object, h->name);
        if (h->kind == BD_ZONE_LEFT)
            snprintf(more + strlen(more), sizeof more - strlen(more), " %.1f",
                     (double)h->stay / 1e9);
        if (h->kind != BD_EVENT_CHANGED)
            snprintf(story->text + used, sizeof story->text - used, "%s %d%s;", names[h->kind],
                     (int)h->event->number, more);
        if (h->kind != BD_EVENT_ENDED)
            continue;
        assert_true(h->event->ended);
        assert_true(story->count < 64);
        story->ended[story->count] = *h->event;
        for (int t = 0; t < h->event->track_count && t < 8; t++)
            story->tracks[story->count][t] = h->event->tracks[t];
        memcpy(story->path, h->event->path, (size_t)h->event->path_count * sizeof *story->path);
        story->count++;
    }
}

/* A frame with at most two objects; id 0: none. */
static void show(struct field *field, struct story *story, int64_t pts, struct bd_object a,
                 struct bd_object b)
{
    struct bd_object objects[2];
    int count = 0;
    if (a.id)
        objects[count++] = a;
    if (b.id)
        objects[count++] = b;
    add_frame(field, pts, objects, count);
    tell(story, field);
}

static const struct bd_object nobody = { 0 };

static void end(struct field *field, struct story *story)
{
    assert_int_equal(bd_activity_finish(field->activity), BD_OK);
    tell(story, field);
    int count;
    bd_activity_events(field->activity, &count);
    assert_int_equal(count, 0);
    close_field(field);
}

/* An object comes at 1.0 s, is confirmed at 1.2 and gone after 3.0. */
static void a_visit_has_its_times_and_sizes(void **state)
{
    struct field field = { 0 };
    struct story story = { 0 };
    (void)state;
    open_field(&field, 10);
    for (int i = 0; i < 60; i++) {
        struct bd_object object = object_at(1, 50 + i, 200, 1);
        object.area = i == 20 ? 900 : 400;
        int count;
        show(&field, &story, i, i >= 12 && i <= 30 ? object : nobody, nobody);
        bd_activity_events(field.activity, &count);
        assert_int_equal(count, i >= 12 && i <= 50);
    }
    assert_string_equal(story.text, "begin 1;end 1;");
    assert_int_equal(bd_activity_event_count(field.activity), 1);
    const struct bd_event *event = &story.ended[0];
    assert_int_equal(event->start, 1000000000);
    assert_int_equal(event->first_frame, 10);
    assert_int_equal(event->end, 3000000000);
    assert_int_equal(event->last_frame, 30);
    assert_int_equal(event->peak_time, 2000000000);
    assert_int_equal(event->peak_frame, 20);
    assert_int_equal(event->frames, 19);
    assert_int_equal(event->objects, 1);
    assert_true(event->peak_fraction == 900. / (field_width * field_height));
    assert_true(event->total > event->peak_fraction);
    assert_int_equal(event->box.x, 60);
    assert_int_equal(event->box.y, 161);
    assert_int_equal(event->extent.x, 52);
    assert_int_equal(event->extent.width, 18 + 20);
    assert_int_equal(event->path_count, 19);
    assert_int_equal(story.path[0].x, 62);
    assert_int_equal(story.path[0].y, 200);
    assert_int_equal(story.path[0].time, 1200000000);
    assert_int_equal(story.path[18].x, 80);
    end(&field, &story);
}

static void a_step_is_told_of_every_second(void **state)
{
    struct field field = { 0 };
    int changes = 0;
    (void)state;
    open_field(&field, 10);
    for (int i = 0; i <= 50; i++) {
        struct bd_object objects[2] = { object_at(1, 100, 200, 0), object_at(2, 110, 200, 2.5) };
        objects[1].parent = 1;
        int count;
        add_frame(&field, i, objects, i >= 25 ? 2 : 1);
        const struct bd_happening *happenings = bd_activity_happenings(field.activity, &count);
        assert_int_equal(count, i == 1 || i == 11 || i == 21 || i == 25 || i == 35 || i == 45);
        changes += count == 1 && happenings[0].kind == BD_EVENT_CHANGED;
    }
    assert_int_equal(changes, 5);
    close_field(&field);
}

/* Two who cross stay two events, also while they are one component. */
static void who_crosses_stays_apart(void **state)
{
    struct field field = { 0 };
    struct story story = { 0 };
    (void)state;
    open_field(&field, 10);
    for (int i = 0; i < 30; i++) {
        struct bd_object a = object_at(1, 50 + 10 * i, 200, 0);
        struct bd_object b = object_at(2, 340 - 10 * i, 200, 0);
        a.group = b.group = i > 12 && i < 17;
        b.seen = i != 15;
        show(&field, &story, i, a, b);
    }
    end(&field, &story);
    assert_string_equal(story.text, "begin 1;begin 2;end 1;end 2;");
    assert_int_equal(story.ended[0].objects, 1);
    assert_int_equal(story.ended[1].frames, 29);
}

static void who_comes_out_of_another_joins(void **state)
{
    struct field field = { 0 };
    struct story story = { 0 };
    (void)state;
    open_field(&field, 10);
    for (int i = 0; i < 40; i++) {
        struct bd_object child = object_at(7, 350, 100, 1.5);
        child.parent = 3;
        show(&field, &story, i, i < 25 ? object_at(3, 50 + i, 200, 0) : nobody,
             i >= 17 ? child : nobody);
    }
    end(&field, &story);
    assert_string_equal(story.text, "begin 1;end 1;");
    assert_int_equal(story.ended[0].track_count, 2);
    assert_int_equal(story.tracks[0][0], 3);
    assert_int_equal(story.tracks[0][1], 7);
    assert_int_equal(story.ended[0].objects, 2);
    assert_int_equal(story.ended[0].end, 3900000000);
    /* the path is that of the first that is seen */
    assert_int_equal(story.path[24].x, 74);
    assert_int_equal(story.path[25].x, 350);
}

/* The second object comes `gap` tenths after the first was lost at x = 100. */
static int count_visits(int gap, int x, double merge_window, double post)
{
    struct field field = { .options = { .merge_window = merge_window, .time_post_event = post } };
    struct story story = { 0 };
    open_field(&field, 10);
    for (int i = 0; i < 20; i++)
        show(&field, &story, i, object_at(1, 100, 200, 0), nobody);
    for (int i = 20; i < 19 + gap; i++)
        show(&field, &story, i, nobody, nobody);
    for (int i = 19 + gap; i < 40 + gap; i++)
        show(&field, &story, i, object_at(2, x, 200, 1.9 + gap / 10.), nobody);
    end(&field, &story);
    return story.count;
}

static void who_comes_back_goes_on_with_the_visit(void **state)
{
    (void)state;
    assert_int_equal(count_visits(9, 120, 0, 0), 1);
    assert_int_equal(count_visits(11, 120, 0, 0), 2);  /* too late */
    assert_int_equal(count_visits(9, 200, 0, 0), 2);   /* too far */
    assert_int_equal(count_visits(40, 120, 5, 0), 1);  /* the window counts, */
    assert_int_equal(count_visits(40, 120, 5, .5), 1); /* also where it is longer than the other */
    assert_int_equal(count_visits(15, 120, 0, 9), 2);  /* and alone */
    assert_int_equal(count_visits(1, 100, BD_NONE, 0), 2);
}

/* One number, seen again after `gap` tenths. */
static int count_returns(int gap, double post)
{
    struct field field = { .options = { .merge_window = BD_NONE, .time_post_event = post } };
    struct story story = { 0 };
    open_field(&field, 10);
    for (int i = 0; i < 40 + gap; i++) {
        struct bd_object object = object_at(1, 100, 200, 0);
        object.seen = i < 20 || i >= 19 + gap;
        show(&field, &story, i, object, nobody);
    }
    end(&field, &story);
    if (story.count == 2) {
        assert_int_equal(story.ended[1].start, (19 + gap) * INT64_C(100000000));
        assert_int_equal(story.ended[1].first_frame, 19 + gap);
    }
    return story.count;
}

static void an_event_is_over_after_its_time(void **state)
{
    (void)state;
    assert_int_equal(count_returns(20, 0), 1);
    assert_int_equal(count_returns(22, 0), 2);
    assert_int_equal(count_returns(5, .5), 1);
    assert_int_equal(count_returns(7, .5), 2);
    assert_int_equal(count_returns(2, BD_NONE), 2);
    assert_int_equal(count_returns(90, 9), 1);
}

static void a_short_visit_is_none(void **state)
{
    (void)state;
    for (int frames = 1; frames < 20; frames++) {
        struct field field = { .options = { .min_event_length = 1 } };
        struct story story = { 0 };
        open_field(&field, 10);
        for (int i = 0; i < 60; i++) {
            show(&field, &story, i, i < frames ? object_at(1, 100, 200, 0) : nobody,
                 i > 30 ? object_at(2, 300, 200, 3.1) : nobody);
            if (i < 30)
                assert_int_equal(*story.text != 0, i >= 10 && frames > 10);
        }
        /* numbers have no gaps */
        assert_int_equal(bd_activity_event_count(field.activity), frames > 10 ? 2 : 1);
        end(&field, &story);
        assert_string_equal(story.text,
                            frames > 10 ? "begin 1;end 1;begin 2;end 2;" : "begin 1;end 1;");
        assert_int_equal(story.ended[story.count - 1].start, 3100000000);
    }
}

/* Less than 0.05 % of the picture. */
static void a_speck_is_no_event(void **state)
{
    (void)state;
    for (int area = 59; area <= 60; area++) {
        struct field field = { 0 };
        struct story story = { 0 };
        open_field(&field, 10);
        for (int i = 0; i < 30; i++) {
            struct bd_object speck = object_at(1, 100, 200, 0);
            speck.area = area;
            show(&field, &story, i, speck, nobody);
        }
        end(&field, &story);
        assert_int_equal(story.count, area == 60);
    }
}

static void a_step_back_in_time_ends_all(void **state)
{
    struct field field = { 0 };
    struct story story = { 0 };
    (void)state;
    open_field(&field, 10);
    for (int i = 0; i < 20; i++)
        show(&field, &story, 100 + i, object_at(1, 100, 200, 10), nobody);
    for (int i = 0; i < 20; i++)
        show(&field, &story, 50 + i, object_at(2, 100, 200, 1), nobody);
    end(&field, &story);
    assert_string_equal(story.text, "begin 1;end 1;begin 2;end 2;");
    assert_int_equal(story.ended[1].start, 5000000000);
}

/* A path keeps its beginning and its newest point, and at most 256. */
static void long_paths_are_thinned(void **state)
{
    (void)state;
    static const int lengths[] = { 255, 256, 257, 400, 1000, 5000 };
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
        struct field field = { 0 };
        struct story story = { 0 };
        open_field(&field, 10);
        for (int i = 0; i < lengths[l]; i++)
            show(&field, &story, i, object_at(1, 100 + i, 200, 0), nobody);
        end(&field, &story);
        const int count = story.ended[0].path_count;
        assert_in_range(count, lengths[l] < 256 ? lengths[l] : 128, 256);
        assert_int_equal(story.path[0].x, 100);
        assert_int_equal(story.path[count - 1].x, 100 + lengths[l] - 1);
        const int step = story.path[1].x - story.path[0].x;
        for (int i = 1; i + 1 < count; i++) {
            assert_int_equal(story.path[i].x - story.path[i - 1].x, step);
            assert_int_equal(story.path[i].time, (story.path[i].x - 100) * INT64_C(100000000));
        }
    }
}

/* 128 events at a time: more objects join the nearest. */
static void more_objects_than_events_join(void **state)
{
    static struct bd_object objects[200];
    struct field field = { .options = { .min_event_length = BD_NONE } };
    struct story story = { 0 };
    int count;
    (void)state;
    open_field(&field, 10);
    for (int i = 0; i < 200; i++)
        objects[i] = object_at(i + 1, 20 * (i % 20), 40 + 25 * (i / 20), 0);
    for (int i = 0; i < 3; i++)
        add_frame(&field, i, objects, 200);
    const struct bd_event *const *events = bd_activity_events(field.activity, &count);
    assert_int_equal(count, 128);
    int tracks = 0;
    for (int i = 0; i < count; i++) {
        assert_int_equal(events[i]->number, i + 1);
        tracks += events[i]->track_count;
    }
    assert_int_equal(tracks, 200);
    for (int i = 3; i < 40; i++)
        add_frame(&field, i, NULL, 0);
    bd_activity_events(field.activity, &count);
    assert_int_equal(count, 0);
    for (int i = 40; i < 50; i++)
        show(&field, &story, i, object_at(900, 100, 200, 4), nobody);
    assert_string_equal(story.text, "begin 129;");
    close_field(&field);
}

/* An event names its first 256 tracks, and goes on with others. */
static void one_visit_has_many_tracks(void **state)
{
    struct field field = { 0 };
    struct story story = { 0 };
    (void)state;
    open_field(&field, 10);
    for (int i = 0; i < 600; i++)
        show(&field, &story, i, object_at(i + 1, 100, 200, i / 10.), nobody);
    end(&field, &story);
    assert_string_equal(story.text, "begin 1;end 1;");
    assert_int_equal(story.ended[0].track_count, 256);
    assert_int_equal(story.ended[0].frames, 600);
}

/* Who comes out of an object that the event no longer names belongs to it as well. */
static void children_of_many_tracks_join(void **state)
{
    struct field field = { .options = { .merge_window = BD_NONE } };
    struct story story = { 0 };
    (void)state;
    open_field(&field, 10);
    for (int i = 0; i < 600; i++) {
        struct bd_object parent = object_at(i + 1, i % 2 ? 350 : 50, 200, i / 10.);
        struct bd_object child = object_at(i + 2, i % 2 ? 50 : 350, 200, i / 10.);
        parent.parent = i;
        child.parent = i + 1;
        show(&field, &story, i, parent, child);
    }
    end(&field, &story);
    assert_string_equal(story.text, "begin 1;end 1;");
    assert_int_equal(story.ended[0].track_count, 256);
}

/* Whatever the tracker says, what is told is in order. */
static void events_of_random_objects_begin_and_end(void **state)
{
    uint32_t seed = 7;
    (void)state;
    struct field field = { 0 };
    bool open[4096] = { false };
    int64_t begun = 0, ended = 0, time = 0;
    const char *line = "a=200,0,200,300", *zone = "z=100,100,300,100,300,250,100,250";
    field.options.lines = (struct bd_texts){ { line }, 1 };
    field.options.zones = (struct bd_texts){ { zone }, 1 };
    open_field(&field, 10);
    for (int frame = 0; frame <= 4000; frame++) {
        struct bd_object objects[24];
        int count = (int)(random_bits(&seed) % 24), told;
        int64_t id = 1 + frame / 4;
        for (int i = 0; i < count; i++) {
            objects[i] =
                object_at(id, (int)(random_bits(&seed) % 400), 40 + (int)(random_bits(&seed) % 260),
                          (double)time / 10 - (double)(random_bits(&seed) % 9) / 10);
            objects[i].parent = (int64_t)(random_bits(&seed) % (uint32_t)id);
            objects[i].seen = random_bits(&seed) % 4 > 0;
            id += 1 + (int64_t)(random_bits(&seed) % 3);
        }
        time += random_bits(&seed) % 50 ? 1 : 40;
        if (frame < 4000)
            add_frame(&field, time, objects, count);
        else
            assert_int_equal(bd_activity_finish(field.activity), BD_OK);
        const struct bd_happening *h = bd_activity_happenings(field.activity, &told);
        for (int i = 0; i < told; i++) {
            int64_t number = h[i].event->number;
            assert_in_range(number, 1, 4095);
            assert_int_equal(open[number], h[i].kind != BD_EVENT_BEGAN);
            assert_true(h[i].event->start <= h[i].event->end);
            begun += h[i].kind == BD_EVENT_BEGAN;
            ended += h[i].kind == BD_EVENT_ENDED;
            if (h[i].kind == BD_EVENT_BEGAN)
                assert_int_equal(number, begun);
            open[number] = h[i].kind != BD_EVENT_ENDED;
        }
    }
    print_message("%d events\n", (int)begun);
    assert_true(begun > 20);
    assert_int_equal(begun, ended);
    int count;
    const struct bd_mark_total *totals = bd_activity_totals(field.activity, &count);
    assert_int_equal(count, 2);
    assert_true(totals[0].right > 0 && totals[0].left > 0);
    assert_true(totals[1].entered > 0);
    assert_int_equal(totals[1].entered, totals[1].out); /* who enters leaves */
    close_field(&field);
}

/* Feet at x, frame by frame, of an object that comes at time 0. */
static void walk(struct field *field, struct story *story, const int *x, int count, int y)
{
    for (int i = 0; i < count; i++)
        show(field, story, i, object_at(1, x[i], y, 0), nobody);
}

static void a_line_is_crossed_by_direction(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        int y;
        int x[8];
        const char *told;
    } rows[] = {
        /* upward: the right is that of the picture */
        { "g=200,300,200,0",
          200,
          { 100, 120, 150, 170, 190, 210, 230, 250 },
          "cross 1 1 g right;" },
        { "g=200,0,200,300", 200, { 100, 120, 150, 170, 190, 210, 230, 250 }, "cross 1 1 g left;" },
        { "g=200,300,200,0", 200, { 300, 280, 260, 240, 210, 190, 170, 150 }, "cross 1 1 g left;" },
        /* in one jump */
        { "g=200,300,200,0",
          200,
          { 100, 100, 100, 100, 390, 390, 390, 390 },
          "cross 1 1 g right;" },
        /* who stands on the line counts once */
        { "g=200,300,200,0",
          200,
          { 180, 190, 199, 201, 198, 203, 199, 215 },
          "cross 1 1 g right;" },
        { "g=200,300,200,0", 200, { 180, 199, 201, 198, 203, 199, 203, 180 }, "" },
        /* and who turns back twice */
        { "g=200,300,200,0",
          200,
          { 180, 190, 210, 220, 200, 180, 170, 160 },
          "cross 1 1 g right;cross 1 1 g left;" },
        /* who appears on it, on neither side */
        { "g=200,300,200,0", 200, { 201, 199, 200, 202, 215, 220, 230, 240 }, "" },
        /* past its ends */
        { "g=200,190,200,0", 200, { 100, 120, 150, 170, 190, 210, 230, 250 }, "" },
        { "g=200,300,200,210", 200, { 100, 120, 150, 170, 190, 210, 230, 250 }, "" },
        { "g=200,205,200,195",
          200,
          { 100, 120, 150, 170, 190, 210, 230, 250 },
          "cross 1 1 g right;" },
        /* along it */
        { "g=100,200,300,200", 200, { 50, 100, 150, 200, 250, 300, 350, 360 }, "" },
        /* aslant */
        { "g=150,250,250,150",
          200,
          { 100, 120, 150, 170, 190, 210, 230, 250 },
          "cross 1 1 g right;" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct field field = { .options = { .lines = { { rows[i].line }, 1 } } };
        struct story story = { 0 };
        char wanted[128];
        open_field(&field, 10);
        walk(&field, &story, rows[i].x, 8, rows[i].y);
        end(&field, &story);
        snprintf(wanted, sizeof wanted, "begin 1;%send 1;", rows[i].told);
        if (strcmp(story.text, wanted) != 0)
            print_error("row %d: %s\n", (int)i, story.text);
        assert_string_equal(story.text, wanted);
    }
}

/* The foot of one in a group is an estimate: it must be farther away. */
static void groups_cross_when_they_are_far(void **state)
{
    (void)state;
    static const int x[] = { 150, 170, 190, 210, 192, 208, 190, 210, 230, 250 };
    for (int group = 0; group < 2; group++) {
        struct field field = { .options = { .lines = { { "g=200,300,200,0" }, 1 } } };
        struct story story = { 0 };
        open_field(&field, 10);
        for (int i = 0; i < 10; i++) {
            struct bd_object object = object_at(1, x[i], 200, 0);
            object.group = group;
            show(&field, &story, i, object, nobody);
        }
        end(&field, &story);
        assert_int_equal(strcmp(story.text, "begin 1;cross 1 1 g right;end 1;") == 0, group);
    }
}

/* What an object does before its visit is an event is told with it; else it does not count. */
static void crossings_of_no_event_do_not_count(void **state)
{
    (void)state;
    for (int frames = 5; frames < 20; frames += 10) {
        struct field field = { .options = { .min_event_length = 1,
                                            .lines = { { "g=200,300,200,0" }, 1 } } };
        struct story story = { 0 };
        int count;
        open_field(&field, 10);
        for (int i = 0; i < 40; i++) {
            show(&field, &story, i, i < frames ? object_at(1, 150 + 20 * i, 200, 0) : nobody,
                 nobody);
            const struct bd_happening *h = bd_activity_happenings(field.activity, &count);
            if (i == 10 && frames > 10) {
                assert_int_equal(count, 2);
                assert_int_equal(h[1].kind, BD_LINE_CROSSED);
                assert_int_equal(h[1].frame, 3);
                assert_int_equal(h[1].time, 300000000);
            }
        }
        const struct bd_mark_total *total = bd_activity_totals(field.activity, &count);
        assert_int_equal(count, 1);
        assert_string_equal(total->name, "g");
        assert_int_equal(total->right, frames > 10);
        assert_int_equal(total->left, 0);
        if (frames > 10) {
            assert_int_equal(story.ended[0].mark_count, 1);
            assert_string_equal(story.text, "begin 1;cross 1 1 g right;end 1;");
        }
        close_field(&field);
    }
}

static void zones_are_entered_and_left(void **state)
{
    (void)state;
    static const int x[] = { 50, 80, 99, 101, 99, 97, 101, 120, 140, 155, 170, 190, 200 };
    struct field field = { .options = {
                               .zones = { { "a=100,150,150,150,150,250,100,250",
                                            "all=0,0,400,0,400,300,0,300", "b=300,0,400,0,400,9" },
                                          3 } } };
    struct story story = { 0 };
    int count;
    open_field(&field, 10);
    walk(&field, &story, x, 13, 200);
    for (int i = 13; i < 40; i++) /* hidden, then gone */
        show(&field, &story, i, nobody, nobody);
    assert_string_equal(story.text, "begin 1;enter 1 1 all;enter 1 1 a;leave 1 1 a 0.6;"
                                    "leave 1 1 all 1.2;end 1;");
    const struct bd_mark_total *totals = bd_activity_totals(field.activity, &count);
    assert_int_equal(count, 3);
    assert_true(totals[0].zone && totals[1].zone && totals[2].zone);
    assert_int_equal(totals[0].entered, 1);
    assert_int_equal(totals[0].out, 1);
    assert_int_equal(totals[0].stay, 600000000);
    assert_int_equal(totals[1].stay, 1200000000);
    assert_int_equal(totals[2].entered, 0);
    close_field(&field);
}

/* Marks that were told make room for others; all are counted. */
static void an_event_keeps_its_newest_marks(void **state)
{
    struct field field = { .options = { .lines = { { "g=200,300,200,0" }, 1 } } };
    struct story story = { 0 };
    int count;
    (void)state;
    open_field(&field, 10);
    for (int i = 0; i < 151; i++)
        show(&field, &story, i, object_at(1, i % 2 ? 250 : 150, 200, 0), nobody);
    const struct bd_mark_total *total = bd_activity_totals(field.activity, &count);
    assert_int_equal(total->right, 75);
    assert_int_equal(total->left, 75);
    const struct bd_event *const *events = bd_activity_events(field.activity, &count);
    assert_int_equal(count, 1);
    assert_int_equal(events[0]->mark_count, 64);
    assert_int_equal(events[0]->marks[63].frame, 150);
    assert_int_equal(events[0]->marks[0].frame, 87);
    close_field(&field);
}

static void bad_lines_and_zones_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *line, *zone, *message;
    } rows[] = {
        { "g", NULL, "--line g: must be NAME=x,y,x,y,..." },
        { "=1,2,3,4", NULL, "--line =1,2,3,4: must be NAME=x,y,x,y,..." },
        { "a,b=1,2,3,4", NULL, "--line a,b: the name may not contain , ; : \\ or \"" },
        { "a\nb=1,2,3,4", NULL, NULL },
        { "g=", NULL, "--line g: is empty: must be numbers with commas" },
        { "g=1,2,3", NULL, "--line g: 1,2,3: has 3 numbers; a point is two, x,y" },
        { "g=1,2", NULL, "--line g: 1,2: a line has two points, not 1" },
        { "g=1,2,3,4,5,6", NULL, "--line g: 1,2,3,4,5,6: a line has two points, not 3" },
        { "g=1,2,3,x", NULL, "--line g: 1,2,3,x: must be numbers with commas, as in 10,20,30,40" },
        { "g=1,2,3,nan", NULL, NULL },
        { "g=0x1,2,3,4", NULL, NULL },
        { "g=1,2,3,4;5,6", NULL, "--line g: 1,2,3,4;5,6: must be numbers with commas alone" },
        { "g=1,2,1,2", NULL, "--line g: 1,2,1,2: its two points are the same" },
        { "g=900,10,3,4", NULL, "--line g: point 900,10 is outside of the 400x300 picture" },
        { "g=1,2,3,-4", NULL, "--line g: point 3,-4 is outside of the 400x300 picture" },
        { NULL, "z=1,2,3,4", "--zone z: 1,2,3,4: a zone has 3 points at least, not 2" },
        { NULL, "z=1,2,3,4,5,300.5", "--zone z: point 5,300.5 is outside of the 400x300 picture" },
        { "g=1,2,3,4", "g=1,2,3,4,5,6", "--zone g: a line or zone before has this name" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bd_options options = { 0 };
        struct bd_reader_info info = { .width = 400, .height = 300, .time_base = { 1, 10 } };
        struct bd_activity *activity;
        options.lines = (struct bd_texts){ { rows[i].line }, rows[i].line != NULL };
        options.zones = (struct bd_texts){ { rows[i].zone }, rows[i].zone != NULL };
        assert_int_equal(bd_activity_create(&activity, &options, &info), BD_ERROR_ARGUMENT);
        assert_null(activity);
        if (rows[i].message)
            assert_string_equal(bd_error_detail(), rows[i].message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_visit_has_its_times_and_sizes),
        cmocka_unit_test(a_step_is_told_of_every_second),
        cmocka_unit_test(who_crosses_stays_apart),
        cmocka_unit_test(who_comes_out_of_another_joins),
        cmocka_unit_test(who_comes_back_goes_on_with_the_visit),
        cmocka_unit_test(an_event_is_over_after_its_time),
        cmocka_unit_test(a_short_visit_is_none),
        cmocka_unit_test(a_speck_is_no_event),
        cmocka_unit_test(a_step_back_in_time_ends_all),
        cmocka_unit_test(long_paths_are_thinned),
        cmocka_unit_test(more_objects_than_events_join),
        cmocka_unit_test(one_visit_has_many_tracks),
        cmocka_unit_test(children_of_many_tracks_join),
        cmocka_unit_test(events_of_random_objects_begin_and_end),
        cmocka_unit_test(a_line_is_crossed_by_direction),
        cmocka_unit_test(groups_cross_when_they_are_far),
        cmocka_unit_test(crossings_of_no_event_do_not_count),
        cmocka_unit_test(zones_are_entered_and_left),
        cmocka_unit_test(an_event_keeps_its_newest_marks),
        cmocka_unit_test(bad_lines_and_zones_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
