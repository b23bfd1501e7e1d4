/* The source for synth:NAME?size=WxH&seed=N&frames=N. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "video/input/source.h"
#include "video/scale.h"
#include "video/synth/synth.h"

static const char scheme[] = "synth:";

struct synth_source {
    struct bd_source base;
    const struct bd_synth_scene *scene;
    int width, height;
    uint64_t seed;
    int64_t frames; /* length */
    int64_t next;   /* index of the frame that `next` goes to */
    enum bd_pixel_format format;
    struct bd_frame colour; /* as rendered, where gray is wanted */
    struct bd_scaler *scaler;
};

/* Reads a whole number from `text` up to `stop`; false if it is not one of least..most. */
static bool parse_number(const char *text, const char *stop, int64_t least, int64_t most,
                         int64_t *number)
{
    char *end;
    long long value = strtoll(text, &end, 10);
    if (end == text || end != stop || text[0] == '+' || text[0] == ' ' || value < least ||
        value > most)
        return false;
    *number = value;
    return true;
}

/* Parses one "key=value" of the query, which ends at `stop`. */
static bool parse_setting(struct synth_source *s, const char *text, const char *stop)
{
    int64_t number = 0;
    if (strncmp(text, "seed=", 5) == 0) {
        if (!parse_number(text + 5, stop, 0, INT64_MAX, &number))
            return false;
        s->seed = (uint64_t)number;
        return true;
    }
    if (strncmp(text, "frames=", 7) == 0)
        return parse_number(text + 7, stop, 1, INT_MAX, &s->frames);
    if (strncmp(text, "size=", 5) == 0) {
        const char *by = memchr(text, 'x', (size_t)(stop - text));
        if (!by || !parse_number(text + 5, by, 16, 16384, &number))
            return false;
        s->width = (int)number;
        if (!parse_number(by + 1, stop, 16, 16384, &number))
            return false;
        s->height = (int)number;
        return true;
    }
    return false;
}

/* The names of all scenes, with commas between them. */
static void list_scenes(char *names, size_t size)
{
    names[0] = 0;
    for (const struct bd_synth_scene *scene = bd_synth_scenes; scene->name; scene++) {
        size_t length = strlen(names);
        snprintf(names + length, size - length, "%s%s", length ? ", " : "", scene->name);
    }
}

static enum bd_status parse(struct synth_source *s, const char *input)
{
    char name[64];
    const char *at = input + strlen(scheme);
    size_t length = strcspn(at, "?");
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), at);
    s->scene = length < sizeof name ? bd_synth_find(name) : NULL;
    if (!s->scene) {
        char names[300];
        list_scenes(names, sizeof names);
        return bd_fail(BD_ERROR_IO, "'%s': no such scene; there are %s", input, names);
    }
    s->width = s->scene->width;
    s->height = s->scene->height;
    s->frames = s->scene->frame_count;
    s->seed = 1;
    for (at += length; *at; at += length) {
        at++; /* ? or & */
        length = strcspn(at, "&");
        if (!parse_setting(s, at, at + length))
            return bd_fail(BD_ERROR_ARGUMENT,
                           "'%s': '%.*s' is not one of size=WxH (16 to 16384), seed=N, frames=N",
                           input, (int)length, at);
    }
    return BD_OK;
}

static void synth_close(struct bd_source **base)
{
    struct synth_source *s = (struct synth_source *)*base;
    bd_scaler_destroy(&s->scaler);
    bd_frame_destroy(&s->colour);
    free(s);
    *base = NULL;
}

static enum bd_status synth_open(struct bd_source **source, const char *input,
                                 const struct bd_reader_options *options,
                                 struct bd_reader_info *info)
{
    *source = NULL;
    if (options->input_option_count > 0)
        return bd_fail(BD_ERROR_ARGUMENT,
                       "unknown input option '%s' for '%s': it takes ?size=WxH&seed=N&frames=N",
                       options->input_options[0].key, input);
    struct synth_source *s = calloc(1, sizeof *s);
    if (!s)
        return bd_fail(BD_ERROR_MEMORY, "no memory to open '%s'", input);
    s->base.ops = &bd_source_synth;
    s->format = options->format;
    struct bd_source *base = &s->base;
    enum bd_status status = parse(s, input);
    if (status != BD_OK) {
        synth_close(&base);
        return status;
    }
    *info = (struct bd_reader_info){
        .width = s->width,
        .height = s->height,
        .time_base = { 1, s->scene->fps },
        .frame_rate = { s->scene->fps, 1 },
        .pixel_aspect = { 1, 1 },
        .frame_count = s->frames,
        .duration = (double)s->frames / s->scene->fps,
        .seekable = true,
        .codec = "rendered",
        .container = "synth",
    };
    *source = base;
    return BD_OK;
}

static enum bd_status synth_next(struct bd_source *base, int64_t wanted, int64_t *pts,
                                 int64_t *duration)
{
    struct synth_source *s = (struct synth_source *)base;
    (void)wanted;
    if (s->next >= s->frames)
        return BD_END;
    *pts = s->next++;
    *duration = 1;
    return BD_OK;
}

static enum bd_status synth_picture(struct bd_source *base, struct bd_frame *frame)
{
    struct synth_source *s = (struct synth_source *)base;
    int64_t index = s->next - 1;
    if (s->format == BD_RGB24)
        return bd_synth_render(s->scene, s->width, s->height, s->seed, index, frame, NULL);
    enum bd_status status =
        bd_synth_render(s->scene, s->width, s->height, s->seed, index, &s->colour, NULL);
    if (status == BD_OK)
        status = bd_frame_ensure(frame, s->width, s->height, s->format);
    if (status == BD_OK)
        status = bd_scale(&s->scaler, frame, &s->colour, BD_SCALE_BILINEAR);
    return status;
}

static enum bd_status synth_seek(struct bd_source *base, int64_t target)
{
    struct synth_source *s = (struct synth_source *)base;
    s->next = target < 0 ? 0 : target < s->frames ? target : s->frames;
    return BD_OK;
}

static bool synth_claims(const char *input, const struct bd_reader_options *options)
{
    return !options->input_format && strncmp(input, scheme, strlen(scheme)) == 0;
}

const struct bd_source_ops bd_source_synth = {
    .claims = synth_claims,
    .open = synth_open,
    .next = synth_next,
    .picture = synth_picture,
    .seek = synth_seek,
    .close = synth_close,
};
