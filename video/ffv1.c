#include "video/ffv1.h"

#include <libavutil/crc.h>
#include <libavutil/intreadwrite.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "video/ffv1_header.h"

/* Adaptive state of a context (RFC 9043, 3.8.2). */
struct context {
    int drift, error_sum, bias, count;
};

enum { contexts = 14, longest_escape = 12, sample_bits = 8 };

/* Most bytes a pixel takes: a code of 21 bits and the end of a run, of 25. */
enum { most_bytes = 6, trailer = 8, spare = 16 };

/* Rows have room for what is read beside them, eight at a time. */
enum { before = 16, behind = 16 };

struct bits {
    uint8_t *to;
    uint64_t last; /* the lower `count` bits wait */
    int count;     /* < 32 */
};

struct bd_ffv1 {
    int width, height;
    uint8_t record[bd_ffv1_header_most], header[bd_ffv1_header_most];
    size_t record_size, header_size;
    uint8_t *output;
    uint8_t *rows[2]; /* this one and the one above, `before` bytes into their memory */
    struct context contexts[contexts];
    int run_index; /* in log2_run: grows with runs that are long */
    struct bits bits;
};

/* Bits of a run's length by run_index (3.8.2.2.1). */
static const uint8_t log2_run[41] = { 0,  0,  0,  0,  1,  1,  1,  1,  2,  2,  2,  2,  3,  3,
                                      3,  3,  4,  4,  5,  5,  6,  6,  7,  7,  8,  9,  10, 11,
                                      12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24 };

enum bd_status bd_ffv1_create(struct bd_ffv1 **ffv1, int width, int height,
                              struct bd_rational aspect)
{
    struct bd_ffv1 *self = *ffv1 = calloc(1, sizeof *self);
    if (!self)
        return bd_fail(BD_ERROR_MEMORY, "no memory for encoding masks");
    self->width = width;
    self->height = height;
    self->record_size = bd_ffv1_write_record(self->record);
    self->header_size = bd_ffv1_write_header(self->header, aspect);
    /* What is never written to is never taken from the system. */
    self->output =
        malloc((size_t)width * (size_t)height * most_bytes + bd_ffv1_header_most + trailer + spare);
    bool enough = self->output != NULL;
    for (int i = 0; i < 2; i++) {
        uint8_t *row = calloc((size_t)width + before + behind, 1);
        self->rows[i] = row ? row + before : NULL;
        enough = enough && row;
    }
    if (enough)
        return BD_OK;
    bd_ffv1_destroy(ffv1);
    return bd_fail(BD_ERROR_MEMORY, "no memory for encoding masks of %d x %d", width, height);
}

void bd_ffv1_destroy(struct bd_ffv1 **ffv1)
{
    struct bd_ffv1 *self = *ffv1;
    if (!self)
        return;
    for (int i = 0; i < 2; i++)
        if (self->rows[i])
            free(self->rows[i] - before);
    free(self->output);
    free(self);
    *ffv1 = NULL;
}

const uint8_t *bd_ffv1_record(const struct bd_ffv1 *ffv1, size_t *size)
{
    *size = ffv1->record_size;
    return ffv1->record;
}

/* The lower `count` <= 32 bits of `value`; those above are 0. */
static void put(struct bits *b, int count, unsigned value)
{
    b->last = b->last << count | value;
    b->count += count;
    if (b->count >= 32) {
        b->count -= 32;
        AV_WB32(b->to, (uint32_t)(b->last >> b->count));
        b->to += 4;
    }
}

static void flush(struct bits *b)
{
    int bytes = (b->count + 7) / 8;
    AV_WB32(b->to, (uint32_t)(b->last << (32 - b->count)));
    b->to += bytes;
    b->count = 0;
}

/* Brings a state up to date with the `error` that was coded (3.8.2.4). */
static void adapt(struct context *s, int error)
{
    s->error_sum += abs(error);
    s->drift += error;
    if (s->count == 128) {
        s->count >>= 1;
        s->drift >>= 1;
        s->error_sum >>= 1;
    }
    s->count++;
    if (s->drift <= -s->count) {
        s->bias = s->bias > -128 ? s->bias - 1 : -128;
        s->drift += s->count;
        s->drift = s->drift > 1 - s->count ? s->drift : 1 - s->count;
    } else if (s->drift > 0) {
        s->bias = s->bias < 127 ? s->bias + 1 : 127;
        s->drift -= s->count;
        s->drift = s->drift < 0 ? s->drift : 0;
    }
}

/* A difference of bytes as a signed byte. */
static int wrap(int difference)
{
    return ((difference + 128) & 255) - 128;
}

