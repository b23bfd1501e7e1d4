/* Several separators on one backend, as for several cameras, each with a frame in turn. Their masks
 * are compared with those of separators that were alone. */
#include <string.h>

#include "app/bench/platform.h"
#include "app/bench/separate.h"
#include "base/clock.h"

/* On the CPU frames come one after the other: fewer streams show as much. */
enum { most_streams = 16, cpu_streams = 4 };

/* Stream i shows the scene from frame `apart` i on. */
enum { apart = 7 };

static const struct bd_bench_film films[] = {
    { 640, 480, 1, 50, BD_SEPARATOR_MASK, .gpu = true, .quick = false },
    { 640, 480, 1, 50, 0, .gpu = true, .quick = false },
    { 640, 480, 1, 50, BD_SEPARATOR_MASK, .gpu = false, .quick = false },
    { 320, 240, 1, 50, BD_SEPARATOR_MASK, .gpu = true, .quick = true },
    { 320, 240, 1, 50, BD_SEPARATOR_MASK, .gpu = false, .quick = true },
};

struct several_case {
    struct bd_bench *bench;
    const struct bd_bench_film *film;
    struct bd_separator *separators[most_streams];
    int first, streams; /* separators[i] has stream first + i */
    int block;          /* frames of a stream in a run: a whole number of slides */
    uint8_t *pictures;  /* of a block */
    int64_t pushed;     /* frames of each stream */
    /* NULL, or the masks of all streams in the first block, a bit a pixel; `known`: they are not to
     * be filled in, but compared with. */
    uint8_t *bits;
    bool known;
    int received[most_streams];
    int64_t different; /* pixels */
    double submitting; /* seconds within bd_separator_submit_all, of all blocks so far */
};

static size_t pixels_of(const struct several_case *c)
{
    return (size_t)c->film->width * (size_t)c->film->height;
}

/* The next block's frames, which are not those of any block before. */
static enum bd_status render_block(void *user)
{
    struct several_case *c = user;
    const struct bd_bench_scene scene = { .width = c->film->width,
                                          .height = c->film->height,
                                          .channels = c->film->channels,
                                          .first = (int)c->pushed,
                                          .count = c->block + (c->first + c->streams - 1) * apart };
    return bd_bench_render(c->bench, &c->pictures, &scene);
}

static const uint8_t *picture_at(const struct several_case *c, int i, int frame)
{
    const int at = frame + apart * (c->first + i);
    return c->pictures + (size_t)at * pixels_of(c) * (size_t)c->film->channels;
}

static int64_t stride_of(const struct several_case *c)
{
    return (int64_t)c->film->width * c->film->channels;
}

/* Separators that have seen the window's frames of their streams. */
static enum bd_status start(struct several_case *c)
{
    enum bd_status status = BD_OK;
    for (int i = 0; i < c->streams && !status; i++) {
        status = bd_bench_separator(&c->separators[i], c->bench->backend, c->film);
        for (int j = 0; j < c->film->window && !status; j++)
            status = bd_separator_look_ahead(
                c->separators[i], picture_at(c, i, j * c->block / c->film->window), stride_of(c));
        BD_TRY(bd_separator_initialise(c->separators[i]));
    }
    return status;
}

static void stop(struct several_case *c)
{
    for (int i = 0; i < c->streams; i++)
        bd_separator_destroy(&c->separators[i]);
}

static void take_mask(struct several_case *c, int i, const uint8_t *mask)
{
    const size_t pixels = pixels_of(c);
    const size_t at = (size_t)(c->first + i) * (size_t)c->block + (size_t)c->received[i]++;
    uint8_t *bits = c->bits + at * ((pixels + 7) / 8);
    for (size_t p = 0; p < pixels; p++)
        if (c->known)
            c->different += (mask[p] != 0) != (bits[p / 8] >> p % 8 & 1);
        else
            bits[p / 8] |= (uint8_t)((mask[p] != 0) << p % 8);
}

static enum bd_status receive(struct several_case *c, int most)
{
    enum bd_status status = BD_OK;
    for (int i = 0; i < c->streams && !status; i++)
        while (!status && bd_separator_in_flight(c->separators[i]) > most) {
            struct bd_separation out;
            status = bd_separator_receive(c->separators[i], &out);
            if (!status && c->bits)
                take_mask(c, i, out.mask);
        }
    return status;
}

/* A block with as many frames in flight as may be: by a call for all streams, or by one for each.
 */
