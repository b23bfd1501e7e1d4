/* The live window: `backdrop INPUT`. */
#ifndef BD_APP_VIEW_VIEW_H
#define BD_APP_VIEW_VIEW_H

#include "app/options.h"

/* Opens INPUT and a window, and shows the separation until the user quits, in real time for files
 * and the latest frame for live sources. Says what went wrong on stderr, one line. Returns the exit
 * status of the program: 0 quit by the user (or after --frames), 1 no display or a bad option, 2
 * the input cannot be read, 3 the input broke off, or a screenshot asked for could not be written,
 * 4 interrupted.
 *
 * Runs headless as well: SDL_VIDEODRIVER=dummy draws into memory, --frames N ends it and
 * --screenshot F.png shows what was drawn. */
int bd_view_run(const struct bd_options *options);

#endif
