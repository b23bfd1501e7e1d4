#include "app/view/keys.h"

#include <string.h>

#include "app/options.h"

/* clang-format off */
const struct bd_view_key bd_view_keys[] = {
    { "space, p", "pause, go on", BD_VIEW_PAUSE, { SDLK_SPACE, SDLK_p }, NULL, { 0 } },
    { ".", "one frame on", BD_VIEW_STEP, { 0 }, ".", { 0 } },
    { "left, right", "5 seconds back, on", BD_VIEW_SEEK, { SDLK_LEFT, SDLK_RIGHT }, NULL,
      { -5, 5 } },
    { "down, up", "30 seconds back, on", BD_VIEW_SEEK, { SDLK_DOWN, SDLK_UP }, NULL, { -30, 30 } },
    { "v", "next pane", BD_VIEW_NEXT_PANE, { SDLK_v }, NULL, { 0 } },
    { "1 .. 6", "input, background, foreground, mask, overlay, all", BD_VIEW_PANE, { 0 }, "123456",
      { BD_PANE_INPUT, BD_PANE_BACKGROUND, BD_PANE_FOREGROUND, BD_PANE_MASK, BD_PANE_OVERLAY,
        BD_PANE_ALL } },
    { "[ ]", "threshold lower, higher", BD_VIEW_THRESHOLD, { 0 }, "[]", { -1, 1 } },
    { "- =", "lambda lower, higher", BD_VIEW_LAMBDA, { 0 }, "-=", { -1, 1 } },
    { "b", "freeze the background, learn again", BD_VIEW_FREEZE, { SDLK_b }, NULL, { 0 } },
    { "r", "forget the background", BD_VIEW_RESET, { SDLK_r }, NULL, { 0 } },
    { "o", "text on, off", BD_VIEW_OVERLAY, { SDLK_o }, NULL, { 0 } },
    { "x", "boxes around objects on, off", BD_VIEW_BOXES, { SDLK_x }, NULL, { 0 } },
    { "f", "full screen", BD_VIEW_FULL_SCREEN, { SDLK_f }, NULL, { 0 } },
    { "s", "screenshot: backdrop-NNNN.png", BD_VIEW_SCREENSHOT, { SDLK_s }, NULL, { 0 } },
    { "h", "this help", BD_VIEW_HELP, { SDLK_h }, NULL, { 0 } },
    { "q", "quit", BD_VIEW_QUIT, { SDLK_q }, NULL, { 0 } },
    { "Esc", "leave full screen, or quit", BD_VIEW_LEAVE, { SDLK_ESCAPE }, NULL, { 0 } },
    { .label = NULL },
};
/* clang-format on */

/* The index of the key in keys[], or -1. */
static int find_key(const struct bd_view_key *row, SDL_Keycode key)
{
    for (int i = 0; i < 2; i++)
        if (row->keys[i] != 0 && row->keys[i] == key)
            return i;
    return -1;
}

static int find_character(const struct bd_view_key *row, const char *text)
{
    const char *at = row->characters && text[0] != '\0' && text[1] == '\0'
                         ? strchr(row->characters, text[0])
                         : NULL;
    return at ? (int)(at - row->characters) : -1;
}

/* Holding a key down repeats only actions that go in steps: repeated switching would flicker. */
static bool repeats(enum bd_view_action action)
{
    return action == BD_VIEW_SEEK || action == BD_VIEW_STEP || action == BD_VIEW_THRESHOLD ||
           action == BD_VIEW_LAMBDA;
}

enum bd_view_action bd_view_key_action(const SDL_Event *event, int *value)
{
    const int commands = KMOD_CTRL | KMOD_ALT | KMOD_GUI;
    bool key = event->type == SDL_KEYDOWN;
    if (!key && event->type != SDL_TEXTINPUT)
        return BD_VIEW_NOTHING;
    if (key && (event->key.keysym.mod & commands))
        return BD_VIEW_NOTHING; /* belongs to the desktop */
    for (const struct bd_view_key *row = bd_view_keys; row->label; row++) {
        int i = key ? find_key(row, event->key.keysym.sym) : find_character(row, event->text.text);
        if (i < 0)
            continue;
        if (key && event->key.repeat && !repeats(row->action))
            return BD_VIEW_NOTHING;
        *value = row->values[i];
        return row->action;
    }
    return BD_VIEW_NOTHING;
}
