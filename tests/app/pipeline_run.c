/* Pictures that are made beside the separation (bd_pipeline_run). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdatomic.h>

#include "app/pipeline/pipeline.h"

enum { frames = 50 };

/* Sums over the pictures of frames, in their order. */
struct sums {
    uint64_t of[frames];
    int count;
    int64_t fail_at; /* the sink fails at this frame */
    atomic_int seen; /* frames */
};

static uint64_t add_picture(uint64_t sum, const struct bd_frame *picture)
{
    for (int y = 0; y < picture->height; y++)
        for (int x = 0; x < picture->width * (int)picture->format; x++)
            sum = sum * 31 + picture->data[y * picture->stride + x];
    return sum;
}

static enum bd_status add_frame(void *user, const struct bd_result *result)
{
    struct sums *sums = user;
    if (result->input->index == sums->fail_at)
        return bd_fail(BD_ERROR_IO, "frame %d is not wanted", (int)sums->fail_at);
    /* An assertion would leave another thread than the test's. */
    if (result->input->index != sums->count || sums->count >= frames)
        return bd_fail(BD_ERROR_ARGUMENT, "frame %d came as number %d", (int)result->input->index,
                       sums->count);
    uint64_t sum = add_picture((uint64_t)result->foreground_pixels, result->mask);
    sums->of[sums->count++] = add_picture(add_picture(sum, result->background), result->overlay);
    atomic_fetch_add(&sums->seen, 1);
    return BD_OK;
}

static bool after_ten(void *user)
{
    return atomic_load(&((struct sums *)user)->seen) >= 10;
}

/* All frames of the options, by bd_pipeline_run. */
static enum bd_status run_all(const struct bd_options *options, int64_t limit, struct sums *sums,
                              bool (*interrupted)(void *))
{
    struct bd_pipeline *pipeline = NULL;
    const unsigned wants = BD_WANT_BACKGROUND | BD_WANT_OVERLAY;
    assert_int_equal(bd_pipeline_open(&pipeline, options, false, wants, interrupted, sums), BD_OK);
    enum bd_status status = bd_pipeline_run(pipeline, limit, add_frame, sums);
    bd_pipeline_close(&pipeline);
    return status;
}

/* Pictures that are made beside the separation are those of bd_pipeline_next, with both solvers and
 * at both sizes; and a run ends where it is to end, after all frames before. */
static void a_run_makes_the_same_pictures(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        struct bd_options options = { .arguments = { "synth:easy?size=160x120&frames=50" },
                                      .argument_count = 1 };
        struct bd_pipeline *pipeline = NULL;
        struct bd_result result;
        struct sums one = { .fail_at = -1 }, run = { .fail_at = -1 };
        options.solver = kind == 2 ? BD_SOLVER_BATCH : BD_SOLVER_LIVE;
        if (kind == 1) {
            options.scale_width = 80;
            options.scale_height = 60;
        }
        assert_int_equal(bd_pipeline_open(&pipeline, &options, false,
                                          BD_WANT_BACKGROUND | BD_WANT_OVERLAY, NULL, NULL),
                         BD_OK);
        while (bd_pipeline_next(pipeline, &result) == BD_OK)
            assert_int_equal(add_frame(&one, &result), BD_OK);
        bd_pipeline_close(&pipeline);
        assert_int_equal(run_all(&options, 0, &run, NULL), BD_END);
        assert_int_equal(one.count, frames);
        assert_int_equal(run.count, frames);
        assert_memory_equal(one.of, run.of, sizeof one.of);
        run = (struct sums){ .fail_at = -1 };
        assert_int_equal(run_all(&options, 17, &run, NULL), BD_OK);
        assert_int_equal(run.count, 17);
        run = (struct sums){ .fail_at = 23 };
        assert_int_equal(run_all(&options, 0, &run, NULL), BD_ERROR_IO);
        assert_string_equal(bd_error_detail(), "frame 23 is not wanted");
        assert_int_equal(run.count, 23);
        run = (struct sums){ .fail_at = -1 };
        enum bd_status status = run_all(&options, 0, &run, after_ten);
        assert_true(status == BD_OK || status == BD_ERROR_INTERRUPTED);
        assert_in_range(run.count, 10, frames - 1);
        assert_memory_equal(one.of, run.of, (size_t)run.count * sizeof *run.of);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_makes_the_same_pictures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
