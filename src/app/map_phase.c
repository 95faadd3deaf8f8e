#include "map_phase.h"

#include "rlmr/message.h"

#include <stdlib.h>
#include <string.h>

/* Captures that are shared, by place in the share of the DataMap; NULL for the others. */
typedef struct {
    rlmr_map_phase *phase;
    rlmr_meter meter;
    rlmr_damage_log log;
    rlmr_share **shares;
} mapping;

static rlmr_status advance(void *self, size_t bytes, rlmr_error *err) {
    rlmr_map_phase *phase = self;
    int64_t total;
    phase->bytes_done += (int64_t)bytes;
    rlmr_status status = rlmr_comm_watch(phase->comm, phase->bytes_done, &total, err);
    if (status == RLMR_OK) {
        rlmr_progress_update(phase->progress, total);
    }
    return status;
}

static void tick(void *self, int64_t total_bytes_done) {
    rlmr_map_phase *phase = self;
    rlmr_progress_update(phase->progress, total_bytes_done);
}

static void log_damage(void *self, const rlmr_capture *capture, const char *file, const char *text) {
    const rlmr_map_phase *phase = self;
    rlmr_message(phase->options->verbosity, RLMR_LEVEL_DEBUG, "capture %s: %s: %s", capture->path, file,
                 text);
}

static rlmr_status open_shares(mapping *self, rlmr_error *err) {
    const rlmr_map_phase *phase = self->phase;
    const rlmr_datamap *mine = phase->mine;
    rlmr_status status = RLMR_OK;
    self->shares = calloc(mine->count + 1, sizeof(rlmr_share *));
    if (self->shares == NULL) {
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory to map %zu captures", mine->count);
    }
    for (size_t i = 0; i < mine->count && status == RLMR_OK; i++) {
        if (mine->pieces[i].count > 1) {
            status = rlmr_share_open(&mine->captures[i], &mine->pieces[i], &phase->options->map,
                                     phase->partial, &self->meter, &self->shares[i], err);
        }
    }
    return status;
}

static void close_shares(mapping *self) {
    rlmr_map_phase *phase = self->phase;
    for (size_t i = 0; self->shares != NULL && i < phase->mine->count; i++) {
        phase->bytes_read += phase->mine->captures[i].bytes_read;
        phase->bytes_read += self->shares[i] == NULL ? 0 : rlmr_share_bytes_read(self->shares[i]);
        rlmr_share_close(self->shares[i]);
    }
    free(self->shares);
}

static rlmr_status work(mapping *self, rlmr_share_step step, rlmr_error *err) {
    rlmr_status status = RLMR_OK;
    for (size_t i = 0; i < self->phase->mine->count && status == RLMR_OK; i++) {
        status = self->shares[i] == NULL ? RLMR_OK : rlmr_share_work(self->shares[i], step, err);
    }
    return status;
}

static void say_shared(const mapping *self, size_t at) {
    const rlmr_datamap *mine = self->phase->mine;
    bool holds = rlmr_share_holds(self->shares[at]);
    rlmr_message(self->phase->options->verbosity, RLMR_LEVEL_DEBUG, "capture %s: in %d parts%s",
                 mine->captures[at].path, mine->pieces[at].count,
                 holds ? "" : ", then by one process, for there is something wrong with it");
}

/* The captures that are for one process alone; then, with `shared`, those whose piece 0 is here. */
static rlmr_status map_captures(mapping *self, bool shared, rlmr_error *err) {
    rlmr_map_phase *phase = self->phase;
    rlmr_status status = RLMR_OK;
    for (size_t i = 0; i < phase->mine->count && status == RLMR_OK; i++) {
        rlmr_share *share = self->shares[i];
        if ((share != NULL) == shared && phase->mine->pieces[i].index == 0) {
            if (shared) {
                say_shared(self, i);
            }
            status = rlmr_map_capture(&phase->mine->captures[i], &phase->options->map, phase->partial, share,
                                      &self->meter, &self->log, err);
        }
    }
    return status;
}

