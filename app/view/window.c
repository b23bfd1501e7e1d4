#include "app/view/window.h"

#include <stdlib.h>
#include <string.h>

#include "app/pipeline/boxes.h"
#include "app/view/shrink.h"

/* The uploaded picture of a pane. */
struct picture {
    SDL_Texture *texture; /* NULL: nothing uploaded */
    int width, height;    /* of the texture */
    int64_t serial;       /* of the result that it shows */
    bool boxes;           /* with them */
};

struct bd_view_window {
    SDL_Window *window;
    SDL_Renderer *renderer;
    int max_side; /* of textures */
    double pixel_aspect;
    bool boxes;
    struct picture pictures[BD_PICTURES];
    struct bd_view_shrinker shrinker;
    struct bd_pool *pool; /* makes large pictures */
};

static const SDL_Color ground = { 18, 19, 22, 255 };
static const SDL_Color board[2] = { { 38, 40, 45, 255 }, { 48, 50, 56, 255 } };

static int ignore_x_error(void *display, void *error)
{
    (void)display;
    (void)error;
    bd_log(BD_LOG_DEBUG, "the X server refused a request, as of a window that has gone");
    return 0;
}

/* Xlib's own handler ends the program. But SDL sends events to windows that may have gone: to the
 * source of a drag, and to ours, to wake the main loop. It does that by a second connection, so the
 * window may close first, and SDL_Quit meets the error. SDL calls the handler that it found when it
 * started. Xlib is opened by name, so that the program needs no X11 where there is none. */
static void survive_x_errors(void)
{
    typedef int handler(void *display, void *error);
    handler *(*set_handler)(handler *);
    void *xlib = SDL_LoadObject("libX11.so.6"); /* stays until the process ends, as its handler */
    void *found = xlib ? SDL_LoadFunction(xlib, "XSetErrorHandler") : NULL;
    memcpy(&set_handler, &found, sizeof found);
    if (set_handler)
        set_handler(ignore_x_error);
}

enum bd_status bd_view_display_open(void)
{
    /* The program handles Ctrl-C itself, and no screen saver must interrupt a film. */
    SDL_SetHint(SDL_HINT_NO_SIGNAL_HANDLERS, "1");
    SDL_SetHint(SDL_HINT_VIDEO_ALLOW_SCREENSAVER, "0");
    SDL_SetHint(SDL_HINT_APP_NAME, "Backdrop");
    /* Bypassing the compositor makes desktops flicker when a window opens. */
    SDL_SetHint(SDL_HINT_VIDEO_X11_NET_WM_BYPASS_COMPOSITOR, "0");
    SDL_SetHint(SDL_HINT_RENDER_SCALE_QUALITY, "linear");
    bool asked = SDL_getenv("SDL_VIDEODRIVER") != NULL;
    /* SDL would try every driver, and libwayland prints errors where Wayland is not used.
     * SDL 2.0.20 has no hint for the driver, so the environment variable is set. */
    if (!asked && !SDL_getenv("WAYLAND_DISPLAY"))
        SDL_setenv("SDL_VIDEODRIVER", SDL_getenv("DISPLAY") ? "x11" : "kmsdrm", 0);
    SDL_SetMainReady();
    const char *x11 = SDL_getenv("DISPLAY"), *wayland = SDL_getenv("WAYLAND_DISPLAY");
    if (x11)
        survive_x_errors();
    if (SDL_Init(SDL_INIT_VIDEO) != 0) {
        if (!asked && !x11 && !wayland)
            return bd_fail(BD_ERROR_UNSUPPORTED, "neither DISPLAY nor WAYLAND_DISPLAY is set");
        return bd_fail(BD_ERROR_UNSUPPORTED, "%s%s%s", x11 && !asked ? x11 : "",
                       x11 && !asked ? ": " : "", SDL_GetError());
    }
    /* Some builds of SDL fall back to a driver that shows nothing; it is used only on request. */
    const char *driver = SDL_GetCurrentVideoDriver();
    bool blind = strcmp(driver, "dummy") == 0 || strcmp(driver, "offscreen") == 0;
    if (blind && !asked)
        return bd_fail(BD_ERROR_UNSUPPORTED, "no X11 or Wayland display found");
    return BD_OK;
}

