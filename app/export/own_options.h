/* The options of one export among several: its input, and where its outputs go. */
#ifndef BD_APP_EXPORT_OWN_OPTIONS_H
#define BD_APP_EXPORT_OWN_OPTIONS_H

#include "app/export/inputs.h"
#include "app/export/output.h"

struct bd_own_options {
    struct bd_options options; /* its paths point into `paths` */
    char *paths[bd_output_kind_count];
};

/* Fails for options that do not go together, before anything is opened: several inputs without
 * --join or --output-dir, a number in the name of that folder, a folder in the name of an output
 * that goes to it, --jobs or hardware decoding with --join. BD_ERROR_ARGUMENT. */
enum bd_status bd_inputs_check(const struct bd_options *options, const struct bd_inputs *inputs);

/* Exports to be done: one of all inputs with --join, else one of each. */
int bd_exports_count(const struct bd_options *options, const struct bd_inputs *inputs);

/* The options of export `number`, 0 to bd_exports_count - 1. With --output-dir DIR, the value of an
 * output is the end of its name: of mask.mkv and the input in/yard.mp4, DIR/yard.mask.mkv; what
 * begins with a point, a dash or an underscore follows the name at once. Folders are in DIR, unless
 * their path begins with a slash. `options` and `inputs` must stay. BD_ERROR_MEMORY. */
enum bd_status bd_own_options_make(struct bd_own_options *own, const struct bd_options *options,
                                   const struct bd_inputs *inputs, int number);
void bd_own_options_free(struct bd_own_options *own);

/* Makes --output-dir, and the folders above it that are missing. BD_ERROR_IO. */
enum bd_status bd_output_dir_make(const struct bd_options *options);

#endif
