/* The form in which a map travels: roles, layouts, numberings, stages, each with its count before it. All of it must be in the
 * order that the map keeps, so what is taken back is written again as the same bytes. */
#include "cluster_map_state.h"

/* ---- Out ---- */

static rlmr_status put_count(rlmr_bytes *out, size_t count, rlmr_error *err) {
    return count <= UINT32_MAX ? rlmr_bytes_append_u32(out, (uint32_t)count, err)
                               : rlmr_error_set(err, RLMR_E_RANGE, "a map of %zu parts", count);
}

static rlmr_status put_i32(rlmr_bytes *out, int32_t value, rlmr_error *err) {
    return rlmr_bytes_append_u32(out, (uint32_t)value, err);
}

static rlmr_status put_roles(const rlmr_cluster_map *map, rlmr_bytes *out, rlmr_error *err) {
    size_t count = RLMR_COUNT(uint32_t, map->roles);
    rlmr_status status = put_count(out, count, err);
    for (size_t i = 0; i < count && status == RLMR_OK; i++) {
        status = rlmr_bytes_append_slice(out, rlmr_cluster_map_role(map, (uint32_t)i), err);
    }
    return status;
}

static rlmr_status put_layouts(const rlmr_cluster_map *map, rlmr_bytes *out, rlmr_error *err) {
    size_t count = RLMR_COUNT(rlmr_role_layout, map->layouts);
    rlmr_status status = put_count(out, count, err);
    for (size_t i = 0; i < count && status == RLMR_OK; i++) {
        const rlmr_role_layout *item = &RLMR_ITEMS(rlmr_role_layout, map->layouts)[i];
        status = rlmr_bytes_append_u32(out, item->role, err);
#define PUT(type, name, unit, storage, description)                                                          \
    status = status == RLMR_OK ? put_i32(out, item->layout.name, err) : status;
        RLMR_JOB_SIZES(PUT)
#undef PUT
    }
    return status;
}

/* Ranks of the numbers 0 .. dense - 1 without these, then the others with them. */
static rlmr_status put_numbering(const rlmr_cluster_map *map, const rlmr_numbering *numbering,
                                 rlmr_bytes *out, rlmr_error *err) {
    const rlmr_numbered *items = RLMR_ITEMS(rlmr_numbered, map->numbered) + numbering->first;
    size_t dense = 0;
    while (dense < numbering->count && items[dense].number == (int32_t)dense) {
        dense++;
    }
    rlmr_status status = rlmr_bytes_append_u32(out, numbering->role, err);
    status = status == RLMR_OK
                 ? rlmr_bytes_append_slice(out, rlmr_symtab_text(map->texts, numbering->name), err)
                 : status;
    status = status == RLMR_OK ? put_count(out, dense, err) : status;
    status = status == RLMR_OK ? put_count(out, numbering->count - dense, err) : status;
    for (size_t i = 0; i < numbering->count && status == RLMR_OK; i++) {
        status = i < dense ? RLMR_OK : put_i32(out, items[i].number, err);
        status = status == RLMR_OK ? put_i32(out, items[i].rank, err) : status;
    }
    return status;
}

static rlmr_status put_numberings(const rlmr_cluster_map *map, rlmr_bytes *out, rlmr_error *err) {
    size_t count = RLMR_COUNT(rlmr_numbering, map->numberings);
    rlmr_status status = put_count(out, count, err);
    for (size_t i = 0; i < count && status == RLMR_OK; i++) {
        status = put_numbering(map, &RLMR_ITEMS(rlmr_numbering, map->numberings)[i], out, err);
    }
    return status;
}

static rlmr_status put_stages(const rlmr_cluster_map *map, rlmr_bytes *out, rlmr_error *err) {
    size_t count = RLMR_COUNT(rlmr_stage, map->stages);
    rlmr_status status = put_count(out, count, err);
    for (size_t i = 0; i < count && status == RLMR_OK; i++) {
        const rlmr_stage *stage = &RLMR_ITEMS(rlmr_stage, map->stages)[i];
        status = rlmr_bytes_append_u32(out, stage->role, err);
        status = status == RLMR_OK ? put_count(out, stage->count, err) : status;
        status = status == RLMR_OK
                     ? rlmr_bytes_append(out, RLMR_ITEMS(int32_t, map->stage_ranks) + stage->first,
                                         stage->count * sizeof(int32_t), err)
                     : status;
    }
    return status;
}

