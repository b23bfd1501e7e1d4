/* Both backends on real footage: masks, shadows and backgrounds are the same, to the bit.
 *
 * A mask is a function of the bytes of frame f and background l and of the noise levels before
 * (separation/shared/mask.h); test_known gives both backends the same l. l itself is B w, rounded
 * to bytes; B and w come from sums that the backends add up in different orders, and are rounded so
 * that they are the same all the same (separation/shared/rounding.h). test_live lets each backend
 * learn its own B from the first frame on, without a look-ahead, and reports the first differing
 * byte of a mask with all values that decided it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "separation/cpu/state.h"
#include "separation/state.h"
#include "tests/support/quick.h"
#include "video/input/reader.h"
#include <backdrop/separator.h>

static const struct {
    const char *name;
    int frames;
} films[] = { { "vtest.avi", 795 }, { "car-detection.mp4", 200 } };

enum { film_count = sizeof films / sizeof *films };

/* The other backend: `cuda`, or the program's first argument (cpu tests this test). */
static const char *other = "cuda";

/* Two separators with the same options on a film, and a third for the reference's l. */
struct run {
    const char *film;
    struct bd_reader *reader;
    struct bd_frame picture;
    struct bd_backend *backends[2];
    struct bd_separator *separators[2], *guide;
    struct bd_separation out[2];
    double seconds_a_unit;
    int64_t pixels, m, frame, frames;
    int64_t masks, shadows, l_by_one, l_by_more; /* bytes that differ so far */
    uint16_t *d_differed;                        /* pixels: frames in which |f - l| differed */
};

/* False where there is no such film or backend. */
static bool open_run(struct run *run, int film, bool guided)
{
    char path[4096];
    const char *data = getenv("BACKDROP_DATA");
    *run =
        (struct run){ .film = films[film].name, .frames = test_quick() ? 20 : films[film].frames };
    snprintf(path, sizeof path, "%s/videos/%s", data ? data : ".", run->film);
    const struct bd_reader_options options = { .format = BD_RGB24 };
    if (bd_reader_open(&run->reader, path, &options) != BD_OK) {
        print_message("skipped: no %s in BACKDROP_DATA/videos\n", run->film);
        return false;
    }
    const struct bd_reader_info *info = bd_reader_get_info(run->reader);
    run->seconds_a_unit = (double)info->time_base.num / (double)info->time_base.den;
    run->pixels = (int64_t)info->width * info->height;
    run->m = 3 * run->pixels;
    const struct bd_separator_options settings = {
        .width = info->width,
        .height = info->height,
        .channels = 3,
        .frame_rate = (double)info->frame_rate.num / (double)info->frame_rate.den,
        .outputs = BD_SEPARATOR_MASK | BD_SEPARATOR_BACKGROUND | BD_SEPARATOR_DIFFERENCE |
                   BD_SEPARATOR_SHADOW
    };
    for (int i = 0; i < 2; i++) {
        if (bd_backend_open(&run->backends[i], i ? other : "cpu", 0) != BD_OK) {
            print_message("skipped: %s\n", bd_error_detail());
            return false;
        }
        assert_int_equal(bd_separator_create(&run->separators[i], run->backends[i], &settings),
                         BD_OK);
    }
    if (guided)
        assert_int_equal(bd_separator_create(&run->guide, run->backends[0], &settings), BD_OK);
    if (guided) /* a third separator makes it slower */
        run->frames /= 4;
    assert_non_null(run->d_differed = calloc((size_t)run->pixels, sizeof *run->d_differed));
    return true;
}

static void close_run(struct run *run)
{
    bd_separator_destroy(&run->guide);
    for (int i = 0; i < 2; i++) {
        bd_separator_destroy(&run->separators[i]);
        bd_backend_close(&run->backends[i]);
    }
    free(run->d_differed);
    bd_frame_destroy(&run->picture);
    bd_reader_close(&run->reader);
}

/* Separates the next frame with both; false at the end. */
static bool next(struct run *run)
{
    if (run->frame == run->frames || bd_reader_read(run->reader, &run->picture) != BD_OK)
        return false;
    const struct bd_frame *f = &run->picture;
    double time = (double)f->pts * run->seconds_a_unit;
    struct bd_separation known = { 0 };
    if (run->guide)
        assert_int_equal(bd_separator_push(run->guide, f->data, f->stride, time, &known), BD_OK);
    for (int i = 0; i < 2; i++) {
        struct bd_separator *s = run->separators[i];
        enum bd_status status = run->guide
                                    ? bd_separator_push_known(s, f->data, f->stride,
                                                              known.background, time, &run->out[i])
                                    : bd_separator_push(s, f->data, f->stride, time, &run->out[i]);
        if (status != BD_OK)
            fail_msg("%s, frame %lld: %s", run->film, (long long)run->frame, bd_error_detail());
    }
    run->frame++;
    return true;
}