void bd_view_display_close(void)
{
    SDL_Quit();
}

static void choose_size(int *window_width, int *window_height, int width, int height,
                        double pixel_aspect, bool grid)
{
    const double wanted = 1280, share = 0.9; /* desktop units; of the screen */
    double w = width * pixel_aspect * (grid ? 3 : 1), h = (double)height * (grid ? 2 : 1);
    double scale = wanted / w;
    if (h * scale > 800)
        scale = 800 / h;
    SDL_Rect screen;
    if (SDL_GetDisplayUsableBounds(0, &screen) == 0 && screen.w > 0 && screen.h > 0) {
        if (w * scale > share * screen.w)
            scale = share * screen.w / w;
        if (h * scale > share * screen.h)
            scale = share * screen.h / h;
    }
    *window_width = (int)(w * scale + 0.5) > 240 ? (int)(w * scale + 0.5) : 240;
    *window_height = (int)(h * scale + 0.5) > 160 ? (int)(h * scale + 0.5) : 160;
}

/* The fastest renderer that works: on the GPU with vertical sync, on the GPU, in memory. */
static SDL_Renderer *create_renderer(SDL_Window *window)
{
    static const Uint32 flags[] = { SDL_RENDERER_ACCELERATED | SDL_RENDERER_PRESENTVSYNC,
                                    SDL_RENDERER_ACCELERATED, SDL_RENDERER_SOFTWARE };
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        SDL_Renderer *renderer = SDL_CreateRenderer(window, -1, flags[i]);
        if (renderer)
            return renderer;
    }
    return NULL;
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

enum bd_status bd_view_window_create(struct bd_view_window **out, const char *title, int threads,
                                     int width, int height, double pixel_aspect, bool grid)
{
    *out = NULL;
    struct bd_view_window *window = calloc(1, sizeof *window);
    if (!window)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for the window");
    int w, h;
    choose_size(&w, &h, width, height, pixel_aspect, grid);
    window->pixel_aspect = pixel_aspect;
    enum bd_status status = bd_pool_create(&window->pool, threads);
    if (status != BD_OK) {
        bd_view_window_destroy(&window);
        return status;
    }
    window->window = SDL_CreateWindow(title, SDL_WINDOWPOS_CENTERED, SDL_WINDOWPOS_CENTERED, w, h,
                                      SDL_WINDOW_RESIZABLE | SDL_WINDOW_ALLOW_HIGHDPI);
    window->renderer = window->window ? create_renderer(window->window) : NULL;
    if (!window->renderer) {
        bd_view_window_destroy(&window);
        return bd_fail(BD_ERROR_UNSUPPORTED, "%s", SDL_GetError());
    }
    SDL_RendererInfo info;
    window->max_side = 2048;
    if (SDL_GetRendererInfo(window->renderer, &info) == 0)
        window->max_side = info.max_texture_width > 0 ? info.max_texture_width : 16384;
    SDL_SetRenderDrawBlendMode(window->renderer, SDL_BLENDMODE_BLEND);
    SDL_SetWindowMinimumSize(window->window, 240, 160);
    *out = window;
    return BD_OK;
}

void bd_view_window_destroy(struct bd_view_window **handle)
{
    struct bd_view_window *window = *handle;
    if (!window)
        return;
    if (window->renderer)
        SDL_DestroyRenderer(window->renderer); /* and its textures */
    if (window->window)
        SDL_DestroyWindow(window->window);
    bd_view_shrinker_destroy(&window->shrinker);
    bd_pool_destroy(&window->pool);
    free(window);
    *handle = NULL;
}

void bd_view_window_fit(struct bd_view_window *window, int width, int height, double pixel_aspect,
                        bool grid)
{
    int w, h;
    choose_size(&w, &h, width, height, pixel_aspect, grid);
    window->pixel_aspect = pixel_aspect;
    int old_w, old_h;
    SDL_GetWindowSize(window->window, &old_w, &old_h);
    if (!bd_view_window_full_screen(window) && (old_w != w || old_h != h)) {
        SDL_SetWindowSize(window->window, w, h);
        SDL_SetWindowPosition(window->window, SDL_WINDOWPOS_CENTERED, SDL_WINDOWPOS_CENTERED);
    }
}

