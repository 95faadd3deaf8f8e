#!/usr/bin/python3
"""Memory analysis of Ascend profiler captures: a plain reference to test the program against.

Written from the rules alone and sharing no code with the program. It prefers being obviously right
to being fast; still, it streams its traces and bisects, so that a trace of some hundred MB is fine.
`--brute` matches every record by a linear scan over all events, straight from the definitions.

Times are int nanoseconds made from decimal digits, never from floats. Out of its scope: captures
that only have databases, traces damaged in any way but a cut (it refuses them), and invalid UTF-8
(the input is expected to be valid).
"""
import argparse
import bisect
import collections
import csv
import dataclasses
import decimal
import gzip
import itertools
import json
import math
import os
import re
import sys
from decimal import Decimal
from typing import NamedTuple, Optional

import ijson

# Columns of /memory_events in order: name -> (type, unit); the first is the index.
COLUMNS = {
    "start_time_ns": ("int64", "ns"), "name": ("text", ""), "role": ("text", ""), "rank_id": ("int32", "1"),
    "capture": ("int32", "1"), "component": ("text", ""), "call_stack": ("text", ""), "call_stack_top": ("text", ""),
    "call_stack_match": ("text", ""), "size_kb": ("float64", "KiB"), "start_time_ms": ("float64", "ms"),
    "duration_ms": ("float64", "ms"), "active_duration_ms": ("float64", "ms"), "is_released": ("uint8", "1"),
    "total_allocated_mb": ("float64", "MiB"), "total_reserved_mb": ("float64", "MiB"),
    "total_active_mb": ("float64", "MiB"), "device_type": ("text", ""), "stream": ("text", ""),
}
POLICIES = ("best", "nearest", "enclosing")
MATCHES = ("enclosing", "backward", "nearest", "none")

NO_TIME_NS = -2**63        # a record without any readable time
HOUR_NS = 3600 * 10**9
FRAME_END = ";\r\n"
OUTPUT_FOLDER = "ASCEND_PROFILER_OUTPUT"
TABLE = "operator_memory.csv"
TRACES = ("trace_view.json", "trace_view.json.gz")      # the first that is there is read
RAW = "raw data, not analysed: run torch_npu.profiler.profiler.analyse(path)"
OTHER_KNOWN_FILE = re.compile(r"step_trace_time\.csv|communication(_matrix)?\.json|analysis\.db"
                              r"|ascend_pytorch_profiler(_\d+)?\.db", re.ASCII)

# ------------------------------------------------------------------------------------ numbers and text

DECIMAL = re.compile(r"[+-]?(?P<digits>\d+\.?\d*|\.\d+)(?P<exponent>[eE][+-]?\d+)?", re.ASCII)
INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
WIDE = decimal.Context(prec=10000, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX, rounding=decimal.ROUND_HALF_UP)
BLANKS = " \t"


def clean(text):
    """`text` as the output file holds it: a NUL becomes U+FFFD."""
    return text.replace("\0", "\ufffd")


def to_decimal(text):
    """The Decimal of decimal text (blanks and TABs around it are allowed), or None."""
    text = text.strip(BLANKS)
    if not DECIMAL.fullmatch(text):
        return None
    try:
        value = WIDE.create_decimal(text)
    except decimal.DecimalException:
        return None
    return value if value.is_finite() else None


def us_to_ns(us):
    """Decimal microseconds as int nanoseconds, halves away from zero; None if they do not fit in int64."""
    if us and us.adjusted() > 20:
        return None
    ns = int(WIDE.scaleb(us, 3).to_integral_value(decimal.ROUND_HALF_UP)) if us.adjusted() > -20 else 0
    return ns if -2**63 <= ns < 2**63 else None


def json_ns(value):
    """A JSON number or text in microseconds as int nanoseconds; None if it is absent or unreadable."""
    if isinstance(value, str):
        value = to_decimal(value)
    elif isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        return None
    return None if value is None else us_to_ns(Decimal(value))


def json_integer(value, absent):
    """A JSON integer or integer text within int64; `absent` for everything else."""
    if isinstance(value, str):
        value = int(value) if INTEGER.fullmatch(value) and len(value) < 100 else None
    if isinstance(value, bool) or not isinstance(value, int) or not -2**63 <= value < 2**63:
        return absent
    return value


def json_id(value):
    """A pid or tid as text, so that 7 and "7" are one thread; absent and other types are the empty text."""
    return str(value) if isinstance(value, (str, int, Decimal)) and not isinstance(value, bool) else ""


