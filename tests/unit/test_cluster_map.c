#include "rlmr/cluster_map.h"

#include "group_declarations.h"
#include "reduce.h"
#include "rlmr/collector.h"
#include "rlmr/rank_set.h"

#include <CUnit/Basic.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- What captures state ---- */

enum { USES, DECLARED, JOBS, FACTS };

typedef struct {
    rlmr_symtab *texts;
    rlmr_table facts[FACTS];
} captures;

static const rlmr_schema *fact_schema(int fact) {
    static const rlmr_schema *const schemas[] = {&rlmr_group_use_schema, &rlmr_group_declared_schema,
                                                 &rlmr_job_distribution_schema};
    return schemas[fact];
}

static captures open_captures(void) {
    captures out = {.texts = NULL};
    CU_ASSERT_EQUAL_FATAL(rlmr_symtab_open(&out.texts, NULL), RLMR_OK);
    for (int fact = 0; fact < FACTS; fact++) {
        rlmr_table_init(&out.facts[fact], fact_schema(fact));
    }
    return out;
}

static uint32_t intern(rlmr_symtab *texts, const char *text) {
    uint32_t id = UINT32_MAX;
    CU_ASSERT_EQUAL_FATAL(rlmr_symtab_intern(texts, rlmr_slice_of(text), &id, NULL), RLMR_OK);
    return id;
}

static void append(captures *to, int fact, const void *row) {
    CU_ASSERT_EQUAL_FATAL(rlmr_table_append(&to->facts[fact], row, NULL), RLMR_OK);
}

/* The name of a group with this id, in one of a few buffers. */
static const char *name_of(const char *group_id) {
    static char names[8][24];
    static int next;
    char *name = names[next++ % 8];
    (void)snprintf(name, sizeof names[0], "%" PRIu64, rlmr_group_hash(rlmr_slice_of(group_id)));
    return name;
}

/* Rank `rank` uses a group. @param name its name, not its id */
static void use_name(captures *to, const char *role, const char *type, const char *name, int32_t rank,
                     int32_t own_local, int32_t greatest_local) {
    rlmr_group_use_row row = {.role = intern(to->texts, role),
                              .type = intern(to->texts, type),
                              .group_name = intern(to->texts, name),
                              .rank_id = rank,
                              .capture = (int32_t)to->facts[USES].rows,
                              .own_local = own_local,
                              .greatest_local = greatest_local};
    append(to, USES, &row);
}

static void declare(captures *to, const char *role, const char *group_id, int32_t rank, const char *pg_name,
                    const char *global_ranks) {
    rlmr_group_declared_row row = {.role = intern(to->texts, role),
                                   .group_id = intern(to->texts, group_id),
                                   .rank_id = rank,
                                   .capture = rank,
                                   .pg_name = intern(to->texts, pg_name),
                                   .global_ranks = intern(to->texts, global_ranks)};
    append(to, DECLARED, &row);
}

static void distribute(captures *to, const char *role, int32_t rank, const int32_t sizes[6],
                       const char *args) {
    rlmr_job_distribution_row row = {.role = intern(to->texts, role),
                                     .rank_id = rank,
                                     .capture = rank,
                                     .tp = sizes[0],
                                     .pp = sizes[1],
                                     .dp = sizes[2],
                                     .cp = sizes[3],
                                     .ep = sizes[4],
                                     .world = sizes[5],
                                     .distributed_args = intern(to->texts, args)};
    append(to, JOBS, &row);
}

/* All `count` ranks of a group declare and use it; its id is its process group and its least rank. */
static void add_group(captures *to, const char *role, const char *type, const char *pg_name,
                      const int32_t *ranks, size_t count) {
    char id[64];
    (void)snprintf(id, sizeof id, "10.0.0.1%%eth0_%s_%d_%zu", pg_name, (int)ranks[0], count);
    char *text = calloc(count, 12);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        bytes += (size_t)snprintf(text + bytes, 12, i == 0 ? "%d" : " %d", (int)ranks[i]);
    }
    for (size_t i = 0; i < count; i++) {
        declare(to, role, id, ranks[i], pg_name, text);
        use_name(to, role, type, name_of(id), ranks[i], -1, -1);
    }
    free(text);
}

#define GROUP(to, role, type, pg_name, ...)                                                                  \
    do {                                                                                                     \
        const int32_t group_ranks[] = {__VA_ARGS__};                                                         \
        add_group(to, role, type, pg_name, group_ranks, sizeof group_ranks / sizeof *group_ranks);           \
    } while (0)

/* ---- The map of them, built and decoded ---- */

typedef struct {
    rlmr_cluster_map *built;
    rlmr_cluster_map *decoded;
    rlmr_bytes wire;
    rlmr_symtab *texts; /* of the tables */
    rlmr_table groups;
    rlmr_table info;
} result;

static rlmr_collector *reduce(captures *from, int fact, rlmr_symtab *texts) {
    rlmr_collector *collector = NULL;
    rlmr_comm *comm = NULL;
    rlmr_error err;
    rlmr_error_clear(&err);
    CU_ASSERT_EQUAL_FATAL(rlmr_comm_open(RLMR_MESSAGE_BYTES_DEFAULT, &comm, NULL), RLMR_OK);
    CU_ASSERT_EQUAL_FATAL(
        rlmr_reduce_collect(comm, &from->facts[fact], from->texts, 1 << 16, texts, &collector, &err),
        RLMR_OK);
    rlmr_comm_close(comm);
    return collector;
}

/* The facts come as they do on process 0, through a collector. Uses the captures up. */
static result build(captures *from) {
    result out = {.built = NULL};
    rlmr_symtab *texts = NULL;
    rlmr_collector *facts[FACTS];
    CU_ASSERT_EQUAL_FATAL(rlmr_symtab_open(&texts, NULL), RLMR_OK);
    for (int fact = 0; fact < FACTS; fact++) {
        facts[fact] = reduce(from, fact, texts);
    }
    CU_ASSERT_EQUAL_FATAL(rlmr_cluster_map_build(rlmr_collector_table(facts[USES]),
                                                 rlmr_collector_table(facts[DECLARED]),
                                                 rlmr_collector_table(facts[JOBS]), texts, &out.built, NULL),
                          RLMR_OK);
    for (int fact = 0; fact < FACTS; fact++) {
        rlmr_collector_close(facts[fact]);
        rlmr_table_release(&from->facts[fact]);
    }
    rlmr_symtab_close(texts);
    rlmr_symtab_close(from->texts);
    CU_ASSERT_EQUAL_FATAL(rlmr_cluster_map_encode(out.built, &out.wire, NULL), RLMR_OK);
    CU_ASSERT_EQUAL_FATAL(rlmr_cluster_map_decode(&out.wire, &out.decoded, NULL), RLMR_OK);
    rlmr_table_init(&out.groups, &rlmr_communication_group_schema);
    rlmr_table_init(&out.info, &rlmr_cluster_base_info_schema);
    CU_ASSERT_EQUAL_FATAL(rlmr_symtab_open(&out.texts, NULL), RLMR_OK);
    (void)intern(out.texts, "ids are not those of the map");
    CU_ASSERT_EQUAL_FATAL(rlmr_cluster_map_tables(out.built, &out.groups, &out.info, out.texts, NULL),
                          RLMR_OK);
    return out;
}

