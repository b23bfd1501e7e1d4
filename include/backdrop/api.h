/* What the functions of the library are marked with, so that the shared library exports them. */
#ifndef BACKDROP_API_H
#define BACKDROP_API_H

#if defined(__GNUC__)
#define BD_API __attribute__((visibility("default")))
#else
#define BD_API
#endif

#endif
