/* Shuffles of two vectors of GCC's and clang's vector extensions. */
#ifndef BD_BASE_SHUFFLE_H
#define BD_BASE_SHUFFLE_H

/* The elements of a, and behind them those of b, that the numbers name. `numbers` is a vector type
 * of integers as wide as the elements. GCC before 12 has one builtin, clang the other. */
#ifdef __has_builtin
#if __has_builtin(__builtin_shufflevector)
#define BD_SHUFFLE(numbers, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#endif
#endif
#ifndef BD_SHUFFLE
#define BD_SHUFFLE(numbers, a, b, ...) __builtin_shuffle(a, b, (numbers){ __VA_ARGS__ })
#endif

#endif