static enum bd_status run_block(struct several_case *c, bool together)
{
    const uint8_t *pictures[most_streams] = { NULL };
    int64_t strides[most_streams] = { 0 };
    double times[most_streams] = { 0 };
    enum bd_status status = BD_OK;
    for (int frame = 0; frame < c->block && !status; frame++, c->pushed++) {
        for (int i = 0; i < c->streams; i++) {
            pictures[i] = picture_at(c, i, frame);
            strides[i] = stride_of(c);
            times[i] = (double)c->pushed / bd_bench_fps;
        }
        status = receive(c, bd_separator_depth(c->separators[0]) - 1);
        const double begin = bd_clock_seconds();
        if (together)
            BD_TRY(bd_separator_submit_all(c->separators, c->streams, pictures, strides, times));
        for (int i = 0; i < c->streams && !together && !status; i++)
            status = bd_separator_submit(c->separators[i], pictures[i], strides[i], times[i]);
        c->submitting += together ? bd_clock_seconds() - begin : 0;
    }
    return status;
}

static enum bd_status run_together(void *user)
{
    return run_block(user, true);
}

static enum bd_status run_each(void *user)
{
    return run_block(user, false);
}

/* c->bits: the masks of the first block, whose frames are there, of one stream after the other. */
static enum bd_status run_alone(const struct several_case *all)
{
    enum bd_status status = BD_OK;
    for (int i = 0; i < all->streams && !status; i++) {
        struct several_case c = *all;
        c.first = i;
        c.streams = 1;
        status = start(&c);
        BD_TRY(run_block(&c, false));
        BD_TRY(receive(&c, 0));
        stop(&c);
    }
    return status;
}

/* All streams' first block together, and how many pixels are not as in the bits. */
static enum bd_status compare(struct several_case *c)
{
    c->known = true;
    enum bd_status status = start(c);
    BD_TRY(run_block(c, true));
    BD_TRY(receive(c, 0));
    c->bits = NULL;
    c->submitting = 0;
    return status;
}

static enum bd_status time_film(struct bd_bench *bench, const struct bd_bench_film *film)
{
    struct several_case alone, c = { .bench = bench,
                                     .film = film,
                                     .streams = bench->gpu ? most_streams : cpu_streams,
                                     .block = bd_bench_slides(film) };
    const int64_t masks = (int64_t)c.streams * c.block;
    const int repeats = bench->gpu && !bench->options->quick ? 5 : 3;
    enum bd_status status = render_block(&c);
    c.bits = bd_bench_memory(bench, masks, (pixels_of(&c) + 7) / 8);
    BD_TRY(c.bits ? BD_OK : bd_bench_out_of_memory());
    BD_TRY(run_alone(&c));
    BD_TRY(compare(&c));
    alone = c;
    alone.streams = 1;
    memset(alone.separators, 0, sizeof alone.separators);
    alone.pushed = 0;
    BD_TRY(render_block(&alone));
    BD_TRY(start(&alone));
    struct bd_bench_task tasks[] = { { render_block, run_together, &c, 0 },
                                     { render_block, run_each, &c, 0 },
                                     { render_block, run_each, &alone, 0 } };
    BD_TRY(bd_bench_cpu.time(bench, tasks, 3, repeats));
    if (!status) {
        char what[BD_BENCH_NAME];
        snprintf(what, sizeof what, "%d streams", c.streams);
        struct bd_bench_row row = bd_bench_separate_row(bench, film, what);
        snprintf(row.peer, sizeof row.peer, "a stream alone");
        row.ms = tasks[0].ms / (double)masks;
        row.peer_ms = tasks[2].ms / c.block;
        row.residual = (double)c.different / ((double)masks * (double)pixels_of(&c));
        bd_bench_extra(&row, "one_by_one_ms", tasks[1].ms / (double)masks);
        bd_bench_extra(&row, "submitting_ms", c.submitting * 1e3 / (double)(masks * (repeats + 1)));
        status = bd_bench_add(bench, &row);
    }
    stop(&alone);
    stop(&c);
    bd_bench_release(bench, NULL);
    return status;
}

enum bd_status bd_bench_several(struct bd_bench *bench)
{
    enum bd_status status = BD_OK;
    for (size_t i = 0; i < sizeof films / sizeof *films && !status; i++)
        if (films[i].gpu == (bench->gpu != NULL) && films[i].quick == bench->options->quick)
            status = time_film(bench, &films[i]);
    return status;
}
