/* A state of a backend and one of the CPU, which are given the same frames: their masks agree.
 * Include it after cmocka.h. */
#ifndef BD_TESTS_SEPARATION_DETECT_PAIR_H
#define BD_TESTS_SEPARATION_DETECT_PAIR_H

#include "separation/shared/ops.h"

struct detect_pair {
    struct bd_separation_shape shape;
    struct bd_backend *backends[2]; /* the second one is the CPU */
    void *states[2];
};

/* Both forget everything. */
static inline void detect_pair_reset(struct detect_pair *pair)
{
    for (int i = 0; i < 2; i++)
        assert_int_equal(pair->backends[i]->ops->separation->reset(pair->states[i]), BD_OK);
}

static inline void detect_pair_open(struct detect_pair *pair, const char *name,
                                    const struct bd_separation_shape *shape)
{
    pair->shape = *shape;
    for (int i = 0; i < 2; i++) {
        struct bd_backend **backend = &pair->backends[i];
        assert_int_equal(bd_backend_open(backend, i ? "cpu" : name, 2), BD_OK);
        assert_int_equal((*backend)->ops->separation->create(*backend, shape, &pair->states[i]),
                         BD_OK);
    }
    detect_pair_reset(pair);
}

static inline void detect_pair_close(struct detect_pair *pair)
{
    for (int i = 0; i < 2; i++) {
        pair->backends[i]->ops->separation->destroy(pair->states[i]);
        bd_backend_close(&pair->backends[i]);
    }
}

/* A frame f before a background l, tight rows, that is learned from. */
static inline void detect_pair_push(struct detect_pair *pair, const uint8_t *f, const uint8_t *l,
                                    const struct bd_detect_params *params,
                                    struct bd_separation out[2])
{
    const int64_t row = (int64_t)pair->shape.width * pair->shape.channels;
    for (int i = 0; i < 2; i++) {
        const struct bd_separation_ops *ops = pair->backends[i]->ops->separation;
        assert_int_equal(ops->load(pair->states[i], f, row), BD_OK);
        assert_int_equal(ops->load_background(pair->states[i], l), BD_OK);
        assert_int_equal(ops->detect(pair->states[i], params, 1), BD_OK);
        assert_int_equal(ops->finish(pair->states[i]), BD_OK);
        assert_int_equal(ops->collect(pair->states[i], &out[i]), BD_OK);
    }
    assert_memory_equal(out[0].mask, out[1].mask,
                        (size_t)pair->shape.width * (size_t)pair->shape.height);
}

#endif
