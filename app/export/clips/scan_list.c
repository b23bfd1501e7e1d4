#include "app/export/clips/scan_list.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "app/export/clips/names.h"
#include "video/output_file.h"

struct bd_scan_list {
    const char *folder; /* of clips; NULL: none are asked for */
    char stem[bd_clip_stem_size], extension[16];
    bool live;      /* times count from the first frame */
    int64_t origin; /* nanoseconds: the time that is printed as 0 */
    int64_t frames;
};

static enum bd_status check_stdout(void)
{
    return fflush(stdout) || ferror(stdout) ? bd_output_fail("stdout", errno ? errno : EIO) : BD_OK;
}

enum bd_status bd_scan_list_open(struct bd_scan_list **list, const struct bd_options *options,
                                 const struct bd_reader_info *info, const struct bd_clip_plan *plan)
{
    struct bd_scan_list *self = calloc(1, sizeof *self);
    *list = NULL;
    if (!self)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for the list of events");
    self->folder = options->clips;
    bd_clip_own_stem(self->stem, options);
    snprintf(self->extension, sizeof self->extension, "%s", plan->extension);
    self->live = info->live;
    printf("event  start         end           duration      objects%s\n",
           self->folder ? "  clip" : "");
    enum bd_status status = check_stdout();
    if (status)
        free(self);
    else
        *list = self;
    return status;
}

/* HH:MM:SS.mmm */
static void print_time(int64_t nanoseconds)
{
    int64_t milliseconds = (llabs(nanoseconds) + 500000) / 1000000;
    printf("%s%02" PRId64 ":%02d:%02d.%03d  ", nanoseconds < 0 ? "-" : "", milliseconds / 3600000,
           (int)(milliseconds / 60000 % 60), (int)(milliseconds / 1000 % 60),
           (int)(milliseconds % 1000));
}

static void print_event(const struct bd_scan_list *list, const struct bd_event *event)
{
    char path[PATH_MAX];
    printf("%5" PRId64 "  ", event->number);
    print_time(event->start - list->origin);
    print_time(event->end - list->origin);
    print_time(event->end - event->start);
    printf("%7d", event->objects);
    if (list->folder) {
        bd_clip_path(path, list->folder, list->stem, event->number, list->extension);
        printf("  %s", path);
    }
    putchar('\n');
}

enum bd_status bd_scan_list_add(struct bd_scan_list *list, const struct bd_activity *activity)
{
    int count;
    bool any = false;
    if (list->frames++ == 0 && list->live)
        list->origin = bd_activity_time(activity);
    const struct bd_happening *happenings = bd_activity_happenings(activity, &count);
    for (int i = 0; i < count; i++) {
        if (happenings[i].kind != BD_EVENT_ENDED)
            continue;
        print_event(list, happenings[i].event);
        any = true;
    }
    return any ? check_stdout() : BD_OK;
}

void bd_scan_list_close(struct bd_scan_list **list)
{
    free(*list);
    *list = NULL;
}
