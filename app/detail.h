/* Carrying error details from one place to another. */
#ifndef BD_APP_DETAIL_H
#define BD_APP_DETAIL_H

#include "base/status.h"

struct bd_detail {
    char text[512];
};

/* A copy of the calling thread's detail, which the thread's next failure does not touch. */
struct bd_detail bd_detail_save(void);

/* Fails again with the same detail and another code, after PREFIX ("" for none). */
enum bd_status bd_fail_again(enum bd_status status, const char *prefix);

#endif
