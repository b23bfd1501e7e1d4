/* The live separator on the GPU: the kernels of an ordinary frame's step as two CUDA graphs. Two
 * launches replace eighteen, or nineteen with colour. The first graph fits the coefficients and
 * finds what is foreground, on a stream of its own: mostly while the second one makes the mask of
 * the frame before. What it writes for the second one is there twice (struct bd_sep_turn), and it
 * reads nothing that the second one writes: noise levels learned from the frame before do not
 * count yet. With other separators, which keep the GPU busy meanwhile, all of a step is one graph.
 * Rare steps (the window fills or slides, a seek, other parameters) are enqueued kernel by kernel:
 * that is the plain version, bit for bit the same. */
#include <string.h>

#include "gpu/separation/flash.cuh"
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

static enum bd_status find(struct bd_cuda_separator *s, const struct bd_sep_step *step)
{
    enum bd_status status = bd_sep_follow_flashes(s, &step->params, step->learn);
    if (status == BD_OK)
        status = bd_cuda_sep_project(s, step->rounds, step->lambda);
    if (status != BD_OK)
        bd_sep_join_flashes(s);
    return status == BD_OK ? bd_sep_find_at(s, &step->params, step->learn,
                                            bd_sep_rates_of(s, s->frames[s->buffer]))
                           : status;
}

/* The work of a graph: from the buffer of the frame in hand to the set in hand, with the rates
 * that were uploaded with the frame. With other separators: the transfers too. */
static enum bd_status enqueue(struct bd_cuda_separator *s, const struct bd_sep_step *step, int part)
{
    if (part == bd_sep_graph_find)
        return find(s, step);
    s->cuda->crowded = s->together;
    enum bd_status status = s->together ? bd_sep_upload_here(s) : BD_OK;
    if (status == BD_OK && s->together)
        status = find(s, step);
    if (status == BD_OK)
        status = bd_sep_clean_at(s, &step->params, step->learn,
                                 bd_sep_rates_of(s, s->frames[s->buffer]));
    if (status == BD_OK && s->together)
        status = bd_sep_download_here(s);
    s->cuda->crowded = 0;
    return status;
}

/* Leaves NULL in to->exec[part] where another thread waits for all of the GPU. */
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

static enum bd_status capture(struct bd_cuda_separator *s, const struct bd_sep_step *step,
                              struct bd_sep_graph *to)
{
    enum bd_status status = BD_OK;
    drop(&to->exec[bd_sep_graph_clean]);
    if (!s->together)
        status = capture_part(s, step, to, bd_sep_graph_find);
    if (status == BD_OK)
        status = capture_part(s, step, to, bd_sep_graph_clean);
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

/* Launches the first part. Of what was enqueued before it waits for the upload, for what it writes
 * to, and for the rest only where that is `behind`. What follows waits for it. */
static enum bd_status launch_find(struct bd_cuda_separator *s, const struct bd_sep_graph *graph)
{
    cudaEvent_t const free[] = { s->uploaded[s->buffer], s->sets[s->set].downloaded,
                                 bd_sep_turn_of(s)->cleaned };
    cudaError_t error = cudaSuccess;
    for (cudaEvent_t event : free)
        if (error == cudaSuccess)
            error = cudaStreamWaitEvent(s->find, event, 0);
    if (s->behind && error == cudaSuccess)
        error = cudaEventRecord(s->settled, s->cuda->stream);
    if (s->behind && error == cudaSuccess)
        error = cudaStreamWaitEvent(s->find, s->settled, 0);
    enum bd_status status = bd_cuda_check(error, what);
    if (status == BD_OK)
        status = launch_part(s, graph, bd_sep_graph_find, s->find);
    if (status == BD_OK)
        error = cudaEventRecord(s->found, s->find);
    if (status == BD_OK && error == cudaSuccess)
        error = cudaStreamWaitEvent(s->cuda->stream, s->found, 0);
    return status == BD_OK ? bd_cuda_check(error, what) : status;
}

static enum bd_status launch_clean(struct bd_cuda_separator *s, const struct bd_sep_graph *graph)
{
    enum bd_status status = launch_part(s, graph, bd_sep_graph_clean, s->cuda->stream);
    cudaError_t error = cudaSuccess;
    if (status == BD_OK && !s->together)
        error = cudaEventRecord(bd_sep_turn_of(s)->cleaned, s->cuda->stream);
    return status == BD_OK ? bd_cuda_check(error, what) : status;
}

static bool alike(const struct bd_sep_step *a, const struct bd_sep_step *b)
{
    return memcmp(a, b, sizeof *a) == 0; /* numbers of four bytes each: no gaps */
}

static bool is_whole(const struct bd_cuda_separator *s, const struct bd_sep_graph *graph)
{
    return graph->exec[bd_sep_graph_clean] && (s->together || graph->exec[bd_sep_graph_find]);
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
    if (status == BD_OK && !(is_whole(s, graph) && alike(&graph->step, &s->step)))
        status = capture(s, &s->step, graph);
    if (status == BD_OK && !s->together)
        status = launch_find(s, graph);
    if (status == BD_OK)
        status = launch_clean(s, graph);
    s->projected = 1;
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
