#!/usr/bin/python3
"""Cut traces at many bytes, a capture for each cut, and check what the program makes of them.

`make DIR` writes a trace of 1 MB and a small one in several forms, and below DIR/job one capture for each
cut, all with the same table. `check DIR FILE.h5...` compares the files with what the rules demand: the rows
that the complete events before the cut give, and nothing else lost.
"""
import argparse
import gzip
import json
import os
import random
import re
import sys
from typing import NamedTuple

import h5py

import gen_memory
import show_table

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "reference"))
import memory_reference     # noqa: E402
import trace_text           # noqa: E402

OUTPUT = memory_reference.OUTPUT_FOLDER
TABLE = memory_reference.TABLE
STATE_COLUMNS = ("status", "trace_view_state", "operator_memory_state", "events_seen", "events_with_stack",
                 "events_skipped", "memory_rows", "rows_matched", "bad_cells", "first_error_offset", "source")
START_NS = 1755143611835441990
SAMPLE = 12             # captures on which the plain reference is run


# ------------------------------------------------------------------------------------ the traces

def small_events():
    """Few events that hold every kind of token."""
    stack = 'a.py(1): "f";\r\n框架.py(2): 前向 \U0001f600\\;\r\nc.py(3): <lambda>'
    times = [gen_memory.us(START_NS + n * 1000) for n in range(9)]
    head = {"ph": "X", "pid": 4300000000, "tid": "t"}
    return [
        {"name": "process_name", "ph": "M", "args": {"name": "Python", "none": None, "on": True, "off": False}},
        {**head, "name": "aten::add", "ts": times[0], "dur": 100.5, "cat": "cpu_op",
         "args": {"Call stack": stack, "Sequence number": 7, "deep": [[{"a": [[], {}]}], -1.5e-07, 1e22]}},
        {**head, "name": "AddBackward0", "ts": times[4], "dur": 3.25, "cat": "cpu_op", "tid": 5,
         "args": {"Sequence number": "7", "Fwd thread id": 1}},
        {**head, "name": "aten::mul", "ts": times[5], "dur": 0.75, "cat": "cpu_op", "tid": 5, "args": {}},
        {"ph": "C", "name": "HBM, {\"ph\"} }], [{", "ts": times[6], "args": {"Read(MB/s)": 10.5}},
        {**head, "name": "aten::add", "ts": float(times[1]), "dur": "5", "cat": "cpu_op",
         "args": {"Call stack": "last"}},
    ]


def small_records():
    """(operator, ns) that need these events."""
    return [("aten::add", START_NS + 50), ("aten::add", START_NS + 5000), ("aten::mul", START_NS + 5500),
            ("aten::add", START_NS + 10**9), ("aten::none", START_NS)]


class Form(NamedTuple):
    """A trace as text, its table's name, and where to cut it."""
    text: bytes
    table: str
    cuts: object        # of the size: the cuts
    packed: bool = False


def sparse(step):
    """Every step-th byte, and all near both ends."""
    return lambda size: sorted({*range(0, size + 1, step), *range(min(size, 40)), *range(max(size - 40, 0), size + 1)})


def forms(large):
    """name -> Form, from the 1 MB trace as it was written."""
    events = json.loads(large)
    compact = json.dumps(events, separators=(",", ":")).encode()
    small = small_events()

    def text(indent=None, separators=None, ascii_only=False):
        return json.dumps(small, indent=indent, separators=separators, ensure_ascii=ascii_only).encode()
    whole = {"displayTimeUnit": "ms", "traceEvents": small, "after": [{"ph": "X"}, 1, "x"]}
    return {
        "spaced": Form(large, "large", lambda size: [*range(0, size, 997), size]),
        "compact": Form(compact, "large", sparse(29989)),
        "pretty": Form(json.dumps(events, indent=4).encode() + b"\n", "large", sparse(39989)),
        "packed": Form(gzip.compress(compact, mtime=0), "large", sparse(2503), packed=True),
        "small": Form(text() + b"\r\n", "small", lambda size: range(size + 1)),
        "small compact": Form(text(separators=(",", ":"), ascii_only=True), "small", lambda size: range(size + 1)),
        "small object": Form(json.dumps(whole, indent=1).encode(), "small", lambda size: range(0, size + 1, 3)),
    }


# ------------------------------------------------------------------------------------ make

