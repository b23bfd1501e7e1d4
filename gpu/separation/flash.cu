/* The live separator on the GPU: where the picture flashes (separation/shared/flash.h). Two kernels
 * beside those of the frame: what is seen of each cell, and the cells after it. The plain version
 * is separation/cpu/flash.c. */
#include "gpu/separation/flash.cuh"

static const char *const what = "following flashes";

enum { cells_across = 32 }; /* of a block that looks at them */

/* What look_at_cells reads and writes. */
struct looking {
    const uint8_t *frame;
    uint8_t *earlier;           /* four rows of each row of cells, `line` bytes apart */
    uint8_t *sights;            /* a cell: enum bd_flash_sight */
    struct bd_sep_sight *parts; /* of a block */
    const int *known;           /* 0: `earlier` is not of the frame before */
    int width, height, power, across;
    int64_t row, line; /* bytes of a row of the frame, and of its cells: a multiple of 8 */
};

/* The bytes of a word of a row of a frame; those beyond its end are 0. WHOLE: rows are whole words.
 */
template <bool WHOLE> __device__ __forceinline__ uint32_t load_word(const uint8_t *at, int64_t left)
{
    if (WHOLE)
        return left > 0 ? bd_sep_load_word(at) : 0;
    uint32_t word = 0;
    for (int i = 0; i < 4 && i < left; i++)
        word |= (uint32_t)at[i] << 8 * i;
    return word;
}

/* Each thread takes a row of a cell, four pixels at a time. It counts those that have changed,
 * notes whether any differs, and sets earlier := the frame. Then one thread a cell tells what is
 * seen of it. A block has 32 cells x their four rows. */
template <int CHANNELS, bool WHOLE>
__global__ __launch_bounds__(cells_across *bd_flash_rows) void look_at_cells(
    const __grid_constant__ looking now)
{
    __shared__ int counts[bd_flash_rows][cells_across], others[bd_flash_rows][cells_across];
    const int x = blockIdx.x * cells_across + threadIdx.x, y = blockIdx.y, k = threadIdx.y;
    const int row = (y << now.power) + k * bd_flash_row_step(now.power);
    int count = 0, other = 0;
    bd_cuda_let_follow();
    if (x < now.across && row < now.height) {
        const bool known = *now.known;
        const int bytes = CHANNELS << now.power;
        const int64_t from = (int64_t)x * bytes;
        const uint8_t *frame = now.frame + row * now.row + from;
        uint8_t *earlier = now.earlier + (y * bd_flash_rows + k) * now.line + from;
        for (int i = 0; i < bytes; i += 4 * CHANNELS) {
            uint32_t far[CHANNELS];
#pragma unroll
            for (int c = 0; c < CHANNELS; c++) {
                const int at = i + 4 * c;
                const uint32_t f = load_word<WHOLE>(frame + at, now.row - from - at);
                uint32_t *before = reinterpret_cast<uint32_t *>(earlier + at);
                far[c] = __vabsdiffu4(f, *before);
                *before = f;
                other |= far[c] != 0;
            }
            const uint32_t most = CHANNELS == 1 ? far[0] : bd_sep_most_of_channels(far);
            count += __popc(__vcmpgtu4(most, bd_flash_reach * 0x01010101u) & 0x01010101u);
        }
        count = known ? count : 0;
        other |= !known;
    }
    counts[k][threadIdx.x] = count;
    others[k][threadIdx.x] = other;
    __syncthreads();
    if (k)
        return;
    int sight = 0;
    if (x < now.across) {
        for (int i = 1; i < bd_flash_rows; i++) {
            count += counts[i][threadIdx.x];
            other |= others[i][threadIdx.x];
        }
        sight = bd_flash_see(count, bd_flash_pixels(now.width, now.height, now.power, x, y), other);
        now.sights[y * now.across + x] = (uint8_t)sight;
    }
    const int whole = __popc(__ballot_sync(~0u, sight & bd_flash_whole));
    const bool differs = __any_sync(~0u, sight & bd_flash_differs);
    if (threadIdx.x == 0)
        now.parts[y * gridDim.x + blockIdx.x] = { whole, differs };
}

/* What step_cells reads and writes; arrays of cells. */
struct stepping {
    struct bd_flash_cell *cells;
    uint8_t *own; /* as in struct bd_cuda_flashes */
    const uint8_t *sights;
    const struct bd_sep_sight *parts;
    int *known, *any;
    int part_count, across, down, quiet, learn;
};