SDL_Renderer *bd_view_window_renderer(const struct bd_view_window *window)
{
    return window->renderer;
}

void bd_view_window_size(const struct bd_view_window *window, int *width, int *height)
{
    if (SDL_GetRendererOutputSize(window->renderer, width, height) != 0)
        *width = *height = 1;
}

double bd_view_window_density(const struct bd_view_window *window)
{
    int output, height, unused;
    bd_view_window_size(window, &unused, &output);
    SDL_GetWindowSize(window->window, &unused, &height);
    return height > 0 && output > 0 ? (double)output / height : 1;
}

bool bd_view_window_full_screen(const struct bd_view_window *window)
{
    return (SDL_GetWindowFlags(window->window) & SDL_WINDOW_FULLSCREEN) != 0;
}

void bd_view_window_set_full_screen(struct bd_view_window *window, bool full_screen)
{
    SDL_SetWindowFullscreen(window->window, full_screen ? SDL_WINDOW_FULLSCREEN_DESKTOP : 0);
    SDL_ShowCursor(full_screen ? SDL_DISABLE : SDL_ENABLE);
}

bool bd_view_window_visible(const struct bd_view_window *window)
{
    return (SDL_GetWindowFlags(window->window) & (SDL_WINDOW_MINIMIZED | SDL_WINDOW_HIDDEN)) == 0;
}

bool bd_view_window_boxes(const struct bd_view_window *window)
{
    return window->boxes;
}

void bd_view_window_set_boxes(struct bd_view_window *window, bool boxes)
{
    window->boxes = boxes;
}

void bd_view_window_clear(struct bd_view_window *window)
{
    SDL_SetRenderDrawColor(window->renderer, ground.r, ground.g, ground.b, ground.a);
    SDL_RenderClear(window->renderer);
}

double bd_view_window_shape(const struct bd_view_window *window, const struct bd_frame *frame)
{
    return frame->width * window->pixel_aspect / frame->height;
}

/* The largest rectangle of the frame's shape in the middle of `area`. */
static SDL_Rect letterbox(const struct bd_frame *frame, double pixel_aspect, const SDL_Rect *area)
{
    double width = frame->width * pixel_aspect, height = frame->height;
    double scale = area->w / width < area->h / height ? area->w / width : area->h / height;
    SDL_Rect rect = { 0, 0, (int)(width * scale + 0.5), (int)(height * scale + 0.5) };
    rect.w = rect.w > 1 ? rect.w : 1;
    rect.h = rect.h > 1 ? rect.h : 1;
    rect.x = area->x + (area->w - rect.w) / 2;
    rect.y = area->y + (area->h - rect.h) / 2;
    return rect;
}

static enum bd_status ensure_texture(struct bd_view_window *window, struct picture *picture,
                                     enum bd_pane pane, int width, int height)
{
    if (picture->texture && picture->width == width && picture->height == height)
        return BD_OK;
    if (picture->texture)
        SDL_DestroyTexture(picture->texture);
    picture->texture = SDL_CreateTexture(window->renderer, SDL_PIXELFORMAT_ARGB8888,
                                         SDL_TEXTUREACCESS_STREAMING, width, height);
    if (!picture->texture)
        return bd_fail(BD_ERROR_UNSUPPORTED, "cannot show a picture of %d x %d pixels: %s", width,
                       height, SDL_GetError());
    picture->width = width;
    picture->height = height;
    if (pane == BD_PANE_FOREGROUND)
        SDL_SetTextureBlendMode(picture->texture, SDL_BLENDMODE_BLEND);
    if (pane == BD_PANE_MASK)
        SDL_SetTextureScaleMode(picture->texture, SDL_ScaleModeNearest);
    return BD_OK;
}

