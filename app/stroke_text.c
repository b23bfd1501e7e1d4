#include "app/stroke_text.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* A glyph is a list of strokes, separated by spaces; a stroke is a list of points; a point is two
 * characters, x and y in units of a twelfth of the height of a capital: 0 to 9, then a to g. y
 * counts down from the top of the capitals: 4 is the top of small letters, c (12) the baseline, g
 * the bottom of a g. In the order of ASCII, from the space on. */
/* clang-format off */
static const char *const glyphs['~' - ' ' + 1] = {
    "", "0008 0b0c", "0003 3033", "201c 605c 0474 0878", /*   ! " # */
    "7261403011031567796b4c3c1b0a 404c", "2042240220 800c 688a6c4a68", /* $ % */
    "8c141220405253080a2c4c87", "0003", "301306081b3e", "002326282b0e", /* & ' ( ) */
    "3137 0266 6206", "343c 0878", "1b1c0e", "0848", "0b0c", "500e", /* * + , - . / */
    "205073795c2c090320", "13404c", /* 0 1 */
    "02205072740c7c", "022050727456 3656 56787a5c2c0a", /* 2 3 */
    "5c500979", "6010062555777a5c2c0a", "61503012050a2c5c7a77552507", "00703c", /* 4 5 6 7 */
    "205072745626040220 26080a2c5c7a7856", "1b2c4c6a777250200205275775", "0506 0b0c", /* 8 9 : */
    "1516 1b1c0e", "64086c", "0666 0a6a", "04680c", "02204062643739 3b3c", /* ; < = > ? */
    "8b6c3c090330608388796864 654436374968", "0c408c 1878", "0c0050727456 0656787a5c0c", /* @ A B */
    "827150301204081a3c5c7b8a", "0c00407284887a4c0c", "70000c7c 0656", "70000c 0656", /* C D E F */
    "827150301204081a3c5c7b8a8757", "000c 808c 0686", "000c", "50594b3c2c1b0a", /* G H I J */
    "000c 7008 357c", "000c7c", /* K L */
    "0c0058a0ac", "0c008c80", "30507284887a5c3c1a08041230", /* M N O */
    "0c005072755707", "30507284887a5c3c1a08041230 598c", "0c005072755707 477c", /* P Q R */
    "7261403011031567796b4c3c1b0a", "0080 404c", "00081a3c5c7a8880", "004c80", /* S T U V */
    "003c629cc0", "008c 800c", "004680 464c", "00800c8c", "30000e3e", "005e", /* W X Y Z [ \ */
    "00303e0e", "033063", "0e8e", "0022", "646c 664424060a2c4c6a", /* ] ^ _ ` a */
    "000c 062444666a4c2c0a", "664424060a2c4c6a", "606c 664424060a2c4c6a", /* b c d */
    "0868664424060a2c4c6b", "5040222c 0444", "646e4g2g0f 664424060a2c4c6a", /* e f g */
    "000c 062444666c", "040c 0001", "242e1g0g 2021", "000c 6409 276c", "000a1c2c", /* h i j k l */
    "040c 062434565c 567484a6ac", "040c 062444666c", "2444666a4c2c0a0624", /* m n o */
    "040g 062444666a4c2c0a", "646g 664424060a2c4c6a", "040c 072444", /* p q r */
    "55441405071848595b4c1c0b", "212a3c5c 0454", "040a2c4c6a 646c", "043c64", /* s t u v */
    "042c558ca4", "046c 640c", "043c 642e1g0g", /* w x y */
    "04640c6c", "40212507292d4e", "000e", /* z { | */
    "00212547292d0e", "09275977", /* } ~ */
};
/* clang-format on */

static const char box[] = "00707c0c00";

enum { digit_width = 7, space_width = 4, between = 4, below = 5 };
static const double units = 12, pen = 0.75; /* of a capital; half the width of a stroke */

static int unit(char c)
{
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

/* Returns the glyph of the character at *text and moves *text behind it. */
static const char *next_glyph(const char **text, int *width)
{
    unsigned char c = (unsigned char)*(*text)++;
    const char *glyph = box;
    if (c >= ' ' && c <= '~')
        glyph = glyphs[c - ' '];
    else
        while (((unsigned char)**text & 0xc0) == 0x80) /* the rest of an UTF-8 character */
            (*text)++;
    *width = *glyph ? 0 : space_width;
    for (const char *p = glyph; *p; p += p[2] == ' ' ? 3 : 2)
        *width = unit(p[0]) > *width ? unit(p[0]) : *width;
    if (c >= '0' && c <= '9')
        *width = digit_width;
    return glyph;
}

double bd_stroke_text_width(double size, const char *text)
{
    double sum = 0;
    int width;
    while (*text) {
        next_glyph(&text, &width);
        sum += width + (*text ? between : 0);
    }
    return sum * size / units;
}

/* Square of the distance of (x, y) from the line from (ax, ay) to (bx, by). */
static double from_line(double x, double y, double ax, double ay, double bx, double by)
{
    double dx = bx - ax, dy = by - ay, length = dx * dx + dy * dy;
    double t = length > 0 ? ((x - ax) * dx + (y - ay) * dy) / length : 0;
    t = fmin(1, fmax(0, t));
    dx = ax + t * dx - x;
    dy = ay + t * dy - y;
    return dx * dx + dy * dy;
}

/* Distance of a point from the nearest stroke, in units. */
static double from_glyph(const char *glyph, double x, double y)
{
    double least = 1e9;
    for (const char *p = glyph; *p && p[2]; p += p[4] == ' ' ? 5 : p[4] ? 2 : 4)
        least = fmin(least, from_line(x, y, unit(p[0]), unit(p[1]), unit(p[2]), unit(p[3])));
    return sqrt(least);
}

static void draw_glyph(struct bd_frame *picture, const char *glyph, int width, double left,
                       double top, double scale, struct bd_stroke_color color)
{
    const uint8_t ink[3] = { color.red, color.green, color.blue };
    int from_x = (int)fmax(0, left - 2), from_y = (int)fmax(0, top - 2);
    int to_x = (int)fmin(picture->width - 1, left + width * scale + 2);
    int to_y = (int)fmin(picture->height - 1, top + (units + below) * scale + 2);
    for (int y = from_y; y <= to_y; y++)
        for (int x = from_x; x <= to_x; x++) {
            double distance = from_glyph(glyph, (x + 0.5 - left) / scale, (y + 0.5 - top) / scale);
            double cover = fmin(1, fmax(0, (pen - distance) * scale + 0.5));
            uint8_t *pixel = picture->data + y * picture->stride + (int64_t)3 * x;
            for (int c = 0; c < 3; c++)
                pixel[c] = (uint8_t)lround(pixel[c] + cover * (ink[c] - pixel[c]));
        }
}

void bd_stroke_text_draw(struct bd_frame *picture, double left, double top, double size,
                         struct bd_stroke_color color, const char *text)
{
    double scale = size / units;
    int width;
    while (*text) {
        const char *glyph = next_glyph(&text, &width);
        draw_glyph(picture, glyph, width, left, top, scale, color);
        left += (width + between) * scale;
    }
}
