/* Pictures whose pixels threads share: when their memory is used again, and that encoders hold it
 * no longer than they read it. */
#include "video/frame_pool.h"
#include "tests/video/writer_fixture.h"
#include "video/device.h"

enum { width = 161, height = 97, frames = 60 };

static struct bd_frame_pool *create_pool(struct bd_device *device)
{
    struct bd_frame_pool *pool = NULL;
    ok(bd_frame_pool_create(&pool, width, height, BD_GRAY8, device));
    return pool;
}

/* A mask of its own for each number; what is behind the rows is filled too. */
static void draw(struct bd_frame *frame, int number)
{
    memset(frame->data, 0x5a, (size_t)(frame->stride * frame->height + bd_frame_padding));
    for (int y = 0; y < frame->height; y++)
        for (int x = 0; x < frame->width; x++)
            frame->data[y * frame->stride + x] = (x / 7 + y / 5 + number) % 11 < 4 ? 255 : 0;
    frame->index = frame->pts = number;
    frame->duration = 1;
}

static int wrong_pixels(const struct bd_frame *frame, int number)
{
    int wrong = 0;
    for (int y = 0; y < frame->height; y++)
        for (int x = 0; x < frame->width; x++)
            wrong +=
                frame->data[y * frame->stride + x] != ((x / 7 + y / 5 + number) % 11 < 4 ? 255 : 0);
    return wrong;
}

/* Memory is used again after its last reference, and not before. */
static void memory_is_used_again(void **state)
{
    (void)state;
    struct bd_frame_pool *pool = create_pool(NULL);
    struct bd_frame a = { 0 }, b = { 0 }, kept = { 0 };
    ok(bd_frame_pool_take(&a, pool));
    assert_int_equal(a.width, width);
    assert_int_equal(a.height, height);
    assert_int_equal(a.format, BD_GRAY8);
    assert_int_equal(a.stride, bd_frame_stride(width, BD_GRAY8));
    assert_int_equal((uintptr_t)a.data % 64, 0);
    draw(&a, 1);
    uint8_t *first = a.data;
    ok(bd_frame_share(&kept, &a));
    assert_ptr_equal(kept.data, first);
    assert_int_equal(kept.pts, 1);
    ok(bd_frame_pool_take(&a, pool)); /* the frame's own reference goes */
    assert_ptr_not_equal(a.data, first);
    draw(&a, 2);
    assert_int_equal(wrong_pixels(&kept, 1), 0);
    bd_frame_destroy(&kept);
    assert_null(kept.data);
    ok(bd_frame_pool_take(&b, pool));
    assert_ptr_equal(b.data, first);
    const uint8_t *second = a.data;
    ok(bd_frame_pool_take(&a, pool)); /* nobody shares it */
    assert_ptr_equal(a.data, second);
    bd_frame_destroy(&a);
    bd_frame_destroy(&b);
    bd_frame_pool_close(&pool);
    assert_null(pool);
    bd_frame_pool_close(&pool);
    assert_int_equal(bd_frame_pool_create(&pool, 0, 1, BD_GRAY8, NULL), BD_ERROR_ARGUMENT);
    assert_null(pool);
}

/* A copy into a frame that shares its pixels does not write to them; what is not shared is copied.
 */
static void copies_have_memory_of_their_own(void **state)
{
    (void)state;
    struct bd_frame_pool *pool = create_pool(NULL);
    struct bd_frame a = { 0 }, b = { 0 }, own = { 0 };
    ok(bd_frame_pool_take(&a, pool));
    draw(&a, 1);
    ok(bd_frame_share(&b, &a));
    ok(bd_frame_create(&own, width, height, BD_GRAY8));
    draw(&own, 2);
    ok(bd_frame_copy(&b, &own));
    assert_int_equal(wrong_pixels(&a, 1) + wrong_pixels(&b, 2), 0);
    assert_ptr_not_equal(b.data, own.data);
    ok(bd_frame_share(&b, &a));
    ok(bd_frame_ensure(&b, width, height, BD_GRAY8)); /* to be written to */
    assert_ptr_not_equal(b.data, a.data);
    ok(bd_frame_share(&b, &own));
    assert_null(b.shared);
    assert_ptr_not_equal(b.data, own.data);
    ok(bd_frame_copy(&own, &a));
    bd_frame_destroy(&a);
    assert_int_equal(wrong_pixels(&own, 1) + wrong_pixels(&b, 2), 0);
    bd_frame_destroy(&own);
    bd_frame_destroy(&b);
    bd_frame_pool_close(&pool);
}

static int blocks; /* of a device */

static enum bd_status allocate(struct bd_device *device, void **memory, size_t bytes)
{
    (void)device;
    *memory = NULL;
    if (blocks >= 2)
        return bd_fail(BD_ERROR_MEMORY, "no third block");
    *memory = aligned_alloc(64, bytes);
    blocks++;
    return *memory ? BD_OK : bd_fail(BD_ERROR_MEMORY, "no block");
}

static void deallocate(void *memory)
{
    blocks--;
    free(memory);
}

