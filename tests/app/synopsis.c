/* The synopsis: objects are cut out and kept, and become a film. */
#include "tests/app/cli_fixture.h"

#include <math.h>

#include "app/export/output.h"
#include "app/summary/compose.h"
#include "app/summary/cutout.h"
#include "app/summary/label.h"
#include "app/summary/plates.h"
#include "app/summary/schedule.h"
#include "tests/support/quick.h"
#include "video/input/reader.h"

enum { width = 320, height = 240, most = 64 };

/* What a test of tubes needs. */
struct store {
    struct bd_scratch file;
    struct bd_jpeg *jpeg;
    struct bd_tubes tubes;
};

static void open_store(struct store *store, const char *folder)
{
    char path[512];
    snprintf(path, sizeof path, "%s/synopsis.mp4", folder);
    memset(store, 0, sizeof *store);
    assert_int_equal(bd_scratch_open(&store->file, path), BD_OK);
    assert_int_equal(bd_jpeg_create(&store->jpeg), BD_OK);
    store->tubes = (struct bd_tubes){ .file = &store->file, .jpeg = store->jpeg };
}

static void close_store(struct store *store)
{
    bd_tubes_release(&store->tubes);
    bd_jpeg_destroy(&store->jpeg);
    bd_scratch_close(&store->file);
}

/* A smooth picture with an elliptic object, different for each number. */
static void make_patch(struct bd_patch *patch, int number)
{
    int w = 21 + 13 * (number % 5), h = 40 + 29 * (number % 7);
    assert_int_equal(bd_frame_ensure(&patch->picture, w, h, BD_RGB24), BD_OK);
    patch->mask = realloc(patch->mask, (size_t)w * (size_t)h);
    assert_non_null(patch->mask);
    patch->time = 100 + number * 0.1;
    patch->x = number;
    patch->y = 2 * number;
    patch->box = (struct bd_box){ number + 1, 2 * number + 1, w - 2, h - 2 };
    patch->area = 0;
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            double u = (2.0 * x - w) / w, v = (2.0 * y - h) / h;
            uint8_t *rgb = patch->picture.data + y * patch->picture.stride + 3L * x;
            patch->mask[y * w + x] = u * u + v * v < 0.7 || number % 3 == 1 ? 255 : 0;
            patch->area += patch->mask[y * w + x] != 0;
            rgb[0] = (uint8_t)(120 + 100 * u);
            rgb[1] = (uint8_t)(100 + 80 * v);
            rgb[2] = (uint8_t)(40 + 9 * number);
        }
}

static double difference(const struct bd_frame *a, const struct bd_frame *b)
{
    double sum = 0;
    for (int y = 0; y < a->height; y++)
        for (int i = 0; i < 3 * a->width; i++) {
            double d = a->data[y * a->stride + i] - b->data[y * b->stride + i];
            sum += d * d;
        }
    return sqrt(sum / (3.0 * a->width * a->height));
}

static void tubes_are_read_as_they_were_written(void **state)
{
    enum { patches = 20, objects = 3 };
    struct store store;
    struct bd_patch patch = { 0 }, back = { 0 };
    open_store(&store, *state);
    for (int i = 0; i < patches; i++)
        for (int64_t id = 1; id <= objects; id++) {
            struct bd_tube *tube;
            make_patch(&patch, i);
            patch.x += (int)id;
            assert_int_equal(bd_tubes_see(&store.tubes, &tube, 10 * id, patch.time), BD_OK);
            assert_int_equal(bd_tubes_add(&store.tubes, tube, &patch), BD_OK);
        }
    assert_int_equal(store.tubes.count, objects);
    assert_null(bd_tubes_find(&store.tubes, 11));
    for (int64_t id = 1; id <= objects; id++) {
        const struct bd_tube *tube = bd_tubes_find(&store.tubes, 10 * id);
        struct bd_patch_head head;
        int i = 0;
        assert_int_equal(tube->patches, patches);
        assert_true(tube->first == 100 && tube->last == 100 + (patches - 1) * 0.1);
        for (int64_t offset = tube->begin; offset >= 0; offset = head.next, i++) {
            make_patch(&patch, i);
            assert_int_equal(bd_tubes_head(&store.tubes, &head, offset), BD_OK);
            assert_int_equal(bd_tubes_load(&store.tubes, &back, &head, offset), BD_OK);
            assert_true(back.time == patch.time && back.area == patch.area);
            assert_true(back.x == patch.x + id && back.y == patch.y);
            assert_memory_equal(&back.box, &patch.box, sizeof patch.box);
            assert_int_equal(back.picture.width, patch.picture.width);
            assert_int_equal(back.picture.height, patch.picture.height);
            assert_memory_equal(back.mask, patch.mask,
                                (size_t)patch.picture.width * (size_t)patch.picture.height);
            assert_true(difference(&back.picture, &patch.picture) < 1.5);
        }
        assert_int_equal(i, patches);
    }
    bd_patch_release(&patch);
    bd_patch_release(&back);
    close_store(&store);
}

