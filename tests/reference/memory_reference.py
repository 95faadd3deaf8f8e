#!/usr/bin/python3
"""Memory analysis of Ascend profiler captures: a plain reference to test the program against.

Written from the rules alone and sharing no code with the program. It prefers being obviously right
to being fast; still, it reads and bisects in linear time, so that a trace of some hundred MB is fine.
`--brute` matches every record by a linear scan over all events, straight from the definitions.

Times are int nanoseconds made from decimal digits, never from floats. Texts are str in which invalid
UTF-8 stands as lone surrogates ("surrogateescape") until they reach a row. What a damaged file has
lost and kept is computed in full; the byte offset of the first error only where it is beyond doubt.
"""
import argparse
import bisect
import collections
import csv
import dataclasses
import decimal
import itertools
import json
import math
import os
import re
import zlib
from decimal import Decimal
from typing import NamedTuple, Optional

import csv_text
import profiler_db
import trace_text
from trace_text import Number

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
DATABASE = re.compile(r"ascend_pytorch_profiler(_\d+)?\.db", re.ASCII)
OTHER_KNOWN_FILE = re.compile(r"step_trace_time\.csv|communication(_matrix)?\.json|analysis\.db", re.ASCII)

# ------------------------------------------------------------------------------------ numbers and text

DECIMAL = re.compile(r"[+-]?(?P<digits>\d+\.?\d*|\.\d+)(?P<exponent>[eE][+-]?\d+)?", re.ASCII)
INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
WIDE = decimal.Context(prec=10000, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX, rounding=decimal.ROUND_HALF_UP)
BLANKS = " \t"


def raw_bytes(text):
    """The bytes of a text in the file; of a surrogate that only an escape can have made, U+FFFD."""
    return re.sub("[\ud800-\udc7f\udd00-\udfff]", "\ufffd", text).encode("utf-8", "surrogateescape")


def clean(text):
    """`text` as the output file holds it: a NUL, and each maximal part of invalid UTF-8, becomes U+FFFD."""
    return raw_bytes(text).decode("utf-8", "replace").replace("\0", "\ufffd")


def is_clean(text):
    """Whether the output file can hold the text as it is."""
    return not re.search("[\0\ud800-\udfff]", text)


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
    number = to_decimal(value) if isinstance(value, str) and DECIMAL.fullmatch(value) else None
    return None if number is None else us_to_ns(number)


def json_integer(value, absent):
    """A JSON integer or integer text within int64; `absent` for everything else."""
    if not isinstance(value, str) or not INTEGER.fullmatch(value) or len(value) >= 100:
        return absent
    return int(value) if -2**63 <= int(value) < 2**63 else absent


def json_id(value):
    """A pid or tid as text, so that 7 and "7" are one thread; absent and other types are the empty text."""
    return str(value) if isinstance(value, str) else ""


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
    trace_view_state: str = "absent"
    operator_memory_state: str = "absent"
    profiler_db_state: str = "absent"
    source: str = ""
    first_error_offset: Optional[int] = -1      # None if it is not known

    def damaged(self, kind, message, offset=None):
        """A file of that kind is damaged; what is damaged first decides on the offset, None if unknown."""
        setattr(self, f"{kind}_state", "damaged")
        if self.first_error_offset == -1:
            self.first_error_offset = offset() if callable(offset) else offset
        self.reduce_status("partial", message)

    def reduce_status(self, status, message):
        """Lower an ok status to `status`; later messages are appended."""
        if self.status == "ok" or (self.status, status) == ("partial", "failed"):
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
    """The JSON object in a small file, or None if the file is absent or damaged."""
    try:
        with open(path, encoding="utf-8") as stream:
            content = json.load(stream, parse_int=Number, parse_float=Number, parse_constant=trace_text.refuse)
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None


def rank_of(path):
    """(rank_id, message) of a capture; rank_id -1 if it has none."""
    numbered = [m for m in (re.fullmatch(r"profiler_info_([0-9]+)\.json", n) for n in os.listdir(path)) if m]
    if len(numbered) == 1:
        rank, message = int(numbered[0][1]), ""
    elif numbered:
        rank, message = -1, ""
    else:
        info = read_json(os.path.join(path, "profiler_info.json"))
        absent = info is not None and "rank_id" not in info
        rank = 0 if absent else json_integer(info.get("rank_id"), -1) if info is not None else -1
        message = "not distributed" if absent else ""
    return (rank, message) if 0 <= rank < 2**31 else (-1, "no rank id")


