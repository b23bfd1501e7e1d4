#include "app/view/text.h"

#include <SDL_ttf.h>
#include <fontconfig/fontconfig.h>
#include <stdlib.h>
#include <string.h>

/* Sizes that are kept open: a font renders its letters anew when its size changes, which takes most
 * of a millisecond a frame. A line of known letters takes less than 20 microseconds. */
enum { FONTS = 3 };

struct font {
    TTF_Font *font; /* NULL: unused entry */
    int size;
    uint64_t used; /* the larger the more recently */
};

struct bd_view_text {
    SDL_Renderer *renderer; /* not owned */
    char *path;             /* of the font's file */
    long face;              /* index in the file */
    struct font fonts[FONTS];
    struct font *font; /* current; NULL before the first size is set */
    uint64_t clock;
};

/* Tries the i-th candidate; true if SDL2_ttf can open it. */
static bool try_font(struct bd_view_text *text, const FcPattern *candidate)
{
    FcChar8 *file;
    int face = 0;
    if (FcPatternGetString(candidate, FC_FILE, 0, &file) != FcResultMatch)
        return false;
    FcPatternGetInteger(candidate, FC_INDEX, 0, &face);
    TTF_Font *font = TTF_OpenFontIndex((const char *)file, 16, face & 0xffff);
    if (!font)
        return false;
    TTF_CloseFont(font);
    text->path = strdup((const char *)file);
    text->face = face & 0xffff;
    return text->path != NULL;
}

/* The first scalable font, best match first, that can be opened. DejaVu Sans and its like have
 * digits of one width, so that numbers do not jitter; any other sans serif will do. */
static bool find_font(struct bd_view_text *text)
{
    bool found = false;
    FcResult result;
    FcConfig *config = FcInitLoadConfigAndFonts();
    FcPattern *pattern = FcNameParse((const FcChar8 *)"DejaVu Sans,Noto Sans,Liberation Sans,"
                                                      "sans-serif:scalable=true:lang=en");
    if (config && pattern) {
        FcConfigSubstitute(config, pattern, FcMatchPattern);
        FcDefaultSubstitute(pattern);
        FcFontSet *set = FcFontSort(config, pattern, FcTrue, NULL, &result);
        for (int i = 0; set && i < set->nfont && !found; i++)
            found = try_font(text, set->fonts[i]);
        if (set)
            FcFontSetDestroy(set);
    }
    if (pattern)
        FcPatternDestroy(pattern);
    if (config)
        FcConfigDestroy(config);
    return found;
}

enum bd_status bd_view_text_create(struct bd_view_text **out, SDL_Renderer *renderer)
{
    *out = NULL;
    struct bd_view_text *text = calloc(1, sizeof *text);
    if (!text)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for text");
    text->renderer = renderer;
    if (TTF_Init() != 0) {
        free(text);
        return bd_fail(BD_ERROR_UNSUPPORTED, "no text in the window: %s", TTF_GetError());
    }
    if (!find_font(text)) {
        bd_view_text_destroy(&text);
        return bd_fail(BD_ERROR_UNSUPPORTED,
                       "no text in the window: no font was found (install fonts-dejavu-core)");
    }
    *out = text;
    return BD_OK;
}

void bd_view_text_destroy(struct bd_view_text **handle)
{
    struct bd_view_text *text = *handle;
    if (!text)
        return;
    for (int i = 0; i < FONTS; i++)
        if (text->fonts[i].font)
            TTF_CloseFont(text->fonts[i].font);
    TTF_Quit();
    free(text->path);
    free(text);
    *handle = NULL;
}

void bd_view_text_set_size(struct bd_view_text *text, int pixels)
{
    if (!text)
        return;
    struct font *oldest = &text->fonts[0];
    text->font = NULL;
    for (int i = 0; i < FONTS && !text->font; i++) {
        if (text->fonts[i].font && text->fonts[i].size == pixels)
            text->font = &text->fonts[i];
        else if (text->fonts[i].used < oldest->used)
            oldest = &text->fonts[i];
    }
    if (!text->font) {
        if (oldest->font)
            TTF_CloseFont(oldest->font);
        oldest->font = TTF_OpenFontIndex(text->path, pixels, text->face);
        oldest->size = pixels;
        text->font = oldest->font ? oldest : NULL;
    }
    if (text->font)
        text->font->used = ++text->clock;
}

int bd_view_text_line_height(const struct bd_view_text *text)
{
    return text && text->font ? TTF_FontLineSkip(text->font->font) : 0;
}

int bd_view_text_width(struct bd_view_text *text, const char *line)
{
    int width = 0;
    if (text && text->font)
        TTF_SizeUTF8(text->font->font, line, &width, NULL);
    return width;
}

void bd_view_text_draw(struct bd_view_text *text, int x, int y, SDL_Color color, const char *line)
{
    if (!text || !text->font)
        return;
    SDL_Surface *surface = TTF_RenderUTF8_Blended(text->font->font, line, color);
    SDL_Texture *texture = surface ? SDL_CreateTextureFromSurface(text->renderer, surface) : NULL;
    if (texture) {
        SDL_Rect at = { x, y, surface->w, surface->h };
        SDL_RenderCopy(text->renderer, texture, NULL, &at);
        SDL_DestroyTexture(texture);
    }
    SDL_FreeSurface(surface);
}
