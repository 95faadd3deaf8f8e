#include "datamap.h"

#include <stdlib.h>

/* A sparse file may claim any size; so much is enough to share the work out, and sums of it fit. */
#define FILE_WEIGHT_MAX ((int64_t)1 << 40)

/* A capture that takes less than this part of what a process gets is left whole: others level the difference out. */
#define WHOLE_PART 8

/* A piece is at least this part of the least size of a file that is split. */
#define PIECE_PART 4

static rlmr_status no_memory(rlmr_error *err) {
    (void)rlmr_error_set(err, RLMR_E_NOMEM, "no memory for the DataMap");
    return RLMR_E_NOMEM;
}

int64_t rlmr_datamap_weight(const rlmr_capture *capture, const rlmr_map_options *options) {
    int64_t bytes = 0;
    for (rlmr_file_kind kind = 0; kind < RLMR_FILES; kind++) {
        int64_t file = rlmr_map_reads(options, capture, kind) && capture->files[kind].bytes > 0
                           ? capture->files[kind].bytes
                           : 0;
        bytes += file < FILE_WEIGHT_MAX ? file : FILE_WEIGHT_MAX;
    }
    return bytes;
}

/* The sharing out. */
typedef struct {
    const rlmr_datamap *map;
    const rlmr_map_options *options;
    rlmr_bytes *parts; /* one a process, as the next two */
    int64_t *load;
    int64_t *cuts; /* where the pieces of the capture at hand end */
    int count;
    int process; /* that takes pieces now */
    int64_t target;
} sharing;

rlmr_status rlmr_datamap_encode(const rlmr_capture *capture, const rlmr_piece *piece, rlmr_bytes *part,
                                rlmr_error *err) {
    const int64_t words[] = {piece->index, piece->count, piece->first_process,
                             piece->from,  piece->to,    piece->of};
    rlmr_status status = rlmr_capture_encode(capture, part, err);
    for (size_t i = 0; i < sizeof words / sizeof words[0] && status == RLMR_OK; i++) {
        status = rlmr_bytes_append_i64(part, words[i], err);
    }
    return status;
}

static rlmr_status put_piece(const sharing *self, size_t at, const rlmr_piece *piece, rlmr_error *err) {
    rlmr_bytes *part = &self->parts[piece->first_process + piece->index];
    return rlmr_datamap_encode(&self->map->captures[at], piece, part, err);
}

/* Give pieces of `bytes` to the processes from the current one on, each up to the target. @return how many */
static int cut(sharing *self, int64_t bytes) {
    int64_t least = self->options->split_bytes / PIECE_PART + 1;
    int pieces = 0;
    if (self->target - self->load[self->process] < least && self->process + 1 < self->count) {
        self->process++;
    }
    for (int64_t at = 0; at < bytes; pieces++) {
        int64_t room = self->target - self->load[self->process];
        int64_t take = bytes - at;
        if (self->process + 1 < self->count && take > room + least) {
            take = room > least ? room : least;
        }
        at += take;
        self->load[self->process] += take;
        self->cuts[pieces] = at;
        self->process += at < bytes;
    }
    return pieces;
}

static rlmr_status share_large(sharing *self, size_t at, int64_t weight, rlmr_error *err) {
    int64_t bytes = rlmr_share_bytes(&self->map->captures[at], self->options);
    int count = cut(self, bytes);
    int first = self->process + 1 - count;
    self->load[first] += weight - bytes; /* the other files */
    rlmr_status status = RLMR_OK;
    for (int i = 0; i < count && status == RLMR_OK; i++) {
        rlmr_piece piece = {.index = i,
                            .count = count,
                            .first_process = first,
                            .from = i == 0 ? 0 : self->cuts[i - 1],
                            .to = self->cuts[i],
                            .of = bytes};
        status = put_piece(self, at, &piece, err);
    }
    return status;
}

typedef struct {
    int64_t bytes;
    size_t at; /* in the map */
} share_item;

static int compare_shares(const void *left, const void *right) {
    const share_item *a = left;
    const share_item *b = right;
    if (a->bytes != b->bytes) {
        return a->bytes > b->bytes ? -1 : 1;
    }
    return (a->at > b->at) - (a->at < b->at);
}