/* A day of flicker, and an object that stays for 10 s each hour: these alone are kept. */
static void short_tubes_do_not_fill_the_memory(void **state)
{
    (void)state;
    struct bd_tubes tubes = { .least = 2 };
    struct bd_tube *tube;
    int64_t id = 0;
    for (int second = 0; second < 86400; second++) {
        assert_int_equal(bd_tubes_see(&tubes, &tube, ++id, second), BD_OK);
        assert_int_equal(bd_tubes_see(&tubes, &tube, id, second + .5), BD_OK);
        if (second % 3600 < 10)
            assert_int_equal(bd_tubes_see(&tubes, &tube, 100000000 + second / 3600, second), BD_OK);
    }
    assert_true(tubes.room <= 256);
    assert_int_equal(tubes.count + tubes.forgotten, 86400 + 24);
    for (int hour = 0; hour < 24; hour++) {
        const struct bd_tube *kept = bd_tubes_find(&tubes, 100000000 + hour);
        assert_non_null(kept);
        assert_true(kept->first == hour * 3600 && kept->last == hour * 3600 + 9);
    }
    bd_tubes_release(&tubes);
}

static void damaged_pictures_are_refused(void **state)
{
    (void)state;
    struct bd_jpeg *jpeg;
    struct bd_patch patch = { 0 };
    const uint8_t *data;
    size_t size;
    assert_int_equal(bd_jpeg_create(&jpeg), BD_OK);
    make_patch(&patch, 3);
    assert_int_equal(bd_jpeg_pack(jpeg, &patch.picture, &data, &size), BD_OK);
    assert_int_equal(bd_jpeg_unpack(jpeg, &patch.picture, data, 0), BD_ERROR_FORMAT);
    assert_int_equal(bd_jpeg_unpack(jpeg, &patch.picture, (const uint8_t *)"no picture", 10),
                     BD_ERROR_FORMAT);
    bd_patch_release(&patch);
    bd_jpeg_destroy(&jpeg);
    bd_jpeg_destroy(&jpeg);
}

/* A tube of an object that is seen ten times a second. */
static struct bd_tube *add_tube(struct store *store, int64_t id, double first, double last)
{
    struct bd_tube *tube = NULL;
    struct bd_patch patch = { 0 };
    make_patch(&patch, 0);
    for (int i = 0; first + i / 10.0 <= last + 1e-6; i++) {
        patch.time = first + i / 10.0;
        assert_int_equal(bd_tubes_see(&store->tubes, &tube, id, patch.time), BD_OK);
        assert_int_equal(bd_tubes_add(&store->tubes, tube, &patch), BD_OK);
    }
    bd_patch_release(&patch);
    return tube;
}

static const struct bd_schedule_options schedule_options = {
    .length = 10, .least = 2, .period = 0.1, .width = width, .height = height
};

static const struct bd_showing *showing_of(const struct bd_schedule *schedule, int64_t id)
{
    const struct bd_showing *found = NULL;
    for (int i = 0; i < schedule->count; i++)
        if (schedule->items[i].tube->id == id) {
            assert_null(found); /* none twice */
            found = &schedule->items[i];
        }
    return found;
}

static void each_tube_is_shown_once_and_whole(void **state)
{
    struct store store;
    struct bd_schedule schedule;
    open_store(&store, *state);
    for (int64_t id = 1; id <= 30; id++)
        add_tube(&store, id, 7.0 * (double)id, 7.0 * (double)id + (double)id / 10.0);
    add_tube(&store, 31, 300, 340);                                /* four times the length */
    add_tube(&store, 32, 400, 400);                                /* seen once */
    bd_tubes_see(&store.tubes, &(struct bd_tube *){ 0 }, 33, 500); /* never cut out */
    bd_tubes_see(&store.tubes, &(struct bd_tube *){ 0 }, 33, 520);
    assert_int_equal(bd_schedule_make(&schedule, &store.tubes, &schedule_options), BD_OK);
    for (int64_t id = 1; id <= 33; id++) {
        const struct bd_showing *showing = showing_of(&schedule, id);
        const struct bd_tube *tube = bd_tubes_find(&store.tubes, id);
        if (tube->patches == 0 || tube->last - tube->first < 2) {
            assert_null(showing);
            continue;
        }
        double span = tube->last - tube->first + 0.1;
        assert_non_null(showing);
        assert_true(showing->at >= 0 && showing->at + showing->seconds <= 10 + 1e-9);
        assert_true(showing->speed >= 1);
        assert_true(fabs(showing->seconds * showing->speed - span) < 1e-9);
        assert_true(id == 31 ? showing->speed > 4 : showing->speed == 1);
    }
    assert_true(schedule.end <= 10 + 1e-9);
    bd_schedule_release(&schedule);
    close_store(&store);
}

