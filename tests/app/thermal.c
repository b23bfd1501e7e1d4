/* Thermal films, rendered here: 16 bit gray whose background spans few levels, with the drift and
 * the jumps of uncooled cameras. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "app/pipeline/pipeline.h"
#include "tests/support/random.h"
#include "tests/support/scratch.h"

enum { width = 240, height = 180, frames = 250, jump_at = 140, skipped = 5 };

/* A film. Levels. */
struct film {
    const char *pixels; /* pixel format */
    bool big_endian;
    int base, most;  /* of the background; of the format */
    int span;        /* of the background */
    double noise;    /* standard deviation */
    int sky;         /* the upper quarter is colder by this */
    int hot;         /* a thing is warmer by this */
    int cold_foot;   /* ... and its lowest rows are colder by this */
    int people[3];   /* they are warmer by these */
    double drift;    /* a frame */
    int jump;        /* by the calibration of the shutter */
    double unevenly; /* how the calibration changes single pixels, standard deviation */
};

/* Of variance 1, and near enough to normal. */
static double gaussian(uint64_t *seed)
{
    double sum = uniform(seed) + uniform(seed) + uniform(seed) + uniform(seed);
    return sqrt(3) * (sum - 2);
}

/* What is warmer at (x, y) of frame t, and by how much; 0: background. A person is a head, a trunk
 * and two legs. */
static int warm(const struct film *film, int x, int y, int t)
{
    static const struct {
        int x, y, height;
        double speed;
    } walkers[3] = { { -30, 150, 60, 1.6 }, { 300, 165, 70, -1.4 }, { -120, 120, 50, 1.8 } };
    int dx = x - (260 - 2 * (t - 90)), dy = y - 100;
    if (t >= 90 && film->hot && abs(dx) < 16 && abs(dy) < 8)
        return dy > 4 && film->cold_foot ? -film->cold_foot : film->hot;
    for (int i = 0; i < 3; i++) {
        double h = walkers[i].height, u = (x - walkers[i].x - walkers[i].speed * t) / h;
        double v = (walkers[i].y - y) / h; /* 0 foot, 1 top */
        bool head = hypot(u, v - 0.9) < 0.1, trunk = fabs(u) < 0.15 && v >= 0.45 && v < 0.82;
        bool legs = fabs(fabs(u) - 0.08) < 0.06 && v >= 0 && v < 0.45;
        if (head || trunk || legs)
            return film->people[i];
    }
    return 0;
}

/* Warm and cold areas with edges and slopes: -1/2 .. 1/2. */
static double scene(int x, int y)
{
    double value = 0.3 * sin(x / 37.0) * cos(y / 29.0) + 0.1 * sin(x / 5.0 + y / 7.0);
    if (x > 150 && x < 200 && y > 40 && y < 110)
        value += 0.15; /* a wall in the sun */
    if (y > 140)
        value -= 0.1; /* a road */
    return fmax(-0.5, fmin(0.5, value));
}

static void write_film(const struct film *film, const char *path)
{
    static double uneven[height][width];
    static uint8_t picture[height][width][2];
    uint64_t seed = 17;
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    memset(uneven, 0, sizeof uneven);
    for (int t = 0; t < frames; t++) {
        double offset = film->drift * t + 3 * film->drift * sin(t / 9.0);
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++) {
                if (t == jump_at)
                    uneven[y][x] = film->jump + film->unevenly * gaussian(&seed);
                double level = film->base + film->span * scene(x, y) + offset + uneven[y][x] +
                               warm(film, x, y, t) + film->noise * gaussian(&seed);
                if (y < height / 4)
                    level -= film->sky;
                int word = (int)fmax(0, fmin(film->most, level + 0.5));
                picture[y][x][film->big_endian] = (uint8_t)(word & 255);
                picture[y][x][!film->big_endian] = (uint8_t)(word >> 8);
            }
        assert_int_equal(fwrite(picture, sizeof picture, 1, file), 1);
    }
    assert_int_equal(fclose(file), 0);
}

/* Where a film is and how it is to be read. */
static struct bd_options options_for(const struct film *film, const char *path)
{
    return (struct bd_options){ .arguments = { path },
                                .argument_count = 1,
                                .input_format = "rawvideo",
                                .input_options = { { "pixel_format", film->pixels },
                                                   { "video_size", "240x180" },
                                                   { "framerate", "25" } },
                                .input_option_count = 3 };
}

/* F of the masks of frames from `skipped` on; with a cold foot, of its pixels alone. */
static double score(const struct film *film, const struct bd_options *options)
{
    int64_t tp = 0, fp = 0, fn = 0;
    struct bd_pipeline *pipeline = NULL;
    struct bd_result result;
    assert_int_equal(bd_pipeline_open(&pipeline, options, false, 0, NULL, NULL), BD_OK);
    int t = 0;
    for (; bd_pipeline_next(pipeline, &result) == BD_OK; t++)
        for (int y = 0; y < height && t >= skipped; y++)
            for (int x = 0; x < width; x++) {
                bool found = result.mask->data[y * result.mask->stride + x];
                int level = warm(film, x, y, t);
                bool there = level;
                if (film->cold_foot && level != -film->cold_foot)
                    continue;
                tp += found && there;
                fp += found && !there;
                fn += !found && there;
            }
    assert_int_equal(t, frames);
    bd_pipeline_close(&pipeline);
    return 2.0 * (double)tp / (double)(2 * tp + fp + fn);
}

