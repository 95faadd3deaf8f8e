/** Runs the whole program, without MPI, again and again: in the N-th run the N-th call of one kind fails, until a run meets
 *  no failure any more. Each run is a child process, so that one start of the program serves all.
 *
 *  usage: fault_run KIND SCRATCH ARGUMENT...   KIND as in faults.h; ARGUMENT of the program, which writes `out.h5`
 *
 *  No run may crash, hang, or leak; and each ends in one of the ways that its kind allows (see verdict()).
 */
#include "faults.h"

#include <dirent.h>
#include <errno.h>
#include <hdf5.h>
#include <malloc.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

enum { PATIENCE_S = 60, EXIT_LEAK = 97, EXIT_DAMAGED = 3, FAILURES_SHOWN = 10 };

int rlmr_main(int argc, char **argv); /* main() of the program under test */

typedef struct {
    char *data; /* with a NUL behind it */
    size_t bytes;
} text;

/* What a run left. */
typedef struct {
    int state; /* as of waitpid() */
    text out;
    text err;
    text file;        /* out.h5 */
    size_t leftovers; /* files in the directory, out.h5 included */
    bool met;
    long calls;
} outcome;

typedef struct {
    fault_kind kind;
    fault_plan *plan; /* shared with the child */
    const char *scratch;
    int argc;
    char **argv;
    int failures;
} session;

static void require(bool holds, const char *what) {
    if (!holds) {
        (void)fprintf(stderr, "fault_run: %s: %s\n", what, strerror(errno));
        exit(EXIT_FAILURE);
    }
}

/* ---- A run ---- */

static text read_all(int descriptor) {
    struct stat info;
    require(fstat(descriptor, &info) == 0, "fstat");
    text all = {.data = malloc((size_t)info.st_size + 1), .bytes = (size_t)info.st_size};
    require(all.data != NULL, "malloc");
    require(pread(descriptor, all.data, all.bytes, 0) == (ssize_t)all.bytes, "pread");
    all.data[all.bytes] = '\0';
    return all;
}

static int leaks(void) {
#if defined(__SANITIZE_ADDRESS__)
    return __lsan_do_recoverable_leak_check();
#else
    return 0;
#endif
}

static _Noreturn void be_child(const session *self, int out, int err) {
    require(chdir(self->scratch) == 0, self->scratch);
    require(dup2(out, STDOUT_FILENO) >= 0 && dup2(err, STDERR_FILENO) >= 0, "dup2");
    (void)alarm(PATIENCE_S);
    fault_arm(self->plan);
    int code = rlmr_main(self->argc, self->argv);
    fault_arm(NULL);
    (void)fflush(stdout);
    /* To look for leaks takes most of the time; these two kinds lead to no other path than the usual one. */
    bool usual = self->kind == FAULT_INTERRUPT || self->kind == FAULT_SHORT;
    _exit(!usual && leaks() != 0 ? EXIT_LEAK : code);
}