/* Collective. Wait for the others, who are working. */
static rlmr_status wait_for_all(mapping *self, rlmr_status status, rlmr_error *err) {
    rlmr_map_phase *phase = self->phase;
    return rlmr_comm_watch_end(phase->comm, status, phase->bytes_done, tick, phase, err);
}

/* A message names the capture and the piece it comes from; then comes what is told to piece `to`, as a slice. */
static rlmr_status put_message(const mapping *self, size_t at, rlmr_share_step step, int to,
                               rlmr_bytes *message, rlmr_error *err) {
    int64_t bytes = 0; /* filled in once it is known: what is told may be large, and is not copied for this */
    rlmr_status status = rlmr_bytes_append_i64(message, self->phase->mine->captures[at].number, err);
    status =
        status == RLMR_OK ? rlmr_bytes_append_i64(message, self->phase->mine->pieces[at].index, err) : status;
    status = status == RLMR_OK ? rlmr_bytes_append_i64(message, bytes, err) : status;
    size_t head = message->bytes;
    status = status == RLMR_OK ? rlmr_share_tell(self->shares[at], step, to, message, err) : status;
    if (status == RLMR_OK) {
        bytes = (int64_t)(message->bytes - head);
        memcpy(message->data + head - sizeof bytes, &bytes, sizeof bytes);
    }
    return status;
}

/* To all others that share the capture. */
static rlmr_status tell(const mapping *self, size_t at, rlmr_share_step step, rlmr_bytes *parts,
                        rlmr_error *err) {
    const rlmr_piece *piece = &self->phase->mine->pieces[at];
    rlmr_status status = RLMR_OK;
    for (int to = 0; to < piece->count && status == RLMR_OK; to++) {
        if (to != piece->index) {
            status = put_message(self, at, step, to, &parts[piece->first_process + to], err);
        }
    }
    return status;
}

static rlmr_share *find_share(const mapping *self, int64_t number) {
    for (size_t i = 0; i < self->phase->mine->count; i++) {
        if (self->phase->mine->captures[i].number == number && self->shares[i] != NULL) {
            return self->shares[i];
        }
    }
    return NULL;
}

static rlmr_status hear(const mapping *self, rlmr_share_step step, const rlmr_bytes *told, rlmr_error *err) {
    rlmr_reader in = {.data = told->data, .bytes = told->bytes};
    rlmr_status status = RLMR_OK;
    while (in.at < in.bytes && status == RLMR_OK) {
        int64_t number = 0;
        int64_t from = 0;
        rlmr_slice text = {0};
        status = rlmr_reader_i64(&in, &number, err);
        status = status == RLMR_OK ? rlmr_reader_i64(&in, &from, err) : status;
        status = status == RLMR_OK ? rlmr_reader_slice(&in, &text, err) : status;
        rlmr_share *share = find_share(self, number);
        if (status == RLMR_OK && share == NULL) {
            status =
                rlmr_error_set(err, RLMR_E_COMM, "another process tells of a capture that is not shared");
        }
        status = status == RLMR_OK ? rlmr_share_hear(share, step, from, text, err) : status;
    }
    return status;
}

static void release_parts(rlmr_bytes *parts, int count) {
    for (int process = 0; parts != NULL && process < count; process++) {
        rlmr_bytes_release(&parts[process]);
    }
    free(parts);
}

