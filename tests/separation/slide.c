/* R of the live separator's window, on every backend: how far it is from the window's after many
 * slides, and when it is made from the frames again. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "separation/shared/drift.h"
#include "separation/state.h"
#include "tests/support/each_backend.h"
#include "tests/support/quick.h"
#include "tests/support/random.h"
#include <backdrop/matrix.h>

enum {
    width = 48,
    height = 32,
    side = 9,
    window = 12,
    frame_rate = 25,
    frames_a_slide = 4,
    cleaning = 3, /* times R is made from the frames when the window has been filled */
    every = 10    /* R is compared with the window's at one slide in so many */
};

/* A separator with a table that counts and compares. */
struct scene {
    struct bd_backend *backend;
    struct bd_separator *separator;
    struct bd_backend_ops ops;
    struct bd_separation_ops separation;
    struct bd_matrix exact; /* R of the window, from its frames */
    struct bd_separation out;
    int frame, slides, renewals;
    double distance, farthest; /* of R^T R from X^T X: the last, and the largest */
};

static struct scene now;
static const struct bd_separation_ops *real;

/* ||R^T R - X^T X|| / ||X^T X|| (Frobenius) of the window as it is. */
static double distance_from_window(void *state, const int *order, float lambda)
{
    float r[window * window], exact[window * window];
    double off = 0, all = 0;
    assert_int_equal(real->reduce(state, order, window, lambda, now.exact.data, now.exact.ld),
                     BD_OK);
    assert_int_equal(bd_backend_sync(now.backend), BD_OK); /* the separator has a lane of its own */
    assert_int_equal(bd_matrix_download(now.backend, exact, window, &now.exact), BD_OK);
    assert_int_equal(bd_matrix_download(now.backend, r, window, &now.separator->r), BD_OK);
    for (int i = 0; i < window; i++)
        for (int j = 0; j < window; j++) {
            double g = 0, x = 0;
            for (int k = 0; k <= i && k <= j; k++) {
                g += (double)r[i * window + k] * (double)r[j * window + k];
                x += (double)exact[i * window + k] * (double)exact[j * window + k];
            }
            off += (g - x) * (g - x);
            all += x * x;
        }
    return sqrt(off / all);
}

static enum bd_status counted_reduce(void *state, const int *order, int count, float lambda,
                                     float *r, int64_t ldr)
{
    now.renewals++;
    return real->reduce(state, order, count, lambda, r, ldr);
}

static enum bd_status compared_basis(void *state, const int *order, int count, float lambda,
                                     double tau, const float *sigma, const float *v, int64_t ldv)
{
    if (count == window && now.slides % every == 0) {
        now.distance = distance_from_window(state, order, lambda);
        now.farthest = fmax(now.farthest, now.distance);
    }
    return real->basis(state, order, count, lambda, tau, sigma, v, ldv);
}

/* A textured picture in light that rises and falls, more so on one side than on the other, that is
 * switched at times, and in which a part is another for good from time to time; a square crosses
 * it. */
static void draw(uint8_t *picture, int frame)
{
    const double slow = 0.15 * sin(frame / 300.0), switched = frame / 700 % 2 ? 0.8 : 1;
    const int x = frame % 200, y = 10;
    for (int v = 0; v < height; v++)
        for (int u = 0; u < width; u++) {
            const uint32_t i = (uint32_t)(v * width + u);
            const uint32_t part = (uint32_t)(u / 8 + v / 8 * 8);
            const uint32_t version = ((uint32_t)frame + 97 * part) / 2500;
            double value = 90 + hash(part * 31 + version) % 60 + hash(i * 13) % 30;
            value *= switched * (1 + slow * u / width);
            if (u >= x && u < x + side && v >= y && v < y + side)
                value = 240;
            picture[i] = (uint8_t)(value + (double)(hash(i * 7919u + (uint32_t)frame) % 9) - 4);
        }
}

