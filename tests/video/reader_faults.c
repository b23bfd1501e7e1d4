/* The reader on damaged, broken off, interrupted and wrong inputs. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "tests/support/random.h"
#include "tests/video/reader_fixture.h"
#include "video/output/writer.h"

#define X264 "-c:v libx264 -preset ultrafast -bf 2 -g 12 -pix_fmt yuv420p "

enum { FRAMES = 100 };

static const struct bd_reader_options plain;

static const struct {
    const char *name, *codec;
    enum bd_status cut; /* how reading ends where the file is cut off */
    bool frames;        /* it states how many they are */
} clips[] = {
    { "a.mp4", X264 "-movflags +faststart", BD_ERROR_IO, true },
    { "a.mkv", X264, BD_ERROR_IO, false },
    { "a.avi", "-c:v mpeg4 -q:v 3 -g 12", BD_ERROR_IO, true },
    { "a.ts", X264, BD_END, false }, /* states no length */
};

enum { CLIPS = sizeof clips / sizeof *clips };

static void make_clips(void)
{
    static bool made;
    need_ffmpeg();
    for (int i = 0; i < CLIPS && !made; i++)
        assert_int_equal(
            shell(FFMPEG MOVING("320x240", "4") "%s %s", clips[i].codec, clips[i].name), 0);
    made = true;
}

