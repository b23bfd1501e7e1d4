/* Flashes: a frame in cells, and the components that are taken out of a mask. */
#include "separation/cpu/flash.h"

#include <stdlib.h>
#include <string.h>

#include "linalg/shared/cpu.h"
#include "separation/cpu/mask_work.h"

/* Pixels of a component (bd_flash_takes). */
struct sums {
    int32_t in_places, balance;
};

struct bd_flash {
    struct bd_pool *pool;
    const struct bd_exact_kernels *kernels;
    struct bd_separation_shape shape;
    int power, across, down; /* of cells */
    size_t row;              /* bytes of a frame's row */
    size_t line;             /* pixels of a row of whole cells */
    bool known;              /* `earlier` is of the frame before */
    bool searched;           /* the last frame had a search */
    bool any;                /* there are places */
    uint8_t *earlier;        /* the rows that are looked at */
    uint8_t *lines;          /* threads x line: what has changed in a row */
    uint16_t *changed;       /* threads x across: pixels that have changed in a row of cells */
    uint8_t *sights;         /* down + 2 rows of across + 2: enum bd_flash_sight, 0 at borders */
    struct bd_flash_cell *cells; /* across x down */
    uint8_t *own, *places;       /* the same: the cells' own flags, and the map of places */
    struct sums *sums;           /* one a run of a mask */
};

enum bd_status bd_flash_create(struct bd_flash **out, struct bd_pool *pool,
                               const struct bd_separation_shape *shape)
{
    struct bd_flash *flash = *out = calloc(1, sizeof *flash);
    const int width = shape->width, height = shape->height;
    if (flash) {
        const int power = flash->power = bd_recurrence_cell_power(height);
        flash->pool = pool;
        flash->kernels = bd_separation_kernels()->exact;
        flash->shape = *shape;
        flash->across = (width + (1 << power) - 1) >> power;
        flash->down = (height + (1 << power) - 1) >> power;
        flash->row = (size_t)width * (size_t)shape->channels;
        flash->line = (size_t)flash->across << power;
        const size_t cells = (size_t)flash->across * (size_t)flash->down;
        flash->earlier = bd_cpu_alloc((size_t)flash->down * bd_flash_rows * flash->row);
        flash->lines = calloc((size_t)bd_pool_threads(pool), flash->line);
        flash->changed =
            calloc((size_t)bd_pool_threads(pool) * (size_t)flash->across, sizeof *flash->changed);
        flash->sights = calloc((size_t)(flash->across + 2) * (size_t)(flash->down + 2), 1);
        flash->cells = calloc(cells, sizeof *flash->cells);
        flash->own = calloc(cells, 1);
        flash->places = calloc(cells, 1);
        flash->sums = malloc(bd_components_most(width, height) * sizeof *flash->sums);
    }
    if (!flash || !flash->earlier || !flash->lines || !flash->changed || !flash->sights ||
        !flash->cells || !flash->own || !flash->places || !flash->sums)
        return bd_fail(BD_ERROR_MEMORY, "no memory for the cells of %d x %d pixels", width, height);
    return BD_OK;
}

void bd_flash_destroy(struct bd_flash **inout)
{
    struct bd_flash *flash = *inout;
    if (!flash)
        return;
    free(flash->earlier);
    free(flash->lines);
    free(flash->changed);
    free(flash->sights);
    free(flash->cells);
    free(flash->own);
    free(flash->places);
    free(flash->sums);
    free(flash);
    *inout = NULL;
}

static size_t cells_of(const struct bd_flash *flash)
{
    return (size_t)flash->across * (size_t)flash->down;
}

void bd_flash_reset(struct bd_flash *flash)
{
    memset(flash->cells, 0, cells_of(flash) * sizeof *flash->cells);
    flash->known = flash->searched = flash->any = false;
}

/* The sight of the first cell of a row of them. */
static uint8_t *sights_of(const struct bd_flash *flash, int y)
{
    return flash->sights + (size_t)(y + 1) * (size_t)(flash->across + 2) + 1;
}

/* A parallel loop over rows of cells. */
struct looking {
    struct bd_flash *flash;
    const uint8_t *frame;
};

/* The sum of `count` bytes of 0 and 1, 8, 16 or 32. */
static int sum_bytes(const uint8_t *bytes, size_t count)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i += sizeof sum) {
        uint64_t eight;
        memcpy(&eight, bytes + i, sizeof eight);
        sum += eight;
    }
    return (int)(sum * 0x0101010101010101 >> 56);
}