static void those_who_were_together_stay_so(void **state)
{
    struct store store;
    struct bd_schedule schedule;
    open_store(&store, *state);
    add_tube(&store, 1, 100, 103);
    add_tube(&store, 2, 101, 104);
    add_tube(&store, 3, 103, 106); /* with 1 for a moment: all three would take too long */
    add_tube(&store, 4, 200, 203);
    for (int i = 0; i < 5; i++)
        bd_tube_meets(bd_tubes_find(&store.tubes, 1), 2);
    bd_tube_meets(bd_tubes_find(&store.tubes, 1), 3);
    bd_tube_meets(bd_tubes_find(&store.tubes, 4), 77); /* an object that there is not */
    assert_int_equal(bd_schedule_make(&schedule, &store.tubes, &schedule_options), BD_OK);
    assert_int_equal(schedule.count, 4);
    assert_true(fabs(showing_of(&schedule, 2)->at - showing_of(&schedule, 1)->at - 1) < 1e-9);
    assert_true(showing_of(&schedule, 3)->at - showing_of(&schedule, 1)->at != 3);
    bd_schedule_release(&schedule);
    close_store(&store);
}

/* A film of squares on gray, handed to the output as the pipeline does. */
struct square {
    int64_t id;
    double from, to; /* seconds */
    int x, y, size;  /* where it begins; it goes a pixel to the right a frame */
    uint8_t rgb[3];
};

enum { rate = 10, film_seconds = 40 };

static void paint(struct bd_frame *frame, const struct bd_box *box, const uint8_t *value)
{
    for (int y = box->y; y < box->y + box->height; y++)
        for (int x = box->x; x < box->x + box->width; x++)
            memcpy(frame->data + y * frame->stride + (int64_t)x * frame->format, value,
                   frame->format);
}

static void clear(struct bd_frame *frame, int value)
{
    memset(frame->data, value, (size_t)frame->stride * (size_t)frame->height);
}

/* Squares that touch are a group. The light is that of `light(seconds)`. */
static void run_film(const struct bd_options *options, const char *path,
                     const struct square *squares, int count, int (*light)(double))
{
    static const uint8_t white[1] = { 255 };
    struct bd_frame input = { 0 }, mask = { 0 }, background = { 0 };
    struct bd_object objects[8] = { 0 };
    struct bd_reader_info info = { .width = width,
                                   .height = height,
                                   .time_base = { 1, 1000 },
                                   .frame_rate = { rate, 1 },
                                   .pixel_aspect = { 1, 1 } };
    struct bd_output_setup setup = { &bd_synopsis_output, options, &info, { .channels = 3 }, NULL };
    void *output;
    assert_int_equal(bd_frame_create(&input, width, height, BD_RGB24), BD_OK);
    assert_int_equal(bd_frame_create(&mask, width, height, BD_GRAY8), BD_OK);
    assert_int_equal(bd_frame_create(&background, width / 2, height / 2, BD_RGB24), BD_OK);
    assert_int_equal(bd_synopsis_output.open(&output, path, &setup), BD_OK);
    for (int i = 0; i < film_seconds * rate; i++) {
        struct bd_result result = { .input = &input,
                                    .mask = &mask,
                                    .labels = &mask,
                                    .background = &background,
                                    .objects = objects,
                                    .time = i / (double)rate };
        clear(&input, light(result.time));
        clear(&background, light(result.time));
        clear(&mask, 0);
        for (int j = 0; j < count; j++) {
            const struct square *s = &squares[j];
            if (result.time < s->from || result.time > s->to)
                continue;
            struct bd_box box = { s->x + i - (int)(s->from * rate), s->y, s->size, s->size };
            paint(&input, &box, s->rgb);
            paint(&mask, &box, white);
            objects[result.object_count++] = (struct bd_object){ .id = s->id,
                                                                 .x = box.x,
                                                                 .y = box.y,
                                                                 .width = box.width,
                                                                 .height = box.height,
                                                                 .area = s->size * s->size,
                                                                 .seen = true };
        }
        assert_int_equal(bd_synopsis_output.write(output, &result, NULL), BD_OK);
    }
    assert_int_equal(bd_synopsis_output.close(&output, NULL), BD_OK);
    assert_null(output);
    bd_frame_destroy(&input);
    bd_frame_destroy(&mask);
    bd_frame_destroy(&background);
}

/* The pictures of a film of at most `most`; their number. */
static int read_film(const char *path, struct bd_frame *frames)
{
    struct bd_reader *reader;
    struct bd_reader_options options = { .format = BD_RGB24 };
    int count = 0;
    assert_int_equal(bd_reader_open(&reader, path, &options), BD_OK);
    const struct bd_reader_info info = *bd_reader_get_info(reader);
    assert_int_equal(info.width, width);
    assert_int_equal(info.height, height);
    while (count < most && bd_reader_read(reader, &frames[count]) == BD_OK) {
        double time =
            (double)frames[count].pts * (double)info.time_base.num / (double)info.time_base.den;
        assert_true(fabs(time - count / (double)rate) < 0.0011);
        count++;
    }
    bd_reader_close(&reader);
    return count;
}

