/* Objects in drawn films of masks, of which all is known. */
#include "tests/objects/film.h"

/* Allocations are counted: a frame must make none. */
static int allocations;
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);

void *__wrap_malloc(size_t size)
{
    allocations++;
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    allocations++;
    return __real_calloc(count, size);
}

/* An actor of that size who moves evenly. */
static struct actor walker(double width, double height, struct place from, struct place to)
{
    return (struct actor){ .width = width, .height = height, .places = 2, .path = { from, to } };
}

/* A film of two who meet in the middle of the picture after three seconds; `a` and `b` say where
 * they go (degrees) and how fast (pixels a second). */
struct crossing {
    double rate, width_a, height_a, width_b, height_b, angle_a, angle_b, speed_a, speed_b;
    bool ellipses;
};

static struct actor through_middle(double width, double height, double angle, double speed)
{
    const double x = cos(angle * 3.14159265 / 180) * speed * 3;
    const double y = sin(angle * 3.14159265 / 180) * speed * 3 / 2;
    return walker(width, height, (struct place){ 0, 320 - x, 180 - y },
                  (struct place){ 6, 320 + x, 180 + y });
}

static struct film crossing_film(const struct crossing *c, uint32_t seed)
{
    struct film film = { .seed = seed, .noise = 2, .rate = c->rate, .seconds = 6, .actors = 2 };
    film.actor[0] = through_middle(c->width_a, c->height_a, c->angle_a, c->speed_a);
    film.actor[1] = through_middle(c->width_b, c->height_b, c->angle_b, c->speed_b);
    film.actor[0].ellipse = film.actor[1].ellipse = c->ellipses;
    return film;
}

/* Half of the frames of an actor are a short walk in and out of the picture: F is not asked for. */
static void ten_crossings_keep_their_numbers(void **state)
{
    (void)state;
    static const struct crossing crossings[] = {
        { 25, 36, 90, 36, 90, 0, 180, 80, 80, false },
        { 10, 36, 90, 40, 100, 0, 180, 70, 90, true },
        { 5, 40, 90, 36, 84, 0, 180, 60, 60, false },
        { 30, 30, 80, 30, 80, 0, 90, 80, 60, true },
        { 60, 36, 90, 36, 90, 0, 150, 90, 70, false },
        { 15, 60, 40, 60, 40, 0, 180, 90, 90, true },
        { 10, 36, 90, 36, 90, 20, 160, 80, 80, true },
        { 25, 30, 70, 50, 120, 0, 180, 90, 60, false },
        { 12.5, 36, 90, 36, 90, 45, 135, 80, 80, true },
        { 5, 36, 90, 50, 60, 0, 100, 50, 60, false },
    };
    int changes = 0, grouped = 0;
    for (size_t i = 0; i < sizeof crossings / sizeof *crossings; i++) {
        const struct film film = crossing_film(&crossings[i], (uint32_t)i + 1);
        const struct film_result result = film_run(&film);
        assert_int_equal(result.objects, 2);
        changes += result.changes;
        grouped += result.grouped > 0;
        assert_true(film_f(&result) > .95);
    }
    assert_int_equal(changes, 0);
    assert_int_equal(grouped, 10); /* they were hard: each pair was one component for a while */
}

/* Many more, drawn by lot: sizes, speeds, rates and angles. */
static void few_of_many_crossings_change_numbers(void **state)
{
    (void)state;
    static const double rates[] = { 5, 10, 15, 25, 30, 60 };
    enum { films = 60 };
    uint32_t seed = 1;
    int changed = 0;
    for (int i = 0; i < films; i++) {
        const int angle = between(&seed, 0, 359);
        const struct crossing c = {
            .rate = rates[i % 6],
            .width_a = between(&seed, 24, 50),
            .height_a = between(&seed, 60, 110),
            .width_b = between(&seed, 24, 50),
            .height_b = between(&seed, 60, 110),
            .angle_a = angle,
            .angle_b = angle + between(&seed, 50, 310),
            .speed_a = between(&seed, 50, 110),
            .speed_b = between(&seed, 50, 110),
            .ellipses = between(&seed, 0, 1),
        };
        const struct film film = crossing_film(&c, seed);
        changed += film_run(&film).changes > 0;
    }
    assert_true(changed * 40 <= films);
}

