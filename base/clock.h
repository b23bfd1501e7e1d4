/* Monotonic time. */
#ifndef BD_BASE_CLOCK_H
#define BD_BASE_CLOCK_H

#ifdef __cplusplus
extern "C" {
#endif

/* Seconds since an arbitrary fixed moment; never goes back. */
double bd_clock_seconds(void);

#ifdef __cplusplus
}
#endif
#endif
