/* The live separator's state on the GPU (contracts in separation/shared/ops.h), and the arithmetic
 * that its kernels share.
 *
 * Elements of a frame are taken four at a time, as a word of bytes and a float4 of the basis. All
 * arrays of elements and pixels are padded to whole words, and past a frame's end W and B are 0, so
 * that only a kernel that counts pixels or elements has to know where the end is. */
#ifndef BD_GPU_SEPARATION_STATE_CUH
#define BD_GPU_SEPARATION_STATE_CUH

#include "base/pool.h"
#include "gpu/core/dependent_launch.cuh"
#include "gpu/cuda.h"
#include "gpu/separation/mask/mask.h"
#include "separation/shared/flash.h"
#include "separation/shared/ops.h"
#include "separation/shared/recurrence.h"

enum {
    bd_sep_depth = 3, /* frames in flight; as many sets of results, where one is in use at a time */
    bd_sep_most_sets = bd_sep_depth + bd_sep_most_results - 1,
    /* Of the frame in hand: later ones are uploaded meanwhile. Buffer, set and turn come
     * together again after six frames, with three sets as with six: so many graphs are captured. */
    bd_sep_buffers = bd_sep_depth,
    bd_sep_turns = bd_cuda_mask_turns, /* struct bd_sep_turn; the clean-up takes the same ones */
    bd_sep_threads = 256,
    bd_sep_project_words = 4, /* of four elements: a thread's share of a frame in a fit */
    bd_sep_parts = 2048,      /* thread blocks of a sweep over the window, at most */
    /* Threads of the host that copy a frame into page-locked memory, and bytes that they take at a
     * time. On 16 cores 2 MB take 170 us with one, 125 with two, 105 with four, 95 with eight (the
     * threads have to wake up), 8 MB 950, -, 290, 210: eight gain little where the GPU is waited
     * for anyway. Chunks of 128 to 512 KB are alike. Smaller frames wake nobody. */
    bd_sep_copy_threads = 4,
    bd_sep_copy_bytes = 256 << 10,
    bd_sep_copy_least = 4 /* chunks */
};

/* Numbers in the GPU's memory, which the host does not read. */
struct bd_sep_numbers {
    float w[bd_max_rank]; /* of the frame in hand or the next one, 0 from `rank` on */
    int rank;             /* columns of B in use; 0 before the first background */
    int new_rank;         /* of the basis that is being learned */
    int ghost_pixels;     /* pixels that became background since the frame before */
    int voted;            /* not 0: some pixels have votes enough to become background */
    /* By turn: pixels of the mask; pixels over the threshold so far, 0 before the turn. */
    int foreground[bd_sep_turns], changed[bd_sep_turns];
    unsigned ticket; /* of the thread blocks that have left their partial sums */
    /* Of a fit (project.cu): thread blocks that have left their sums, and above them,
     * from bit 32 on, how many elements differ by more than 2 lambda. */
    unsigned long long arrived;
    unsigned light;            /* so many elements did before the first round; 0: a usual frame */
    float fitted[bd_max_rank]; /* w after the first round, should the light not explain it */
    unsigned long long square; /* of the norm of the background that becomes B */
    double norm;               /* squared, of the first column of B */
    double drift;              /* of R: separation/shared/drift.h */
    double measured;           /* squared norm of the first column of B while it is scaled */
};

/* The results of a frame besides pictures: the GPU writes them to memory of the host. */
struct bd_sep_record {
    int foreground, rank, ghost_pixels, changed;
    double drift;
};

/* The results of one frame. */
struct bd_sep_set {
    uint8_t *background, *difference, *mask; /* ld, pitch, pitch */
    uint8_t *shadow;                         /* pitch: 0 or 255; NULL if not wanted */
    /* Page-locked; NULL if not wanted. */
    uint8_t *host_background, *host_difference, *host_mask, *host_shadow;
    struct bd_sep_record *record; /* page-locked */
    cudaEvent_t downloaded;
};

/* The parameters that may differ from frame to frame. They are uploaded behind its bytes, so that a
 * graph need not be changed for them. */
struct bd_sep_rates { /* noise_rate and what has the same name in struct bd_detect_params */
    float rate, seconds;
    unsigned look;
    int newest, columns;
};

static inline struct bd_sep_rates bd_sep_rates_from(const struct bd_detect_params *params)
{
    return { params->noise_rate, params->seconds, params->look, params->newest, params->columns };
}

