/* The output that is a picture which summarises an export. Each row shows a moment: input,
 * background, mask and overlay side by side. The moments are spread over all frames and have most
 * foreground. */
#include <stdlib.h>
#include <string.h>

#include "app/export/output.h"
#include "video/scale.h"

/* Twice as many moments are kept as are drawn. When all are used, neighbours are merged in pairs,
 * and each moment covers twice as many frames from then on. The length of the film need not be
 * known. */
enum { rows = 5, moments = 2 * rows, kinds = 4, most_width = 320, gap = 4, ground = 24 };

struct moment {
    int64_t foreground; /* pixels; -1: empty */
    struct bd_frame cells[kinds];
};

struct sheet {
    int cell_width, cell_height;
    struct moment moments[moments];
    int count;       /* moments begun */
    int64_t span;    /* frames that a moment covers */
    int64_t in_last; /* frames added to the last one */
    struct bd_scaler *scalers[kinds];
    struct bd_frame picture; /* BD_RGB24, of all rows */
    struct bd_writer *writer;
};

/* Rows for which there is no frame stay dark. */
static enum bd_status create_picture(struct sheet *sheet)
{
    return bd_frame_create(&sheet->picture, kinds * sheet->cell_width + (kinds + 1) * gap,
                           rows * sheet->cell_height + (rows + 1) * gap, BD_RGB24);
}

static enum bd_status create_cells(struct sheet *sheet, int width, int height)
{
    sheet->cell_width = width < most_width ? width : most_width;
    sheet->cell_height = (int)((int64_t)height * sheet->cell_width / width);
    sheet->cell_height = sheet->cell_height > 0 ? sheet->cell_height : 1;
    sheet->span = 1;
    for (int i = 0; i < moments; i++)
        for (int k = 0; k < kinds; k++) {
            enum bd_status status = bd_frame_create(&sheet->moments[i].cells[k], sheet->cell_width,
                                                    sheet->cell_height, BD_RGB24);
            if (status)
                return status;
        }
    return BD_OK;
}

static void destroy(struct sheet *sheet)
{
    for (int k = 0; k < kinds; k++) {
        bd_scaler_destroy(&sheet->scalers[k]);
        for (int i = 0; i < moments; i++)
            bd_frame_destroy(&sheet->moments[i].cells[k]);
    }
    bd_frame_destroy(&sheet->picture);
    free(sheet);
}

static enum bd_status open_sheet(void **output, const char *path,
                                 const struct bd_output_setup *setup)
{
    struct bd_writer_options options = bd_output_writer(setup, BD_RGB24);
    struct sheet *sheet = calloc(1, sizeof *sheet);
    *output = NULL;
    if (!sheet)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for the contact sheet");
    enum bd_status status = create_cells(sheet, options.width, options.height);
    if (!status)
        status = create_picture(sheet);
    options.width = sheet->picture.width;
    options.height = sheet->picture.height;
    options.pixel_aspect = (struct bd_rational){ 1, 1 };
    if (!status)
        status = bd_writer_open(&sheet->writer, path, &options);
    if (status) {
        destroy(sheet);
        return status;
    }
    *output = sheet;
    return BD_OK;
}

/* Keeps the better one of each pair of neighbours; the buffers of the others become free. */
static void merge(struct sheet *sheet)
{
    struct moment sorted[moments];
    int kept = 0, spare = moments;
    for (int i = 0; i < moments; i++)
        if (i >= sheet->count)
            sheet->moments[i].foreground = -1;
    for (int i = 0; i < moments; i += 2) {
        struct moment *a = &sheet->moments[i], *b = &sheet->moments[i + 1];
        bool second = b->foreground > a->foreground;
        sorted[kept++] = second ? *b : *a;
        sorted[--spare] = second ? *a : *b;
    }
    memcpy(sheet->moments, sorted, sizeof sorted);
    sheet->count = (sheet->count + 1) / 2;
    sheet->in_last = 2 * sheet->in_last;
    sheet->span *= 2;
}

static enum bd_status add(void *output, const struct bd_result *result,
                          const struct bd_activity *activity)
{
    (void)activity;
    struct sheet *sheet = output;
    const struct bd_frame *pictures[kinds] = { result->input, result->background, result->mask,
                                               result->overlay };
    if (sheet->count == moments && sheet->in_last == sheet->span) {
        merge(sheet);
        sheet->in_last = sheet->span;
    }
    if (sheet->count == 0 || sheet->in_last == sheet->span) {
        sheet->moments[sheet->count++].foreground = -1;
        sheet->in_last = 0;
    }
    sheet->in_last++;
    struct moment *moment = &sheet->moments[sheet->count - 1];
    /* an eighth more, so that an approaching object is not scaled again in every frame */
    int64_t foreground = bd_mask_pixels(result->mask);
    if (moment->foreground >= 0 && foreground <= moment->foreground + moment->foreground / 8)
        return BD_OK;
    moment->foreground = foreground;
    for (int k = 0; k < kinds; k++) {
        enum bd_status status =
            bd_scale(&sheet->scalers[k], &moment->cells[k], pictures[k], BD_SCALE_AREA);
        if (status)
            return status;
    }
    return BD_OK;
}

/* The moments are divided among the rows, in order; a row shows the best one of its share. */
static const struct moment *best_for_row(const struct sheet *sheet, int row)
{
    int shown = sheet->count < rows ? sheet->count : rows;
    int from = row * sheet->count / shown, to = (row + 1) * sheet->count / shown;
    const struct moment *best = &sheet->moments[from];
    for (int i = from + 1; i < to; i++)
        if (sheet->moments[i].foreground > best->foreground)
            best = &sheet->moments[i];
    return best;
}

static void draw(struct sheet *sheet)
{
    struct bd_frame *picture = &sheet->picture;
    memset(picture->data, ground, (size_t)picture->stride * (size_t)picture->height);
    for (int i = 0; i < rows && i < sheet->count; i++) {
        const struct moment *moment = best_for_row(sheet, i);
        for (int k = 0; k < kinds; k++) {
            const struct bd_frame *cell = &moment->cells[k];
            int left = gap + k * (sheet->cell_width + gap);
            int top = gap + i * (sheet->cell_height + gap);
            for (int y = 0; y < cell->height; y++)
                memcpy(picture->data + (int64_t)(top + y) * picture->stride + 3 * left,
                       cell->data + (int64_t)y * cell->stride, (size_t)cell->width * 3);
        }
    }
}

static void keep_old(void *output)
{
    struct sheet *sheet = output;
    bd_writer_keep_old(sheet->writer);
}

static enum bd_status close_sheet(void **output, const struct bd_activity *activity)
{
    (void)activity;
    struct sheet *sheet = *output;
    enum bd_status status = BD_OK;
    if (!sheet)
        return BD_OK;
    if (sheet->count) {
        draw(sheet);
        status = bd_writer_write(sheet->writer, &sheet->picture);
    }
    status = bd_output_end_picture(&sheet->writer, status);
    destroy(sheet);
    *output = NULL;
    return status;
}

const struct bd_output_kind bd_contact_sheet_output = {
    .name = "contact-sheet",
    .option = offsetof(struct bd_options, contact_sheet),
    .wants = BD_WANT_BACKGROUND | BD_WANT_OVERLAY,
    .open = open_sheet,
    .write = add,
    .keep_old = keep_old,
    .close = close_sheet
};
