/* Helpers of test_view*.c: a scratch folder, the program as a child, an X server, keys, pictures.
 */
#ifndef BD_TESTS_APP_VIEW_FIXTURE_H
#define BD_TESTS_APP_VIEW_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "video/output/writer.h"

/* Sanitizer builds on a busy machine are slow; a healthy run needs a second or two. */
static const double patience = 120;

struct stage {
    char folder[64];        /* scratch; the program's working folder */
    char program[PATH_MAX]; /* absolute path */
    pid_t server, child;
    char display[16]; /* ":1"; "" without a server */
    int screenshots;  /* taken so far by the child */
};

static void nap(double seconds)
{
    usleep((useconds_t)(seconds * 1e6));
}

static int open_stage(void **state)
{
    struct stage *stage = calloc(1, sizeof *stage);
    const char *program = getenv("BACKDROP");
    if (!stage)
        return -1;
    snprintf(stage->folder, sizeof stage->folder, "/tmp/backdrop-view-XXXXXX");
    *state = stage;
    return program && realpath(program, stage->program) && mkdtemp(stage->folder) ? 0 : -1;
}

static void stop(pid_t *child, int signal_number)
{
    if (*child > 0) {
        kill(*child, signal_number);
        waitpid(*child, NULL, 0);
    }
    *child = 0;
}

static int close_stage(void **state)
{
    struct stage *stage = *state;
    char command[128];
    stop(&stage->child, SIGKILL);
    stop(&stage->server, SIGTERM);
    snprintf(command, sizeof command, "rm -rf '%s'", stage->folder);
    int result = system(command);
    free(stage);
    return result;
}

/* Starts the program with `arguments` (a shell's words) after the assignments `environment`, its
 * stderr going to the file `stderr` of the scratch folder. */
static void start(struct stage *stage, const char *environment, const char *arguments)
{
    char command[2048 + PATH_MAX];
    snprintf(command, sizeof command, "cd '%s' && exec env %s '%s' %s >stdout 2>stderr </dev/null",
             stage->folder, environment, stage->program, arguments);
    stage->screenshots = 0;
    stage->child = fork();
    assert_true(stage->child >= 0);
    if (stage->child == 0) {
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
}

/* The exit status of the program, 1000 + the signal that ended it; -1 if it does not end. */
static int wait_for_end(struct stage *stage)
{
    int status = 0;
    for (double end = bd_clock_seconds() + patience; bd_clock_seconds() < end; nap(0.01))
        if (waitpid(stage->child, &status, WNOHANG) == stage->child) {
            stage->child = 0;
            return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
        }
    return -1;
}

/* Fails if the program does not end with this exit status, and tells what it said then. */
static void finish(struct stage *stage, int wanted)
{
    char path[128], line[1024];
    int got = wait_for_end(stage);
    if (got == wanted)
        return;
    snprintf(path, sizeof path, "%s/stderr", stage->folder);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        print_message("the program: %s", line);
    if (file)
        fclose(file);
    fail_msg("the program %s %d, not %d", got < 0 ? "does not end:" : "ended with", got, wanted);
}

/* Lines that the program wrote to stderr; the first goes to `line`. */
static int count_lines(const struct stage *stage, char *line, int size)
{
    char path[128], rest[1024];
    int count = 0;
    snprintf(path, sizeof path, "%s/stderr", stage->folder);
    FILE *file = fopen(path, "r");
    line[0] = '\0';
    while (file && (count == 0 ? fgets(line, size, file) : fgets(rest, sizeof rest, file)))
        count++;
    if (file)
        fclose(file);
    return count;
}

static bool file_there(const struct stage *stage, const char *name)
{
    char path[192];
    struct stat info;
    snprintf(path, sizeof path, "%s/%s", stage->folder, name);
    return stat(path, &info) == 0 && info.st_size > 0;
}

static bool read_picture(const struct stage *stage, const char *name, struct bd_frame *picture)
{
    char path[192];
    snprintf(path, sizeof path, "%s/%s", stage->folder, name);
    return bd_picture_read(path, BD_RGB24, picture) == BD_OK;
}

static const uint8_t *pixel(const struct bd_frame *picture, int x, int y)
{
    return picture->data + y * picture->stride + (int64_t)x * 3;
}

/* Largest difference of the channels of two pixels. */
static int distance(const uint8_t *a, const uint8_t *b)
{
    int most = 0;
    for (int c = 0; c < 3; c++)
        most = abs(a[c] - b[c]) > most ? abs(a[c] - b[c]) : most;
    return most;
}

/* Mean difference of two pictures where `mask` is white, or where it is black. */
static double difference(const struct bd_frame *a, const struct bd_frame *b,
                         const struct bd_frame *mask, bool white)
{
    double sum = 0, count = 0;
    assert_int_equal(a->width, b->width);
    assert_int_equal(a->height, b->height);
    for (int y = 0; y < a->height; y++)
        for (int x = 0; x < a->width; x++)
            if (!mask || (*pixel(mask, x, y) == 255) == white) {
                sum += distance(pixel(a, x, y), pixel(b, x, y));
                count++;
            }
    return count > 0 ? sum / count : 0;
}

/* Share of white pixels, 0..1; -1 if there is anything but black and white. */
static double white_share(const struct bd_frame *mask)
{
    static const uint8_t black[3] = { 0, 0, 0 }, white[3] = { 255, 255, 255 };
    int64_t count = 0;
    for (int y = 0; y < mask->height; y++)
        for (int x = 0; x < mask->width; x++) {
            const uint8_t *p = pixel(mask, x, y);
            if (distance(p, white) == 0)
                count++;
            else if (distance(p, black) != 0)
                return -1;
        }
    return (double)count / ((double)mask->width * mask->height);
}

/* Standard deviation of the green channel: 0 for a uniform picture. */
static double contrast(const struct bd_frame *picture)
{
    double sum = 0, squares = 0, n = (double)picture->width * picture->height;
    for (int y = 0; y < picture->height; y++)
        for (int x = 0; x < picture->width; x++) {
            double value = pixel(picture, x, y)[1];
            sum += value;
            squares += value * value;
        }
    return squares / n - sum / n * (sum / n);
}

#endif
