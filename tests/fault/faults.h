/** Calls of the product that are made to fail: linked with -Wl,--wrap=..., the N-th call of one kind fails, once. */
#ifndef RLMR_FAULTS_H
#define RLMR_FAULTS_H

#include <stdbool.h>

/** X(NAME, name, errno, what fails). */
#define FAULT_KINDS(X)                                                                                       \
    X(MEMORY, "memory", ENOMEM, "what takes memory")                                                         \
    X(READ, "read", EIO, "a read")                                                                           \
    X(INTERRUPT, "interrupt", EINTR, "a read or write, by a signal")                                         \
    X(SHORT, "short", 0, "nothing: a read or write does one byte of many")                                   \
    X(SHRINK, "shrink", 0, "nothing: the file being read ends here from now on")                             \
    X(FULL, "full", ENOSPC, "what writes, and what makes a file complete")                                   \
    X(WRITE, "write", EIO, "the same, of a broken disk")                                                     \
    X(LOOK, "look", EIO, "what opens or looks at a file or directory")

#define FAULT_ENUM(name, text, sys_errno, meaning) FAULT_##name,
typedef enum { FAULT_KINDS(FAULT_ENUM) FAULT_COUNT } fault_kind;

typedef struct {
    fault_kind kind;
    long at;    /**< the call that fails, from 1; 0 for none */
    long calls; /**< of this kind so far */
    bool met;   /**< it has failed */
} fault_plan;

/** Arm a plan, which must outlive its use; NULL ends it. */
void fault_arm(fault_plan *plan);

int fault_errno(fault_kind kind);

/** Have SQLite, which the linker does not reach, read as the program does; once, before it is used. @return success */
bool fault_wrap_sqlite(void);

#endif
