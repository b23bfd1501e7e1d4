/* Live separation: each frame of a camera that stands still becomes a mask of what moves, and the
 * objects in the masks are followed.
 *
 * Made up here: in front of a plain wall, with a little noise, a bright square goes from left to
 * right and a dark one back. A program with a camera puts its own pictures in the place of
 * make_frame: rows of bytes, gray or rgb.
 *
 *   live_separation [cpu|cuda|auto] */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <backdrop/separator.h>
#include <backdrop/tracker.h>

enum { width = 160, height = 120, rate = 25, frames = 12 * rate, side = 24 };

static uint8_t frame[height * width], truth[height * width];

static void check(enum bd_status status)
{
    if (status == BD_OK)
        return;
    fprintf(stderr, "%s: %s\n", bd_status_text(status), bd_error_detail());
    exit(1);
}

/* Numbers in 0 to 4, the same ones in every run. */
static int noise(void)
{
    static uint32_t state = 1;
    state = state * 1664525U + 1013904223U;
    return (int)(state >> 24) % 5;
}

/* Draws the part of a square that is in the picture. */
static void draw_square(int left, int top, int grey)
{
    for (int y = top; y < top + side; y++)
        for (int x = left; x < left + side; x++)
            if (x >= 0 && x < width) {
                frame[y * width + x] = (uint8_t)(grey + noise());
                truth[y * width + x] = 255;
            }
}

static void make_frame(int number)
{
    for (int i = 0; i < height * width; i++) {
        frame[i] = (uint8_t)(100 + i % width / 4 + noise());
        truth[i] = 0;
    }
    draw_square(number - 2 * side, 20, 220);
    draw_square(width + 100 - number, 70, 30);
}

/* Pixels of the mask that are right, missing and too many. */
struct score {
    int64_t right, missing, false_pixels;
};

static void compare(struct score *score, const uint8_t *mask)
{
    for (int i = 0; i < height * width; i++) {
        score->right += mask[i] && truth[i];
        score->missing += !mask[i] && truth[i];
        score->false_pixels += mask[i] && !truth[i];
    }
}

int main(int argc, char **argv)
{
    struct bd_backend *backend = NULL;
    struct bd_separator *separator = NULL;
    struct bd_tracker *tracker = NULL;
    struct score score = { 0, 0, 0 };
    int64_t last = 0; /* number of the newest object */

    /* Where it runs: a GPU where there is one, else all cores. */
    check(bd_backend_open(&backend, argc > 1 ? argv[1] : "auto", 0));
    printf("%s\n", bd_backend_description(backend));

    /* What is 0 has its default. Only the mask is made. */
    check(bd_separator_create(&separator, backend,
                              &(struct bd_separator_options){ .width = width,
                                                              .height = height,
                                                              .channels = 1,
                                                              .frame_rate = rate,
                                                              .outputs = BD_SEPARATOR_MASK }));
    check(bd_tracker_create(&tracker,
                            &(struct bd_tracker_options){ .width = width, .height = height }));

    for (int number = 0; number < frames; number++) {
        const double seconds = (double)number / rate;
        struct bd_separation separation;
        const struct bd_object *objects;
        int count;

        make_frame(number);
        check(bd_separator_push(separator, frame, width, seconds, &separation));
        check(bd_tracker_add(tracker, separation.mask, width, seconds, &objects, &count));

        compare(&score, separation.mask);
        for (int i = 0; i < count; i++)
            if (objects[i].id > last) {
                last = objects[i].id;
                printf("%5.2f s: object %lld at %d,%d\n", seconds, (long long)last, objects[i].x,
                       objects[i].y);
            }
    }

    const double f =
        2 * (double)score.right / (double)(2 * score.right + score.missing + score.false_pixels);
    printf("F-measure of the masks: %.3f\n", f);

    bd_tracker_destroy(&tracker);
    bd_separator_destroy(&separator);
    bd_backend_close(&backend);
    return last == 2 && f > 0.9 ? 0 : 1;
}