def set_role(capture):
    """The role of a capture: from its metadata, else the name of its parent directory."""
    path = os.path.join(capture.path, "profiler_metadata.json")
    metadata = read_json(path)
    role = metadata.get("role") if metadata else None
    is_text = isinstance(role, str) and not isinstance(role, Number)
    capture.role = clean(role if is_text and role else os.path.basename(os.path.dirname(capture.path)))
    if metadata is None and os.path.lexists(path):
        capture.reduce_status("partial", "profiler_metadata.json: not a JSON object")
        capture.first_error_offset = None


def timestamp_of(name):
    """The last time stamp in a directory name as 17 digits, or empty."""
    stamps = re.findall(r"(?<![0-9])(?:[0-9]{14,17}|[0-9]{8}_[0-9]{6})(?![0-9])", name)
    return stamps[-1].replace("_", "").ljust(17, "0") if stamps else ""


def data_map(roots):
    """The captures below `roots`, numbered in order of role, rank_id, window, path (text bytewise)."""
    captures = []
    for path in find_captures(roots):
        rank, message = rank_of(path)
        capture = Capture(path, "", rank, timestamp_of(os.path.basename(path)), message=message)
        if rank < 0:
            capture.status = "failed"
        set_role(capture)
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
    component: str              # PTA or GE


SIZES = ("Size", *(f"{at} Total {what}" for at in ("Allocation", "Release")
                   for what in ("Allocated", "Reserved", "Active")))
TIMES = ("Allocation Time", "Release Time", "Duration", "Active Duration")
TEXTS = ("Name", "Stream Ptr", "Device Type")
TITLE = re.compile(r"(?P<name>[^(]*?) *\((?P<unit>.*)\)", re.DOTALL)


BYTES = {"B": 1, "KB": 1024, "MB": 1024**2, "GB": 1024**3}


class Row:
    """The cells of one CSV row by column name; counts those that cannot be used."""

    def __init__(self, columns, cells):
        self.columns, self.cells, self.bad_cells = columns, cells, 0

    def text(self, name):
        """The cell without blanks and TABs around it; empty if absent or N/A."""
        position, _ = self.columns.get(name, (len(self.cells), ""))
        cell = self.cells[position].strip(BLANKS) if position < len(self.cells) else ""
        return "" if cell == "N/A" else cell

    def shown_text(self, name):
        """The same for the output file; it is bad, but kept, if something in it must be replaced."""
        text = self.text(name)
        self.bad_cells += not is_clean(text)
        return text

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
        return self._read(name, lambda time: us_to_ns(WIDE.scaleb(time, self.exponent(name))))

    def duration_ms(self, name):
        """A duration as float milliseconds, rounded once."""
        return self._read(name, lambda time: finite(WIDE.scaleb(time, self.exponent(name) - 3)))

    def exponent(self, name):
        """What power of ten makes microseconds of the column."""
        return -3 if self.columns.get(name, (0, ""))[1] == "ns" else 0

    def size(self, name, unit):
        """A size in `unit` (KB or MB), NaN if absent."""
        written = self.columns.get(name, (0, unit))[1]
        factor = BYTES[written] / BYTES[unit]
        value = self._read(name, lambda size: finite_product(size, factor))
        return math.nan if value is None else value


def finite_product(number, factor):
    """The nearest float to a Decimal times a power of two, or None if it is too great."""
    value = finite(number)
    return value * factor if value is not None and math.isfinite(value * factor) else None


def finite(number):
    """The nearest float to a Decimal, or None if it is too great for one."""
    value = float(number)
    return value if math.isfinite(value) else None


def header_columns(titles):
    """The known columns of a header: name without unit -> (position, unit), and how many have an unknown unit."""
    columns, bad_cells = {}, 0
    for position, title in enumerate(titles):
        title = title.strip(BLANKS)
        match = TITLE.fullmatch(title)
        name, unit = match.group("name", "unit") if match else (title, "")
        known = unit == "us" if name in TIMES else unit in BYTES if name in SIZES else True
        if name in columns or name not in (*TIMES, *SIZES, *TEXTS):
            continue
        bad_cells += not known
        if known:
            columns[name] = position, unit
    return columns, bad_cells


