/* The pixel kernels of every instruction set of this machine against plain definitions: float64 for
 * the sums, sorting for the medians, every candidate against every picture for the stable value.
 */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "separation/cpu/kernels/kernels.h"
#include "tests/support/random.h"

enum { most = 1100, guard = 3, many = 600 };

static const int64_t lengths[] = { 1, 15, 16, 17, 63, 64, 65, 255, 256, 257, 300, 1023, 1100 };
enum { length_count = sizeof lengths / sizeof lengths[0] };

static uint64_t seed;

static uint32_t next_random(void)
{
    return (uint32_t)(next_state(&seed) >> 33);
}

#define FOR_EACH_VARIANT(kernels)                                                               \
    enum bd_isa list[BD_ISA_COUNT];                                                             \
    int variants = bd_isa_list(list);                                                           \
    assert_true(variants >= 1 && bd_separation_kernels_of(list[0]) == bd_separation_kernels()); \
    const struct bd_pixel_kernels *kernels = bd_separation_kernels_of(list[0])->pixel;          \
    for (int variant = 0;                                                                       \
         variant < variants && (kernels = bd_separation_kernels_of(list[variant])->pixel, 1);   \
         variant++)

static void test_dot(void **state)
{
    (void)state;
    static float x[most], y[most];
    FOR_EACH_VARIANT(kernels)
    for (int i = 0; i < length_count; i++) {
        double want = 0, size = 0;
        seed = (uint64_t)i;
        for (int64_t j = 0; j < lengths[i]; j++) {
            x[j] = (float)noise(&seed);
            y[j] = (float)noise(&seed);
            want += (double)x[j] * (double)y[j];
            size += fabs((double)x[j] * (double)y[j]);
        }
        double sum = 3, pieces = 3;
        kernels->dot(lengths[i], x, y, &sum);
        assert_true(fabs(sum - 3 - want) <= 1e-13 * (size + 3));
        for (int64_t from = 0; from < lengths[i]; from += 512)
            kernels->dot(lengths[i] - from < 512 ? lengths[i] - from : 512, x + from, y + from,
                         &pieces);
        assert_true(pieces == sum);
    }
}

static void check_residual(const struct bd_pixel_kernels *kernels, int64_t count, int rank)
{
    static float e[most], other[most], b[most * bd_max_rank];
    double products[bd_max_rank], square = 3, none = 3;
    seed = (uint64_t)(count * 10 + rank);
    for (int64_t i = 0; i < count; i++) {
        e[i] = (float)(20 * noise(&seed));
        other[i] = (float)(20 * noise(&seed));
    }
    for (int64_t i = 0; i < most * bd_max_rank; i++)
        b[i] = (float)noise(&seed);
    for (int k = 0; k < bd_max_rank; k++)
        products[k] = 5 + k;
    kernels->multiply_residual(count, e, b, most, rank, other, products, &square);
    for (int k = -1; k < bd_max_rank; k++) {
        const float *column = k < 0 ? other : b + k * most;
        double sum = k < 0 ? square : products[k], want = k < 0 ? 3 : 5 + k, size = want;
        for (int64_t i = 0; i < count && k < rank; i++) {
            want += (double)e[i] * (double)column[i];
            size += fabs((double)e[i] * (double)column[i]);
        }
        assert_true(fabs(sum - want) <= (k < rank ? 8 * (double)FLT_EPSILON * size : 0));
    }
    double alone[bd_max_rank];
    for (int k = 0; k < bd_max_rank; k++)
        alone[k] = 5 + k;
    kernels->multiply_residual(count, e, b, most, rank, NULL, alone, &none);
    assert_true(none == 3);
    for (int k = 0; k < bd_max_rank; k++)
        assert_true(alone[k] == products[k]);
}

static void test_residual(void **state)
{
    (void)state;
    FOR_EACH_VARIANT(kernels)
    for (int i = 0; i < length_count; i++)
        for (int rank = 1; rank <= bd_max_rank; rank++)
            check_residual(kernels, lengths[i], rank);
}

/* Pictures of `range` different values from `low` on, in one block; columns[j] is the j-th. */
static uint8_t *make_pictures(const uint8_t **columns, int64_t count, int n, int low, int range)
{
    uint8_t *pictures = malloc((size_t)count * (size_t)n);
    assert_non_null(pictures);
    for (int64_t i = 0; i < count * n; i++)
        pictures[i] = (uint8_t)(low + (int)(next_random() % (uint32_t)range));
    for (int j = 0; j < n; j++)
        columns[j] = pictures + j * count;
    return pictures;
}

/* One pixel of one picture: the maximum over channels of its distance from `value`. */
static int far_from(const uint8_t *pixel, const uint8_t *value, int channels)
{
    int far = 0;
    for (int c = 0; c < channels; c++) {
        int d = abs(pixel[c] - value[c]);
        far = d > far ? d : far;
    }
    return far;
}

/* What has a part in a pixel: its values, and the numbers of their pictures. */
struct parts {
    const uint8_t *pixels[bd_max_stable];
    int numbers[bd_max_stable];
    int count, channels, reach;
};

/* The first of the candidates with the largest span and number of members together. */
static int plain_winner(const struct parts *parts)
{
    int winner = 0, best = -1;
    for (int j = 0; j < parts->count; j++) {
        int members = 0, first = bd_max_stable, last = 0;
        for (int k = 0; k < parts->count; k++)
            if (far_from(parts->pixels[k], parts->pixels[j], parts->channels) <= parts->reach) {
                members++;
                first = parts->numbers[k] < first ? parts->numbers[k] : first;
                last = parts->numbers[k];
            }
        int score = last - first + members;
        if (score > best) {
            winner = j;
            best = score;
        }
    }
    return winner;
}

