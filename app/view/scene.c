#include "app/view/scene.h"

#include "video/output/writer.h"

/* The grid: five pictures and a cell for the figures, all of the pictures' shape, as a block in the
 * middle of the window. */
struct grid {
    int columns, rows, x, y, cell_width, cell_height, gap;
};

/* Chooses the number of columns that makes the pictures largest. */
static struct grid make_grid(int width, int height, double shape, int gap)
{
    struct grid grid = { .columns = 3, .rows = 2, .gap = gap };
    double most = 0;
    for (int columns = 1; columns <= BD_PANES; columns++) {
        int rows = (BD_PANES + columns - 1) / columns;
        double w = (double)(width - (columns - 1) * gap) / columns;
        double h = (double)(height - (rows - 1) * gap) / rows;
        w = w < h * shape ? w : h * shape;
        if (w > most) {
            most = w;
            grid.columns = columns;
            grid.rows = rows;
        }
    }
    most = most > 1 ? most : 1;
    grid.cell_width = (int)most;
    grid.cell_height = (int)(most / shape) > 1 ? (int)(most / shape) : 1;
    grid.x = (width - grid.columns * (grid.cell_width + gap) + gap) / 2;
    grid.y = (height - grid.rows * (grid.cell_height + gap) + gap) / 2;
    return grid;
}

static SDL_Rect cell_of(const struct grid *grid, int i)
{
    SDL_Rect cell = { grid->x + i % grid->columns * (grid->cell_width + grid->gap),
                      grid->y + i / grid->columns * (grid->cell_height + grid->gap),
                      grid->cell_width, grid->cell_height };
    return cell;
}

static enum bd_status draw_grid(struct bd_view_panel *panel, const struct bd_view_scene *scene,
                                int width, int height)
{
    int gap = (int)(4 * bd_view_window_density(panel->window) + 0.5);
    const struct bd_frame *input = &scene->result->input;
    struct grid grid = make_grid(width, height, bd_view_window_shape(panel->window, input), gap);
    SDL_Rect cell, where;
    for (int i = 0; i < BD_PICTURES; i++) {
        cell = cell_of(&grid, i);
        enum bd_status status = bd_view_window_draw(panel->window, (enum bd_pane)i, scene->result,
                                                    scene->serial, &cell, &where);
        if (status != BD_OK)
            return status;
        if (scene->overlay)
            bd_view_panel_label(panel, &where, bd_pane_names[i]);
    }
    cell = cell_of(&grid, BD_PICTURES);
    if (scene->overlay)
        bd_view_panel_figures(panel, &cell, BD_PANE_ALL, &scene->figures);
    return BD_OK;
}

static enum bd_status draw_single(struct bd_view_panel *panel, const struct bd_view_scene *scene,
                                  const SDL_Rect *all)
{
    SDL_Rect where;
    enum bd_status status =
        bd_view_window_draw(panel->window, scene->pane, scene->result, scene->serial, all, &where);
    if (status == BD_OK && scene->overlay)
        bd_view_panel_figures(panel, all, scene->pane, &scene->figures);
    return status;
}

/* The input alone, whatever the pane: nothing else is known yet. */
static enum bd_status draw_first_frame(struct bd_view_panel *panel,
                                       const struct bd_view_scene *scene, const SDL_Rect *all)
{
    SDL_Rect where;
    enum bd_status status = bd_view_window_draw(panel->window, BD_PANE_INPUT, scene->first_frame,
                                                scene->serial, all, &where);
    if (status == BD_OK && scene->overlay)
        bd_view_panel_label(panel, &where, bd_pane_names[BD_PANE_INPUT]);
    if (!scene->message)
        bd_view_panel_message(panel, all, scene->waiting, false);
    return status;
}

enum bd_status bd_view_scene_draw(struct bd_view_panel *panel, const struct bd_view_scene *scene)
{
    const struct bd_view_figures *figures = &scene->figures;
    SDL_Rect all = { 0, 0, 0, 0 };
    enum bd_status status = BD_OK;
    bd_view_window_size(panel->window, &all.w, &all.h);
    bd_view_window_clear(panel->window);
    if (!scene->result && scene->first_frame)
        status = draw_first_frame(panel, scene, &all);
    else if (!scene->result)
        bd_view_panel_message(panel, &all, scene->waiting, true);
    else if (scene->pane == BD_PANE_ALL)
        status = draw_grid(panel, scene, all.w, all.h);
    else
        status = draw_single(panel, scene, &all);
    if (scene->result && scene->overlay && !figures->live && figures->duration > 0)
        bd_view_panel_progress(panel, &all, figures->position / figures->duration);
    if (scene->help)
        bd_view_panel_help(panel, &all);
    if (scene->message)
        bd_view_panel_message(panel, &all, scene->message, false);
    return status;
}

enum bd_status bd_view_scene_save(struct bd_view_panel *panel, const struct bd_view_scene *scene,
                                  const char *path)
{
    struct bd_frame picture = { 0 };
    enum bd_status status = bd_view_scene_draw(panel, scene);
    if (status == BD_OK)
        status = bd_view_window_capture(panel->window, &picture);
    if (status == BD_OK)
        status = bd_picture_write(path, &picture);
    bd_frame_destroy(&picture);
    return status;
}
