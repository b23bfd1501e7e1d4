/* Signs that blink are background (separation/shared/flash.h): the search against a plain version
 * of its specification, alone and through the function table of every backend, and films through
 * the public interface. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/pool.h"
#include "separation/cpu/flash.h"
#include "separation/shared/ops.h"
#include "tests/separation/flash_plain.h"
#include "tests/support/each_backend.h"
#include "tests/support/quick.h"
#include "tests/support/random.h"

/* A picture that goes on changing. What happens is given to it cell by cell. */
struct film {
    uint8_t *frame;
    uint32_t seed;
    int quiet;
    bool calm; /* one sign blinks or, with a short quiet, has something pass for a while */
    int number;
    struct sign {              /* in cells */
        int x, y, across, due; /* due: frames until it blinks */
    } signs[2];
    int moves, x, y; /* of a thing: frames for which it goes on, and its cell */
};

static bool one_in(struct film *film, int many)
{
    return between(&film->seed, 1, many) == 1;
}

static void add(uint8_t *value, int by)
{
    *value = (uint8_t)(*value + by > 255 ? *value - by : *value + by);
}

/* Changes `count` of the pixels of a cell that are looked at, in one channel or in all. */
static void change_pixels(struct film *film, const struct plain *p, int cell, int count, int by)
{
    const int left = cell % p->across * p->side, top = cell / p->across * p->side;
    const int channel = between(&film->seed, 0, p->channels); /* the last one: all */
    int pixels, k;
    count_pixels(p, film->frame, cell, 0, &pixels);
    k = between(&film->seed, 0, pixels > 1 ? pixels - 1 : 0);
    for (int y = top; y < top + p->side && y < p->height; y++)
        for (int x = left; x < left + p->side && x < p->width && is_looked_at(p, y); x++) {
            uint8_t *pixel = film->frame + (y * p->width + x) * p->channels;
            for (int c = 0; c < p->channels && k % pixels < count; c++)
                if (channel == c || channel == p->channels)
                    add(pixel + c, by);
            k++;
        }
}

/* A cell changes as a whole or, now and then, just so or just not; or it just moves. */
static void change_cell(struct film *film, const struct plain *p, int x, int y)
{
    int pixels, count;
    if (x < 0 || y < 0 || x >= p->across || y >= p->down)
        return;
    const int cell = y * p->across + x;
    count_pixels(p, film->frame, cell, 0, &pixels);
    count = film->calm || one_in(film, 2) ? pixels : (2 * pixels + 4) / 5 - one_in(film, 8);
    if (!film->calm && one_in(film, 12))
        count = (pixels + 3) / 4 - one_in(film, 2);
    change_pixels(film, p, cell, count,
                  !film->calm && one_in(film, 8) ? 20
                  : one_in(film, 2)              ? 21
                                                 : 60);
}

static void blink(struct film *film, const struct plain *p, struct sign *sign)
{
    if (--sign->due > 0)
        return;
    for (int y = 0; y < 2; y++)
        for (int x = 0; x < sign->across; x++)
            change_cell(film, p, sign->x + x, sign->y + y);
    sign->due = film->quiet + between(&film->seed, film->calm ? 1 : 0, film->calm ? 10 : 4);
}

/* What moves in every other frame, and never as a whole, takes back all flashes. */
static void pass(struct film *film, const struct plain *p, const struct sign *sign)
{
    const int cell = sign->y * p->across + sign->x;
    int pixels;
    count_pixels(p, film->frame, cell, 0, &pixels);
    if (film->number % 2)
        change_pixels(film, p, cell, (pixels + 3) / 4, 60);
}

/* The light changes in all cells, or in as few as make light, or in as many as do not, beside
 * two that move but not as a whole; from a sign on, or from anywhere. */
static void change_light(struct film *film, const struct plain *p)
{
    const int cells = cells_of(p), sign = film->signs[0].y * p->across + film->signs[0].x;
    const int from = one_in(film, 2) ? sign : between(&film->seed, 0, cells - 1);
    const int count = one_in(film, 3) ? cells : cells / 4 + one_in(film, 2);
    for (int i = 0; i < cells && i < count + 2; i++) {
        int pixels, cell = (from + i) % cells;
        count_pixels(p, film->frame, cell, 0, &pixels);
        change_pixels(film, p, cell, i < count ? pixels : (pixels + 3) / 4, 30);
    }
}

/* Something moves about a sign, from cell to cell. */
static void move(struct film *film, const struct plain *p)
{
    if (film->moves-- <= 0) {
        const struct sign *by = &film->signs[one_in(film, 2)];
        film->moves = one_in(film, 12) ? 6 : 0;
        film->x = by->x + between(&film->seed, -3, 3);
        film->y = by->y + between(&film->seed, -3, 3);
        return;
    }
    change_cell(film, p, film->x, film->y);
    film->x += between(&film->seed, -1, 1);
    film->y += between(&film->seed, -1, 1);
    change_cell(film, p, film->x, film->y);
}

