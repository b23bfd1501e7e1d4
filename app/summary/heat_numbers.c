#include "app/summary/heat_numbers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes before the numbers, a multiple of 64: the magic, the version, and the size of the text. */
enum { before_text = 10, header_size = 128, text_size = header_size - before_text };

/* The text is a Python dictionary, then spaces and a line feed. */
static void make_header(char header[header_size], int width, int height)
{
    const char start[before_text] = { '\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0, text_size, 0 };
    memcpy(header, start, before_text);
    int used =
        snprintf(header + before_text, text_size,
                 "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", height, width);
    memset(header + before_text + used, ' ', (size_t)(text_size - used));
    header[header_size - 1] = '\n';
}

enum bd_status bd_heat_numbers_make(char **data, size_t *size, const struct bd_heat *heat,
                                    int width, int height)
{
    size_t row = (size_t)width * sizeof(float);
    *size = header_size + row * (size_t)height;
    *data = malloc(*size);
    if (!*data)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for the numbers of the heat map");
    make_header(*data, width, height);
    /* A processor of x86 stores floats as '<f4' has them. */
    for (int y = 0; y < height; y++)
        bd_heat_row((float *)(void *)(*data + header_size + (size_t)y * row), heat, y);
    return BD_OK;
}
