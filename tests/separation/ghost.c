/* A person who stays, and the ghost that one leaves, on every backend: with a look-ahead and live.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/each_backend.h"
#include "tests/support/random.h"
#include <backdrop/separator.h>

enum { width = 120, height = 80, rate = 10 };

/* The man: where he stays, and where he has gone to. */
enum { man_x = 40, man_y = 20, man_width = 16, man_height = 44, gone_x = 92 };

/* A wall with a skirting board and stripes, some noise, and a man in a patterned shirt at x, unless
 * x < 0. */
static void draw(uint8_t *picture, int frame, int x)
{
    for (int v = 0; v < height; v++)
        for (int u = 0; u < width; u++)
            for (int c = 0; c < 3; c++) {
                uint32_t i = (uint32_t)((v * width + u) * 3 + c);
                int value = v >= 60 ? 90 + 10 * c : u % 24 < 3 ? 150 : 170 - 5 * c;
                if (x >= 0 && u >= x && u < x + man_width && v >= man_y && v < man_y + man_height)
                    value = v < man_y + 20 ? (c == 2 ? 120 : 40 + u % 4 * 5) : 30;
                picture[i] = (uint8_t)(value + (int)(hash(i * 7919u + (uint32_t)frame) % 7) - 3);
            }
}

/* Set pixels of the mask in the man's shape at x, as a share of it. */
static double share(const uint8_t *mask, int x)
{
    int set = 0;
    for (int v = man_y; v < man_y + man_height; v++)
        for (int u = x; u < x + man_width; u++)
            set += mask[v * width + u] != 0;
    return (double)set / (man_width * man_height);
}

struct scene {
    struct bd_backend *backend;
    struct bd_separator *separator;
    struct bd_separation out;
    uint8_t picture[width * height * 3];
    int frame;
};

static void open_scene(struct scene *scene, const char *name, double memory)
{
    struct bd_separator_options options = { .width = width,
                                            .height = height,
                                            .channels = 3,
                                            .frame_rate = rate,
                                            .window = 20,
                                            .memory = memory };
    memset(scene, 0, sizeof *scene);
    assert_int_equal(bd_backend_open(&scene->backend, name, 2), BD_OK);
    assert_int_equal(bd_separator_create(&scene->separator, scene->backend, &options), BD_OK);
}

static void close_scene(struct scene *scene)
{
    bd_separator_destroy(&scene->separator);
    bd_backend_close(&scene->backend);
}

/* Shows the separator 20 pictures: in those from `comes` to before `goes` the man is there, and in
 * every second one of them he has swayed to the right. */
static void look_ahead_at(struct scene *scene, int comes, int goes, int sway)
{
    for (int j = 0; j < 20; j++) {
        draw(scene->picture, 5000 + j, j >= comes && j < goes ? man_x + sway * (j % 2) : -1);
        assert_int_equal(
            bd_separator_look_ahead(scene->separator, scene->picture, (int64_t)width * 3), BD_OK);
    }
    assert_int_equal(bd_separator_initialise(scene->separator), BD_OK);
}

/* Shows the separator frames in which the man stays for the first `stays` of 20 pictures. */
static void look_ahead(struct scene *scene, int stays)
{
    look_ahead_at(scene, 0, stays, 0);
}

static void push(struct scene *scene, int x)
{
    draw(scene->picture, scene->frame, x);
    assert_int_equal(bd_separator_push(scene->separator, scene->picture, (int64_t)width * 3,
                                       (double)scene->frame / rate, &scene->out),
                     BD_OK);
    scene->frame++;
}

/* A scene that nobody has been in, after a look-ahead and a second. */
static void open_empty(struct scene *scene, const char *name, double memory)
{
    open_scene(scene, name, memory);
    look_ahead(scene, 0);
    for (int i = 0; i < rate; i++)
        push(scene, -1);
}

/* He stays there for most of the look-ahead, at its beginning or at its end: the wall is the
 * background nevertheless. */