def record_of(row):
    """The Record of a Row. Totals are those at the release if the row only has a release."""
    bad_before = row.bad_cells
    allocation = row.time_ns("Allocation Time")
    release = row.time_ns("Release Time")
    if allocation is None and release is None and row.bad_cells == bad_before:
        row.bad_cells += 1
    at = "Release" if allocation is None and release is not None else "Allocation"
    name = row.shown_text("Name")
    record = Record(name, row.size("Size", "KB"), allocation, release, row.duration_ms("Duration"),
                    row.duration_ms("Active Duration"),
                    tuple(row.size(f"{at} Total {what}", "MB") for what in ("Allocated", "Reserved", "Active")),
                    row.shown_text("Device Type"), row.shown_text("Stream Ptr"),
                    "GE" if name.startswith("cann::") else "PTA")
    return record


def read_records(path, capture):
    """The Records of a CSV in file order; damage is noted in `capture`."""
    capture.operator_memory_state = "read"
    if not os.path.isfile(path):
        capture.damaged("operator_memory", "operator_memory.csv: not a file")
        return []
    with open(path, "rb") as stream:
        data = stream.read()
    columns, records = None, []
    for line in csv_text.rows(data):
        cells, bad_cells = line.cells, 0
        if line.lost:
            capture.damaged("operator_memory", f"operator_memory.csv: a row is lost: {line.lost}", line.offset)
            continue
        if columns is None:
            (columns, capture.bad_cells), titles = header_columns(cells), len(cells)
            if capture.bad_cells:
                capture.damaged("operator_memory", "operator_memory.csv: a unit that is not known", line.offset)
            if not {"Name", "Size", "Allocation Time"} <= columns.keys():
                capture.damaged("operator_memory", "operator_memory.csv: not the header of a memory file", line.offset)
                break
            continue
        if len(cells) != titles:
            bad_cells = 1
            if len(cells) < titles and line.unended:
                cells = cells[:-1]          # it may be cut
        row = Row(columns, cells)
        records.append(record_of(row))
        bad_cells += row.bad_cells
        capture.bad_cells += bad_cells
        if bad_cells:
            capture.damaged("operator_memory", f"operator_memory.csv: {bad_cells} bad cells", line.offset)
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


def is_text(value):
    """Whether a JSON value is a text, not a number."""
    return isinstance(value, str) and not isinstance(value, Number)


def event_of(item, position, offset_ns):
    """(Event of a JSON object or None if matching never needs it, what of it is unreadable)."""
    arguments = item.get("args")
    if not isinstance(arguments, dict):
        arguments = {}
    stack = arguments.get("Call stack")
    stack = stack if is_text(stack) else ""
    is_cpu_op = item.get("cat") == "cpu_op"
    sequence = json_integer(arguments.get("Sequence number"), -1)
    if not is_cpu_op and not (stack and sequence >= 0):
        return None, []
    start, duration = json_ns(item.get("ts")), json_ns(item.get("dur"))
    if start is None or not -2**63 <= start + offset_ns + max(duration or 0, 0) < 2**63:
        return None, ["ts"]
    forward_thread = arguments.get("Fwd thread id")
    present = {"dur": (item.get("dur"), duration), "Sequence number":
               (arguments.get("Sequence number"), json_integer(arguments.get("Sequence number"), None)),
               "Fwd thread id": (forward_thread, forward_thread if isinstance(forward_thread, str)
                                 and INTEGER.fullmatch(forward_thread) else None)}
    unreadable = [key for key, (value, read) in present.items() if isinstance(value, str) and value and read is None]
    name = item.get("name")
    event = Event(start + offset_ns, start + offset_ns + max(duration or 0, 0), position,
                  name if is_text(name) else None, (json_id(item.get("pid")), json_id(item.get("tid"))),
                  is_cpu_op, stack, sequence, 0 if "Fwd thread id" in unreadable else int(forward_thread or 0)
                  if isinstance(forward_thread, str) else 0)
    return event, unreadable


