/* A heat map as numbers: a file for NumPy's load (format version 1.0, numpy.lib.format). */
#ifndef BD_APP_SUMMARY_HEAT_NUMBERS_H
#define BD_APP_SUMMARY_HEAT_NUMBERS_H

#include <stddef.h>

#include "app/summary/heat.h"

/* Makes the content of the file: an array '<f4' of shape (height, width) in C order, seconds. The
 * caller frees *data, which has *size bytes. BD_ERROR_MEMORY. */
enum bd_status bd_heat_numbers_make(char **data, size_t *size, const struct bd_heat *heat,
                                    int width, int height);

#endif