/* Rows that are not looked at change in each frame; of the others one pixel does at least, by
 * little, unless the frame is repeated. */
static void draw_next(struct film *film, const struct plain *p)
{
    const size_t row = (size_t)p->width * (size_t)p->channels;
    for (int y = 0; y < p->height; y++)
        for (size_t x = 0; x < row && !is_looked_at(p, y); x++)
            film->frame[(size_t)y * row + x] += 100;
    if (!film->calm && one_in(film, 7))
        return;
    change_pixels(film, p, between(&film->seed, 0, cells_of(p) - 1), 1, one_in(film, 2) ? 1 : 20);
    film->number++;
    if (film->calm && film->quiet < 9 && film->number % 140 >= 100)
        pass(film, p, &film->signs[0]);
    else
        blink(film, p, &film->signs[0]);
    if (film->calm)
        return;
    blink(film, p, &film->signs[1]);
    if (one_in(film, 20))
        change_light(film, p);
    move(film, p);
}

/* Boxes about the signs, many of them on the edges of cells, and specks. */
static void draw_mask(struct film *film, const struct plain *p, uint8_t *mask)
{
    uint32_t *seed = &film->seed;
    memset(mask, 0, (size_t)p->width * (size_t)p->height);
    for (int box = 0; box < 12; box++) {
        const struct sign *at = &film->signs[box % 2];
        const int most = box < 8 ? 6 : 2 * p->side;
        const int left = (at->x + between(seed, -2, 4)) * p->side + between(seed, -3, 3);
        const int top = (at->y + between(seed, -2, 4)) * p->side + between(seed, -3, 3);
        const int right = left + between(seed, 1, most), down = top + between(seed, 1, most);
        for (int y = top < 0 ? 0 : top; y < down && y < p->height; y++)
            for (int x = left < 0 ? 0 : left; x < right && x < p->width; x++)
                mask[y * p->width + x] = 1;
    }
    for (int speck = 0; speck < 20; speck++)
        mask[between(seed, 0, p->width * p->height - 1)] = 1;
}

/* What is tested: the functions of the CPU or, with ops, a state of a backend. */
struct subject {
    struct bd_flash *flash;
    struct bd_mask_work *work;
    const struct bd_separation_ops *ops;
    void *state;
};

static void check_functions(struct subject *s, const struct plain *p, const uint8_t *frame,
                            int quiet, bool learn, uint8_t *mask)
{
    bd_flash_follow(s->flash, frame, quiet, learn);
    const uint8_t *places = bd_flash_places(s->flash);
    for (int i = 0; i < cells_of(p) && quiet; i++) {
        const int place = places ? places[i] : 0;
        assert_int_equal((place & bd_flash_is_place) != 0, p->place[i]);
        assert_int_equal((place & bd_flash_is_lit) != 0, p->lit[i]);
        assert_int_equal((place & bd_flash_is_crossed) != 0, p->crossed[i]);
    }
    if (!quiet)
        assert_null(places);
    bd_flash_remove(s->flash, s->work, mask);
}

/* Has the backend find the mask: the background differs from the frame there, and only there. */
static void check_backend(struct subject *s, const struct plain *p, const uint8_t *frame, int quiet,
                          bool learn, uint8_t *mask)
{
    static uint8_t background[most_pixels * 3];
    const struct bd_detect_params params = { .threshold = 20,
                                             .most = 60,
                                             .plain = -1,
                                             .median = 1,
                                             .flash_quiet = quiet,
                                             .noise_rate = 0.02F,
                                             .seconds = 0.04F,
                                             .memory = 60 };
    struct bd_separation out;
    for (int i = 0; i < p->width * p->height * p->channels; i++)
        background[i] = (uint8_t)(frame[i] + (mask[i / p->channels] ? 128 : 0));
    assert_int_equal(s->ops->load(s->state, frame, (int64_t)p->width * p->channels), BD_OK);
    assert_int_equal(s->ops->load_background(s->state, background), BD_OK);
    assert_int_equal(s->ops->detect(s->state, &params, learn), BD_OK);
    assert_int_equal(s->ops->finish(s->state), BD_OK);
    assert_int_equal(s->ops->collect(s->state, &out), BD_OK);
    for (int i = 0; i < p->width * p->height; i++)
        mask[i] = out.mask[i] / 255;
}