/* Collective. What all have found in a step, to those that share. */
static rlmr_status exchange(mapping *self, rlmr_share_step step, rlmr_error *err) {
    rlmr_comm *comm = self->phase->comm;
    int count = rlmr_comm_size(comm);
    rlmr_bytes *parts = calloc((size_t)count, sizeof *parts);
    rlmr_bytes *told = calloc((size_t)count, sizeof *told);
    rlmr_status status = RLMR_OK;
    if (parts == NULL || told == NULL) {
        status = rlmr_error_set(err, RLMR_E_NOMEM, "no memory to share captures");
    }
    for (size_t i = 0; i < self->phase->mine->count && status == RLMR_OK; i++) {
        status = self->shares[i] == NULL ? RLMR_OK : tell(self, i, step, parts, err);
    }
    status = rlmr_comm_agree(comm, status, err);
    if (status == RLMR_OK && parts != NULL && told != NULL) {
        status = rlmr_comm_exchange_parts(comm, parts, told, err);
        for (int from = 0; from < count && status == RLMR_OK; from++) {
            status = hear(self, step, &told[from], err);
            rlmr_bytes_release(&told[from]);
        }
        status = rlmr_comm_agree(comm, status, err);
    }
    release_parts(parts, count);
    release_parts(told, count);
    return status;
}

/* Collective. The last step is no reading. */
static rlmr_status match(mapping *self, rlmr_error *err) {
    rlmr_status status = rlmr_comm_agree(self->phase->comm, work(self, RLMR_SHARE_STACKS, err), err);
    status = status == RLMR_OK ? exchange(self, RLMR_SHARE_STACKS, err) : status;
    for (size_t i = 0; i < self->phase->mine->count && status == RLMR_OK; i++) {
        status = self->shares[i] == NULL ? RLMR_OK : rlmr_share_finish(self->shares[i], err);
    }
    return rlmr_comm_agree(self->phase->comm, status, err);
}

/* Collective. Whether any capture is shared. */
static rlmr_status ask_for_shares(const mapping *self, bool *any, rlmr_error *err) {
    int64_t pieces = 0;
    for (size_t i = 0; i < self->phase->mine->count; i++) {
        pieces += self->shares[i] != NULL;
    }
    rlmr_status status = rlmr_comm_sum(self->phase->comm, &pieces, 1, err);
    *any = pieces > 0;
    return status;
}

/* Collective. Events, which take most of the time, and all that is for one process alone. */
static rlmr_status read_all(mapping *self, rlmr_error *err) {
    rlmr_status status = work(self, RLMR_SHARE_EVENTS, err);
    status = status == RLMR_OK ? map_captures(self, false, err) : status;
    return wait_for_all(self, status, err);
}

/* Collective. Then the rest of shared captures, and those that cannot be shared after all. */
static rlmr_status map_shared(mapping *self, rlmr_error *err) {
    rlmr_status status = wait_for_all(self, work(self, RLMR_SHARE_RECORDS, err), err);
    status = status == RLMR_OK ? exchange(self, RLMR_SHARE_RECORDS, err) : status;
    status = status == RLMR_OK ? read_all(self, err) : status;
    for (rlmr_share_step step = RLMR_SHARE_EVENTS; step <= RLMR_SHARE_ANSWERS && status == RLMR_OK; step++) {
        status = exchange(self, step, err);
    }
    status = status == RLMR_OK ? match(self, err) : status;
    return status == RLMR_OK ? wait_for_all(self, map_captures(self, true, err), err) : status;
}

rlmr_status rlmr_map_phase_run(rlmr_map_phase *phase, rlmr_status local, rlmr_error *err) {
    mapping self = {.phase = phase,
                    .meter = {.advance = advance, .self = phase},
                    .log = {.met = log_damage, .self = phase}};
    bool any = false;
    rlmr_status status = local == RLMR_OK ? open_shares(&self, err) : local;
    status = rlmr_comm_agree(phase->comm, status, err);
    if (status == RLMR_OK && self.shares != NULL) {
        status = ask_for_shares(&self, &any, err);
    }
    if (status == RLMR_OK && self.shares != NULL) {
        status = any ? map_shared(&self, err) : read_all(&self, err);
    }
    rlmr_progress_end(phase->progress);
    close_shares(&self);
    return status;
}
