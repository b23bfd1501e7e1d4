/* The clean background of a film, in the size of the film, and how it looked from time to time.
 *
 * The separator's background has the processing size. Here each pixel is an average of the pixels
 * of the film itself, while nothing is before it; so it is as sharp as the objects that are put on
 * it. Only pixels that were never free are those of the separator. */
#ifndef BD_APP_SUMMARY_PLATES_H
#define BD_APP_SUMMARY_PLATES_H

#include "app/pipeline/pipeline.h"
#include "app/summary/scratch.h"
#include "video/output/jpeg.h"
#include "video/scale.h"

/* A plate that is put aside. */
struct bd_plate_at {
    double time;          /* seconds */
    int64_t offset, size; /* bytes; size 0: the last one, which is in `colour` */
};

struct bd_plates {
    struct bd_scratch *file; /* not owned */
    struct bd_jpeg *jpeg;    /* not owned */
    struct bd_frame plate;   /* BD_RGBA32; alpha 0: the separator's, else the film's own */
    struct bd_frame colour;  /* BD_RGB24: the same, and workspace */
    struct bd_scaler *scaler;
    double taken, kept;        /* when it last took a frame, and when it was last put aside */
    struct bd_plate_at *items; /* in the order of their times; one a minute, 24 bytes each */
    int count, room;
    /* For bd_plates_show: */
    struct bd_frame shown[2]; /* BD_RGB24 */
    int numbers[2];           /* which plates these are; -1: none */
    uint8_t *packed;
    size_t packed_room;
};

/* For frames of width x height. `file` and `jpeg` must stay. BD_ERROR_MEMORY leaves nothing open.
 */
enum bd_status bd_plates_create(struct bd_plates *plates, int width, int height,
                                struct bd_scratch *file, struct bd_jpeg *jpeg);

/* The next frame, with its background. Once a second it is taken into the plate; once a minute the
 * plate is put aside. BD_ERROR_IO on a full disk. */
enum bd_status bd_plates_add(struct bd_plates *plates, const struct bd_result *result);

/* No frame comes any more: the last plate is one to be shown too. BD_ERROR_MEMORY. */
enum bd_status bd_plates_finish(struct bd_plates *plates);

/* Fills `frame`, BD_RGB24 of the frames' size, with the plate of a time, between the two that were
 * put aside before and after it. At least one was. */
enum bd_status bd_plates_show(struct bd_plates *plates, struct bd_frame *frame, double time);

void bd_plates_destroy(struct bd_plates *plates);

#endif
