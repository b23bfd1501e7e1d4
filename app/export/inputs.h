/* What an export reads: the inputs of the command line, with patterns expanded, and their names. */
#ifndef BD_APP_EXPORT_INPUTS_H
#define BD_APP_EXPORT_INPUTS_H

#include "app/options.h"

struct bd_inputs {
    char **items;
    char **names; /* of each input, in the names of its outputs: no two are the same */
    int count;
};

/* Finds the inputs. An argument such as 'rec-*.mp4', if no file has this name, stands for the files
 * that match it, sorted by name; one of an --input-format stays as it is. Names are those of files
 * without folder and extension, as bd_clip_stem has them. Where two are the same, that of the
 * folder goes before them, then a number behind. BD_ERROR_IO if nothing matches, BD_ERROR_MEMORY.
 */
enum bd_status bd_inputs_find(struct bd_inputs *inputs, const struct bd_options *options);

/* Frees and zeroes. */
void bd_inputs_free(struct bd_inputs *inputs);

#endif
