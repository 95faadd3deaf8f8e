/** The forms of output: each writes all its files below the directory of the options. */
#ifndef RLMR_EXPORT_FORMS_H
#define RLMR_EXPORT_FORMS_H

#include "options.h"
#include "rlmr/hdf5_source.h"

/** cluster_analysis_output/ of CSV and JSON files for each part of the job.
 *  @return OK, E_NOMEM, E_RANGE, E_PARSE, E_OUTPUT */
RLMR_MUST_CHECK rlmr_status rlmr_export_text_form(rlmr_hdf5_source *source,
                                                  const rlmr_export_options *options, rlmr_error *err);

/** cluster_analysis_output/cluster_analysis.db for each part of the job; as rlmr_export_text_form(). */
RLMR_MUST_CHECK rlmr_status rlmr_export_db_form(rlmr_hdf5_source *source, const rlmr_export_options *options,
                                                rlmr_error *err);

/** Every table of the file, block by block, as rlmr_export_text_form(). */
RLMR_MUST_CHECK rlmr_status rlmr_export_csv_form(rlmr_hdf5_source *source, const rlmr_export_options *options,
                                                 rlmr_error *err);

#endif
