#include "app/export/contact_sheet.h"

#include <stdlib.h>
#include <string.h>

#include "video/scale.h"

/* Twice as many moments are kept as are drawn. When all are used, neighbours are merged in pairs,
 * and each moment covers twice as many frames from then on. The length of the film need not be
 * known. */
enum { rows = 5, moments = 2 * rows, kinds = 4, most_width = 320, gap = 4, ground = 24 };

struct moment {
    int64_t foreground; /* pixels; -1: empty */
    struct bd_frame cells[kinds];
};

struct bd_contact_sheet {
    int cell_width, cell_height;
    struct moment moments[moments];
    int count;       /* moments begun */
    int64_t span;    /* frames that a moment covers */
    int64_t in_last; /* frames added to the last one */
    struct bd_scaler *scalers[kinds];
};

enum bd_status bd_contact_sheet_create(struct bd_contact_sheet **sheet, int width, int height)
{
    struct bd_contact_sheet *self = calloc(1, sizeof *self);
    *sheet = NULL;
    if (!self)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for the contact sheet");
    self->cell_width = width < most_width ? width : most_width;
    self->cell_height = (int)((int64_t)height * self->cell_width / width);
    self->cell_height = self->cell_height > 0 ? self->cell_height : 1;
    self->span = 1;
    for (int i = 0; i < moments; i++)
        for (int k = 0; k < kinds; k++) {
            enum bd_status status = bd_frame_create(&self->moments[i].cells[k], self->cell_width,
                                                    self->cell_height, BD_RGB24);
            if (status) {
                bd_contact_sheet_destroy(&self);
                return status;
            }
        }
    *sheet = self;
    return BD_OK;
}

void bd_contact_sheet_destroy(struct bd_contact_sheet **sheet)
{
    struct bd_contact_sheet *self = *sheet;
    if (!self)
        return;
    for (int k = 0; k < kinds; k++) {
        bd_scaler_destroy(&self->scalers[k]);
        for (int i = 0; i < moments; i++)
            bd_frame_destroy(&self->moments[i].cells[k]);
    }
    free(self);
    *sheet = NULL;
}

/* Keeps the better one of each pair of neighbours; the buffers of the others become free. */
static void merge(struct bd_contact_sheet *sheet)
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

enum bd_status bd_contact_sheet_add(struct bd_contact_sheet *sheet, const struct bd_result *result)
{
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
    if (moment->foreground >= 0 &&
        result->foreground_pixels <= moment->foreground + moment->foreground / 8)
        return BD_OK;
    moment->foreground = result->foreground_pixels;
    for (int k = 0; k < kinds; k++) {
        enum bd_status status =
            bd_scale(&sheet->scalers[k], &moment->cells[k], pictures[k], BD_SCALE_AREA);
        if (status)
            return status;
    }
    return BD_OK;
}

void bd_contact_sheet_size(const struct bd_contact_sheet *sheet, int *width, int *height)
{
    *width = kinds * sheet->cell_width + (kinds + 1) * gap;
    *height = rows * sheet->cell_height + (rows + 1) * gap;
}

/* The moments are divided among the rows, in order; a row shows the best one of its share. */
static const struct moment *best_for_row(const struct bd_contact_sheet *sheet, int row)
{
    int shown = sheet->count < rows ? sheet->count : rows;
    int from = row * sheet->count / shown, to = (row + 1) * sheet->count / shown;
    const struct moment *best = &sheet->moments[from];
    for (int i = from + 1; i < to; i++)
        if (sheet->moments[i].foreground > best->foreground)
            best = &sheet->moments[i];
    return best;
}

enum bd_status bd_contact_sheet_draw(struct bd_contact_sheet *sheet, struct bd_frame *picture)
{
    int width, height;
    bd_contact_sheet_size(sheet, &width, &height);
    if (picture->width != width || picture->height != height || picture->format != BD_RGB24)
        return bd_fail(BD_ERROR_ARGUMENT, "contact sheet: the picture must be %dx%d RGB", width,
                       height);
    memset(picture->data, ground, (size_t)picture->stride * (size_t)height);
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
    return BD_OK;
}
