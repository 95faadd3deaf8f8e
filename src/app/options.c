#include "options.h"

#include "rlmr/decimal.h"
#include "rlmr/utf8.h"
#include "rlmr/version.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* X(ID, short or 0, "long", argument or NULL, "help"): drives the parser and the help. */
#define OPTIONS(X)                                                                                           \
    X(INPUT_LIST, 0, "input-list", "FILE", "further inputs, one a line; - for standard input")               \
    X(OUTPUT, 'o', "output", "FILE", "the HDF5 file (default rl-insight.h5)")                                \
    X(FORCE, 'f', "force", NULL, "replace an existing output")                                               \
    X(MODE, 'm', "mode", "LIST",                                                                             \
      "all, or of memory, step_trace, communication_time,\ncommunication_matrix, summary, timeline "         \
      "(default all);\nsummary and timeline are not built yet")                                              \
    X(RANK_LIST, 0, "rank-list", "LIST", "all, or ranks and ranges such as 0,2,8-15 (default all)")          \
    X(ROLE, 0, "role", "LIST", "all, or only these roles (default all)")                                     \
    X(MATCH, 0, "match", "POLICY",                                                                           \
      "how a record finds its call stack: best, nearest,\nenclosing (default best)")                         \
    X(TIME_OFFSET, 0, "time-offset", "US", "microseconds added to trace times before matching")              \
    X(PARALLEL_STRATEGY, 0, "parallel-strategy", "[ROLE:]SPEC", "for the mode summary; not built yet")       \
    X(CHECK, 0, "check", NULL, "list the captures and their problems, write nothing")                        \
    X(STRICT, 0, "strict", NULL, "a damaged capture is a failure and nothing is written")                    \
    X(QUIET, 'q', "quiet", NULL, "fewer messages on stderr")                                                 \
    X(VERBOSE, 'v', "verbose", NULL, "more messages on stderr")                                              \
    X(PROGRESS, 0, "progress", "WHEN", "auto, always, never (default auto)")                                 \
    X(HELP, 'h', "help", NULL, "print this help")                                                            \
    X(VERSION, 'V', "version", NULL, "print the version")

#define OPTION_ID(id, letter, name, argument, help) OPTION_##id,
enum { OPTION_BASE = 255, OPTIONS(OPTION_ID) OPTION_END };