/* The device gives the memory, and has it back when pool and pictures are gone, in any order. */
static void a_device_has_its_memory_back(void **state)
{
    (void)state;
    const struct bd_picture_ops ops = { .allocate = allocate, .deallocate = deallocate };
    struct bd_device device = { .ops = &ops };
    struct bd_frame_pool *pool = create_pool(&device);
    struct bd_frame a = { 0 }, b = { 0 }, c = { 0 };
    assert_int_equal(blocks, 0);
    ok(bd_frame_pool_take(&a, pool));
    ok(bd_frame_pool_take(&b, pool));
    draw(&a, 1);
    draw(&b, 2);
    assert_int_equal(bd_frame_pool_take(&c, pool), BD_ERROR_MEMORY);
    assert_null(c.data);
    bd_frame_destroy(&b);
    ok(bd_frame_pool_take(&c, pool)); /* the pool goes on */
    assert_int_equal(blocks, 2);
    bd_frame_destroy(&c);
    bd_frame_pool_close(&pool);
    assert_int_equal(wrong_pixels(&a, 1), 0);
    bd_frame_destroy(&a);
    assert_int_equal(blocks, 0);
}

/* All of this size and of lossless masks, which they share or convert. */
static const struct {
    const char *name;
    bool shares;
} films[] = {
    { "x.mkv", true },     { "x.avi", true },     { "x.nut", true },
    { "x.y4m", true },     { "x.gif", true },     { "x%03d.png", true },
    { "x%03d.tif", true }, { "x%03d.bmp", true }, { "x.webm", false } /* YUV */
};

static struct bd_writer *open_film(const char *path, int threads)
{
    struct bd_writer *writer = NULL;
    struct bd_writer_options options = { .width = width,
                                         .height = height,
                                         .format = BD_GRAY8,
                                         .time_base = { 1, 25 },
                                         .frame_rate = { 25, 1 },
                                         .pixel_aspect = { 1, 1 },
                                         .threads = threads,
                                         .lossless = true };
    ok(bd_writer_open(&writer, path, &options));
    return writer;
}

static void check_film(const char *path, int count)
{
    struct bd_reader *reader = NULL;
    struct bd_frame frame = { 0 };
    ok(bd_reader_open(&reader, path, &(struct bd_reader_options){ .format = BD_GRAY8 }));
    for (int i = 0; i < count; i++) {
        ok(bd_reader_read(reader, &frame));
        if (wrong_pixels(&frame, i))
            fail_msg("%s: picture %d is another one", path, i);
    }
    assert_int_equal(bd_reader_read(reader, &frame), BD_END);
    bd_frame_destroy(&frame);
    bd_reader_close(&reader);
}

/* An encoder has what it was given, though other pictures are drawn meanwhile. It holds no more
 * than a picture for each thread and a few. */
static void encoders_hold_what_they_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof films / sizeof *films; i++)
        for (int threads = 1; threads <= 8; threads += 7) {
            const char *path = in_scratch(films[i].name);
            const uint8_t *places[frames] = { NULL };
            int count = 0;
            struct bd_frame frame = { 0 };
            struct bd_frame_pool *pool = create_pool(NULL);
            struct bd_writer *writer = open_film(path, threads);
            for (int number = 0; number < frames; number++) {
                ok(bd_frame_pool_take(&frame, pool));
                int place = 0;
                while (place < count && places[place] != frame.data)
                    place++;
                if (place == count)
                    places[count++] = frame.data;
                draw(&frame, number);
                ok(bd_writer_take(writer, &frame));
                const uint8_t *taken = frame.data;
                ok(bd_frame_pool_take(&frame, pool));
                if ((frame.data != taken) != films[i].shares)
                    fail_msg("%s: the encoder %s pixels", path, films[i].shares ? "copies" : "has");
                draw(&frame, number + 5);
                ok(bd_writer_encode(writer));
            }
            assert_in_range(count, 1, threads + 4);
            bd_frame_pool_close(&pool); /* before what holds its pictures */
            bd_frame_destroy(&frame);
            ok(bd_writer_close(&writer));
            check_film(path, frames);
            empty_scratch();
        }
}

/* A writer that fails, or is closed early, holds nothing afterwards. */
static void failed_writers_hold_nothing(void **state)
{
    (void)state;
    const struct bd_picture_ops ops = { .allocate = allocate, .deallocate = deallocate };
    struct bd_device device = { .ops = &ops };
    for (int kind = 0; kind < 3; kind++) {
        struct bd_frame_pool *pool = create_pool(&device);
        struct bd_frame frame = { 0 };
        struct bd_writer *writer = open_film(in_scratch("x.mkv"), 8);
        ok(bd_frame_pool_take(&frame, pool));
        draw(&frame, 0);
        ok(bd_writer_take(writer, &frame)); /* kind 0: not encoded */
        if (kind > 0)
            ok(bd_writer_encode(writer));
        if (kind > 1) /* at the same time */
            assert_int_equal(bd_writer_write(writer, &frame), BD_ERROR_ARGUMENT);
        bd_frame_destroy(&frame);
        bd_frame_pool_close(&pool);
        enum bd_status closed = bd_writer_close(&writer);
        assert_true(kind == 0 || closed == BD_OK);
        assert_int_equal(blocks, 0);
        empty_scratch();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_used_again),
        cmocka_unit_test(copies_have_memory_of_their_own),
        cmocka_unit_test(a_device_has_its_memory_back),
        cmocka_unit_test(encoders_hold_what_they_read),
        cmocka_unit_test(failed_writers_hold_nothing),
    };
    return cmocka_run_group_tests(tests, create_logged_scratch, remove_scratch);
}