# ------------------------------------------------------------------------------------ DataMap

@dataclasses.dataclass
class Capture:
    """One *_ascend_pt directory and what was read from it."""
    path: str                   # absolute
    role: str = ""
    rank_id: int = -1
    timestamp: str = ""         # 17 digits, or empty
    window: int = 0             # position among the captures of the same (role, rank_id)
    number: int = 0             # position among all captures
    relative_path: str = ""     # to the deepest directory that holds all captures
    status: str = "ok"
    message: str = ""
    memory_rows: int = 0
    rows_matched: int = 0
    bad_cells: int = 0
    events_seen: int = 0
    events_with_stack: int = 0
    events_skipped: int = 0

    def reduce_status(self, status, message):
        """Lower an ok status to `status`; later messages are appended."""
        if self.status in ("ok", "partial"):
            self.status = status
        self.message = f"{self.message}; {message}" if self.message else message


def find_captures(roots):
    """Paths of the captures below `roots`; symlinked directories are not followed, roots are."""
    def fail(error):
        raise error
    found = set()
    for root in roots:
        root = os.path.realpath(root)
        if not os.path.isdir(root):
            raise NotADirectoryError(root)
        for folder, subfolders, _ in os.walk(root, onerror=fail):
            if folder.endswith("_ascend_pt"):
                found.add(folder)
                subfolders.clear()
    return found


def read_json(path):
    """The JSON value in a small file, or None if the file is absent or damaged."""
    try:
        with open(path, encoding="utf-8") as stream:
            return json.load(stream)
    except (FileNotFoundError, ValueError):
        return None


def rank_of(path):
    """(rank_id, message) of a capture; rank_id -1 if it has none."""
    numbered = [m for m in (re.fullmatch(r"profiler_info_([0-9]+)\.json", n) for n in os.listdir(path)) if m]
    if len(numbered) == 1:
        rank, message = int(numbered[0][1]), ""
    elif numbered:
        rank, message = -1, ""
    else:
        info = read_json(os.path.join(path, "profiler_info.json"))
        absent = isinstance(info, dict) and "rank_id" not in info
        rank = 0 if absent else json_integer(info.get("rank_id"), -1) if isinstance(info, dict) else -1
        message = "not distributed" if absent else ""
    return (rank, message) if 0 <= rank < 2**31 else (-1, "no rank id")


def role_of(path):
    """The role of a capture: from its metadata, else the name of its parent directory."""
    metadata = read_json(os.path.join(path, "profiler_metadata.json"))
    role = metadata.get("role") if isinstance(metadata, dict) else None
    return clean(role if isinstance(role, str) and role else os.path.basename(os.path.dirname(path)))


def timestamp_of(name):
    """The last time stamp in a directory name as 17 digits, or empty."""
    stamps = re.findall(r"(?<![0-9])(?:[0-9]{14,17}|[0-9]{8}_[0-9]{6})(?![0-9])", name)
    return stamps[-1].replace("_", "").ljust(17, "0") if stamps else ""


def data_map(roots):
    """The captures below `roots`, numbered in order of role, rank_id, window, path (text bytewise)."""
    captures = []
    for path in find_captures(roots):
        rank, message = rank_of(path)
        capture = Capture(path, role_of(path), rank, timestamp_of(os.path.basename(path)), message=message)
        if rank < 0:
            capture.status = "failed"
        captures.append(capture)
    captures.sort(key=lambda c: (os.fsencode(c.role), c.rank_id, c.timestamp, os.fsencode(c.path)))
    if captures:
        base = os.path.commonpath([os.path.dirname(c.path) for c in captures])
    sizes = collections.Counter()
    for number, capture in enumerate(captures):
        capture.window = sizes[capture.role, capture.rank_id]
        sizes[capture.role, capture.rank_id] += 1
        capture.number = number
        capture.relative_path = os.path.relpath(capture.path, base)
    return captures


# ------------------------------------------------------------------------------------ operator_memory.csv

class Record(NamedTuple):
    """One row of operator_memory.csv; absent and bad cells are None, NaN or empty text."""
    name: str
    size_kb: float
    allocation_ns: Optional[int]
    release_ns: Optional[int]
    duration_ms: Optional[float]
    active_duration_ms: Optional[float]
    totals_mb: tuple            # allocated, reserved, active
    device_type: str
    stream: str