#define OPTION_LONG(id, letter, name, argument, help)                                                        \
    {name, (argument) == NULL ? no_argument : required_argument, NULL, OPTION_##id},
static const struct option long_options[] = {OPTIONS(OPTION_LONG){NULL, 0, NULL, 0}};

/* Modes that the command line knows, but that are no analysis yet. */
static const char *const unbuilt_modes[] = {"summary", "timeline"};

#define NAME_OF(id, name) name,
static const char *const analysis_names[] = {RLMR_ANALYSES(NAME_OF)};
static const char *const match_names[] = {RLMR_MATCH_POLICIES(NAME_OF)};
static const char *const progress_names[] = {"auto", "always", "never"};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void print_option(char letter, const char *name, const char *argument, const char *help) {
    char left[64];
    char letters[8] = "    ";
    if (letter != 0) {
        (void)snprintf(letters, sizeof letters, "-%c, ", letter);
    }
    (void)snprintf(left, sizeof left, "  %s--%s%s%s", letters, name, argument == NULL ? "" : " ",
                   argument == NULL ? "" : argument);
    printf("%-38s", left);
    for (const char *line = help; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        printf("%s%.*s\n", line == help ? "" : "                                      ", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

void rlmr_options_help(void) {
    printf("Usage: rl-insight-mr [OPTION]... INPUT...\n"
           "       mpirun -np N rl-insight-mr [OPTION]... INPUT...\n"
           "\n"
           "Reduce the Ascend profiler captures (*_ascend_pt) below each INPUT to one HDF5 file.\n"
           "\n");
#define OPTION_HELP(id, letter, name, argument, help) print_option(letter, name, argument, help);
    OPTIONS(OPTION_HELP)
    printf("\n"
           "Exit status: 0 every capture is ok or empty; 1 nothing was written; 2 wrong usage;\n"
           "3 written, but a capture is partial or failed.\n");
}

static char *copy_text(const char *text, rlmr_error *err) {
    char *copy = strdup(text);
    if (copy == NULL) {
        (void)rlmr_error_set(err, RLMR_E_NOMEM, "no memory for the options");
    }
    return copy;
}

static rlmr_status replace_text(char **text, const char *value, rlmr_error *err) {
    char *copy = copy_text(value, err);
    if (copy == NULL) {
        return RLMR_E_NOMEM;
    }
    free(*text);
    *text = copy;
    return RLMR_OK;
}

static rlmr_status append_text(char ***texts, size_t *count, const char *value, rlmr_error *err) {
    char **grown = realloc(*texts, (*count + 1) * sizeof *grown);
    if (grown == NULL) {
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory for the options");
    }
    *texts = grown;
    grown[*count] = copy_text(value, err);
    if (grown[*count] == NULL) {
        return RLMR_E_NOMEM;
    }
    (*count)++;
    return RLMR_OK;
}

/* The place of a word in a list, or `count`. */
static size_t find_word(const char *word, size_t bytes, const char *const *words, size_t count) {
    size_t at = 0;
    while (at < count && !rlmr_slice_equal((rlmr_slice){word, bytes}, rlmr_slice_of(words[at]))) {
        at++;
    }
    return at;
}

static rlmr_status choose(const char *option, const char *value, const char *const *words, size_t count,
                          size_t *choice, rlmr_error *err) {
    *choice = find_word(value, strlen(value), words, count);
    return *choice < count ? RLMR_OK
                           : rlmr_error_set(err, RLMR_E_USAGE, "--%s does not know '%s'", option, value);
}

/* Call `item` for each part of a list separated by commas; an empty part is an error. */
static rlmr_status for_each_item(const char *option, const char *list, rlmr_options *options,
                                 rlmr_status (*item)(rlmr_options *, const char *, size_t, rlmr_error *),
                                 rlmr_error *err) {
    const char *at = list;
    for (;;) {
        size_t bytes = strcspn(at, ",");
        if (bytes == 0) {
            return rlmr_error_set(err, RLMR_E_USAGE, "--%s has an empty item in '%s'", option, list);
        }
        rlmr_status status = item(options, at, bytes, err);
        if (status != RLMR_OK || at[bytes] == '\0') {
            return status;
        }
        at += bytes + 1;
    }
}

static rlmr_status add_mode(rlmr_options *options, const char *mode, size_t bytes, rlmr_error *err) {
    size_t analysis = find_word(mode, bytes, analysis_names, RLMR_ANALYSIS_COUNT);
    if (analysis < RLMR_ANALYSIS_COUNT) {
        options->map.analyses[analysis] = true;
        return RLMR_OK;
    }
    if (find_word(mode, bytes, unbuilt_modes, COUNT(unbuilt_modes)) < COUNT(unbuilt_modes)) {
        return rlmr_error_set(err, RLMR_E_USAGE, "mode %.*s is not built yet", (int)bytes, mode);
    }
    return rlmr_error_set(err, RLMR_E_USAGE, "--mode does not know '%.*s'", (int)bytes, mode);
}

static rlmr_status set_mode(rlmr_options *options, const char *list, rlmr_error *err) {
    bool all = strcmp(list, "all") == 0;
    for (int analysis = 0; analysis < RLMR_ANALYSIS_COUNT; analysis++) {
        options->map.analyses[analysis] = all;
    }
    rlmr_status status = all ? RLMR_OK : for_each_item("mode", list, options, add_mode, err);
    if (status != RLMR_OK || all) {
        return status == RLMR_OK ? replace_text(&options->mode, "all", err) : status;
    }
    char normal[256] = "";
    for (int analysis = 0; analysis < RLMR_ANALYSIS_COUNT; analysis++) {
        if (options->map.analyses[analysis]) {
            size_t used = strlen(normal);
            (void)snprintf(normal + used, sizeof normal - used, "%s%s", used == 0 ? "" : ",",
                           analysis_names[analysis]);
        }
    }
    return replace_text(&options->mode, normal, err);
}

static rlmr_status add_ranks(rlmr_options *options, const char *item, size_t bytes, rlmr_error *err) {
    rlmr_rank_range range;
    const char *dash = memchr(item, '-', bytes);
    size_t first = dash == NULL ? bytes : (size_t)(dash - item);
    bool good = rlmr_capture_parse_rank((rlmr_slice){item, first}, &range.first);
    range.last = range.first;
    if (good && dash != NULL) {
        good = rlmr_capture_parse_rank((rlmr_slice){dash + 1, bytes - first - 1}, &range.last) &&
               range.last >= range.first;
    }
    if (!good) {
        return rlmr_error_set(err, RLMR_E_USAGE, "--rank-list has no rank or range in '%.*s'", (int)bytes,
                              item);
    }
    rlmr_rank_range *ranks = realloc(options->ranks, (options->ranks_count + 1) * sizeof *ranks);
    if (ranks == NULL) {
        return rlmr_error_set(err, RLMR_E_NOMEM, "no memory for the options");
    }
    options->ranks = ranks;
    ranks[options->ranks_count++] = range;
    return RLMR_OK;
}

static int compare_ranges(const void *a, const void *b) {
    int32_t x = ((const rlmr_rank_range *)a)->first;
    int32_t y = ((const rlmr_rank_range *)b)->first;
    return (x > y) - (x < y);
}

/* Sort, and join ranges that touch. */
static void normalise_ranks(rlmr_options *options) {
    qsort(options->ranks, options->ranks_count, sizeof *options->ranks, compare_ranges);
    size_t kept = 0;
    for (size_t i = 1; i < options->ranks_count; i++) {
        rlmr_rank_range *last = &options->ranks[kept];
        rlmr_rank_range next = options->ranks[i];
        if ((int64_t)next.first <= (int64_t)last->last + 1) {
            last->last = next.last > last->last ? next.last : last->last;
        } else {
            options->ranks[++kept] = next;
        }
    }
    options->ranks_count = kept + 1;
}

static rlmr_status write_ranks(rlmr_options *options, rlmr_error *err) {
    rlmr_bytes text = {0};
    rlmr_status status = RLMR_OK;
    for (size_t i = 0; i < options->ranks_count && status == RLMR_OK; i++) {
        char item[32];
        rlmr_rank_range range = options->ranks[i];
        int bytes = range.first == range.last
                        ? snprintf(item, sizeof item, "%s%d", i == 0 ? "" : ",", range.first)
                        : snprintf(item, sizeof item, "%s%d-%d", i == 0 ? "" : ",", range.first, range.last);
        status = rlmr_bytes_append(&text, item, (size_t)bytes, err);
    }
    status = status == RLMR_OK ? rlmr_bytes_append(&text, "", 1, err) : status;
    status = status == RLMR_OK ? replace_text(&options->rank_list, (const char *)text.data, err) : status;
    rlmr_bytes_release(&text);
    return status;
}

static rlmr_status set_rank_list(rlmr_options *options, const char *list, rlmr_error *err) {
    options->ranks_count = 0;
    if (strcmp(list, "all") == 0) {
        return replace_text(&options->rank_list, "all", err);
    }
    rlmr_status status = for_each_item("rank-list", list, options, add_ranks, err);
    if (status == RLMR_OK) {
        normalise_ranks(options);
        status = write_ranks(options, err);
    }
    return status;
}

static void forget_roles(rlmr_options *options) {
    for (size_t i = 0; i < options->roles_count; i++) {
        free(options->roles[i]);
    }
    options->roles_count = 0;
}

static rlmr_status add_role(rlmr_options *options, const char *role, size_t bytes, rlmr_error *err) {
    char *copy = rlmr_utf8_copy((rlmr_slice){role, bytes}, err); /* as roles are in the DataMap */
    rlmr_status status =
        copy == NULL ? RLMR_E_NOMEM : append_text(&options->roles, &options->roles_count, copy, err);
    free(copy);
    return status;
}

static rlmr_status set_role(rlmr_options *options, const char *list, rlmr_error *err) {
    forget_roles(options); /* as for every option, the last one counts */
    char *clean = rlmr_utf8_copy(rlmr_slice_of(list), err);
    if (clean == NULL) {
        return RLMR_E_NOMEM;
    }
    free(options->role);
    options->role = clean;
    return strcmp(list, "all") == 0 ? RLMR_OK : for_each_item("role", list, options, add_role, err);
}

static rlmr_status set_offset(rlmr_options *options, const char *text, rlmr_error *err) {
    if (!rlmr_decimal_us_to_ns(rlmr_slice_of(text), &options->map.time_offset_ns)) {
        return rlmr_error_set(err, RLMR_E_USAGE, "--time-offset needs microseconds, not '%s'", text);
    }
    return RLMR_OK;
}

static rlmr_status set_option(rlmr_options *options, int id, const char *value, rlmr_error *err) {
    size_t choice = 0;
    rlmr_status status = RLMR_OK;
    switch (id) {
    case OPTION_INPUT_LIST:
        return replace_text(&options->input_list, value, err);
    case OPTION_OUTPUT:
        return replace_text(&options->output, value, err);
    case OPTION_MODE:
        return set_mode(options, value, err);
    case OPTION_RANK_LIST:
        return set_rank_list(options, value, err);
    case OPTION_ROLE:
        return set_role(options, value, err);
    case OPTION_MATCH:
        status = choose("match", value, match_names, RLMR_MATCH_COUNT, &choice, err);
        options->map.match = (rlmr_match_policy)choice;
        return status;
    case OPTION_PROGRESS:
        status = choose("progress", value, progress_names, COUNT(progress_names), &choice, err);
        options->progress = (rlmr_progress_when)choice;
        return status;
    case OPTION_TIME_OFFSET:
        return set_offset(options, value, err);
    case OPTION_PARALLEL_STRATEGY:
        return rlmr_error_set(err, RLMR_E_USAGE,
                              "--parallel-strategy serves the mode summary, which is not built yet");
    case OPTION_FORCE:
        options->force = true;
        return RLMR_OK;
    case OPTION_CHECK:
        options->check = true;
        return RLMR_OK;
    case OPTION_STRICT:
        options->map.strict = true;
        return RLMR_OK;
    case OPTION_QUIET:
        options->verbosity = -1;
        return RLMR_OK;
    case OPTION_VERBOSE:
        options->verbosity = 1;
        return RLMR_OK;
    default:
        return rlmr_error_set(err, RLMR_E_USAGE, "an option is not handled");
    }
}

static rlmr_status defaults(rlmr_options *options, rlmr_error *err) {
    *options = (rlmr_options){.map.match = RLMR_MATCH_BEST};
    rlmr_status status = replace_text(&options->output, "rl-insight.h5", err);
    status = status == RLMR_OK ? set_mode(options, "all", err) : status;
    status = status == RLMR_OK ? replace_text(&options->rank_list, "all", err) : status;
    return status == RLMR_OK ? replace_text(&options->role, "all", err) : status;
}

/* Short letters come from the table; getopt wants them as one text. */
static int next_option(int argc, char **argv) {
#define OPTION_LETTER(id, letter, name, argument, help) letter, (letter) != 0 && (argument) != NULL ? ':' : 0,
    // cppcheck-suppress literalWithCharPtrCompare ; NULL in the table stands for "no argument"
    static const char letters[] = {OPTIONS(OPTION_LETTER)};
#define OPTION_MAP(id, letter, name, argument, help)                                                         \
    if ((letter) != 0 && found == (letter)) {                                                                \
        return OPTION_##id;                                                                                  \
    }
    char text[sizeof letters + 2] = ":";
    size_t used = 1;
    for (size_t i = 0; i < sizeof letters; i++) {
        if (letters[i] != 0) {
            text[used++] = letters[i];
        }
    }
    int found = getopt_long(argc, argv, text, long_options, NULL);
    OPTIONS(OPTION_MAP)
    return found;
}

static rlmr_status usage_error(int found, char **argv, rlmr_error *err) {
    const char *word = argv[optind - 1];
    if (found == ':') {
        return rlmr_error_set(err, RLMR_E_USAGE, "option %s needs an argument", word);
    }
    if (optopt > 0 && optopt < 0x7f) {
        return rlmr_error_set(err, RLMR_E_USAGE, "unknown option -%c", optopt);
    }
    if (optopt != 0 && optopt < OPTION_BASE) {
        return rlmr_error_set(err, RLMR_E_USAGE, "unknown option, not of ASCII");
    }
    if (optopt > OPTION_BASE) {
        return rlmr_error_set(err, RLMR_E_USAGE, "option %s takes no argument", word);
    }
    return rlmr_error_set(err, RLMR_E_USAGE, "unknown or ambiguous option %s", word);
}

static rlmr_status take_roots(rlmr_options *options, int count, char **words, rlmr_error *err) {
    rlmr_status status = RLMR_OK;
    for (int i = 0; i < count && status == RLMR_OK; i++) {
        status = append_text(&options->roots, &options->roots_count, words[i], err);
    }
    if (status == RLMR_OK && options->roots_count == 0 && options->input_list == NULL) {
        status = rlmr_error_set(err, RLMR_E_USAGE, "no INPUT given");
    }
    return status;
}

rlmr_parsed rlmr_options_parse(int argc, char **argv, rlmr_options *options, rlmr_error *err) {
    rlmr_status status = defaults(options, err);
    opterr = 0;
    optind = 1;
    while (status == RLMR_OK) {
        int found = next_option(argc, argv);
        if (found == -1) {
            break;
        }
        if (found == OPTION_HELP) {
            return RLMR_PARSED_HELP;
        }
        if (found == OPTION_VERSION) {
            return RLMR_PARSED_VERSION;
        }
        status = found == '?' || found == ':' ? usage_error(found, argv, err)
                                              : set_option(options, found, optarg, err);
    }
    if (status == RLMR_OK) {
        status = take_roots(options, argc - optind, argv + optind, err);
    }
    return status == RLMR_OK ? RLMR_PARSED_RUN : RLMR_PARSED_ERROR;
}

void rlmr_options_release(rlmr_options *options) {
    for (size_t i = 0; i < options->roots_count; i++) {
        free(options->roots[i]);
    }
    forget_roles(options);
    free(options->roots);
    free(options->roles);
    free(options->ranks);
    free(options->input_list);
    free(options->output);
    free(options->mode);
    free(options->rank_list);
    free(options->role);
    *options = (rlmr_options){0};
}

rlmr_status rlmr_options_read_list(rlmr_options *options, rlmr_error *err) {
    if (options->input_list == NULL) {
        return RLMR_OK;
    }
    bool standard = strcmp(options->input_list, "-") == 0;
    FILE *file = standard ? stdin : fopen(options->input_list, "re");
    if (file == NULL) {
        return rlmr_error_set_errno(err, RLMR_E_INPUT, errno, "--input-list %s", options->input_list);
    }
    char *line = NULL;
    size_t capacity = 0;
    ssize_t bytes;
    rlmr_status status = RLMR_OK;
    while (status == RLMR_OK && (bytes = getline(&line, &capacity, file)) >= 0) {
        while (bytes > 0 && (line[bytes - 1] == '\n' || line[bytes - 1] == '\r')) {
            line[--bytes] = '\0';
        }
        if (bytes > 0) {
            status = append_text(&options->roots, &options->roots_count, line, err);
        }
    }
    /* Anything but the end of the file, also a line for which there is no memory. */
    if (status == RLMR_OK && !feof(file)) {
        status = rlmr_error_set_errno(err, RLMR_E_INPUT, errno, "--input-list %s", options->input_list);
    }
    free(line);
    if (!standard) {
        (void)fclose(file);
    }
    return status;
}

const char *rlmr_options_match(const rlmr_options *options) {
    return match_names[options->map.match];
}

bool rlmr_options_wants_rank(const rlmr_options *options, int32_t rank_id) {
    for (size_t i = 0; i < options->ranks_count; i++) {
        if (rank_id >= options->ranks[i].first && rank_id <= options->ranks[i].last) {
            return true;
        }
    }
    return options->ranks_count == 0;
}

bool rlmr_options_wants_role(const rlmr_options *options, const char *role) {
    for (size_t i = 0; i < options->roles_count; i++) {
        if (strcmp(role, options->roles[i]) == 0) {
            return true;
        }
    }
    return options->roles_count == 0;
}