static rlmr_status share_small(sharing *self, const share_item *item, rlmr_error *err) {
    int least = 0;
    for (int process = 1; process < self->count; process++) {
        least = self->load[process] < self->load[least] ? process : least;
    }
    /* One more for the capture itself, so that empty ones are shared out too. */
    self->load[least] += item->bytes + 1;
    rlmr_piece whole = {.count = 1, .first_process = least, .to = item->bytes, .of = item->bytes};
    return put_piece(self, item->at, &whole, err);
}

static bool is_large(const sharing *self, const share_item *item) {
    int64_t bytes = rlmr_share_bytes(&self->map->captures[item->at], self->options);
    return self->count > 1 && bytes > 0 && bytes > self->target / WHOLE_PART;
}

static rlmr_status share_out(sharing *self, share_item *items, rlmr_error *err) {
    const rlmr_datamap *map = self->map;
    size_t count = map->count;
    size_t small = 0;
    int64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        items[i] = (share_item){.bytes = rlmr_datamap_weight(&map->captures[i], self->options), .at = i};
        sum += items[i].bytes;
    }
    self->target = sum / self->count + 1;
    rlmr_status status = RLMR_OK;
    for (size_t i = 0; i < count && status == RLMR_OK; i++) {
        if (is_large(self, &items[i])) {
            status = share_large(self, i, items[i].bytes, err);
        } else {
            items[small++] = items[i];
        }
    }
    qsort(items, small, sizeof *items, compare_shares);
    for (size_t i = 0; i < small && status == RLMR_OK; i++) {
        status = share_small(self, &items[i], err);
    }
    return status;
}

rlmr_status rlmr_datamap_share(const rlmr_datamap *map, const rlmr_map_options *options, rlmr_bytes *parts,
                               int count, rlmr_error *err) {
    sharing self = {.map = map, .options = options, .parts = parts, .count = count};
    share_item *items = malloc((map->count + 1) * sizeof *items);
    self.load = calloc((size_t)count, sizeof *self.load);
    self.cuts = calloc((size_t)count, sizeof *self.cuts);
    rlmr_status status = items == NULL || self.load == NULL || self.cuts == NULL
                             ? no_memory(err)
                             : share_out(&self, items, err);
    free(items);
    free(self.load);
    free(self.cuts);
    return status;
}

static rlmr_status make_room(rlmr_datamap *map, size_t *capacity, rlmr_error *err) {
    if (map->count < *capacity) {
        return RLMR_OK;
    }
    size_t more = *capacity == 0 ? 16 : *capacity * 2;
    rlmr_capture *captures = realloc(map->captures, more * sizeof *captures);
    if (captures == NULL) {
        return no_memory(err);
    }
    map->captures = captures;
    rlmr_piece *pieces = realloc(map->pieces, more * sizeof *pieces);
    if (pieces == NULL) {
        return no_memory(err);
    }
    map->pieces = pieces;
    *capacity = more;
    return RLMR_OK;
}

static rlmr_status take_piece(rlmr_reader *in, rlmr_piece *piece, rlmr_error *err) {
    int64_t words[6] = {0};
    rlmr_status status = RLMR_OK;
    for (size_t i = 0; i < sizeof words / sizeof words[0] && status == RLMR_OK; i++) {
        status = rlmr_reader_i64(in, &words[i], err);
    }
    *piece = (rlmr_piece){.index = (int32_t)words[0],
                          .count = (int32_t)words[1],
                          .first_process = (int32_t)words[2],
                          .from = words[3],
                          .to = words[4],
                          .of = words[5]};
    return status;
}

rlmr_status rlmr_datamap_decode(const rlmr_bytes *part, rlmr_datamap *map, rlmr_error *err) {
    *map = (rlmr_datamap){0};
    size_t capacity = 0;
    rlmr_reader reader = {.data = part->data, .bytes = part->bytes};
    rlmr_status status = RLMR_OK;
    while (reader.at < reader.bytes && status == RLMR_OK) {
        status = make_room(map, &capacity, err);
        status = status == RLMR_OK ? rlmr_capture_decode(&map->captures[map->count], &reader, err) : status;
        if (status == RLMR_OK) {
            status = take_piece(&reader, &map->pieces[map->count++], err);
        }
    }
    return status;
}
