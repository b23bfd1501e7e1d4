/* The reader on a live source: an x11grab of an Xvfb screen whose pointer moves. */
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "tests/video/reader_fixture.h"

struct screen {
    pid_t server, mover;
    char display[16];
};

static bool has_command(const char *name)
{
    char command[100];
    snprintf(command, sizeof command, "command -v %s >/dev/null 2>&1", name);
    return system(command) == 0;
}

/* A child with both outputs on /dev/null. */
static pid_t start(char *const arguments[])
{
    pid_t child = fork();
    if (child == 0) {
        int null = open("/dev/null", O_RDWR);
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        execvp(arguments[0], arguments);
        _exit(127);
    }
    return child;
}

static void stop(pid_t child)
{
    if (child > 0) {
        kill(child, SIGTERM);
        waitpid(child, NULL, 0);
    }
}

/* Starts a server on a free display; it writes the number of its display to a pipe when ready. */
static bool start_screen(struct screen *screen)
{
    int ends[2];
    char number[12], descriptor[12];
    if (pipe(ends) != 0)
        return false;
    snprintf(descriptor, sizeof descriptor, "%d", ends[1]);
    /* -retro: with the old stippled background and a visible pointer */
    screen->server =
        start((char *[]){ "Xvfb", "-displayfd", descriptor, "-screen", "0", "320x240x24", "-retro",
                          "-noreset", "-nolisten", "tcp", NULL });
    close(ends[1]);
    ssize_t got = read(ends[0], number, sizeof number - 1);
    close(ends[0]);
    if (got <= 0) {
        stop(screen->server);
        return false;
    }
    number[got] = 0;
    snprintf(screen->display, sizeof screen->display, ":%d", atoi(number));
    setenv("DISPLAY", screen->display, 1);
    screen->mover =
        start((char *[]){ "sh", "-c",
                          "while :; do for p in '40 40' '200 60' '260 180' '90 150'; do "
                          "xdotool mousemove $p || exit; sleep 0.02; done; done",
                          NULL });
    return true;
}

static void test_screen(void **state)
{
    (void)state;
    struct screen screen;
    if (!has_command("Xvfb") || !has_command("xdotool")) {
        print_message("skipped: needs Xvfb and xdotool\n");
        skip();
    }
    assert_true(start_screen(&screen));
    struct bd_key_value options[] = { { "framerate", "20" }, { "video_size", "300x200" } };
    struct bd_reader *reader = NULL;
    struct bd_reader_options o = { .format = BD_GRAY8,
                                   .input_format = "x11grab",
                                   .input_options = options,
                                   .input_option_count = 2 };
    enum bd_status status = bd_reader_open(&reader, screen.display, &o);
    struct bd_frame frame = { 0 }, last = { 0 };
    int changes = 0, frames = 0;
    int64_t first = 0;
    bool live = false, seekable = true, sized = true, ordered = true;
    double began = bd_clock_seconds();
    if (status == BD_OK) {
        live = bd_reader_get_info(reader)->live;
        seekable = bd_reader_get_info(reader)->seekable;
        while (frames < 30 && (status = bd_reader_read(reader, &frame)) == BD_OK) {
            sized = sized && frame.width == 300 && frame.height == 200;
            if (frames == 0)
                first = frame.pts;
            ordered = ordered && (frames == 0 || frame.pts > last.pts);
            for (int y = 0; frames > 0 && y < frame.height; y++)
                if (memcmp(frame.data + y * frame.stride, last.data + y * last.stride, 300) != 0) {
                    changes++;
                    break;
                }
            if (bd_frame_copy(&last, &frame) != BD_OK)
                break;
            frames++;
        }
    }
    double took = bd_clock_seconds() - began;
    struct bd_rational unit = { 0, 1 };
    if (reader)
        unit = bd_reader_get_info(reader)->time_base;
    double spanned = (double)(last.pts - first) * (double)unit.num / (double)unit.den;
    bd_frame_destroy(&frame);
    bd_frame_destroy(&last);
    bd_reader_close(&reader);
    stop(screen.mover);
    stop(screen.server); /* before the first assertion, which would leave it running */
    if (status != BD_OK)
        fail_msg("%s", bd_error_detail());
    assert_int_equal(frames, 30);
    assert_true(live);
    assert_false(seekable);
    assert_true(sized);
    assert_true(ordered);
    assert_true(changes >= 10);
    /* 29 intervals of 1/20 s: at the source's pace, not faster; a busy machine may be slower */
    assert_true(took > 1.0);
    assert_true(spanned > 1.3);
}

/* A device in name only: as fast as it is asked, and the same every time. */
static void test_lavfi(void **state)
{
    (void)state;
    struct bd_reader_options o = { .format = BD_RGB24, .input_format = "lavfi" };
    struct clip clip = read_input("testsrc2=size=322x242:rate=1:duration=20", o);
    struct bd_reader *reader = open_input("testsrc2=size=322x242:rate=1:duration=20", o);
    assert_false(bd_reader_get_info(reader)->live);
    bd_reader_close(&reader);
    assert_int_equal(clip.count, 20);
    free_clip(&clip);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_screen),
        cmocka_unit_test(test_lavfi),
    };
    return cmocka_run_group_tests(tests, create_scratch, remove_scratch);
}
