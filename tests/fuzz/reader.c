/* Films and pictures. The first four bytes are the settings, the others the file. */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "video/input/reader.h"
#include "video/output/writer.h"

enum { most_calls = 2000, most_frames = 40 };

/* A damaged film may take FFmpeg long: it is given up after some calls. */
static bool stop(void *user)
{
    int *left = user;
    return --*left <= 0;
}

static void read_frames(struct bd_reader *reader, enum bd_pixel_format format)
{
    struct bd_frame frame = { 0 };
    const struct bd_reader_info *info = bd_reader_get_info(reader);
    int64_t last = INT64_MIN;
    enum bd_status status = BD_OK;
    REQUIRE(info->width > 0 && info->height > 0 && info->time_base.num > 0);
    for (int i = 0; i < most_frames && status == BD_OK; i++) {
        status = bd_reader_read(reader, &frame);
        if (status != BD_OK)
            break;
        REQUIRE(frame.width == info->width && frame.height == info->height);
        REQUIRE(frame.format == format && frame.pts > last);
        last = frame.pts;
    }
    require_line(status);
    require_line(bd_reader_seek(reader, 0.1));
    require_line(bd_reader_read(reader, &frame));
    require_line(bd_reader_read_from(reader, last, &frame));
    bd_frame_destroy(&frame);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const formats[] = { NULL,       NULL,    NULL,     NULL,
                                           "rawvideo", "mjpeg", "mpegts", "h264" };
    static const char *const sizes[] = { "1x1",  "16x16",       "64x48", "100000x1",
                                         "0x16", "65535x65535", "-4x7",  "2147483647x2" };
    static const char *const pixels[] = { "gray",        "yuv420p", "rgb24",       "gray16le",
                                          "yuv422p10le", "pal8",    "bayer_rggb8", "none" };
    if (size < 4)
        return 0;
    int file = memfd_create("film", MFD_CLOEXEC), left = most_calls;
    char path[64];
    REQUIRE(file >= 0 && write(file, data + 4, size - 4) == (ssize_t)(size - 4));
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    struct bd_key_value raw[] = { { "video_size", sizes[data[1] % 8] },
                                  { "pixel_format", pixels[data[1] / 8 % 8] } };
    struct bd_reader_options options = { .input_format = formats[data[0] % 8],
                                         .input_options = raw,
                                         .input_option_count = data[0] % 8 == 4 ? 2 : 0,
                                         .format = data[2] & 1 ? BD_GRAY8 : BD_RGB24,
                                         .tone_curve = data[2] & 2,
                                         .start = (data[2] >> 2) % 4 * 0.05,
                                         .duration = (data[2] >> 4) % 4 * 0.2,
                                         .threads = 1,
                                         .interrupted = stop,
                                         .user = &left };
    struct bd_reader *reader = NULL;
    enum bd_status status = bd_reader_open(&reader, path, &options);
    REQUIRE((status == BD_OK) == (reader != NULL));
    require_line(status);
    if (reader)
        read_frames(reader, options.format);
    bd_reader_close(&reader);
    struct bd_frame picture = { 0 };
    require_line(bd_picture_read(path, options.format, &picture));
    bd_frame_destroy(&picture);
    close(file);
    return 0;
}