static void free_film(struct bd_frame *frames)
{
    for (int i = 0; i < most; i++)
        bd_frame_destroy(&frames[i]);
}

static void assert_pixel(const struct bd_frame *frame, int x, int y, int r, int g, int b)
{
    const uint8_t *rgb = frame->data + y * frame->stride + 3L * x;
    const int wanted[3] = { r, g, b };
    for (int c = 0; c < 3; c++) {
        if (abs(rgb[c] - wanted[c]) > 8)
            print_error("(%d, %d): %d %d %d instead of %d %d %d\n", x, y, rgb[0], rgb[1], rgb[2], r,
                        g, b);
        assert_true(abs(rgb[c] - wanted[c]) <= 8);
    }
}

static int constant_light(double time)
{
    (void)time;
    return 100;
}

static int brighter_at_the_end(double time)
{
    return time < 20 ? 100 : 130;
}

static const struct square two_squares[] = { { 1, 2, 5, 40, 60, 40, { 220, 40, 40 } },
                                             { 2, 30, 33, 60, 160, 40, { 40, 40, 220 } },
                                             { 3, 20, 21, 200, 60, 40, { 40, 220, 40 } } };

static void objects_of_different_times_are_in_one_picture(void **state)
{
    static struct bd_frame frames[most];
    char path[512];
    struct bd_options options = { .length = 6, .codec = "ffv1" };
    snprintf(path, sizeof path, "%s/s.mkv", (char *)*state);
    run_film(&options, path, two_squares, 3, constant_light);
    int count = read_film(path, frames);
    assert_int_equal(count, 31); /* both at once: the length of one */
    for (int i = 0; i < count; i++) {
        assert_pixel(&frames[i], 40 + i + 20, 80, 220, 40, 40);
        assert_pixel(&frames[i], 40 + i + 4, 64, 220, 40, 40); /* whole, to the edge */
        assert_pixel(&frames[i], 40 + i + 35, 95, 220, 40, 40);
        assert_pixel(&frames[i], 40 + i - 6, 80, 100, 100, 100);
        assert_pixel(&frames[i], 60 + i + 20, 180, 40, 40, 220);
        assert_pixel(&frames[i], 220, 80, 100, 100, 100); /* too short */
    }
    free_film(frames);
}

/* In six seconds of two visits at one place, of four each, one hides the other: the lower foot is
 * in front. */
static void the_lower_foot_is_in_front(void **state)
{
    static const struct square squares[] = { { 1, 2, 6, 40, 80, 40, { 220, 40, 40 } },
                                             { 2, 30, 34, 40, 70, 40, { 40, 40, 220 } } };
    static struct bd_frame frames[most];
    char path[512];
    struct bd_options options = { .length = 4.1, .codec = "ffv1" };
    snprintf(path, sizeof path, "%s/s.mkv", (char *)*state);
    run_film(&options, path, squares, 2, constant_light);
    int count = read_film(path, frames);
    assert_int_equal(count, 41);
    for (int i = 0; i < count; i++)
        assert_pixel(&frames[i], 40 + i + 20, 95, 220, 40, 40);
    free_film(frames);
}

/* The plate is that of a time between; each object becomes as much brighter as the plate is. */
static void objects_have_the_light_of_the_plate(void **state)
{
    static struct bd_frame frames[most];
    char path[512];
    struct bd_options options = { .length = 6, .codec = "ffv1" };
    snprintf(path, sizeof path, "%s/s.mkv", (char *)*state);
    run_film(&options, path, two_squares, 3, brighter_at_the_end);
    assert_int_equal(read_film(path, frames), 31);
    int plate = frames[10].data[200 * frames[10].stride + 900];
    assert_true(plate > 110);
    assert_pixel(&frames[10], 70, 80, 220 + plate - 100, 40 + plate - 100, 40 + plate - 100);
    assert_pixel(&frames[10], 90, 180, 40 + plate - 130, 40 + plate - 130, 220 + plate - 130);
    free_film(frames);
}

static void objects_longer_than_the_film_pass_faster(void **state)
{
    static const struct square slow[] = { { 1, 2, 17, 40, 80, 40, { 220, 40, 40 } } };
    static struct bd_frame frames[most];
    char path[512];
    struct bd_options options = { .length = 5, .codec = "ffv1" };
    snprintf(path, sizeof path, "%s/s.mkv", (char *)*state);
    run_film(&options, path, slow, 1, constant_light);
    assert_int_equal(read_film(path, frames), 50);
    for (int i = 0; i < 50; i++)
        assert_pixel(&frames[i], 40 + 3 * i + 20, 100, 220, 40, 40);
    assert_pixel(&frames[49], 40 + 40, 100, 100, 100, 100);
    free_film(frames);
}