UNITS = {"Name": ("",), "Size": ("KB", "MB"), "Allocation Time": ("us",), "Release Time": ("us",),
         "Duration": ("us",), "Active Duration": ("us",), "Stream Ptr": ("",), "Device Type": ("",)}
UNITS.update({f"{at} Total {what}": ("KB", "MB") for at in ("Allocation", "Release")
              for what in ("Allocated", "Reserved", "Active")})


class Row:
    """The cells of one CSV row by column name; counts those that cannot be used."""

    def __init__(self, columns, cells):
        self.columns, self.cells, self.bad_cells = columns, cells, 0

    def text(self, name):
        """The cell without blanks and TABs around it; empty if absent or N/A."""
        position, _ = self.columns.get(name, (len(self.cells), ""))
        cell = self.cells[position].strip(BLANKS) if position < len(self.cells) else ""
        return "" if cell == "N/A" else clean(cell)

    def _read(self, name, convert):
        text = self.text(name)
        if not text:
            return None
        number = to_decimal(text)
        value = None if number is None else convert(number)
        self.bad_cells += value is None
        return value

    def time_ns(self, name):
        """A time stamp; with an exponent and fewer than 16 digits it has lost its precision and is bad."""
        match = DECIMAL.fullmatch(self.text(name))
        if match and match["exponent"] and len(match["digits"].replace(".", "")) < 16:
            self.bad_cells += 1
            return None
        return self._read(name, us_to_ns)

    def duration_ms(self, name):
        """Microseconds as float milliseconds, rounded once."""
        return self._read(name, lambda us: finite(WIDE.scaleb(us, -3)))

    def size(self, name, unit):
        """A size in `unit` (KB or MB, powers of 1024), NaN if absent."""
        written = self.columns.get(name, (0, unit))[1]
        factor = {"KB": 1, "MB": 1024}[written] / {"KB": 1, "MB": 1024}[unit]
        value = self._read(name, finite)
        return math.nan if value is None else value * factor


def finite(number):
    """The nearest float to a Decimal, or None if it is too great for one."""
    value = float(number)
    return value if math.isfinite(value) else None


def header_columns(titles):
    """The known columns of a header: name without unit -> (position, unit)."""
    columns = {}
    for position, title in enumerate(titles):
        name, unit = re.fullmatch(r"(.*?)(?:\((us|KB|MB)\))?", title.strip(BLANKS), re.DOTALL).groups("")
        if unit in UNITS.get(name, ()):
            columns.setdefault(name, (position, unit))
    return columns


def record_of(row):
    """The Record of a Row. Totals are those at the release if the row only has a release."""
    allocation = row.time_ns("Allocation Time")
    release = row.time_ns("Release Time")
    at = "Release" if allocation is None and release is not None else "Allocation"
    record = Record(row.text("Name"), row.size("Size", "KB"), allocation, release, row.duration_ms("Duration"),
                    row.duration_ms("Active Duration"),
                    tuple(row.size(f"{at} Total {what}", "MB") for what in ("Allocated", "Reserved", "Active")),
                    row.text("Device Type"), row.text("Stream Ptr"))
    if allocation is None and release is None and not row.bad_cells:
        row.bad_cells = 1
    return record


def read_records(path, capture):
    """The Records of a CSV in file order; damage is noted in `capture`."""
    csv.field_size_limit(sys.maxsize)
    with open(path, encoding="utf-8-sig", newline="") as stream:
        table = [cells for cells in csv.reader(stream, skipinitialspace=True)
                 if len(cells) > 1 or "".join(cells).strip(BLANKS)]
    with open(path, "rb") as stream:
        ends_with_line_end = stream.read()[-1:] in (b"\n", b"\r")
    if not table:
        return []
    columns = header_columns(table[0])
    if not {"Name", "Size", "Allocation Time"} <= columns.keys():
        capture.reduce_status("partial", "operator_memory.csv: not the header of a memory file")
        return []
    records = []
    for number, cells in enumerate(table[1:], 1):
        missing = len(cells) < len(table[0])
        if missing and number == len(table) - 1 and not ends_with_line_end:
            cells = cells[:-1]          # it may be cut
        row = Row(columns, cells)
        row.bad_cells += len(cells) != len(table[0])
        records.append(record_of(row))
        capture.bad_cells += row.bad_cells
    if capture.bad_cells:
        capture.reduce_status("partial", f"operator_memory.csv: {capture.bad_cells} bad cells")
    capture.memory_rows = len(records)
    return records