static void close_result(result *of) {
    rlmr_cluster_map_close(of->built);
    rlmr_cluster_map_close(of->decoded);
    rlmr_bytes_release(&of->wire);
    rlmr_table_release(&of->groups);
    rlmr_table_release(&of->info);
    rlmr_symtab_close(of->texts);
}

/* ---- Looking at it ---- */

static bool has_text(const rlmr_table *table, const rlmr_symtab *texts, uint64_t row, const char *column,
                     const char *text) {
    const uint32_t *id = rlmr_table_value(table, row, rlmr_schema_column(table->schema, column));
    return rlmr_slice_equal(rlmr_symtab_text(texts, *id), rlmr_slice_of(text));
}

static int32_t number(const rlmr_table *table, uint64_t row, const char *column) {
    return *(const int32_t *)rlmr_table_value(table, row, rlmr_schema_column(table->schema, column));
}

typedef struct {
    const char *role;
    const char *type;
    const char *name;
    const char *id;
    const char *pg_name;
    const char *rank_set;
    int32_t size;
    int32_t seen;
    const char *source;
} group_row;

static bool holds_group(const result *of, const group_row *wanted) {
    bool found = false;
    for (uint64_t row = 0; row < of->groups.rows; row++) {
        const rlmr_table *t = &of->groups;
        found = found ||
                (has_text(t, of->texts, row, "role", wanted->role) &&
                 has_text(t, of->texts, row, "type", wanted->type) &&
                 has_text(t, of->texts, row, "group_name", wanted->name) &&
                 has_text(t, of->texts, row, "group_id", wanted->id) &&
                 has_text(t, of->texts, row, "pg_name", wanted->pg_name) &&
                 has_text(t, of->texts, row, "rank_set", wanted->rank_set) &&
                 number(t, row, "size") == wanted->size && number(t, row, "members_seen") == wanted->seen &&
                 has_text(t, of->texts, row, "source", wanted->source));
    }
    return found;
}

static void check_groups(const result *of, const group_row *wanted, size_t count) {
    CU_ASSERT_EQUAL(of->groups.rows, count);
    for (size_t i = 0; i < count; i++) {
        CU_ASSERT_TRUE(holds_group(of, &wanted[i]));
    }
}

#define CHECK_GROUPS(of, ...)                                                                                \
    do {                                                                                                     \
        const group_row wanted_rows[] = {__VA_ARGS__};                                                       \
        check_groups(of, wanted_rows, sizeof wanted_rows / sizeof *wanted_rows);                             \
    } while (0)

/* A link from number `number` to 1000, which no group has here, and one back. */
static int32_t rank_of_number(const rlmr_cluster_map *map, const char *role, const char *name,
                              int32_t number_) {
    rlmr_symtab *texts = NULL;
    rlmr_table links;
    CU_ASSERT_EQUAL_FATAL(rlmr_symtab_open(&texts, NULL), RLMR_OK);
    rlmr_table_init(&links, &rlmr_cluster_communication_matrix_schema);
    rlmr_cluster_communication_matrix_row there = {.role = intern(texts, role),
                                                   .group_name = intern(texts, name),
                                                   .src_rank = 77,
                                                   .dst_rank = 77,
                                                   .src_local = number_,
                                                   .dst_local = 100000};
    rlmr_cluster_communication_matrix_row back = there;
    back.src_local = there.dst_local;
    back.dst_local = there.src_local;
    rlmr_cluster_communication_matrix_row other = there;
    other.group_name = intern(texts, "no such group");
    CU_ASSERT_EQUAL_FATAL(rlmr_table_append(&links, &there, NULL), RLMR_OK);
    CU_ASSERT_EQUAL_FATAL(rlmr_table_append(&links, &other, NULL), RLMR_OK);
    CU_ASSERT_EQUAL_FATAL(rlmr_table_append(&links, &back, NULL), RLMR_OK);
    rlmr_cluster_map_links(map, &links, texts);
    int32_t rank = number(&links, 0, "src_rank");
    CU_ASSERT_EQUAL(number(&links, 0, "dst_rank"), -1);
    CU_ASSERT_EQUAL(number(&links, 1, "src_rank"), -1);
    CU_ASSERT_EQUAL(number(&links, 1, "dst_rank"), -1);
    CU_ASSERT_EQUAL(number(&links, 2, "src_rank"), -1);
    CU_ASSERT_EQUAL(number(&links, 2, "dst_rank"), rank);
    rlmr_table_release(&links);
    rlmr_symtab_close(texts);
    return rank;
}

static void check_number(const result *of, const char *role, const char *name, int32_t number_,
                         int32_t rank) {
    CU_ASSERT_EQUAL(rank_of_number(of->built, role, name, number_), rank);
    CU_ASSERT_EQUAL(rank_of_number(of->decoded, role, name, number_), rank);
}

/* One step of one rank. */
typedef struct {
    rlmr_symtab *texts;
    rlmr_table rows;
} one_step;

static one_step complete_step(const rlmr_cluster_map *map, const char *role, int32_t rank) {
    one_step out = {.texts = NULL};
    CU_ASSERT_EQUAL_FATAL(rlmr_symtab_open(&out.texts, NULL), RLMR_OK);
    rlmr_table_init(&out.rows, &rlmr_cluster_step_trace_time_schema);
    rlmr_cluster_step_trace_time_row row = {.role = intern(out.texts, role),
                                            .window = 3,
                                            .step = intern(out.texts, "5"),
                                            .type = intern(out.texts, "rank"),
                                            .index = intern(out.texts, "the rank"),
                                            .rank_id = rank,
                                            .capture = 8,
                                            .computing = 1.5,
                                            .communication_not_overlapped = 2.5,
                                            .overlapped = 3.5,
                                            .communication = 4.5,
                                            .free = 5.5,
                                            .stage = 6.5,
                                            .bubble = 7.5,
                                            .communication_not_overlapped_and_exclude_receive = 8.5,
                                            .preparing = NAN,
                                            .dp_index = 77,
                                            .pp_index = 77,
                                            .tp_index = 77,
                                            .file_row = 9};
    CU_ASSERT_EQUAL_FATAL(rlmr_table_append(&out.rows, &row, NULL), RLMR_OK);
    CU_ASSERT_EQUAL(rlmr_cluster_map_steps(map, &out.rows, out.texts, NULL), RLMR_OK);
    return out;
}

