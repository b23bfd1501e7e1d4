/* What the parts of the tracker work on: tracks, and the pieces of the present mask. */
#ifndef BD_OBJECTS_STATE_H
#define BD_OBJECTS_STATE_H

#include <backdrop/components.h>
#include <backdrop/tracker.h>

#include "base/assignment.h"
#include "objects/kalman.h"
#include "objects/past.h"
#include "objects/pieces.h"
#include "objects/shape.h"

enum { bd_most_tracks = bd_most_pieces, bd_most_meetings = 64 };

/* Something that is followed. It is an object when it has a number; until then it is a candidate.
 */
struct bd_track {
    int64_t serial;          /* its place among all tracks ever, from 1 */
    struct bd_object object; /* as it is reported */
    struct bd_kalman kalman;
    struct bd_kalman expected;     /* `kalman` before it has seen this frame */
    struct bd_kalman since_parted; /* knows what was seen since it last parted from another */
    struct bd_extent predicted;    /* where the filter expected it in this frame */
    struct bd_extent box;          /* around its pieces in this frame, or where it should be */
    struct bd_extent last;         /* `box` of the frame before */
    int64_t area;                  /* pixels of its pieces, when it was seen last */
    double needs;                  /* seconds until it is an object */
    int64_t origin;                /* serial of the track that it came out of; 0: none */
    double part_left; /* a part of it proved to be none in this frame, and was apart since then;
                         INFINITY: none did */
    double joined;    /* when it came into its last group, and */
    double parted;    /* when it was alone again; INFINITY: it is in a group, or was in none */
    double seen_for, missed; /* seconds, of all frames so far */
    int frames;              /* in which it was seen, 3 or more of an object */
    double unseen;           /* seconds since it was seen; 0: it was seen in the last frame */
    double needless;         /* seconds for which the others explained its group without it */
    double certainty;        /* 0..1: that its number has not been mistaken */
    int piece;               /* the one that it is in; -1: not seen. Others may be in it too. */
    int pieces;              /* how many it holds */
    bool own;                /* it has shown that it is more than a fragment of its origin */
    struct bd_shape shape;   /* from the time when it was alone */
    double exchanged;        /* its number was another's since then, as this frame has shown;
                                INFINITY: it was not */
    bool subject;            /* backwards: its boxes are to be told */
    bool gone;               /* to be forgotten */
};

/* Two objects that are or were in one piece. */
struct bd_meeting {
    int64_t a, b;                        /* serials of their tracks */
    double met, parted;                  /* times; INFINITY: they are in one piece */
    struct bd_kalman before_a, before_b; /* as they were expected when they met */
};

/* Seconds after objects have parted: their speeds are known then. */
#define bd_parting_delay .2

struct bd_history;

struct bd_tracker {
    struct bd_tracker_options options;
    struct bd_components components;
    bool started;
    double time, step; /* of the present frame; seconds since the one before */
    int64_t next;      /* number of the next object */
    int64_t serial;    /* of the last track that began */
    int64_t frame;     /* number of the present frame */
    int count;         /* of tracks */
    struct bd_track tracks[bd_most_tracks];
    int piece_count;
    struct bd_piece pieces[bd_most_pieces];
    int holder[bd_most_pieces];  /* the track whose box a piece is a part of; -1: none */
    int members[bd_most_pieces]; /* tracks that are in a piece */
    int meeting_count;
    struct bd_meeting meetings[bd_most_meetings];
    int reported_count;
    struct bd_object reported[bd_most_tracks];
    struct bd_past_rows past;
    struct bd_history *history;  /* NULL: keeps none, as it runs backwards itself */
    struct bd_tracker *backward; /* runs backwards over it; the same */
    /* Scratch of match.c. */
    struct bd_assignment assignment;
    double costs[bd_most_tracks * bd_most_pieces];
    short forest[bd_most_tracks + bd_most_pieces];
};

/* NULL: there is none of that serial number. */
static inline struct bd_track *bd_track_find(struct bd_tracker *tracker, int64_t serial)
{
    for (int t = 0; t < tracker->count; t++)
        if (tracker->tracks[t].serial == serial)
            return &tracker->tracks[t];
    return NULL;
}

/* Gives a free piece to a track that is in it, or of which it is a fragment. */
static inline void bd_track_hold(struct bd_tracker *tracker, int t, int piece)
{
    struct bd_track *track = &tracker->tracks[t];
    const struct bd_piece *held = &tracker->pieces[piece];
    tracker->holder[piece] = t;
    if (track->piece < 0) {
        track->piece = piece;
        tracker->members[piece]++;
    }
    track->box = track->pieces ? bd_extent_union(&track->box, &held->box) : held->box;
    track->area = track->pieces ? track->area + held->area : held->area;
    track->pieces++;
}

#endif
