/* One mask more: what its pieces make of the tracks. */
#ifndef BD_OBJECTS_STEP_H
#define BD_OBJECTS_STEP_H

struct bd_extent;
struct bd_track;
struct bd_tracker;

/* The tracker's components are those of a mask at `time`, in seconds, which does not go back. */
void bd_tracker_step(struct bd_tracker *tracker, double time);

/* The box of a track's object becomes `box`, as far as it is in the picture. */
void bd_track_place(const struct bd_tracker *tracker, struct bd_track *track,
                    const struct bd_extent *box);

#endif