static void close_step(one_step *step) {
    rlmr_table_release(&step->rows);
    rlmr_symtab_close(step->texts);
}

static void check_map_stage(const rlmr_cluster_map *map, const char *role, int32_t rank, const char *stage) {
    one_step step = complete_step(map, role, rank);
    CU_ASSERT_EQUAL(step.rows.rows, stage == NULL ? 1 : 2);
    if (step.rows.rows == 2 && stage != NULL) {
        CU_ASSERT_TRUE(has_text(&step.rows, step.texts, 1, "index", stage));
        CU_ASSERT_TRUE(has_text(&step.rows, step.texts, 1, "type", "stage"));
    }
    close_step(&step);
}

/* @param stage NULL: there is no row of a stage */
static void check_stage(const result *of, const char *role, int32_t rank, const char *stage) {
    check_map_stage(of->built, role, rank, stage);
    check_map_stage(of->decoded, role, rank, stage);
}

static void check_map_place(const rlmr_cluster_map *map, const char *role, int32_t rank, int32_t dp,
                            int32_t pp, int32_t tp) {
    one_step step = complete_step(map, role, rank);
    CU_ASSERT_EQUAL(number(&step.rows, 0, "dp_index"), dp);
    CU_ASSERT_EQUAL(number(&step.rows, 0, "pp_index"), pp);
    CU_ASSERT_EQUAL(number(&step.rows, 0, "tp_index"), tp);
    close_step(&step);
}

static void check_place(const result *of, const char *role, int32_t rank, int32_t dp, int32_t pp,
                        int32_t tp) {
    check_map_place(of->built, role, rank, dp, pp, tp);
    check_map_place(of->decoded, role, rank, dp, pp, tp);
}

/* ---- Parts ---- */

static void test_the_name_of_a_group_follows_from_its_id(void) {
    CU_ASSERT_EQUAL(rlmr_group_hash(RLMR_SLICE("10.0.0.1%eth0_60000_0_170100000000000")),
                    UINT64_C(17752597412695337276));
    CU_ASSERT_EQUAL(rlmr_group_hash(RLMR_SLICE("10.0.0.1%eth0_60000_0_170700000000000")),
                    UINT64_C(3916204957122751006));
    CU_ASSERT_EQUAL(rlmr_group_hash(RLMR_SLICE("")), 0);
    /* e with acute, euro sign, grinning face: 0xE9, 0x20AC, 0x1F600 */
    uint64_t high = (UINT64_C(0xE9) * 29 + 0x20AC) * 29 + 0x1F600;
    uint64_t low = (UINT64_C(0xE9) * 131 + 0x20AC) * 131 + 0x1F600;
    CU_ASSERT_EQUAL(rlmr_group_hash(RLMR_SLICE("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80")), high << 32 | low);
}

static void check_ranks(const char *text, const char *wanted) {
    rlmr_bytes ranks = {0};
    rlmr_bytes out = {0};
    CU_ASSERT_EQUAL(rlmr_ranks_parse(rlmr_slice_of(text), &ranks, NULL), RLMR_OK);
    rlmr_ranks_make_set(&ranks);
    CU_ASSERT_EQUAL(rlmr_ranks_print((const int32_t *)(const void *)ranks.data, ranks.bytes / sizeof(int32_t),
                                     &out, NULL),
                    RLMR_OK);
    CU_ASSERT_TRUE(rlmr_slice_equal((rlmr_slice){(const char *)out.data, out.bytes}, rlmr_slice_of(wanted)));
    rlmr_bytes_release(&ranks);
    rlmr_bytes_release(&out);
}

static void test_sets_of_ranks_are_read_and_printed(void) {
    check_ranks("", "()");
    check_ranks("3", "(3,)");
    check_ranks("0 2 4", "(0, 2, 4)");
    check_ranks("10 9 2147483647 9", "(9, 10, 2147483647)");
    static const char *const nothing[] = {
        " ", "0 ", " 0", "0  1", "-1", "0 2147483648", "0,1", "a", "1 99999999999999999999"};
    for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++) {
        check_ranks(nothing[i], "()");
    }
}

/* ---- Groups ---- */

static void test_members_come_from_metadata(void) {
    captures in = open_captures();
    /* The first rank that declares an id counts; a group that nobody uses is none; rank 2 was not captured. */
    declare(&in, "", "tp-id", 0, "tp", "4 0 2");
    declare(&in, "", "tp-id", 2, "other", "7 8 9");
    declare(&in, "", "unused", 0, "dp", "0 1");
    use_name(&in, "", "collective", name_of("tp-id"), 0, 1, 2);
    use_name(&in, "", "collective", name_of("tp-id"), 4, 0, 2);
    result out = build(&in);
    CHECK_GROUPS(&out, {"", "collective", name_of("tp-id"), "tp-id", "tp", "(0, 2, 4)", 3, 2, "metadata"});
    check_number(&out, "", name_of("tp-id"), 0, 4);
    check_number(&out, "", name_of("tp-id"), 1, 0);
    check_number(&out, "", name_of("tp-id"), 2, 2);
    check_number(&out, "", name_of("tp-id"), 3, -1);
    check_number(&out, "", name_of("tp-id"), -1, -1);
    close_result(&out);
}

static void test_members_are_those_seen_without_metadata(void) {
    captures in = open_captures();
    use_name(&in, "", "collective", "123", 6, 2, 3);
    use_name(&in, "", "collective", "123", 4, 0, 3);
    use_name(&in, "", "collective", "123", 4, 0, 5);
    use_name(&in, "", "collective", "9", 1, -1, -1);
    use_name(&in, "", "collective", "not a number", 1, -1, 2147483647);
    result out = build(&in);
    CHECK_GROUPS(&out, {"", "collective", "123", "", "", "(4, 6)", 6, 2, "observed"},
                 {"", "collective", "9", "", "", "(1,)", 1, 1, "observed"},
                 {"", "collective", "not a number", "", "", "(1,)", 2147483647, 1, "observed"});
    check_number(&out, "", "123", 0, 4);
    check_number(&out, "", "123", 1, -1);
    check_number(&out, "", "123", 2, 6);
    check_number(&out, "", "123", 3, -1);
    check_number(&out, "", "9", 0, -1);
    close_result(&out);
}

/* Metadata without members leaves the observed ones; numbers beyond those declared are observed. */
static void test_metadata_and_observation_complete_each_other(void) {
    captures in = open_captures();
    declare(&in, "", "no members", 0, "dp", "");
    declare(&in, "", "two of three", 0, "tp", "5 3");
    use_name(&in, "", "collective", name_of("no members"), 0, 0, 1);
    use_name(&in, "", "collective", name_of("no members"), 7, 1, 1);
    use_name(&in, "", "collective", name_of("two of three"), 9, 2, 2);
    use_name(&in, "", "collective", name_of("two of three"), 8, 0, 2);
    result out = build(&in);
    CHECK_GROUPS(
        &out, {"", "collective", name_of("no members"), "no members", "dp", "(0, 7)", 2, 2, "observed"},
        {"", "collective", name_of("two of three"), "two of three", "tp", "(3, 5)", 2, 2, "metadata"});
    check_number(&out, "", name_of("no members"), 1, 7);
    check_number(&out, "", name_of("two of three"), 0, 5);
    check_number(&out, "", name_of("two of three"), 1, 3);
    check_number(&out, "", name_of("two of three"), 2, 9);
    close_result(&out);
}