/* The cells after this frame, a thread each. Every block adds up the parts for itself. */
__global__ __launch_bounds__(bd_sep_threads) void step_cells(const __grid_constant__ stepping now)
{
    __shared__ int whole;
    const int c = blockIdx.x * bd_sep_threads + threadIdx.x;
    bd_cuda_await();
    int sum = 0, differs = 0;
    for (int i = threadIdx.x; i < now.part_count; i += bd_sep_threads) {
        sum += now.parts[i].whole;
        differs |= now.parts[i].differs;
    }
    if (threadIdx.x == 0)
        whole = 0;
    if (!__syncthreads_or(differs)) /* a picture that is repeated */
        return;
    sum = __reduce_add_sync(~0u, sum);
    if (threadIdx.x % 32 == 0 && sum)
        atomicAdd(&whole, sum);
    __syncthreads();
    if (c == 0)
        *now.known = 1;
    const int x = c % now.across, y = c / now.across;
    if (y >= now.down)
        return;
    const int around = bd_flash_around(now.sights, now.across, now.down, x, y);
    const bool local = bd_flash_is_local(whole, now.across * now.down);
    const struct bd_flash_cell before = now.cells[c];
    const struct bd_flash_cell cell =
        bd_flash_step(before, now.sights[c], around, local, now.quiet, now.learn);
    const uint8_t own = bd_flash_own(cell);
    const int place = own & bd_flash_is_place, was = bd_flash_own(before) & bd_flash_is_place;
    now.cells[c] = cell;
    now.own[c] = own;
    if (place != was)
        atomicAdd(now.any, place - was);
}

/* Each cell after a frame without a search. */
static __global__ void pause_cells(struct bd_flash_cell *cells, int count, int *known)
{
    const int c = blockIdx.x * bd_sep_threads + threadIdx.x;
    if (c == 0)
        *known = 0;
    if (c < count)
        cells[c] = bd_flash_pause(cells[c]);
}

enum bd_status bd_sep_pause_flashes(struct bd_cuda_separator *s)
{
    const int cells = s->moving.across * s->moving.down;
    if (s->flashes.paused)
        return BD_OK;
    s->behind = 1;
    pause_cells<<<bd_sep_blocks(cells, bd_sep_threads), bd_sep_threads, 0, s->cuda->stream>>>(
        s->flashes.cells, cells, s->flashes.known);
    return bd_cuda_launched(what);
}

enum bd_status bd_sep_forget_flashes(struct bd_cuda_separator *s)
{
    const size_t cells = (size_t)s->moving.across * (size_t)s->moving.down;
    struct bd_sep_flashes *flashes = &s->flashes;
    cudaStream_t stream = s->cuda->stream;
    flashes->paused = 1;
    cudaError_t error = cudaMemsetAsync(flashes->cells, 0, cells * sizeof *flashes->cells, stream);
    if (error == cudaSuccess)
        error = cudaMemsetAsync(flashes->own, 0, cells, stream);
    if (error == cudaSuccess)
        error = cudaMemsetAsync(flashes->known, 0, sizeof *flashes->known, stream);
    if (error == cudaSuccess)
        error = cudaMemsetAsync(flashes->any, 0, sizeof *flashes->any, stream);
    return bd_cuda_check(error, what);
}

enum bd_status bd_sep_follow_flashes(struct bd_cuda_separator *s,
                                     const struct bd_detect_params *params, int learn)
{
    const struct bd_separation_shape *shape = &s->shape;
    struct bd_sep_flashes *flashes = &s->flashes;
    const int across = s->moving.across, down = s->moving.down;
    const int power = bd_recurrence_cell_power(shape->height);
    const int64_t row = (int64_t)shape->width * shape->channels;
    if (!params->flash_quiet)
        return BD_OK;
    enum bd_status status = bd_cuda_check(cudaEventRecord(flashes->begins, s->cuda->stream), what);
    if (status == BD_OK)
        status = bd_cuda_check(cudaStreamWaitEvent(flashes->stream, flashes->begins, 0), what);
    if (status != BD_OK)
        return status;
    const looking looking = { s->f,
                              flashes->earlier,
                              flashes->sights,
                              flashes->parts,
                              flashes->known,
                              shape->width,
                              shape->height,
                              power,
                              across,
                              row,
                              ((int64_t)across << power) * shape->channels };
    const bool words = row % 4 == 0;
    auto *look = shape->channels == 1 ? (words ? look_at_cells<1, true> : look_at_cells<1, false>)
                                      : (words ? look_at_cells<3, true> : look_at_cells<3, false>);
    const dim3 grid(bd_sep_blocks(across, cells_across), (unsigned)down);
    look<<<grid, dim3(cells_across, bd_flash_rows), 0, flashes->stream>>>(looking);
    const stepping stepping = { flashes->cells,         flashes->own,   flashes->sights,
                                flashes->parts,         flashes->known, flashes->any,
                                (int)(grid.x * grid.y), across,         down,
                                params->flash_quiet,    learn };
    cudaStream_t stream = s->cuda->stream;
    s->cuda->stream = flashes->stream;
    bd_sep_follow(s, step_cells, bd_sep_blocks((int64_t)across * down, bd_sep_threads), stepping);
    s->cuda->stream = stream;
    status = bd_cuda_launched(what);
    if (status == BD_OK)
        status = bd_cuda_check(cudaEventRecord(flashes->learned, flashes->stream), what);
    flashes->forked = status == BD_OK;
    return status;
}

enum bd_status bd_sep_join_flashes(struct bd_cuda_separator *s)
{
    if (!s->flashes.forked)
        return BD_OK;
    s->flashes.forked = 0;
    return bd_cuda_check(cudaStreamWaitEvent(s->cuda->stream, s->flashes.learned, 0), what);
}
