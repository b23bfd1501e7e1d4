#include "app/view/panel.h"

#include <stdio.h>
#include <string.h>

#include "app/view/keys.h"

enum { LINES = 10, LINE_SIZE = 160 };

static const SDL_Color bright = { 236, 238, 240, 255 }, dim = { 150, 156, 164, 255 },
                       warm = { 255, 190, 92, 255 }, accent = { 92, 170, 255, 255 },
                       backing = { 10, 11, 14, 168 }, solid_backing = { 14, 15, 18, 232 },
                       track = { 255, 255, 255, 44 };

struct lines {
    char text[LINES][LINE_SIZE];
    SDL_Color color[LINES];
    int count;
};

/* Height of ordinary letters: proportional to the window, within legible limits. */
static int letter_size(const struct bd_view_panel *panel)
{
    int width, height;
    bd_view_window_size(panel->window, &width, &height);
    double density = bd_view_window_density(panel->window);
    double size = (width < height ? width : height) / 40.0;
    size = size < 12 * density ? 12 * density : size > 26 * density ? 26 * density : size;
    return (int)(size + 0.5);
}

static void add(struct lines *lines, SDL_Color color, const char *text)
{
    if (text[0] == '\0' || lines->count == LINES)
        return;
    snprintf(lines->text[lines->count], LINE_SIZE, "%s", text);
    lines->color[lines->count++] = color;
}

/* 75.31 as 1:15.3, hours only where there are any. */
static void format_time(char *out, size_t size, double seconds)
{
    long tenths = (long)(seconds * 10 + 0.5);
    tenths = tenths > 0 ? tenths : 0;
    long whole = tenths / 10;
    if (whole >= 3600)
        snprintf(out, size, "%ld:%02ld:%02ld.%ld", whole / 3600, whole / 60 % 60, whole % 60,
                 tenths % 10);
    else
        snprintf(out, size, "%ld:%02ld.%ld", whole / 60, whole % 60, tenths % 10);
}

static void add_time(struct lines *lines, const struct bd_view_figures *figures)
{
    char position[32], duration[32], line[LINE_SIZE];
    format_time(position, sizeof position, figures->position);
    format_time(duration, sizeof duration, figures->duration);
    if (figures->live)
        snprintf(line, sizeof line, "%s  live", position);
    else if (figures->duration > 0)
        snprintf(line, sizeof line, "%s / %s", position, duration);
    else
        snprintf(line, sizeof line, "%s", position);
    add(lines, bright, line);
}

static void add_rate(struct lines *lines, const struct bd_view_figures *figures)
{
    char line[LINE_SIZE] = "";
    if (figures->rate > 0)
        snprintf(line, sizeof line, "%.1f frames/s", figures->rate);
    if (!figures->live && figures->rate > 0 && figures->speed > 0 && figures->speed < 0.95)
        snprintf(line, sizeof line, "%.1f frames/s, %.2f of real time", figures->rate,
                 figures->speed);
    if (figures->rate <= 0)
        snprintf(line, sizeof line, "- frames/s");
    add(lines, bright, line);
    if (figures->live || figures->dropped > 0) {
        snprintf(line, sizeof line, "%lld dropped", (long long)figures->dropped);
        add(lines, figures->dropped > 0 ? warm : bright, line);
    }
}

static void add_separation(struct lines *lines, const struct bd_view_figures *figures)
{
    char line[LINE_SIZE];
    snprintf(line, sizeof line, "foreground %.1f %%", 100 * figures->foreground);
    add(lines, bright, line);
    snprintf(line, sizeof line, "rank %d, window %d of %d", figures->rank, figures->columns,
             figures->window);
    add(lines, bright, line);
    if (figures->adjustable) {
        snprintf(line, sizeof line, "threshold %g, lambda %g", figures->threshold, figures->lambda);
        add(lines, bright, line);
    }
}

static void add_state(struct lines *lines, const struct bd_view_figures *figures)
{
    char line[LINE_SIZE];
    snprintf(line, sizeof line, "%s%s%s%s", figures->paused ? "PAUSED  " : "",
             figures->frozen ? "FROZEN  " : "", figures->ended ? "END" : "",
             figures->error ? "BROKEN OFF" : "");
    add(lines, warm, line);
    if (figures->error)
        add(lines, warm, figures->error);
}

/* Draws a line, cut with an ellipsis where it is wider than `width`. */
static void draw_cut(struct bd_view_text *text, int x, int y, int width, SDL_Color color,
                     const char *line)
{
    char cut[LINE_SIZE + 4];
    size_t length = strlen(line);
    snprintf(cut, sizeof cut, "%s", line);
    while (length > 0 && bd_view_text_width(text, cut) > width) {
        do
            length--;
        while (length > 0 && ((unsigned char)line[length] & 0xc0) == 0x80);
        snprintf(cut, sizeof cut, "%.*s\u2026", (int)length, line);
    }
    bd_view_text_draw(text, x, y, color, cut);
}

static int widest(struct bd_view_text *text, const struct lines *lines)
{
    int width = 0;
    for (int i = 0; i < lines->count; i++) {
        int w = bd_view_text_width(text, lines->text[i]);
        width = w > width ? w : width;
    }
    return width;
}