/* Two alike cross where one of them has just come in, and a van behind them: all three are one
 * component, so silhouettes say little. Most have their numbers again soon after they have parted.
 */
static void two_before_a_van_get_their_numbers_back(void **state)
{
    (void)state;
    enum { films = 40 };
    uint32_t seed = 7;
    int mistaken = 0, grouped = 0;
    for (int i = 0; i < films; i++) {
        const double height = between(&seed, 80, 96), speed = between(&seed, 45, 60);
        const double late = between(&seed, 0, 6) / 10., down = between(&seed, -8, 8);
        struct film film = { .seed = seed, .noise = 2, .rate = 25, .seconds = 7, .actors = 3 };
        film.actor[0] = walker(.4 * height, height, (struct place){ 0, 590 - 4 * speed, 200 },
                               (struct place){ 8, 590 + 4 * speed, 200 });
        film.actor[1] =
            walker(.38 * height, .95 * height, (struct place){ 0, 590 + 4 * speed, 200 + down },
                   (struct place){ 8, 590 - 4 * speed, 200 + down });
        film.actor[0].ellipse = film.actor[1].ellipse = true;
        film.actor[2] = walker(180, 60, (struct place){ 3 + late, 730, 185 },
                               (struct place){ 7 + late, -10, 185 });
        const struct film_result result = film_run(&film);
        mistaken += result.number[0] != result.first[0] || result.number[1] != result.first[1];
        grouped += result.grouped > 0;
    }
    assert_int_equal(grouped, films);
    assert_true(mistaken * 2 <= films); /* without a look at motion: all but one */
}

static void the_faster_overtakes(void **state)
{
    (void)state;
    struct film film = { .seed = 5, .noise = 2, .rate = 25, .seconds = 8, .actors = 2 };
    film.actor[0] = walker(36, 90, (struct place){ 0, 180, 180 }, (struct place){ 8, 440, 180 });
    film.actor[1] = walker(34, 84, (struct place){ 0, 40, 186 }, (struct place){ 8, 600, 186 });
    const struct film_result result = film_run(&film);
    assert_int_equal(result.changes, 0);
    assert_int_equal(result.objects, 2);
    assert_true(result.grouped > 0);
}

/* A fence of the background's colour hides a strip. */
static void hide_strip(uint8_t *mask, int frame, double time, uint32_t *seed)
{
    (void)frame;
    (void)seed;
    if (time > 1.5 && time < 4)
        memset(mask + (size_t)185 * film_width, 0, (size_t)12 * film_width);
}

static void pieces_of_one_object_are_one(void **state)
{
    (void)state;
    struct film film = { .seed = 6, .noise = 2, .rate = 25, .seconds = 6, .actors = 1 };
    film.actor[0] = walker(36, 100, (struct place){ 0, 100, 180 }, (struct place){ 6, 540, 180 });
    film.spoil = hide_strip;
    const struct film_result result = film_run(&film);
    assert_int_equal(result.changes, 0);
    assert_int_equal(result.objects, 1);
    assert_true(film_f(&result) > .97);
}

/* Two come as one component. Then one of them turns away. */
static void a_group_that_splits_has_a_child(void **state)
{
    (void)state;
    struct film film = { .seed = 7, .noise = 2, .rate = 25, .seconds = 7, .actors = 2 };
    film.actor[0] = walker(36, 90, (struct place){ 0, 60, 180 }, (struct place){ 7, 480, 180 });
    film.actor[1] = (struct actor){ .width = 30,
                                    .height = 80,
                                    .places = 3,
                                    .path = { { 0, 84, 186 }, { 3, 264, 186 }, { 7, 180, 320 } } };
    const struct film_result result = film_run(&film);
    assert_int_equal(result.objects, 2);
    assert_int_equal(result.parent[1], 0);
    assert_int_equal(result.parent[2], 1);
    assert_int_not_equal(result.number[0], result.number[1]);
}

