/* Makes one call of the program fail: for the program backdrop_faults alone (README.md). */
#ifndef BD_TESTS_FAULTS_INJECT_H
#define BD_TESTS_FAULTS_INJECT_H

#include <stdbool.h>

/* Whether this call, of the function `name` from the address `caller`, is the one to fail; errno is
 * then `error`. `for_good`: the calls from there that follow fail too, as on a full disk. Calls
 * that come neither from the program nor from libavformat always succeed, and are not counted. */
bool inject(const char *name, const void *caller, int error, bool for_good);

#endif
