#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

/* X(ID, short or 0, "long", argument or NULL, "help"): drives the parser and the help. */
#define OPTIONS(X)                                                                                           \
    X(TO, 't', "to", "FORMAT",                                                                               \
      "text: cluster_analysis_output/ of JSON and CSV files;\ndb: cluster_analysis_output/"                  \
      "cluster_analysis.db;\ncsv: every table of FILE.h5 as TABLE.csv")                                      \
    X(FORCE, 'f', "force", NULL, "replace existing files")                                                   \
    X(QUIET, 'q', "quiet", NULL, "fewer messages on stderr")                                                 \
    X(HELP, 'h', "help", NULL, "print this help")                                                            \
    X(VERSION, 'V', "version", NULL, "print the version")

#define OPTION_ID(id, letter, name, argument, help) OPTION_##id,
enum { OPTION_BASE = 255, OPTIONS(OPTION_ID) OPTION_END };

#define OPTION_LONG(id, letter, name, argument, help)                                                        \
    {name, (argument) == NULL ? no_argument : required_argument, NULL, OPTION_##id},
static const struct option long_options[] = {OPTIONS(OPTION_LONG){NULL, 0, NULL, 0}};

#define FORMAT_WORD(name, word) word,
static const char *const format_words[] = {RLMR_EXPORT_FORMATS(FORMAT_WORD)};

static void print_option(char letter, const char *name, const char *argument, const char *help) {
    int used = printf("  -%c, --%s%s%s", letter, name, argument == NULL ? "" : " ",
                      argument == NULL ? "" : argument);
    printf("%*s", 20 - used, "");
    for (const char *line = help; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        printf("%s%.*s\n", line == help ? "" : "                    ", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

void rlmr_export_help(void) {
    printf(
        "Usage: rl-insight-export [OPTION]... FILE.h5 DIR --to text|db|csv\n"
        "\n"
        "Write the tables of FILE.h5, which rl-insight-mr has made, below DIR in the form of other tools.\n"
        "\n");
#define OPTION_HELP(id, letter, name, argument, help) print_option(letter, name, argument, help);
    OPTIONS(OPTION_HELP)
    printf(
        "\n"
        "With several roles each has a folder of its own, and with several windows of a role each of them:\n"
        "DIR/ROLE/window0/cluster_analysis_output.\n"
        "\n"
        "Exit status: 0 written; 1 an error, each file is whole or not there; 2 wrong usage.\n");
}

static rlmr_status set_format(rlmr_export_options *options, const char *word, rlmr_error *err) {
    for (int format = 0; format < RLMR_EXPORT_FORMAT_COUNT; format++) {
        if (strcmp(word, format_words[format]) == 0) {
            options->format = (rlmr_export_format)format;
            return RLMR_OK;
        }
    }
    return rlmr_error_set(err, RLMR_E_USAGE, "--to does not know '%s'", word);
}

static rlmr_status set_option(rlmr_export_options *options, int id, const char *value, rlmr_error *err) {
    switch (id) {
    case OPTION_TO:
        return set_format(options, value, err);
    case OPTION_FORCE:
        options->force = true;
        return RLMR_OK;
    case OPTION_QUIET:
        options->verbosity = -1;
        return RLMR_OK;
    default:
        return rlmr_error_set(err, RLMR_E_USAGE, "an option is not handled");
    }
}

/* Short letters come from the table; getopt wants them as one text. */
static int next_option(int argc, char **argv) {
#define OPTION_LETTER(id, letter, name, argument, help) letter, (argument) != NULL ? ':' : 0,
#define OPTION_MAP(id, letter, name, argument, help)                                                         \
    if (found == (letter)) {                                                                                 \
        return OPTION_##id;                                                                                  \
    }
    // cppcheck-suppress literalWithCharPtrCompare ; NULL in the table stands for "no argument"
    static const char letters[] = {OPTIONS(OPTION_LETTER)};
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
    if (optopt > OPTION_BASE) {
        return rlmr_error_set(err, RLMR_E_USAGE, "option %s takes no argument", word);
    }
    return rlmr_error_set(err, RLMR_E_USAGE, "unknown or ambiguous option %s", word);
}

static rlmr_status take_words(rlmr_export_options *options, int count, char **words, rlmr_error *err) {
    if (count != 2) {
        return rlmr_error_set(err, RLMR_E_USAGE, "%s",
                              count < 2 ? "FILE.h5 and DIR are needed" : "more than FILE.h5 and DIR");
    }
    options->file = words[0];
    options->directory = words[1];
    if (words[1][0] == '\0') {
        return rlmr_error_set(err, RLMR_E_USAGE, "DIR is empty");
    }
    return options->format == RLMR_EXPORT_FORMAT_COUNT
               ? rlmr_error_set(err, RLMR_E_USAGE, "--to is needed: text, db or csv")
               : RLMR_OK;
}

rlmr_export_parsed rlmr_export_parse(int argc, char **argv, rlmr_export_options *options, rlmr_error *err) {
    *options = (rlmr_export_options){.format = RLMR_EXPORT_FORMAT_COUNT};
    rlmr_status status = RLMR_OK;
    opterr = 0;
    optind = 1;
    while (status == RLMR_OK) {
        int found = next_option(argc, argv);
        if (found == -1) {
            status = take_words(options, argc - optind, argv + optind, err);
            break;
        }
        if (found == OPTION_HELP) {
            return RLMR_EXPORT_PARSED_HELP;
        }
        if (found == OPTION_VERSION) {
            return RLMR_EXPORT_PARSED_VERSION;
        }
        status = found == '?' || found == ':' ? usage_error(found, argv, err)
                                              : set_option(options, found, optarg, err);
    }
    return status == RLMR_OK ? RLMR_EXPORT_PARSED_RUN : RLMR_EXPORT_PARSED_ERROR;
}