/* One line about pixel (x, y): f, l of both (and B w of the reference before rounding), |f - l| of
 * both, and the limit that it must exceed by the reference's noise level, which learned from this
 * frame already. In a frame that entered the window B is the one of the next frame. */
static void report_pixel(const struct run *run, int x, int y)
{
    const struct bd_separation *out = run->out;
    const struct bd_cpu_separator *cpu = run->separators[0]->state;
    int64_t p = (int64_t)y * run->picture.width + x;
    const uint8_t *f = run->picture.data + y * run->picture.stride + 3 * (int64_t)x;
    float limit = fmaxf(20, fminf(60, 3 * cpu->noise[p]));
    print_message(
        "  (%d, %d): mask %d %d, |f - l| %d %d (differed in %d frames), noise %.7g, limit "
        "%.7g;",
        x, y, out[0].mask[p], out[1].mask[p], out[0].difference[p], out[1].difference[p],
        run->d_differed[p], (double)cpu->noise[p], (double)limit);
    for (int c = 0; c < 3; c++) {
        double l = 0;
        for (int k = 0; k < cpu->rank; k++)
            l += (double)cpu->basis[k * cpu->ld + 3 * p + c] * (double)cpu->w[k];
        print_message(" f %d l %d %d B w %.6f", f[c], out[0].background[3 * p + c],
                      out[1].background[3 * p + c], l);
    }
    print_message("\n");
}

/* The first byte of the masks that differs, and what differs around it. */
static void report_first(const struct run *run, int64_t at)
{
    enum { around = 6 };
    const struct bd_separation *out = run->out;
    int width = run->picture.width, height = run->picture.height;
    int x = (int)(at % width), y = (int)(at / width);
    print_message("%s: frame %lld%s, the first mask byte that differs; w %.9g\n", run->film,
                  (long long)run->frame - 1, out[0].learned ? " (entered the window)" : "",
                  (double)((const struct bd_cpu_separator *)run->separators[0]->state)->w[0]);
    report_pixel(run, x, y);
    for (int v = y - around; v <= y + around; v++)
        for (int u = x - around; u <= x + around; u++) {
            int64_t p = (int64_t)v * width + u;
            if (u < 0 || v < 0 || u >= width || v >= height || p == at)
                continue;
            if (out[0].mask[p] != out[1].mask[p] || out[0].difference[p] != out[1].difference[p] ||
                run->d_differed[p])
                report_pixel(run, u, v);
        }
}

static void compare(struct run *run)
{
    const struct bd_separation *a = &run->out[0], *b = &run->out[1];
    int64_t first = -1, masks = run->masks;
    for (int64_t p = 0; p < run->pixels; p++) {
        run->d_differed[p] += a->difference[p] != b->difference[p];
        run->shadows += a->shadow[p] != b->shadow[p];
        if (a->mask[p] == b->mask[p])
            continue;
        run->masks++;
        first = first < 0 ? p : first;
    }
    for (int64_t i = 0; i < run->m; i++) {
        int off = abs(a->background[i] - b->background[i]);
        run->l_by_one += off == 1;
        run->l_by_more += off > 1;
    }
    if (!masks && first >= 0)
        report_first(run, first);
}

static void print_counts(const struct run *run, const char *how)
{
    print_message("%s, %s: of %lld bytes of masks %lld differ, of shadows %lld; of %lld bytes of "
                  "backgrounds %lld differ by one grey level, %lld by more\n",
                  run->film, how, (long long)run->pixels * run->frame, (long long)run->masks,
                  (long long)run->shadows, (long long)run->m * run->frame, (long long)run->l_by_one,
                  (long long)run->l_by_more);
}

/* Given the same backgrounds both make the same masks, to the bit. */
static void test_known(void **state)
{
    (void)state;
    struct run run;
    for (int film = 0; film < film_count; film++) {
        bool usable = open_run(&run, film, true);
        while (usable && next(&run)) {
            compare(&run);
            assert_int_equal(run.out[0].changed, run.out[1].changed);
            assert_int_equal(run.out[0].foreground, run.out[1].foreground);
        }
        if (usable)
            print_counts(&run, "backgrounds given");
        close_run(&run);
        assert_int_equal(run.masks + run.shadows + run.l_by_one + run.l_by_more, 0);
    }
}

/* Each learns its own background. */
static void test_live(void **state)
{
    (void)state;
    struct run run;
    for (int film = 0; film < film_count; film++) {
        bool usable = open_run(&run, film, false);
        while (usable && next(&run)) {
            compare(&run);
            assert_int_equal(run.out[0].columns, run.out[1].columns);
            assert_int_equal(run.out[0].rank, run.out[1].rank);
        }
        if (usable)
            print_counts(&run, "live");
        close_run(&run);
        assert_int_equal(run.masks + run.shadows + run.l_by_one + run.l_by_more, 0);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known),
        cmocka_unit_test(test_live),
    };
    if (argc > 1)
        other = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
