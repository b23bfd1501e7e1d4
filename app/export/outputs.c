#include "app/export/outputs.h"

#include <stdlib.h>

#include "app/export/clips/scan_list.h"
#include "app/export/output.h"

/* Of the run: written by export.c. */
static const struct bd_output_kind statistics = { .name = "json",
                                                  .option = offsetof(struct bd_options, json) };

/* clang-format off */
const struct bd_output_kind *const bd_output_kinds[bd_output_kind_count] = {
    &bd_mask_output,
    &bd_foreground_output,
    &bd_background_output,
    &bd_overlay_output,
    &bd_plate_output,
    &bd_contact_sheet_output,
    &bd_events_output,
    &bd_tracks_output,
    &bd_clips_output,
    &bd_heatmap_output,
    &bd_second_heatmap_output,
    &bd_timelapse_output,
    &bd_synopsis_output,
    &statistics,
};
/* clang-format on */

struct bd_outputs {
    void *items[bd_output_kind_count];  /* NULL: not given */
    bool objects[bd_output_kind_count]; /* it needs them */
    struct bd_scan_list *scan_list;     /* likewise */
};

int bd_outputs_count(const struct bd_options *options)
{
    int count = options->scan_only && !options->clips;
    for (int i = 0; i < bd_output_kind_count; i++)
        count += bd_output_kinds[i]->open && bd_output_path(options, bd_output_kinds[i]);
    return count;
}

unsigned bd_outputs_wants(const struct bd_options *options, const struct bd_clip_plan *clips)
{
    unsigned wants = options->scan_only ? BD_WANT_OBJECTS : 0;
    bool large = false;    /* an output needs a background of full size */
    bool together = false; /* or objects and pictures of a frame at the same time */
    for (int i = 0; i < bd_output_kind_count; i++) {
        unsigned own = bd_output_wants(options, bd_output_kinds[i], clips);
        large |= (own & BD_WANT_BACKGROUND) && !(own & BD_WANT_SMALL);
        together |= (own & BD_WANT_OBJECTS) && (own & ~(unsigned)BD_WANT_OBJECTS);
        wants |= own;
    }
    if ((wants & BD_WANT_OBJECTS) && !together)
        wants |= BD_WANT_LATER;
    return large ? wants & ~(unsigned)BD_WANT_SMALL : wants;
}

enum bd_status bd_outputs_open(struct bd_outputs **outputs, const struct bd_options *options,
                               const struct bd_pipeline *pipeline, struct bd_clip_plan *clips)
{
    struct bd_outputs *self = calloc(1, sizeof *self);
    enum bd_status status = BD_OK;
    *outputs = NULL;
    if (!self)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for the outputs");
    for (int i = 0; i < bd_output_kind_count && !status; i++) {
        const struct bd_output_kind *kind = bd_output_kinds[i];
        struct bd_output_setup setup = { kind, options, bd_pipeline_info(pipeline),
                                         bd_pipeline_settings(pipeline), clips };
        const char *path = bd_output_path(options, kind);
        self->objects[i] = bd_output_wants(options, kind, clips) & BD_WANT_OBJECTS;
        if (path && kind->open)
            status = kind->open(&self->items[i], path, &setup);
        if (status)
            bd_fail(status, "--%s %s", kind->name, bd_error_detail());
    }
    if (options->scan_only && !status)
        status = bd_scan_list_open(&self->scan_list, options, bd_pipeline_info(pipeline), clips);
    if (status) {
        char detail[bd_detail_size]; /* closing may fail too */
        snprintf(detail, sizeof detail, "%s", bd_error_detail());
        bd_outputs_close(&self, NULL);
        return bd_fail(status, "%s", detail);
    }
    *outputs = self;
    return BD_OK;
}

enum bd_status bd_outputs_write(struct bd_outputs *outputs, const struct bd_result *result,
                                const struct bd_activity *activity)
{
    enum bd_status status = BD_OK;
    for (int i = 0; i < bd_output_kind_count && !status; i++)
        if (outputs->items[i] && outputs->objects[i] == (activity != NULL))
            status = bd_output_kinds[i]->write(outputs->items[i], result, activity);
    if (outputs->scan_list && activity && !status)
        status = bd_scan_list_add(outputs->scan_list, activity);
    return status;
}

void bd_outputs_keep_old(struct bd_outputs *outputs)
{
    for (int i = 0; i < bd_output_kind_count; i++)
        if (outputs->items[i])
            bd_output_kinds[i]->keep_old(outputs->items[i]);
}

/* Keeps the first failure with its detail, which later failures overwrite. */
static void note(enum bd_status *first, char *detail, enum bd_status status)
{
    if (!status || *first)
        return;
    *first = status;
    snprintf(detail, bd_detail_size, "%s", bd_error_detail());
}

enum bd_status bd_output_end_picture(struct bd_writer **writer, enum bd_status status)
{
    enum bd_status first = BD_OK;
    char detail[bd_detail_size] = "";
    note(&first, detail, status);
    note(&first, detail, bd_writer_close(writer));
    return first ? bd_fail(first, "%s", detail) : BD_OK;
}

enum bd_status bd_outputs_close(struct bd_outputs **outputs, const struct bd_activity *activity)
{
    struct bd_outputs *self = *outputs;
    enum bd_status first = BD_OK;
    char detail[bd_detail_size] = "";
    if (!self)
        return BD_OK;
    for (int i = 0; i < bd_output_kind_count; i++)
        if (self->items[i])
            note(&first, detail, bd_output_kinds[i]->close(&self->items[i], activity));
    if (self->scan_list && activity)
        note(&first, detail, bd_scan_list_add(self->scan_list, activity));
    bd_scan_list_close(&self->scan_list);
    free(self);
    *outputs = NULL;
    return first ? bd_fail(first, "%s", detail) : BD_OK;
}