/* What moves in place (separation/shared/recurrence.h). */
struct bd_sep_moving {
    int across, down;                    /* cells */
    uint8_t *samples;                    /* ld x n: the frames of the window as they came */
    uint8_t *visits;                     /* pitch x n: each pixel's visit, by slot */
    uint8_t *visit;                      /* pitch: the visit in hand */
    struct bd_recurrence_counts *counts; /* across x down */
    uint8_t *seeds, *moves;              /* across x down: 0 or 1, the map */
    /* Places of mirror images (separation/shared/mirror.h): evidence, and the map, 0 or 1. */
    struct bd_mirror_counts *mirrored; /* across x down */
    uint8_t *places;                   /* across x down */
    int *any;           /* 2, 0 or 1: something moves; there are places of mirror images */
    int *list, *listed; /* 2 x pixels, 2: two lists of pixels that a warp each is for */
    /* Of the host: how often pixels have been looked at; frames in which ways have been counted;
     * whether the map is to be made again; the slot that the frame in hand was recalled from, -1:
     * it is new. */
    int looks, followed, stale, recalled;
};

/* What a thread block sees of its cells: how many change as a whole; not 0: some pixel differs. */
struct bd_sep_sight {
    int whole, differs;
};

/* Where the picture flashes (separation/shared/flash.h), in the cells of what moves in place. */
struct bd_sep_flashes {
    cudaStream_t stream;         /* beside the steps of a frame that do not need it */
    cudaEvent_t begins, learned; /* the frame is there; the places are */
    uint8_t *earlier;            /* the rows of cells of the frame before (flash.cu) */
    uint8_t *sights;             /* across x down: of the frame in hand, enum bd_flash_sight */
    struct bd_sep_sight *parts;  /* across x down at most */
    struct bd_flash_cell *cells; /* across x down */
    uint8_t *own;                /* across x down: as in struct bd_cuda_flashes */
    int *known;                  /* a number, not 0: `earlier` is of the frame before */
    int *any;                    /* a number: cells whose own flashes make a place */
    int forked; /* of the host: `learned` of the frame in hand has not been waited for */
    int paused; /* the same: the frame before had no search, and the cells know it */
};

/* The parameters that all frames of a graph share. */
struct bd_sep_step {
    struct bd_detect_params params; /* without the rates: they are 0 */
    int rounds, learn;
    float lambda;
};

/* A step in two parts: what is foreground, and the mask that is made of it; all of it in the second
 * where frames of other separators travel with it. */
enum { bd_sep_graph_find, bd_sep_graph_clean, bd_sep_graph_parts };

struct bd_sep_graph {
    cudaGraphExec_t exec[bd_sep_graph_parts]; /* NULL: none yet */
    struct bd_sep_step step;
};

/* What is found of one frame while the mask of the frame before is made. Two of these take turns.
 */
struct bd_sep_turn {
    float *noise;        /* pitch: noise levels before the frame that was learned last */
    uint8_t *raw;        /* pitch: enum bd_cuda_mask_flag, before the clean-up */
    uint8_t *shadow;     /* pitch: 0 or 1, shadows of all kinds and other light in raw */
    cudaEvent_t cleaned; /* nothing reads them any more */
};

/* R's share of a slide: the products that the window and B are read for, and all of it. */
enum bd_sep_share { bd_sep_share_products, bd_sep_share_all, bd_sep_shares };

struct bd_cuda_separator {
    struct bd_cuda *cuda;
    struct bd_separation_shape shape;
    int64_t pixels, m; /* width x height, and times channels */
    int64_t pitch, ld; /* the same, padded: bytes or floats from one column to the next */
    /* Beside the separator's stream; find: the first part of a step. */
    cudaStream_t upload, find, download;
    cudaEvent_t computed; /* the results of the frame that was finished last */

    struct bd_pool *copiers;              /* NULL: the caller copies alone */
    uint8_t *frames[bd_sep_buffers];      /* m each, padded with zeros to ld, and the rates */
    uint8_t *staging[bd_sep_buffers];     /* the same, page-locked */
    cudaEvent_t uploaded[bd_sep_buffers]; /* staging to frame */
    cudaEvent_t released[bd_sep_buffers]; /* the frame is not read any more */
    int buffer;                           /* of the frame that was loaded last */
    int pending;                          /* its upload has not been enqueued yet */
    int fetched;                          /* but that of the rates: the picture is there */
    int together;                         /* it was loaded with those of other separators */
    int unreleased;   /* graphs have uploaded frames since `released` was recorded */
    const uint8_t *f; /* the frame in hand: a buffer or a column of W */

