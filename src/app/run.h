/** The whole run, from the DataMap to the closed file. */
#ifndef RLMR_RUN_H
#define RLMR_RUN_H

#include "options.h"

/** Start MPI, do what the options say, end MPI. @return the exit code, the same on all processes */
int rlmr_run(rlmr_options *options);

#endif
