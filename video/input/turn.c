#include "video/input/turn.h"

#include <math.h>

bool bd_turn_from_matrix(struct bd_turn *turn, const int32_t *matrix)
{
    *turn = (struct bd_turn){ false, false, false };
    if (!matrix)
        return true;
    /* x' = a x + c y, y' = b x + d y */
    double a = matrix[0], b = matrix[1], c = matrix[3], d = matrix[4];
    double straight = fmin(fabs(a), fabs(d)), across = fmin(fabs(b), fabs(c));
    double rest_straight = fmax(fabs(b), fabs(c)), rest_across = fmax(fabs(a), fabs(d));
    if (straight > 100 * rest_straight)
        *turn = (struct bd_turn){ false, a < 0, d < 0 };
    else if (across > 100 * rest_across)
        *turn = (struct bd_turn){ true, c < 0, b < 0 };
    else
        return false;
    return true;
}

/* A square of pixels at a time, so that the strided side stays in the cache. */
void bd_turn_picture(struct bd_frame *dst, const struct bd_frame *src, struct bd_turn turn)
{
    enum { TILE = 32 };
    int bytes = src->format;
    for (int y0 = 0; y0 < dst->height; y0 += TILE)
        for (int x0 = 0; x0 < dst->width; x0 += TILE) {
            int y1 = y0 + TILE < dst->height ? y0 + TILE : dst->height;
            int x1 = x0 + TILE < dst->width ? x0 + TILE : dst->width;
            for (int y = y0; y < y1; y++) {
                uint8_t *to = dst->data + y * dst->stride + (int64_t)x0 * bytes;
                int v = turn.flip_y ? dst->height - 1 - y : y;
                for (int x = x0; x < x1; x++, to += bytes) {
                    int u = turn.flip_x ? dst->width - 1 - x : x;
                    const uint8_t *from = turn.transpose
                                              ? src->data + u * src->stride + (int64_t)v * bytes
                                              : src->data + v * src->stride + (int64_t)u * bytes;
                    for (int k = 0; k < bytes; k++)
                        to[k] = from[k];
                }
            }
        }
}
