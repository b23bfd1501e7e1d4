#include "lapack/fortran.h"

#include <math.h>
#include <string.h>

void bd_fortran_complain(const char *name, fortran_int info)
{
    const fortran_int argument = -info;
    xerbla_(name, &argument, strlen(name));
}

int64_t bd_fortran_block(const char *name, const char *options, int64_t n1, int64_t n2, int64_t n3,
                         int64_t n4)
{
    const fortran_int block_size = 1, f1 = (fortran_int)n1, f2 = (fortran_int)n2,
                      f3 = (fortran_int)n3, f4 = (fortran_int)n4;
    return ilaenv_(&block_size, name, options, &f1, &f2, &f3, &f4, strlen(name), strlen(options));
}

float bd_fortran_size(int64_t size)
{
    float rounded = (float)size;
    return (double)rounded < (double)size ? nextafterf(rounded, INFINITY) : rounded;
}