/* All bytes of a file in the scratch folder; the caller frees. */
static uint8_t *load(const char *name, size_t *size)
{
    FILE *file = fopen(in_scratch(name), "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(*size);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

static void save(const char *name, const uint8_t *bytes, size_t size)
{
    FILE *file = fopen(in_scratch(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* What is left of a file cut off at 60 % comes out, unchanged, and then a line that says how much
 * is missing, where the file states its length. */
static void test_truncated(void **state)
{
    (void)state;
    make_clips();
    for (int i = 0; i < CLIPS; i++) {
        size_t size;
        uint8_t *bytes = load(clips[i].name, &size);
        save("cut", bytes, size * 6 / 10);
        free(bytes);
        struct clip whole = read_input(in_scratch(clips[i].name), plain);
        struct clip cut;
        struct bd_reader *reader = open_input(in_scratch("cut"), plain);
        assert_int_equal(read_all(reader, &cut), clips[i].cut);
        if (clips[i].cut != BD_END) {
            char there[60];
            if (clips[i].frames)
                snprintf(there, sizeof there, "%d of %d frames are there", cut.count, FRAMES);
            else
                snprintf(there, sizeof there, "%.1f of %.1f seconds are there", cut.count / 25.0,
                         FRAMES / 25.0);
            assert_non_null(strstr(bd_error_detail(), there));
        }
        struct bd_frame none = { 0 }; /* the same again in further calls */
        assert_int_equal(bd_reader_read(reader, &none), clips[i].cut);
        bd_reader_close(&reader);
        assert_int_equal(whole.count, FRAMES);
        if (cut.count < 40 || cut.count > 80)
            fail_msg("%s: %d frames in six tenths of %d", clips[i].name, cut.count, FRAMES);
        /* The last ones may miss the references that came after them. */
        int sure = cut.count - 4;
        assert_memory_equal(whole.data, cut.data, (size_t)sure * 320 * 240 * 3);
        assert_memory_equal(whole.pts, cut.pts, sure * sizeof *cut.pts);
        free_clip(&whole);
        free_clip(&cut);
    }
}

/* A film that was cut between two key frames has its whole end: what is missing is its beginning.
 * From later on, nothing is. */
static void test_lost_start(void **state)
{
    (void)state;
    size_t size;
    struct clip clip;
    need_ffmpeg();
    assert_int_equal(shell(FFMPEG MOVING("320x240", "6") X264 "-g 60 -x264-params scenecut=0 "
                                                              "long.ts"),
                     0);
    uint8_t *bytes = load("long.ts", &size);
    size_t from = size / 10 / 188 * 188;
    save("headless.ts", bytes + from, size - from);
    free(bytes);
    struct bd_reader *reader = open_input(in_scratch("headless.ts"), plain);
    const struct bd_reader_info *info = bd_reader_get_info(reader);
    assert_int_equal(read_all(reader, &clip), BD_ERROR_IO);
    assert_non_null(strstr(bd_error_detail(), "lacks its beginning"));
    assert_int_equal(clip.count, 90);
    assert_true(info->lost_start > 1);
    assert_true(fabs(info->duration - 3.6) < 0.1 && llabs(info->frame_count - 90) <= 2);
    free_clip(&clip);
    bd_reader_close(&reader);
    /* So it is where less is asked for, but not to who looks at some of its frames. */
    reader = open_input(in_scratch("headless.ts"), (struct bd_reader_options){ .duration = 1 });
    assert_int_equal(read_all(reader, &clip), BD_ERROR_IO);
    assert_int_equal(clip.count, 25);
    bd_reader_close(&reader);
    struct bd_frame frame = { 0 };
    reader = open_input(in_scratch("headless.ts"), (struct bd_reader_options){ .duration = 1 });
    assert_int_equal(bd_reader_read(reader, &frame), BD_OK);
    assert_int_equal(bd_reader_read_from(reader, clip.pts[24] + 1, &frame), BD_END);
    bd_frame_destroy(&frame);
    free_clip(&clip);
    bd_reader_close(&reader);
    clip = read_input(in_scratch("headless.ts"), (struct bd_reader_options){ .start = 1 });
    assert_int_equal(clip.count, 65);
    free_clip(&clip);
}

/* Films whose length says more than the video in them: an edit list, sound that is longer, frames
 * that are far apart, a part that was asked for. */
static void test_whole(void **state)
{
    (void)state;
    static const struct {
        const char *make;
        int count;
    } cases[] = {
        { "-ss 1.1 -i a.mp4 -t 2 -c copy whole.mp4", 52 },
        { "-i a.mp4 -f lavfi -i sine=d=30 -c:v copy whole.mp4", FRAMES },
        { "-i a.mkv -f lavfi -i sine=d=30 -c:v copy whole.mkv", FRAMES },
        { "-i a.avi -f lavfi -i sine=d=30 -c:v copy whole.avi", FRAMES },
        { "-i a.mkv -vf 'select=not(mod(n\\,45))' -vsync vfr whole.mkv", 3 },
        { "-i a.mkv -c copy -f h264 whole.h264", FRAMES },
    };
    make_clips();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(shell(FFMPEG "%s", cases[i].make), 0);
        struct clip clip = read_input(in_scratch(strstr(cases[i].make, "whole")), plain);
        if (abs(clip.count - cases[i].count) > 1)
            fail_msg("%s: %d frames", cases[i].make, clip.count);
        free_clip(&clip);
    }
    struct clip part = read_input(in_scratch("cut"), (struct bd_reader_options){ .duration = 0.8 });
    assert_int_equal(part.count, 20);
    free_clip(&part);
}

static int warnings;

static void count_warnings(void *user, enum bd_log_level level, const char *message)
{
    (void)user;
    if (level == BD_LOG_WARNING && strstr(message, "damaged"))
        warnings++;
}

/* Rubbish in the middle costs some frames, one line in the log and no more. On one thread: with
 * several, libavcodec before 6.1 may hand out a frame before it has noted what was wrong with it.
 */
static void test_corrupt(void **state)
{
    (void)state;
    struct bd_reader_options options = { .threads = 1 };
    make_clips();
    for (int i = 0; i < 4 * CLIPS; i++) {
        size_t size;
        /* What rubbish hits is a matter of chance: Matroska loses a packet, or some clusters. */
        if (i >= CLIPS && !strstr(clips[i % CLIPS].name, ".mkv"))
            continue;
        uint32_t seed = 12345 + (uint32_t)(i / CLIPS);
        uint8_t *bytes = load(clips[i % CLIPS].name, &size);
        for (size_t at = size * 4 / 10; at < size * 5 / 10; at++)
            bytes[at] = (uint8_t)(random_bits(&seed) >> 16);
        save("corrupt", bytes, size);
        free(bytes);
        warnings = 0;
        bd_log_set(count_warnings, NULL);
        struct clip clip;
        struct bd_reader *reader = open_input(in_scratch("corrupt"), options);
        assert_int_equal(read_all(reader, &clip), BD_END);
        int64_t damaged = bd_reader_damaged(reader);
        bd_reader_close(&reader);
        bd_log_set(NULL, NULL);
        if (clip.count < 60 || clip.count > FRAMES || damaged < 1 || warnings != 1)
            fail_msg("%s: %d frames, %d damaged, %d warnings", clips[i % CLIPS].name, clip.count,
                     (int)damaged, warnings);
        free_clip(&clip);
    }
}

static void count_moved(void *user, enum bd_log_level level, const char *message)
{
    (void)user;
    if (level == BD_LOG_WARNING && strstr(message, "goes back"))
        warnings++;
}

/* Times that repeat or go back are moved forward by the least unit, told once. */
static void test_repeated_times(void **state)
{
    (void)state;
    static const struct {
        const char *times;
        int64_t pts[6];
    } cases[] = {
        { "floor(N/2)*4", { 0, 1, 4, 5, 8, 9 } },
        { "if(lt(N\\,3)\\,10+N*10\\,N*8)", { 10, 20, 30, 31, 32, 40 } },
    };
    for (int i = 0; i < 2; i++) {
        char graph[200];
        snprintf(graph, sizeof graph,
                 "testsrc2=size=64x48:rate=25,settb=1/100,setpts=%s,trim=end_frame=6",
                 cases[i].times);
        warnings = 0;
        bd_log_set(count_moved, NULL);
        struct clip clip = read_input(graph, (struct bd_reader_options){ .input_format = "lavfi" });
        bd_log_set(NULL, NULL);
        assert_int_equal(clip.count, 6);
        for (int k = 0; k < 6; k++)
            assert_int_equal(clip.pts[k], cases[i].pts[k]);
        assert_int_equal(warnings, 1);
        free_clip(&clip);
    }
}

static void count_restarts(void *user, enum bd_log_level level, const char *message)
{
    (void)user;
    if (level == BD_LOG_WARNING && strstr(message, "started anew"))
        warnings++;
}

/* A sender that is started anew counts its times from the beginning again: they go on. */
static void test_restarted_clock(void **state)
{
    (void)state;
    static const int64_t times[] = { 500, 504, 508, 512, 516, 520, 524, 528 };
    const char *graph = "testsrc2=size=64x48:rate=25,settb=1/100,"
                        "setpts=if(lt(N\\,3)\\,500+N*4\\,if(lt(N\\,6)\\,(N-3)*4\\,(N-6)*4)),"
                        "trim=start_frame=0:end_frame=8";
    warnings = 0;
    bd_log_set(count_restarts, NULL);
    struct clip clip = read_input(graph, (struct bd_reader_options){ .input_format = "lavfi" });
    bd_log_set(NULL, NULL);
    assert_int_equal(clip.count, 8);
    for (int i = 0; i < 6; i++)
        assert_int_equal(clip.pts[i], times[i]);
    assert_int_equal(warnings, 1);
    free_clip(&clip);
}

/* The frame of `joined` that comes first at or after so many tenths of a second, read by `reader`
 * next. */
static void assert_frame_at(struct bd_reader *reader, const struct clip *joined, int tenths)
{
    const int number = (tenths * 25 + 9) / 10;
    struct bd_frame frame = { 0 };
    if (bd_reader_read(reader, &frame) != BD_OK)
        fail_msg("%d tenths: %s", tenths, bd_error_detail());
    if (frame.index != number || frame.pts != joined->pts[number])
        fail_msg("%d tenths: frame %d at %d, not %d at %d", tenths, (int)frame.index,
                 (int)frame.pts, number, (int)joined->pts[number]);
    size_t row = (size_t)frame.width * 3;
    for (int y = 0; y < frame.height; y++)
        assert_memory_equal(frame.data + y * frame.stride, clip_frame(joined, number) + row * y,
                            row);
    bd_frame_destroy(&frame);
}

/* Files of MPEG-TS one behind the other: each counts its times from the same one. Any of them may
 * be the longest, and of another rate of bits. */
static void test_start_behind_restart(void **state)
{
    (void)state;
    static const char *const lengths[][3] = {
        { "2", "2", "" }, { "0.4", "4", "" }, { "4", "0.4", "" }, { "1", "3", "2" }
    };
    static const int starts[] = { 39, 21, 2, 25, 30, 10, 43, 5, 19, 3, 41 };
    need_ffmpeg();
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        shell("rm -f joined.ts");
        for (int k = 0; k < 3 && lengths[i][k][0]; k++)
            assert_int_equal(shell(FFMPEG "-f lavfi -i testsrc2=size=160x120:rate=25:duration=%s "
                                          "-vf hue=h=%d " X264 "-qp %d piece.ts && "
                                          "cat piece.ts >>joined.ts",
                                   lengths[i][k], 90 * k, k == 0 ? 20 : 26),
                             0);
        struct clip joined = read_input(in_scratch("joined.ts"), plain);
        struct bd_reader *moving = open_input(in_scratch("joined.ts"), plain);
        for (size_t k = 0; k < sizeof starts / sizeof *starts; k++) {
            if (starts[k] * 5 / 2 + 1 >= joined.count)
                continue;
            struct bd_reader *reader = open_input(
                in_scratch("joined.ts"), (struct bd_reader_options){ .start = starts[k] / 10.0 });
            assert_frame_at(reader, &joined, starts[k]);
            bd_reader_close(&reader);
            assert_int_equal(bd_reader_seek(moving, starts[k] / 10.0), BD_OK);
            assert_frame_at(moving, &joined, starts[k]);
        }
        bd_reader_close(&moving);
        free_clip(&joined);
    }
}

static void count_narrow(void *user, enum bd_log_level level, const char *message)
{
    (void)user;
    if (level == BD_LOG_WARNING && strstr(message, "of 256 levels"))
        warnings++;
}

/* A film that uses less than a tenth of its levels is told once, at its end or after 1000 frames.
 */
static void test_narrow(void **state)
{
    (void)state;
    static const struct {
        int levels, frames, warnings;
    } cases[] = { { 12, 40, 1 }, { 12, 1010, 1 }, { 26, 40, 1 }, { 27, 40, 0 }, { 200, 40, 0 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char graph[200];
        snprintf(graph, sizeof graph,
                 "color=black:size=256x16,format=gray,geq=lum=floor(X*%d/256)+20,"
                 "trim=end_frame=%d",
                 cases[i].levels, cases[i].frames);
        warnings = 0;
        bd_log_set(count_narrow, NULL);
        struct clip clip = read_input(
            graph, (struct bd_reader_options){ .input_format = "lavfi", .format = BD_GRAY8 });
        bd_log_set(NULL, NULL);
        assert_int_equal(clip.count, cases[i].frames);
        if (warnings != cases[i].warnings)
            fail_msg("%d levels, %d frames: %d warnings", cases[i].levels, cases[i].frames,
                     warnings);
        free_clip(&clip);
    }
}

/* A file that was being written by a recorder that lost power: the index is missing. */
static void test_no_index(void **state)
{
    (void)state;
    size_t size;
    struct bd_reader *reader = NULL;
    struct bd_reader_options options = { .format = BD_RGB24 };
    need_ffmpeg();
    assert_int_equal(shell(FFMPEG MOVING("320x240", "1") X264 "late.mp4"), 0);
    uint8_t *bytes = load("late.mp4", &size);
    save("late.mp4", bytes, size / 2);
    free(bytes);
    assert_int_equal(bd_reader_open(&reader, in_scratch("late.mp4"), &options), BD_ERROR_FORMAT);
    assert_null(reader);
    assert_non_null(strstr(bd_error_detail(), "late.mp4"));
    assert_non_null(strstr(bd_error_detail(), "moov"));
}

static void test_pipes(void **state)
{
    (void)state;
    make_clips();
    struct clip file = read_input(in_scratch("a.mkv"), plain);
    /* a named pipe */
    assert_int_equal(shell("mkfifo pipe && (cat a.mkv > pipe &)"), 0);
    struct clip pipe = read_input(in_scratch("pipe"), plain);
    assert_same_frames("pipe", &pipe, &file, 0, 0);
    free_clip(&pipe);
    /* stdin, with a start to be reached without seeking */
    int kept = dup(STDIN_FILENO);
    char command[300];
    snprintf(command, sizeof command, "cat %s", in_scratch("a.mkv"));
    FILE *cat = popen(command, "r");
    assert_non_null(cat);
    assert_true(dup2(fileno(cat), STDIN_FILENO) == STDIN_FILENO);
    struct bd_reader *reader = open_input("-", (struct bd_reader_options){ .start = 2 });
    assert_false(bd_reader_get_info(reader)->seekable);
    assert_int_equal(bd_reader_seek(reader, 2.4), BD_OK);
    assert_int_equal(read_all(reader, &pipe), BD_END);
    assert_int_equal(pipe.count, 40);
    assert_int_equal(pipe.index[0], 60);
    assert_memory_equal(clip_frame(&pipe, 0), clip_frame(&file, 60), 40 * 320 * 240 * 3);
    assert_int_equal(bd_reader_seek(reader, 0), BD_ERROR_UNSUPPORTED);
    bd_reader_close(&reader);
    dup2(kept, STDIN_FILENO);
    close(kept);
    pclose(cat);
    free_clip(&pipe);
    free_clip(&file);
}

/* MP4 by a pipe: with its index in front it is read; with that behind its pictures a line says what
 * would be right. A file that is cut off is no such film. */
static void test_late_index(void **state)
{
    (void)state;
    static const struct {
        const char *make;
        enum bd_status status;
        bool hint;
    } cases[] = {
        { "-i a.mp4 -c copy -movflags +faststart piped.mp4", BD_OK, false },
        { "-i a.mp4 -c copy piped.mp4", BD_ERROR_FORMAT, true },
        { "-i a.mp4 -c copy piped.mp4 && truncate -s 9000 piped.mp4", BD_ERROR_FORMAT, false },
    };
    make_clips();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bd_reader *reader = NULL;
        struct bd_reader_options options = { .format = BD_RGB24 };
        assert_int_equal(shell(FFMPEG "%s && rm -f late && mkfifo late && "
                                      "(cat piped.mp4 >late 2>/dev/null &)",
                               cases[i].make),
                         0);
        warnings = 0;
        bd_log_set(count_warnings, NULL);
        assert_int_equal(bd_reader_open(&reader, in_scratch("late"), &options), cases[i].status);
        bd_log_set(NULL, NULL);
        assert_int_equal(warnings, 0);
        assert_int_equal(cases[i].status && strstr(bd_error_detail(), "faststart"), cases[i].hint);
        bd_reader_close(&reader);
    }
}

/* A socket that waits for connections on *port of this machine. */
static int listen_here(int *port)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof address;
    int server = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_true(server >= 0);
    assert_int_equal(bind(server, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(server, 4), 0);
    assert_int_equal(getsockname(server, (struct sockaddr *)&address, &size), 0);
    *port = ntohs(address.sin_port);
    return server;
}

/* In a child: sends a text to who connects, and ends. */
static void send_once(int server, const char *text)
{
    struct pollfd waiting = { .fd = server, .events = POLLIN };
    poll(&waiting, 1, 20000);
    int client = accept(server, NULL, NULL);
    ssize_t sent = client >= 0 ? write(client, text, strlen(text)) : -1;
    _exit(sent < 0 ? 1 : 0);
}

/* What comes in a pipe, or in a picture's place, opens no connection and no other file. */
static void test_refers_elsewhere(void **state)
{
    (void)state;
    static const char *const kinds[] = {
        "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\n%s\n#EXT-X-ENDLIST\n",
        "ffconcat version 1.0\nfile %s\n",
        "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\n"
        "m=video 0 RTP/AVP 96\na=rtpmap:96 H264/90000\na=control:%s\n",
    };
    make_clips();
    int port, server = listen_here(&port);
    char addresses[4][300];
    snprintf(addresses[0], sizeof *addresses, "http://127.0.0.1:%d/a.ts", port);
    snprintf(addresses[1], sizeof *addresses, "tcp://127.0.0.1:%d", port);
    snprintf(addresses[2], sizeof *addresses, "file://%s", in_scratch("a.ts"));
    snprintf(addresses[3], sizeof *addresses, "%s", in_scratch("a.ts"));
    assert_int_equal(shell("mkfifo stranger"), 0);
    for (size_t i = 0; i < 4 * sizeof kinds / sizeof *kinds; i++) {
        char text[800];
        struct bd_reader *reader = NULL;
        struct bd_reader_options options = { .format = BD_RGB24 };
        snprintf(text, sizeof text, kinds[i / 4], addresses[i % 4]);
        save("playlist", (const uint8_t *)text, strlen(text));
        assert_int_equal(shell("(cat playlist > stranger &)"), 0);
        enum bd_status status = bd_reader_open(&reader, in_scratch("stranger"), &options);
        if (status == BD_OK || reader)
            fail_msg("opened by %s\nstatus %d: %s", text, status, bd_error_detail());
        struct bd_frame picture = { 0 };
        assert_int_not_equal(bd_picture_read(in_scratch("playlist"), BD_GRAY8, &picture), BD_OK);
    }
    assert_true(accept(server, NULL, NULL) < 0 && errno == EAGAIN);
    /* What comes over the network opens no file of this machine. */
    char text[800], address[100];
    snprintf(text, sizeof text, kinds[0], addresses[2]);
    snprintf(address, sizeof address, "tcp:127.0.0.1:%d", port);
    pid_t child = fork();
    if (child == 0)
        send_once(server, text);
    struct bd_reader *reader = NULL;
    struct bd_reader_options options = { .format = BD_RGB24 };
    assert_int_equal(bd_reader_open(&reader, address, &options), BD_ERROR_FORMAT);
    /* FFmpeg 6.1 takes no playlist whose name and type do not say that it is one. */
    assert_true(strstr(bd_error_detail(), "may not open") ||
                strstr(bd_error_detail(), "Not detecting m3u8"));
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(server);
    /* A file may refer to files beside it, as FFmpeg has it. */
    snprintf(addresses[0], sizeof *addresses, kinds[0], "a.ts");
    save("beside.m3u8", (const uint8_t *)addresses[0], strlen(addresses[0]));
    struct clip clip = read_input(in_scratch("beside.m3u8"), plain);
    assert_int_equal(clip.count, FRAMES);
    free_clip(&clip);
}

static bool stop_after(void *user)
{
    int *left = user;
    return (*left)-- <= 0;
}

static bool stop_at(void *user)
{
    return bd_clock_seconds() >= *(const double *)user;
}

static void test_interrupted(void **state)
{
    (void)state;
    int left = 100000, none = 0; /* read by stop_after through `user` */
    struct bd_frame frame = { 0 };
    struct bd_reader *reader;
    struct bd_reader_options options = { .format = BD_GRAY8,
                                         .interrupted = stop_after,
                                         .user = &left };
    make_clips();
    reader = open_input(in_scratch("a.mkv"), options);
    assert_int_equal(bd_reader_read(reader, &frame), BD_OK);
    left = 1;
    enum bd_status status;
    int frames = 0;
    while ((status = bd_reader_read(reader, &frame)) == BD_OK)
        frames++;
    assert_int_equal(status, BD_ERROR_INTERRUPTED);
    assert_true(frames < 5);
    bd_reader_close(&reader);
    bd_frame_destroy(&frame);

    options.user = &none;
    assert_int_equal(bd_reader_open(&reader, in_scratch("a.mkv"), &options), BD_ERROR_INTERRUPTED);

    /* waiting for a writer who never comes */
    assert_int_equal(shell("mkfifo silent"), 0);
    double start = bd_clock_seconds(), end = start + 0.3;
    options.interrupted = stop_at;
    options.user = &end;
    assert_int_equal(bd_reader_open(&reader, in_scratch("silent"), &options), BD_ERROR_INTERRUPTED);
    assert_null(reader);
    assert_true(bd_clock_seconds() - start < 5);
}

/* INPUT of a bad case: in the scratch folder if it begins with a point. */
static const struct bad {
    const char *input, *format, *key, *value, *hwaccel;
    enum bd_status status;
    const char *word; /* that the detail holds */
} bad[] = {
    { "./missing.mp4", .status = BD_ERROR_IO, .word = "No such file" },
    { "./no/missing.mp4", .status = BD_ERROR_IO, .word = "No such file" },
    { ".", .status = BD_ERROR_IO, .word = "is a folder" },
    { "./none%03d.png", .status = BD_ERROR_IO, .word = "matches" },
    { "./no/none%03d.png", .status = BD_ERROR_IO, .word = "folder" },
    { "./no%d/none.png", .status = BD_ERROR_ARGUMENT, .word = "file's name" },
    { "./empty.mp4", .status = BD_ERROR_FORMAT, .word = "is empty" },
    { "./notes.txt", .status = BD_ERROR_FORMAT, .word = "text" },
    { "./notes.mp4", .status = BD_ERROR_FORMAT, .word = "not a video" },
    { "./noise.bin", .status = BD_ERROR_FORMAT, .word = "noise.bin" },
    { "./sound.wav", .status = BD_ERROR_FORMAT, .word = "only sound" },
    { "./strange.avi", .status = BD_ERROR_UNSUPPORTED, .word = "no decoder" },
    { "./a.mkv", "nonsense", .status = BD_ERROR_UNSUPPORTED, .word = "'nonsense'" },
    { "./a.mkv", "mp4", .status = BD_ERROR_FORMAT, .word = "as mov" },
    { "./a.mkv", .key = "colour", .value = "red", .status = BD_ERROR_ARGUMENT, .word = "'colour'" },
    { "./a.mkv", .key = "", .value = "red", .status = BD_ERROR_ARGUMENT, .word = "option 1" },
    { "./a.mkv", .hwaccel = "magic", .status = BD_ERROR_ARGUMENT, .word = "'magic'" },
    { "/dev/video77", .status = BD_ERROR_IO, .word = "no camera" },
    { "/dev/video77", "v4l2", .status = BD_ERROR_IO, .word = "no camera" },
    { ":4242", "x11grab", .status = BD_ERROR_IO, .word = ":4242" },
    { "nonsense=1", "lavfi", .status = BD_ERROR_IO, .word = "nonsense" },
    { "gopher9://x/y", .status = BD_ERROR_UNSUPPORTED, .word = "gopher9" },
    { "http://127.0.0.1:9/a.mp4", .status = BD_ERROR_IO, .word = "127.0.0.1" },
    { "synth:nowhere", .status = BD_ERROR_IO, .word = "easy" },
    { "synth:easy?size=3x3", .status = BD_ERROR_ARGUMENT, .word = "size=3x3" },
    { "synth:easy?size=320", .status = BD_ERROR_ARGUMENT, .word = "size=320" },
    { "synth:easy?speed=2", .status = BD_ERROR_ARGUMENT, .word = "speed=2" },
    { "synth:easy?frames=0", .status = BD_ERROR_ARGUMENT, .word = "frames=0" },
    { "synth:easy?seed=1&", .status = BD_ERROR_ARGUMENT, .word = "''" },
    { "synth:easy", .key = "seed", .value = "2", .status = BD_ERROR_ARGUMENT, .word = "'seed'" },
    { "", .status = BD_ERROR_ARGUMENT, .word = "no input" },
};

static void make_bad_files(void)
{
    size_t size;
    uint8_t noise[50000];
    uint32_t seed = 99;
    assert_int_equal(shell("printf '' > empty.mp4"), 0);
    assert_int_equal(shell("seq 1 3000 | tee notes.txt > notes.mp4"), 0);
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (uint8_t)(random_bits(&seed) >> 16);
    save("noise.bin", noise, sizeof noise);
    assert_int_equal(shell(FFMPEG "-f lavfi -i sine=duration=1 sound.wav"), 0);
    /* an AVI whose codec nobody knows */
    uint8_t *bytes = load("a.avi", &size);
    for (size_t i = 0; i + 4 < 4096; i++)
        if (memcmp(bytes + i, "FMP4", 4) == 0)
            memcpy(bytes + i, "QQ7Q", 4);
    save("strange.avi", bytes, size);
    free(bytes);
}

static void test_bad_inputs(void **state)
{
    (void)state;
    make_clips();
    make_bad_files();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const struct bad *b = &bad[i];
        struct bd_key_value option = { b->key, b->value };
        struct bd_reader_options options = { .format = BD_RGB24,
                                             .input_format = b->format,
                                             .input_options = &option,
                                             .input_option_count = b->key ? 1 : 0,
                                             .hwaccel = b->hwaccel };
        struct bd_reader *reader = NULL;
        const char *input = b->input[0] == '.' ? in_scratch(b->input) : b->input;
        enum bd_status status = bd_reader_open(&reader, input, &options);
        print_message("  %s\n", bd_error_detail());
        if (status != b->status || reader)
            fail_msg("%s: status %d, expected %d: %s", b->input, status, b->status,
                     bd_error_detail());
        if (!strstr(bd_error_detail(), b->word) || strchr(bd_error_detail(), '\n'))
            fail_msg("%s: '%s' does not hold '%s'", b->input, bd_error_detail(), b->word);
    }
}

static void test_bad_options(void **state)
{
    (void)state;
    const struct bd_reader_options options[] = {
        { .format = BD_RGBA32 },
        { .format = BD_RGB24, .start = -1 },
        { .format = BD_RGB24, .start = NAN },
        { .format = BD_RGB24, .duration = -0.5 },
        { .format = BD_RGB24, .duration = 1e300 },
        { .format = BD_RGB24, .threads = -2 },
        { .format = BD_RGB24, .start = 100 }, /* behind the end */
    };
    make_clips();
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        struct bd_reader *reader = NULL;
        assert_int_equal(bd_reader_open(&reader, in_scratch("a.mkv"), &options[i]),
                         BD_ERROR_ARGUMENT);
        assert_null(reader);
    }
    struct bd_reader *reader = open_input(in_scratch("a.mkv"), plain);
    assert_int_equal(bd_reader_seek(reader, -1), BD_ERROR_ARGUMENT);
    assert_int_equal(bd_reader_seek(reader, NAN), BD_ERROR_ARGUMENT);
    bd_reader_close(&reader);
    bd_reader_close(&reader); /* safe on NULL */
}

static void test_unreadable(void **state)
{
    (void)state;
    make_clips();
    if (geteuid() == 0) {
        print_message("skipped: root may read everything\n");
        skip();
    }
    struct bd_reader *reader = NULL;
    struct bd_reader_options options = { .format = BD_RGB24 };
    assert_int_equal(shell("cp a.mkv secret.mkv && chmod 000 secret.mkv"), 0);
    assert_int_equal(bd_reader_open(&reader, in_scratch("secret.mkv"), &options), BD_ERROR_IO);
    assert_non_null(strstr(bd_error_detail(), "Permission"));
}

/* "auto" works with and without hardware; a device that is not there is an error that says so. */
static void test_hardware(void **state)
{
    (void)state;
    make_clips();
    struct clip plain_clip = read_input(in_scratch("a.mp4"), plain);
    struct clip clip =
        read_input(in_scratch("a.mp4"), (struct bd_reader_options){ .hwaccel = "auto" });
    assert_same_frames("auto", &clip, &plain_clip, 1, 60);
    free_clip(&clip);
    free_clip(&plain_clip);
    struct bd_reader *reader = NULL;
    struct bd_reader_options options = { .format = BD_RGB24, .hwaccel = "cuda" };
    enum bd_status status = bd_reader_open(&reader, in_scratch("a.mp4"), &options);
    if (status == BD_OK)
        assert_int_equal(bd_reader_get_info(reader)->width, 320);
    else
        assert_int_equal(status, BD_ERROR_UNSUPPORTED);
    if (status != BD_OK)
        assert_non_null(strstr(bd_error_detail(), "cuda"));
    bd_reader_close(&reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_lost_start),
        cmocka_unit_test(test_restarted_clock),
        cmocka_unit_test(test_start_behind_restart),
        cmocka_unit_test(test_narrow),
        cmocka_unit_test(test_refers_elsewhere),
        cmocka_unit_test(test_corrupt),
        cmocka_unit_test(test_no_index),
        cmocka_unit_test(test_repeated_times),
        cmocka_unit_test(test_pipes),
        cmocka_unit_test(test_late_index),
        cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_bad_inputs),
        cmocka_unit_test(test_bad_options),
        cmocka_unit_test(test_unreadable),
        cmocka_unit_test(test_hardware),
    };
    return cmocka_run_group_tests(tests, create_scratch, remove_scratch);
}