/* A pole hides all of the actor for some time. */
static void hide_pole(uint8_t *mask, int frame, double time, uint32_t *seed)
{
    (void)frame;
    (void)time;
    (void)seed;
    for (int y = 0; y < film_height; y++)
        memset(mask + (size_t)y * film_width + 290, 0, 50);
}

static void what_was_hidden_is_found_again(void **state)
{
    (void)state;
    struct film film = { .seed = 8, .noise = 2, .rate = 25, .seconds = 6, .actors = 1 };
    film.actor[0] = walker(34, 90, (struct place){ 0, 60, 180 }, (struct place){ 6, 580, 200 });
    film.spoil = hide_pole;
    const struct film_result result = film_run(&film);
    assert_int_equal(result.objects, 1);
    assert_true(result.hidden > .1 && result.hidden < .5);
}

static void lose_mask(uint8_t *mask, int frame, double time, uint32_t *seed)
{
    (void)frame;
    (void)seed;
    if (time > 2 && time < 2.6)
        memset(mask, 0, (size_t)film_width * film_height);
}

static void a_mask_that_drops_out_ends_nothing(void **state)
{
    (void)state;
    struct film film = { .seed = 9, .noise = 2, .rate = 30, .seconds = 5, .actors = 2 };
    film.actor[0] = walker(34, 90, (struct place){ 0, 60, 120 }, (struct place){ 5, 500, 120 });
    film.actor[1] = walker(60, 40, (struct place){ 0, 560, 280 }, (struct place){ 5, 100, 260 });
    film.spoil = lose_mask;
    const struct film_result result = film_run(&film);
    assert_int_equal(result.objects, 2);
    assert_int_equal(result.changes, 0);
}

/* The whole mask is foreground for some frames, as when a lamp is lit. */
static void flood(uint8_t *mask, int frame, double time, uint32_t *seed)
{
    (void)frame;
    (void)seed;
    if (time > 2 && time < 2.5)
        memset(mask, 255, (size_t)film_width * film_height);
}

static void a_flood_ends_nothing(void **state)
{
    (void)state;
    struct film film = { .seed = 10, .noise = 2, .rate = 30, .seconds = 5, .actors = 1 };
    film.actor[0] = walker(34, 90, (struct place){ 0, 60, 120 }, (struct place){ 5, 500, 120 });
    film.spoil = flood;
    const struct film_result result = film_run(&film);
    assert_int_equal(result.objects, 1);
    assert_int_equal(result.changes, 0);
}

/* Two meet, stand together for two seconds as one component, and part; `turn`: the way that they
 * came. */
static struct film meeting(bool turn, double rate)
{
    struct film film = { .seed = 11, .noise = 2, .rate = rate, .seconds = 8, .actors = 2 };
    film.actor[0] = (struct actor){
        .width = 36,
        .height = 96,
        .places = 4,
        .path = { { 0, 100, 176 }, { 3, 306, 176 }, { 5, 306, 176 }, { 8, turn ? 100 : 520, 176 } },
    };
    film.actor[1] = (struct actor){
        .width = 32,
        .height = 84,
        .places = 4,
        .path = { { 0, 540, 182 }, { 3, 334, 182 }, { 5, 334, 182 }, { 8, turn ? 540 : 120, 182 } },
    };
    return film;
}

static void those_who_meet_and_stop_keep_their_numbers(void **state)
{
    (void)state;
    static const double rates[] = { 10, 25, 30, 60 };
    for (int i = 0; i < 8; i++) {
        const struct film film = meeting(i % 2, rates[i / 2]);
        const struct film_result result = film_run(&film);
        assert_int_equal(result.objects, 2);
        assert_int_equal(result.changes, 0);
        assert_true(result.grouped > 2 * film.rate);
        assert_true(film_f(&result) > .95);
    }
}

/* Blobs anywhere, anew in each frame. */
static void scatter(uint8_t *mask, int frame, double time, uint32_t *seed)
{
    (void)frame;
    (void)time;
    for (int i = 0; i < 3; i++) {
        const int side = between(seed, 12, 30);
        const int x = between(seed, 0, film_width - side), y = between(seed, 0, film_height - side);
        for (int row = y; row < y + side; row++)
            memset(mask + (size_t)row * film_width + x, 255, (size_t)side);
    }
}

