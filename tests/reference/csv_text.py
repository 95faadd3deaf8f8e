"""The rows of a CSV file that may be damaged.

Within a row Python's csv module decides. A quote that is never closed (the file ends, or the row grows beyond
its limit, inside quotes) costs the row where it began, and reading resumes at the next line after that row's
first; a row beyond a limit is lost too, and reading resumes at the next line.
"""
import csv
import re
import sys
from typing import NamedTuple

CELL_BYTES = 1 << 20
ROW_BYTES = 4 << 20
COLUMNS = 4096

LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
LAST = "\ue000"         # put behind the last line: inside quotes it becomes part of the row
BLANKS = " \t"


class Row(NamedTuple):
    """A row that is not blank."""
    cells: list
    offset: int         # of its first byte
    lost: str           # why, or empty
    unended: bool       # nothing ends the row, the file's last


class Lines:
    """The lines from one on, as csv.reader takes them; `at` is the next one, `bytes` those of the row so far."""

    def __init__(self, lines, at):
        self.lines, self.at, self.bytes, self.ended = lines, at, 0, False

    def __iter__(self):
        return self

    def __next__(self):
        if self.ended:
            raise StopIteration
        # a further line is only asked for inside quotes
        self.ended = self.at == len(self.lines) or self.bytes > ROW_BYTES
        if self.ended:
            return LAST
        self.bytes += byte_count(self.lines[self.at])
        self.at += 1
        return self.lines[self.at - 1]


def byte_count(text):
    """Bytes of a text in the file."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogateescape"))


def is_blank(cells):
    """Whether a line holds nothing but blanks."""
    return len(cells) <= 1 and not "".join(cells).strip(BLANKS)


def too_great(cells, row_bytes):
    """The limit that a row goes beyond, or empty."""
    limits = {"CSV_CELL_BYTES": max(map(byte_count, cells), default=0) > CELL_BYTES,
              "CSV_ROW_BYTES": row_bytes > ROW_BYTES, "CSV_COLUMNS": len(cells) > COLUMNS}
    return next((f"limit {name}" for name, beyond in limits.items() if beyond), "")


def rows(data):
    """The Rows of a file's bytes."""
    csv.field_size_limit(sys.maxsize)
    start = 3 if data.startswith(b"\xef\xbb\xbf") else 0
    lines = LINE.findall(data[start:].decode("utf-8", "surrogateescape"))
    offsets = [start]
    for line in lines:
        offsets.append(offsets[-1] + byte_count(line))
    at = 0
    while at < len(lines):
        at = yield from rows_from(lines, offsets, at)


def rows_from(lines, offsets, at):
    """Give Rows up to and with one whose quote is never closed; the line where reading goes on."""
    source = Lines(lines, at)
    reader = csv.reader(source, skipinitialspace=True)
    while source.at < len(lines):
        first, source.bytes = source.at, 0
        cells = next(reader)
        if source.ended:
            yield Row([], offsets[first], "a quote that is never closed", False)
            return first + 1
        if not is_blank(cells):
            unended = source.at == len(lines) and lines[-1][-1] not in "\r\n"
            yield Row(cells, offsets[first], too_great(cells, offsets[source.at] - offsets[first]), unended)
    return source.at
