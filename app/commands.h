/* The commands of the program. Each returns the exit status of the program, and says what went
 * wrong on stderr. */
#ifndef BD_APP_COMMANDS_H
#define BD_APP_COMMANDS_H

#include "app/options.h"

/* `backdrop INPUT`: opens INPUT and a window, and shows the separation until the user quits, in
 * real time for files and the latest frame for live sources. 0 quit by the user (or after
 * --frames), 1 no display or a bad option, 2 the input cannot be read, 3 the input broke off, or a
 * screenshot asked for could not be written, 4 interrupted.
 *
 * Runs headless as well: SDL_VIDEODRIVER=dummy draws into memory, --frames N ends it and
 * --screenshot F.png shows what was drawn. */
int bd_view_run(const struct bd_options *options);

/* Separates a whole input and writes what was asked for. Progress on stderr, nothing on stdout. */
int bd_export_run(const struct bd_options *options);

/* Scores masks against ground truth. Table on stdout. */
int bd_eval_run(const struct bd_options *options);

/* Lists the parts of this build and of this machine on stdout. 0. */
int bd_info_run(const struct bd_options *options);

#endif
