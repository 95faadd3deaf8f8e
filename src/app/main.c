#include "options.h"
#include "rlmr/message.h"
#include "rlmr/version.h"
#include "run.h"

#include <stdio.h>
#include <stdlib.h>

/* srun without a PMI plugin starts N processes that each believe to be the only one: N writers of one file.
 */
static bool is_lost_under_srun(void) {
    const char *tasks = getenv("SLURM_STEP_NUM_TASKS");
    bool several = tasks != NULL && strtol(tasks, NULL, 10) > 1;
    return several && getenv("OMPI_COMM_WORLD_SIZE") == NULL && getenv("PMIX_RANK") == NULL &&
           getenv("PMI_RANK") == NULL;
}

static int refuse_lost(void) {
    const char *task = getenv("SLURM_PROCID");
    if (task == NULL || strtol(task, NULL, 10) == 0) {
        rlmr_message(0, RLMR_LEVEL_ERROR,
                     "srun started %s processes without PMI, each would be process 0 of 1: use srun "
                     "--mpi=pmix, or mpirun",
                     getenv("SLURM_STEP_NUM_TASKS"));
    }
    return 1;
}

static int refuse_usage(const rlmr_error *err) {
    if (rlmr_message_silent()) {
        return 0; /* a launcher ends all when one fails: process 0 must live to say what is wrong, and fail */
    }
    rlmr_message(0, RLMR_LEVEL_ERROR, "%s", err->message);
    if (err->code == RLMR_E_USAGE) {
        (void)fprintf(stderr, "Try 'rl-insight-mr --help'.\n");
    }
    return rlmr_status_exit_code(err->code);
}

static int run_with(rlmr_options *options, rlmr_parsed parsed, const rlmr_error *err) {
    switch (parsed) {
    case RLMR_PARSED_HELP:
        if (!rlmr_message_silent()) {
            rlmr_options_help();
        }
        return rlmr_message_flush(0) ? 0 : 1;
    case RLMR_PARSED_VERSION:
        if (!rlmr_message_silent()) {
            printf("rl-insight-mr %s\n", RLMR_VERSION);
        }
        return rlmr_message_flush(0) ? 0 : 1;
    case RLMR_PARSED_ERROR:
        return refuse_usage(err);
    case RLMR_PARSED_RUN:
        break;
    }
    return is_lost_under_srun() ? refuse_lost() : rlmr_run(options);
}

int main(int argc, char **argv) {
    rlmr_options options;
    rlmr_error error;
    rlmr_error_clear(&error);
    rlmr_parsed parsed = rlmr_options_parse(argc, argv, &options, &error);
    int exit_code = run_with(&options, parsed, &error);
    rlmr_options_release(&options);
    return exit_code;
}
