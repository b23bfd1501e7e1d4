/* Tubes: the pictures of each object, cut out of the frames that showed it (Rav-Acha, Pritch and
 * Peleg 2006, "Making a long video short", call an object's pixels over time so).
 *
 * They wait in a temporary file. Memory holds some 150 bytes a tube, and no picture. Those that are
 * too short to be shown are forgotten, so that noise does not fill the memory. */
#ifndef BD_APP_SUMMARY_TUBES_H
#define BD_APP_SUMMARY_TUBES_H

#include <stdbool.h>

#include "app/activity/activity.h"
#include "app/summary/scratch.h"
#include "video/frame.h"
#include "video/output/jpeg.h"

/* An object, cut out of a frame. */
struct bd_patch {
    double time;             /* seconds, of the frame */
    struct bd_box box;       /* of the object */
    int x, y;                /* where in the frame the picture was; its size is that of `picture` */
    int64_t area;            /* pixels of the object */
    struct bd_frame picture; /* BD_RGB24: the object and what was around it */
    uint8_t *mask;           /* 255 where the object is, else 0; height x width of the picture */
};

/* Objects that were together are shown together; those with which one was most. */
enum { bd_tube_partners = 4 };

struct bd_tube {
    int64_t id;         /* of the object */
    double first, last; /* seconds: when it was seen */
    int64_t begin, end; /* its first and last patch in the file; -1: none */
    int64_t patches;
    struct {
        int64_t id; /* 0: none */
        int frames; /* in which they were together */
    } partners[bd_tube_partners];
};

struct bd_tubes {
    struct bd_scratch *file; /* not owned */
    struct bd_jpeg *jpeg;    /* not owned */
    double least;            /* seconds: shorter tubes may be forgotten once they have ended */
    struct bd_tube *items;   /* by number of the object */
    int count, room;
    int forgotten;  /* how many were */
    uint8_t *bytes; /* a mask or a picture, packed */
    size_t bytes_room;
};

/* The numbers of a patch; the rest stays in the file. */
struct bd_patch_head {
    int64_t next; /* patch of the tube; -1: the last one */
    double time;
    struct bd_box box;
    int32_t x, y, width, height;
    int64_t area;
    int64_t mask_size, picture_size; /* bytes, packed; they follow in this order */
};

/* The tube of an object; NULL: there is none yet. */
struct bd_tube *bd_tubes_find(const struct bd_tubes *tubes, int64_t id);

/* The tube of an object that was seen at `time`, new where there was none. Other tubes may move.
 * BD_ERROR_MEMORY. */
enum bd_status bd_tubes_see(struct bd_tubes *tubes, struct bd_tube **tube, int64_t id, double time);

/* Two objects were together in a frame. */
void bd_tube_meets(struct bd_tube *tube, int64_t id);

/* Appends a patch to a tube, in the order of times. BD_ERROR_IO on a full disk, BD_ERROR_MEMORY. */
enum bd_status bd_tubes_add(struct bd_tubes *tubes, struct bd_tube *tube,
                            const struct bd_patch *patch);

/* The numbers of the patch at `offset`. */
enum bd_status bd_tubes_head(const struct bd_tubes *tubes, struct bd_patch_head *head,
                             int64_t offset);

/* Reads the patch of which `head` was read from `offset`. `patch` is all zero or from an earlier
 * call; bd_patch_release frees it. */
enum bd_status bd_tubes_load(struct bd_tubes *tubes, struct bd_patch *patch,
                             const struct bd_patch_head *head, int64_t offset);

void bd_patch_release(struct bd_patch *patch);

/* Frees what it owns. */
void bd_tubes_release(struct bd_tubes *tubes);

#endif