/* One communicator: what one kind of operator shows of numbers holds for the other. */
static void test_p2p_and_collective_of_one_group_stay_apart(void) {
    captures in = open_captures();
    use_name(&in, "", "collective", "55", 0, 0, 1);
    use_name(&in, "", "collective", "55", 1, -1, 1);
    use_name(&in, "", "p2p", "55", 1, 1, 1);
    use_name(&in, "", "p2p", "55", 2, 2, 2);
    result out = build(&in);
    CHECK_GROUPS(&out, {"", "collective", "55", "", "", "(0, 1)", 2, 2, "observed"},
                 {"", "p2p", "55", "", "", "(1, 2)", 3, 2, "observed"});
    check_number(&out, "", "55", 0, 0);
    check_number(&out, "", "55", 1, 1);
    check_number(&out, "", "55", 2, 2);
    close_result(&out);
}

static void test_of_two_ranks_with_one_number_the_smaller_counts(void) {
    captures in = open_captures();
    use_name(&in, "", "collective", "55", 4, 0, 0);
    use_name(&in, "", "p2p", "55", 3, 0, 0);
    use_name(&in, "", "p2p", "55", 9, 0, 0);
    result out = build(&in);
    check_number(&out, "", "55", 0, 3);
    close_result(&out);
}

/* A capture whose rank is unknown shows a group, but is no member of it. */
static void test_a_rank_that_is_unknown_is_no_member(void) {
    captures in = open_captures();
    use_name(&in, "", "collective", "55", -1, 0, 3);
    result out = build(&in);
    CHECK_GROUPS(&out, {"", "collective", "55", "", "", "()", 4, 0, "observed"});
    check_number(&out, "", "55", 0, -1);
    close_result(&out);
}

/* The ids differ by the coefficients of (x - 29)(x - 131) = x^2 - 160 x + 3799. */
static void test_several_ids_of_one_name_have_a_row_each(void) {
    static const char *const first = "a\xC8\x80"
                                     "a";
    static const char *const second = "b\xC5\xA0\xE0\xBC\xB8";
    captures in = open_captures();
    CU_ASSERT_STRING_EQUAL_FATAL(name_of(first), name_of(second));
    declare(&in, "", second, 0, "dp", "0 1");
    declare(&in, "", first, 1, "tp", "2 3");
    use_name(&in, "", "collective", name_of(first), 2, -1, -1);
    declare(&in, "", "pipeline", 0, "pp", "2 4");
    use_name(&in, "", "p2p", name_of("pipeline"), 2, -1, -1);
    result out = build(&in);
    CHECK_GROUPS(&out, {"", "collective", name_of(first), first, "tp", "(2, 3)", 2, 1, "metadata"},
                 {"", "collective", name_of(first), second, "dp", "(0, 1)", 2, 1, "metadata"},
                 {"", "p2p", name_of("pipeline"), "pipeline", "pp", "(2, 4)", 2, 1, "metadata"});
    check_stage(&out, "", 2, "(2, 3)");
    check_stage(&out, "", 0, "()");
    check_number(&out, "", name_of(first), 0, 2);
    close_result(&out);
}

static void test_only_the_number_as_printed_is_the_name(void) {
    captures in = open_captures();
    char longer[32];
    (void)snprintf(longer, sizeof longer, "0%s", name_of("id"));
    declare(&in, "", "id", 0, "tp", "0 1");
    declare(&in, "", "", 0, "dp", "2 3");
    use_name(&in, "", "collective", longer, 0, -1, -1);
    use_name(&in, "", "collective", "18446744073709551616", 0, -1, -1); /* 2^64 */
    use_name(&in, "", "collective", "", 0, -1, -1);
    use_name(&in, "", "collective", "0", 0, -1, -1);
    result out = build(&in);
    CHECK_GROUPS(&out, {"", "collective", longer, "", "", "(0,)", 1, 1, "observed"},
                 {"", "collective", "18446744073709551616", "", "", "(0,)", 1, 1, "observed"},
                 {"", "collective", "", "", "", "(0,)", 1, 1, "observed"},
                 {"", "collective", "0", "", "dp", "(2, 3)", 2, 1, "metadata"});
    close_result(&out);
}

static void test_roles_are_kept_apart(void) {
    static const int32_t sizes[6] = {2, 1, 1, 1, 1, 2};
    captures in = open_captures();
    declare(&in, "actor", "id", 0, "tp", "0 1");
    declare(&in, "rollout", "id", 0, "pp", "5 6");
    distribute(&in, "rollout", 0, sizes, "{\"world_size\": 2}");
    distribute(&in, "critic", 1, sizes, "{\"tp\": 2}");
    distribute(&in, "critic", 2, sizes, "{\"tp\": 3}");
    use_name(&in, "rollout", "collective", name_of("id"), 5, -1, -1);
    use_name(&in, "actor", "collective", name_of("id"), 1, -1, -1);
    use_name(&in, "", "collective", name_of("id"), 2, 0, -1);
    use_name(&in, "rollout", "collective", "77", 1, -1, -1);
    result out = build(&in);
    CHECK_GROUPS(&out, {"actor", "collective", name_of("id"), "id", "tp", "(0, 1)", 2, 1, "metadata"},
                 {"rollout", "collective", name_of("id"), "id", "pp", "(5, 6)", 2, 1, "metadata"},
                 {"rollout", "collective", "77", "", "", "(1,)", 1, 1, "observed"},
                 {"", "collective", name_of("id"), "", "", "(2,)", 1, 1, "observed"});
    check_number(&out, "actor", name_of("id"), 1, 1);
    check_number(&out, "rollout", name_of("id"), 1, 6);
    check_number(&out, "", name_of("id"), 0, 2);
    check_number(&out, "critic", name_of("id"), 0, -1);
    check_number(&out, "reward", name_of("id"), 0, -1);
    check_place(&out, "critic", 1, 0, 0, 1);
    check_place(&out, "rollout", 0, 0, 0, 0);
    check_place(&out, "actor", 0, -1, -1, -1);
    check_place(&out, "reward", 0, -1, -1, -1);
    check_stage(&out, "actor", 0, NULL);
    check_stage(&out, "rollout", 1, "(1,)");
    check_stage(&out, "rollout", 5, "()");
    CU_ASSERT_EQUAL_FATAL(out.info.rows, 2);
    CU_ASSERT_TRUE(has_text(&out.info, out.texts, 0, "role", "critic"));
    CU_ASSERT_TRUE(has_text(&out.info, out.texts, 0, "key", "distributed_args"));
    CU_ASSERT_TRUE(has_text(&out.info, out.texts, 0, "value", "{\"tp\": 2}"));
    CU_ASSERT_TRUE(has_text(&out.info, out.texts, 1, "role", "rollout"));
    CU_ASSERT_TRUE(has_text(&out.info, out.texts, 1, "value", "{\"world_size\": 2}"));
    close_result(&out);
}

