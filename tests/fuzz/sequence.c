/* Folders of sequences with ground truth. The bytes are files of the folder, cut apart by line
 * feeds and zeros: a name, then what is in it. Behind a first byte of 255 they are one picture: it
 * is the ground truth, ROI.bmp, and the region of --roi. */
#include <dirent.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/eval/cdnet.h"
#include "app/pipeline/pictures.h"
#include "tests/fuzz/fuzz.h"

enum { most_files = 12 };

static char folder[] = "/tmp/bd-fuzz-XXXXXX";

static void remove_folder(void)
{
    rmdir(folder);
}

static void empty_folder(const char *path)
{
    struct dirent *entry;
    DIR *files = opendir(path);
    while (files && (entry = readdir(files))) {
        char name[PATH_MAX];
        snprintf(name, sizeof name, "%.2000s/%s", path, entry->d_name);
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 && unlink(name)) {
            empty_folder(name);
            rmdir(name);
        }
    }
    if (files)
        closedir(files);
}

/* Names stay in the folder, and in one below it. */
static void put(const char *name, const char *text, size_t size)
{
    char path[PATH_MAX];
    const char *slash = strchr(name, '/');
    if (strstr(name, "..") || (slash && strchr(slash + 1, '/')) || strlen(name) > 100)
        return;
    if (slash) {
        snprintf(path, sizeof path, "%s/%.*s", folder, (int)(slash - name), name);
        mkdir(path, 0777);
    }
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (file) {
        fwrite(text, 1, size, file);
        fclose(file);
    }
}

/* A region of any size fits a film of any other. */
static void use_region(const char *path)
{
    static const int sizes[][2] = { { 64, 48 }, { 1, 1 }, { 7, 300 } };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct bd_options options = { .roi = path, .threads = 1 };
        struct bd_separator_options given = { .width = sizes[i][0],
                                              .height = sizes[i][1],
                                              .channels = 1 };
        struct bd_separator_options settings = bd_separator_defaults(&given);
        struct bd_pictures *pictures = NULL;
        enum bd_status status = bd_pictures_create(&pictures, given.width, given.height, &settings,
                                                   0, options.roi, 2, NULL);
        REQUIRE((status == BD_OK) == (pictures != NULL));
        require_line(status);
        bd_pictures_destroy(&pictures);
    }
}

static void use_picture(const char *data, size_t size)
{
    char path[PATH_MAX];
    struct bd_sequence sequence;
    struct bd_frame truth = { 0 };
    struct bd_score score = { 0 };
    put("temporalROI.txt", "1 1", 3);
    put("input/in000001.png", "", 0);
    put("groundtruth/gt000001.png", data, size);
    put("ROI.bmp", data, size);
    snprintf(path, sizeof path, "%s/ROI.bmp", folder);
    use_region(path);
    enum bd_status status = bd_sequence_open(&sequence, folder);
    require_line(status);
    if (status != BD_OK)
        return;
    /* The picture was read as the region: it is good. */
    REQUIRE(bd_sequence_truth(&sequence, 1, &truth) == BD_OK);
    REQUIRE(bd_score_add(&score, &sequence, &truth, &truth) == BD_OK);
    REQUIRE(score.fn == 0 && score.frames == 1); /* 128 to 254 move in a mask alone */
    bd_frame_destroy(&truth);
    bd_sequence_close(&sequence);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool made;
    if (!made)
        REQUIRE(mkdtemp(folder) && atexit(remove_folder) == 0);
    made = true;
    if (size > 0 && data[0] == 255) {
        use_picture((const char *)data + 1, size - 1);
        empty_folder(folder);
        return 0;
    }
    char *text = text_of(data, size), *rest = text;
    for (int i = 0; i < most_files && rest < text + size; i++) {
        char *end = memchr(rest, 0, (size_t)(text + size - rest));
        end = end ? end : text + size;
        char *name = rest, *body = memchr(rest, '\n', (size_t)(end - rest));
        rest = end + 1;
        if (!body)
            continue;
        *body++ = 0;
        put(name, body, (size_t)(end - body));
    }
    struct bd_sequence sequence;
    enum bd_status status = bd_sequence_open(&sequence, folder);
    require_line(status);
    if (status == BD_OK) {
        REQUIRE(sequence.score_from - 1 <= sequence.score_to);
        struct bd_frame truth = { 0 };
        require_line(bd_sequence_truth(&sequence, sequence.score_from, &truth));
        bd_frame_destroy(&truth);
        bd_sequence_close(&sequence);
    }
    empty_folder(folder);
    free(text);
    return 0;
}