static void test_first_background(void **state)
{
    (void)state;
    static struct scene scene;
    FOR_EACH_BACKEND(name)
    for (int stays = 4; stays <= 16; stays += 4) {
        open_scene(&scene, name, 60);
        look_ahead(&scene, stays);
        for (int i = 0; i < 5; i++)
            push(&scene, man_x);
        assert_true(share(scene.out.mask, man_x) > 0.95);
        push(&scene, -1);
        assert_true(share(scene.out.mask, man_x) < 0.05);
        close_scene(&scene);
    }
}

/* The same of somebody who comes, stays and sways: along his outline the wall is seen for most of
 * the time. */
static void test_swaying(void **state)
{
    (void)state;
    static struct scene scene;
    FOR_EACH_BACKEND(name)
    for (int comes = 4; comes <= 8; comes += 2) {
        open_scene(&scene, name, 60);
        look_ahead_at(&scene, comes, 20, 3);
        push(&scene, -1);
        assert_int_equal(scene.out.foreground, 0);
        push(&scene, man_x);
        assert_true(share(scene.out.mask, man_x) > 0.95);
        close_scene(&scene);
    }
}

/* Live, he is there from the start: background, as far as can be known. When he leaves, his ghost
 * stays for a few seconds at most, and he himself is seen all the while. */
static void test_ghost(void **state)
{
    (void)state;
    static struct scene scene;
    FOR_EACH_BACKEND(name)
    {
        int64_t ghost_pixels = 0;
        open_scene(&scene, name, 60);
        for (int i = 0; i < 15 * rate; i++)
            push(&scene, man_x);
        assert_true(share(scene.out.mask, man_x) < 0.05);
        for (int i = 0; i < 4 * rate; i++) {
            push(&scene, gone_x);
            ghost_pixels += scene.out.ghost_pixels;
            assert_true(share(scene.out.mask, gone_x) > 0.9);
            if (i == rate)
                assert_true(share(scene.out.mask, man_x) > 0.9); /* there was a ghost */
        }
        assert_true(share(scene.out.mask, man_x) < 0.05);
        assert_in_range(ghost_pixels, man_width * man_height * 9 / 10, man_width * man_height * 2);
        /* And it does not come back when the window has slid on. */
        for (int i = 0; i < 10 * rate; i++) {
            push(&scene, gone_x);
            assert_true(share(scene.out.mask, man_x) < 0.05);
        }
        close_scene(&scene);
    }
}

/* Who was in the first frame and soon leaves has no ghost a second later. */
static void test_first_ghost(void **state)
{
    (void)state;
    static struct scene scene;
    FOR_EACH_BACKEND(name)
    {
        open_scene(&scene, name, 60);
        for (int i = 0; i < 2 * rate; i++)
            push(&scene, man_x);
        assert_true(share(scene.out.mask, man_x) < 0.05);
        push(&scene, gone_x);
        assert_true(share(scene.out.mask, man_x) > 0.9);
        for (int i = 0; i < rate; i++) {
            push(&scene, gone_x);
            assert_true(share(scene.out.mask, gone_x) > 0.9);
        }
        assert_true(share(scene.out.mask, man_x) < 0.05);
        close_scene(&scene);
    }
}

/* A dark room with a lit wall, before which a black object stays: when it leaves, the wall has
 * most of the light. The background is what it should be from the first frame on in which it is
 * seen to be one, though the window has not slid yet. */
static void test_bright(void **state)
{
    (void)state;
    static struct scene scene;
    FOR_EACH_BACKEND(name)
    {
        int64_t ghost_pixels = 0, set = 0;
        open_scene(&scene, name, 60);
        for (int i = 0; i < 20 * rate; i++) {
            for (int k = 0; k < width * height * 3; k++) {
                int x = k / 3 % width, y = k / 3 / width;
                bool wall = x > width / 8 && x < width * 7 / 8 && y > height / 8 && y < 60;
                bool covered = x > width / 8 + 3 && x < width * 7 / 8 - 3 && y > height / 8 + 3 &&
                               y < 57 && i < 15 * rate;
                scene.picture[k] = (uint8_t)((covered ? 8
                                              : wall  ? 235
                                                      : 30) +
                                             hash((uint32_t)k * 7919u + (uint32_t)i) % 4);
            }
            assert_int_equal(bd_separator_push(scene.separator, scene.picture, (int64_t)width * 3,
                                               (double)i / rate, &scene.out),
                             BD_OK);
            ghost_pixels += scene.out.ghost_pixels;
            if (ghost_pixels && scene.out.foreground > set)
                set = scene.out.foreground;
        }
        assert_in_range(ghost_pixels, width * height / 10, width * height);
        assert_in_range(set, 0, width * height / 1000);
        close_scene(&scene);
    }
}

