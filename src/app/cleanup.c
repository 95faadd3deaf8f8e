#include "cleanup.h"

#include <limits.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* A handler gets no context: these are its only inputs, and the only mutable state of the program. */
static char file_to_remove[PATH_MAX];
static volatile sig_atomic_t file_is_set;
static volatile sig_atomic_t this_process_speaks;

static const int fatal_signals[] = {SIGTERM, SIGINT, SIGHUP};
enum { FATAL_SIGNALS = sizeof fatal_signals / sizeof fatal_signals[0] };

static void on_signal(int number) {
    static const char message[] = "rl-insight-mr: error: ended by a signal, nothing was written\n";
    (void)number;
    if (file_is_set) {
        (void)unlink(file_to_remove);
    }
    if (this_process_speaks) {
        ssize_t ignored = write(STDERR_FILENO, message, sizeof message - 1);
        (void)ignored;
    }
    _exit(1);
}

static void set_handler(void (*handler)(int)) {
    struct sigaction action = {.sa_handler = handler};
    (void)sigfillset(&action.sa_mask);
    for (int i = 0; i < FATAL_SIGNALS; i++) {
        (void)sigaction(fatal_signals[i], &action, NULL);
    }
}

void rlmr_cleanup_install(bool speaks) {
    this_process_speaks = speaks;
    set_handler(on_signal);
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    (void)sigaction(SIGXFSZ, &ignore, NULL);
    (void)sigaction(SIGPIPE, &ignore, NULL);
}

rlmr_status rlmr_cleanup_file(const char *path, rlmr_error *err) {
    size_t bytes = strlen(path) + 1;
    if (bytes > sizeof file_to_remove) {
        return rlmr_error_set(err, RLMR_E_OUTPUT, "the path of the output is longer than %zu bytes",
                              sizeof file_to_remove);
    }
    memcpy(file_to_remove, path, bytes);
    file_is_set = 1;
    return RLMR_OK;
}

/* Ignored, not blocked: MPI has threads of its own, and a mask is of one thread. */
void rlmr_cleanup_end(void) {
    set_handler(SIG_IGN);
}