/* Three minutes that become brighter by 20 levels a minute; in the middle, something stands before
 * a part of the picture for 50 seconds, and something else for the whole time. */
static void plates_follow_the_light(void **state)
{
    static const uint8_t white[1] = { 255 }, black[3] = { 0 };
    const struct bd_box guest = { 10, 10, 20, 20 }, resident = { 60, 10, 20, 20 };
    struct bd_frame input = { 0 }, mask = { 0 }, background = { 0 }, shown = { 0 };
    struct store store;
    struct bd_plates plates;
    open_store(&store, *state);
    assert_int_equal(bd_frame_create(&input, width, height, BD_RGB24), BD_OK);
    assert_int_equal(bd_frame_create(&mask, width, height, BD_GRAY8), BD_OK);
    assert_int_equal(bd_frame_create(&background, width, height, BD_GRAY8), BD_OK);
    assert_int_equal(bd_frame_create(&shown, width, height, BD_RGB24), BD_OK);
    assert_int_equal(bd_plates_create(&plates, width, height, &store.file, store.jpeg), BD_OK);
    for (int i = 0; i <= 360; i++) {
        struct bd_result result = { .input = &input,
                                    .mask = &mask,
                                    .labels = &mask,
                                    .background = &background,
                                    .time = 1000 + i / 2.0 };
        clear(&input, 100 + i / 6);
        clear(&background, 33);
        clear(&mask, 0);
        paint(&input, &resident, black);
        paint(&mask, &resident, white);
        if (i >= 120 && i < 220) {
            paint(&input, &guest, black);
            paint(&mask, &guest, white);
        }
        assert_int_equal(bd_plates_add(&plates, &result), BD_OK);
    }
    assert_int_equal(bd_plates_finish(&plates), BD_OK);
    assert_int_equal(plates.count, 4);
    for (int seconds = 60; seconds <= 180; seconds += 10) {
        int level = 100 + seconds / 3;
        assert_int_equal(bd_plates_show(&plates, &shown, 1000 + seconds), BD_OK);
        assert_pixel(&shown, 200, 200, level, level, level);
        assert_pixel(&shown, 70, 20, 33, 33, 33);
        assert_true(seconds > 60 || shown.data[20 * shown.stride + 60] > 110);
    }
    assert_int_equal(bd_plates_show(&plates, &shown, 0), BD_OK); /* before the first */
    assert_pixel(&shown, 200, 200, 120, 120, 120);
    assert_int_equal(bd_plates_show(&plates, &shown, 5000), BD_OK); /* after the last */
    assert_pixel(&shown, 20, 20, 160, 160, 160);
    bd_plates_destroy(&plates);
    bd_frame_destroy(&input);
    bd_frame_destroy(&mask);
    bd_frame_destroy(&background);
    bd_frame_destroy(&shown);
    close_store(&store);
}

/* An object of another component is left out, even where it is inside of the box; so is one of the
 * background. Of a group, each has the pixels that are nearest. */
static void only_the_pixels_of_an_object_are_cut(void **state)
{
    (void)state;
    static const uint8_t white[1] = { 255 }, black[1] = { 0 }, red[3] = { 200, 10, 10 };
    struct bd_frame input = { 0 }, mask = { 0 };
    struct bd_cutout cutout;
    const struct bd_patch *patch;
    const struct bd_box bar = { 50, 50, 10, 60 }, foot = { 50, 100, 80, 10 },
                        guest = { 90, 60, 20, 20 };
    struct bd_object objects[2] = { { .id = 1, .x = 50, .y = 50, .width = 80, .height = 60 },
                                    { .id = 2, .x = 90, .y = 60, .width = 20, .height = 20 } };
    struct bd_result result = { .input = &input,
                                .mask = &mask,
                                .labels = &mask,
                                .objects = objects,
                                .object_count = 2,
                                .time = 3 };
    objects[0].seen = objects[1].seen = true;
    assert_int_equal(bd_frame_create(&input, width, height, BD_RGB24), BD_OK);
    assert_int_equal(bd_frame_create(&mask, width, height, BD_GRAY8), BD_OK);
    clear(&input, 90);
    clear(&mask, 0);
    paint(&mask, &bar, white);
    paint(&mask, &foot, white);
    paint(&mask, &guest, white);
    paint(&input, &guest, red);
    assert_int_equal(bd_cutout_create(&cutout, width, height), BD_OK);
    bd_cutout_begin(&cutout, &result);
    assert_int_equal(bd_cutout_cut(&cutout, &result, 0, &patch), BD_OK);
    assert_int_equal(patch->area, 10 * 60 + 70 * 10);
    assert_int_equal(patch->x, 50 - bd_patch_margin);
    assert_int_equal(patch->picture.width, 80 + 2 * bd_patch_margin);
    assert_int_equal(patch->mask[20 * patch->picture.width + 60], 0); /* the guest */
    assert_int_equal(patch->mask[20 * patch->picture.width + 12], 255);
    assert_int_equal(bd_cutout_cut(&cutout, &result, 1, &patch), BD_OK);
    assert_int_equal(patch->area, 20 * 20);
    assert_int_equal(patch->picture.data[10 * patch->picture.stride + 30], 200);
    paint(&mask, &guest, black);
    objects[0].group = 1;
    objects[1] = (struct bd_object){
        .id = 2, .x = 100, .y = 95, .width = 30, .height = 15, .group = 1, .seen = true
    };
    bd_cutout_begin(&cutout, &result);
    assert_int_equal(bd_cutout_cut(&cutout, &result, 1, &patch), BD_OK);
    int64_t second = patch->area;
    assert_int_equal(bd_cutout_cut(&cutout, &result, 0, &patch), BD_OK);
    assert_true(second > 200);
    assert_int_equal(second + patch->area, 10 * 60 + 70 * 10); /* each pixel is one's, and once */
    bd_cutout_destroy(&cutout);
    bd_frame_destroy(&input);
    bd_frame_destroy(&mask);
}

