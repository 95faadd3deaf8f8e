#include "string_ids.h"

#include "rlmr/decimal.h"
#include "rlmr/limits.h"

/* Bytes of texts that may be looked up, for a file of a size; a sparse file may claim any. */
#define LOOKUP_BYTES_MIN ((int64_t)256 << 20)
#define LOOKUPS_PER_BYTE 64
#define FILE_BYTES_MAX ((int64_t)1 << 50)

static const char table[] = "STRING_IDS";

/* Texts whose numbers are no key of their table go into a table of our own where they are, in SQLite's
 * temporary storage, so that looking up is quick whatever the file is like. Of a repeated number the first
 * text counts. */
static rlmr_status copy_texts(rlmr_sqlite_file *file, bool *copied) {
    static const char *const steps[] = {
        "CREATE TEMP TABLE texts (id INTEGER PRIMARY KEY, value)",
        "INSERT OR IGNORE INTO temp.texts SELECT CAST(id AS INTEGER), value FROM main.STRING_IDS NOT INDEXED "
        "WHERE CAST(id AS INTEGER) = id"};
    rlmr_status status = RLMR_OK;
    *copied = true;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0] && status == RLMR_OK && *copied; i++) {
        int result = sqlite3_exec(file->handle, steps[i], NULL, NULL, NULL);
        *copied = result == SQLITE_OK;
        status = *copied ? RLMR_OK : rlmr_sqlite_file_failed(file, table, result);
    }
    return status;
}

rlmr_status rlmr_string_ids_open(rlmr_sqlite_file *file, rlmr_string_ids *out) {
    rlmr_sqlite_column columns[] = {{.name = "id"}, {.name = "value"}};
    bool present;
    int64_t bytes = file->bytes < FILE_BYTES_MAX ? file->bytes : FILE_BYTES_MAX;
    *out = (rlmr_string_ids){.file = file, .bytes_left = LOOKUP_BYTES_MIN + LOOKUPS_PER_BYTE * bytes};
    rlmr_status status = rlmr_sqlite_file_table(file, table, columns, 2, &present);
    if (status != RLMR_OK || !present || !columns[0].present || !columns[1].present) {
        return status;
    }
    if (columns[0].is_key) {
        return rlmr_sqlite_file_prepare(file, table, "SELECT value FROM main.STRING_IDS WHERE id = ?1",
                                        &out->lookup);
    }
    bool copied;
    status = copy_texts(file, &copied);
    return status == RLMR_OK && copied
               ? rlmr_sqlite_file_prepare(file, table, "SELECT value FROM temp.texts WHERE id = ?1",
                                          &out->lookup)
               : status;
}

void rlmr_string_ids_close(rlmr_string_ids *strings) {
    (void)sqlite3_finalize(strings->lookup);
    *strings = (rlmr_string_ids){0};
}

/* Damage is told once: very many rows may lead to it. */
static rlmr_status lookup_failed(rlmr_string_ids *strings, int result) {
    if (result == SQLITE_TOOBIG) {
        bool told = strings->too_large;
        strings->too_large = true;
        return told ? RLMR_OK
                    : rlmr_sqlite_file_damaged(strings->file, false, table,
                                               "a text over the limit STRING_BYTES, %d bytes, is left out",
                                               RLMR_LIMIT_STRING_BYTES);
    }
    if (result == strings->failure && strings->file->stopped == RLMR_OK) {
        return RLMR_OK;
    }
    strings->failure = result;
    return rlmr_sqlite_file_failed(strings->file, table, result);
}

/* Few bytes may name a long text, again and again. */
static rlmr_status take_text(rlmr_string_ids *strings, rlmr_slice *text, bool *found) {
    char unused[RLMR_SQLITE_NUMBER_BYTES];
    rlmr_slice value;
    if (strings->bytes_left < 0) {
        return RLMR_OK;
    }
    rlmr_status status = rlmr_sqlite_scan_value(strings->file, strings->lookup, 0, unused, &value);
    if (status != RLMR_OK) {
        return status;
    }
    strings->bytes_left -= (int64_t)value.bytes;
    if (strings->bytes_left < 0) {
        return rlmr_sqlite_file_damaged(
            strings->file, false, table,
            "the texts that are named are more, in all, than a file of its size can "
            "need; further ones are left out");
    }
    *text = value;
    *found = true;
    return RLMR_OK;
}

rlmr_status rlmr_string_ids_find(rlmr_string_ids *strings, int64_t id, rlmr_slice *text, bool *found) {
    *text = RLMR_SLICE("");
    *found = false;
    if (strings->lookup == NULL) {
        return RLMR_OK;
    }
    (void)sqlite3_reset(strings->lookup);
    (void)sqlite3_bind_int64(strings->lookup, 1, id);
    int result = sqlite3_step(strings->lookup);
    if (result != SQLITE_ROW) {
        return result == SQLITE_DONE ? RLMR_OK : lookup_failed(strings, result);
    }
    int type = sqlite3_column_type(strings->lookup, 0);
    if (type != SQLITE_TEXT && type != SQLITE_BLOB) {
        return RLMR_OK;
    }
    return take_text(strings, text, found);
}

rlmr_status rlmr_string_ids_text(rlmr_string_ids *strings, rlmr_slice cell, bool is_text, rlmr_slice *text,
                                 bool *found) {
    int64_t id;
    *text = is_text ? cell : RLMR_SLICE("");
    *found = is_text || cell.bytes == 0;
    return !*found && rlmr_decimal_to_i64(cell, &id) ? rlmr_string_ids_find(strings, id, text, found)
                                                     : RLMR_OK;
}