/* Makes the picture of the pane in its texture, no larger than `place`, unless it is there. */
static enum bd_status upload(struct bd_view_window *window, enum bd_pane pane,
                             const struct bd_view_result *result, int64_t serial,
                             const SDL_Rect *place)
{
    struct picture *picture = &window->pictures[pane];
    const struct bd_view_parts full = { &result->input, &result->mask, &result->background };
    const struct bd_frame *base = bd_view_base(&full, pane);
    int width = least(base->width, least(place->w, window->max_side));
    int height = least(base->height, least(place->h, window->max_side));
    bool boxes = window->boxes && (pane == BD_PANE_INPUT || pane == BD_PANE_OVERLAY);
    if (picture->texture && picture->serial == serial && picture->width == width &&
        picture->height == height && picture->boxes == boxes)
        return BD_OK;
    struct bd_view_parts parts;
    enum bd_status status =
        bd_view_shrink(&window->shrinker, &parts, result, serial, pane, width, height);
    if (status == BD_OK)
        status = ensure_texture(window, picture, pane, width, height);
    if (status != BD_OK)
        return status;
    void *pixels;
    int pitch;
    if (SDL_LockTexture(picture->texture, NULL, &pixels, &pitch) != 0)
        return bd_fail(BD_ERROR_UNSUPPORTED, "cannot draw: %s", SDL_GetError());
    bd_view_convert(window->pool, pixels, pitch, &parts, pane);
    if (boxes)
        bd_boxes_draw(&(struct bd_canvas){ pixels, pitch, width, height, 4 }, result->objects,
                      result->object_count, base->width, base->height);
    SDL_UnlockTexture(picture->texture);
    picture->serial = serial;
    picture->boxes = boxes;
    return BD_OK;
}

/* A dark checkerboard, the usual sign of transparency, of at most 32 fields a side. */
static void draw_board(struct bd_view_window *window, const SDL_Rect *place)
{
    SDL_Rect fields[32 * 32 / 2 + 1];
    int count = 0, side = (int)(12 * bd_view_window_density(window));
    int longer = place->w > place->h ? place->w : place->h;
    if (side < (longer + 31) / 32)
        side = (longer + 31) / 32;
    bd_view_window_fill(window, place, board[0]);
    for (int y = 0; y * side < place->h; y++)
        for (int x = y % 2; x * side < place->w; x += 2) {
            SDL_Rect field = { place->x + x * side, place->y + y * side, side, side };
            SDL_IntersectRect(&field, place, &fields[count++]);
        }
    SDL_SetRenderDrawColor(window->renderer, board[1].r, board[1].g, board[1].b, board[1].a);
    SDL_RenderFillRects(window->renderer, fields, count);
}

enum bd_status bd_view_window_draw(struct bd_view_window *window, enum bd_pane pane,
                                   const struct bd_view_result *result, int64_t serial,
                                   const SDL_Rect *area, SDL_Rect *where)
{
    *where = letterbox(&result->input, window->pixel_aspect, area);
    enum bd_status status = upload(window, pane, result, serial, where);
    if (status != BD_OK)
        return status;
    if (pane == BD_PANE_FOREGROUND)
        draw_board(window, where);
    SDL_RenderCopy(window->renderer, window->pictures[pane].texture, NULL, where);
    return BD_OK;
}

void bd_view_window_invalidate(struct bd_view_window *window)
{
    for (int i = 0; i < BD_PICTURES; i++) {
        if (window->pictures[i].texture)
            SDL_DestroyTexture(window->pictures[i].texture);
        window->pictures[i].texture = NULL;
    }
}

void bd_view_window_fill(struct bd_view_window *window, const SDL_Rect *rect, SDL_Color color)
{
    SDL_SetRenderDrawColor(window->renderer, color.r, color.g, color.b, color.a);
    SDL_RenderFillRect(window->renderer, rect);
}

enum bd_status bd_view_window_capture(struct bd_view_window *window, struct bd_frame *frame)
{
    int width, height;
    bd_view_window_size(window, &width, &height);
    enum bd_status status = bd_frame_ensure(frame, width, height, BD_RGB24);
    if (status != BD_OK)
        return status;
    const SDL_Rect whole = { 0, 0, width, height }; /* as large as the frame, whatever SDL thinks */
    if (SDL_RenderReadPixels(window->renderer, &whole, SDL_PIXELFORMAT_RGB24, frame->data,
                             (int)frame->stride) != 0)
        return bd_fail(BD_ERROR_UNSUPPORTED, "cannot read the window: %s", SDL_GetError());
    return BD_OK;
}

void bd_view_window_present(struct bd_view_window *window)
{
    SDL_RenderPresent(window->renderer);
}