/* A difference, Golomb-Rice coded with the parameter that the state suggests (3.8.2.1, 3.8.2.3). */
static void put_difference(struct bits *b, struct context *s, int difference)
{
    int error = wrap(difference - s->bias);
    int k = 0;
    for (int count = s->count; count < s->error_sum; count += count)
        k++;
    int code = 2 * s->drift + s->count < 0 ? -1 - error : error;
    unsigned folded = code >= 0 ? 2 * (unsigned)code : 2 * (unsigned)-code - 1;
    unsigned prefix = folded >> k;
    if (prefix < longest_escape)
        put(b, (int)prefix + k + 1, 1U << k | (folded & ((1U << k) - 1)));
    else
        put(b, longest_escape + sample_bits, folded - longest_escape + 1);
    adapt(s, error);
}

/* The parts of a run that are as long as the run index says: a 1 each. Returns what is left. */
static int put_full_runs(struct bd_ffv1 *e, int run)
{
    while (run >= 1 << log2_run[e->run_index]) {
        run -= 1 << log2_run[e->run_index];
        e->run_index++;
        put(&e->bits, 1, 1);
    }
    return run;
}

/* A run that a difference ends. */
static void end_run(struct bd_ffv1 *e, int run)
{
    run = put_full_runs(e, run);
    put(&e->bits, 1 + log2_run[e->run_index], (unsigned)run);
    if (e->run_index)
        e->run_index--;
}

/* The first place from x on where `row` or the row above changes from its left neighbour; `width`
 * if there is none. */
static int next_change(const uint8_t *row, const uint8_t *above, int x, int width)
{
    for (; x < width; x += 8) {
        uint64_t change = (AV_RN64(row + x) ^ AV_RN64(row + x - 1)) |
                          (AV_RN64(above + x) ^ AV_RN64(above + x - 1));
        if (!change)
            continue;
        while (row[x] == row[x - 1] && above[x] == above[x - 1])
            x++;
        break;
    }
    return x < width ? x : width;
}

static int sign(int difference)
{
    int wrapped = wrap(difference);
    return (wrapped > 0) - (wrapped < 0);
}

static int median(int a, int b, int c)
{
    int low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

/* 3.8.2.2: while a run lasts, no pixel differs from its prediction, and where neither row changes
 * none does: prediction is the median of left, above, and left + above - upper left. */
static void put_row(struct bd_ffv1 *e, const uint8_t *row, const uint8_t *above)
{
    bool running = false;
    int run = 0;
    for (int x = 0; x < e->width; x++) {
        if (running) {
            int change = next_change(row, above, x, e->width);
            run += change - x;
            x = change;
            if (x == e->width)
                break;
        }
        int left = row[x - 1], top = above[x], corner = above[x - 1];
        int context = sign(left - corner) + 3 * sign(corner - top) + 9 * sign(top - above[x + 1]);
        int difference = row[x] - median(left, top, left + top - corner);
        if (context < 0)
            difference = -difference;
        difference = wrap(difference);
        running = running || context == 0;
        if (running && difference == 0) {
            run++;
            continue;
        }
        if (running) {
            end_run(e, run);
            run = 0;
            running = false;
            difference -= difference > 0; /* it is not 0 */
        }
        put_difference(&e->bits, &e->contexts[abs(context)], difference);
    }
    if (running && put_full_runs(e, run))
        put(&e->bits, 1, 1);
}

/* All rows. What is beside them (3.1): 0 above the first; on the left the first pixel of the row
 * above; on the right the last pixel again. */
static void put_rows(struct bd_ffv1 *e, const struct bd_frame *frame)
{
    uint8_t *row = e->rows[0], *above = e->rows[1];
    memset(above - 1, 0, (size_t)e->width + 1);
    for (int y = 0; y < e->height; y++) {
        memcpy(row, frame->data + (int64_t)y * frame->stride, (size_t)e->width);
        row[-1] = above[0];
        above[e->width] = above[e->width - 1];
        put_row(e, row, above);
        uint8_t *done = row;
        row = above;
        above = done;
    }
}

const uint8_t *bd_ffv1_encode(struct bd_ffv1 *e, const struct bd_frame *frame, size_t *size)
{
    for (int i = 0; i < contexts; i++)
        e->contexts[i] = (struct context){ .error_sum = 4, .count = 1 };
    e->run_index = 0;
    memcpy(e->output, e->header, e->header_size);
    e->bits = (struct bits){ .to = e->output + e->header_size };
    put_rows(e, frame);
    flush(&e->bits);
    /* The footer of the slice (4.8): its size, no error, and what makes the checksum 0. */
    uint8_t *end = e->bits.to;
    unsigned bytes = (unsigned)(end - e->output);
    AV_WB24(end, bytes);
    end[3] = 0;
    AV_WL32(end + 4, av_crc(av_crc_get_table(AV_CRC_32_IEEE), 0, e->output, bytes + 4));
    *size = bytes + trailer;
    return e->output;
}
