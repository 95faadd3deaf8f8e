/* layer: io */
/** ascend_pytorch_profiler_<rank>.db (SQLite), in the form in which the text files come: OP_MEMORY as rows of
 *  operator_memory.csv, PYTORCH_API as events of trace_view.json. One mapper serves both.
 *
 *  The file is opened read-only and immutable: nothing is written beside it, and no lock is taken. Sorting may need
 *  temporary files, where SQLITE_TMPDIR or TMPDIR says. Names of tables and columns match in any case. A missing table or
 *  column is absence; views, virtual tables and generated columns count as missing. */
#ifndef RLMR_PROFILER_DB_H
#define RLMR_PROFILER_DB_H

#include "rlmr/csv_reader.h"
#include "rlmr/metadata_reader.h"
#include "rlmr/trace_reader.h"

typedef struct rlmr_profiler_db rlmr_profiler_db;

/** @param damage told, by this and the functions below, of what is lost: a non-empty -wal or -journal beside the
 *                file (with the cure), names and frames that STRING_IDS lacks, a damaged page behind which a table
 *                cannot be read, what is over a limit (limits.h); the offset is always -1; borrowed until close
 *  @param meter  NULL for none; told of bytes read, at most the file's size in all, also often enough to end long
 *                work; borrowed until close
 *  @param out    owned by the caller, rlmr_profiler_db_close(); NULL after an error
 *  @return OK, E_INPUT (cannot be opened or read), E_PARSE (no SQLite database, or cut, or its schema is damaged),
 *  E_NOMEM, or what a callback returned. A file without a byte is an empty database. */
RLMR_MUST_CHECK rlmr_status rlmr_profiler_db_open(const char *path, const rlmr_damage *damage,
                                                  const rlmr_meter *meter, rlmr_profiler_db **out,
                                                  rlmr_error *err);
void rlmr_profiler_db_close(rlmr_profiler_db *db);

/** Table OP_MEMORY: first a row of titles as in operator_memory.csv, with the units B and ns ("Size(B)",
 *  "Allocation Time(ns)", "Allocation Total Allocated(B)"), then its rows in rowid order, numbered from 1, offset -1.
 *
 *  A column that the table lacks is left out of the titles. Cells are the digits of numbers, without exponent, and
 *  texts as they are. Names of component GE (no stream and no active total) get the `cann::` that text files have.
 *  @param present out: whether there is such a table; if not, no row is given
 *  @return OK, E_NOMEM, or what a callback returned; damage inside goes to `damage` */
RLMR_MUST_CHECK rlmr_status rlmr_profiler_db_memory(rlmr_profiler_db *db, rlmr_on_row on_row, void *self,
                                                    bool *present, rlmr_error *err);

/** Table PYTORCH_API: its rows in rowid order as events; `number` counts them, offset is -1.
 *
 *  ts and dur are microseconds as text, exact to the ns. A startNs that is no integer gives a ts that is no number.
 *  cat is "cpu_op" for type `op`, else empty. tid is globalTid, pid empty. call_stack: the frames of PYTORCH_CALLCHAINS
 *  in order of stackDepth, joined with ";\r\n"; a frame that STRING_IDS lacks is empty there.
 *  @param events  out: events given; right also after an error
 *  @param present out: whether there is such a table
 *  @return as rlmr_profiler_db_memory() */
RLMR_MUST_CHECK rlmr_status rlmr_profiler_db_events(rlmr_profiler_db *db, rlmr_on_event on_event, void *self,
                                                    uint64_t *events, bool *present, rlmr_error *err);

/** Table META_DATA: rows `parallel_group_info` and `distributed_args`, whose value is JSON; a value that does not parse is damage.
 *  @param groups,distribution whether to give them
 *  @return as rlmr_profiler_db_memory() */
RLMR_MUST_CHECK rlmr_status rlmr_profiler_db_metadata(rlmr_profiler_db *db, const rlmr_metadata_sink *sink,
                                                      bool groups, bool distribution, bool *present,
                                                      rlmr_error *err);

/** Table RANK_DEVICE_MAP in rowid order, each with the first row of HOST_INFO.
 *  @param on_device rank and device as written, empty if absent; host_uid and host_name empty if there is no HOST_INFO
 *  @return as rlmr_profiler_db_memory() */
typedef rlmr_status (*rlmr_on_device)(void *self, rlmr_slice rank, rlmr_slice device, rlmr_slice host_uid,
                                      rlmr_slice host_name, rlmr_error *err);
RLMR_MUST_CHECK rlmr_status rlmr_profiler_db_devices(rlmr_profiler_db *db, rlmr_on_device on_device,
                                                     void *self, bool *present, rlmr_error *err);

#endif
