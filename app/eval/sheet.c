#include "app/eval/sheet.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "video/output/writer.h"

/* Most sequences on a sheet: viewers cannot open pictures of any height. */
enum { most_sequences = 60 };

/* Pixels. A caption is above its picture. */
enum {
    margin = 16,
    gap = 8,
    swatch = 12,
    title_size = 16,
    title_height = 56,
    name_size = 14,
    name_height = 38,
    caption_size = 10,
    caption_height = 25,
    section_gap = 18
};

static const struct bd_stroke_color ground = { 24, 24, 24 };
static const struct bd_stroke_color bright = { 240, 240, 240 };
static const struct bd_stroke_color dim = { 160, 160, 160 };
static const struct bd_stroke_color line = { 70, 70, 70 };

/* A sheet while it is drawn. */
struct pen {
    struct bd_frame *sheet;
    const struct bd_eval_plan *plan;
    int y; /* top of what comes next */
};

static int columns(const struct bd_eval_plan *plan)
{
    return BD_WORST_PEERS + plan->setup.peer_count;
}

static int column_left(int column)
{
    return margin + column * (bd_worst_side + gap);
}

static void fill(struct bd_frame *sheet, int left, int top, int width, int height,
                 struct bd_stroke_color color)
{
    for (int y = top; y < top + height; y++)
        for (int x = left; x < left + width; x++)
            memcpy(sheet->data + y * sheet->stride + (int64_t)3 * x, &color, 3);
}

/* A number with spaces between its thousands. */
static const char *grouped(char *text, size_t size, int64_t number)
{
    char digits[32];
    size_t used = 0;
    int length = snprintf(digits, sizeof digits, "%" PRId64, number);
    for (int i = 0; i < length && used + 2 < size; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            text[used++] = ' ';
        text[used++] = digits[i];
    }
    text[used] = 0;
    return text;
}

static double write_text(const struct pen *pen, double left, int top, double size,
                         struct bd_stroke_color color, const char *text)
{
    bd_stroke_text_draw(pen->sheet, left, top, size, color, text);
    return left + bd_stroke_text_width(size, text);
}

/* The title, and what the colours mean; with `hidden`, how many sequences did not fit. */
static void draw_title(struct pen *pen, int shown, int hidden)
{
    char text[128];
    const struct {
        struct bd_stroke_color color;
        const char *text;
    } legend[] = { { bd_worst_found, "found" },
                   { bd_worst_missed, "missed" },
                   { bd_worst_wrong, "wrongly found" },
                   { bd_worst_unscored, "not scored" } };
    double x = write_text(pen, margin, margin, title_size, bright, "Worst frames");
    x += 3 * margin;
    for (size_t i = 0; i < sizeof legend / sizeof *legend; i++) {
        int top = margin + title_size - swatch;
        fill(pen->sheet, (int)x, top, swatch, swatch, legend[i].color);
        x = write_text(pen, x + swatch + gap, top + (swatch - caption_size) / 2, caption_size, dim,
                       legend[i].text);
        x += 2 * margin;
    }
    snprintf(text, sizeof text, "the %d of %d sequences with the least F", shown, shown + hidden);
    if (hidden)
        write_text(pen, x + margin, margin + title_size - swatch + (swatch - caption_size) / 2,
                   caption_size, dim, text);
    pen->y = title_height;
}

/* The name of the sequence, its scores, and what its columns show. */
static void draw_heading(struct pen *pen, const struct bd_eval_job *job)
{
    static const char *const titles[] = { "input", "background", "truth", "Backdrop" };
    char text[256];
    const struct bd_eval_setup *setup = &pen->plan->setup;
    fill(pen->sheet, margin, pen->y - section_gap / 2, pen->sheet->width - 2 * margin, 1, line);
    double x = write_text(pen, margin, pen->y + gap, name_size, bright, job->name);
    const struct bd_score *score = &job->ours.score;
    snprintf(text, sizeof text, "precision %.3f   recall %.3f   %" PRId64 " frames%s",
             bd_score_precision(score), bd_score_recall(score), score->frames,
             job->ours.status ? ", not all" : "");
    write_text(pen, x + 2 * margin, pen->y + gap + (name_size - caption_size), caption_size, dim,
               text);
    pen->y += name_height;
    for (int i = 0; i < columns(pen->plan); i++) {
        int peer = i - BD_WORST_PEERS;
        const char *title = peer < 0 ? titles[i] : setup->peers[peer].name;
        x = write_text(pen, column_left(i), pen->y, caption_size, bright, title);
        if (i < BD_WORST_MASK)
            continue;
        bool scored = peer < 0 || job->peers[peer].status == BD_OK;
        score = peer < 0 ? &job->ours.score : &job->peers[peer].score;
        snprintf(text, sizeof text, scored ? "F %.4f" : "not scored", bd_score_f_measure(score));
        write_text(pen, x + margin, pen->y, caption_size, bright, text);
    }
    pen->y += caption_height;
}

