/* Averages of areas of a decoded picture, in the integers of video/area.c, the plain version. There
 * vectors hold 16 rows and each column is averaged once; here a thread makes a pixel and averages
 * the columns that it needs itself, which neighbours do again: the few samples are in L1. */
#include "gpu/video/kernels.h"

/* Pixels of the result that a thread block makes. */
enum { block_columns = 32, block_rows = 8, block_threads = block_columns * block_rows };

/* The average for pixel (x, y) of the result, in units of 1/128 (bd_yuv_unit). `step` is the number
 * of bytes from a sample to the next. As average_column and average_rows of video/area.c: a column
 * of samples becomes 16 bits, and so does the sum of products, which starts with what they lose. */
__device__ __forceinline__ int16_t average(const uint8_t *plane, int64_t pitch, int step,
                                           const bd_cuda_axis &columns, const bd_cuda_axis &rows,
                                           int x, int y)
{
    const int across = columns.count[x], down = rows.count[y];
    const uint16_t *weights = columns.weights + columns.at[x];
    const uint16_t *row_weights = rows.weights + rows.at[y];
    const uint8_t *from = plane + rows.first[y] * pitch + (int64_t)columns.first[x] * step;
    uint16_t sum = (uint16_t)(across < bd_yuv_unit ? across / 2 : bd_yuv_unit / 2 - 1);
    for (int k = 0; k < across; k++, from += step) {
        uint16_t column = 0;
        for (int j = 0; j < down; j++)
            column = (uint16_t)(column + row_weights[j] * from[j * pitch]);
        sum = (uint16_t)(sum + (uint16_t)((uint32_t)column * weights[k] >> 16));
    }
    return (int16_t)sum;
}

/* A thread makes pixel (x, y) of the result. */
template <int CHANNELS>
__global__
__launch_bounds__(block_threads) void shrink(const __grid_constant__ bd_cuda_shrinking all)
{
    const int x = (int)blockIdx.x * block_columns + (int)threadIdx.x;
    const int y = (int)blockIdx.y * block_rows + (int)threadIdx.y;
    if (x >= all.width || y >= all.height)
        return;
    const bd_cuda_planes &from = all.planes;
    const bd_yuv_matrix *m = &from.matrix;
    uint8_t *out = all.out + ((int64_t)y * all.width + x) * CHANNELS;
    const int16_t luma =
        bd_yuv_luma(m, average(from.data[0], from.pitch[0], 1, all.columns, all.rows, x, y));
    if (CHANNELS == 1) {
        out[0] = bd_yuv_level(luma);
        return;
    }
    const int16_t u = bd_yuv_chroma(
        average(from.data[1], from.pitch[1], from.step, all.chroma_columns, all.chroma_rows, x, y));
    const int16_t v = bd_yuv_chroma(
        average(from.data[2], from.pitch[2], from.step, all.chroma_columns, all.chroma_rows, x, y));
    out[0] = bd_yuv_red(m, luma, v);
    out[1] = bd_yuv_green(m, luma, u, v);
    out[2] = bd_yuv_blue(m, luma, u);
}

enum bd_status bd_cuda_shrink(const struct bd_cuda_shrinking *shrinking, cudaStream_t stream)
{
    const dim3 threads(block_columns, block_rows);
    const dim3 blocks((unsigned)(shrinking->width + block_columns - 1) / block_columns,
                      (unsigned)(shrinking->height + block_rows - 1) / block_rows);
    if (shrinking->channels == 1)
        shrink<1><<<blocks, threads, 0, stream>>>(*shrinking);
    else
        shrink<3><<<blocks, threads, 0, stream>>>(*shrinking);
    return bd_cuda_launched("making a picture smaller");
}
