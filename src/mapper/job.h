/** What the files of one capture are read with: shared by the analyses. */
#ifndef RLMR_JOB_H
#define RLMR_JOB_H

#include "damage.h"
#include "rlmr/analysis_db.h"
#include "rlmr/profiler_db.h"

/** One of the capture's databases, opened once for all analyses. */
typedef struct {
    rlmr_file_damage damage;
    rlmr_damage errors; /* goes there */
    bool tried;
    rlmr_profiler_db *profiler; /* either; NULL if it is absent or cannot be read */
    rlmr_analysis_db *analysis;
} rlmr_job_db;

typedef struct {
    rlmr_capture *capture;
    const rlmr_map_options *options;
    rlmr_partial *partial;
    const rlmr_meter *meter;
    const rlmr_damage_log *log; /* NULL for none */
    rlmr_job_db profiler_db;
    rlmr_job_db analysis_db;
    uint32_t job_role; /* ids of texts in the partial tables */
    uint32_t
        only_step; /* the only step of step_trace_time.csv; the empty text if there is none, or several */
} rlmr_job;

/** @return OK, E_NOMEM or E_RANGE */
RLMR_MUST_CHECK rlmr_status rlmr_job_open(rlmr_job *job, rlmr_error *err);

/** Close the databases, and note how many errors they had. @return `status`, or E_NOMEM */
RLMR_MUST_CHECK rlmr_status rlmr_job_close(rlmr_job *job, rlmr_status status, rlmr_error *err);

/** Whether the capture has the file. */
bool rlmr_job_has(const rlmr_job *job, rlmr_file_kind kind);

/** For a file that is read now: it counts as read, and errors go to the capture. */
rlmr_file_damage rlmr_job_damage(const rlmr_job *job, rlmr_file_kind kind);

/** For readers: the rlmr_damage that notes in `damage`. */
rlmr_damage rlmr_job_errors(rlmr_file_damage *damage);

/** What is wrong with a file is the capture's matter, and noted; all else ends the run.
 *  @param status,trouble of the reader
 *  @return OK; E_NOMEM, E_RANGE, or what a callback or the meter had returned, then in `err` */
RLMR_MUST_CHECK rlmr_status rlmr_job_keep(rlmr_file_damage *damage, rlmr_status status,
                                          const rlmr_error *trouble, rlmr_error *err);

/** The database, opened at the first call. @param out NULL if it is absent or cannot be read, which is noted
 *  @return OK, E_NOMEM, or what the meter returned */
RLMR_MUST_CHECK rlmr_status rlmr_job_profiler_db(rlmr_job *job, rlmr_profiler_db **out, rlmr_error *err);
RLMR_MUST_CHECK rlmr_status rlmr_job_analysis_db(rlmr_job *job, rlmr_analysis_db **out, rlmr_error *err);

/** A database in which a table was looked for and found counts as read. */
void rlmr_job_used(rlmr_job *job, rlmr_file_kind kind, bool present);

#endif
