/* The live separator on the GPU: the kernels of an ordinary frame's step as four CUDA graphs, each
 * on a stream of its own: w; what is foreground; what of it is not small; the mask. Four launches
 * replace seventeen, or eighteen with colour. The parts of a frame overlap with later parts of the
 * frame before. What one part leaves for the next is there twice (struct bd_sep_turn), and no part
 * reads what a later one writes, but for noise levels: those learned from the frame before do not
 * count yet. With other separators, which keep the GPU busy meanwhile, all of a step is one graph.
 * Rare steps (the window fills or slides, a seek, other parameters) are enqueued kernel by kernel:
 * that is the plain version, bit for bit the same. */
#include <string.h>

#include "gpu/separation/state.cuh"

static const char *const what = "the graph of a frame's step";

static void drop(cudaGraphExec_t *exec)
{
    if (*exec)
        cudaGraphExecDestroy(*exec); /* a graph that runs is kept until it is done */
    *exec = NULL;
}

void bd_sep_drop_graphs(struct bd_cuda_separator *s)
{
    for (int together = 0; together < 2; together++)
        for (int b = 0; b < bd_sep_buffers; b++)
            for (int i = 0; i < s->set_count; i++)
                for (int turn = 0; turn < bd_sep_turns; turn++)
                    for (int part = 0; part < bd_sep_graph_parts; part++)
                        drop(&s->graphs[together][b][i][turn].exec[part]);
}

enum bd_status bd_sep_settle(struct bd_cuda_separator *s, enum bd_sep_share share)
{
    s->behind = 1;
    if (!s->sliding)
        return BD_OK;
    s->sliding = share != bd_sep_share_all;
    return bd_cuda_check(cudaStreamWaitEvent(s->cuda->stream, s->slid[share], 0),
                         "joining a slide");
}

/* Exchanges the streams, for the calls in between. Beside frames of other separators, which keep
 * the GPU busy, nothing is gained by it. */
enum bd_status bd_cuda_sep_beside(void *arg, int begin)
{
    struct bd_cuda_separator *s = (struct bd_cuda_separator *)arg;
    cudaError_t error = cudaSuccess;
    if (begin && !s->together) {
        error = cudaEventRecord(s->settled, s->cuda->stream);
        if (error == cudaSuccess)
            error = cudaStreamWaitEvent(s->side, s->settled, 0);
        if (error == cudaSuccess) {
            s->ahead = s->cuda->stream;
            s->cuda->stream = s->side;
        }
    } else if (!begin && s->ahead) {
        s->cuda->stream = s->ahead;
        s->ahead = NULL;
        s->sliding = 1;
        error = cudaEventRecord(s->slid[bd_sep_share_all], s->side);
    }
    return bd_cuda_check(error, "a slide beside frames");
}

/* One part, from the buffer of the frame in hand to the set in hand, with the rates that were
 * uploaded with the frame. */
static enum bd_status enqueue_part(struct bd_cuda_separator *s, const struct bd_sep_step *step,
                                   int part)
{
    const struct bd_sep_rates *rates = bd_sep_rates_of(s, s->frames[s->buffer]);
    switch (part) {
    case bd_sep_graph_fit:
        return bd_cuda_sep_project(s, step->rounds, step->lambda);
    case bd_sep_graph_find:
        return bd_sep_find_at(s, &step->params, step->learn, rates);
    case bd_sep_graph_filter:
        return bd_sep_filter_at(s, &step->params, rates);
    default:
        return bd_sep_clean_at(s, &step->params, step->learn, rates);
    }
}

/* The work of a graph. With other separators: all parts and the transfers in the last one. */
static enum bd_status enqueue(struct bd_cuda_separator *s, const struct bd_sep_step *step, int part)
{
    if (!s->together)
        return enqueue_part(s, step, part);
    s->cuda->crowded = 1;
    enum bd_status status = bd_sep_upload_here(s);
    for (int i = 0; i < bd_sep_graph_parts && status == BD_OK; i++)
        status = enqueue_part(s, step, i);
    if (status == BD_OK)
        status = bd_sep_download_here(s);
    s->cuda->crowded = 0;
    return status;
}

/* Leaves NULL in to->exec[part] where another thread captures or waits for all of the GPU. */
static enum bd_status capture_part(struct bd_cuda_separator *s, const struct bd_sep_step *step,
                                   struct bd_sep_graph *to, int part)
{
    cudaStream_t stream = s->cuda->stream;
    cudaGraph_t graph = NULL;
    drop(&to->exec[part]);
    if (!bd_cuda_begin_capture())
        return BD_OK;
    /* Other threads, of another separator, may use the GPU during the capture. */
    enum bd_status status =
        bd_cuda_check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), what);
    if (status == BD_OK)
        status = enqueue(s, step, part);
    cudaError_t error = cudaStreamEndCapture(stream, &graph); /* after a failure too */
    const bool broken = error == cudaErrorStreamCaptureInvalidated;
    if (status == BD_OK && !broken)
        status = bd_cuda_check(error, what);
    else
        cudaGetLastError(); /* the first failure is reported; later checks must not see another */
    bd_cuda_end_capture();
    if (status == BD_OK && graph)
        status = bd_cuda_check(cudaGraphInstantiate(&to->exec[part], graph, 0), what);
    if (graph)
        cudaGraphDestroy(graph);
    return broken ? BD_OK : status;
}

/* The first part that has a graph of its own. */
static int first_part(const struct bd_cuda_separator *s)
{
    return s->together ? bd_sep_graph_clean : bd_sep_graph_fit;
}

