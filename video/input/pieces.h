/* Recorder pieces of one camera: films that are read as one, one behind the other. */
#ifndef BD_VIDEO_INPUT_PIECES_H
#define BD_VIDEO_INPUT_PIECES_H

#include "video/input/reader.h"

struct bd_piece {
    const char *name; /* an INPUT of bd_reader_open, the caller's */
    char *fault;      /* why it cannot be read, and is left out; NULL: it can */
    struct bd_rational time_base;
    int64_t first;   /* pts of its first frame */
    double stated;   /* seconds that its container states, as bd_reader_info.stated_duration */
    double seconds;  /* its length, as far as it is known without reading it; 0: it has a fault */
    double interval; /* seconds from a frame to the next; 0 where unknown */
};

struct bd_pieces {
    struct bd_piece *items;
    int count;
    struct bd_reader_info info; /* of all pieces as one film */
};

/* Opens each piece once, to learn how long it is, and closes it again. Any number of readers may
 * then read them (bd_reader_options.pieces); `options` are those of the readers. `names` must stay.
 * A piece that cannot be read is left out (logged). BD_ERROR_FORMAT if two have different sizes,
 * BD_ERROR_ARGUMENT if one is a camera or a pipe; if none can be read, as bd_reader_open for the
 * first one; BD_ERROR_INTERRUPTED, BD_ERROR_MEMORY. */
enum bd_status bd_pieces_open(struct bd_pieces **pieces, const char *const *names, int count,
                              const struct bd_reader_options *options);

/* How a piece is opened by a reader with these options: threads alone decode it. */
struct bd_reader_options bd_piece_options(const struct bd_reader_options *options);

/* `seconds` of a film with so many seconds between its frames (0: unknown), in which times are
 * rounded to `tick`: a whole number of frames, where that was meant. */
double bd_whole_frames(double seconds, double interval, double tick);

/* Frees and nulls. Safe on NULL. */
void bd_pieces_close(struct bd_pieces **pieces);

#endif