static void test_nothing_comes_of_nothing(void) {
    captures in = open_captures();
    result out = build(&in);
    CU_ASSERT_TRUE(out.groups.rows == 0 && out.info.rows == 0);
    CU_ASSERT_EQUAL(out.wire.bytes, 4 * sizeof(uint32_t));
    check_number(&out, "", "1", 0, -1);
    check_place(&out, "", 0, -1, -1, -1);
    check_stage(&out, "", 0, NULL);
    close_result(&out);
}

/* ---- Stages ---- */

/* The job of the reference: pp 2, dp 2. Group 0 1 2 3 crosses the stages. */
static void test_stages_of_two_pipelines(void) {
    captures in = open_captures();
    GROUP(&in, "", "p2p", "pp", 0, 2);
    GROUP(&in, "", "p2p", "PP_new_stream", 1, 3);
    GROUP(&in, "", "collective", "default_group", 0, 1, 2, 3);
    GROUP(&in, "", "collective", "embd", 1, 3);
    GROUP(&in, "", "collective", "dp", 0, 1);
    GROUP(&in, "", "collective", "dp", 2, 3);
    result out = build(&in);
    check_stage(&out, "", 0, "(0, 1)");
    check_stage(&out, "", 1, "(0, 1)");
    check_stage(&out, "", 2, "(2, 3)");
    check_stage(&out, "", 3, "(2, 3)");
    check_stage(&out, "", 4, "()");
    check_stage(&out, "", -1, "()");
    close_result(&out);
}

/* One sweep over the sorted pipelines would leave 1 5 apart from 0 5 9, and make a stage of 0 1. */
static void test_pipelines_are_whole_components(void) {
    captures in = open_captures();
    GROUP(&in, "", "p2p", "pp", 0, 9);
    GROUP(&in, "", "p2p", "pp", 1, 5);
    GROUP(&in, "", "p2p", "pp", 5, 9);
    GROUP(&in, "", "collective", "tp", 0, 1);
    GROUP(&in, "", "collective", "tp", 1, 2);
    result out = build(&in);
    check_stage(&out, "", 0, "()");
    check_stage(&out, "", 1, "(1, 2)");
    check_stage(&out, "", 2, "(1, 2)");
    check_stage(&out, "", 5, "()");
    check_stage(&out, "", 9, "()");
    close_result(&out);
}

static void test_there_are_no_stages_without_pipelines(void) {
    captures in = open_captures();
    GROUP(&in, "plain", "collective", "tp", 0, 1);
    GROUP(&in, "plain", "p2p", "p", 0, 2);
    GROUP(&in, "crossing", "p2p", "pp", 0, 1);
    GROUP(&in, "crossing", "collective", "tp", 0, 1);
    /* declared, but not used */
    GROUP(&in, "unused", "collective", "tp", 0, 1);
    declare(&in, "unused", "idle", 0, "pp", "0 2");
    result out = build(&in);
    check_stage(&out, "plain", 0, NULL);
    check_stage(&out, "crossing", 0, NULL);
    check_stage(&out, "unused", 0, NULL);
    close_result(&out);
}

/* A stage has all its members, captured or not, and goes by the first id of a name; p2p groups unite no stage. */
static void test_stages_have_all_members(void) {
    captures in = open_captures();
    declare(&in, "", "first", 0, "pp", "0 4");
    use_name(&in, "", "p2p", name_of("first"), 0, -1, -1);
    declare(&in, "", "second", 0, "tp", "3 2 1 0");
    use_name(&in, "", "collective", name_of("second"), 0, -1, -1);
    use_name(&in, "", "collective", "observed", 5, -1, -1);
    use_name(&in, "", "collective", "observed", 4, -1, -1);
    use_name(&in, "", "p2p", "link", 0, -1, -1);
    use_name(&in, "", "p2p", "link", 5, -1, -1);
    result out = build(&in);
    check_stage(&out, "", 2, "(0, 1, 2, 3)");
    check_stage(&out, "", 4, "(4, 5)");
    check_stage(&out, "", 6, "()");
    close_result(&out);
}

static void test_stages_may_interleave_and_roles_repeat_ranks(void) {
    captures in = open_captures();
    GROUP(&in, "a", "p2p", "pp", 0, 1);
    GROUP(&in, "a", "p2p", "pp", 2, 3);
    GROUP(&in, "a", "collective", "tp", 0, 2);
    GROUP(&in, "a", "collective", "tp", 1, 3);
    GROUP(&in, "b", "p2p", "pp", 5, 6);
    GROUP(&in, "b", "collective", "tp", 5, 7);
    result out = build(&in);
    check_stage(&out, "a", 0, "(0, 2)");
    check_stage(&out, "a", 1, "(1, 3)");
    check_stage(&out, "a", 2, "(0, 2)");
    check_stage(&out, "a", 3, "(1, 3)");
    check_stage(&out, "a", 5, "()");
    check_stage(&out, "b", 5, "(5, 7)");
    check_stage(&out, "b", 0, "()");
    close_result(&out);
}

/* The rows of a process come from captures of any role. */
static void test_each_step_is_completed_by_its_own_role(void) {
    static const char *const roles[] = {"b", "a", "none", "a", "b", "b"};
    static const char *const stages[] = {"(1, 7)", "(1, 2)", NULL, "(1, 2)", "(1, 7)", "(1, 7)"};
    captures in = open_captures();
    GROUP(&in, "a", "p2p", "pp", 0, 1);
    GROUP(&in, "a", "collective", "tp", 1, 2);
    GROUP(&in, "b", "p2p", "pp", 0, 1);
    GROUP(&in, "b", "collective", "tp", 1, 7);
    distribute(&in, "b", 0, (const int32_t[6]){2, 1, 1, 1, 1, 2}, "{}");
    result out = build(&in);
    one_step step = complete_step(out.decoded, "none", 1);
    CU_ASSERT_EQUAL_FATAL(step.rows.rows, 1);
    for (size_t i = 0; i < 6; i++) {
        rlmr_cluster_step_trace_time_row row = {.role = intern(step.texts, roles[i]), .rank_id = 1};
        CU_ASSERT_EQUAL_FATAL(rlmr_table_append(&step.rows, &row, NULL), RLMR_OK);
    }
    CU_ASSERT_EQUAL(rlmr_cluster_map_steps(out.decoded, &step.rows, step.texts, NULL), RLMR_OK);
    CU_ASSERT_EQUAL_FATAL(step.rows.rows, 7 + 5);
    uint64_t stage_row = 7;
    for (size_t i = 0; i < 6; i++) {
        CU_ASSERT_EQUAL(number(&step.rows, i + 1, "tp_index"), strcmp(roles[i], "b") == 0 ? 1 : -1);
        if (stages[i] != NULL) {
            CU_ASSERT_TRUE(has_text(&step.rows, step.texts, stage_row, "role", roles[i]));
            CU_ASSERT_TRUE(has_text(&step.rows, step.texts, stage_row++, "index", stages[i]));
        }
    }
    close_step(&step);
    close_result(&out);
}