static void open_scene(const char *name, int refine)
{
    const struct bd_separator_options options = { .width = width,
                                                  .height = height,
                                                  .channels = 1,
                                                  .window = window,
                                                  .memory =
                                                      (double)window * frames_a_slide / frame_rate,
                                                  .refine = refine };
    now = (struct scene){ 0 };
    assert_int_equal(bd_backend_open(&now.backend, name, 0), BD_OK);
    assert_int_equal(bd_matrix_create(now.backend, &now.exact, window, window, BD_F32), BD_OK);
    real = now.backend->ops->separation;
    now.ops = *now.backend->ops;
    now.separation = *real;
    now.separation.reduce = counted_reduce;
    now.separation.basis = compared_basis;
    now.separation.basis_only = NULL; /* R is made as often on every backend */
    now.ops.separation = &now.separation;
    now.backend->ops = &now.ops; /* the separator keeps the table that it finds */
    assert_int_equal(bd_separator_create(&now.separator, now.backend, &options), BD_OK);
}

static void close_scene(void)
{
    bd_separator_destroy(&now.separator);
    bd_matrix_destroy(now.backend, &now.exact);
    bd_backend_close(&now.backend);
}

/* Pushes frames until one more has entered a full window. */
static void slide(void)
{
    uint8_t picture[width * height];
    do {
        draw(picture, now.frame);
        assert_int_equal(bd_separator_push(now.separator, picture, width,
                                           (double)now.frame / frame_rate, &now.out),
                         BD_OK);
        now.frame++;
    } while (!now.out.learned || now.out.columns < window);
    now.slides++;
}

/* Slides until there have been so many; returns how many of them made R from the frames again
 * because it had drifted. The drift of a slide is in the results of the frame after it, and those
 * decide three frames later: before the next slide. */
static int slide_on(int slides)
{
    int drifted = 0;
    while (now.slides < slides) {
        const int before = now.renewals;
        slide();
        if (!(now.out.drift > bd_sep_drift_bound))
            continue;
        if (now.separator->options.refine == 0)
            assert_true(now.renewals > before);
        drifted++;
    }
    print_message("refine %d: after %d slides R^T R is %.1e from X^T X, %.1e at most; R was made "
                  "from the frames %d times, the drift was above the bound %d times\n",
                  now.separator->options.refine, slides, now.distance, now.farthest, now.renewals,
                  drifted);
    return drifted;
}

/* By default R is updated, and made again where it has drifted by more than the bound. */
static void test_drift(void **state)
{
    (void)state;
    const int slides = test_quick() ? 3000 : 10000;
    FOR_EACH_BACKEND(name)
    {
        open_scene(name, 0);
        const int drifted = slide_on(slides);
        assert_in_range(drifted, slides / 1000, slides / 10);
        assert_int_equal(now.renewals, cleaning + drifted);
        assert_true(now.distance <= 3 * bd_sep_drift_bound);
        assert_true(now.farthest <= 10 * bd_sep_drift_bound);
        close_scene();
    }
}

/* BD_NONE: R is only updated. It is farther from the window's then, but not the farther the longer,
 * since each of its columns leaves with its frame. */
static void test_updates_alone(void **state)
{
    (void)state;
    const int slides = test_quick() ? 3000 : 10000;
    FOR_EACH_BACKEND(name)
    {
        open_scene(name, BD_NONE);
        slide_on(slides / 2);
        const double farthest = now.farthest;
        now.farthest = 0;
        slide_on(slides);
        assert_int_equal(now.renewals, cleaning);
        assert_true(now.farthest < 1.5 * farthest);
        close_scene();
    }
}

/* With refinements R is made again at each slide, so many times, and is the window's. */
static void test_refinements(void **state)
{
    (void)state;
    FOR_EACH_BACKEND(name)
    for (int refine = 1; refine <= 3; refine++) {
        open_scene(name, refine);
        slide(); /* fills the window */
        slide_on(101);
        assert_int_equal(now.renewals, cleaning + 100 * refine);
        assert_true(now.farthest < 1e-6);
        close_scene();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_drift),
        cmocka_unit_test(test_updates_alone),
        cmocka_unit_test(test_refinements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
