/* The files `backdrop export` writes. */
#ifndef BD_APP_EXPORT_OUTPUTS_H
#define BD_APP_EXPORT_OUTPUTS_H

#include "app/pipeline/pipeline.h"

struct bd_activity;
struct bd_clip_plan;
struct bd_inputs;
struct bd_outputs;

/* The number of outputs given. */
int bd_outputs_count(const struct bd_options *options);

/* BD_WANT_ bits that the given outputs need, with clips that are made as planned. */
unsigned bd_outputs_wants(const struct bd_options *options, const struct bd_clip_plan *clips);

/* The outputs of all exports of these inputs. Fails if a codec does not exist or has no output, if
 * an output is something that is read (an input, one of its pictures, the region), if two outputs
 * are the same file, or if one exists and may not be replaced (asks on a terminal). Before anything
 * is opened. */
enum bd_status bd_all_outputs_check(const struct bd_options *options,
                                    const struct bd_inputs *inputs);

/* Opens all given outputs; on failure nothing stays open. The plan of the clips must stay. */
enum bd_status bd_outputs_open(struct bd_outputs **outputs, const struct bd_options *options,
                               const struct bd_pipeline *pipeline, struct bd_clip_plan *clips);

/* Writes a separated frame: to the outputs that need objects, if `activity` has seen them, or, if
 * that is NULL, to all others. These two may run beside each other. */
enum bd_status bd_outputs_write(struct bd_outputs *outputs, const struct bd_result *result,
                                const struct bd_activity *activity);

/* What was written is not all that was asked for: files that were there before stay, and what was
 * written keeps the name NAME.part. */
void bd_outputs_keep_old(struct bd_outputs *outputs);

/* Finalises all files and nulls; returns the first failure. Safe on NULL. */
enum bd_status bd_outputs_close(struct bd_outputs **outputs, const struct bd_activity *activity);

#endif