/* value[channels] and noise of a pixel by the definition in separation/shared/ops.h;
 * returns the number of members. */
static int plain_stable(const struct parts *parts, uint8_t *value, int *noise)
{
    const uint8_t *candidate = parts->pixels[plain_winner(parts)];
    int members = 0, sums[3] = { 0 }, difference = 0;
    for (int k = 0; k < parts->count; k++)
        if (far_from(parts->pixels[k], candidate, parts->channels) <= parts->reach) {
            members++;
            for (int c = 0; c < parts->channels; c++)
                sums[c] += parts->pixels[k][c];
        }
    if (members == 0) {
        fail_msg("a candidate is a member of its own");
        return 0;
    }
    for (int c = 0; c < parts->channels; c++)
        value[c] = (uint8_t)((sums[c] + members / 2) / members);
    for (int k = 0; k < parts->count; k++)
        if (far_from(parts->pixels[k], candidate, parts->channels) <= parts->reach)
            difference += far_from(parts->pixels[k], value, parts->channels);
    *noise = 16 * difference / members > 255 ? 255 : 16 * difference / members;
    return members;
}

/* Both values that last, the second one besides the first: of any number of pictures, and where an
 * eighth of them or more show something else. */
static void check_stable(const struct bd_pixel_kernels *kernels, int64_t pixels, int channels,
                         int n, int reach, int range)
{
    const uint8_t *columns[bd_max_stable];
    struct parts parts = { .channels = channels, .reach = reach };
    uint8_t *pictures = make_pictures(columns, pixels * channels, n, 255 - (range - 1), range);
    uint8_t first[most * 3 + guard], value[most * 3 + guard], noise[most + guard];
    uint8_t members[most + guard];
    for (int round = 0; round < 3; round++) {
        const int least = round < 2 ? 1 : (n + 7) / 8;
        memset(value, 77, sizeof value);
        memset(noise, 77, sizeof noise);
        memset(members, 77, sizeof members);
        kernels->stable(pixels, channels, columns, n, reach, round ? first : NULL, least, value,
                        noise, members);
        for (int64_t p = 0; p < pixels; p++) {
            uint8_t want[3] = { 0 };
            const uint8_t *other = first + p * channels;
            int want_noise = 0, want_members = 0;
            parts.count = 0;
            for (int j = 0; j < n; j++)
                if (!round || far_from(columns[j] + p * channels, other, channels) > reach) {
                    parts.pixels[parts.count] = columns[j] + p * channels;
                    parts.numbers[parts.count++] = j;
                }
            if (parts.count >= least)
                want_members = plain_stable(&parts, want, &want_noise);
            else
                memcpy(want, other, (size_t)channels);
            assert_memory_equal(value + p * channels, want, (size_t)channels);
            assert_int_equal(noise[p], want_noise);
            assert_int_equal(members[p], want_members);
        }
        for (int64_t i = 0; i < guard; i++)
            assert_true(value[pixels * channels + i] == 77 && noise[pixels + i] == 77 &&
                        members[pixels + i] == 77);
        if (round == 0)
            memcpy(first, value, sizeof first);
    }
    free(pictures);
}

static void test_stable(void **state)
{
    (void)state;
    static const int pictures[] = { 1, 2, 3, 7, 50, 99, bd_max_stable };
    seed = 2;
    FOR_EACH_VARIANT(kernels)
    for (int channels = 1; channels <= 3; channels += 2)
        for (size_t n = 0; n < sizeof pictures / sizeof pictures[0]; n++) {
            check_stable(kernels, 131, channels, pictures[n], 20, 256);
            check_stable(kernels, 63, channels, pictures[n], 20, 60);
            check_stable(kernels, 65, channels, pictures[n], 0, 4);
            check_stable(kernels, 1, channels, pictures[n], 255, 256);
        }
    for (int i = 0; i < length_count; i++)
        check_stable(bd_separation_kernels()->pixel, lengths[i], 3, 9, 20, 100);
}

/* What stood there for the longer time, but was not there before and after, does not win. */
static void test_stable_is_not_longest(void **state)
{
    (void)state;
    enum { n = 20 };
    uint8_t pictures[n], value, other, noise, members;
    const uint8_t *columns[n];
    for (int j = 0; j < n; j++) {
        pictures[j] = j < 5 || j >= 16 ? 100 : 180;
        columns[j] = &pictures[j];
    }
    FOR_EACH_VARIANT(kernels)
    {
        kernels->stable(1, 1, columns, n, 20, NULL, 1, &value, &noise, &members);
        assert_int_equal(value, 100);
        assert_int_equal(noise, 0);
        assert_int_equal(members, 9);
        kernels->stable(1, 1, columns, n, 20, &value, 1, &other, &noise, &members);
        assert_int_equal(other, 180);
        assert_int_equal(members, 11);
        /* Besides both there is nothing. */
        for (int j = 0; j < n; j++)
            columns[j] = &pictures[0];
        kernels->stable(1, 1, columns, n, 20, &value, 1, &other, &noise, &members);
        assert_int_equal(other, 100);
        assert_int_equal(members, 0);
        for (int j = 0; j < n; j++)
            columns[j] = &pictures[j];
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dot),
        cmocka_unit_test(test_residual),
        cmocka_unit_test(test_stable),
        cmocka_unit_test(test_stable_is_not_longest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