static enum bd_status capture(struct bd_cuda_separator *s, const struct bd_sep_step *step,
                              struct bd_sep_graph *to)
{
    enum bd_status status = BD_OK;
    drop(&to->exec[bd_sep_graph_clean]);
    for (int part = first_part(s); part < bd_sep_graph_parts && status == BD_OK; part++)
        status = capture_part(s, step, to, part);
    to->step = *step;
    return status;
}

/* Launches a graph, or enqueues its work kernel by kernel where there is none. */
static enum bd_status launch_part(struct bd_cuda_separator *s, const struct bd_sep_graph *graph,
                                  int part, cudaStream_t stream)
{
    if (graph->exec[part])
        return bd_cuda_check(cudaGraphLaunch(graph->exec[part], stream), what);
    cudaStream_t kept = s->cuda->stream;
    s->cuda->stream = stream;
    enum bd_status status = enqueue(s, &graph->step, part);
    s->cuda->stream = kept;
    return status;
}

/* What is enqueued on `stream` from here on comes after that on `before`: `event` is recorded. */
static enum bd_status join(cudaStream_t stream, cudaEvent_t event, cudaStream_t before)
{
    cudaError_t error = cudaEventRecord(event, before);
    if (error == cudaSuccess)
        error = cudaStreamWaitEvent(stream, event, 0);
    return bd_cuda_check(error, what);
}

/* What is enqueued on `stream` from here on comes after both events. */
static enum bd_status wait(cudaStream_t stream, cudaEvent_t one, cudaEvent_t other)
{
    cudaError_t error = cudaStreamWaitEvent(stream, one, 0);
    if (error == cudaSuccess)
        error = cudaStreamWaitEvent(stream, other, 0);
    return bd_cuda_check(error, what);
}

/* Launches the parts, each on its stream after the one before. Of what was enqueued earlier they
 * wait for the upload, for what they write to, and for the rest only where that is `behind`. */
static enum bd_status launch_parts(struct bd_cuda_separator *s, const struct bd_sep_graph *graph)
{
    const struct bd_sep_turn *turn = bd_sep_turn_of(s);
    cudaStream_t const last = s->cuda->stream;
    enum bd_status status = wait(s->fit, s->uploaded[s->buffer], turn->found);
    if (status == BD_OK && s->behind)
        status = join(s->fit, s->settled, last);
    if (status == BD_OK)
        status = launch_part(s, graph, bd_sep_graph_fit, s->fit);
    if (status == BD_OK)
        status = join(s->find, s->fitted, s->fit);
    if (status == BD_OK)
        status = wait(s->find, s->sets[s->set].downloaded, turn->cleaned);
    if (status == BD_OK)
        status = launch_part(s, graph, bd_sep_graph_find, s->find);
    if (status == BD_OK)
        status = join(s->filter, turn->found, s->find);
    if (status == BD_OK)
        status = launch_part(s, graph, bd_sep_graph_filter, s->filter);
    if (status == BD_OK)
        status = join(last, s->filtered, s->filter);
    if (status == BD_OK)
        status = launch_part(s, graph, bd_sep_graph_clean, last);
    return status == BD_OK ? bd_cuda_check(cudaEventRecord(turn->cleaned, last), what) : status;
}

static bool alike(const struct bd_sep_step *a, const struct bd_sep_step *b)
{
    return memcmp(a, b, sizeof *a) == 0; /* numbers of four bytes each: no gaps */
}

static bool is_whole(const struct bd_cuda_separator *s, const struct bd_sep_graph *graph)
{
    bool whole = true;
    for (int part = first_part(s); part < bd_sep_graph_parts; part++)
        whole = whole && graph->exec[part];
    return whole;
}

/* The step of the frame in hand by its graph. The map is not part of it. */
static enum bd_status launch(struct bd_cuda_separator *s, const struct bd_detect_params *params)
{
    *bd_sep_rates_of(s, s->staging[s->buffer]) = bd_sep_rates_from(params);
    enum bd_status status = bd_sep_take_set(s);
    if (status == BD_OK && !s->together)
        status = bd_sep_send(s);
    s->unreleased |= s->together;
    s->pending = 0;
    struct bd_sep_graph *graph = &s->graphs[s->together][s->buffer][s->set][s->turn];
    if (status == BD_OK)
        status = bd_sep_before_detect(s, params, s->step.learn);
    s->projected = 1;
    if (status == BD_OK && !(is_whole(s, graph) && alike(&graph->step, &s->step)))
        status = capture(s, &s->step, graph);
    if (status == BD_OK)
        status = s->together ? launch_part(s, graph, bd_sep_graph_clean, s->cuda->stream)
                             : launch_parts(s, graph);
    s->behind = s->together || status != BD_OK;
    bd_sep_after_detect(s, status, s->step.learn);
    if (status != BD_OK)
        return status;
    return s->together ? bd_sep_finish_together(s) : bd_cuda_sep_finish(s);
}

/* A graph is captured where the frame before had the same parameters: not while a user moves a
 * slider. */
enum bd_status bd_cuda_sep_step(void *arg, int rounds, float lambda,
                                const struct bd_detect_params *params, int learn)
{
    struct bd_cuda_separator *s = (struct bd_cuda_separator *)arg;
    struct bd_sep_step step = { *params, rounds, learn, lambda };
    step.params.noise_rate = step.params.seconds = 0;
    step.params.look = 0;
    step.params.newest = step.params.columns = 0;
    const bool loaded = s->pending && s->f == s->frames[s->buffer];
    const bool again = alike(&step, &s->step);
    enum bd_status status;
    s->step = step;
    if (loaded && again)
        return launch(s, params);
    status = bd_cuda_sep_project(s, rounds, lambda);
    if (status == BD_OK)
        status = bd_cuda_sep_detect(s, params, learn);
    return status == BD_OK ? bd_cuda_sep_finish(s) : status;
}
