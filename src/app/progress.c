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
    progress->period_s = options->progress == RLMR_PROGRESS_ALWAYS ? ALWAYS_PERIOD_S : LOG_PERIOD_S;
    if (progress->terminal) {
        progress->period_s = TERMINAL_PERIOD_S;
    }
    progress->last_s = progress->start_s;
}

void rlmr_progress_update(rlmr_progress *progress, int64_t done_bytes) {
    double now = progress->shown ? now_s() : 0;
    if (!progress->shown || now - progress->last_s < progress->period_s) {
        return;
    }
    progress->last_s = now;
    /* A capture that could not be shared after all is read again. */
    done_bytes = done_bytes < progress->total_bytes ? done_bytes : progress->total_bytes;
    double rate = (double)done_bytes / (now - progress->start_s);
    double left_s = rate > 0 ? (double)(progress->total_bytes - done_bytes) / rate : 0;
    (void)fprintf(stderr, "%srl-insight-mr: progress: %.1f of %.1f MB (%.0f %%), %.1f MB/s, %.0f s left%s",
                  progress->terminal ? "\r" : "", (double)done_bytes / 1e6,
                  (double)progress->total_bytes / 1e6,
                  100.0 * (double)done_bytes / (double)progress->total_bytes, rate / 1e6, left_s,
                  progress->terminal ? "\033[K" : "\n");
    progress->line_open = progress->terminal;
}

void rlmr_progress_end(rlmr_progress *progress) {
    if (progress->line_open) {
        (void)fputc('\n', stderr);
        progress->line_open = false;
    }
}
