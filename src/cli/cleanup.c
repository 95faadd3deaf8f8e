#include "rlmr/cleanup.h"

#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

/* A handler gets no context: these are its only inputs, and the only mutable state of the program. */
static char file_to_remove[PATH_MAX];
static volatile sig_atomic_t file_is_set;
static const char *last_words; /* set before the handlers are */

/* While the file is made, its name is not known here: a signal is put off until it is. Atomic, since a handler may run on
 * another thread, one of MPI's. */
enum { PUT_OFF_NOT, PUT_OFF, PUT_OFF_MET };
static atomic_int put_off = PUT_OFF_NOT;
_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "a handler uses it");

static const char *crash_words;   /* set before the handler is */
static char crash_stack[1 << 16]; /* the own one may be full */

static const int crash_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
static const int fatal_signals[] = {SIGTERM, SIGINT, SIGHUP};
enum { FATAL_SIGNALS = sizeof fatal_signals / sizeof fatal_signals[0] };

static _Noreturn void end(const char *words) {
    if (file_is_set) {
        (void)unlink(file_to_remove);
    }
    if (words != NULL) {
        ssize_t ignored = write(STDERR_FILENO, words, strlen(words));
        (void)ignored;
    }
    _exit(1);
}

static _Noreturn void end_by_signal(void) {
    end(last_words);
}

static void on_crash(int number) {
    (void)number;
    end(crash_words);
}

static void on_signal(int number) {
    int expected = PUT_OFF;
    (void)number;
    if (!atomic_compare_exchange_strong(&put_off, &expected, PUT_OFF_MET) && expected == PUT_OFF_NOT) {
        end_by_signal();
    }
}

static void set_handler(void (*handler)(int)) {
    struct sigaction action = {.sa_handler = handler};
    (void)sigfillset(&action.sa_mask);
    for (int i = 0; i < FATAL_SIGNALS; i++) {
        (void)sigaction(fatal_signals[i], &action, NULL);
    }
}

void rlmr_cleanup_install(const char *message) {
    last_words = message;
    set_handler(on_signal);
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    (void)sigaction(SIGXFSZ, &ignore, NULL);
    (void)sigaction(SIGPIPE, &ignore, NULL);
}

void rlmr_cleanup_crashes(const char *message) {
    stack_t stack = {.ss_sp = crash_stack, .ss_size = sizeof crash_stack};
    struct sigaction action = {.sa_handler = on_crash, .sa_flags = SA_ONSTACK};
    crash_words = message;
    (void)sigaltstack(&stack, NULL);
    (void)sigfillset(&action.sa_mask);
    for (size_t i = 0; i < sizeof crash_signals / sizeof crash_signals[0]; i++) {
        (void)sigaction(crash_signals[i], &action, NULL);
    }
}

void rlmr_cleanup_put_off(void) {
    atomic_store(&put_off, PUT_OFF);
}

rlmr_status rlmr_cleanup_file(const char *path, rlmr_error *err) {
    size_t bytes = path == NULL ? 0 : strlen(path) + 1;
    rlmr_status status = RLMR_OK;
    if (bytes > sizeof file_to_remove) {
        status = rlmr_error_set(err, RLMR_E_OUTPUT, "the path of the output is longer than %zu bytes",
                                sizeof file_to_remove);
    } else if (path != NULL) {
        memcpy(file_to_remove, path, bytes);
        file_is_set = 1;
    }
    if (atomic_exchange(&put_off, PUT_OFF_NOT) == PUT_OFF_MET) {
        end_by_signal();
    }
    return status;
}

/* Ignored, not blocked: MPI has threads of its own, and a mask is of one thread. */
void rlmr_cleanup_end(void) {
    set_handler(SIG_IGN);
}
