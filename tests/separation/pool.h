/* The pool of a group of tests of a mask's steps. */
#ifndef BD_TESTS_SEPARATION_POOL_H
#define BD_TESTS_SEPARATION_POOL_H

#include "base/pool.h"

/* Of three threads, so that strips of rows go to several. */
static struct bd_pool *pool;

static int open_pool(void **state)
{
    (void)state;
    return bd_pool_create(&pool, 3);
}

static int close_pool(void **state)
{
    (void)state;
    bd_pool_destroy(&pool);
    return 0;
}

#endif