/* A blob that comes and goes in its place. */
static void blink(uint8_t *mask, int frame, double time, uint32_t *seed)
{
    (void)time;
    (void)seed;
    for (int row = 300; row < 340 && frame % 2; row++)
        memset(mask + (size_t)row * film_width + 100, 255, 40);
}

static void flicker_is_no_object(void **state)
{
    (void)state;
    static const double rates[] = { 5, 10, 30, 60 };
    int scattered = 0;
    for (int i = 0; i < 4; i++) {
        struct film film = { .rate = rates[i], .seconds = 6, .spoil = blink };
        assert_int_equal(film_run(&film).objects, 0);
        film.spoil = scatter;
        for (film.seed = 1; film.seed <= 10; film.seed++)
            scattered += film_run(&film).objects;
    }
    assert_true(scattered <= 4); /* of 18900 blobs */
}

/* Five come and go, some hidden, two crossing: the same objects at each rate. */
static void the_rate_of_frames_does_not_matter(void **state)
{
    (void)state;
    static const double rates[] = { 5, 10, 30, 60 };
    for (int i = 0; i < 4; i++) {
        struct film film = { .seed = 13, .noise = 2, .rate = rates[i], .seconds = 11, .actors = 5 };
        film.actor[0] =
            walker(34, 90, (struct place){ 0, -30, 120 }, (struct place){ 8, 670, 120 });
        film.actor[1] =
            walker(30, 86, (struct place){ 3, 660, 126 }, (struct place){ 11, -30, 126 });
        film.actor[2] = walker(30, 80, (struct place){ 1, 60, 260 }, (struct place){ 7, 560, 280 });
        film.actor[3] =
            walker(60, 30, (struct place){ 2, 670, 330 }, (struct place){ 8, -30, 330 });
        film.actor[4] = walker(26, 60, (struct place){ 0, 150, 40 }, (struct place){ 4, 480, 36 });
        film.spoil = hide_pole;
        const struct film_result result = film_run(&film);
        assert_int_equal(result.objects, 5);
        assert_int_equal(result.changes, 0);
    }
}

static void what_leaves_at_the_border_ends_soon(void **state)
{
    (void)state;
    struct film film = { .seed = 14, .noise = 1, .rate = 30, .seconds = 8, .actors = 1 };
    film.actor[0] = walker(34, 90, (struct place){ 0, 400, 180 }, (struct place){ 4, 680, 180 });
    const struct film_result result = film_run(&film);
    assert_int_equal(result.objects, 1);
    assert_true(result.hidden < .3);
    assert_true(result.last < 4);
}

/* In the middle of the picture it is waited for as long as was asked. */
static void patience_and_confirm_are_seconds(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct film film = { .seed = 15, .rate = i ? 50 : 10, .seconds = 9, .actors = 1 };
        film.options.patience = 2;
        film.options.confirm = 1;
        film.actor[0] =
            walker(34, 90, (struct place){ 0, 200, 180 }, (struct place){ 4, 320, 180 });
        const struct film_result result = film_run(&film);
        assert_int_equal(result.objects, 1);
        assert_true(fabs(result.hidden - 2) < .21);
        assert_true(fabs(result.last - 6) < .21);
        assert_true(fabs(result.found / film.rate - 3) < .21);
    }
}

/* Two who never meet have one number each, and nothing depends on what was before the run. */
static void the_same_film_gives_the_same_objects(void **state)
{
    (void)state;
    struct film film = meeting(false, 25);
    const uint64_t first = film_run(&film).checksum;
    film_run(&(struct film){ .seed = 3, .rate = 30, .seconds = 2, .spoil = scatter });
    assert_true(film_run(&film).checksum == first);
    film.noise = 3;
    assert_true(film_run(&film).checksum != first);
}

/* A frame of ten thousand components, again and again, beside an object that stays. */
static void storm(uint8_t *mask, int frame, double time, uint32_t *seed)
{
    (void)frame;
    (void)time;
    for (int y = 0; y < film_height; y += 4)
        for (int x = between(seed, 0, 3); x + 1 < film_width; x += between(seed, 4, 7))
            mask[(size_t)y * film_width + x] = mask[(size_t)y * film_width + x + 1] = 255;
}