/* What is taken for a shadow, and fragments, are of the nearest object; large components that are
 * nobody's, and what is far away, are not. */
static void shadows_and_fragments_are_cut_too(void **state)
{
    (void)state;
    static const uint8_t white[1] = { 255 }, grey[1] = { 127 };
    struct bd_frame input = { 0 }, mask = { 0 }, labels = { 0 };
    struct bd_cutout cutout;
    const struct bd_patch *patch;
    const struct bd_box body = { 50, 50, 20, 40 }, legs = { 50, 92, 20, 30 },
                        foot = { 50, 124, 5, 4 }, other = { 90, 50, 20, 40 },
                        shadow = { 92, 95, 10, 10 }, stranger = { 20, 60, 20, 30 },
                        far = { 50, 200, 20, 20 };
    struct bd_object objects[2] = { { .x = 50, .y = 50, .width = 20, .height = 40, .seen = true },
                                    { .x = 90, .y = 50, .width = 20, .height = 40, .seen = true } };
    struct bd_result result = {
        .input = &input, .mask = &mask, .labels = &labels, .objects = objects, .object_count = 2
    };
    assert_int_equal(bd_frame_create(&input, width, height, BD_RGB24), BD_OK);
    assert_int_equal(bd_frame_create(&mask, width, height, BD_GRAY8), BD_OK);
    clear(&input, 90);
    clear(&mask, 0);
    paint(&mask, &body, white);
    paint(&mask, &foot, white);
    paint(&mask, &other, white);
    paint(&mask, &stranger, white);
    assert_int_equal(bd_frame_copy(&labels, &mask), BD_OK);
    paint(&labels, &legs, grey);
    paint(&labels, &shadow, grey);
    paint(&labels, &far, grey);
    assert_int_equal(bd_cutout_create(&cutout, width, height), BD_OK);
    bd_cutout_begin(&cutout, &result);
    assert_int_equal(bd_cutout_cut(&cutout, &result, 0, &patch), BD_OK);
    assert_int_equal(patch->area, 20 * 40 + 20 * 30 + 5 * 4);
    assert_int_equal(patch->x, 50 - bd_patch_margin);
    assert_int_equal(patch->picture.height, 128 - 50 + 2 * bd_patch_margin);
    assert_int_equal(patch->mask[(100 - patch->y) * patch->picture.width + 60 - patch->x], 255);
    assert_int_equal(bd_cutout_cut(&cutout, &result, 1, &patch), BD_OK);
    assert_int_equal(patch->area, 20 * 40 + 10 * 10);
    bd_cutout_destroy(&cutout);
    bd_frame_destroy(&input);
    bd_frame_destroy(&mask);
    bd_frame_destroy(&labels);
}

/* Shadows are cut out, but the mask that is written beside has none. */
static void masks_stay_the_same(void **state)
{
    if (test_quick())
        skip();
    assert_int_equal(cli_run(*state, "for s in '' '--synopsis s.mp4'; do $B export "
                                     "'synth:shadows?frames=80' --mask m%04d.pgm -y -q $s && "
                                     "cat m*.pgm | md5sum; done"),
                     0);
    char text[512];
    cli_slurp(*state, "out", text, sizeof text);
    assert_int_equal(cli_lines(text), 2);
    assert_memory_equal(text, strchr(text, '\n') + 1, 32);
}

static void refuses(const char *folder, const char *arguments, const char *line)
{
    char command[512], text[2048];
    snprintf(command, sizeof command, "$B export 'synth:easy?frames=60' -q %s", arguments);
    assert_int_not_equal(cli_run(folder, command), 0);
    cli_slurp(folder, "err", text, sizeof text);
    if (!strstr(text, line))
        print_error("%s: %s", arguments, text);
    assert_non_null(strstr(text, line));
    assert_int_equal(cli_lines(text), 1);
}