static void test_a_stage_row_is_the_rank_row_without_the_rank(void) {
    captures in = open_captures();
    GROUP(&in, "actor", "p2p", "pp", 0, 1);
    GROUP(&in, "actor", "collective", "tp", 0, 2);
    result out = build(&in);
    one_step step = complete_step(out.decoded, "actor", 2);
    CU_ASSERT_EQUAL_FATAL(step.rows.rows, 2);
    CU_ASSERT_TRUE(has_text(&step.rows, step.texts, 0, "type", "rank"));
    CU_ASSERT_TRUE(has_text(&step.rows, step.texts, 0, "index", "the rank"));
    CU_ASSERT_EQUAL(number(&step.rows, 0, "rank_id"), 2);
    CU_ASSERT_EQUAL(number(&step.rows, 0, "capture"), 8);
    CU_ASSERT_TRUE(has_text(&step.rows, step.texts, 1, "role", "actor"));
    CU_ASSERT_TRUE(has_text(&step.rows, step.texts, 1, "step", "5"));
    CU_ASSERT_EQUAL(number(&step.rows, 1, "window"), 3);
    static const char *const absent[] = {"rank_id", "capture", "dp_index", "pp_index", "tp_index"};
    for (size_t i = 0; i < 5; i++) {
        CU_ASSERT_EQUAL(number(&step.rows, 1, absent[i]), -1);
    }
    size_t first = rlmr_schema_column(step.rows.schema, "computing");
    for (size_t i = 0; i < 8; i++) {
        CU_ASSERT_EQUAL(*(const double *)rlmr_table_value(&step.rows, 1, first + i), 1.5 + (double)i);
    }
    CU_ASSERT_TRUE(isnan(*(const double *)rlmr_table_value(&step.rows, 1, first + 8)));
    size_t file_row = rlmr_schema_column(step.rows.schema, "file_row");
    CU_ASSERT_EQUAL(*(const int64_t *)rlmr_table_value(&step.rows, 1, file_row), 0);
    close_step(&step);
    close_result(&out);
}

/* ---- Context parallelism: 16 ranks, tp 2, cp 2, dp 2, pp 2 ---- */

/* All groups of `count` ranks, `stride` apart, that start where `mask` is all zero. */
static void add_strided(captures *to, const char *type, const char *pg_name, int32_t mask, int32_t stride,
                        size_t count) {
    for (int32_t first = 0; first < 16; first++) {
        int32_t ranks[16];
        for (size_t i = 0; i < count; i++) {
            ranks[i] = first + (int32_t)i * stride;
        }
        if ((first & mask) == 0) {
            add_group(to, "", type, pg_name, ranks, count);
        }
    }
}

static void test_context_parallelism(void) {
    static const int32_t sizes[6] = {2, 2, 2, 2, 1, 16};
    captures in = open_captures();
    add_strided(&in, "collective", "tp", 1, 1, 2);
    add_strided(&in, "collective", "cp", 2, 2, 2);
    add_strided(&in, "collective", "dp", 4, 4, 2);
    add_strided(&in, "p2p", "pp", 8, 8, 2);
    add_strided(&in, "collective", "dp_cp", 6, 2, 4);
    add_strided(&in, "collective", "default_group", 15, 1, 16);
    for (int32_t first = 0; first < 8; first += 2) {
        GROUP(&in, "", "collective", "mp", first, first + 1, first + 8, first + 9);
    }
    distribute(&in, "", 0, sizes, "{}");
    result out = build(&in);
    CU_ASSERT_EQUAL(out.groups.rows, 8 + 8 + 8 + 8 + 4 + 1 + 4);
    for (int32_t rank = 0; rank < 16; rank++) {
        check_stage(&out, "", rank, rank < 8 ? "(0, 1, 2, 3, 4, 5, 6, 7)" : "(8, 9, 10, 11, 12, 13, 14, 15)");
        check_place(&out, "", rank, rank / 4 % 2, rank / 8, rank % 2);
    }
    check_place(&out, "", 16, -1, -1, -1);
    check_place(&out, "", -1, -1, -1, -1);
    close_result(&out);
}

/* ---- Sizes ---- */

static void check_sizes(const int32_t sizes[6], int32_t rank, int32_t dp, int32_t pp, int32_t tp) {
    captures in = open_captures();
    distribute(&in, "", 0, sizes, "{}");
    result out = build(&in);
    check_place(&out, "", rank, dp, pp, tp);
    close_result(&out);
}

static void test_sizes_must_be_complete_and_agree(void) {
    check_sizes((const int32_t[6]){2, 2, 3, 1, 1, 12}, 11, 2, 1, 1);
    check_sizes((const int32_t[6]){2, 2, 3, 1, 3, 12}, 7, 0, 1, 1);
    check_sizes((const int32_t[6]){2, 0, 0, 0, 0, 2}, 1, 0, 0, 1);
    check_sizes((const int32_t[6]){2, 2, 3, 1, 2, 12}, 11, -1, -1, -1); /* dp % ep */
    check_sizes((const int32_t[6]){2, 2, 3, 1, 1, 11}, 0, -1, -1, -1);  /* product */
    check_sizes((const int32_t[6]){2, 2, 3, 1, 1, 24}, 0, -1, -1, -1);  /* product */
    check_sizes((const int32_t[6]){1, 1, 1, 1, 1, 0}, 0, -1, -1, -1);   /* no world */
    check_sizes((const int32_t[6]){2, 2, 3, 1, 1, -1}, 0, -1, -1, -1);
    for (int absent = 0; absent < 5; absent++) {
        int32_t sizes[6] = {1, 1, 1, 1, 1, 1};
        check_sizes(sizes, 0, 0, 0, 0);
        sizes[absent] = -1;
        check_sizes(sizes, 0, -1, -1, -1);
    }
    int32_t most = INT32_MAX;
    check_sizes((const int32_t[6]){most, most, most, most, 1, most}, 0, -1, -1, -1);
    check_sizes((const int32_t[6]){1, most, 1, 1, 1, most}, most - 1, 0, most - 1, 0);
}

