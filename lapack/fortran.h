/* Private to the drop-in: Fortran's calling convention, and what it calls of the LAPACK library
 * that is loaded beside it.
 *
 * Integers are 32 bits wide, arguments are pointers, and each CHARACTER argument has its length as
 * one more argument at the end (callers from C often leave those out: they are not read).
 * The dynamic linker resolves xerbla_ and ilaenv_ like anybody's: a program that has its own (as
 * LAPACK's tests do) is asked. */
#ifndef BD_LAPACK_FORTRAN_H
#define BD_LAPACK_FORTRAN_H

#include <stddef.h>
#include <stdint.h>

#include "lapack/names.h"

/* Visible outside the library, from which nothing else is. */
#define BD_EXPORT __attribute__((visibility("default")))

typedef int32_t fortran_int;

void xerbla_(const char *name, const fortran_int *argument, size_t name_length);
fortran_int ilaenv_(const fortran_int *what, const char *name, const char *options,
                    const fortran_int *n1, const fortran_int *n2, const fortran_int *n3,
                    const fortran_int *n4, size_t name_length, size_t options_length);

/* Whether a CHARACTER argument starts with `letter`, a capital, in either case. */
static inline int bd_fortran_is(const char *argument, char letter)
{
    return *argument == letter || *argument == letter + ('a' - 'A');
}

/* Reports to XERBLA that argument -info of the routine `name` is bad. */
void bd_fortran_complain(const char *name, fortran_int info);

/* ILAENV's block size (its ISPEC = 1). */
int64_t bd_fortran_block(const char *name, const char *options, int64_t n1, int64_t n2, int64_t n3,
                         int64_t n4);

/* A size as LAPACK returns it in a REAL: where float32 cannot hold it, the next above. */
float bd_fortran_size(int64_t size);

#endif