# ------------------------------------------------------------------------------------ trace_view.json

class Event(NamedTuple):
    """A trace event that matching may need; its time is [start_ns, end_ns), empty if it never encloses."""
    start_ns: int
    end_ns: int
    position: int               # in the file
    name: Optional[str]         # None if it is not text
    thread: tuple               # (pid, tid) as text
    is_cpu_op: bool
    stack: str                  # empty if none
    sequence: int               # -1 if absent
    forward_thread: int         # 0 if absent


def index_order(event):
    """Events are ordered by time, then by position in the file."""
    return event.start_ns, event.position


def event_of(item, position, offset_ns, capture):
    """The Event of a JSON object, or None if matching never needs it."""
    arguments = item.get("args")
    if not isinstance(arguments, dict):
        arguments = {}
    stack = arguments.get("Call stack")
    stack = clean(stack) if isinstance(stack, str) else ""
    is_cpu_op = item.get("cat") == "cpu_op"
    capture.events_with_stack += bool(is_cpu_op and stack)
    sequence = json_integer(arguments.get("Sequence number"), -1)
    if not is_cpu_op and not (stack and sequence >= 0):
        return None
    start = json_ns(item.get("ts"))
    if start is None:
        capture.events_skipped += 1
        return None
    duration = max(json_ns(item.get("dur")) or 0, 0)
    name = item.get("name")
    return Event(start + offset_ns, start + offset_ns + duration, position,
                 clean(name) if isinstance(name, str) else None, (json_id(item.get("pid")), json_id(item.get("tid"))),
                 is_cpu_op, stack, sequence, json_integer(arguments.get("Fwd thread id"), 0))


def open_trace(path):
    """Open a trace, packed or not, for reading bytes."""
    return gzip.open(path) if path.endswith(".gz") else open(path, "rb")


def first_byte(path):
    """The first byte of a trace that is not a JSON blank; empty if there is none."""
    with open_trace(path) as stream:
        while (byte := stream.read(1)) and byte in b" \t\r\n":
            pass
    return byte


def is_empty_trace(path):
    """Whether a trace (without objects in its list of events) is a valid one of zero events."""
    with open_trace(path) as stream:
        document = json.load(stream)
    return [] in (document, document.get("traceEvents") if isinstance(document, dict) else None)


def read_events(path, offset_ns, capture):
    """The Events of a trace in file order; a cut one gives its complete events and is noted in `capture`."""
    events, stacks = [], {}
    prefix = "item" if first_byte(path) == b"[" else "traceEvents.item"
    try:
        with open_trace(path) as stream:
            for position, item in enumerate(ijson.items(stream, prefix)):
                if not isinstance(item, dict):
                    capture.events_skipped += 1
                    continue
                capture.events_seen += 1
                event = event_of(item, position, offset_ns, capture)
                if event:           # equal stacks share one text
                    events.append(event._replace(stack=stacks.setdefault(event.stack, event.stack)))
        if not capture.events_seen and not is_empty_trace(path):
            capture.reduce_status("partial", "trace_view.json: no events")
    except ijson.IncompleteJSONError as error:
        if "premature EOF" not in str(error):
            raise ValueError(f"{path}: damage that this reference does not read: {error}") from error
        capture.reduce_status("partial", "trace_view.json: cut")
    if capture.events_skipped:
        capture.reduce_status("partial", f"trace_view.json: {capture.events_skipped} events skipped")
    return events


# ------------------------------------------------------------------------------------ matching

def grouped(events, key):
    """`events` by `key`, as dictionary of lists; the order within a list is kept."""
    groups = collections.defaultdict(list)
    for event in events:
        groups[key(event)].append(event)
    return groups


class Timeline:
    """Events in ascending order of start time, asked from the last to the first."""

    def __init__(self, events=()):
        self.events = events
        self.starts_ns = [e.start_ns for e in events]
        self.greatest_end_ns = list(itertools.accumulate((e.end_ns for e in events), max))  # of it and all before

    def last_at(self, time_ns):
        """The last event with start <= time, or None."""
        i = bisect.bisect_right(self.starts_ns, time_ns)
        return self.events[i - 1] if i else None

    def last_before(self, time_ns):
        """The last event with start < time, or None."""
        i = bisect.bisect_left(self.starts_ns, time_ns)
        return self.events[i - 1] if i else None

    def enclosing(self, time_ns):
        """The events with start <= time < end, the last first."""
        i = bisect.bisect_right(self.starts_ns, time_ns) - 1
        while i >= 0 and self.greatest_end_ns[i] > time_ns:
            if self.events[i].end_ns > time_ns:
                yield self.events[i]
            i -= 1


