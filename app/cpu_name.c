#include "app/cpu_name.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

char *bd_cpu_name(char *text, size_t size)
{
    char line[256];
    const char *name = "unknown processor";
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon)
            continue;
        line[strcspn(line, "\n")] = 0;
        name = colon + 1 + strspn(colon + 1, " ");
        break;
    }
    if (file)
        fclose(file);
    snprintf(text, size, "%s, %ld cores", name, sysconf(_SC_NPROCESSORS_ONLN));
    return text;
}