rlmr_status rlmr_cluster_map_encode(const rlmr_cluster_map *map, rlmr_bytes *out, rlmr_error *err) {
    rlmr_status status = put_roles(map, out, err);
    status = status == RLMR_OK ? put_layouts(map, out, err) : status;
    status = status == RLMR_OK ? put_numberings(map, out, err) : status;
    return status == RLMR_OK ? put_stages(map, out, err) : status;
}

/* ---- In ---- */

typedef struct {
    rlmr_cluster_map *map;
    rlmr_reader reader;
    rlmr_error *err;
} intake;

static rlmr_status refuse(const intake *in, const char *what) {
    return rlmr_error_set(in->err, RLMR_E_PARSE, "a map of the cluster with %s", what);
}

static rlmr_status take_u32(intake *in, uint32_t *value) {
    return rlmr_reader_u32(&in->reader, value, in->err);
}

/* A rank, or a number in a group. */
static rlmr_status take_i32(intake *in, int32_t *value) {
    uint32_t bits = 0;
    rlmr_status status = take_u32(in, &bits);
    if (status == RLMR_OK && bits > INT32_MAX) {
        status = refuse(in, "a negative number");
    }
    *value = (int32_t)(bits & INT32_MAX);
    return status;
}

static rlmr_status take_role(intake *in, uint32_t *role) {
    rlmr_status status = take_u32(in, role);
    return status == RLMR_OK && *role >= RLMR_COUNT(uint32_t, in->map->roles) ? refuse(in, "a role too many")
                                                                              : status;
}

static rlmr_status take_text(intake *in, rlmr_slice *text, uint32_t *id) {
    rlmr_status status = rlmr_reader_slice(&in->reader, text, in->err);
    return status == RLMR_OK ? rlmr_symtab_intern(in->map->texts, *text, id, in->err) : status;
}

static rlmr_status take_roles(intake *in) {
    uint32_t count = 0;
    rlmr_status status = take_u32(in, &count);
    for (uint32_t i = 0; i < count && status == RLMR_OK; i++) {
        rlmr_slice text = {NULL, 0};
        uint32_t id = 0;
        status = take_text(in, &text, &id);
        if (status == RLMR_OK && i > 0 &&
            rlmr_slice_compare(rlmr_cluster_map_role(in->map, i - 1), text) >= 0) {
            status = refuse(in, "roles out of order");
        }
        status = status == RLMR_OK ? rlmr_bytes_append_u32(&in->map->roles, id, in->err) : status;
    }
    return status;
}

static rlmr_status take_layout(intake *in, rlmr_role_layout *item) {
    rlmr_status status = take_role(in, &item->role);
#define TAKE(type, name, unit, storage, description)                                                         \
    status = status == RLMR_OK ? take_i32(in, &item->layout.name) : status;
    RLMR_JOB_SIZES(TAKE)
#undef TAKE
    rlmr_layout same = item->layout;
    if (status == RLMR_OK && (!rlmr_layout_complete(&item->layout) || same.tp == 0 || same.pp == 0 ||
                              same.dp == 0 || same.cp == 0 || same.ep == 0)) {
        status = refuse(in, "sizes that do not agree");
    }
    return status;
}

static rlmr_status take_layouts(intake *in) {
    uint32_t count = 0;
    rlmr_role_layout last = {0};
    rlmr_status status = take_u32(in, &count);
    for (uint32_t i = 0; i < count && status == RLMR_OK; i++) {
        rlmr_role_layout item = {0};
        status = take_layout(in, &item);
        if (status == RLMR_OK && i > 0 && item.role <= last.role) {
            status = refuse(in, "sizes out of order");
        }
        status =
            status == RLMR_OK ? rlmr_bytes_append(&in->map->layouts, &item, sizeof item, in->err) : status;
        last = item;
    }
    return status;
}

static rlmr_status take_numbered(intake *in, uint32_t dense, uint32_t sparse) {
    rlmr_status status = RLMR_OK;
    int32_t last = 0;
    for (uint64_t i = 0; i < (uint64_t)dense + sparse && status == RLMR_OK; i++) {
        rlmr_numbered item = {.number = (int32_t)i};
        if (i >= dense) {
            status = take_i32(in, &item.number);
            /* The number that follows the dense ones would have been one of them. */
            if (status == RLMR_OK && item.number <= (i == dense ? (int64_t)dense : last)) {
                status = refuse(in, "numbers out of order");
            }
        }
        status = status == RLMR_OK ? take_i32(in, &item.rank) : status;
        status =
            status == RLMR_OK ? rlmr_bytes_append(&in->map->numbered, &item, sizeof item, in->err) : status;
        last = item.number;
    }
    return status;
}

