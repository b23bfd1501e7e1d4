/* A small mask enlarged to the size of a decoded picture, whose edges it follows. The plain version
 * is video/upscale.c, where only runs of cells in the band are looked at; here each thread looks
 * for itself. */
#include "gpu/video/kernels.h"

/* A thread makes a cell, or a word of pixels. */
enum {
    block_columns = 32,
    block_rows = 8,
    block_threads = block_columns * block_rows,
    word_pixels = 4
};

/* The threshold of each cell of the small mask; 0 where it and its eight neighbours agree. As
 * find_band of video/upscale.c. */
__global__ __launch_bounds__(block_threads) void find_thresholds(
    const __grid_constant__ bd_cuda_enlargement all)
{
    const int x = (int)blockIdx.x * block_columns + (int)threadIdx.x;
    const int y = (int)blockIdx.y * block_rows + (int)threadIdx.y;
    if (x >= all.small_width || y >= all.small_height)
        return;
    const int left = max(x - 1, 0), right = min(x + 1, all.small_width - 1);
    const int above = max(y - 1, 0), below = min(y + 1, all.small_height - 1);
    int any = 0, each = 255, most = 0;
    for (int j = above; j <= below; j++)
        for (int i = left; i <= right; i++) {
            const int64_t at = (int64_t)j * all.small_width + i;
            any |= all.mask[at];
            each &= all.mask[at];
            most = max(most, (int)all.difference[at]);
        }
    all.local[(int64_t)y * all.small_width + x] =
        (uint8_t)(any == each ? 0 : max(most / 2, all.least));
}

/* Bilinear value of sample `channel` of a tight small picture with CHANNELS interleaved ones. */
template <int CHANNELS>
__device__ __forceinline__ int interpolate(const uint8_t *picture, int width,
                                           const bd_cuda_place &x, const bd_cuda_place &y,
                                           int channel)
{
    const uint8_t *row0 = picture + (int64_t)y.first * width * CHANNELS;
    const uint8_t *row1 = picture + (int64_t)y.second * width * CHANNELS;
    const int i = x.first * CHANNELS + channel, j = x.second * CHANNELS + channel;
    const int top = row0[i] * (256 - x.fraction) + row0[j] * x.fraction;
    const int bottom = row1[i] * (256 - x.fraction) + row1[j] * x.fraction;
    return (top * (256 - y.fraction) + bottom * y.fraction + (1 << 15)) >> 16;
}

/* Pixel (x, y) of the input, as bd_yuv_pixel (video/yuv.h). */
template <int CHANNELS>
__device__ __forceinline__ void take_pixel(const bd_cuda_planes &from, int x, int y,
                                           uint8_t pixel[CHANNELS])
{
    const bd_yuv_matrix *m = &from.matrix;
    const int16_t luma =
        bd_yuv_luma(m, (int16_t)(bd_yuv_unit * from.data[0][y * from.pitch[0] + x]));
    if (CHANNELS == 1) {
        pixel[0] = bd_yuv_level(luma);
        return;
    }
    const int64_t row = y >> from.shift_y, at = (int64_t)(x >> from.shift_x) * from.step;
    const int16_t u =
        bd_yuv_chroma((int16_t)(bd_yuv_unit * from.data[1][row * from.pitch[1] + at]));
    const int16_t v =
        bd_yuv_chroma((int16_t)(bd_yuv_unit * from.data[2][row * from.pitch[2] + at]));
    pixel[0] = bd_yuv_red(m, luma, v);
    pixel[1] = bd_yuv_green(m, luma, u, v);
    pixel[2] = bd_yuv_blue(m, luma, u);
}

/* Whether full-size pixel (x, y) is foreground: 255 or 0. As `decide` of video/upscale.c. */
template <int CHANNELS>
__device__ __forceinline__ int decide(const bd_cuda_enlargement &all, int x, int y, int threshold)
{
    const bd_cuda_place across = all.columns[x], down = all.rows[y];
    const int smooth = interpolate<1>(all.mask, all.small_width, across, down, 0);
    if (smooth == 0 || smooth == 255)
        return smooth;
    uint8_t pixel[CHANNELS];
    take_pixel<CHANNELS>(all.input, x, y, pixel);
    int difference = 0;
#pragma unroll
    for (int c = 0; c < CHANNELS; c++) {
        const int background =
            interpolate<CHANNELS>(all.background, all.small_width, across, down, c);
        difference = max(difference, abs(pixel[c] - background));
    }
    return difference * smooth >= threshold * (255 - smooth) ? 255 : 0;
}

/* A thread makes word_pixels pixels of a row of the mask; those behind the row's end are 0. */
template <int CHANNELS>
__global__
__launch_bounds__(block_threads) void enlarge(const __grid_constant__ bd_cuda_enlargement all)
{
    const int first = ((int)blockIdx.x * block_columns + (int)threadIdx.x) * word_pixels;
    const int y = (int)blockIdx.y * block_rows + (int)threadIdx.y;
    if (first >= all.width || y >= all.height)
        return;
    const int4 cells = *reinterpret_cast<const int4 *>(all.cell_columns + first);
    const int columns[word_pixels] = { cells.x, cells.y, cells.z, cells.w };
    const int64_t row = (int64_t)all.cell_rows[y] * all.small_width;
    uint32_t word = 0;
#pragma unroll
    for (int e = 0; e < word_pixels; e++) {
        if (first + e >= all.width)
            break;
        const int64_t cell = row + columns[e];
        const int threshold = all.local[cell];
        const int value =
            threshold ? decide<CHANNELS>(all, first + e, y, threshold) : all.mask[cell];
        word |= (uint32_t)value << 8 * e;
    }
    *reinterpret_cast<uint32_t *>(all.out + y * all.pitch + first) = word;
}

static dim3 blocks_for(int columns, int rows)
{
    return dim3((unsigned)(columns + block_columns - 1) / block_columns,
                (unsigned)(rows + block_rows - 1) / block_rows);
}

enum bd_status bd_cuda_enlarge(const struct bd_cuda_enlargement *enlargement, cudaStream_t stream)
{
    const dim3 threads(block_columns, block_rows);
    const dim3 cells = blocks_for(enlargement->small_width, enlargement->small_height);
    const dim3 words =
        blocks_for((enlargement->width + word_pixels - 1) / word_pixels, enlargement->height);
    find_thresholds<<<cells, threads, 0, stream>>>(*enlargement);
    enum bd_status status = bd_cuda_launched("finding the edges of a mask");
    if (status != BD_OK)
        return status;
    if (enlargement->channels == 1)
        enlarge<1><<<words, threads, 0, stream>>>(*enlargement);
    else
        enlarge<3><<<words, threads, 0, stream>>>(*enlargement);
    return bd_cuda_launched("enlarging a mask");
}
