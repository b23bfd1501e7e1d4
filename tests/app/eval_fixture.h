/* Small sequences with ground truth in the layout of changedetection.net, whose best masks are
 * known, and a look into the JSON of `backdrop eval`. */
#ifndef BD_TESTS_APP_EVAL_FIXTURE_H
#define BD_TESTS_APP_EVAL_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "app/eval/cdnet.h"
#include "video/output/writer.h"

enum { width = 64, height = 48, side = 12, frames = 40, first_moving = 20 };

static inline FILE *create(const char *folder, const char *name)
{
    char path[1200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    return file;
}

static inline void write_text(const char *folder, const char *name, const char *text)
{
    FILE *file = create(folder, name);
    fputs(text, file);
    fclose(file);
}

static inline void write_picture(const char *folder, const char *name,
                                 const struct bd_frame *picture)
{
    char path[1200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(bd_picture_write(path, picture), BD_OK);
}

/* ROI.bmp: 24 bits a pixel, rows from the bottom; the left half white, the rest black. */
static inline void write_roi(const char *folder)
{
    uint8_t head[54] = { 'B', 'M' };
    const uint32_t words[][2] = {
        { 2, 54 + 3 * width * height }, { 10, 54 }, { 14, 40 }, { 18, width }, { 22, height }
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        for (int b = 0; b < 4; b++)
            head[words[i][0] + (uint32_t)b] = (uint8_t)(words[i][1] >> 8 * b);
    head[26] = 1;
    head[28] = 24;
    FILE *file = create(folder, "ROI.bmp");
    assert_int_equal(fwrite(head, 1, sizeof head, file), sizeof head);
    for (int i = 0; i < width * height; i++)
        for (int c = 0; c < 3; c++)
            fputc(i % width < width / 2 ? 255 : 0, file);
    fclose(file);
}

/* The square's left edge in a frame; it comes in steps so that it never covers a pixel for long. */
static inline int left_of(int frame)
{
    return (frame * 5) % (width - side);
}

static inline bool in_square(int frame, int x, int y)
{
    return frame >= first_moving && x >= left_of(frame) && x < left_of(frame) + side && y >= 16 &&
           y < 16 + side;
}

/* A still texture, and from first_moving on a bright square before it. In the truth the rows below
 * the square are shadow, a column at the left unknown and one at the right outside. */
static inline void write_sequence(const char *folder, int first_number)
{
    struct bd_frame input = { 0 }, truth = { 0 };
    assert_int_equal(bd_frame_create(&input, width, height, BD_GRAY8), BD_OK);
    assert_int_equal(bd_frame_create(&truth, width, height, BD_GRAY8), BD_OK);
    char name[600];
    snprintf(name, sizeof name, "%s/input", folder);
    assert_int_equal(mkdir(name, 0777), 0);
    snprintf(name, sizeof name, "%s/groundtruth", folder);
    assert_int_equal(mkdir(name, 0777), 0);
    for (int f = 0; f < frames; f++) {
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++) {
                bool inside = in_square(f, x, y);
                input.data[y * input.stride + x] =
                    (uint8_t)(inside ? 230 : 60 + (x * 7 + y * 13) % 40);
                truth.data[y * truth.stride + x] = inside           ? BD_TRUTH_MOVING
                                                   : y >= 40        ? BD_TRUTH_SHADOW
                                                   : x == 0         ? BD_TRUTH_UNKNOWN
                                                   : x == width - 1 ? BD_TRUTH_OUTSIDE
                                                                    : BD_TRUTH_STATIC;
            }
        snprintf(name, sizeof name, "input/in%06d.png", first_number + f);
        write_picture(folder, name, &input);
        snprintf(name, sizeof name, "groundtruth/gt%06d.png", first_number + f);
        write_picture(folder, name, &truth);
    }
    bd_frame_destroy(&input);
    bd_frame_destroy(&truth);
}

/* The number after "NAME": in the JSON file. */
static inline double json_number(const char *path, const char *name)
{
    char text[8192], key[64];
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    snprintf(key, sizeof key, "\"%s\": ", name);
    const char *at = strstr(text, key);
    assert_non_null(at);
    return strtod(at + strlen(key), NULL);
}

#endif