static void draw_lines(struct bd_view_panel *panel, const struct lines *lines, int x, int y,
                       int width)
{
    int skip = bd_view_text_line_height(panel->text);
    for (int i = 0; i < lines->count; i++)
        draw_cut(panel->text, x, y + i * skip, width, lines->color[i], lines->text[i]);
}

void bd_view_panel_figures(struct bd_view_panel *panel, const SDL_Rect *area, enum bd_pane pane,
                           const struct bd_view_figures *figures)
{
    struct lines lines = { .count = 0 };
    if (!panel->text)
        return;
    bool cell = pane == BD_PANE_ALL;
    if (!cell)
        add(&lines, dim, bd_pane_names[pane]);
    add_time(&lines, figures);
    add_rate(&lines, figures);
    add_separation(&lines, figures);
    add(&lines, dim, figures->backend);
    if (cell)
        add(&lines, dim, "h: keys");
    add_state(&lines, figures);
    int size = letter_size(panel);
    if (cell && lines.count * size * 5 / 4 > area->h * 9 / 10)
        size = area->h * 9 / 10 * 4 / 5 / lines.count;
    size = size < 7 ? 7 : size;
    bd_view_text_set_size(panel->text, size);
    int pad = size / 2, most = area->w - 4 * pad;
    int width = widest(panel->text, &lines);
    width = width < most ? width : most;
    int height = lines.count * bd_view_text_line_height(panel->text);
    if (cell) {
        draw_lines(panel, &lines, area->x + 2 * pad, area->y + (area->h - height) / 2, most);
        return;
    }
    SDL_Rect back = { area->x + pad, area->y + pad, width + 2 * pad, height + 2 * pad };
    bd_view_window_fill(panel->window, &back, backing);
    draw_lines(panel, &lines, back.x + pad, back.y + pad, width);
}

void bd_view_panel_label(struct bd_view_panel *panel, const SDL_Rect *area, const char *name)
{
    if (!panel->text)
        return;
    int size = letter_size(panel), pad = size / 3;
    bd_view_text_set_size(panel->text, size);
    SDL_Rect back = { area->x, area->y, bd_view_text_width(panel->text, name) + 3 * pad,
                      bd_view_text_line_height(panel->text) + pad };
    if (back.w > area->w)
        return;
    bd_view_window_fill(panel->window, &back, backing);
    bd_view_text_draw(panel->text, back.x + pad * 3 / 2, back.y + pad / 2, bright, name);
}

void bd_view_panel_progress(struct bd_view_panel *panel, const SDL_Rect *area, double share)
{
    int height = (int)(3 * bd_view_window_density(panel->window) + 0.5);
    share = share < 0 ? 0 : share > 1 ? 1 : share;
    SDL_Rect line = { area->x, area->y + area->h - height, area->w, height };
    bd_view_window_fill(panel->window, &line, track);
    line.w = (int)(area->w * share + 0.5);
    bd_view_window_fill(panel->window, &line, accent);
}

void bd_view_panel_message(struct bd_view_panel *panel, const SDL_Rect *area, const char *message,
                           bool middle)
{
    if (!panel->text)
        return;
    int size = letter_size(panel), pad = size * 2 / 3;
    bd_view_text_set_size(panel->text, size);
    int width = bd_view_text_width(panel->text, message), most = area->w - 4 * pad;
    width = width < most ? width : most;
    int height = bd_view_text_line_height(panel->text);
    SDL_Rect back = { area->x + (area->w - width) / 2 - pad, 0, width + 2 * pad, height + pad };
    back.y = middle ? area->y + (area->h - back.h) / 2 : area->y + area->h - back.h - 2 * pad;
    bd_view_window_fill(panel->window, &back, solid_backing);
    draw_cut(panel->text, back.x + pad, back.y + pad / 2, width, bright, message);
}

void bd_view_panel_help(struct bd_view_panel *panel, const SDL_Rect *area)
{
    if (!panel->text)
        return;
    int rows = 0, keys_width = 0, help_width = 0, size = letter_size(panel);
    for (const struct bd_view_key *key = bd_view_keys; key->label; key++)
        rows++;
    /* Smaller until it fits; below 7 pixels nobody can read it anyway. */
    for (;; size--) {
        bd_view_text_set_size(panel->text, size);
        for (const struct bd_view_key *key = bd_view_keys; key->label; key++) {
            int k = bd_view_text_width(panel->text, key->label);
            int h = bd_view_text_width(panel->text, key->help);
            keys_width = k > keys_width ? k : keys_width;
            help_width = h > help_width ? h : help_width;
        }
        bool fits = keys_width + help_width + 5 * size < area->w &&
                    rows * bd_view_text_line_height(panel->text) + 3 * size < area->h;
        if (fits || size <= 7)
            break;
        keys_width = help_width = 0;
    }
    int skip = bd_view_text_line_height(panel->text);
    SDL_Rect back = { 0, 0, keys_width + help_width + 4 * size, rows * skip + 2 * size };
    back.x = area->x + (area->w - back.w) / 2;
    back.y = area->y + (area->h - back.h) / 2;
    bd_view_window_fill(panel->window, &back, solid_backing);
    int y = back.y + size;
    for (const struct bd_view_key *key = bd_view_keys; key->label; key++, y += skip) {
        bd_view_text_draw(panel->text, back.x + size, y, warm, key->label);
        bd_view_text_draw(panel->text, back.x + keys_width + 2 * size, y, bright, key->help);
    }
}
