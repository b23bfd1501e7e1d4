/* Private to linalg/: sizes that no machine has memory for are refused before anything is computed
 * from them, so that no product of sizes in a plan or workspace overflows 64 bits. */
#ifndef BD_LINALG_SIZES_H
#define BD_LINALG_SIZES_H

#include <stdint.h>

#include <backdrop/status.h>

/* Elements of a matrix, at most: a pebibyte of floats. A workspace has up to 2^11 times as many
 * bytes (gpu/update/blocked/blocked.cu: 512 new columns for each of few). */
static const int64_t bd_most_elements = (int64_t)1 << 48;

/* BD_ERROR_MEMORY if rows x cols (neither negative) elements are more than that; the detail says
 * that it is `what` which needs them. */
static inline enum bd_status bd_check_elements(const char *what, int64_t rows, int64_t cols)
{
    if (cols > 0 && rows > bd_most_elements / cols)
        return bd_fail(BD_ERROR_MEMORY, "%s of %lld x %lld: too large for any machine", what,
                       (long long)rows, (long long)cols);
    return BD_OK;
}

#endif
