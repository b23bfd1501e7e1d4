/* What the options leave to the pipeline: the settings of the separator, and numbers of threads. */
#ifndef BD_APP_PIPELINE_SETTINGS_H
#define BD_APP_PIPELINE_SETTINGS_H

#include "app/pipeline/pipeline.h"

/* The settings of the separator, defaults filled in, for an input. `wants`: bits of enum bd_want.
 * BD_ERROR_ARGUMENT for a --scale that is larger than the input. */
enum bd_status bd_choose_settings(struct bd_separator_options *settings,
                                  const struct bd_options *options,
                                  const struct bd_reader_info *info, unsigned wants);

/* How the input is read; without a device, and `interrupted`. */
struct bd_reader_options bd_choose_reading(const struct bd_options *options, unsigned wants);

/* Processors that may be used. */
int bd_cores_of(const struct bd_options *options);

/* Threads of the backend: where cores are many, fewer than those, since the other threads of the
 * program need some and who waits for a frame waits for the last of them. 0: one a core. */
int bd_separating_threads(const struct bd_options *options);

/* Threads for pictures, at most four: all cores where a window waits for them; else a quarter,
 * since other threads have work at the same time. */
int bd_picture_threads(const struct bd_options *options, bool window);

/* Threads that move a frame of a shaking camera, and as many that move its results back. */
int bd_moving_threads(const struct bd_options *options);

#endif