static void a_storm_of_noise_is_survived(void **state)
{
    (void)state;
    struct film film = { .seed = 16, .rate = 30, .seconds = 2, .actors = 1, .spoil = storm };
    film.options.min_area = 1;
    film.actor[0] = walker(60, 120, (struct place){ 0, 100, 180 }, (struct place){ 2, 300, 180 });
    const struct film_result result = film_run(&film);
    assert_int_equal(result.changes, 0);
    assert_true(result.number[0] > 0);
    assert_true(result.checksum == film_run(&film).checksum);
}

/* A step back in time, or far ahead, ends all objects; so does a reset. */
static void a_seek_ends_all_objects(void **state)
{
    (void)state;
    static uint8_t mask[100 * 100];
    const struct bd_tracker_options options = { .width = 100, .height = 100 };
    const double starts[] = { 10, 2, 9, 20 };
    struct bd_tracker *tracker = NULL;
    const struct bd_object *objects = NULL;
    int count = 0;
    for (int y = 30; y < 60; y++)
        memset(mask + y * 100 + 40, 255, 20);
    assert_int_equal(bd_tracker_create(&tracker, &options), BD_OK);
    for (int i = 0; i < 5; i++) {
        const double start = i < 4 ? starts[i] : 21.2;
        for (int frame = 0; frame < 11; frame++) {
            assert_int_equal(
                bd_tracker_add(tracker, mask, 100, start + .1 * frame, &objects, &count), BD_OK);
            assert_int_equal(count, frame > 1);
        }
        assert_int_equal(objects[0].id, i + 1);
        assert_true(objects[0].since == start);
        assert_int_equal(objects[0].x, 40);
        assert_int_equal(objects[0].y, 30);
        assert_int_equal(objects[0].width, 20);
        assert_int_equal(objects[0].height, 30);
        assert_int_equal(objects[0].area, 600);
        if (i == 3)
            bd_tracker_reset(tracker);
    }
    bd_tracker_destroy(&tracker);
}

static void a_frame_allocates_nothing(void **state)
{
    (void)state;
    static uint8_t mask[film_width * film_height];
    const struct bd_tracker_options options = { .width = film_width,
                                                .height = film_height,
                                                .min_area = 1 };
    struct bd_tracker *tracker = NULL;
    const struct bd_object *objects = NULL;
    int count = 0;
    uint32_t seed = 2;
    assert_int_equal(bd_tracker_create(&tracker, &options), BD_OK);
    const int before = allocations;
    for (int frame = 0; frame < 20; frame++) {
        memset(mask, 0, sizeof mask);
        storm(mask, frame, 0, &seed);
        scatter(mask, frame, 0, &seed);
        assert_int_equal(bd_tracker_add(tracker, mask, film_width, .04 * frame, &objects, &count),
                         BD_OK);
    }
    assert_int_equal(allocations, before);
    bd_tracker_destroy(&tracker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_crossings_keep_their_numbers),
        cmocka_unit_test(few_of_many_crossings_change_numbers),
        cmocka_unit_test(two_before_a_van_get_their_numbers_back),
        cmocka_unit_test(the_faster_overtakes),
        cmocka_unit_test(pieces_of_one_object_are_one),
        cmocka_unit_test(a_group_that_splits_has_a_child),
        cmocka_unit_test(what_was_hidden_is_found_again),
        cmocka_unit_test(a_mask_that_drops_out_ends_nothing),
        cmocka_unit_test(a_flood_ends_nothing),
        cmocka_unit_test(those_who_meet_and_stop_keep_their_numbers),
        cmocka_unit_test(flicker_is_no_object),
        cmocka_unit_test(the_rate_of_frames_does_not_matter),
        cmocka_unit_test(what_leaves_at_the_border_ends_soon),
        cmocka_unit_test(patience_and_confirm_are_seconds),
        cmocka_unit_test(the_same_film_gives_the_same_objects),
        cmocka_unit_test(a_storm_of_noise_is_survived),
        cmocka_unit_test(a_seek_ends_all_objects),
        cmocka_unit_test(a_frame_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