class Index:
    """Finds events by bisection."""

    def __init__(self, events):
        events = sorted(events, key=index_order)
        cpu_ops = [e for e in events if e.is_cpu_op]
        backward = [e for e in cpu_ops if e.sequence >= 0 and e.forward_thread != 0]
        backward.sort(key=lambda e: (e.start_ns, -e.end_ns, e.position))    # the innermost is the last
        self._with_stack = self._timelines((e for e in cpu_ops if e.stack), lambda e: e.name)
        self._without_stack = self._timelines((e for e in cpu_ops if not e.stack), lambda e: e.name)
        self._backward = self._timelines(backward, lambda e: e.thread)
        self._forward = self._timelines((e for e in events if e.stack and e.sequence >= 0), lambda e: e.sequence)

    @staticmethod
    def _timelines(events, key):
        timelines = {k: Timeline(group) for k, group in grouped(events, key).items()}
        return lambda k: timelines.get(k, Timeline())

    def nearest(self, name, time_ns):
        """The last stack event of that name with start <= time, or None."""
        return self._with_stack(name).last_at(time_ns)

    def enclosing(self, name, time_ns):
        """The last stack event of that name that encloses the time, or None."""
        return next(self._with_stack(name).enclosing(time_ns), None)

    def backward(self, name, time_ns):
        """The forward event of the last stackless event of that name that encloses the time and has one, or None."""
        for candidate in self._without_stack(name).enclosing(time_ns):
            node = next(self._backward(candidate.thread).enclosing(time_ns), None)
            forward = node and self._forward(node.sequence).last_before(node.start_ns)
            if forward:
                return forward
        return None


class BruteIndex:
    """The same by linear scans over all events; to check Index."""

    def __init__(self, events):
        self.events = events

    def _encloses(self, name, time_ns, with_stack):
        return [e for e in self.events if e.is_cpu_op and e.name == name and bool(e.stack) == with_stack
                and e.start_ns <= time_ns < e.end_ns]

    def nearest(self, name, time_ns):
        return max((e for e in self.events if e.is_cpu_op and e.stack and e.name == name and e.start_ns <= time_ns),
                   key=index_order, default=None)

    def enclosing(self, name, time_ns):
        return max(self._encloses(name, time_ns, True), key=index_order, default=None)

    def backward(self, name, time_ns):
        for candidate in sorted(self._encloses(name, time_ns, False), key=index_order, reverse=True):
            nodes = [e for e in self.events if e.is_cpu_op and e.thread == candidate.thread and e.sequence >= 0
                     and e.forward_thread != 0 and e.start_ns <= time_ns < e.end_ns]
            if not nodes:
                continue
            node = min(nodes, key=lambda e: (-e.start_ns, e.end_ns - e.start_ns, -e.position))
            forwards = [e for e in self.events
                        if e.stack and e.sequence == node.sequence and e.start_ns < node.start_ns]
            if forwards:
                return max(forwards, key=index_order)
        return None


def match(record, index, policy):
    """(call_stack_match, call_stack) of a record."""
    if record.allocation_ns is not None and record.name:
        for how in {"best": ("enclosing", "backward", "nearest")}.get(policy, (policy,)):
            event = getattr(index, how)(record.name, record.allocation_ns)
            if event:
                return how, event.stack
    return "none", ""


def times_that_do_not_meet(events, records):
    """None, or the ranges of trace and records as text if they lie more than one hour apart."""
    cpu_ops = [e for e in events if e.is_cpu_op]
    times = [r.allocation_ns for r in records if r.allocation_ns is not None]
    if not cpu_ops or not times:
        return None
    trace = min(e.start_ns for e in cpu_ops), max(e.end_ns for e in cpu_ops)
    memory = min(times), max(times)
    if max(memory[0] - trace[1], trace[0] - memory[1]) <= HOUR_NS:
        return None
    return f"times do not meet: trace {trace[0]}..{trace[1]} ns, memory {memory[0]}..{memory[1]} ns"


# ------------------------------------------------------------------------------------ the whole

MemoryEvent = collections.namedtuple("MemoryEvent", COLUMNS)


