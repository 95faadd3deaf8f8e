/* layer: io */
/** The layer under SQLite for a database that is written: one file, by its descriptor.
 *
 *  SQLite's own layer knows files by name, refuses long paths, and takes locks, which some parallel file systems refuse. Here the
 *  file is there already, nobody else knows it, and it is given up if anything fails; so there is no lock and no journal. */
#ifndef RLMR_SQLITE_OUT_H
#define RLMR_SQLITE_OUT_H

#include "rlmr/error.h"

#include <sqlite3.h>

typedef struct {
    sqlite3_vfs vfs;
    int descriptor;
    int first_errno; /**< of the first call that failed, 0 if none has */
    char name[32];   /**< for sqlite3_open_v2(); any path is this file */
} rlmr_sqlite_out;

/** @param descriptor  of an empty file open for reading and writing; borrowed until rlmr_sqlite_out_close()
 *  @param out         must stay where it is until then  @return OK or E_OUTPUT */
RLMR_MUST_CHECK rlmr_status rlmr_sqlite_out_open(int descriptor, rlmr_sqlite_out *out, rlmr_error *err);
void rlmr_sqlite_out_close(rlmr_sqlite_out *out);

#endif