static void look_at_cells(void *arg, int64_t item, int thread)
{
    const struct looking *looking = arg;
    const struct bd_flash *flash = looking->flash;
    const struct bd_separation_shape *shape = &flash->shape;
    const int y = (int)item, power = flash->power, step = bd_flash_row_step(power);
    const size_t across = (size_t)flash->across;
    uint8_t *line = flash->lines + (size_t)thread * flash->line;
    uint16_t *changed = flash->changed + (size_t)thread * across;
    uint8_t *sights = sights_of(flash, y);
    bool differs = false;
    memset(changed, 0, across * sizeof *changed);
    for (int k = 0; k < bd_flash_rows && (y << power) + k * step < shape->height; k++) {
        const uint8_t *row = looking->frame + (size_t)((y << power) + k * step) * flash->row;
        uint8_t *earlier = flash->earlier + (size_t)(y * bd_flash_rows + k) * flash->row;
        if (memcmp(row, earlier, flash->row) == 0)
            continue;
        differs = true;
        flash->kernels->changes(shape->width, shape->channels, bd_flash_reach, row, earlier, line);
        for (size_t x = 0; x < across; x++)
            changed[x] = (uint16_t)(changed[x] + sum_bytes(line + (x << power), 1U << power));
    }
    for (int x = 0; x < flash->across; x++)
        sights[x] = bd_flash_see(
            changed[x], bd_flash_pixels(shape->width, shape->height, power, x, y), differs);
}

/* The cells after a frame that is not repeated. Returns whether there are places. */
static bool step_cells(struct bd_flash *flash, bool local, int quiet, bool learn)
{
    const int next = flash->across + 2;
    bool any = false;
    for (int y = 0; y < flash->down; y++) {
        struct bd_flash_cell *cells = flash->cells + (size_t)y * (size_t)flash->across;
        uint8_t *own = flash->own + (size_t)y * (size_t)flash->across;
        const uint8_t *at = sights_of(flash, y);
        for (int x = 0; x < flash->across; x++, at++) {
            const int above = at[-next - 1] | at[-next] | at[-next + 1];
            const int below = at[next - 1] | at[next] | at[next + 1];
            const int around = above | at[-1] | *at | at[1] | below;
            cells[x] = bd_flash_step(cells[x], *at, around, local, quiet, learn);
            own[x] = bd_flash_own(cells[x]);
            any |= own[x] & bd_flash_is_place;
        }
    }
    return any;
}

static void mark_places(struct bd_flash *flash)
{
    const int across = flash->across, down = flash->down;
    for (int y = 0; y < down; y++)
        for (int x = 0; x < across; x++)
            flash->places[y * across + x] = bd_flash_place_at(flash->own, across, down, x, y);
}

static void pause_cells(struct bd_flash *flash)
{
    for (size_t i = 0; flash->known && i < cells_of(flash); i++)
        flash->cells[i] = bd_flash_pause(flash->cells[i]);
    flash->known = false;
}

void bd_flash_follow(struct bd_flash *flash, const uint8_t *frame, int quiet, bool learn)
{
    const size_t sights = (size_t)(flash->across + 2) * (size_t)(flash->down + 2);
    struct looking looking = { flash, frame };
    int whole = 0, all = 0;
    flash->searched = quiet > 0;
    if (!quiet) {
        pause_cells(flash);
        return;
    }
    bd_pool_run(flash->pool, look_at_cells, &looking, flash->down);
    if (!flash->known) /* there is no frame before: nothing moves */
        memset(flash->sights, 0, sights);
    for (size_t i = 0; i < sights; i++) {
        whole += (flash->sights[i] & bd_flash_whole) != 0;
        all |= flash->sights[i];
    }
    if (flash->known && !(all & bd_flash_differs))
        return;
    flash->known = true;
    flash->any = step_cells(flash, bd_flash_is_local(whole, (int)cells_of(flash)), quiet, learn);
    if (flash->any)
        mark_places(flash);
}

const uint8_t *bd_flash_places(const struct bd_flash *flash)
{
    return flash->any && flash->searched ? flash->places : NULL;
}

/* The pixels of a run in places. */
static void add_run(struct sums *sums, const struct bd_flash *flash, const struct bd_run *run)
{
    const uint8_t *places =
        flash->places + (size_t)(run->y >> flash->power) * (size_t)flash->across;
    for (int32_t x = run->from; x < run->to;) {
        const int32_t cell = x >> flash->power, end = (cell + 1) << flash->power;
        const int32_t pixels = (end < run->to ? end : run->to) - x;
        sums->in_places += places[cell] & bd_flash_is_place ? pixels : 0;
        sums->balance += places[cell] & bd_flash_is_lit ? pixels : 0;
        sums->balance -= places[cell] & bd_flash_is_crossed ? pixels : 0;
        x += pixels;
    }
}

void bd_flash_remove(struct bd_flash *flash, struct bd_mask_work *work, uint8_t *mask)
{
    struct bd_components *found = &work->components;
    if (!bd_flash_places(flash))
        return;
    bd_components_find(found, mask, work->width, 1, 0, true);
    memset(flash->sums, 0, (size_t)found->count * sizeof *flash->sums);
    for (int32_t i = 0; i < found->count; i++)
        add_run(&flash->sums[bd_components_root(found, i)], flash, &found->runs[i]);
    for (int32_t i = 0; i < found->count; i++) {
        const int32_t root = bd_components_root(found, i);
        const struct sums *sums = &flash->sums[root];
        if (bd_flash_takes(found->runs[root].area, sums->in_places, sums->balance))
            bd_mask_paint_run(work, mask, &found->runs[i], 0);
    }
}