/* What the first rank says counts, also if it is not complete. */
static void test_the_first_rank_says_how_the_job_is_distributed(void) {
    captures in = open_captures();
    distribute(&in, "", 3, (const int32_t[6]){1, 1, 2, 1, 1, 2}, "third");
    distribute(&in, "", 1, (const int32_t[6]){2, 1, 1, 1, 1, -1}, "first");
    result out = build(&in);
    check_place(&out, "", 1, -1, -1, -1);
    CU_ASSERT_EQUAL_FATAL(out.info.rows, 1);
    CU_ASSERT_TRUE(has_text(&out.info, out.texts, 0, "value", "first"));
    close_result(&out);
}

/* ---- A big job: tp 100, dp 25, pp 4 ---- */

enum { RANKS = 10000, TP = 100, DP = 25, PP = 4 };

static void add_big_groups(captures *to, const char *type, const char *pg_name, int32_t stride,
                           size_t count) {
    static int32_t ranks[RANKS];
    for (int32_t first = 0; first < RANKS; first++) {
        if (first / stride % (int32_t)count != 0) {
            continue;
        }
        for (size_t i = 0; i < count; i++) {
            ranks[i] = first + (int32_t)i * stride;
        }
        add_group(to, "", type, pg_name, ranks, count);
    }
}

static void test_ten_thousand_ranks(void) {
    static const int32_t sizes[6] = {TP, PP, DP, 1, 5, RANKS};
    captures in = open_captures();
    add_big_groups(&in, "collective", "default_group", 1, RANKS);
    add_big_groups(&in, "collective", "tp", 1, TP);
    add_big_groups(&in, "collective", "dp", TP, DP);
    add_big_groups(&in, "p2p", "pp", TP * DP, PP);
    distribute(&in, "", 0, sizes, "{}");
    result out = build(&in);
    CU_ASSERT_EQUAL(out.groups.rows, 1 + DP * PP + TP * PP + TP * DP);
    char stage[4 * TP * DP * 4] = "(";
    size_t bytes = 1;
    for (int32_t rank = TP * DP; rank < 2 * TP * DP; rank++) {
        bytes += (size_t)snprintf(stage + bytes, 8, rank == TP * DP ? "%d" : ", %d", (int)rank);
    }
    (void)snprintf(stage + bytes, 2, ")");
    check_stage(&out, "", TP * DP, stage);
    check_stage(&out, "", 2 * TP * DP - 1, stage);
    check_place(&out, "", RANKS - 1, DP - 1, PP - 1, TP - 1);
    const char *world = name_of("10.0.0.1%eth0_default_group_0_10000");
    const char *pipeline = name_of("10.0.0.1%eth0_pp_2499_4");
    check_number(&out, "", world, 9999, 9999);
    check_number(&out, "", world, 10000, -1);
    check_number(&out, "", pipeline, 3, 9999);
    check_number(&out, "", pipeline, 0, 2499);
    close_result(&out);
}

/* ---- On the wire ---- */

static captures some_captures(void) {
    captures in = open_captures();
    GROUP(&in, "actor", "p2p", "pp", 0, 2);
    GROUP(&in, "actor", "collective", "dp", 0, 1);
    GROUP(&in, "actor", "collective", "dp", 3, 2);
    use_name(&in, "actor", "collective", "1", 1, 1, 1);
    use_name(&in, "actor", "collective", "1", 2, 5, 5);
    use_name(&in, "critic", "collective", "2", 0, 0, 0);
    use_name(&in, "critic", "collective", "2", 4, 3, 3);
    GROUP(&in, "critic", "p2p", "pp", 0, 1);
    GROUP(&in, "critic", "collective", "tp", 0, 7);
    distribute(&in, "actor", 0, (const int32_t[6]){1, 2, 2, 1, 1, 4}, "{}");
    distribute(&in, "critic", 0, (const int32_t[6]){1, 2, 1, 1, 1, 2}, "{}");
    return in;
}

/* @return whether the bytes are a map; then it is written again as the same bytes */
static bool is_map(const rlmr_bytes *wire) {
    rlmr_cluster_map *map = NULL;
    rlmr_error err;
    rlmr_error_clear(&err);
    rlmr_status status = rlmr_cluster_map_decode(wire, &map, &err);
    CU_ASSERT_TRUE(status == RLMR_OK || status == RLMR_E_PARSE);
    CU_ASSERT_EQUAL(err.code, status);
    CU_ASSERT_EQUAL(map != NULL, status == RLMR_OK);
    if (map != NULL) {
        rlmr_bytes again = {0};
        CU_ASSERT_EQUAL(rlmr_cluster_map_encode(map, &again, NULL), RLMR_OK);
        CU_ASSERT_TRUE(again.bytes == wire->bytes && memcmp(again.data, wire->data, again.bytes) == 0);
        rlmr_bytes_release(&again);
        check_map_stage(map, "no such role", 0, NULL);
        (void)rank_of_number(map, "actor", "1", 5);
        one_step step = complete_step(map, "actor", 2);
        close_step(&step);
    }
    rlmr_cluster_map_close(map);
    return status == RLMR_OK;
}

static void test_a_map_that_is_cut_at_any_byte_is_refused(void) {
    captures in = some_captures();
    result out = build(&in);
    CU_ASSERT_TRUE(is_map(&out.wire));
    for (size_t bytes = 0; bytes < out.wire.bytes; bytes++) {
        /* A buffer of its own, so that a read past its end shows. */
        rlmr_bytes part = {.data = malloc(bytes + (bytes == 0)), .bytes = bytes, .capacity = bytes};
        memcpy(part.data, out.wire.data, bytes);
        CU_ASSERT_FALSE(is_map(&part));
        free(part.data);
    }
    CU_ASSERT_EQUAL(rlmr_bytes_append(&out.wire, "", 1, NULL), RLMR_OK);
    CU_ASSERT_FALSE(is_map(&out.wire));
    close_result(&out);
}

static void test_bytes_that_are_changed_do_no_harm(void) {
    static const uint8_t changes[] = {1, 2, 3, 7, 0x40, 0x80, 0xFF};
    captures in = some_captures();
    result out = build(&in);
    size_t refused = 0;
    size_t taken = 0;
    for (size_t at = 0; at < out.wire.bytes; at++) {
        for (size_t c = 0; c < sizeof changes; c++) {
            out.wire.data[at] ^= changes[c];
            bool taken_now = is_map(&out.wire);
            refused += !taken_now;
            taken += taken_now;
            out.wire.data[at] ^= changes[c];
        }
    }
    CU_ASSERT_TRUE(refused > 0 && taken > 0);
    close_result(&out);
}

