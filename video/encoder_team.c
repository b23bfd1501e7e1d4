#include "video/encoder_team.h"

#include <libavutil/cpu.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { most_members = 6, large_picture = 1000000 /* pixels */ };

enum member_state { IDLE, GIVEN, DONE };

struct member {
    struct bd_encoder_team *team;
    struct bd_encoder *encoder;
    pthread_t thread;
    bool started;
    /* The thread's while GIVEN, the caller's otherwise. */
    struct bd_frame frame;
    int64_t number;
    AVPacket *packet;
    enum bd_status status;
    char detail[bd_detail_size];
    enum member_state state; /* guarded by the mutex */
};

struct bd_encoder_team {
    int count;
    int64_t sent, received;
    bool flushing;
    bool stop; /* guarded by the mutex */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct member members[];
};

int bd_encoder_team_size(const struct bd_writer_plan *plan, const struct bd_writer_options *options)
{
    int64_t pixels = (int64_t)options->width * options->height;
    if (plan->codec->id != AV_CODEC_ID_FFV1 || plan->pictures || pixels < large_picture)
        return 1;
    /* A mask of 1920 x 1080 takes 10 ms; the other cores decode and scale. */
    int count = av_cpu_count() / 3;
    return count < 1 ? 1 : count > most_members ? most_members : count;
}

/* A frame in, its packet out: the codec keeps nothing back. */
static enum bd_status encode(struct member *m)
{
    enum bd_status status = bd_encoder_send(m->encoder, &m->frame, m->number);
    if (status == BD_OK)
        status = bd_encoder_receive(m->encoder, m->packet);
    if (status == BD_END)
        status = bd_fail(BD_ERROR_UNSUPPORTED, "encoder %s holds back a picture",
                         bd_encoder_context(m->encoder)->codec->name);
    return status;
}

static void *run(void *user)
{
    struct member *m = user;
    struct bd_encoder_team *team = m->team;
    pthread_mutex_lock(&team->mutex);
    for (;;) {
        while (m->state != GIVEN && !team->stop)
            pthread_cond_wait(&team->changed, &team->mutex);
        if (team->stop)
            break;
        pthread_mutex_unlock(&team->mutex);
        m->status = encode(m);
        if (m->status)
            snprintf(m->detail, sizeof m->detail, "%s", bd_error_detail());
        pthread_mutex_lock(&team->mutex);
        m->state = DONE;
        pthread_cond_broadcast(&team->changed);
    }
    pthread_mutex_unlock(&team->mutex);
    return NULL;
}

static enum bd_status start(struct member *m, const char *path)
{
    m->packet = av_packet_alloc();
    if (!m->packet)
        return bd_fail(BD_ERROR_MEMORY, "%s: no memory for the encoder", path);
    if (pthread_create(&m->thread, NULL, run, m) != 0)
        return bd_fail(BD_ERROR_MEMORY, "%s: no thread for the encoder", path);
    m->started = true;
    return BD_OK;
}

enum bd_status bd_encoder_team_open(struct bd_encoder_team **out, const char *path,
                                    const struct bd_writer_plan *plan,
                                    const struct bd_writer_options *options, bool global_header,
                                    int threads, int count)
{
    size_t size = sizeof(struct bd_encoder_team) + (size_t)count * sizeof(struct member);
    struct bd_encoder_team *team = *out = calloc(1, size);
    enum bd_status status = BD_OK;
    if (!team)
        return bd_fail(BD_ERROR_MEMORY, "%s: no memory for the encoder", path);
    pthread_mutex_init(&team->mutex, NULL);
    pthread_cond_init(&team->changed, NULL);
    team->count = count;
    for (int i = 0; i < count && status == BD_OK; i++) {
        struct member *m = &team->members[i];
        m->team = team;
        status = bd_encoder_open(&m->encoder, path, plan, options, global_header,
                                 count > 1 ? 1 : threads);
        if (status == BD_OK && count > 1)
            status = start(m, path);
    }
    if (status != BD_OK)
        bd_encoder_team_close(out);
    return status;
}

const AVCodecContext *bd_encoder_team_context(const struct bd_encoder_team *team)
{
    return bd_encoder_context(team->members[0].encoder);
}

static void set_state(struct bd_encoder_team *team, struct member *m, enum member_state state)
{
    pthread_mutex_lock(&team->mutex);
    m->state = state;
    pthread_cond_broadcast(&team->changed);
    pthread_mutex_unlock(&team->mutex);
}

enum bd_status bd_encoder_team_send(struct bd_encoder_team *team, const struct bd_frame *frame,
                                    int64_t number)
{
    if (team->count == 1)
        return bd_encoder_send(team->members[0].encoder, frame, number);
    if (!frame) {
        team->flushing = true;
        return BD_OK;
    }
    struct member *m = &team->members[team->sent % team->count];
    enum bd_status status = bd_frame_copy(&m->frame, frame);
    if (status != BD_OK)
        return status;
    m->number = number;
    team->sent++;
    set_state(team, m, GIVEN);
    return BD_OK;
}

/* Whether that member has finished; waits for it if `wait`. */
static bool finished(struct bd_encoder_team *team, const struct member *m, bool wait)
{
    pthread_mutex_lock(&team->mutex);
    while (wait && m->state != DONE)
        pthread_cond_wait(&team->changed, &team->mutex);
    bool done = m->state == DONE;
    pthread_mutex_unlock(&team->mutex);
    return done;
}

enum bd_status bd_encoder_team_receive(struct bd_encoder_team *team, AVPacket *packet)
{
    if (team->count == 1)
        return bd_encoder_receive(team->members[0].encoder, packet);
    int64_t held = team->sent - team->received;
    struct member *m = &team->members[team->received % team->count];
    if (held == 0 || !finished(team, m, team->flushing || held == team->count))
        return BD_END;
    team->received++;
    enum bd_status status = m->status;
    if (status)
        bd_fail(status, "%s", m->detail);
    else
        av_packet_move_ref(packet, m->packet);
    set_state(team, m, IDLE);
    return status;
}

void bd_encoder_team_close(struct bd_encoder_team **out)
{
    struct bd_encoder_team *team = *out;
    if (!team)
        return;
    pthread_mutex_lock(&team->mutex);
    team->stop = true;
    pthread_cond_broadcast(&team->changed);
    pthread_mutex_unlock(&team->mutex);
    for (int i = 0; i < team->count; i++) {
        struct member *m = &team->members[i];
        if (m->started)
            pthread_join(m->thread, NULL);
        bd_encoder_close(&m->encoder);
        av_packet_free(&m->packet);
        bd_frame_destroy(&m->frame);
    }
    pthread_cond_destroy(&team->changed);
    pthread_mutex_destroy(&team->mutex);
    free(team);
    *out = NULL;
}
