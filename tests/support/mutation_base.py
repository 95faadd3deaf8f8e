"""Whole captures to be damaged, by parts: as text, and the same as a profiler database."""
import json
import os
import re
import sqlite3
import sys

import gen_memory

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "reference"))
import trace_text       # noqa: E402

OUTPUT, TRACE, TABLE = "ASCEND_PROFILER_OUTPUT", "trace_view.json", "operator_memory.csv"
START_NS = 1736405443863674400


class Base:
    """A whole capture: its trace with where each event lies, and its table by lines."""

    def __init__(self, name, trace, table):
        self.name, self.trace, self.table = name, trace, table
        text = trace_text.Trace(trace.decode("ascii"))
        self.spans = [(item.start, item.end) for item in text.items()]
        self.events = [json.loads(trace[start:end]) for start, end in self.spans]
        self.lines = table.splitlines(keepends=True)
        self.titles = self.lines[0].decode().rstrip("\r\n").split(",")
        self.rows = len(self.lines) - 1

    def event(self, kind, which):
        """The number of the first, middle or last event that is wanted (an operator with a stack), or is not."""
        wanted = [e.get("cat") == "cpu_op" and "Call stack" in e.get("args", {}) for e in self.events]
        plain = [e.get("cat") not in ("cpu_op", "fwdbwd") for e in self.events]
        numbers = [n for n in range(len(self.events)) if (wanted if kind == "wanted" else plain)[n]]
        return numbers[{"first": 0, "middle": len(numbers) // 2, "last": -1}[which]]

    def line(self, which):
        """The number of the line of the first or last row, the first of GE, or one that was only released."""
        if which in ("first", "last"):
            return 1 if which == "first" else self.rows
        start = {"GE": b"cann::", "release": b",-"}[which]
        return next(n for n, line in enumerate(self.lines) if line.startswith(start))

    def with_span(self, start, end, data):
        return self.trace[:start] + data + self.trace[end:]

    def with_event(self, number, data):
        """The trace with other bytes in place of an event."""
        return self.with_span(*self.spans[number], data)

    def with_value(self, number, path, raw):
        """The trace with an event in which the bytes `raw` stand as the value under a path of keys."""
        event = json.loads(json.dumps(self.events[number]))
        inner = event
        for key in path[:-1]:
            inner = inner.setdefault(key, {})
        inner[path[-1]] = "@@"
        return self.with_event(number, json.dumps(event).encode().replace(b'"@@"', raw))

    def with_line(self, number, data):
        """The table with other bytes in place of a line."""
        return b"".join([*self.lines[:number], data, *self.lines[number + 1:]])

    def with_cell(self, number, title, raw):
        """The table with other bytes in a cell."""
        cells = self.lines[number].rstrip(b"\r\n").split(b",")
        cells[self.titles.index(title)] = raw
        return self.with_line(number, b",".join(cells) + b"\r\n")


def us(offset_ns):
    return gen_memory.us(START_NS + offset_ns)


def small_base():
    """A capture that holds every kind of match and of row."""
    def op(name, at, dur, stack=None, tid=1, **arguments):
        if stack:
            arguments["Call stack"] = ";\r\n".join(stack)
        return {"ph": "X", "name": name, "pid": 4300000000, "tid": tid, "ts": us(at), "dur": dur, "cat": "cpu_op",
                "args": {key.replace("_", " "): value for key, value in arguments.items()}}
    python = {"ph": "X", "name": "module.py(1): f", "pid": 1, "tid": 1, "ts": us(900), "dur": 1.5,
              "cat": "python_function", "args": {"Python id": 1}}
    counter = {"ph": "C", "name": "HBM 0/Read", "pid": 1088, "tid": 0, "ts": us(1000), "args": {"Read(MB/s)": 10.5}}
    device = {"name": "MatMulV3_1", "pid": 1056, "tid": 6, "ts": us(70000), "dur": 36.7, "ph": "X",
              "args": {"Model Id": 4294967295, "Task Type": "AI_CORE"}}
    events = [
        {"name": "process_name", "pid": 4, "tid": 0, "args": {"name": "Python"}, "ph": "M"},
        op("aten::add", 1000, 10, ["a.py(1): add", "main.py(1): main"], Sequence_number=7, Fwd_thread_id=0), python,
        op("aten::mul", 20000, 10.25, ["a.py(2): mul"], Sequence_number=-1, Fwd_thread_id=0), counter,
        op("AddBackward0", 40000, 20, tid=2, Sequence_number=7, Fwd_thread_id=1),
        op("aten::neg", 41000, 10, tid=2, Sequence_number=-1, Fwd_thread_id=0), dict(counter, ts=us(60000)),
        op("aten::sub", 61000, 5.125, ["a.py(3): sub", "main.py(1): main"]), device]

    def row(name, size, at, release=None, active=True, stream="6"):
        allocated = "" if at is None else us(at) + ("\t" if active else "")
        totals = ("1.5", "2.5", "3.5" if active else "")
        held = release is not None and at is not None
        cells = [name, size, allocated, "" if release is None else us(release), "",
                 gen_memory.us(release - at) if held else "", "", *(totals if at is not None else ("",) * 3),
                 *(totals if release is not None else ("",) * 3),
                 stream, "NPU:0"]
        return ",".join(map(str, cells)) + "\r\n"
    table = gen_memory.HEADER + "".join((
        row("aten::add", 8.5, 2000, 900000), row("aten::add", 0.5, 15000), row("aten::mul", 16, 20000, 30000),
        row("aten::neg", 192.5, 45000, 46000), row("", -8.5, None, 50000),
        row("cann::ReduceSum7", 3072.0, 1500, 17500, False, ""),
        row("aten::none", 1, 500), row("aten::sub", 2.5, 62000, 90000)))
    return Base("small", json.dumps(events).encode(), table.encode())


def real_base(path):
    """A real capture."""
    with open(os.path.join(path, OUTPUT, TRACE), "rb") as trace, open(os.path.join(path, OUTPUT, TABLE), "rb") as table:
        return Base("real", trace.read(), table.read())


# ------------------------------------------------------------------------------------ a database of the same

SCHEMA = """
CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, value TEXT);
CREATE TABLE ENUM_API_TYPE (id INTEGER PRIMARY KEY, name TEXT);
INSERT INTO ENUM_API_TYPE VALUES (50001, 'op'), (50002, 'queue'), (50003, 'trace');
CREATE TABLE PYTORCH_API (startNs TEXT, endNs TEXT, globalTid INTEGER, connectionId INTEGER, name INTEGER,
    sequenceNumber INTEGER, fwdThreadId INTEGER, inputDtypes INTEGER, inputShapes INTEGER, callchainId INTEGER,
    type INTEGER);
CREATE TABLE PYTORCH_CALLCHAINS (id INTEGER, stack INTEGER, stackDepth INTEGER);
CREATE TABLE OP_MEMORY (name INTEGER, size INTEGER, allocationTime INTEGER, releaseTime INTEGER,
    activeReleaseTime INTEGER, duration INTEGER, activeDuration INTEGER, allocationTotalAllocated INTEGER,
    allocationTotalReserved INTEGER, allocationTotalActive INTEGER, releaseTotalAllocated INTEGER,
    releaseTotalReserved INTEGER, releaseTotalActive INTEGER, streamPtr INTEGER, deviceId INTEGER);
"""
CATEGORIES = {"cpu_op": 50001, "python_function": 50003}       # of events that go into PYTORCH_API


class Database:
    """Writes the tables of a profiler database."""

    def __init__(self, connection):
        self.connection, self.strings, self.threads = connection, {}, {}
        connection.executescript(SCHEMA)

    def insert(self, table, values):
        self.connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values))})", values)

    def string(self, text):
        """The id of a text."""
        if text not in self.strings:
            self.strings[text] = 268435456 + len(self.strings)
            self.insert("STRING_IDS", (self.strings[text], text))
        return self.strings[text]

    def event(self, number, event):
        """An event of a trace."""
        arguments, start = event["args"], scaled(event["ts"], 1000)
        chain = number if "Call stack" in arguments else None
        if chain is not None:       # the frames lie in any order
            for depth, frame in list(enumerate(arguments["Call stack"].split(";\r\n")))[::-1]:
                self.insert("PYTORCH_CALLCHAINS", (chain, self.string(frame), depth))
        thread = self.threads.setdefault((event["pid"], event["tid"]), 13819731587963129 + len(self.threads))
        self.insert("PYTORCH_API", (
            str(start), str(start + scaled(str(event["dur"]), 1000)), thread, None, self.string(event["name"]),
            arguments.get("Sequence number"), arguments.get("Fwd thread id"), None, None, chain,
            CATEGORIES[event["cat"]]))

    def record(self, titles, cells):
        """A row of operator_memory.csv."""
        name, *numbers, stream, device = (cell.strip("\t") for cell in cells)
        factors = {"Size(KB)": 1024, **{t: 1000 for t in titles if "(us)" in t},
                   **{t: 1 << 20 for t in titles if "(MB)" in t}}
        self.insert("OP_MEMORY", (
            self.string(name.removeprefix("cann::")), *(scaled(c, factors[t]) for t, c in zip(titles[1:], numbers)),
            scaled(stream, 1), int(device.removeprefix("NPU:"))))


def write_database(base, path, script=""):
    """The base as a profiler database, changed by SQL afterwards."""
    connection = sqlite3.connect(path)
    with connection:
        database = Database(connection)
        for number, event in enumerate(base.events):
            if event.get("cat") in CATEGORIES:
                database.event(number, event)
        for line in base.lines[1:]:
            database.record(base.titles, line.decode().rstrip("\r\n").split(","))
        connection.executescript(script)
    connection.close()


def scaled(text, factor):
    """Decimal text times a factor as an int, None if there is no text."""
    whole, _, fraction = text.lstrip("-").partition(".")
    if not text:
        return None
    value = int(whole + fraction) * factor
    if value % 10**len(fraction):
        raise ValueError(f"{text} times {factor} is no integer")
    return (-1 if text.startswith("-") else 1) * (value // 10**len(fraction))


