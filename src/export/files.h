/** The files of one export: named and looked at before the first is written, then written one after the other. */
#ifndef RLMR_EXPORT_FILES_H
#define RLMR_EXPORT_FILES_H

#include "job.h"
#include "options.h"
#include "rlmr/output_place.h"
#include "rlmr/text_writer.h"

typedef struct {
    const rlmr_export_options *options;
    char **paths; /**< owned, in the order they were added */
    size_t count;
    rlmr_places made;
} rlmr_export_files;

void rlmr_export_files_init(rlmr_export_files *files, const rlmr_export_options *options);

/** With an error, `failed`, directories that were made for nothing are removed. */
void rlmr_export_files_release(rlmr_export_files *files, bool failed);

/** Add the file `name` of a part: DIR/[<role>/][window<k>/]cluster_analysis_output/<name>, where a level is there only if there
 *  are several roles, or several windows of the role. In a role '/', '%', NUL and leading dots are written as %XX; the role
 *  without a name is "%". @return OK or E_NOMEM */
RLMR_MUST_CHECK rlmr_status rlmr_export_files_add(rlmr_export_files *files, const rlmr_export_job *job,
                                                  const rlmr_export_part *part, const char *name,
                                                  rlmr_error *err);

/** Add the file DIR/<table>.csv, with the name of the table as that of a role. @return OK or E_NOMEM */
RLMR_MUST_CHECK rlmr_status rlmr_export_files_add_table(rlmr_export_files *files, const char *table,
                                                        rlmr_error *err);

/** Whether all may be written. @return OK or E_OUTPUT */
RLMR_MUST_CHECK rlmr_status rlmr_export_files_check(const rlmr_export_files *files, rlmr_error *err);

/** Make the directories of a file; a signal between this and rlmr_export_files_begun() waits. @return OK, E_NOMEM, E_OUTPUT */
RLMR_MUST_CHECK rlmr_status rlmr_export_files_begin(rlmr_export_files *files, size_t file, rlmr_error *err);

/** The temporary file is there, or, if NULL, could not be made: a signal removes it from here on. @return OK or E_OUTPUT */
RLMR_MUST_CHECK rlmr_status rlmr_export_files_begun(const char *temporary, rlmr_error *err);

/** Say that a file is written. */
void rlmr_export_files_written(const rlmr_export_files *files, size_t file);

/** Create a text file of the list. @param out NULL after an error  @return OK, E_NOMEM, E_OUTPUT */
RLMR_MUST_CHECK rlmr_status rlmr_export_files_create_text(rlmr_export_files *files, size_t file,
                                                          rlmr_text **out, rlmr_error *err);

/** Complete it, or after an error, `status`, give it up. @return status, or what became of it */
RLMR_MUST_CHECK rlmr_status rlmr_export_files_end_text(rlmr_export_files *files, size_t file, rlmr_text *out,
                                                       rlmr_status status, rlmr_error *err);

#endif
