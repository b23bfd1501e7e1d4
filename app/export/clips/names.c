#include "app/export/clips/names.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "video/input/image_pattern.h"

/* The part of INPUT that names it, and its length. */
static const char *name_of(const char *input, size_t *length)
{
    struct stat about;
    if (strcmp(input, "-") == 0)
        input = "stdin";
    bool scene = strncmp(input, "synth:", 6) == 0;
    bool file = !scene && stat(input, &about) == 0;
    const char *text = scene ? input + 6 : input;
    size_t end = file ? strlen(text) : strcspn(text, "?#");
    while (end > 0 && text[end - 1] == '/')
        end--;
    size_t begin = end;
    while (begin > 0 && text[begin - 1] != '/')
        begin--;
    /* Of an address without a path, the host, without who asks for it. */
    bool host = !file && begin >= 3 && strncmp(text + begin - 3, "://", 3) == 0;
    while (host && memchr(text + begin, '@', end - begin))
        begin++;
    size_t dot = host ? begin : end;
    while (dot > begin && text[dot] != '.')
        dot--;
    /* A pattern is called by what comes before the number. */
    const char *number = file || !bd_image_pattern_is(input) ? NULL : strchr(text + begin, '%');
    end = number ? (size_t)(number - text) : dot > begin ? dot : end;
    *length = end - begin;
    return text + begin;
}

void bd_clip_stem(char stem[bd_clip_stem_size], const char *input)
{
    size_t length, used = 0;
    const char *name = name_of(input, &length);
    for (; length > 0 && *name == '.'; length--) /* would be hidden */
        name++;
    for (size_t i = 0; i < length && used < bd_clip_stem_size - 1; i++) {
        unsigned char letter = (unsigned char)name[i];
        bool odd = letter < ' ' || strchr("%:/\\\"*<>|?&;", letter);
        stem[used++] = odd ? '_' : (char)letter;
    }
    while (used > 0 && strchr("._- ", stem[used - 1]))
        used--;
    stem[used] = 0;
    /* No letter is cut in two: the bytes of one in UTF-8 that follow its first begin with 10. */
    if (used == bd_clip_stem_size - 1 && ((unsigned char)name[used] & 0xC0) == 0x80) {
        while (used > 0 && ((unsigned char)stem[used - 1] & 0xC0) == 0x80)
            used--;
        stem[used > 0 ? used - 1 : 0] = 0;
    }
    if (!stem[strspn(stem, "._- ")])
        snprintf(stem, bd_clip_stem_size, "input");
}

void bd_clip_own_stem(char stem[bd_clip_stem_size], const struct bd_options *options)
{
    if (options->name)
        snprintf(stem, bd_clip_stem_size, "%s", options->name);
    else
        bd_clip_stem(stem, options->arguments[0]);
}

void bd_clip_path(char path[PATH_MAX], const char *folder, const char *stem, int64_t number,
                  const char *extension)
{
    size_t length = strlen(folder);
    const char *slash = length && folder[length - 1] == '/' ? "" : "/";
    snprintf(path, PATH_MAX, "%s%s%s.%04" PRId64 ".%s", folder, slash, stem, number, extension);
}

/* Whether `name` is STEM.NUMBER.EXTENSION, with four digits or more. */
static bool is_clip(const char *name, const char *stem)
{
    size_t length = strlen(stem);
    if (strncmp(name, stem, length) != 0 || name[length] != '.')
        return false;
    const char *number = name + length + 1;
    size_t digits = strspn(number, "0123456789");
    const char *extension = number + digits;
    return digits >= 4 && extension[0] == '.' && extension[1] && !strchr(extension + 1, '.');
}

bool bd_clip_find(char path[PATH_MAX], const char *folder, const char *stem,
                  bool (*wants)(const void *user, const char *path), const void *user)
{
    DIR *entries = opendir(folder);
    const char *slash = folder[0] && folder[strlen(folder) - 1] == '/' ? "" : "/";
    bool found = false;
    for (const struct dirent *entry; entries && !found && (entry = readdir(entries));) {
        if (!is_clip(entry->d_name, stem))
            continue;
        snprintf(path, PATH_MAX, "%s%s%s", folder, slash, entry->d_name);
        found = wants(user, path);
    }
    if (entries)
        closedir(entries);
    return found;
}

static bool any(const void *user, const char *path)
{
    (void)user, (void)path;
    return true;
}

bool bd_clip_exists(char path[PATH_MAX], const char *folder, const char *stem)
{
    return bd_clip_find(path, folder, stem, any, NULL);
}