static void bad_input_is_one_line(void **state)
{
    refuses(*state, "--synopsis s.xyz", "s.xyz: the extension says no format that can be written");
    refuses(*state, "--synopsis s", "--synopsis s: ");
    refuses(*state, "--synopsis s.png", "--synopsis s.png: this name holds one picture");
    refuses(*state, "--synopsis no/s.mp4", "--synopsis no/s.mp4: its folder cannot be used");
    refuses(*state, "--synopsis s.mp4 --mask s.mp4", "--synopsis s.mp4: is the file of --mask too");
    refuses(*state, "--mask m.mkv --length 5", "--length: does nothing without --synopsis");
    refuses(*state, "--synopsis s.mp4 --length 0", "--length 0: must be 1..3600");
    refuses(*state, "--synopsis s.mp4 --length -3", "--length -3: must be 1..3600");
    refuses(*state, "--synopsis s.mp4 --length long", "--length long: must be seconds");
    assert_int_equal(cli_run(*state, "ls -A | grep -v -e out -e err"), 1); /* nothing is left */
}

static void an_unwritable_temporary_folder_is_named(void **state)
{
    char text[2048];
    assert_int_equal(cli_run(*state, "TMPDIR=/no/folder $B export 'synth:easy?frames=60' -q "
                                     "--synopsis s.mp4"),
                     1);
    cli_slurp(*state, "err", text, sizeof text);
    assert_non_null(
        strstr(text, "--synopsis s.mp4: its temporary file in /no/folder: No such file"));
    assert_int_equal(cli_run(*state, "ls -A | grep -v -e out -e err"), 1);
}

static void times_are_of_the_film_or_the_day(void **state)
{
    (void)state;
    static const struct {
        double time;
        const char *text;
    } rows[] = { { -3, "0:00:00" },           { 59.99, "0:00:59" },        { 3661, "1:01:01" },
                 { 360000, "100:00:00" },     { 99999999, "27777:46:39" }, { 1e8, "9:46:40" },
                 { 1750000000.5, "15:06:40" } };
    char text[64];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bd_label_format(text, sizeof text, rows[i].time);
        assert_string_equal(text, rows[i].text);
    }
}

/* What was collected before is in a film. */
static void a_full_disk_is_one_line(void **state)
{
    char text[2048];
    assert_int_equal(cli_run(*state, "mkdir t; (ulimit -f 800; TMPDIR=t $B export synth:easy -q "
                                     "--synopsis s.mkv --length 5)"),
                     3);
    cli_slurp(*state, "err", text, sizeof text);
    assert_non_null(strstr(text, "s.mkv: no space left for its temporary file in t;"));
    assert_int_equal(cli_lines(text), 1);
    assert_int_equal(
        cli_run(*state, "test -s s.mkv && ! test -e s.mkv.part && test -z \"$(ls t)\""), 0);
}

/* The input stalls after eight seconds, in which a box crosses the picture. */
static void an_interruption_shows_what_was_collected(void **state)
{
    if (cli_run(*state, "ffmpeg -v error -f lavfi -i color=gray:s=160x120:r=10:d=8 -f lavfi -i "
                        "color=red:s=30x40:r=10:d=8 -filter_complex overlay=x=t*15:y=40 in.mkv"))
        skip();
    assert_int_equal(cli_run(*state, "mkfifo p; (cat in.mkv; exec sleep 20) >p & S=$!; "
                                     "$B export - -q --synopsis s.mkv <p & P=$!; "
                                     "while ! test -e s.mkv.part; do sleep .02; done; sleep 1; "
                                     "kill -INT $P; wait $P; R=$?; kill $S; exit $R"),
                     4);
    assert_int_equal(cli_run(*state, "test -s s.mkv && ! test -e s.mkv.part"), 0);
}

static void a_high_rate_is_not_the_films(void **state)
{
    if (cli_run(*state, "ffmpeg -v error -f lavfi -i color=gray:s=160x120:r=200:d=6 -f lavfi -i "
                        "color=red:s=30x40:r=200:d=6 -filter_complex overlay=x=t*20:y=40 in.mkv"))
        skip();
    assert_int_equal(cli_run(*state, "$B export in.mkv -q --synopsis s.mkv --scale 80x60 && "
                                     "ffprobe -v error -show_entries stream=r_frame_rate "
                                     "-of csv=p=0 s.mkv | grep -qx 60/1"),
                     0);
}

static void a_film_without_visitors_is_not_written(void **state)
{
    char text[2048];
    assert_int_equal(cli_run(*state, "$B export 'synth:easy?frames=20' --synopsis s.mp4 "
                                     "--progress none"),
                     0);
    cli_slurp(*state, "err", text, sizeof text);
    assert_non_null(strstr(text, "--synopsis s.mp4: nothing was seen for 2 seconds"));
    assert_int_equal(cli_run(*state, "ls -A | grep -v -e out -e err"), 1);
}