def memory_event(record, capture, how, stack):
    """The row of /memory_events for a record."""
    start_ns = next((t for t in (record.allocation_ns, record.release_ns) if t is not None), NO_TIME_NS)
    active_ms = record.active_duration_ms
    return MemoryEvent(
        start_time_ns=start_ns, name=record.name, role=capture.role, rank_id=capture.rank_id, capture=capture.number,
        component="GE" if record.name.startswith("cann::") else "PTA",
        call_stack=stack, call_stack_top=stack.split(FRAME_END)[0], call_stack_match=how, size_kb=record.size_kb,
        start_time_ms=math.nan if start_ns == NO_TIME_NS else start_ns / 1e6,
        duration_ms=0.0 if record.duration_ms is None else record.duration_ms,
        active_duration_ms=math.nan if active_ms is None else active_ms,
        is_released=int(record.release_ns is not None or record.duration_ms is not None),
        total_allocated_mb=record.totals_mb[0], total_reserved_mb=record.totals_mb[1],
        total_active_mb=record.totals_mb[2], device_type=record.device_type, stream=record.stream)


def map_capture(capture, policy, offset_ns, index_type):
    """The rows of one capture in file order; its results are written into `capture`."""
    folder = os.path.join(capture.path, OUTPUT_FOLDER)
    files = set(os.listdir(folder)) if os.path.isdir(folder) else set()
    trace = next((n for n in TRACES if n in files), None)
    others = [n for n in files if OTHER_KNOWN_FILE.fullmatch(n)]
    if capture.status == "failed":
        return []
    if not (trace or TABLE in files or others):
        capture.reduce_status("empty", "no known file" if os.path.isdir(folder) else RAW)
        return []
    records = read_records(os.path.join(folder, TABLE), capture) if TABLE in files else []
    if capture.status == "partial" and not records:
        capture.reduce_status("failed", "nothing usable")
    if TABLE not in files and any(n.startswith("ascend_pytorch_profiler") for n in others):
        capture.reduce_status("partial", "memory records in a database")
    wanted = trace and any(r.allocation_ns is not None for r in records)    # no record needs a stack: not read
    events = read_events(os.path.join(folder, trace), offset_ns, capture) if wanted else []
    apart = times_that_do_not_meet(events, records)
    if apart:
        capture.reduce_status("partial", apart)
    index = index_type([] if apart else events)
    rows = [memory_event(r, capture, *match(r, index, policy)) for r in records]
    capture.rows_matched = sum(r.call_stack_match != "none" for r in rows)
    return rows


def analyse(roots, policy="best", time_offset_us="0", brute=False):
    """(captures, rows): all Captures below `roots` and the rows of /memory_events, both in file order."""
    offset_ns = us_to_ns(to_decimal(str(time_offset_us)))
    captures = data_map(roots)
    rows = []
    for capture in captures:
        found = map_capture(capture, policy, offset_ns, BruteIndex if brute else Index)
        rows += ((row, number) for number, row in enumerate(found))
    rows.sort(key=lambda r: (r[0].start_time_ns, os.fsencode(r[0].role), r[0].rank_id, r[0].capture, r[1]))
    return captures, [row for row, _ in rows]


def main():
    parser = argparse.ArgumentParser(description="Reference of the memory analysis.")
    parser.add_argument("roots", nargs="+", metavar="ROOT")
    parser.add_argument("--match", choices=POLICIES, default="best")
    parser.add_argument("--time-offset", default="0", metavar="US", help="microseconds added to trace times")
    parser.add_argument("--csv", metavar="OUT", help="write all rows, with exact integers and repr floats")
    parser.add_argument("--brute", action="store_true", help="match by linear scans (slow)")
    arguments = parser.parse_args()
    captures, rows = analyse(arguments.roots, arguments.match, arguments.time_offset, arguments.brute)
    for c in captures:
        print(f"capture {c.number}: role={c.role!r} rank_id={c.rank_id} window={c.window} path={c.relative_path!r} "
              f"status={c.status} memory_rows={c.memory_rows} rows_matched={c.rows_matched} bad_cells={c.bad_cells} "
              f"events_seen={c.events_seen} events_with_stack={c.events_with_stack} {c.message}".rstrip())
    counts = collections.Counter(row.call_stack_match for row in rows)
    print(" ".join(f"{how}={counts[how]}" for how in MATCHES), f"rows={len(rows)}")
    if arguments.csv:
        with open(arguments.csv, "w", encoding="utf-8", newline="") as stream:
            csv.writer(stream).writerows([tuple(COLUMNS), *rows])


if __name__ == "__main__":
    main()