    struct bd_sep_set sets[bd_sep_most_sets];
    int set_count; /* in use: bd_sep_depth or all */
    int set;       /* of the frame in hand */
    int oldest;    /* finished and not collected */
    int finished;  /* the set in hand is on its way down */
    int projected; /* l has to be formed from B and w; else it has been given */
    struct bd_sep_turn turns[bd_sep_turns];
    int turn; /* of the frame in hand, until it has been learned: the other one has noise levels
                 with the frame learned last */
    /* Since the last step, what has to do with anything but its mask was enqueued on the stream:
     * the next frame's first part waits for it. */
    int behind;
    cudaEvent_t settled, found; /* that has been done; the last first part has */
    /* R's share of a slide takes longer than a frame, and runs on a stream of its own. `ahead`: the
     * separator's stream while the two are exchanged, or NULL. sliding: not all of it has been
     * waited for; slid: so much of it is done. */
    cudaStream_t side, ahead;
    int sliding;
    cudaEvent_t slid[bd_sep_shares];

    struct bd_sep_step step; /* of the last frame that was separated in one call */
    /* Without the transfers, and with them (`together`); by buffer, set and turn in hand. */
    struct bd_sep_graph graphs[2][bd_sep_buffers][bd_sep_most_sets][bd_sep_turns];

    uint8_t *window;     /* W: ld x n */
    float *basis;        /* B: ld x rank */
    float *coefficients; /* C: bd_max_rank x n, by slot, 0 from the rank on */
    float *g, *k;        /* rank x n: the new basis is X G, its coefficients K, in order */
    int *order;          /* n: the slots in order, as last set */
    int host_order[bd_max_window], host_count; /* the same */
    struct bd_sep_moving moving;
    struct bd_sep_flashes flashes;
    struct bd_sep_numbers *numbers;
    double *frame_partial; /* chunks of a fit x (1 or bd_max_rank): their sums */
    double *partial;       /* max(2 n, 2 bd_max_rank + 1) x bd_sep_parts: those of a sweep over W */
    double *gram;          /* n x n */
    void *gram_work;       /* of bd_gram or bd_sep_gram_one */
    double *errors;        /* n: E^T b of the columns in order, E = clip(W - L, +-errors_lambda) */
    float errors_lambda;   /* 0: the window, its order or B has changed since */

    float *age;                                /* pitch */
    struct bd_cuda_shadow_scene *shadow_scene; /* one: the colours of shadows */
    uint8_t *guard;                            /* pitch: 0 or 1 */
    uint8_t *aged; /* pitch / 4: 0 where the ages of four pixels are 0 */
    struct bd_cuda_mask *mask_work;

    uint8_t *still;     /* pitch: looks for which the pixel has been as it was in `earlier` */
    uint8_t *votes;     /* pitch: looks in a row that voted for the pixel as uncovered background */
    uint8_t *earlier;   /* ld */
    uint8_t *picture;   /* ld: a second picture of the scene, while two are compared */
    uint8_t *lower;     /* pitch, 0 or 1: where it has the lower boundary contrast */
    int ghosts_pending; /* numbers->ghost_pixels may not be 0 */
};

/* The window as kernels see it. Column j is at order[j]; X = l + clip(W - l, +-lambda), l = B C. */
struct bd_sep_window {
    const uint8_t *bytes; /* ld x n */
    const float *basis;   /* ld x rank */
    const float *coefficients;
    const int *order;
    int64_t m, ld;
    int rank; /* columns of B; those not in use have coefficients 0 */
    float lambda;
};

static inline struct bd_sep_window bd_sep_view(const struct bd_cuda_separator *s, float lambda)
{
    return { s->window, s->basis, s->coefficients, s->order, s->m, s->ld, s->shape.rank, lambda };
}

static inline struct bd_sep_turn *bd_sep_turn_of(struct bd_cuda_separator *s)
{
    return &s->turns[s->turn];
}

/* The rates, behind the bytes of a frame. */
static inline struct bd_sep_rates *bd_sep_rates_of(const struct bd_cuda_separator *s,
                                                   uint8_t *frame)
{
    return (struct bd_sep_rates *)(frame + s->ld);
}

/* Bytes of a buffer: all of it goes up. */
static inline int64_t bd_sep_buffer_bytes(const struct bd_cuda_separator *s)
{
    return s->ld + (int64_t)sizeof(struct bd_sep_rates);
}

static inline uint8_t *bd_sep_column(const struct bd_cuda_separator *s, int slot)
{
    return s->window + (int64_t)slot * s->ld;
}

