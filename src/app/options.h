/** The command line. */
#ifndef RLMR_OPTIONS_H
#define RLMR_OPTIONS_H

#include "rlmr/mapper.h"

/** Inclusive range of ranks. */
typedef struct {
    int32_t first;
    int32_t last;
} rlmr_rank_range;

typedef enum { RLMR_PROGRESS_AUTO, RLMR_PROGRESS_ALWAYS, RLMR_PROGRESS_NEVER } rlmr_progress_when;

typedef struct {
    char **roots; /**< as given; owned, as all pointers here */
    size_t roots_count;
    char *input_list; /**< NULL if none */
    char *output;
    char *mode;             /**< as given, in the order of the analyses */
    char *rank_list;        /**< normal form: "all" or ascending ranges */
    char *role;             /**< as given, or "all" */
    rlmr_rank_range *ranks; /**< ascending, disjoint; none means all */
    size_t ranks_count;
    char **roles; /**< none means all */
    size_t roles_count;
    rlmr_map_options map;
    rlmr_progress_when progress;
    bool force;
    bool check;
    int verbosity; /**< -1 quiet, 0, 1 verbose */
} rlmr_options;

typedef enum { RLMR_PARSED_RUN, RLMR_PARSED_HELP, RLMR_PARSED_VERSION, RLMR_PARSED_ERROR } rlmr_parsed;

/** Read the command line. @param options out; rlmr_options_release() in every case
 *  @param err out: what is wrong, if RLMR_PARSED_ERROR (E_USAGE or E_NOMEM) */
rlmr_parsed rlmr_options_parse(int argc, char **argv, rlmr_options *options, rlmr_error *err);
void rlmr_options_release(rlmr_options *options);

/** Print the help, made from the table of options. */
void rlmr_options_help(void);

/** Append the roots of --input-list. @return OK, E_NOMEM, E_INPUT */
RLMR_MUST_CHECK rlmr_status rlmr_options_read_list(rlmr_options *options, rlmr_error *err);

/** The word of --match. */
const char *rlmr_options_match(const rlmr_options *options);

bool rlmr_options_wants_rank(const rlmr_options *options, int32_t rank_id);
bool rlmr_options_wants_role(const rlmr_options *options, const char *role);

#endif