/* Take what the run has left in its directory, and leave it empty. */
static void collect_files(const session *self, outcome *run) {
    DIR *directory = opendir(self->scratch);
    require(directory != NULL, self->scratch);
    const struct dirent *entry;
    while ((entry = readdir(directory)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        run->leftovers++;
        if (strcmp(entry->d_name, "out.h5") == 0) {
            char path[4096];
            (void)snprintf(path, sizeof path, "%s/out.h5", self->scratch);
            FILE *file = fopen(path, "rb");
            require(file != NULL, path);
            run->file = read_all(fileno(file));
            (void)fclose(file);
        }
        require(unlinkat(dirfd(directory), entry->d_name, 0) == 0, entry->d_name);
    }
    (void)closedir(directory);
}

static outcome run_once(const session *self, long at) {
    outcome run = {0};
    int out = memfd_create("stdout", MFD_CLOEXEC);
    int err = memfd_create("stderr", MFD_CLOEXEC);
    require(out >= 0 && err >= 0, "memfd_create");
    *self->plan = (fault_plan){.kind = self->kind, .at = at};
    (void)fflush(stdout);
    pid_t child = fork();
    require(child >= 0, "fork");
    if (child == 0) {
        be_child(self, out, err);
    }
    require(waitpid(child, &run.state, 0) == child, "waitpid");
    run.out = read_all(out);
    run.err = read_all(err);
    (void)close(out);
    (void)close(err);
    run.met = self->plan->met;
    run.calls = self->plan->calls;
    collect_files(self, &run);
    return run;
}

static void release(outcome *run) {
    free(run->out.data);
    free(run->err.data);
    free(run->file.data);
}

/* ---- What is allowed ---- */

static bool same_text(const text *a, const text *b) {
    return a->bytes == b->bytes && (a->bytes == 0 || memcmp(a->data, b->data, a->bytes) == 0);
}

/* As if nothing had happened; what is said on stderr may lack a text that needed memory. */
static bool is_same(const outcome *run, const outcome *good) {
    return run->state == good->state && same_text(&run->out, &good->out) &&
           same_text(&run->file, &good->file) && run->leftovers == good->leftovers;
}

static bool exits_with(const outcome *run, int code) {
    return WIFEXITED(run->state) && WEXITSTATUS(run->state) == code;
}

static size_t count_of(const char *haystack, const char *needle) {
    size_t count = 0;
    for (const char *at = strstr(haystack, needle); at != NULL; at = strstr(at + 1, needle)) {
        count++;
    }
    return count;
}

/* Exit 1, one error that names the reason, and no file. */
static bool is_refused(const outcome *run, const char *reason) {
    const char *error = strstr(run->err.data, "rl-insight-mr: error: ");
    return exits_with(run, 1) && run->leftovers == 0 && error != NULL &&
           count_of(run->err.data, ": error: ") == 1 && strstr(error, reason) != NULL;
}

/* A line in a longer text. */
typedef struct {
    const char *text;
    size_t bytes;
} line;

/* The next line of `at`, which moves behind it. @return false at the end */
static bool next_line(const char **at, line *out) {
    *out = (line){.text = *at, .bytes = strcspn(*at, "\n")};
    *at += out->bytes + (out->text[out->bytes] == '\n');
    return out->text[0] != '\0';
}

static bool line_has(line one, const char *words) {
    return memmem(one.text, one.bytes, words, strlen(words)) != NULL;
}

static bool has_line(const char *lines, line one) {
    line each;
    while (next_line(&lines, &each)) {
        if (each.bytes == one.bytes && memcmp(each.text, one.text, one.bytes) == 0) {
            return true;
        }
    }
    return false;
}

/* Both begin with "rl-insight-mr: warning: capture PATH is ". */
static bool same_capture(line a, line b) {
    const char *end = line_has(a, "capture ") ? memmem(a.text, a.bytes, " is ", 4) : NULL;
    size_t bytes = end == NULL ? 0 : (size_t)(end - a.text);
    return bytes > 0 && bytes <= b.bytes && memcmp(a.text, b.text, bytes) == 0;
}

/* Written, with exit code 3, and against a good run one warning is new. A warning that is gone was about the same capture,
 * so the others are as they were. The reason is said, there or, behind an earlier error of the file, by --verbose. */
static bool is_damaged(const outcome *run, const outcome *good, const char *reason) {
    line fresh = {.text = ""};
    line one;
    size_t count = 0;
    const char *at = run->err.data;
    while (next_line(&at, &one)) {
        if (!line_has(one, ": debug: ") && !has_line(good->err.data, one)) {
            count++;
            fresh = one;
        }
    }
    bool said = count == 1 && line_has(fresh, ": warning: ") && strstr(run->err.data, reason) != NULL;
    at = good->err.data;
    while (said && next_line(&at, &one)) {
        said = line_has(one, ": debug: ") || has_line(run->err.data, one) || same_capture(one, fresh);
    }
    return said && exits_with(run, EXIT_DAMAGED) && run->leftovers == good->leftovers;
}

/* NULL if the run has ended well; else what it should have done. */
static const char *verdict(fault_kind kind, const outcome *run, const outcome *good) {
    const char *reason = strerror(fault_errno(kind));
    if (WIFSIGNALED(run->state)) {
        return WTERMSIG(run->state) == SIGALRM ? "it hangs" : "it crashes";
    }
    if (exits_with(run, EXIT_LEAK)) {
        return "it leaks";
    }
    switch (kind) {
    case FAULT_MEMORY:
        return is_refused(run, "memory") || is_same(run, good) ? NULL
                                                               : "not one error about memory, nor as usual";
    case FAULT_READ: /* SQLite has words of its own */
        return is_damaged(run, good, reason) || is_damaged(run, good, "SQLite: ")
                   ? NULL
                   : "not one more warning, with the reason";
    case FAULT_INTERRUPT:
    case FAULT_SHORT:
        return is_same(run, good) && same_text(&run->err, &good->err) ? NULL : "not as usual";
    case FAULT_SHRINK:
        return is_damaged(run, good, "when it was opened") || is_same(run, good)
                   ? NULL
                   : "neither said nor without effect";
    case FAULT_FULL:
    case FAULT_WRITE:
        return is_refused(run, reason) || is_same(run, good) ? NULL
                                                             : "not one error with the reason, nor as usual";
    case FAULT_LOOK: {
        /* A directory that cannot be searched changes what all paths are relative to, and so all warnings. */
        bool said = strstr(run->err.data, reason) != NULL;
        bool refused = is_refused(run, "") || exits_with(run, EXIT_DAMAGED);
        return (said && refused) || is_same(run, good) ? NULL : "not said";
    }
    case FAULT_COUNT:
        break;
    }
    return "no such kind";
}

/* ---- All runs ---- */

static void complain(session *self, long at, const char *what, const outcome *run) {
    if (self->failures++ < FAILURES_SHOWN) {
        printf("FAILED: run %ld: %s; state %x, %zu files left\n%s%s", at, what, (unsigned)run->state,
               run->leftovers, run->out.data, run->err.data);
    }
}

/* @return the number of failures met */
static long run_all(session *self) {
    outcome good = run_once(self, 0);
    outcome again = run_once(self, 0);
    if (!WIFEXITED(good.state) || exits_with(&good, EXIT_LEAK) || !is_same(&again, &good)) {
        complain(self, 0, "two runs without a failure end badly, or differ", &good);
    }
    long at = 0;
    bool met = true;
    while (met) {
        outcome run = run_once(self, ++at);
        met = run.met;
        const char *what =
            met ? verdict(self->kind, &run, &good)
                : (is_same(&run, &good) ? NULL : "no failure was met, but it ends in another way");
        if (what != NULL) {
            complain(self, at, what, &run);
        }
        release(&run);
    }
    release(&good);
    release(&again);
    return at - 1;
}

static fault_kind kind_of(const char *name) {
#define FAULT_NAME(id, text, sys_errno, meaning) text,
    static const char *const names[] = {FAULT_KINDS(FAULT_NAME)};
    int kind = 0;
    while (kind < FAULT_COUNT && strcmp(name, names[kind]) != 0) {
        kind++;
    }
    return (fault_kind)kind;
}

int main(int argc, char **argv) {
    fault_kind kind = argc > 3 ? kind_of(argv[1]) : FAULT_COUNT;
    if (kind == FAULT_COUNT) {
        (void)fprintf(stderr, "usage: fault_run KIND SCRATCH ARGUMENT...\n");
        return EXIT_FAILURE;
    }
    session self = {.kind = kind, .scratch = argv[2], .argc = argc - 2, .argv = argv + 2};
    self.plan = mmap(NULL, sizeof *self.plan, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    require(self.plan != MAP_FAILED, "mmap");
    /* Memory that is given back to the system and taken again costs more than all the rest. */
    (void)mallopt(M_MMAP_MAX, 0);
    (void)mallopt(M_TRIM_THRESHOLD, -1);
    /* What HDF5 takes for itself is taken once, before all runs. */
    require(H5dont_atexit() >= 0 && H5open() >= 0, "H5open");
    require(fault_wrap_sqlite(), "SQLite");
    static char product[] = "rl-insight-mr";
    program_invocation_short_name = product; /* stands before its messages */
    long met = run_all(&self);
    printf("%s: %ld calls failed, %d runs ended badly\n", argv[1], met, self.failures);
    (void)munmap(self.plan, sizeof *self.plan);
    return met > 0 && self.failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