/* Who comes and stays still is foreground for the memory time, and background after two and a half
 * times that. */
static void test_stander(void **state)
{
    (void)state;
    static struct scene scene;
    const int memory = 12;
    FOR_EACH_BACKEND(name)
    {
        open_empty(&scene, name, memory);
        for (int i = 0; i < memory * rate; i++) {
            push(&scene, man_x);
            assert_true(share(scene.out.mask, man_x) > 0.95);
            assert_int_equal(scene.out.ghost_pixels, 0);
        }
        for (int i = 0; i < memory * rate * 3 / 2; i++)
            push(&scene, man_x);
        assert_true(share(scene.out.mask, man_x) < 0.05);
        close_scene(&scene);
    }
}

/* Who stays still for somewhat longer than the memory time and leaves uncovers no ghost. */
static void test_leaver(void **state)
{
    (void)state;
    static struct scene scene;
    const int memory = 12;
    FOR_EACH_BACKEND(name)
    {
        open_empty(&scene, name, memory);
        for (int i = 0; i < memory * rate * 5 / 4; i++)
            push(&scene, man_x);
        for (int i = 0; i < 2 * memory * rate; i++) {
            push(&scene, -1);
            assert_int_equal(scene.out.foreground, 0);
        }
        close_scene(&scene);
    }
}

/* What is frozen stays, ghosts too. */
static void test_frozen(void **state)
{
    (void)state;
    static struct scene scene;
    FOR_EACH_BACKEND(name)
    {
        open_scene(&scene, name, 60);
        for (int i = 0; i < 15 * rate; i++)
            push(&scene, man_x);
        bd_separator_freeze(scene.separator, true);
        for (int i = 0; i < 6 * rate; i++)
            push(&scene, gone_x);
        assert_true(share(scene.out.mask, man_x) > 0.9);
        close_scene(&scene);
    }
}

/* Covers six tenths of the picture with leaves, blocks of 8 x 8 that are elsewhere in every frame.
 * No edge of theirs is one of the man's: what the background keeps of them would pass for him in
 * other light (separation/shared/illumination.h). */
static void cover(uint8_t *picture, int frame)
{
    for (int v = 0; v < height; v++)
        for (int u = 0; u < width; u++) {
            uint32_t leaf =
                hash((uint32_t)((v + 2) / 8 * 64 + (u + 4) / 8) * 7919u + (uint32_t)frame);
            for (int c = 0; c < 3 && leaf % 10 < 6; c++)
                picture[(v * width + u) * 3 + c] = (uint8_t)(20 + (leaf >> (8 + 4 * c)) % 100);
        }
}

/* Before leaves that cover most of the picture all the time the look-ahead finds the wall behind
 * them: it is not cut short as by a change of light. */
static void test_leaves(void **state)
{
    (void)state;
    static struct scene scene;
    FOR_EACH_BACKEND(name)
    {
        open_scene(&scene, name, 60);
        for (int j = 0; j < 20; j++) {
            draw(scene.picture, 5000 + j, -1);
            cover(scene.picture, j);
            assert_int_equal(
                bd_separator_look_ahead(scene.separator, scene.picture, (int64_t)width * 3), BD_OK);
        }
        assert_int_equal(bd_separator_initialise(scene.separator), BD_OK);
        push(&scene, -1);
        assert_int_equal(scene.out.columns, 20);
        assert_in_range(scene.out.foreground, 0, width * height / 8);
        push(&scene, man_x);
        assert_true(share(scene.out.mask, man_x) > 0.9);
        close_scene(&scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_background),
        cmocka_unit_test(test_swaying),
        cmocka_unit_test(test_ghost),
        cmocka_unit_test(test_first_ghost),
        cmocka_unit_test(test_bright),
        cmocka_unit_test(test_stander),
        cmocka_unit_test(test_leaver),
        cmocka_unit_test(test_frozen),
        cmocka_unit_test(test_leaves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
