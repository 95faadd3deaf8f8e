/** The command line. */
#ifndef RLMR_EXPORT_OPTIONS_H
#define RLMR_EXPORT_OPTIONS_H

#include "rlmr/error.h"

#include <stdbool.h>

/** X(NAME, word): the forms of output. */
#define RLMR_EXPORT_FORMATS(X) X(TEXT, "text") X(DB, "db") X(CSV, "csv")

#define RLMR_EXPORT_FORMAT_ENUM(name, word) RLMR_EXPORT_##name,
typedef enum { RLMR_EXPORT_FORMATS(RLMR_EXPORT_FORMAT_ENUM) RLMR_EXPORT_FORMAT_COUNT } rlmr_export_format;

/** All texts are of the command line. */
typedef struct {
    const char *file;
    const char *directory;
    rlmr_export_format format;
    bool force;
    int verbosity; /**< -1 quiet, 0 */
} rlmr_export_options;

typedef enum {
    RLMR_EXPORT_PARSED_RUN,
    RLMR_EXPORT_PARSED_HELP,
    RLMR_EXPORT_PARSED_VERSION,
    RLMR_EXPORT_PARSED_ERROR
} rlmr_export_parsed;

/** Read the command line. @param err out: what is wrong, if RLMR_EXPORT_PARSED_ERROR (E_USAGE) */
rlmr_export_parsed rlmr_export_parse(int argc, char **argv, rlmr_export_options *options, rlmr_error *err);

/** Print the help, made from the table of options. */
void rlmr_export_help(void);

#endif