static double score_file(const struct film *film)
{
    const char *path = in_scratch("film.raw");
    write_film(film, path);
    struct bd_options options = options_for(film, path);
    double f = score(film, &options);
    print_message("%s, base %d, span %d, noise %g: F %.3f\n", film->pixels, film->base, film->span,
                  film->noise, f);
    return f;
}

static const struct film usual = { .pixels = "gray16le",
                                   .base = 29000,
                                   .most = 65535,
                                   .span = 300,
                                   .noise = 3,
                                   .hot = 4000,
                                   .people = { 40, 200, 100 },
                                   .drift = 0.4,
                                   .jump = -150,
                                   .unevenly = 2 };

static void people_are_found(void **state)
{
    (void)state;
    assert_true(score_file(&usual) >= 0.95);
}

/* From stdin there is no look-ahead. */
static void people_are_found_live(void **state)
{
    (void)state;
    write_film(&usual, in_scratch("film.raw"));
    assert_non_null(freopen(in_scratch("film.raw"), "rb", stdin));
    struct bd_options options = options_for(&usual, "-");
    assert_true(score(&usual, &options) >= 0.95);
}

/* The background's levels are in two groups; the curve is steep in both. */
static void a_cold_sky_costs_nothing(void **state)
{
    (void)state;
    struct film film = usual;
    film.sky = 3000;
    assert_true(score_file(&film) >= 0.95);
}

static void a_large_jump_costs_nothing(void **state)
{
    (void)state;
    struct film film = usual;
    film.jump = 1500;
    assert_true(score_file(&film) >= 0.95);
}

/* They are no shadows, although they are darker than what is around them. */
static void cold_things_are_found(void **state)
{
    (void)state;
    struct film film = usual;
    film.hot = -4000;
    for (int i = 0; i < 3; i++)
        film.people[i] *= -1;
    assert_true(score_file(&film) >= 0.95);
}

/* To an eye it would be the black shadow under a car. */
static void a_cold_foot_is_no_shadow(void **state)
{
    (void)state;
    struct film film = usual;
    film.hot = 200;
    film.cold_foot = 3000;
    assert_true(score_file(&film) >= 0.85);
}

static void other_depths_and_noise(void **state)
{
    (void)state;
    struct film film = usual;
    film.pixels = "gray12le";
    film.base = 1600;
    film.most = 4095;
    film.hot = 1000;
    assert_true(score_file(&film) >= 0.95);
    film = usual;
    film.pixels = "gray14le";
    film.base = 8600;
    film.most = 16383;
    film.span = 900;
    assert_true(score_file(&film) >= 0.95);
    film = usual;
    film.pixels = "gray16be";
    film.big_endian = true;
    film.noise = film.unevenly = 6;
    film.people[0] = 60;
    assert_true(score_file(&film) >= 0.95);
    film = usual; /* 8 times the noise */
    film.people[0] = film.people[1] = film.people[2] = 25;
    assert_true(score_file(&film) >= 0.9);
}

static void settings_and_pictures_suit(void **state)
{
    (void)state;
    struct bd_pipeline *pipeline = NULL;
    struct bd_result result;
    write_film(&usual, in_scratch("film.raw"));
    struct bd_options options = options_for(&usual, in_scratch("film.raw"));
    unsigned wants = BD_WANT_BACKGROUND | BD_WANT_OVERLAY | BD_WANT_SHADOWS;
    assert_int_equal(bd_pipeline_open(&pipeline, &options, false, wants, NULL, NULL), BD_OK);
    struct bd_separator_options settings = bd_pipeline_settings(pipeline);
    assert_int_equal(settings.channels, 1);
    assert_int_equal(settings.shadows, BD_NONE);
    assert_true(settings.threshold == 6 && settings.lambda == 4);
    for (int t = 0; t <= 120; t++)
        assert_int_equal(bd_pipeline_next(pipeline, &result), BD_OK);
    assert_int_equal(result.background->format, BD_GRAY8);
    /* The background can be seen: its levels take more than 60 bytes. */
    int least = 255, most = 0;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            int value = result.background->data[y * result.background->stride + x];
            least = value < least ? value : least;
            most = value > most ? value : most;
            int label = result.labels->data[y * result.labels->stride + x];
            assert_true(label == 0 || label == 255); /* no shadow */
        }
    assert_in_range(most - least, 60, 160);
    bd_pipeline_close(&pipeline);
    options.separator.threshold = 30;
    options.separator.lambda = 11;
    assert_int_equal(bd_pipeline_open(&pipeline, &options, false, 0, NULL, NULL), BD_OK);
    settings = bd_pipeline_settings(pipeline);
    assert_true(settings.threshold == 30 && settings.lambda == 11);
    bd_pipeline_close(&pipeline);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(people_are_found),         cmocka_unit_test(people_are_found_live),
        cmocka_unit_test(a_cold_sky_costs_nothing), cmocka_unit_test(a_large_jump_costs_nothing),
        cmocka_unit_test(cold_things_are_found),    cmocka_unit_test(a_cold_foot_is_no_shadow),
        cmocka_unit_test(other_depths_and_noise),   cmocka_unit_test(settings_and_pictures_suit),
    };
    return cmocka_run_group_tests(tests, create_scratch, remove_scratch);
}