/* Thread blocks of a round of a fit. */
static inline unsigned bd_sep_project_blocks(const struct bd_cuda_separator *s)
{
    const int64_t share = 4 * bd_sep_project_words * bd_sep_threads;
    return (unsigned)((s->ld + share - 1) / share);
}

static inline unsigned bd_sep_blocks(int64_t items, int64_t per_block)
{
    return (unsigned)((items + per_block - 1) / per_block);
}

/* Launches a kernel of a frame's step by blocks of bd_sep_threads; it may begin before the one
 * before it has ended. */
template <class Kernel, class... Values>
static void bd_sep_follow(const struct bd_cuda_separator *s, Kernel *kernel, unsigned blocks,
                          const Values &...values)
{
    bd_cuda_follow(s->cuda, kernel, blocks, bd_sep_threads, 0, values...);
}

/* Makes the set of the frame in hand one that may be written: one that is being downloaded is left
 * for the next one. transfer.cu */
enum bd_status bd_sep_take_set(struct bd_cuda_separator *s);

/* Uploads the frame that was loaded last, if that has not been done: to be called before a kernel
 * that reads the frame in hand is enqueued. transfer.cu */
enum bd_status bd_sep_upload(struct bd_cuda_separator *s);

/* Uploads the frame that was loaded last, without a kernel that waits for it. transfer.cu */
enum bd_status bd_sep_send(struct bd_cuda_separator *s);

/* The transfers of the frame and the set in hand, enqueued on the separator's stream. transfer.cu
 */
enum bd_status bd_sep_upload_here(struct bd_cuda_separator *s);
enum bd_status bd_sep_download_here(struct bd_cuda_separator *s);

/* As bd_cuda_sep_finish, for a frame whose graph has the transfers. transfer.cu */
enum bd_status bd_sep_finish_together(struct bd_cuda_separator *s);

/* bd_cuda_sep_detect on the set and the turn in hand, in two parts: what is foreground, with its
 * components that are not small; then the mask, and what is learned. Unless `rates` (in the GPU's
 * memory) is NULL, they replace those of `params`. frame.cu */
enum bd_status bd_sep_find_at(struct bd_cuda_separator *s, const struct bd_detect_params *params,
                              int learn, const struct bd_sep_rates *rates);
enum bd_status bd_sep_clean_at(struct bd_cuda_separator *s, const struct bd_detect_params *params,
                               int learn, const struct bd_sep_rates *rates);

/* What is done before and after these two, which ended with `status`, and not captured. frame.cu */
enum bd_status bd_sep_before_detect(struct bd_cuda_separator *s,
                                    const struct bd_detect_params *params, int learn);
void bd_sep_after_detect(struct bd_cuda_separator *s, enum bd_status status, int learn);

/* step.cu */
void bd_sep_drop_graphs(struct bd_cuda_separator *s);

/* What is enqueued from here on comes after so much of R's share of a slide, and the next frame
 * after it. To be called before what reads R or w (all of it), or changes w, B or the window
 * (products), is enqueued. step.cu */
enum bd_status bd_sep_settle(struct bd_cuda_separator *s, enum bd_sep_share share);

/* s->order := `order`, for the kernels that are enqueued from here on. window.cu */
enum bd_status bd_sep_set_order(struct bd_cuda_separator *s, const int *order, int count);

/* A robust round for the coefficients of the `count` columns in order on B, which has rank 1;
 * w := those of the newest. sums.cu */
enum bd_status bd_sep_fit_columns(struct bd_cuda_separator *s, int count, float lambda);

/* g[j] := the sum of the `parts` partial sums from partial[j parts] on, j = 0 .. count - 1. sums.cu
 */
enum bd_status bd_sep_finish_sums(struct bd_cuda_separator *s, const double *partial, int count,
                                  unsigned parts, double *g);

/* s->errors of the `count` columns in order, unless gram or reduce has left them. sums.cu */
enum bd_status bd_sep_need_errors(struct bd_cuda_separator *s, int count, float lambda);

#ifdef __CUDACC__

/* The four bytes of a word as floats: each becomes the last bits of 2^23's. */
__device__ __forceinline__ void bd_sep_floats(uint32_t word, float v[4])
{
    const uint32_t two23 = 0x4b000000;
    v[0] = __uint_as_float(__byte_perm(word, two23, 0x7440)) - 8388608.0f;
    v[1] = __uint_as_float(__byte_perm(word, two23, 0x7441)) - 8388608.0f;
    v[2] = __uint_as_float(__byte_perm(word, two23, 0x7442)) - 8388608.0f;
    v[3] = __uint_as_float(__byte_perm(word, two23, 0x7443)) - 8388608.0f;
}

