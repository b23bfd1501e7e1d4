/* The plain version of separation/shared/flash.h, written from its text. */
#ifndef BD_TESTS_SEPARATION_FLASH_PLAIN_H
#define BD_TESTS_SEPARATION_FLASH_PLAIN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { most_cells = 220, most_pixels = 70 * 1441, most_history = 1500 };

/* What the plain version knows. It keeps the last frame, and what moved and what flashed in every
 * frame since the last pause. */
struct plain {
    int width, height, channels, side, across, down;
    int frames; /* since the pause, without repeated ones */
    bool searched;
    uint8_t last[most_pixels * 3];
    bool moved[most_history][most_cells]; /* a cell moved */
    bool flashes[most_history][most_cells];
    int counted[most_cells];
    bool place[most_cells], lit[most_cells], crossed[most_cells]; /* the latter of places */
};

static bool is_looked_at(const struct plain *p, int y)
{
    return y % p->side % (p->side / 4) == 0;
}

static int cells_of(const struct plain *p)
{
    return p->across * p->down;
}

/* Counts the pixels of a cell that are looked at, and of them those that differ, in some channel,
 * by more than `reach`. */
static int count_pixels(const struct plain *p, const uint8_t *f, int cell, int reach, int *pixels)
{
    const int left = cell % p->across * p->side, top = cell / p->across * p->side;
    int count = *pixels = 0;
    for (int y = top; y < top + p->side && y < p->height; y++)
        for (int x = left; x < left + p->side && x < p->width && is_looked_at(p, y); x++) {
            bool differs = false;
            for (int i = (y * p->width + x) * p->channels, c = 0; c < p->channels; c++)
                differs |= abs(f[i + c] - p->last[i + c]) > reach;
            *pixels += 1;
            count += differs;
        }
    return count;
}

static bool any_around(const struct plain *p, int cell, const bool *set)
{
    const int x = cell % p->across, y = cell / p->across;
    for (int i = 0; i < cells_of(p); i++)
        if (set[i] && abs(i % p->across - x) <= 1 && abs(i / p->across - y) <= 1)
            return true;
    return false;
}

/* Whether the cell was quiet in the frames from `from` to before `to`, and there are such. */
static bool was_quiet(const struct plain *p, int cell, int from, int to)
{
    for (int t = from; t < to; t++)
        if (t < 0 || any_around(p, cell, p->moved[t]))
            return false;
    return true;
}

/* Whether the cell moved at some time, the last one with (or without) a flash. */
static bool changed_last(const struct plain *p, int cell, bool with_flash)
{
    for (int t = p->frames - 1; t >= 0; t--)
        if (p->moved[t][cell])
            return p->flashes[t][cell] == with_flash;
    return false;
}

static bool is_repeated(const struct plain *p, const uint8_t *f)
{
    int pixels;
    for (int cell = 0; cell < cells_of(p); cell++)
        if (count_pixels(p, f, cell, 0, &pixels))
            return false;
    return p->frames > 0;
}

/* `quiet` stays the same between pauses. */
static void follow(struct plain *p, const uint8_t *f, int quiet, bool learn)
{
    bool often[most_cells], whole[most_cells];
    int wholes = 0, pixels;
    p->searched = quiet > 0;
    if (!quiet) {
        p->frames = 0;
        memset(p->lit, 0, sizeof p->lit);
        memset(p->crossed, 0, sizeof p->crossed);
        return;
    }
    if (is_repeated(p, f))
        return;
    assert_true(p->frames < most_history);
    const int now = p->frames++;
    for (int i = 0; i < cells_of(p); i++) {
        const int count = now ? count_pixels(p, f, i, 20, &pixels) : 0;
        p->moved[now][i] = now && count >= pixels / 4.0;
        wholes += whole[i] = now && count >= pixels * 2 / 5.0;
    }
    memcpy(p->last, f, (size_t)p->width * (size_t)p->height * (size_t)p->channels);
    for (int i = 0; i < cells_of(p); i++) {
        const bool light = wholes > cells_of(p) / 4.0;
        p->flashes[now][i] = whole[i] && !light && was_quiet(p, i, now - quiet, now);
        const bool passes = p->moved[now][i] && !p->flashes[now][i];
        if (learn && now >= quiet && p->flashes[now - quiet][i] &&
            was_quiet(p, i, now - quiet + 1, now + 1) && p->counted[i] < 8)
            p->counted[i]++;
        if (learn && passes && was_quiet(p, i, now - 1, now) && p->counted[i] > 0)
            p->counted[i]--;
        often[i] = p->counted[i] >= 2;
    }
    for (int i = 0; i < cells_of(p); i++) {
        p->place[i] = any_around(p, i, often);
        p->lit[i] = p->place[i] && changed_last(p, i, true);
        p->crossed[i] = p->place[i] && changed_last(p, i, false);
    }
}

static void forget(struct plain *p)
{
    p->frames = 0;
    p->searched = false;
    memset(p->counted, 0, sizeof p->counted);
    memset(p->place, 0, sizeof p->place);
    memset(p->lit, 0, sizeof p->lit);
    memset(p->crossed, 0, sizeof p->crossed);
}

/* How often something was seen, so that the test is not vacuous. */
struct tally {
    int64_t lit, unlit, crossed;          /* places */
    int64_t removed, just, outside, dark; /* components: just removed; kept by a share */
    int64_t passed;                       /* the same: kept by what is crossed alone */
};

/* Takes the pixels of a component out of the mask, which are listed in `pixels`. */
static int take_component(const struct plain *p, uint8_t *mask, int first, int *pixels)
{
    int count = 1;
    pixels[0] = first;
    mask[first] = 0;
    for (int k = 0; k < count; k++)
        for (int v = -1; v <= 1; v++)
            for (int u = -1; u <= 1; u++) {
                const int x = pixels[k] % p->width + u, y = pixels[k] / p->width + v;
                if (x < 0 || y < 0 || x >= p->width || y >= p->height || !mask[y * p->width + x])
                    continue;
                mask[y * p->width + x] = 0;
                pixels[count++] = y * p->width + x;
            }
    return count;
}

static void remove_background(const struct plain *p, uint8_t *mask, struct tally *tally)
{
    static int pixels[most_pixels];
    static uint8_t kept[most_pixels];
    memset(kept, 0, sizeof kept);
    for (int i = 0; i < p->width * p->height; i++) {
        int places = 0, lit = 0, crossed = 0;
        if (!mask[i])
            continue;
        const int count = take_component(p, mask, i, pixels);
        for (int k = 0; k < count; k++) {
            const int x = pixels[k] % p->width, y = pixels[k] / p->width;
            places += p->place[y / p->side * p->across + x / p->side];
            lit += p->lit[y / p->side * p->across + x / p->side];
            crossed += p->crossed[y / p->side * p->across + x / p->side];
        }
        const bool in_places = places >= count * 2 / 3.0, in_light = lit - crossed >= count / 3.0;
        const bool background = p->searched && in_places && in_light;
        for (int k = 0; k < count; k++)
            kept[pixels[k]] = !background;
        tally->removed += background;
        tally->just += background && (3 * places == 2 * count || 3 * (lit - crossed) == count);
        tally->outside += !in_places && in_light;
        tally->passed += in_places && !in_light && lit >= count / 3.0;
        tally->dark += in_places && !in_light;
    }
    memcpy(mask, kept, (size_t)p->width * (size_t)p->height);
}

#endif
