#include "app/export/clips/plan.h"

struct bd_reader_options bd_clip_reader(const struct bd_options *options)
{
    return (struct bd_reader_options){ .input_format = options->input_format,
                                       .input_options = options->input_options,
                                       .input_option_count = options->input_option_count,
                                       .format = BD_RGB24,
                                       .tone_curve = true,
                                       .faults = BD_LOG_DEBUG, /* the main reader tells them */
                                       .threads = 1 };         /* beside the separation */
}

static enum bd_status open_cutter(struct bd_clip_plan *plan, const struct bd_options *options)
{
    struct bd_reader_options reader = bd_clip_reader(options);
    enum bd_status status = bd_cutter_open(&plan->cutter, options->arguments[0], &reader);
    if (status)
        return status;
    plan->copies = true;
    snprintf(plan->extension, sizeof plan->extension, "%s", bd_cutter_extension(plan->cutter));
    return BD_OK;
}

static enum bd_status choose(struct bd_clip_plan *plan, const struct bd_options *options)
{
    bool joined = options->piece_count > 1;
    if (options->clip_mode == BD_CLIPS_ENCODE ||
        (options->clip_mode != BD_CLIPS_COPY && (options->boxes || joined)))
        return BD_OK;
    if (joined)
        return bd_fail(BD_ERROR_UNSUPPORTED,
                       "%s: pieces that are joined are not copied; give --clip-mode encode",
                       options->clips);
    enum bd_status status = open_cutter(plan, options);
    if (status != BD_ERROR_UNSUPPORTED)
        return status;
    if (options->clip_mode == BD_CLIPS_COPY)
        return bd_fail(status, "%s: cannot be copied: %s; give --clip-mode encode", options->clips,
                       bd_error_detail());
    snprintf(plan->reason, sizeof plan->reason, "%s", bd_error_detail());
    return BD_OK;
}

void bd_clip_plan_make(struct bd_clip_plan *plan, const struct bd_options *options)
{
    *plan = (struct bd_clip_plan){ .extension = "mp4" };
    if (options->clips)
        plan->status = choose(plan, options);
    if (plan->status)
        snprintf(plan->reason, sizeof plan->reason, "%s", bd_error_detail());
}

void bd_clip_plan_release(struct bd_clip_plan *plan)
{
    bd_cutter_close(&plan->cutter);
}
