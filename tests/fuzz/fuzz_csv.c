/** rlmr_csv_read() over the input as a file: whole, in short reads, packed, and with the end of a piece inside it. Where no
 *  cell is quoted it is compared with a split at commas and line ends. */
#include "fuzz.h"
#include "fuzz_file.h"
#include "rlmr/csv_reader.h"
#include "rlmr/limits.h"

#include <string.h>

typedef struct {
    const uint8_t *data;
    size_t bytes;
    int64_t shift; /* of offsets: the blank line before the data */
    uint64_t rows; /* given or lost */
    uint64_t lost;
    int64_t last_offset;
    bool ended;    /* a row without line end was the last */
    uint64_t hash; /* of all that was told */
} result;

static bool has_mark(const result *out) {
    return out->shift == 0 && fuzz_has_mark(out->data, out->bytes);
}

/* A row begins where a line begins, behind the row before. @return its offset in the data */
static int64_t check_offset(result *out, int64_t offset) {
    int64_t first = has_mark(out) ? 3 : 0;
    offset -= out->shift;
    FUZZ_REQUIRE(offset > out->last_offset && offset >= first && offset < (int64_t)out->bytes);
    FUZZ_REQUIRE(offset == first || memchr("\r\n", out->data[offset - 1], 2) != NULL);
    out->last_offset = offset;
    return offset;
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

static void check_cell(rlmr_slice cell) {
    FUZZ_REQUIRE(cell.text != NULL);
    FUZZ_REQUIRE(cell.bytes == 0 || (!is_blank(cell.text[0]) && !is_blank(cell.text[cell.bytes - 1])));
    FUZZ_REQUIRE(!rlmr_slice_equal(cell, RLMR_SLICE("N/A")));
}

static void add_cell(result *out, rlmr_slice cell) {
    out->hash = fuzz_hash(out->hash, &cell.bytes, sizeof cell.bytes);
    out->hash = cell.bytes == 0 ? out->hash : fuzz_hash(out->hash, cell.text, cell.bytes);
}

static void end_row(result *out, int64_t offset, bool unended) {
    out->hash = fuzz_hash(out->hash, &offset, sizeof offset);
    out->ended = unended;
    out->rows++;
}

static rlmr_status on_row(void *self, const rlmr_csv_row *row, rlmr_error *err) {
    (void)err;
    result *out = self;
    FUZZ_REQUIRE(row->number == out->rows && !out->ended);
    FUZZ_REQUIRE(row->count > 0 && row->count <= RLMR_LIMIT_CSV_COLUMNS);
    int64_t offset = check_offset(out, row->offset);
    for (size_t i = 0; i < row->count; i++) {
        check_cell(row->cells[i]);
        add_cell(out, row->cells[i]);
    }
    end_row(out, offset, row->unended);
    return RLMR_OK;
}

static rlmr_status on_damage(void *self, int64_t offset, bool lost, const char *reason, rlmr_error *err) {
    (void)err;
    result *out = self;
    FUZZ_REQUIRE(lost && reason[0] != '\0' && strstr(reason, "/proc/") == NULL);
    out->lost++;
    end_row(out, check_offset(out, offset), false);
    return RLMR_OK;
}

static result read_rows(const char *path, fuzz_bytes input, int64_t shift) {
    result out = {
        .data = input.data, .bytes = input.bytes, .shift = shift, .last_offset = -1, .hash = FUZZ_HASH};
    rlmr_damage damage = {.met = on_damage, .self = &out};
    FUZZ_REQUIRE(rlmr_csv_read(path, on_row, &out, &damage, NULL, NULL) == RLMR_OK);
    return out;
}

static void require_same(const result *a, const result *b) {
    FUZZ_REQUIRE(a->rows == b->rows && a->lost == b->lost && a->hash == b->hash && a->ended == b->ended);
}

/* ---- The reference, for input without quotes ---- */

static rlmr_slice strip(const char *text, size_t bytes) {
    while (bytes > 0 && is_blank(text[0])) {
        text++;
        bytes--;
    }
    while (bytes > 0 && is_blank(text[bytes - 1])) {
        bytes--;
    }
    rlmr_slice cell = {.text = text, .bytes = bytes};
    return rlmr_slice_equal(cell, RLMR_SLICE("N/A")) ? (rlmr_slice){.text = "", .bytes = 0} : cell;
}

static size_t count_of(const char *text, size_t bytes, char c) {
    size_t count = 0;
    for (size_t i = 0; i < bytes; i++) {
        count += text[i] == c;
    }
    return count;
}

static void split_line(result *out, const char *line, size_t bytes, bool ended) {
    int64_t offset = line - (const char *)out->data;
    bool blank = true;
    for (size_t i = 0; i < bytes; i++) {
        blank = blank && is_blank(line[i]);
    }
    if (blank) {
        return;
    }
    if (count_of(line, bytes, ',') >= RLMR_LIMIT_CSV_COLUMNS) {
        out->lost++;
        end_row(out, offset, false);
        return;
    }
    const char *comma;
    for (; (comma = memchr(line, ',', bytes)) != NULL; line = comma + 1) {
        add_cell(out, strip(line, (size_t)(comma - line)));
        bytes -= (size_t)(comma - line) + 1;
    }
    add_cell(out, strip(line, bytes));
    end_row(out, offset, !ended);
}

static result split_rows(fuzz_bytes input) {
    result out = {.data = input.data, .bytes = input.bytes, .last_offset = -1, .hash = FUZZ_HASH};
    const char *text = (const char *)input.data;
    size_t at = fuzz_has_mark(input.data, input.bytes) ? 3 : 0;
    while (at < input.bytes) {
        size_t end = at;
        while (end < input.bytes && text[end] != '\n' && text[end] != '\r') {
            end++;
        }
        split_line(&out, text + at, end - at, end < input.bytes);
        at = end + 1;
    }
    return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_bytes input = {.data = data, .bytes = size};
    uint64_t hash = fuzz_hash(FUZZ_HASH, data, size);
    fuzz_file file = fuzz_file_open(data, size);
    result whole = read_rows(file.path, input, 0);
    if (size > 0 && memchr(data, '"', size) == NULL) {
        result simple = split_rows(input);
        require_same(&whole, &simple);
    }

    if (fuzz_wants(0, hash)) {
        fuzz_file_limit_reads(1 + hash % 7);
        result pieces = read_rows(file.path, input, 0);
        fuzz_file_limit_reads(0);
        require_same(&whole, &pieces);
    }
    fuzz_file_close(&file);
    if (fuzz_wants(1, hash)) {
        fuzz_file packed = fuzz_file_open_packed(data, size);
        result unpacked = read_rows(packed.link, input, 0);
        require_same(&whole, &unpacked);
        fuzz_file_close(&packed);
    }
    if (fuzz_wants(2, hash) && !fuzz_has_mark(data, size)) {
        int64_t shift;
        fuzz_file late = fuzz_file_open_late(data, size, hash, &shift);
        result cut = read_rows(late.path, input, shift);
        require_same(&whole, &cut);
        fuzz_file_close(&late);
    }
    return 0;
}