__device__ __forceinline__ uint32_t bd_sep_load_word(const uint8_t *p)
{
    return *reinterpret_cast<const uint32_t *>(p);
}

__device__ __forceinline__ void bd_sep_load_floats(const float *p, float v[4])
{
    float4 q = *reinterpret_cast<const float4 *>(p);
    v[0] = q.x, v[1] = q.y, v[2] = q.z, v[3] = q.w;
}

__device__ __forceinline__ void bd_sep_store_floats(float *p, const float v[4])
{
    *reinterpret_cast<float4 *>(p) = make_float4(v[0], v[1], v[2], v[3]);
}

/* The largest of each three bytes: four rgb pixels as three words to four bytes. */
__device__ __forceinline__ uint32_t bd_sep_most_of_channels(const uint32_t rgb[3])
{
    uint32_t word = 0;
#pragma unroll
    for (int p = 0; p < 4; p++) {
        uint32_t most = 0;
#pragma unroll
        for (int c = 0; c < 3; c++) {
            const int at = 3 * p + c;
            most = max(most, rgb[at / 4] >> at % 4 * 8 & 0xff);
        }
        word |= most << 8 * p;
    }
    return word;
}

/* All ones in those bytes of word c of CHANNELS whose pixels have 0xff in `pixels`. */
template <int CHANNELS>
__device__ __forceinline__ uint32_t bd_sep_bytes_of_pixels(uint32_t pixels, int c)
{
    if (CHANNELS == 1)
        return pixels;
    uint32_t select = 0; /* byte e of this word is of pixel (4 c + e) / CHANNELS */
#pragma unroll
    for (int e = 0; e < 4; e++)
        select |= (pixels >> 8 * ((4 * c + e) / CHANNELS) & 0xff) << 8 * e;
    return select;
}

__device__ __forceinline__ float bd_sep_clip(float v, float lambda)
{
    return fminf(fmaxf(v, -lambda), lambda);
}

/* The sum over a thread block of bd_sep_threads threads, the same in each run, in thread 0. */
__device__ __forceinline__ double bd_sep_block_sum(double v)
{
    __shared__ double warps[bd_sep_threads / 32];
#pragma unroll
    for (int d = 16; d > 0; d /= 2)
        v += __shfl_down_sync(0xffffffffu, v, d);
    __syncthreads(); /* the sum before has been read */
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = v;
    __syncthreads();
    v = 0;
    if (threadIdx.x == 0)
        for (int i = 0; i < bd_sep_threads / 32; i++)
            v += warps[i];
    return v;
}

#endif
/* Functions of bd_cuda_separation_ops (separation/shared/ops.h) outside separator.cu. */
enum bd_status bd_cuda_sep_load(void *state, const uint8_t *picture, int64_t stride);
void bd_cuda_sep_load_several(const struct bd_separation_load *loads, int count,
                              void (*loaded)(void *arg, int i, enum bd_status status), void *arg);
enum bd_status bd_cuda_sep_load_background(void *state, const uint8_t *background);
enum bd_status bd_cuda_sep_project(void *state, int rounds, float lambda);
enum bd_status bd_cuda_sep_detect(void *state, const struct bd_detect_params *params, int learn);
enum bd_status bd_cuda_sep_step(void *state, int rounds, float lambda,
                                const struct bd_detect_params *params, int learn);
enum bd_status bd_cuda_sep_insert(void *state, int slot, int guarded);
enum bd_status bd_cuda_sep_recall(void *state, int slot);
enum bd_status bd_cuda_sep_gram(void *state, const int *order, int count, float lambda, int part,
                                double *g, bool *whole);
enum bd_status bd_cuda_sep_beside(void *state, int begin);
enum bd_status bd_cuda_sep_reduce(void *state, const int *order, int count, float lambda, float *r,
                                  int64_t ldr);
enum bd_status bd_cuda_sep_basis(void *state, const int *order, int count, float lambda, double tau,
                                 const float *sigma, const float *v, int64_t ldv);
enum bd_status bd_cuda_sep_compare(void *state, int slot, int other, int reach, int64_t *count);
enum bd_status bd_cuda_sep_stable(void *state, const int *order, int count, float lambda,
                                  int choose);
enum bd_status bd_cuda_sep_remove_ghosts(void *state, const int *order, int count,
                                         const struct bd_ghost_params *params);
enum bd_status bd_cuda_sep_finish(void *state);
enum bd_status bd_cuda_sep_collect(void *state, struct bd_separation *results);

#endif
