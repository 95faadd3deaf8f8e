#include "progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define TERMINAL_PERIOD_S 0.5
#define ALWAYS_PERIOD_S 1.0
#define LOG_PERIOD_S 10.0

static double now_s(void) {
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

void rlmr_progress_start(rlmr_progress *progress, const rlmr_options *options, int64_t total_bytes,
                         bool shown) {
    bool wanted = options->progress == RLMR_PROGRESS_ALWAYS ||
                  (options->progress == RLMR_PROGRESS_AUTO && options->verbosity >= 0);
    *progress = (rlmr_progress){.shown = shown && wanted && total_bytes > 0,
                                .terminal = isatty(STDERR_FILENO) == 1,
                                .total_bytes = total_bytes,
                                .start_s = now_s()};
    progress->always = options->progress == RLMR_PROGRESS_ALWAYS;
    progress->period_s = progress->always ? ALWAYS_PERIOD_S : LOG_PERIOD_S;
    if (progress->terminal) {
        progress->period_s = TERMINAL_PERIOD_S;
    }
    progress->last_s = progress->start_s;
}

static void print_line(rlmr_progress *progress, double now) {
    int64_t done_bytes = progress->done_bytes;
    double seconds = now - progress->start_s;
    double rate = seconds > 0 ? (double)done_bytes / seconds : 0;
    double left_s = rate > 0 ? (double)(progress->total_bytes - done_bytes) / rate : 0;
    (void)fprintf(stderr, "%srl-insight-mr: progress: %.1f of %.1f MB (%.0f %%), %.1f MB/s, %.0f s left%s",
                  progress->terminal ? "\r" : "", (double)done_bytes / 1e6,
                  (double)progress->total_bytes / 1e6,
                  100.0 * (double)done_bytes / (double)progress->total_bytes, rate / 1e6, left_s,
                  progress->terminal ? "\033[K" : "\n");
    progress->last_s = now;
    progress->begun = true;
}

void rlmr_progress_update(rlmr_progress *progress, int64_t done_bytes) {
    if (!progress->shown) {
        return;
    }
    /* A capture that could not be shared after all is read again. */
    progress->done_bytes = done_bytes < progress->total_bytes ? done_bytes : progress->total_bytes;
    double now = now_s();
    if (now - progress->last_s >= progress->period_s) {
        print_line(progress, now);
    }
}

void rlmr_progress_end(rlmr_progress *progress) {
    if (progress->shown && (progress->begun || progress->always)) {
        print_line(progress, now_s());
        if (progress->terminal) {
            (void)fputc('\n', stderr);
        }
    }
    progress->shown = false;
}