static void draw_picture(const struct pen *pen, int left, const struct bd_frame *picture)
{
    for (int y = 0; y < picture->height; y++)
        memcpy(pen->sheet->data + (pen->y + y) * pen->sheet->stride + (int64_t)3 * left,
               picture->data + y * picture->stride, (size_t)picture->width * 3);
}

/* "F 0.712   missed 1 033   wrong 812" */
static void describe(char *text, size_t size, const struct bd_score *score)
{
    char missed[40], wrong[40];
    snprintf(text, size, "F %.3f   missed %s   wrong %s", bd_score_f_measure(score),
             grouped(missed, sizeof missed, score->fn), grouped(wrong, sizeof wrong, score->fp));
}

static void draw_row(struct pen *pen, const struct bd_worst_frame *frame)
{
    char text[256], moving[40];
    const struct bd_score *ours = &frame->scores[0];
    snprintf(text, sizeof text, "frame %" PRId64, frame->number);
    write_text(pen, margin, pen->y, caption_size, dim, text);
    snprintf(text, sizeof text, "%s pixels move",
             grouped(moving, sizeof moving, ours->tp + ours->fn));
    write_text(pen, column_left(BD_WORST_TRUTH), pen->y, caption_size, dim, text);
    for (int i = BD_WORST_MASK; i < columns(pen->plan); i++) {
        if (!frame->pictures[i].data)
            continue;
        describe(text, sizeof text, &frame->scores[i - BD_WORST_MASK]);
        write_text(pen, column_left(i), pen->y, caption_size, dim, text);
    }
    pen->y += caption_height - gap;
    for (int i = 0; i < columns(pen->plan); i++)
        if (frame->pictures[i].data)
            draw_picture(pen, column_left(i), &frame->pictures[i]);
    pen->y += frame->pictures[BD_WORST_INPUT].height + gap;
}

static void draw_section(struct pen *pen, const struct bd_eval_job *job)
{
    draw_heading(pen, job);
    for (int i = 0; i < bd_worst_count(job->worst); i++)
        draw_row(pen, bd_worst_get(job->worst, i));
    if (bd_worst_count(job->worst) == 0) {
        write_text(pen, margin, pen->y, caption_size, dim, "no pixel is wrong");
        pen->y += caption_height;
    }
    pen->y += section_gap;
}

static int section_height(const struct bd_eval_job *job)
{
    int height = name_height + caption_height + section_gap;
    if (bd_worst_count(job->worst) == 0)
        return height + caption_height;
    for (int i = 0; i < bd_worst_count(job->worst); i++)
        height += caption_height + bd_worst_get(job->worst, i)->pictures[BD_WORST_INPUT].height;
    return height;
}

/* How many sequences are worse than this one. */
static int rank_of(const struct bd_eval_plan *plan, const struct bd_eval_job *job)
{
    double f = bd_score_f_measure(&job->ours.score);
    int rank = 0;
    for (const struct bd_eval_job *other = plan->jobs; other < plan->jobs + plan->count; other++) {
        double g = bd_score_f_measure(&other->ours.score);
        rank += other->worst && (g < f || (g == f && other < job));
    }
    return rank;
}

static bool is_shown(const struct bd_eval_plan *plan, const struct bd_eval_job *job)
{
    return job->worst && rank_of(plan, job) < most_sequences;
}

enum bd_status bd_eval_sheet_draw(struct bd_frame *sheet, const struct bd_eval_plan *plan)
{
    struct pen pen = { .sheet = sheet, .plan = plan };
    int width = column_left(columns(plan)) - gap + margin, height = title_height;
    int shown = 0, scored = 0;
    for (int i = 0; i < plan->count; i++) {
        scored += plan->jobs[i].worst != NULL;
        if (!is_shown(plan, &plan->jobs[i]))
            continue;
        shown++;
        height += section_height(&plan->jobs[i]);
    }
    enum bd_status status = bd_frame_ensure(sheet, width, height, BD_RGB24);
    if (status)
        return status;
    fill(sheet, 0, 0, width, height, ground);
    draw_title(&pen, shown, scored - shown);
    for (int i = 0; i < plan->count; i++)
        if (is_shown(plan, &plan->jobs[i]))
            draw_section(&pen, &plan->jobs[i]);
    return BD_OK;
}

enum bd_status bd_eval_sheet_write(const struct bd_eval_plan *plan, const char *path)
{
    struct bd_frame sheet = { 0 };
    enum bd_status status = bd_eval_sheet_draw(&sheet, plan);
    if (!status)
        status = bd_picture_write(path, &sheet);
    bd_frame_destroy(&sheet);
    return status ? bd_fail(status, "--contact-sheet %s", bd_error_detail()) : BD_OK;
}
