#include "app/process_memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double bd_process_memory(const char *name)
{
    char line[256];
    double value = NAN;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, name, strlen(name)) == 0)
            value = strtod(line + strlen(name), NULL) / 1024;
    if (file)
        fclose(file);
    return value;
}
