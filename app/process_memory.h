/* Memory of this process. */
#ifndef BD_APP_PROCESS_MEMORY_H
#define BD_APP_PROCESS_MEMORY_H

/* MiB of the line of that name, with its colon, in /proc/self/status: "VmRSS:" now, "VmHWM:" at
 * most. NAN: there is none. (The peak that getrusage knows includes that of the program which
 * started this one.) */
double bd_process_memory(const char *name);

#endif