def make_capture(folder, table, trace_name, trace):
    """A capture with this trace and a link to the table."""
    output = os.path.join(folder, OUTPUT)
    os.makedirs(output)
    with open(os.path.join(folder, "profiler_info_0.json"), "wb") as stream:
        stream.write(b"{}")
    os.link(table, os.path.join(output, TABLE))
    with open(os.path.join(output, trace_name), "wb") as stream:
        stream.write(trace)


def make(root):
    """Write traces, tables, and the captures."""
    base = os.path.join(root, "base")
    gen_memory.write_rank(base, 0, "base", 1, "cuts")
    os.rename(os.path.join(base, OUTPUT, TABLE), os.path.join(base, "large.csv"))
    gen_memory.write_table(os.path.join(base, "small.csv"), random.Random(1), small_records(), 0)
    with open(os.path.join(base, OUTPUT, "trace_view.json"), "rb") as stream:
        large = stream.read()
    captures = 0
    for role, form in forms(large).items():
        with open(os.path.join(base, role), "wb") as stream:
            stream.write(form.text)
        for cut in form.cuts(len(form.text)):
            make_capture(os.path.join(root, "job", role, f"host_1_{cut:017d}_ascend_pt"),
                         os.path.join(base, f"{form.table}.csv"), "trace_view.json" + ".gz" * form.packed,
                         form.text[:cut])
            captures += 1
    print(f"{captures} captures")


# ------------------------------------------------------------------------------------ what is expected

class Whole:
    """An uncut trace: its events with the byte where each begins and ends."""

    def __init__(self, text, table):
        trace = trace_text.Trace(text.decode())
        self.spans, self.events, self.known = [], [], {}
        at = done = 0                       # characters and bytes
        for item in trace.items():
            start = done + trace_text.byte_count(trace.text[at:item.start])
            done = start + trace_text.byte_count(trace.text[item.start:item.end])
            at = item.end
            self.spans.append((start, done))
            self.events.append((item.value, []))
        if trace.faults:
            sys.exit(f"the whole trace is damaged: {trace.faults[0]}")
        self.end = len(text.rstrip())       # blanks behind it may be missing
        capture = memory_reference.Capture("")
        self.records = memory_reference.read_records(table, capture)

    def complete(self, cut):
        """How many events are complete before the cut."""
        return sum(end <= cut for _, end in self.spans)

    def is_inside(self, cut):
        """Whether the cut lies inside an event."""
        return any(start < cut < end for start, end in self.spans)

    def rows(self, capture, events_seen):
        """The rows that the first events give; what they count is noted in `capture`."""
        if events_seen not in self.known:
            first = memory_reference.Capture("")
            self.known[events_seen] = self.match(first, events_seen), first
        rows, first = self.known[events_seen]
        for name in ("events_seen", "events_with_stack", "memory_rows", "rows_matched"):
            setattr(capture, name, getattr(first, name))
        return [row._replace(role=capture.role, rank_id=0, capture=capture.number) for row in rows]

    def match(self, capture, events_seen):
        """The rows that the first events give."""
        events = list(memory_reference.collect_events(self.events[:events_seen], "trace_view", 0, capture))
        index = memory_reference.Index(events)
        rows = [memory_reference.memory_event(r, capture,
                                              *memory_reference.match(r, index, "best")) for r in self.records]
        capture.memory_rows = len(rows)
        capture.rows_matched = sum(r.call_stack_match != "none" for r in rows)
        return rows


def expect(capture, whole, cut):
    """The rows of a capture that is cut there; `capture` gets what /captures must say."""
    capture.trace_view_state = capture.operator_memory_state = "read"
    capture.source = "text"
    rows = whole.rows(capture, whole.complete(cut))
    if cut < whole.end:
        capture.damaged("trace_view", "cut", cut)
        capture.events_skipped = int(whole.is_inside(cut))
    return rows


def expect_packed(capture, whole, form, cut):
    """The same for gzip data: which byte of the text is the last that can be had is left to zlib."""
    capture.trace_view_state = capture.operator_memory_state = "read"
    capture.source = "text"
    text, damaged = memory_reference.unpack(form[:cut])
    rows = whole.rows(capture, whole.complete(len(text)))
    if damaged or cut == 0:
        capture.damaged("trace_view", "cut")
        capture.events_skipped = int(whole.is_inside(len(text)))
    return rows


# ------------------------------------------------------------------------------------ check

class Findings:
    """Counts what is wrong; prints the first 20."""

    def __init__(self):
        self.count = 0

    def expect(self, condition, text):
        if not condition:
            self.count += 1
            if self.count <= 20:
                print(text)


def same(value, other):
    """Whether two values are equal; NaN equals NaN."""
    return value == other or (value != value and other != other)


