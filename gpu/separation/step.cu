/* The live separator on the GPU: the kernels of an ordinary frame's step as a CUDA graph. One
 * launch replaces seventeen, or eighteen with colour. Rare steps (the window fills or slides, a
 * seek, other parameters) are enqueued kernel by kernel: that is the plain version, bit for bit the
 * same.
 */
#include <string.h>

#include "gpu/separation/state.cuh"

static const char *const what = "the graph of a frame's step";

static void drop(struct bd_sep_graph *graph)
{
    if (graph->exec)
        cudaGraphExecDestroy(graph->exec); /* a graph that runs is kept until it is done */
    graph->exec = NULL;
}

void bd_sep_drop_graphs(struct bd_cuda_separator *s)
{
    for (int together = 0; together < 2; together++)
        for (int b = 0; b < bd_sep_buffers; b++)
            for (int i = 0; i < bd_sep_depth; i++)
                drop(&s->graphs[together][b][i]);
}

/* The work of the graph: from the buffer of the frame in hand to the set in hand, with the rates
 * that were uploaded with the frame. With other separators: the transfers too. */
static enum bd_status enqueue(struct bd_cuda_separator *s, const struct bd_sep_step *step)
{
    enum bd_status status = s->together ? bd_sep_upload_here(s) : BD_OK;
    if (status == BD_OK)
        status = bd_cuda_sep_project(s, step->rounds, step->lambda);
    if (status == BD_OK)
        status = bd_sep_detect_at(s, &step->params, step->learn,
                                  bd_sep_rates_of(s, s->frames[s->buffer]));
    return status == BD_OK && s->together ? bd_sep_download_here(s) : status;
}

static enum bd_status capture(struct bd_cuda_separator *s, const struct bd_sep_step *step,
                              struct bd_sep_graph *to)
{
    cudaStream_t stream = s->cuda->stream;
    cudaGraph_t graph = NULL;
    drop(to);
    /* Other threads, of another separator, may use the GPU during the capture. */
    enum bd_status status =
        bd_cuda_check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), what);
    s->cuda->crowded = s->together;
    if (status == BD_OK)
        status = enqueue(s, step);
    s->cuda->crowded = 0;
    cudaError_t error = cudaStreamEndCapture(stream, &graph); /* after a failure too */
    if (status == BD_OK)
        status = bd_cuda_check(error, what);
    else
        cudaGetLastError(); /* the first failure is reported; later checks must not see another */
    if (status == BD_OK)
        status = bd_cuda_check(cudaGraphInstantiate(&to->exec, graph, 0), what);
    if (graph)
        cudaGraphDestroy(graph);
    to->step = *step;
    return status;
}

static bool alike(const struct bd_sep_step *a, const struct bd_sep_step *b)
{
    return memcmp(a, b, sizeof *a) == 0; /* numbers of four bytes each: no gaps */
}

/* The step of the frame in hand by its graph. The map is not part of it. */
static enum bd_status launch(struct bd_cuda_separator *s, const struct bd_detect_params *params)
{
    *bd_sep_rates_of(s, s->staging[s->buffer]) = bd_sep_rates_from(params);
    enum bd_status status = bd_sep_take_set(s);
    if (status == BD_OK && !s->together)
        status = bd_sep_upload(s);
    s->unreleased |= s->together;
    s->pending = 0;
    struct bd_sep_graph *graph = &s->graphs[s->together][s->buffer][s->set];
    if (status == BD_OK)
        status = bd_sep_before_detect(s, params, s->step.learn);
    if (status == BD_OK && !(graph->exec && alike(&graph->step, &s->step)))
        status = capture(s, &s->step, graph);
    if (status == BD_OK)
        status = bd_cuda_check(cudaGraphLaunch(graph->exec, s->cuda->stream), what);
    s->projected = 1;
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