/* A film of a subject that knows nothing yet. */
static void check_film(struct subject *s, struct plain *p, struct film *film, int frames,
                       struct tally *tally)
{
    static uint8_t want[most_pixels], got[most_pixels];
    forget(p);
    for (int k = 0; k < frames; k++) {
        const bool pause = !film->calm && one_in(film, 40), learn = film->calm || !one_in(film, 15);
        draw_next(film, p);
        draw_mask(film, p, want);
        memcpy(got, want, sizeof got);
        follow(p, film->frame, pause ? 0 : film->quiet, learn);
        remove_background(p, want, tally);
        (s->ops ? check_backend : check_functions)(s, p, film->frame, pause ? 0 : film->quiet,
                                                   learn, got);
        assert_memory_equal(got, want, (size_t)p->width * (size_t)p->height);
        for (int i = 0; i < cells_of(p); i++) {
            tally->lit += p->lit[i];
            tally->unlit += p->place[i] && !p->lit[i];
            tally->crossed += p->crossed[i];
        }
        if (pause && one_in(film, 2))
            film->quiet = between(&film->seed, 1, 5);
        if (!film->calm && one_in(film, 50)) {
            forget(p);
            s->ops ? (void)s->ops->reset(s->state) : bd_flash_reset(s->flash);
        }
    }
}

static void open_subject(struct subject *s, struct bd_pool *pool, struct bd_backend *backend,
                         const struct plain *p)
{
    const struct bd_separation_shape shape = { p->width, p->height, p->channels, 2, 1, 15, 1 };
    *s = (struct subject){ .ops = backend ? backend->ops->separation : NULL };
    if (backend) {
        assert_int_equal(s->ops->create(backend, &shape, &s->state), BD_OK);
        assert_int_equal(s->ops->reset(s->state), BD_OK);
        return;
    }
    assert_int_equal(bd_flash_create(&s->flash, pool, &shape), BD_OK);
    assert_int_equal(bd_mask_work_create(&s->work, pool, p->width, p->height), BD_OK);
}

static void close_subject(struct subject *s)
{
    if (s->ops)
        s->ops->destroy(s->state);
    else
        bd_mask_work_destroy(&s->work);
    bd_flash_destroy(&s->flash);
}

/* A film of its own for each round, of all sizes of cells. A calm one has a quiet of its own; 0: it
 * is not calm. */
static void check_round(struct bd_pool *pool, struct bd_backend *backend, int round, int calm_quiet,
                        struct tally *tally)
{
    static const int sizes[][2] = { { 8, 100 },   { 61, 45 }, { 531, 20 }, { 37, 721 },
                                    { 70, 1441 }, { 1, 720 }, { 5, 1440 }, { 104, 90 } };
    static struct plain p;
    struct film film = { .seed = (uint32_t)round + 1, .calm = calm_quiet };
    struct subject s;
    p.width = sizes[round % 8][0];
    p.height = sizes[round % 8][1];
    p.channels = round / 8 % 2 ? 1 : 3;
    p.side = p.height < 720 ? 8 : p.height < 1440 ? 16 : 32;
    p.across = (p.width + p.side - 1) / p.side;
    p.down = (p.height + p.side - 1) / p.side;
    film.quiet = film.calm ? calm_quiet : between(&film.seed, 1, 5);
    for (int i = 0; i < 2; i++)
        film.signs[i] = (struct sign){ .x = between(&film.seed, 0, p.across - 1),
                                       .y = between(&film.seed, 0, p.down - 1),
                                       .across = i + 1,
                                       .due = i + 3 };
    /* It is as large as the picture, so that AddressSanitizer sees what is read behind it. */
    const int count = p.width * p.height * p.channels;
    film.frame = test_malloc((size_t)count);
    for (int i = 0; i < count; i++)
        film.frame[i] = (uint8_t)between(&film.seed, 0, 255);
    open_subject(&s, pool, backend, &p);
    check_film(&s, &p, &film, film.calm ? 1300 : 120, tally);
    close_subject(&s);
    test_free(film.frame);
}

static void check_films(struct bd_pool *pool, struct bd_backend *backend, int rounds)
{
    struct tally t = { 0 };
    for (int round = 0; round < (test_quick() ? 8 : rounds); round++)
        check_round(pool, backend, round, 0, &t);
    check_round(pool, backend, 0, 250, &t);
    check_round(pool, backend, 0, 2, &t);
    print_message("places lit %lld, unlit %lld, crossed %lld; components removed %lld, just so "
                  "%lld, kept outside %lld, unlit %lld, crossed %lld\n",
                  (long long)t.lit, (long long)t.unlit, (long long)t.crossed, (long long)t.removed,
                  (long long)t.just, (long long)t.outside, (long long)t.dark, (long long)t.passed);
    assert_true(t.lit > 0 && t.unlit > 0 && t.removed > 0 && t.just > 0);
    assert_true(t.outside > 0 && t.dark > 0 && t.crossed > 0 && t.passed > 0);
}

static void test_functions(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 3; threads += 2) {
        struct bd_pool *pool;
        assert_int_equal(bd_pool_create(&pool, threads), BD_OK);
        check_films(pool, NULL, 40);
        bd_pool_destroy(&pool);
    }
}

static void test_backends(void **state)
{
    (void)state;
    FOR_EACH_BACKEND(name)
    {
        struct bd_backend *backend;
        assert_int_equal(bd_backend_open(&backend, name, 2), BD_OK);
        check_films(NULL, backend, 24);
        bd_backend_close(&backend);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions),
        cmocka_unit_test(test_backends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