def bytewise(member, data):
    """What comes out of damaged gzip data before the damage."""
    for byte in data:
        try:
            yield member.decompress(bytes([byte]))
        except zlib.error:
            return


def unpack(data):
    """(all text that gzip data holds, whether the data is damaged)."""
    parts = []
    while data:
        member = zlib.decompressobj(wbits=31)
        for at in range(0, len(data), 4096):
            before = member.copy()
            try:
                parts.append(member.decompress(data[at:at + 4096]))
            except zlib.error:
                return b"".join([*parts, *bytewise(before, data[at:at + 4096])]), True
            if member.eof:
                break
        if not member.eof:
            return b"".join(parts), True
        data = member.unused_data + data[at + 4096:]
    return b"".join(parts), False


def read_trace(path, capture):
    """The Trace in a file; None if there is none to read."""
    if not os.path.isfile(path):
        capture.damaged("trace_view", "trace_view.json: not a file")
        return None
    with open(path, "rb") as stream:
        data = stream.read()
    if path.endswith(".gz"):
        data, damaged = unpack(data)
        if damaged:
            capture.damaged("trace_view", "trace_view.json: damaged gzip data")
    return trace_text.Trace(data.decode("utf-8", "surrogateescape"))


def read_events(path, offset_ns, capture):
    """The Events of a trace in file order; damage is noted in `capture`."""
    capture.trace_view_state = "read"
    trace = read_trace(path, capture)
    return list(collect_events(items_and_damage(trace, capture), "trace_view", offset_ns, capture)) if trace else []


def items_and_damage(trace, capture):
    """(event, errors in it) of a trace; what is passed over between them is noted."""
    noted = 0
    for item in trace.items():
        note_faults(trace, noted, capture)
        noted = len(trace.faults)
        if not isinstance(item.value, dict):
            capture.events_skipped += 1
            capture.damaged("trace_view", "trace_view.json: no event",
                            lambda start=item.start: trace.byte_offset(start))
        else:
            yield item.value, []
    note_faults(trace, noted, capture)


def note_faults(trace, first, capture):
    """What reading has passed over, from the first fault that was not noted yet."""
    for fault in trace.faults[first:]:
        capture.events_skipped += fault.lost
        capture.damaged("trace_view", f"trace_view.json: {fault.reason}", lambda fault=fault: trace.fault_offset(fault))


def collect_events(items, kind, offset_ns, capture):
    """The Events that matching may need, of (event, errors in it)."""
    stacks = {}
    for position, (item, errors) in enumerate(items):
        capture.events_seen += 1
        event, unreadable = event_of(item, position, offset_ns)
        arguments = item.get("args")
        stack = arguments.get("Call stack") if isinstance(arguments, dict) else None
        capture.events_with_stack += item.get("cat") == "cpu_op" and is_text(stack) and stack != ""
        capture.events_skipped += "ts" in unreadable
        if unreadable or errors:
            capture.damaged(kind, f"event {position}: unreadable {unreadable}")
        if event:                   # equal stacks share one text
            yield event._replace(stack=stacks.setdefault(event.stack, event.stack))


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
        start_time_ns=start_ns, name=clean(record.name), role=capture.role, rank_id=capture.rank_id,
        capture=capture.number, component=record.component, call_stack=clean(stack),
        call_stack_top=clean(stack.split(FRAME_END)[0]), call_stack_match=how, size_kb=record.size_kb,
        start_time_ms=math.nan if start_ns == NO_TIME_NS else start_ns / 1e6,
        duration_ms=0.0 if record.duration_ms is None else record.duration_ms,
        active_duration_ms=math.nan if active_ms is None else active_ms,
        is_released=int(record.release_ns is not None or record.duration_ms is not None),
        total_allocated_mb=record.totals_mb[0], total_reserved_mb=record.totals_mb[1],
        total_active_mb=record.totals_mb[2], device_type=clean(record.device_type), stream=clean(record.stream))


def known_files(capture):
    """The trace, table and database of a capture, None for what it has not, and whether it has other known files."""
    folder = os.path.join(capture.path, OUTPUT_FOLDER)
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []

    def first(is_one):
        paths = [os.path.join(folder, n) for n in names if is_one(n)]
        return next((p for p in paths if os.path.isfile(p)), next(iter(paths), None))   # what is no file gives way
    return (first(TRACES.__contains__), first(TABLE.__eq__), first(DATABASE.fullmatch),
            any(OTHER_KNOWN_FILE.fullmatch(n) for n in names))


