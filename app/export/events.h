/* The events file: who came, when and where.
 *
 * An event is a visit (app/activity/activity.h). Each is one row of CSV or one object of JSON, with
 * the same names, in the order in which they end:
 *
 *   event        number, from 1, in the order in which they are known to be events
 *   start, end   seconds: times of its first and last frame
 *   first_frame, last_frame   numbers of these frames, from 0
 *   peak_time    seconds: when most of the picture moved
 *   peak_fraction   that share of the picture, 0..1
 *   mean_fraction   the same, average over the frames that show one of its objects
 *   x, y, width, height   pixels: box around its largest object at the peak
 *   start_utc, end_utc, peak_utc   the times of a camera as 2026-11-24T09:30:00.250000Z; other
 *                inputs have null, in CSV nothing
 *   objects      most of them at the same time
 *   tracks       numbers of its objects, as in --tracks; in CSV joined by ";"
 *   path         where its first object stood, 256 points at most: in CSV "t x y;...", in JSON
 *                [[t,x,y],...]
 *   crossings    lines that its objects crossed: in CSV "NAME:right;NAME:left", in JSON objects
 *                with line, direction, time, object
 *   zones        zones that they entered: in CSV "NAME:SECONDS;..." with the stay, in JSON objects
 *                with zone, time, stay, object; who has not left has no stay (null, in CSV no
 *                seconds)
 *
 * Seconds are the input's own times: JSON has nanoseconds, CSV has microseconds. A JSON file also
 * has `frames`, and, where --line and --zone are given, the counts `lines` (name, right, left) and
 * `zones` (name, entered, left, stay).
 *
 * On stdout ("-") each happening is a line of JSON at once, with `type` begin, change, end, cross,
 * enter or leave, `time` and `frame`. Those of an event have the names above; path, crossings and
 * zones come with its end. */
#ifndef BD_APP_EXPORT_EVENTS_H
#define BD_APP_EXPORT_EVENTS_H

#include "app/activity/activity.h"

struct bd_events;

/* Opens PATH, which ends in .csv or .json; when the file is whole it replaces what is there. "-" is
 * stdout. `info` is of the input and may be freed. BD_ERROR_ARGUMENT for another ending,
 * BD_ERROR_IO. */
enum bd_status bd_events_open(struct bd_events **events, const char *path,
                              const struct bd_reader_info *info);

/* Takes in what `activity` found in the frame that it has just seen. An event that has ended is in
 * the file at once, those in progress as they were a second before at most (not in a pipe). */
enum bd_status bd_events_add(struct bd_events *events, const struct bd_activity *activity);

/* As bd_writer_keep_old. */
void bd_events_keep_old(struct bd_events *events);

/* Ends the file with what bd_activity_finish has told, and nulls. Nothing is left where there was
 * no frame; `activity` may be NULL then. BD_ERROR_IO if anything could not be written. Safe on
 * NULL. */
enum bd_status bd_events_close(struct bd_events **events, const struct bd_activity *activity);

#endif
