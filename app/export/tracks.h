/* The tracks file: where each object is in each frame.
 *
 * A row of CSV is an object in a frame. JSON lines have the same names, and before them the key
 * "type": "begin" the first time that an object is there, "update" in later frames, "end" when it
 * has gone, with the columns of the frame in which it was seen last. The names of TRex are used
 * where the meaning is the same, but lengths are pixels, not centimetres:
 *
 *   frame        number of the frame in the input, from 0
 *   time         seconds: the input's own time of it
 *   id           number of the object, from 1, never used again
 *   missing      1 where the object is hidden, so that its box is where it should be; else 0
 *   X, Y         pixels: middle of the box. TRex's X#wcentroid is another point: the middle of the
 *                object's pixels.
 *   VX, VY       pixels a second: how the box moves
 *   SPEED        pixels a second: the length of (VX, VY)
 *   num_pixels   pixels of the mask that the object covers; of a group, its share
 *   left, top    pixels from the upper left corner of the picture to that of the box
 *   width, height   pixels: size of the box
 *   confidence   0..1: how sure it is that this is the object of that number
 *   since        seconds: time of the frame in which it was a component of its own first
 *   parent       id of the object that it came out of; 0: none
 *   group        objects that touch one another have the same number, from 1; 0: alone
 *
 * An object is confirmed some frames after it came. Files have it from its first frame on, and the
 * boxes that later frames have corrected (bd_tracker_past): they are sorted by frames, and
 * bd_past_frames behind. On stdout it begins when it is confirmed, with the lines of its earlier
 * frames at once; what was printed stays.
 *
 * The MOT Challenge form (.txt) has no header: frame, id, left, top, width, height, conf, -1, -1,
 * -1. As the challenge has it, frames, left and top count from 1. It has no hidden objects. */
#ifndef BD_APP_EXPORT_TRACKS_H
#define BD_APP_EXPORT_TRACKS_H

#include "app/pipeline/pipeline.h"

struct bd_tracks;

/* Opens PATH, which ends in .txt, .csv or .json, or is "-": JSON lines on stdout. When a file is
 * whole it replaces what is there. `info` is of the input and may be freed. BD_ERROR_ARGUMENT for
 * another ending, BD_ERROR_IO. */
enum bd_status bd_tracks_open(struct bd_tracks **tracks, const char *path,
                              const struct bd_reader_info *info);

/* Adds the objects of a frame; stdout has them when it returns. BD_ERROR_IO, also for a pipe
 * that nobody reads any more, BD_ERROR_MEMORY. */
enum bd_status bd_tracks_add(struct bd_tracks *tracks, const struct bd_result *result);

/* As bd_writer_keep_old. */
void bd_tracks_keep_old(struct bd_tracks *tracks);

/* Ends all objects and the file, and nulls. Nothing is left where there was no frame. BD_ERROR_IO
 * if anything could not be written. Safe on NULL. */
enum bd_status bd_tracks_close(struct bd_tracks **tracks);

#endif
