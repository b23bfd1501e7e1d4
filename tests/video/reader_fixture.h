/* What the tests of the reader share: a scratch folder, clips made by the ffmpeg command, and its
 * own decoding of them to compare with. */
#ifndef BD_TESTS_VIDEO_READER_FIXTURE_H
#define BD_TESTS_VIDEO_READER_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/scratch.h"
#include "video/input/reader.h"

#define FFMPEG "ffmpeg -nostdin -v error -y "
/* Input of the ffmpeg command: a moving test picture, 25 a second. */
#define MOVING(size, seconds) "-f lavfi -i testsrc2=size=" size ":rate=25:duration=" seconds " "

/* All frames of an input, tightly packed. */
struct clip {
    int width, height, bytes; /* bytes: of a pixel */
    int count;
    uint8_t *data; /* count * height * width * bytes */
    int64_t *pts, *index;
};

__attribute__((unused)) static void free_clip(struct clip *clip)
{
    free(clip->data);
    free(clip->pts);
    free(clip->index);
    *clip = (struct clip){ 0 };
}

__attribute__((unused)) static const uint8_t *clip_frame(const struct clip *clip, int n)
{
    return clip->data + (size_t)n * clip->width * clip->height * clip->bytes;
}

/* realloc from `used` to `used + more` bytes, the new ones 0. */
__attribute__((unused)) static void *grow(void *data, size_t used, size_t more)
{
    uint8_t *grown = realloc(data, used + more);
    if (!grown)
        abort();
    memset(grown + used, 0, more);
    return grown;
}

/* Reads to the end and returns what ended it; checks size, format and order of every frame. */
__attribute__((unused)) static enum bd_status read_all(struct bd_reader *reader, struct clip *clip)
{
    const struct bd_reader_info *info = bd_reader_get_info(reader);
    struct bd_frame frame = { 0 };
    enum bd_status status;
    const uint8_t *pixels = NULL;
    *clip = (struct clip){ .width = info->width, .height = info->height };
    while ((status = bd_reader_read(reader, &frame)) == BD_OK) {
        assert_int_equal(frame.width, info->width);
        assert_int_equal(frame.height, info->height);
        assert_true(clip->count == 0 || frame.data == pixels); /* no allocation a frame */
        pixels = frame.data;
        clip->bytes = frame.format;
        size_t row = (size_t)frame.width * frame.format, size = row * frame.height;
        size_t count = (size_t)clip->count;
        clip->data = grow(clip->data, size * count, size);
        clip->pts = grow(clip->pts, sizeof *clip->pts * count, sizeof *clip->pts);
        clip->index = grow(clip->index, sizeof *clip->index * count, sizeof *clip->index);
        for (int y = 0; y < frame.height; y++)
            memcpy(clip->data + size * clip->count + row * y, frame.data + frame.stride * y, row);
        clip->pts[clip->count] = frame.pts;
        clip->index[clip->count] = frame.index;
        if (clip->count > 0) {
            assert_true(frame.pts > clip->pts[clip->count - 1]);
            assert_true(frame.index == clip->index[clip->count - 1] + 1);
        }
        clip->count++;
    }
    bd_frame_destroy(&frame);
    return status;
}

__attribute__((unused)) static struct bd_reader *open_input(const char *input,
                                                            struct bd_reader_options options)
{
    struct bd_reader *reader = NULL;
    if (!options.format)
        options.format = BD_RGB24;
    enum bd_status status = bd_reader_open(&reader, input, &options);
    if (status != BD_OK)
        fail_msg("%s: %s", input, bd_error_detail());
    return reader;
}

__attribute__((unused)) static struct clip read_input(const char *input,
                                                      struct bd_reader_options options)
{
    struct clip clip;
    struct bd_reader *reader = open_input(input, options);
    enum bd_status status = read_all(reader, &clip);
    if (status != BD_END)
        fail_msg("%s: %s", input, bd_error_detail());
    bd_reader_close(&reader);
    assert_null(reader);
    return clip;
}

/* The frames as the ffmpeg command decodes them; `input` is what comes from -i on. */
__attribute__((unused)) static struct clip read_reference(const char *input, int width, int height,
                                                          enum bd_pixel_format format)
{
    struct clip clip = { .width = width, .height = height, .bytes = format };
    size_t size = (size_t)width * height * format;
    assert_int_equal(shell(FFMPEG "%s -vsync 0 -f rawvideo -pix_fmt %s reference.raw 2>log", input,
                           format == BD_GRAY8 ? "gray" : "rgb24"),
                     0);
    FILE *file = fopen(in_scratch("reference.raw"), "rb");
    assert_non_null(file);
    for (;;) {
        clip.data = grow(clip.data, size * clip.count, size);
        if (fread(clip.data + size * clip.count, 1, size, file) != size)
            break;
        clip.count++;
    }
    assert_int_equal(ftell(file), (long)(size * clip.count)); /* no part of a frame left */
    fclose(file);
    return clip;
}

/* Mean and largest absolute difference of two frames. */
__attribute__((unused)) static double difference(const uint8_t *a, const uint8_t *b, size_t count,
                                                 int *largest)
{
    double sum = 0;
    *largest = 0;
    for (size_t i = 0; i < count; i++) {
        int d = abs(a[i] - b[i]);
        sum += d;
        *largest = d > *largest ? d : *largest;
    }
    return sum / (double)count;
}

/* Fails unless both have the same frames: mean and largest difference of each within the limits. */
__attribute__((unused)) static void assert_same_frames(const char *name, const struct clip *a,
                                                       const struct clip *b, double mean, int most)
{
    if (a->width != b->width || a->height != b->height || a->bytes != b->bytes)
        fail_msg("%s: %dx%dx%d, expected %dx%dx%d", name, a->width, a->height, a->bytes, b->width,
                 b->height, b->bytes);
    if (a->count != b->count)
        fail_msg("%s: %d frames, expected %d", name, a->count, b->count);
    for (int i = 0; i < a->count; i++) {
        int largest;
        double d = difference(clip_frame(a, i), clip_frame(b, i),
                              (size_t)a->width * a->height * a->bytes, &largest);
        if (d > mean || largest > most)
            fail_msg("%s: frame %d differs by %.3f on average, %d at most", name, i, d, largest);
    }
}

#endif
