#include "forms.h"
#include "options.h"
#include "rlmr/cleanup.h"
#include "rlmr/message.h"
#include "rlmr/version.h"

#include <stdio.h>

typedef rlmr_status (*form)(rlmr_hdf5_source *source, const rlmr_export_options *options, rlmr_error *err);

static const form forms[RLMR_EXPORT_FORMAT_COUNT] = {
    [RLMR_EXPORT_TEXT] = rlmr_export_text_form,
    [RLMR_EXPORT_DB] = rlmr_export_db_form,
    [RLMR_EXPORT_CSV] = rlmr_export_csv_form,
};

static int export(const rlmr_export_options *options, rlmr_error *err) {
    rlmr_hdf5_source *source;
    rlmr_cleanup_install("rl-insight-export: error: ended by a signal; what is not written yet is missing\n");
    rlmr_cleanup_crashes(
        "rl-insight-export: error: HDF5 fails on the file, which must be damaged; make it again\n");
    rlmr_status status = rlmr_hdf5_source_open(options->file, &source, err);
    if (status == RLMR_OK) {
        status = forms[options->format](source, options, err);
    }
    rlmr_hdf5_source_close(source);
    if (status != RLMR_OK) {
        rlmr_message(options->verbosity, RLMR_LEVEL_ERROR, "%s", err->message);
    }
    return rlmr_status_exit_code(status);
}

static int refuse_usage(const rlmr_error *err) {
    rlmr_message(0, RLMR_LEVEL_ERROR, "%s", err->message);
    (void)fprintf(stderr, "Try 'rl-insight-export --help'.\n");
    return rlmr_status_exit_code(err->code);
}

int main(int argc, char **argv) {
    rlmr_export_options options;
    rlmr_error error;
    rlmr_error_clear(&error);
    switch (rlmr_export_parse(argc, argv, &options, &error)) {
    case RLMR_EXPORT_PARSED_HELP:
        rlmr_export_help();
        return rlmr_message_flush(0) ? 0 : 1;
    case RLMR_EXPORT_PARSED_VERSION:
        printf("rl-insight-export %s\n", RLMR_VERSION);
        return rlmr_message_flush(0) ? 0 : 1;
    case RLMR_EXPORT_PARSED_ERROR:
        return refuse_usage(&error);
    case RLMR_EXPORT_PARSED_RUN:
        break;
    }
    return export(&options, &error);
}