def read_all(path):
    """(rows of /memory_events as tuples, rows of /captures as dictionaries)."""
    with h5py.File(path, "r") as root:
        events = root["memory_events"]
        rows = list(zip(*(show_table.read_column(events, name) for name in memory_reference.COLUMNS)))
        table = root["captures"]
        names = [table.attrs["_index"], *table.attrs["column-order"]]
        columns = [show_table.read_column(table, name) for name in names]
    return rows, [dict(zip(names, values)) for values in zip(*columns)]


def check_message(findings, found, capture):
    """The message names the file and the byte."""
    offset = capture.first_error_offset
    if capture.status == "partial":
        pattern = r"trace_view\.json(\.gz)?: .+" + (rf" at byte {offset}\b" if offset is not None else "")
        findings.expect(re.search(pattern, found["message"]), f"{found['path']}: message is {found['message']!r}")
    else:
        findings.expect(found["message"] == "", f"{found['path']}: message is {found['message']!r}")


def check_capture(findings, found, capture):
    """A row of /captures says what it must."""
    for name in STATE_COLUMNS:
        wanted = getattr(capture, name)
        if wanted is not None:
            findings.expect(found[name] == wanted, f"{found['path']}: {name} is {found[name]!r}, not {wanted!r}")
    check_message(findings, found, capture)


def check(root, path):
    """Compare a file with what is expected; the number of cuts."""
    base, findings = os.path.join(root, "base"), Findings()
    captures = memory_reference.data_map([os.path.join(root, "job")])
    rows, found = read_all(path)
    wholes, expected, of_capture = {}, [], {}
    with open(os.path.join(base, "packed"), "rb") as stream:
        packed = stream.read()
    for capture in captures:
        role, cut = capture.role, int(capture.timestamp)
        if role not in wholes:
            with open(os.path.join(base, role), "rb") as stream:
                text = stream.read()
            table = os.path.join(base, f"{'small' if 'small' in role else 'large'}.csv")
            wholes[role] = Whole(gzip.decompress(text) if role == "packed" else text, table)
        whole = wholes[role]
        own = expect_packed(capture, whole, packed, cut) if role == "packed" else expect(capture, whole, cut)
        of_capture[capture.number] = sorted(own, key=lambda row: row.start_time_ns)
        expected += own
    expected.sort(key=lambda row: (row.start_time_ns, os.fsencode(row.role), row.capture))
    findings.expect(len(found) == len(captures), f"{len(found)} captures, not {len(captures)}")
    for row, capture in zip(found, captures):
        check_capture(findings, row, capture)
    check_rows(findings, rows, expected, captures)
    check_sample(findings, captures, of_capture)
    if findings.count:
        sys.exit(f"{path}: {findings.count} differences")
    print(f"{len(captures)} cuts, {len(rows)} rows compared")


def check_rows(findings, rows, expected, captures):
    """Every cell of /memory_events."""
    findings.expect(len(rows) == len(expected), f"{len(rows)} rows, not {len(expected)}")
    for number, (row, wanted) in enumerate(zip(rows, expected)):
        if row != wanted and not all(map(same, row, wanted)):
            path = captures[wanted.capture].relative_path
            differs = [f"{name} is {a!r}, not {b!r}" for name, a,
                       b in zip(wanted._fields, row, wanted) if not same(a, b)]
            findings.expect(False, f"{path}: row {number}: {'; '.join(differs)[:300]}")


def check_sample(findings, captures, of_capture):
    """The plain reference, which reads the cut files, expects the same of some captures."""
    for capture in random.Random(1).sample(captures, SAMPLE):
        (plain,), rows = memory_reference.analyse([capture.path])
        own = [row._replace(capture=0) for row in of_capture[capture.number]]
        findings.expect(all(all(map(same, a, b)) for a, b in zip(rows, own)) and len(rows) == len(own),
                        f"{capture.relative_path}: the plain reference has other rows")
        for name in STATE_COLUMNS:
            findings.expect(getattr(plain, name) == getattr(capture, name),
                            f"{capture.relative_path}: the plain reference has {name} {getattr(plain, name)!r}, "
                            f"not {getattr(capture, name)!r}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("make").add_argument("root", metavar="DIR")
    checking = commands.add_parser("check")
    checking.add_argument("root", metavar="DIR")
    checking.add_argument("file", metavar="FILE.h5")
    arguments = parser.parse_args()
    if arguments.command == "make":
        make(arguments.root)
    else:
        check(arguments.root, arguments.file)


if __name__ == "__main__":
    main()
