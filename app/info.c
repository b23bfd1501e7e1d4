#include "app/commands.h"

#include <SDL.h>
#include <SDL_ttf.h>
#include <fcntl.h>
#include <glob.h>
#include <libavcodec/avcodec.h>
#include <libavdevice/avdevice.h>
#include <libavformat/avformat.h>
#include <libavutil/avutil.h>
#include <libswscale/swscale.h>
#include <linux/videodev2.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "app/cpu_name.h"
#include "app/option_table.h"
#include "app/version.h"
#include "video/output/recipe.h"
#include "video/synth/synth.h"
#include <backdrop/backend.h>

/* Present when the BLAS is OpenBLAS. */
extern char *openblas_get_config(void) __attribute__((weak));

static void print_backends(const struct bd_options *options)
{
    puts("Backends (in the order in which auto tries them)");
    for (const char *const *name = bd_backend_names(); *name; name++) {
        struct bd_backend *backend = NULL;
        if (bd_backend_open(&backend, *name, options->threads))
            printf("  %-12s not usable: %s\n", *name, bd_error_detail());
        else
            printf("  %-12s %s\n", *name, bd_backend_description(backend));
        bd_backend_close(&backend);
    }
}

static void print_ffmpeg(const char *name, unsigned version)
{
    printf("  %-12s %u.%u.%u\n", name, AV_VERSION_MAJOR(version), AV_VERSION_MINOR(version),
           AV_VERSION_MICRO(version));
}

static void print_libraries(void)
{
    SDL_version sdl;
    SDL_GetVersion(&sdl);
    const SDL_version *ttf = TTF_Linked_Version();
    puts("Libraries");
    printf("  %-12s %s\n", "FFmpeg", av_version_info());
    print_ffmpeg("libavformat", avformat_version());
    print_ffmpeg("libavcodec", avcodec_version());
    print_ffmpeg("libavdevice", avdevice_version());
    print_ffmpeg("libavutil", avutil_version());
    print_ffmpeg("libswscale", swscale_version());
    printf("  %-12s %d.%d.%d\n", "SDL", sdl.major, sdl.minor, sdl.patch);
    printf("  %-12s %d.%d.%d\n", "SDL_ttf", ttf->major, ttf->minor, ttf->patch);
    printf("  %-12s %s\n", "BLAS", openblas_get_config ? openblas_get_config() : "not OpenBLAS");
}

static void print_cameras(void)
{
    glob_t found;
    puts("Cameras");
    if (glob("/dev/video*", 0, NULL, &found)) {
        puts("  none (no /dev/video*)");
        return;
    }
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct v4l2_capability capability = { .version = 0 };
        int device = open(found.gl_pathv[i], O_RDWR | O_NONBLOCK);
        if (device < 0)
            printf("  %-12s cannot be opened; is the user in group video?\n", found.gl_pathv[i]);
        else if (ioctl(device, VIDIOC_QUERYCAP, &capability))
            printf("  %-12s not a V4L2 device\n", found.gl_pathv[i]);
        else if (capability.device_caps & V4L2_CAP_VIDEO_CAPTURE)
            printf("  %-12s %.32s\n", found.gl_pathv[i], (const char *)capability.card);
        if (device >= 0)
            close(device);
    }
    globfree(&found);
}

static void print_scenes(void)
{
    puts("Scenes (synth:NAME)");
    for (const struct bd_synth_scene *scene = bd_synth_scenes; scene->name; scene++)
        printf("  %-12s %dx%d, %d frames at %d/s: %s\n", scene->name, scene->width, scene->height,
               scene->frame_count, scene->fps, scene->description);
}

/* The encoder that the writer would choose for a video of an ordinary size. */
static const char *encoder_for(const char *extension, enum bd_pixel_format format, bool lossless)
{
    char path[32];
    struct bd_writer_plan plan;
    struct bd_writer_options options = { .width = 640,
                                         .height = 480,
                                         .format = format,
                                         .time_base = { 1, 25 },
                                         .frame_rate = { 25, 1 },
                                         .pixel_aspect = { 1, 1 },
                                         .lossless = lossless };
    snprintf(path, sizeof path, "out%s", extension);
    return bd_writer_plan_make(&plan, path, &options) ? "-" : plan.codec->name;
}

static void print_encoders(void)
{
    static const char *const extensions[] = { ".mkv", ".mp4", ".mov", ".webm", ".avi",
                                              ".gif", ".png", ".jpg", ".bmp",  ".tif" };
    puts("Encoders (colour, with alpha, lossless masks)");
    for (size_t i = 0; i < sizeof extensions / sizeof *extensions; i++)
        printf("  %-12s %-14s %-14s %s\n", extensions[i],
               encoder_for(extensions[i], BD_RGB24, false),
               encoder_for(extensions[i], BD_RGBA32, false),
               encoder_for(extensions[i], BD_GRAY8, true));
}

int bd_info_run(const struct bd_options *options)
{
    printf("backdrop %s (%s)\n", bd_version, bd_commit);
    print_backends(options);
    char cpu[300];
    printf("CPU\n  %s\n", bd_cpu_name(cpu, sizeof cpu));
    print_libraries();
    print_cameras();
    print_scenes();
    print_encoders();
    return 0;
}
