#include "video/ffv1_header.h"

#include <libavutil/crc.h>
#include <libavutil/intreadwrite.h>
#include <stdbool.h>
#include <string.h>

/* RFC 9043, 3.8.1.4: how likely a 1 is, in 1/256, after a 1 came. After a 0 it is 256 less the same
 * of what a 0 was. */
static const uint8_t after_one[256] = {
    0,   0,   0,   0,   0,   0,   0,   0,   20,  21,  22,  23,  24,  25,  26,  27,  28,  29,  30,
    31,  32,  33,  34,  35,  36,  37,  37,  38,  39,  40,  41,  42,  43,  44,  45,  46,  47,  48,
    49,  50,  51,  52,  53,  54,  55,  56,  56,  57,  58,  59,  60,  61,  62,  63,  64,  65,  66,
    67,  68,  69,  70,  71,  72,  73,  74,  75,  75,  76,  77,  78,  79,  80,  81,  82,  83,  84,
    85,  86,  87,  88,  89,  90,  91,  92,  93,  94,  94,  95,  96,  97,  98,  99,  100, 101, 102,
    103, 104, 105, 106, 107, 108, 109, 110, 111, 112, 113, 114, 114, 115, 116, 117, 118, 119, 120,
    121, 122, 123, 124, 125, 126, 127, 128, 129, 130, 131, 132, 133, 133, 134, 135, 136, 137, 138,
    139, 140, 141, 142, 143, 144, 145, 146, 147, 148, 149, 150, 151, 152, 152, 153, 154, 155, 156,
    157, 158, 159, 160, 161, 162, 163, 164, 165, 166, 167, 168, 169, 170, 171, 171, 172, 173, 174,
    175, 176, 177, 178, 179, 180, 181, 182, 183, 184, 185, 186, 187, 188, 189, 190, 190, 191, 192,
    194, 194, 195, 196, 197, 198, 199, 200, 201, 202, 202, 204, 205, 206, 207, 208, 209, 209, 210,
    211, 212, 213, 215, 215, 216, 217, 218, 219, 220, 220, 222, 223, 224, 225, 226, 227, 227, 229,
    229, 230, 231, 232, 234, 234, 235, 236, 237, 238, 239, 240, 241, 242, 243, 244, 245, 246, 247,
    248, 248, 0,   0,   0,   0,   0,   0,   0,
};

/* The range coder (section 3.8.1): `low` has 16 bits and a carry; a byte that may still get a carry
 * is held back, with the 0xFF that follow it. */
struct coder {
    uint8_t *to;
    unsigned low, range;
    int held;   /* the byte; -1: none */
    int filled; /* the 0xFF after it */
};

enum { contexts = 32 };

static struct coder begin(uint8_t *to)
{
    return (struct coder){ .to = to, .range = 0xFF00, .held = -1 };
}

static void shift_out(struct coder *c)
{
    if (c->held >= 0 && c->low > 0xFF00 && c->low < 0x10000) {
        c->filled++;
    } else {
        unsigned carry = c->low >> 16;
        if (c->held >= 0)
            *c->to++ = (uint8_t)((unsigned)c->held + carry);
        for (; c->filled; c->filled--)
            *c->to++ = carry ? 0 : 0xFF;
        c->held = (int)(c->low >> 8 & 0xFF);
    }
    c->low = (c->low & 0xFF) << 8;
    c->range <<= 8;
}

static void put_bit(struct coder *c, uint8_t *state, bool bit)
{
    unsigned part = c->range * *state >> 8;
    if (bit) {
        c->low += c->range - part;
        c->range = part;
        *state = after_one[*state];
    } else {
        c->range -= part;
        *state = (uint8_t)(256 - after_one[256 - *state]);
    }
    while (c->range < 0x100)
        shift_out(c);
}

/* An unsigned number (section 3.8.1.2): its length in ones, then its bits from the top. */
static void put_number(struct coder *c, uint8_t *states, unsigned value)
{
    int length = 0;
    put_bit(c, states, value == 0);
    if (value == 0)
        return;
    while (value >> length > 1)
        length++;
    for (int i = 0; i < length; i++)
        put_bit(c, states + 1 + (i < 9 ? i : 9), true);
    put_bit(c, states + 1 + (length < 9 ? length : 9), false);
    for (int i = length - 1; i >= 0; i--)
        put_bit(c, states + 22 + (i < 9 ? i : 9), value >> i & 1);
}

/* Writes what is still in the coder. */
static void end(struct coder *c)
{
    c->range = 0xFF;
    c->low += 0xFF;
    shift_out(c);
    c->range = 0xFF;
    shift_out(c);
}

/* A quantisation table by its runs of equal values (section 4.9): `levels` 1 has only 0; 2 has 0
 * and, for all other differences, their sign. */
static void put_table(struct coder *c, int levels)
{
    uint8_t states[contexts];
    memset(states, 128, sizeof states);
    if (levels == 2) {
        put_number(c, states, 0);
        put_number(c, states, 126);
    } else {
        put_number(c, states, 127);
    }
}

size_t bd_ffv1_write_record(uint8_t *to)
{
    struct coder c = begin(to);
    uint8_t states[contexts];
    memset(states, 128, sizeof states);
    put_number(&c, states, 3);  /* version */
    put_number(&c, states, 4);  /* micro version: the one that is final */
    put_number(&c, states, 0);  /* Golomb-Rice */
    put_number(&c, states, 0);  /* YCbCr, of which there is Y */
    put_number(&c, states, 8);  /* bits */
    put_bit(&c, states, false); /* no chroma */
    put_number(&c, states, 0);  /* its subsampling */
    put_number(&c, states, 0);
    put_bit(&c, states, false); /* no alpha */
    put_number(&c, states, 0);  /* one slice across, less one */
    put_number(&c, states, 0);  /* and down */
    put_number(&c, states, 1);  /* set of tables */
    for (int i = 0; i < 5; i++)
        put_table(&c, i < 3 ? 2 : 1);
    put_bit(&c, states, false); /* states begin at 128 */
    put_number(&c, states, 1);  /* slices have checksums */
    put_number(&c, states, 1);  /* key frames alone */
    end(&c);
    size_t size = (size_t)(c.to - to);
    AV_WL32(to + size, av_crc(av_crc_get_table(AV_CRC_32_IEEE), 0, to, size));
    return size + 4;
}

size_t bd_ffv1_write_header(uint8_t *to, struct bd_rational aspect)
{
    struct coder c = begin(to);
    uint8_t states[contexts], state = 128, sentinel = 129;
    memset(states, 128, sizeof states);
    put_bit(&c, &state, true); /* key frame */
    for (int i = 0; i < 4; i++)
        put_number(&c, states, 0); /* the slice: place, and size less one, in slices */
    for (int i = 0; i < 2; i++)
        put_number(&c, states, 0); /* tables of luma, and of the chroma that there is not */
    put_number(&c, states, 3);     /* progressive */
    put_number(&c, states, (unsigned)aspect.num);
    put_number(&c, states, (unsigned)aspect.den);
    put_bit(&c, &sentinel, false);
    end(&c);
    return (size_t)(c.to - to);
}