static rlmr_status take_numbering(intake *in, rlmr_numbering *item, rlmr_slice *name) {
    uint32_t dense = 0;
    uint32_t sparse = 0;
    item->first = RLMR_COUNT(rlmr_numbered, in->map->numbered);
    rlmr_status status = take_role(in, &item->role);
    status = status == RLMR_OK ? take_text(in, name, &item->name) : status;
    status = status == RLMR_OK ? take_u32(in, &dense) : status;
    status = status == RLMR_OK ? take_u32(in, &sparse) : status;
    if (status == RLMR_OK && dense == 0 && sparse == 0) {
        status = refuse(in, "a group without numbers");
    }
    status = status == RLMR_OK ? take_numbered(in, dense, sparse) : status;
    item->count = RLMR_COUNT(rlmr_numbered, in->map->numbered) - item->first;
    return status;
}

static rlmr_status take_numberings(intake *in) {
    uint32_t count = 0;
    rlmr_numbering last = {0};
    rlmr_status status = take_u32(in, &count);
    for (uint32_t i = 0; i < count && status == RLMR_OK; i++) {
        rlmr_numbering item = {0};
        rlmr_slice name = {NULL, 0};
        status = take_numbering(in, &item, &name);
        bool same_role = item.role == last.role;
        if (status == RLMR_OK && i > 0 &&
            (item.role < last.role ||
             (same_role && rlmr_slice_compare(rlmr_symtab_text(in->map->texts, last.name), name) >= 0))) {
            status = refuse(in, "groups out of order");
        }
        status =
            status == RLMR_OK ? rlmr_bytes_append(&in->map->numberings, &item, sizeof item, in->err) : status;
        last = item;
    }
    return status;
}

static rlmr_status take_stage(intake *in, rlmr_stage *item) {
    uint32_t count = 0;
    int32_t last = -1;
    item->first = RLMR_COUNT(int32_t, in->map->stage_ranks);
    rlmr_status status = take_role(in, &item->role);
    status = status == RLMR_OK ? take_u32(in, &count) : status;
    if (status == RLMR_OK && count == 0) {
        status = refuse(in, "a stage without ranks");
    }
    for (uint32_t i = 0; i < count && status == RLMR_OK; i++) {
        int32_t rank = 0;
        status = take_i32(in, &rank);
        if (status == RLMR_OK && rank <= last) {
            status = refuse(in, "ranks out of order");
        }
        status = status == RLMR_OK ? rlmr_bytes_append(&in->map->stage_ranks, &rank, sizeof rank, in->err)
                                   : status;
        last = rank;
    }
    item->count = count;
    return status;
}

static rlmr_status take_stages(intake *in) {
    uint32_t count = 0;
    rlmr_stage last = {0};
    rlmr_status status = take_u32(in, &count);
    for (uint32_t i = 0; i < count && status == RLMR_OK; i++) {
        rlmr_stage item = {0};
        status = take_stage(in, &item);
        if (status == RLMR_OK && item.role < last.role) {
            status = refuse(in, "stages out of order");
        }
        status =
            status == RLMR_OK ? rlmr_bytes_append(&in->map->stages, &item, sizeof item, in->err) : status;
        last = item;
    }
    return status == RLMR_OK ? rlmr_cluster_map_index_stages(in->map, in->err) : status;
}

rlmr_status rlmr_cluster_map_decode(const rlmr_bytes *bytes, rlmr_cluster_map **out, rlmr_error *err) {
    intake in = {.reader = {.data = bytes->data, .bytes = bytes->bytes}, .err = err};
    rlmr_status status = rlmr_cluster_map_open(&in.map, err);
    status = status == RLMR_OK ? take_roles(&in) : status;
    status = status == RLMR_OK ? take_layouts(&in) : status;
    status = status == RLMR_OK ? take_numberings(&in) : status;
    status = status == RLMR_OK ? take_stages(&in) : status;
    if (status == RLMR_OK && in.reader.at < in.reader.bytes) {
        status = refuse(&in, "bytes behind its end");
    }
    if (status != RLMR_OK) {
        rlmr_cluster_map_close(in.map);
        in.map = NULL;
    }
    *out = in.map;
    return status;
}