def read_capture(capture, trace, table, path, offset_ns):
    """(Records, Events) of a capture: text goes before the database for each kind of file."""
    for kind, found in (("trace_view", trace), ("operator_memory", table), ("profiler_db", path)):
        setattr(capture, f"{kind}_state", "unused" if found else "absent")
    if capture.status == "failed":
        return [], []
    database = profiler_db.Database(path, capture) if path and not (trace and table) else None
    records = read_records(table, capture) if table else database_records(database, capture) if database else []
    capture.memory_rows = len(records)
    expected = database and not table and (database.has("OP_MEMORY") or not database.is_usable())
    if not records and "damaged" in (capture.operator_memory_state, expected and capture.profiler_db_state):
        capture.reduce_status("failed", "nothing usable")
    events = []
    if any(r.allocation_ns is not None for r in records):       # else no record needs a stack: not read
        if trace:
            events = read_events(trace, offset_ns, capture)
        elif database:
            events = list(collect_events(database.events(), "profiler_db", offset_ns, capture))
    was_read = ("read", "damaged")
    text = capture.trace_view_state in was_read or capture.operator_memory_state in was_read
    capture.source = "+".join(["text"] * text + ["db"] * (capture.profiler_db_state in was_read))
    return records, events


DATABASE_COLUMNS = {
    "name": "Name", "size": "Size", "allocationTime": "Allocation Time", "releaseTime": "Release Time",
    "duration": "Duration", "activeDuration": "Active Duration",
    "allocationTotalAllocated": "Allocation Total Allocated", "allocationTotalReserved": "Allocation Total Reserved",
    "allocationTotalActive": "Allocation Total Active", "releaseTotalAllocated": "Release Total Allocated",
    "releaseTotalReserved": "Release Total Reserved", "releaseTotalActive": "Release Total Active",
    "streamPtr": "Stream Ptr", "deviceId": "Device Type"}


def database_records(database, capture):
    """The Records of table OP_MEMORY."""
    columns = {name: (position, "ns" if name in TIMES else "B")
               for position, name in enumerate(DATABASE_COLUMNS.values())}
    records = []
    for cells in database.memory():
        row = Row(columns, [cells[key] for key in DATABASE_COLUMNS])
        records.append(record_of(row))
        capture.bad_cells += row.bad_cells
        if row.bad_cells:
            capture.damaged("profiler_db", f"profiler database: {row.bad_cells} bad cells")
    return records


def map_capture(capture, policy, offset_ns, index_type):
    """The rows of one capture in file order; its results are written into `capture`."""
    *paths, others = known_files(capture)
    if capture.status != "failed" and not any(paths) and not others:
        folder = os.path.join(capture.path, OUTPUT_FOLDER)
        capture.reduce_status("empty", "no known file" if os.path.isdir(folder) else RAW)
    records, events = read_capture(capture, *paths, offset_ns)
    apart = times_that_do_not_meet(events, records)
    if apart:
        capture.reduce_status("partial", apart)
    index = index_type([] if apart else events)
    rows = []
    for record in records:
        how, stack = match(record, index, policy)
        rows.append(memory_event(record, capture, how, stack))
        if not is_clean(stack):
            capture.damaged("trace_view" if paths[0] else "profiler_db", "a call stack that is not UTF-8, or has a NUL")
            capture.first_error_offset = None
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
              f"events_seen={c.events_seen} events_with_stack={c.events_with_stack} events_skipped={c.events_skipped} "
              f"offset={c.first_error_offset} trace_view={c.trace_view_state} table={c.operator_memory_state} "
              f"db={c.profiler_db_state} source={c.source!r} {c.message}".rstrip())
    counts = collections.Counter(row.call_stack_match for row in rows)
    print(" ".join(f"{how}={counts[how]}" for how in MATCHES), f"rows={len(rows)}")
    if arguments.csv:
        with open(arguments.csv, "w", encoding="utf-8", newline="") as stream:
            csv.writer(stream).writerows([tuple(COLUMNS), *rows])


if __name__ == "__main__":
    main()
