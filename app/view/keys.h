/* The keys of the live window: one const table that drives both the actions and the help panel. */
#ifndef BD_APP_VIEW_KEYS_H
#define BD_APP_VIEW_KEYS_H

#include <SDL.h>

enum bd_view_action {
    BD_VIEW_NOTHING,
    BD_VIEW_PAUSE,
    BD_VIEW_STEP,
    BD_VIEW_SEEK, /* value: seconds from the picture shown */
    BD_VIEW_FULL_SCREEN,
    BD_VIEW_SCREENSHOT,
    BD_VIEW_NEXT_PANE,
    BD_VIEW_PANE, /* value: enum bd_pane */
    BD_VIEW_OVERLAY,
    BD_VIEW_BOXES,
    BD_VIEW_THRESHOLD, /* value: grey levels to add */
    BD_VIEW_LAMBDA,    /* value: grey levels to add */
    BD_VIEW_FREEZE,
    BD_VIEW_RESET,
    BD_VIEW_HELP,
    BD_VIEW_QUIT,
    BD_VIEW_LEAVE /* leaves full screen, else quits */
};

/* A line of the help panel, and its keys. */
struct bd_view_key {
    const char *label; /* the keys, in words */
    const char *help;
    enum bd_view_action action;
    /* Letters and keys that type no character. Digits and punctuation are matched by the typed
     * character instead, because many layouts need Shift or AltGr for them. */
    SDL_Keycode keys[2];
    const char *characters;
    int values[6]; /* of keys[i] or characters[i] */
};

/* Ends with label == NULL. */
extern const struct bd_view_key bd_view_keys[];

/* The action of an SDL_KEYDOWN or SDL_TEXTINPUT event; BD_VIEW_NOTHING for all other events and
 * keys. *value is set where the action has one. */
enum bd_view_action bd_view_key_action(const SDL_Event *event, int *value);

#endif
