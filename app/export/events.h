/* The events file: when and where something moved.
 *
 * An event begins with the first frame whose mask covers at least 0.05 % of the picture, and ends
 * before a second without one. Each is one row of CSV or one object of JSON, with the same names:
 *
 *   event        number, from 1
 *   start, end   seconds: times of its first and last frame
 *   first_frame, last_frame   numbers of these frames, from 0
 *   peak_time    seconds: when most of the picture moved
 *   peak_fraction   that share of the picture, 0..1
 *   mean_fraction   the same, average over the frames of the event
 *   x, y, width, height   pixels: box around the largest moving thing at the peak
 *   start_utc, end_utc, peak_utc   the times of a camera as 2026-11-24T09:30:00.250000Z; null, or
 * empty in CSV, for other inputs
 *
 * Seconds are the input's own times: JSON has nanoseconds, CSV has microseconds. */
#ifndef BD_APP_EXPORT_EVENTS_H
#define BD_APP_EXPORT_EVENTS_H

#include "app/pipeline/pipeline.h"

struct bd_events;

/* Opens PATH, which ends in .csv or .json; when the file is whole it replaces what is there. `info`
 * is of the input and may be freed. BD_ERROR_ARGUMENT for another ending, BD_ERROR_IO. */
enum bd_status bd_events_open(struct bd_events **events, const char *path,
                              const struct bd_reader_info *info);

/* Adds a frame. An event that has ended is in the file at once, one in progress as it was a second
 * before at most (not in a pipe). */
enum bd_status bd_events_add(struct bd_events *events, const struct bd_result *result);

/* As bd_writer_keep_old. */
void bd_events_keep_old(struct bd_events *events);

/* Ends the event in progress and the file, and nulls. Nothing is left where there was no frame.
 * BD_ERROR_IO if anything could not be written. Safe on NULL. `count` (may be NULL) is the number
 * of events. */
enum bd_status bd_events_close(struct bd_events **events, int *count);

#endif
