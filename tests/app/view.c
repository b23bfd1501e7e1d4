/* The live window: the program itself, under an X server (Xvfb) with keys pressed by xdotool. */
#include "tests/app/view_fixture.h"

#include <X11/Xlib.h>
#include <time.h>

static bool has_command(const char *name)
{
    char command[100];
    snprintf(command, sizeof command, "command -v %s >/dev/null 2>&1", name);
    return system(command) == 0;
}

/* Starts a server on a free display; it writes the number of its display to a pipe when ready. */
static void start_screen(struct stage *stage)
{
    int ends[2];
    char number[12] = "", descriptor[12];
    assert_int_equal(pipe(ends), 0);
    snprintf(descriptor, sizeof descriptor, "%d", ends[1]);
    stage->server = fork();
    if (stage->server == 0) {
        int null = open("/dev/null", O_RDWR);
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        execlp("Xvfb", "Xvfb", "-displayfd", descriptor, "-screen", "0", "1440x900x24", "-noreset",
               "-nolisten", "tcp", (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    ssize_t got = read(ends[0], number, sizeof number - 1);
    close(ends[0]);
    assert_true(got > 0);
    snprintf(stage->display, sizeof stage->display, ":%d", atoi(number));
}

/* Runs xdotool; true if it succeeded. */
static bool xdotool(const struct stage *stage, const char *arguments)
{
    char command[1024];
    snprintf(command, sizeof command, "DISPLAY=%s timeout 60 xdotool %s >/dev/null 2>&1",
             stage->display, arguments);
    return system(command) == 0;
}

static void press(const struct stage *stage, const char *keys)
{
    char arguments[512];
    snprintf(arguments, sizeof arguments, "key --delay 30 %s", keys);
    assert_true(xdotool(stage, arguments));
}

/* Presses s and reads the picture that appears. */
static void shoot(struct stage *stage, struct bd_frame *picture)
{
    char name[64];
    snprintf(name, sizeof name, "backdrop-%04d.png", ++stage->screenshots);
    press(stage, "s");
    for (double end = bd_clock_seconds() + patience; bd_clock_seconds() < end; nap(0.02))
        if (file_there(stage, name) && read_picture(stage, name, picture))
            return;
    fail_msg("%s does not appear", name);
}

/* Opens the window on an input in which something moves, with its mask and without text, and waits
 * for the mask; the input's first frame is there before. */
static void open_window(struct stage *stage, const char *input)
{
    struct bd_frame picture = { 0 };
    char environment[128], arguments[256];
    if (!has_command("Xvfb") || !has_command("xdotool")) {
        print_message("Xvfb or xdotool is missing\n");
        skip();
    }
    start_screen(stage);
    snprintf(environment, sizeof environment, "-u SDL_VIDEODRIVER -u WAYLAND_DISPLAY DISPLAY=%s",
             stage->display);
    snprintf(arguments, sizeof arguments, "view %s --pane mask", input);
    start(stage, environment, arguments);
    assert_true(xdotool(stage, "search --sync --onlyvisible --name '^Backdrop - synth:' "
                               "windowfocus --sync"));
    press(stage, "o");
    double end = bd_clock_seconds() + patience;
    do
        shoot(stage, &picture);
    while (white_share(&picture) <= 0 && bd_clock_seconds() < end);
    assert_true(white_share(&picture) > 0);
    bd_frame_destroy(&picture);
}

static void each_pane_shows_its_picture(void **state)
{
    enum { INPUT, BACKGROUND, FOREGROUND, MASK, OVERLAY, ALL, TEXT, COUNT };
    static const char *const keys[COUNT] = { "1", "2", "3", "4", "5", "6", "o" };
    struct stage *stage = *state;
    struct bd_frame picture[COUNT] = { 0 };
    open_window(stage, "synth:street");
    nap(1);
    press(stage, "p");
    for (int i = 0; i < COUNT; i++) {
        press(stage, keys[i]);
        shoot(stage, &picture[i]);
        assert_int_equal(picture[i].width, picture[0].width);
        assert_int_equal(picture[i].height, picture[0].height);
    }
    /* the shape of the input, 480x270, without borders */
    assert_int_equal(picture[0].width * 9, picture[0].height * 16);
    const struct bd_frame *mask = &picture[MASK];
    double share = white_share(mask);
    assert_true(share > 0.002 && share < 0.5);
    assert_true(contrast(&picture[INPUT]) > 100);
    assert_true(difference(&picture[INPUT], &picture[BACKGROUND], mask, true) > 20);
    assert_true(difference(&picture[INPUT], &picture[BACKGROUND], mask, false) < 10);
    assert_true(difference(&picture[INPUT], &picture[FOREGROUND], mask, true) < 20);
    assert_true(difference(&picture[INPUT], &picture[FOREGROUND], mask, false) > 40);
    assert_true(difference(&picture[INPUT], &picture[OVERLAY], mask, true) > 20);
    assert_true(difference(&picture[INPUT], &picture[OVERLAY], mask, false) < 5);
    assert_true(difference(&picture[INPUT], &picture[ALL], NULL, false) > 20);
    assert_true(contrast(&picture[ALL]) > 100);
    assert_true(difference(&picture[TEXT], &picture[ALL], NULL, false) > 0.1);
    assert_true(difference(&picture[TEXT], &picture[ALL], NULL, false) < 20);
    press(stage, "q");
    finish(stage, 0);
    for (int i = 0; i < COUNT; i++)
        bd_frame_destroy(&picture[i]);
}

/* In a paused picture too, and gone again with the same key. */
static void a_key_shows_boxes(void **state)
{
    struct stage *stage = *state;
    struct bd_frame plain = { 0 }, boxes = { 0 }, again = { 0 };
    open_window(stage, "synth:street");
    nap(1);
    press(stage, "p");
    press(stage, "1");
    shoot(stage, &plain);
    press(stage, "x");
    shoot(stage, &boxes);
    press(stage, "x");
    shoot(stage, &again);
    double change = difference(&plain, &boxes, NULL, false);
    assert_true(change > 0.05 && change < 5);
    assert_true(difference(&plain, &again, NULL, false) == 0);
    press(stage, "q");
    finish(stage, 0);
    bd_frame_destroy(&plain);
    bd_frame_destroy(&boxes);
    bd_frame_destroy(&again);
}

static void paused_picture_follows_threshold_and_step(void **state)
{
    struct stage *stage = *state;
    struct bd_frame before = { 0 }, after = { 0 };
    open_window(stage, "synth:street --loop");
    nap(1);
    press(stage, "space");
    shoot(stage, &before);
    double share = white_share(&before);
    assert_true(share > 0.002);
    shoot(stage, &after); /* it stands still */
    assert_true(difference(&before, &after, NULL, false) == 0);
    for (int i = 0; i < 14; i++) /* to 90 grey levels */
        press(stage, "bracketright bracketright bracketright bracketright bracketright");
    double end = bd_clock_seconds() + patience;
    do
        shoot(stage, &after);
    while (white_share(&after) > 0.9 * share && bd_clock_seconds() < end);
    assert_true(white_share(&after) <= 0.9 * share);
    press(stage, "1");
    shoot(stage, &before);
    press(stage, "period");
    do
        shoot(stage, &after);
    while (difference(&before, &after, NULL, false) < 0.1 && bd_clock_seconds() < end);
    assert_true(difference(&before, &after, NULL, false) >= 0.1);
    press(stage, "Escape");
    finish(stage, 0);
    bd_frame_destroy(&before);
    bd_frame_destroy(&after);
}

/* Processor time that the program has taken so far, of all its threads; seconds. */
static double processor_time(const struct stage *stage)
{
    clockid_t clock;
    struct timespec time;
    assert_int_equal(clock_getcpuclockid(stage->child, &clock), 0);
    assert_int_equal(clock_gettime(clock, &time), 0);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* How often its main thread has gone to sleep. */
static long main_thread_sleeps(const struct stage *stage)
{
    static const char key[] = "voluntary_ctxt_switches:";
    char path[64], line[256];
    long count = -1;
    snprintf(path, sizeof path, "/proc/%d/task/%d/status", stage->child, stage->child);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        if (strncmp(line, key, sizeof key - 1) == 0)
            count = atol(line + sizeof key - 1);
    fclose(file);
    assert_true(count >= 0);
    return count;
}

/* Waits for a second in which the program is at rest: its main thread sleeps all the time, and all
 * threads together take less than 20 ms (sanitizers have some of their own). Before it there may be
 * a rest of work, and a message may end. */
static void expect_rest(const struct stage *stage)
{
    for (double end = bd_clock_seconds() + patience; bd_clock_seconds() < end;) {
        double time = processor_time(stage);
        long sleeps = main_thread_sleeps(stage);
        nap(1);
        if (main_thread_sleeps(stage) == sleeps && processor_time(stage) - time < 0.02)
            return;
    }
    fail_msg("the program does not rest");
}

static void nothing_is_done_while_nothing_happens(void **state)
{
    struct stage *stage = *state;
    open_window(stage, "'synth:street?frames=150'");
    press(stage, "space");
    expect_rest(stage);
    press(stage, "1 space"); /* it goes on, to the end */
    expect_rest(stage);
    kill(stage->child, SIGTERM); /* a signal wakes it */
    finish(stage, 4);
}

static void window_resizes(void **state)
{
    struct stage *stage = *state;
    struct bd_frame picture = { 0 };
    open_window(stage, "'synth:easy?size=160x120' --window 10");
    press(stage, "1");
    assert_true(xdotool(stage, "search --name '^Backdrop - ' windowsize --sync 640 640"));
    double end = bd_clock_seconds() + patience;
    do
        shoot(stage, &picture);
    while ((picture.width != 640 || picture.height != 640) && bd_clock_seconds() < end);
    assert_int_equal(picture.width, 640);
    assert_int_equal(picture.height, 640);
    /* 640x480 in the middle, dark above and below */
    assert_true(pixel(&picture, 320, 40)[1] < 40 && pixel(&picture, 320, 600)[1] < 40);
    struct bd_frame middle = picture;
    middle.data = picture.data + 100 * picture.stride;
    middle.height = 440;
    assert_true(contrast(&middle) > 100);
    press(stage, "q");
    finish(stage, 0);
    bd_frame_destroy(&picture);
}

static void interrupt_exits_4(void **state)
{
    struct stage *stage = *state;
    open_window(stage, "'synth:easy?size=160x120' --window 10 --loop");
    kill(stage->child, SIGINT);
    finish(stage, 4);
}

/* Drags something over the window with the focus, from a window that has gone: SDL answers it. */
static void drag_from_nowhere(const struct stage *stage)
{
    Display *display = XOpenDisplay(stage->display);
    assert_non_null(display);
    Window source = XCreateSimpleWindow(display, DefaultRootWindow(display), 0, 0, 1, 1, 0, 0, 0);
    XDestroyWindow(display, source);
    XEvent drag = { .xclient = { .type = ClientMessage, .format = 32 } };
    int unused;
    XGetInputFocus(display, &drag.xclient.window, &unused);
    drag.xclient.message_type = XInternAtom(display, "XdndPosition", False);
    drag.xclient.data.l[0] = (long)source;
    assert_true(XSendEvent(display, drag.xclient.window, False, NoEventMask, &drag));
    XCloseDisplay(display);
}

static void survives_the_windows_of_others(void **state)
{
    struct stage *stage = *state;
    struct bd_frame picture = { 0 };
    open_window(stage, "'synth:easy?size=160x120' --window 10 --loop");
    drag_from_nowhere(stage);
    shoot(stage, &picture);
    press(stage, "q");
    finish(stage, 0);
    bd_frame_destroy(&picture);
}

/* ---- without a display ---- */

static void runs_headless(void **state)
{
    struct stage *stage = *state;
    struct bd_frame picture = { 0 };
    char line[256];
    start(stage, "SDL_VIDEODRIVER=dummy",
          "view 'synth:easy?size=160x120' --window 10 --frames 12 --screenshot shot.png");
    finish(stage, 0);
    assert_int_equal(count_lines(stage, line, sizeof line), 0);
    assert_true(read_picture(stage, "shot.png", &picture));
    assert_true(contrast(&picture) > 100);
    bd_frame_destroy(&picture);
}

/* How many pixels of the screenshot of a pane have the colour of the first object's box. */
static int count_box(struct stage *stage, const char *pane, const char *more)
{
    static const uint8_t color[3] = { 255, 240, 96 };
    struct bd_frame picture = { 0 };
    char arguments[256];
    int count = 0;
    snprintf(arguments, sizeof arguments,
             "view 'synth:easy?frames=20' --frames 20 --pane %s --screenshot shot.png %s", pane,
             more);
    start(stage, "SDL_VIDEODRIVER=dummy", arguments);
    finish(stage, 0);
    assert_true(read_picture(stage, "shot.png", &picture));
    for (int y = 0; y < picture.height; y++)
        for (int x = 0; x < picture.width; x++)
            count += distance(pixel(&picture, x, y), color) < 30;
    bd_frame_destroy(&picture);
    return count;
}

/* Boxes are drawn on the input and the overlay, but not on the mask, nor unasked. */
static void boxes_are_shown(void **state)
{
    assert_in_range(count_box(*state, "input", ""), 0, 20);
    assert_in_range(count_box(*state, "input", "--boxes"), 200, 5000);
    assert_in_range(count_box(*state, "overlay", "--boxes"), 200, 5000);
    assert_in_range(count_box(*state, "mask", "--boxes"), 0, 20);
}

/* A run by number of frames ends with the input, whichever comes first. */
static void short_input_ends_the_run(void **state)
{
    struct stage *stage = *state;
    start(stage, "SDL_VIDEODRIVER=dummy",
          "view 'synth:easy?size=160x120&frames=5' --window 10 --frames 1000");
    finish(stage, 0);
}

static void works_without_a_font(void **state)
{
    struct stage *stage = *state;
    char path[128], environment[256], line[256];
    snprintf(path, sizeof path, "%s/fonts.conf", stage->folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("<?xml version=\"1.0\"?><fontconfig></fontconfig>\n", file);
    fclose(file);
    snprintf(environment, sizeof environment, "SDL_VIDEODRIVER=dummy FONTCONFIG_FILE='%s'", path);
    start(stage, environment,
          "view 'synth:easy?size=160x120' --window 10 --frames 5 --screenshot shot.png");
    finish(stage, 0);
    assert_int_equal(count_lines(stage, line, sizeof line), 1);
    assert_non_null(strstr(line, "no text in the window"));
    assert_true(file_there(stage, "shot.png"));
}

/* Each start that cannot work: its exit status, and one line on stderr with a word in it. */
static void bad_starts(void **state)
{
    static const struct {
        const char *environment, *arguments;
        int exit_status;
        const char *word;
    } cases[] = {
        { "-u DISPLAY -u WAYLAND_DISPLAY -u SDL_VIDEODRIVER",
          "view 'synth:easy?size=160x120' --window 10", 1, "export" },
        { "-u WAYLAND_DISPLAY -u SDL_VIDEODRIVER DISPLAY=:64999",
          "view 'synth:easy?size=160x120' --window 10", 1, "export" },
        { "SDL_VIDEODRIVER=none-such", "view 'synth:easy?size=160x120' --window 10", 1, "export" },
        { "SDL_VIDEODRIVER=dummy", "view missing.mp4", 2, "missing.mp4" },
        { "SDL_VIDEODRIVER=dummy", "view synth:none-such", 2, "none-such" },
        { "SDL_VIDEODRIVER=dummy", "view 'synth:easy?size=160x120' --window 10 --pane window", 1,
          "pane" },
        { "SDL_VIDEODRIVER=dummy", "view 'synth:easy?size=160x120' --window 10 --frames -3", 1,
          "frames" },
        { "SDL_VIDEODRIVER=dummy",
          "view 'synth:easy?size=160x120' --window 10 --frames 2 --screenshot no/such/folder.png",
          3, "folder.png" },
        { "SDL_VIDEODRIVER=dummy",
          "view 'synth:easy?size=160x120' --window 10 --frames 2 --screenshot noextension", 3,
          "noextension" },
    };
    struct stage *stage = *state;
    char line[512];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        start(stage, cases[i].environment, cases[i].arguments);
        int exit_status = wait_for_end(stage);
        int lines = count_lines(stage, line, sizeof line);
        if (exit_status != cases[i].exit_status || lines != 1 || !strstr(line, cases[i].word))
            fail_msg("%s: exit status %d, %d lines: %s", cases[i].arguments, exit_status, lines,
                     line);
    }
}

/* A screenshot replaces no film, no region and no picture of a sequence. */
static void a_screenshot_replaces_nothing_that_is_read(void **state)
{
    static const char *const cases[] = {
        "view film.mkv --frames 2 --screenshot film.mkv",
        "view film.mkv --frames 2 --screenshot ./link.mkv",
        "view film.mkv --frames 2 --roi p0001.png --screenshot p0001.png",
        "view p%04d.png --frames 2 --screenshot p0003.png",
    };
    struct stage *stage = *state;
    char line[512], command[PATH_MAX + 512];
    snprintf(command, sizeof command,
             "cd '%s' && '%s' export 'synth:easy?frames=9&size=160x120' --overlay film.mkv "
             "--background p%%04d.png -q && ln -s film.mkv link.mkv && sum film.mkv p* >before",
             stage->folder, stage->program);
    assert_int_equal(system(command), 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        start(stage, "SDL_VIDEODRIVER=dummy", cases[i]);
        finish(stage, 1);
        assert_int_equal(count_lines(stage, line, sizeof line), 1);
        assert_non_null(strstr(line, ": is the input itself, one of its pictures, or the region"));
    }
    snprintf(command, sizeof command, "cd '%s' && sum film.mkv p* | cmp - before", stage->folder);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    if (!getenv("BACKDROP")) {
        fprintf(stderr, "BACKDROP must hold the path of the program\n");
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_pane_shows_its_picture, open_stage, close_stage),
        cmocka_unit_test_setup_teardown(a_key_shows_boxes, open_stage, close_stage),
        cmocka_unit_test_setup_teardown(paused_picture_follows_threshold_and_step, open_stage,
                                        close_stage),
        cmocka_unit_test_setup_teardown(nothing_is_done_while_nothing_happens, open_stage,
                                        close_stage),
        cmocka_unit_test_setup_teardown(window_resizes, open_stage, close_stage),
        cmocka_unit_test_setup_teardown(interrupt_exits_4, open_stage, close_stage),
        cmocka_unit_test_setup_teardown(survives_the_windows_of_others, open_stage, close_stage),
        cmocka_unit_test_setup_teardown(runs_headless, open_stage, close_stage),
        cmocka_unit_test_setup_teardown(boxes_are_shown, open_stage, close_stage),
        cmocka_unit_test_setup_teardown(short_input_ends_the_run, open_stage, close_stage),
        cmocka_unit_test_setup_teardown(works_without_a_font, open_stage, close_stage),
        cmocka_unit_test_setup_teardown(bad_starts, open_stage, close_stage),
        cmocka_unit_test_setup_teardown(a_screenshot_replaces_nothing_that_is_read, open_stage,
                                        close_stage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
