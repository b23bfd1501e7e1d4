/* Private to cpu.c, the platform, machine.c, its clock, and separate.c, which takes the host's time
 * on a GPU too. */
#ifndef BD_APP_BENCH_CPU_H
#define BD_APP_BENCH_CPU_H

#include "app/bench/platform.h"

enum bd_status bd_bench_cpu_open(struct bd_bench *bench);
void bd_bench_cpu_print_machine(const struct bd_bench *bench);
enum bd_status bd_bench_cpu_time(struct bd_bench *bench, struct bd_bench_task *tasks, int count,
                                 int repeats);
enum bd_status bd_bench_cpu_time_once(struct bd_bench *bench, const struct bd_bench_task *task,
                                      double *ms);

#endif
