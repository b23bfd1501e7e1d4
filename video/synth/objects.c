/* Which object each pixel of the truth belongs to. */
#include "video/synth/world.h"

#include <string.h>

/* Coverage from which a pixel belongs to an object, as in bd_synth_finish_truth. */
enum { HALF = 64 };

/* A frame whose owners are looked for. */
struct search {
    const struct bd_synth_scene *scene;
    uint32_t look;
    int64_t index;
    struct bd_frame truth;   /* of all objects */
    struct bd_frame share;   /* what one of them covers, as painting leaves it */
    struct bd_frame most;    /* the largest share so far */
    struct bd_frame *owners; /* actors' numbers */
};

/* Paints what the actor `only` covers into search->share. */
static enum bd_status paint_share(struct search *search, int only, bool alone)
{
    struct bd_frame *share = &search->share;
    const struct bd_synth_canvas canvas = {
        .truth = share, .width = share->width, .height = share->height, .only = only, .alone = alone
    };
    return bd_synth_paint_view(&canvas, search->scene, search->look, search->index);
}

/* The pixels of the share that are covered by `least` or more. */
static int64_t count_covered(const struct bd_frame *share, int least)
{
    int64_t pixels = 0;
    for (int y = 0; y < share->height; y++)
        for (int x = 0; x < share->width; x++)
            pixels += share->data[y * share->stride + x] >> 1 >= least;
    return pixels;
}

/* Gives the actor the pixels of which it covers more than those before, which are behind it. */
static void claim(struct search *search, int only)
{
    for (int y = 0; y < search->share.height; y++) {
        const uint8_t *truth = search->truth.data + y * search->truth.stride;
        const uint8_t *share = search->share.data + y * search->share.stride;
        uint8_t *most = search->most.data + y * search->most.stride;
        uint8_t *owner = search->owners->data + y * search->owners->stride;
        for (int x = 0; x < search->share.width; x++) {
            int covered = share[x] >> 1;
            if (truth[x] != 255 || !covered || covered < most[x])
                continue;
            most[x] = (uint8_t)covered;
            owner[x] = (uint8_t)only;
        }
    }
}

/* Box and number of the pixels that belong to the actor; they become `label`. Returns whether there
 * are any. */
static bool measure(struct bd_frame *owners, int only, int label, struct bd_synth_object *object)
{
    int left = owners->width, right = -1, top = owners->height, bottom = -1;
    for (int y = 0; y < owners->height; y++) {
        uint8_t *row = owners->data + y * owners->stride;
        for (int x = 0; x < owners->width; x++) {
            if (row[x] != only)
                continue;
            row[x] = (uint8_t)label;
            object->visible++;
            left = x < left ? x : left;
            right = x > right ? x : right;
            top = y < top ? y : top;
            bottom = y;
        }
    }
    object->x = left;
    object->y = top;
    object->width = right - left + 1;
    object->height = bottom - top + 1;
    return object->visible > 0;
}

/* Finds the owner of each pixel; whole[only - 1] is what an actor covers if nothing hides it. */
static enum bd_status find_owners(struct search *search, int64_t width, int64_t *whole)
{
    enum bd_status status = BD_OK;
    memset(search->most.data, 0, (size_t)(search->most.stride * search->most.height));
    memset(search->owners->data, 0, (size_t)(search->owners->stride * search->owners->height));
    for (int only = 1; only <= BD_SYNTH_MOST_OBJECTS && !status; only++) {
        if (!bd_synth_passage(search->scene, only, search->index, width))
            continue;
        status = paint_share(search, only, true);
        whole[only - 1] = status ? 0 : count_covered(&search->share, HALF);
        if (status || count_covered(&search->share, 1) == 0)
            continue;
        status = paint_share(search, only, false);
        if (!status)
            claim(search, only);
    }
    return status;
}

static enum bd_status open_search(struct search *search, int width, int height)
{
    enum bd_status status = bd_frame_create(&search->share, width, height, BD_GRAY8);
    if (!status)
        status = bd_frame_create(&search->most, width, height, BD_GRAY8);
    return status ? status : bd_frame_ensure(search->owners, width, height, BD_GRAY8);
}

enum bd_status bd_synth_find_objects(const struct bd_synth_scene *scene, int width, int height,
                                     uint64_t seed, int64_t index,
                                     struct bd_synth_object objects[BD_SYNTH_MOST_OBJECTS],
                                     int *count, struct bd_frame *owners)
{
    int64_t whole[BD_SYNTH_MOST_OBJECTS] = { 0 };
    struct bd_frame own = { 0 };
    struct search search = { .scene = scene,
                             .look = bd_synth_look(seed),
                             .index = index,
                             .owners = owners ? owners : &own };
    *count = 0;
    enum bd_status status = bd_synth_render(scene, width, height, seed, index, NULL, &search.truth);
    width = search.truth.width;
    height = search.truth.height;
    if (!status)
        status = open_search(&search, width, height);
    int64_t painted = status ? 0 : bd_synth_painted_width(scene, width, height);
    if (!status)
        status = find_owners(&search, painted, whole);
    for (int only = 1; only <= BD_SYNTH_MOST_OBJECTS && !status; only++) {
        struct bd_synth_object object = { .number = bd_synth_passage(scene, only, index, painted),
                                          .whole = whole[only - 1] };
        if (measure(search.owners, only, *count + 1, &object))
            objects[(*count)++] = object;
    }
    bd_frame_destroy(&search.truth);
    bd_frame_destroy(&search.share);
    bd_frame_destroy(&search.most);
    bd_frame_destroy(&own);
    return status;
}