/* Objects of a tracks file that were seen for two seconds. */
static int count_long_tracks(const char *folder, const char *name)
{
    static double first[1000], last[1000];
    char path[512], line[512];
    int count = 0;
    memset(first, 0, sizeof first);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        double time, since;
        int frame, id, missing;
        /* Rows before `since` were found in hindsight, when the synopsis had passed them. */
        if (sscanf(line, "%d,%lf,%d,%d,%*f,%*f,%*f,%*f,%*f,%*f,%*f,%*f,%*f,%*f,%*f,%lf", &frame,
                   &time, &id, &missing, &since) != 5 ||
            missing || time < since)
            continue;
        assert_true(id > 0 && id < 1000);
        first[id] = first[id] > 0 ? first[id] : time + 1e-9;
        last[id] = time + 1e-9;
    }
    fclose(file);
    for (int id = 1; id < 1000; id++)
        count += first[id] > 0 && last[id] - first[id] >= 2 - 1e-6;
    return count;
}

/* Runs a synopsis and compares what it shows with the tracks. */
static void check_film(const char *folder, const char *input, const char *options, double length)
{
    char command[1024], text[8192];
    int shown, objects;
    double seconds;
    snprintf(command, sizeof command,
             "$B export '%s' --synopsis s.mp4 --length %g --tracks t.csv %s --progress none -v",
             input, length, options);
    assert_int_equal(cli_run(folder, command), 0);
    cli_slurp(folder, "err", text, sizeof text);
    const char *line = strstr(text, "synopsis: ");
    assert_non_null(line);
    assert_int_equal(sscanf(line, "synopsis: %d of %d objects, %lf s", &shown, &objects, &seconds),
                     3);
    print_message("%s: %d of %d objects in %.1f s\n", input, shown, objects, seconds);
    assert_int_equal(shown, count_long_tracks(folder, "t.csv"));
    assert_true(shown > 0 && seconds <= length);
    assert_int_equal(cli_run(folder, "ls -A | grep part"), 1);
}

/* The film is made after the last frame of the input. */
static void a_terminal_shows_the_progress(void **state)
{
    if (cli_run(*state, "command -v script"))
        skip();
    static const struct {
        const char *options;
        int exit_status; /* of grep */
    } rows[] = { { "", 0 },
                 { "-q", 1 },
                 { "--progress none", 1 },
                 { "-o folder", 0 },
                 { "synth:noise?frames=9 -o many", 1 } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char command[512];
        snprintf(command, sizeof command,
                 "script -qec \"$B export 'synth:easy?frames=200%s' --synopsis s.mp4 "
                 "--length 10 -y %s\" log "
                 "</dev/null && grep -q 'synopsis \\[.*%%' log",
                 test_quick() ? "&size=160x120" : "", rows[i].options);
        assert_int_equal(cli_run(*state, command), rows[i].exit_status);
    }
    assert_int_equal(cli_run(*state, "test -s s.mp4 && ls folder | grep -q s.mp4"), 0);
}

static void a_scene_becomes_a_synopsis(void **state)
{
    check_film(*state, "synth:easy", "", 5);
}

static void real_walkers_fit(void **state)
{
    char path[512];
    const char *data = getenv("BACKDROP_DATA");
    snprintf(path, sizeof path, "%s/videos/vtest.avi", data ? data : "");
    if (!data || access(path, R_OK) || test_quick())
        skip();
    check_film(*state, path, "--scale 320x240", 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLI_TEST(tubes_are_read_as_they_were_written),
        cmocka_unit_test(short_tubes_do_not_fill_the_memory),
        cmocka_unit_test(damaged_pictures_are_refused),
        CLI_TEST(each_tube_is_shown_once_and_whole),
        CLI_TEST(those_who_were_together_stay_so),
        CLI_TEST(objects_of_different_times_are_in_one_picture),
        CLI_TEST(the_lower_foot_is_in_front),
        CLI_TEST(objects_have_the_light_of_the_plate),
        CLI_TEST(objects_longer_than_the_film_pass_faster),
        CLI_TEST(plates_follow_the_light),
        cmocka_unit_test(only_the_pixels_of_an_object_are_cut),
        cmocka_unit_test(shadows_and_fragments_are_cut_too),
        cmocka_unit_test(times_are_of_the_film_or_the_day),
        CLI_TEST(masks_stay_the_same),
        CLI_TEST(bad_input_is_one_line),
        CLI_TEST(an_unwritable_temporary_folder_is_named),
        CLI_TEST(a_full_disk_is_one_line),
        CLI_TEST(an_interruption_shows_what_was_collected),
        CLI_TEST(a_high_rate_is_not_the_films),
        CLI_TEST(a_film_without_visitors_is_not_written),
        CLI_TEST(a_terminal_shows_the_progress),
        CLI_TEST(a_scene_becomes_a_synopsis),
        CLI_TEST(real_walkers_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