static void test_a_map_out_of_order_is_refused(void) {
    enum { MOST_WORDS = 24 };
    static const struct {
        uint32_t words[MOST_WORDS]; /* roles are the texts "a" and "b": 8 bytes of length and 1 */
        size_t count;
        bool good;
    } cases[] = {
        /* behind two roles: layouts, numberings, stages */
        {{0, 0, 0}, 3, true},
        {{1, 1, 2, 2, 2, 1, 2, 8, 0, 0}, 10, true},
        {{1, 1, 2, 2, 2, 1, 2, 9, 0, 0}, 10, false},                      /* product */
        {{1, 1, 2, 0, 2, 1, 2, 4, 0, 0}, 10, false},                      /* a size of 0 */
        {{1, 2, 2, 2, 2, 1, 2, 8, 0, 0}, 10, false},                      /* role */
        {{2, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 0, 0}, 17, false}, /* order */
        {{2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0}, 17, false}, /* twice */
        {{2, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0}, 17, true},
        {{0, 1, 1, 0, 0, 2, 0, 7, 7, 0}, 10, true},        /* name "" */
        {{0, 1, 1, 0, 0, 0, 0, 0}, 8, false},              /* no numbers */
        {{0, 1, 1, 0, 0, 0, 1, 0, 7, 0}, 10, false},       /* 0 is dense */
        {{0, 1, 1, 0, 0, 0, 2, 3, 7, 3, 7, 0}, 12, false}, /* number twice */
        {{0, 1, 1, 0, 0, 0, 2, 3, 7, 2, 7, 0}, 12, false}, /* order */
        {{0, 1, 1, 0, 0, 0, 2, 3, 7, 4, 7, 0}, 12, true},
        {{0, 1, 1, 0, 0, 1, 0, 0x80000000, 0}, 9, false},           /* rank */
        {{0, 1, 2, 0, 0, 1, 0, 7, 0}, 9, false},                    /* role */
        {{0, 2, 1, 0, 0, 1, 0, 7, 1, 0, 0, 1, 0, 7, 0}, 15, false}, /* group twice */
        {{0, 2, 1, 0, 0, 1, 0, 7, 0, 0, 0, 1, 0, 7, 0}, 15, false}, /* order */
        {{0, 2, 0, 0, 0, 1, 0, 7, 1, 0, 0, 1, 0, 7, 0}, 15, true},
        {{0, 0, 1, 1, 2, 4, 5}, 7, true},
        {{0, 0, 1, 1, 0}, 5, false},             /* no ranks */
        {{0, 0, 1, 1, 2, 5, 5}, 7, false},       /* rank twice */
        {{0, 0, 1, 1, 2, 5, 4}, 7, false},       /* order */
        {{0, 0, 1, 2, 2, 4, 5}, 7, false},       /* role */
        {{0, 0, 2, 1, 1, 4, 1, 1, 4}, 9, false}, /* in two stages */
        {{0, 0, 2, 1, 1, 4, 0, 1, 4}, 9, false}, /* order */
        {{0, 0, 2, 0, 1, 4, 1, 1, 4}, 9, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rlmr_bytes wire = {0};
        CU_ASSERT_EQUAL(rlmr_bytes_append_u32(&wire, 2, NULL), RLMR_OK);
        CU_ASSERT_EQUAL(rlmr_bytes_append_slice(&wire, RLMR_SLICE("a"), NULL), RLMR_OK);
        CU_ASSERT_EQUAL(rlmr_bytes_append_slice(&wire, RLMR_SLICE("b"), NULL), RLMR_OK);
        for (size_t w = 0; w < cases[i].count; w++) {
            CU_ASSERT_EQUAL(rlmr_bytes_append_u32(&wire, cases[i].words[w], NULL), RLMR_OK);
        }
        CU_ASSERT_EQUAL(is_map(&wire), cases[i].good);
        rlmr_bytes_release(&wire);
    }
}

static void test_roles_out_of_order_are_refused(void) {
    static const char *const roles[][2] = {{"b", "a"}, {"a", "a"}, {"a", "b"}};
    for (size_t i = 0; i < 3; i++) {
        rlmr_bytes wire = {0};
        CU_ASSERT_EQUAL(rlmr_bytes_append_u32(&wire, 2, NULL), RLMR_OK);
        for (size_t r = 0; r < 2; r++) {
            CU_ASSERT_EQUAL(rlmr_bytes_append_slice(&wire, rlmr_slice_of(roles[i][r]), NULL), RLMR_OK);
        }
        for (size_t part = 0; part < 3; part++) {
            CU_ASSERT_EQUAL(rlmr_bytes_append_u32(&wire, 0, NULL), RLMR_OK);
        }
        CU_ASSERT_EQUAL(is_map(&wire), i == 2);
        rlmr_bytes_release(&wire);
    }
}

CU_TestInfo rlmr_tests_cluster_map[] = {
    {"the name of a group follows from its id", test_the_name_of_a_group_follows_from_its_id},
    {"sets of ranks are read and printed", test_sets_of_ranks_are_read_and_printed},
    {"members come from metadata", test_members_come_from_metadata},
    {"members are those seen without metadata", test_members_are_those_seen_without_metadata},
    {"metadata and observation complete each other", test_metadata_and_observation_complete_each_other},
    {"p2p and collective of one group stay apart", test_p2p_and_collective_of_one_group_stay_apart},
    {"of two ranks with one number the smaller counts", test_of_two_ranks_with_one_number_the_smaller_counts},
    {"a rank that is unknown is no member", test_a_rank_that_is_unknown_is_no_member},
    {"several ids of one name have a row each", test_several_ids_of_one_name_have_a_row_each},
    {"only the number as printed is the name", test_only_the_number_as_printed_is_the_name},
    {"roles are kept apart", test_roles_are_kept_apart},
    {"nothing comes of nothing", test_nothing_comes_of_nothing},
    {"stages of two pipelines", test_stages_of_two_pipelines},
    {"pipelines are whole components", test_pipelines_are_whole_components},
    {"there are no stages without pipelines", test_there_are_no_stages_without_pipelines},
    {"stages have all members", test_stages_have_all_members},
    {"stages may interleave and roles repeat ranks", test_stages_may_interleave_and_roles_repeat_ranks},
    {"each step is completed by its own role", test_each_step_is_completed_by_its_own_role},
    {"a stage row is the rank row without the rank", test_a_stage_row_is_the_rank_row_without_the_rank},
    {"context parallelism", test_context_parallelism},
    {"sizes must be complete and agree", test_sizes_must_be_complete_and_agree},
    {"the first rank says how the job is distributed", test_the_first_rank_says_how_the_job_is_distributed},
    {"ten thousand ranks", test_ten_thousand_ranks},
    {"a map that is cut at any byte is refused", test_a_map_that_is_cut_at_any_byte_is_refused},
    {"bytes that are changed do no harm", test_bytes_that_are_changed_do_no_harm},
    {"a map out of order is refused", test_a_map_out_of_order_is_refused},
    {"roles out of order are refused", test_roles_out_of_order_are_refused},
    CU_TEST_INFO_NULL,
};
