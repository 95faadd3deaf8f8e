"""The mutations of captures, each with what the program must make of it."""
import gzip
import json
import os
import random
import re
import tempfile
from typing import Callable, NamedTuple, Optional

from mutation_base import TABLE, TRACE, write_database

DATABASE = "ascend_pytorch_profiler_0.db"
ALL = object()          # rows lost
KINDS = {TRACE: "trace_view", TRACE + ".gz": "trace_view", TABLE: "operator_memory", DATABASE: "profiler_db",
         "ascend_pytorch_profiler.db": "profiler_db"}


class Mutation(NamedTuple):
    """A mutation and what it must lead to."""
    name: str
    change: Callable            # of (Base, files by name): changes the files
    file: str                   # whose state is looked at
    status: str = "ok"
    skipped: int = 0            # events_skipped
    bad_cells: int = 0
    lost_rows: object = 0       # of those of the base, negative for more rows, ALL
    state: str = ""             # of the file; read or damaged by the status if empty
    message: str = ""           # a regular expression; ok without one is silent
    only_strict: str = ""       # what the message matches with --strict, if nothing else notices it: partial
    same: Optional[bool] = None     # whether the rows are those of the base; if it is ok unless said


# ------------------------------------------------------------------------------------ writing mutations

def on_trace(name, change, *arguments, **expected):
    """A mutation of the trace's bytes."""
    def apply(base, files):
        files[TRACE] = change(base)
    expected.setdefault("message", r"trace_view\.json: .*byte \d+" if arguments == ("partial",) else "")
    return Mutation(name, apply, TRACE, *arguments, **expected)


def on_table(name, change, *arguments, **expected):
    """A mutation of the table's bytes."""
    def apply(base, files):
        files[TABLE] = change(base)
    expected.setdefault("message", r"operator_memory\.csv: .*\bat byte \d+" if arguments == ("partial",) else "")
    return Mutation(name, apply, TABLE, *arguments, **expected)


def on_packed(name, change, *arguments, **expected):
    """A packed trace, from the bytes of a plain one."""
    def apply(base, files):
        files[TRACE + ".gz"] = change(files.pop(TRACE))
    expected.setdefault("message", r"trace_view\.json.*: " if arguments == ("partial",) else "")
    return Mutation(name, apply, TRACE + ".gz", *arguments, **expected)


def on_database(name, script, *arguments, keep=(), change=None, file=DATABASE, beside=None, text=None, **expected):
    """The base as a database in place of the text files, but those in `keep` and `text`."""
    def apply(base, files):
        for name in {TRACE, TABLE}.difference(keep):
            del files[name]
        files.update(text or {})
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "db")
            write_database(base, path, script)
            with open(path, "rb") as stream:
                data = stream.read()
        files[file] = change(data) if change else data
        files.update({file + suffix: content for suffix, content in (beside or {}).items()})
    expected.setdefault("message", r"ascend_pytorch_profiler.*\.db" if arguments and arguments[0] != "ok" else "")
    return Mutation(name, apply, file, *arguments, **expected)


POSITIONS = [(kind, which) for kind in ("wanted", "unwanted") for which in ("first", "middle", "last")]


def events_everywhere():
    """Damage in events at several places: each costs one event, but for what is not looked at where nobody wants it."""
    def replaced(old, new):
        def change(event):
            mutated = re.sub(old, lambda _: new, event, count=1)
            assert mutated != event, (old, event)
            return mutated
        return change
    changes = {
        "NaN as a value": replaced(rb'"pid": [^,]*', b'"pid": NaN'),
        "bare N-A as a value": replaced(rb'"pid": [^,]*', b'"pid": N/A'),
        "an unescaped quote in a name": replaced(rb'"name": "(..)', b'"name": "a"b'),
        "a control byte in a text": replaced(rb'"name": "', b'"name": "\x01'),
        "a zero byte in a text": replaced(rb'"name": "', b'"name": "\0'),
        "zero bytes in place of its middle": lambda e: e[:len(e) // 3] + bytes(len(e) // 3) + e[2 * (len(e) // 3):],
        "its first colon missing": replaced(b":", b""),
        "its last brace missing": lambda e: e[:-1],
        "a quote before its last brace": lambda e: e[:-1] + b'"}',
    }
    not_structure = ("NaN as a value", "bare N-A as a value", "its first colon missing")
    for what, change in changes.items():
        for kind, which in POSITIONS:
            def mutate(base, change=change, kind=kind, which=which):
                number = base.event(kind, which)
                return base.with_event(number, change(base.trace[slice(*base.spans[number])]))
            # without its brace, the last event swallows the end of the array; others end where the next begins
            name = f"{what}, {which} {kind} event"
            if kind == "unwanted" and what in not_structure:
                yield on_trace(name, mutate, only_strict=r"trace_view\.json: .*byte \d+")
            else:
                yield on_trace(name, mutate, "partial", skipped=1)


def long_event(mebibytes):
    """A value that makes an event somewhat longer than that."""
    return b"[" + (b'"' + b"x" * 65532 + b'",') * (mebibytes * 16) + b"1]"


def events_once():
    """Damage that need not be tried everywhere, in the middle event that is wanted."""
    def at(path, raw):
        return lambda base: base.with_value(base.event("wanted", "middle"), path, raw)
    for raw in (b"Infinity", b"-Infinity", b"nan", b"N/A", b"None", b"True", b"01", b"+1", b".5", b"1.", b"0x1F",
                b"1e", b"'x'",
                b'"\\x41"', b'"\\u12G4"', b'"a\nb"', b"{,}", b'{"a": 1,}', b"[1,]", b"[1 2]", b'{"a" 1}', b"{a: 1}",
                b'{1: 1}', b"// no\n 1", b"", b"]", b"undefined", b"\xff", b"\xe6\xa1", b"-", b"--1"):
        yield on_trace(f"{raw!r} as a value", at(("args", "x"), raw), "partial", skipped=1)
    for depth in (1000, 200000):
        deep = b"[" * depth + b"]" * depth
        objects = b'{"a":' * depth + b"1" + b"}" * depth
        for what, raw in (("arrays", deep), ("objects", objects), ("open arrays", b"[" * depth)):
            yield on_trace(f"{depth} {what} inside one another", at(("args", "x"), raw), "partial", skipped=1,
                           message=r"trace_view\.json: .*limit JSON_DEPTH.* at byte \d+")
    yield on_trace("a text of 9 MiB", at(("args", "x"), b'"' + b"x" * (9 << 20) + b'"'), "partial", skipped=1,
                   message=r"trace_view\.json: .*limit STRING_BYTES.* at byte \d+")
    yield on_trace("an event of 17 MiB", at(("args", "x"), long_event(17)),
                   "partial", skipped=1,
                   message=r"trace_view\.json: .*limit EVENT_BYTES.* at byte \d+")
    yield on_trace("damage in four events, two of them neighbours", lambda b: b.with_event(
        b.event("wanted", "last"), b'{"cat": "cpu_op", "ph": NaN}').replace(
            b'"ph": "M"', b'"x": "cpu_op", "ph": M').replace(b'"ph": "C"', b'"x": "cpu_op", "ph": C'),
        "partial", skipped=3)        # the second neighbour is passed over
    yield on_trace("a key of 9 MiB", at(("args", "x"), b'{"' + b"k" * (9 << 20) + b'": 1}'), "partial", skipped=1,
                   message=r"trace_view\.json: .*limit STRING_BYTES.* at byte \d+")


def between_events():
    """Damage around events, or of several of them."""
    def before(data, which="middle"):
        """Bytes in front of an event, behind the comma."""
        return lambda base: base.with_span(*(base.spans[base.event("wanted", which)][0],) * 2, data)

    def behind(data):
        return lambda base: base.trace.rstrip() + data

    def gap(data, count=1):
        """Bytes in place of what is between events."""
        def change(base):
            number = base.event("wanted", "middle")
            return base.with_span(base.spans[number - 1][1], base.spans[number][0], data)
        return change

    def hole(base):
        """Zero bytes from inside one event to inside another."""
        first, last = base.event("wanted", "first"), base.event("wanted", "middle")
        start, end = base.spans[first][0] + 20, base.spans[last][0] + 20
        return base.with_span(start, end, bytes(end - start))
    for data in (b"null, ", b"5, ", b'"text", ', b"true, ", b"[], ", b'[{"ph": "X"}], '):
        yield on_trace(f"{data!r} as an element", before(data), "partial", skipped=1, message=r"trace_view\.json: ")
    yield on_trace("two elements that are no objects", before(b"1, [2], "), "partial", skipped=2,
                   message=r"trace_view\.json: ")
    for data in (b", ", b"\0\0, ", b"NaN, ", b"}, ", b": 1, ", b"xyz, ", b"\xff, "):
        yield on_trace(f"{data!r} between events", before(data), "partial")
    yield on_trace("no comma between events", gap(b" "), "partial", skipped=1)
    yield on_trace("nothing between events", gap(b""), "partial", skipped=1)
    # the text at fault reaches into the next event, which counts all the same
    yield on_trace("a quote between events", gap(b'" , '), "partial")
    yield on_trace("a quote in place of a comma", gap(b' "x, '), "partial")
    for key in (b'"ts""', b'"ts" "'):
        yield on_trace(f"{key!r} as the end of an event", lambda b, k=key: b.with_event(
            b.event("unwanted", "first"), b'{"ph": "X", ' + k + b": 0}"), "partial", skipped=1)
    yield on_trace("a colon between events", gap(b": "), "partial")
    yield on_trace("the array ends too early", gap(b"], "), "partial")
    yield on_trace("a hole of zero bytes", hole, "partial", skipped=1)
    yield on_trace("no opening brace", lambda b: b.with_span(b.spans[1][0], b.spans[1][0] + 1, b""), "partial",
                   skipped=1)
    yield on_trace("no bracket at the start", lambda b: b.trace[1:], "partial")
    yield on_trace("a comma behind the bracket", lambda b: b"[," + b.trace[1:], "partial")
    yield on_trace("a comma before the last bracket", lambda b: b.trace.rstrip()[:-1] + b",]", "partial")
    for data in (b"xyz", b"]", b"}", b",", b"\0" * 100, b"[]", b"\xff\xfe", b" null", b'{"x": 1}'):
        yield on_trace(f"{data!r} behind the end", behind(data), "partial")
    yield on_trace("the whole twice", lambda b: b.trace + b.trace, "partial")


def cuts():
    """The writer was killed."""
    for kind, which in POSITIONS:
        yield on_trace(f"cut inside the {which} {kind} event",
                       lambda b, k=kind, w=which: b.trace[:sum(b.spans[b.event(k, w)]) // 2], "partial", skipped=1)
        yield on_trace(f"cut behind the {which} {kind} event",
                       lambda b, k=kind, w=which: b.trace[:b.spans[b.event(k, w)][1]], "partial")
    yield on_trace("cut behind a comma", lambda b: b.trace[:b.spans[2][1] + 1], "partial")
    yield on_trace("cut behind a brace", lambda b: b.trace[:b.spans[2][0] + 1], "partial", skipped=1)
    yield on_trace("cut behind the first bracket", lambda b: b.trace[:1], "partial")
    yield on_trace("cut before the last bracket", lambda b: b.trace.rstrip()[:-1], "partial")


def roots():
    """What is no array of events at all; whole files."""
    for data in (b"", b" \r\n\t ", b"{}", b"5", b'"text"', b"null", b"NaN", b"\0" * 1000, b"<html></html>", b"[",
                 b"{", b'{"', b"]",
                 b'{"traceEvents": 5}', b'{"traceEvents": {}}', b'{"traceEvents"}', b'{"traceEvents": [',
                 b'{"x": [{"ph": "X"}]}',
                 b"\xef\xbb\xbf", b"\xef\xbb", b"\x1f\x8b\x08\0"):
        yield on_trace(f"{data[:40]!r}, {len(data)} bytes, as the file", lambda b, d=data: d, "partial",
                       message=r"trace_view\.json: ")
    for depth in (2, 1000000):
        yield on_trace(f"{depth} open arrays as the file", lambda b, d=depth: b"[" * d, "partial", skipped=1)
    yield on_trace("event arrays inside one another as the file", lambda b: b'{"traceEvents": [' * 1000, "partial",
                   skipped=1,
                   message=r"trace_view\.json: .*limit JSON_DEPTH.* at byte \d+")
    yield on_trace("b'[1]' as the file", lambda b: b"[1]", "partial", skipped=1, message=r"trace_view\.json: ")
    yield on_trace("only noise", lambda b: random.Random(1).randbytes(100000), "partial", message=r"trace_view\.json: ")
    yield on_trace("as UTF-16", lambda b: b.trace.decode().encode("utf-16"), "partial", message=r"trace_view\.json: ")
    for data in (b"[]", b" [ ] \n", b'{"traceEvents": []}', b'\xef\xbb\xbf[]',
                 b'{"a": [{}], "traceEvents": [ ], "b": null}'):
        yield on_trace(f"{data!r} as the file", lambda b, d=data: d, same=False)


def in_object(base, before=b'"schemaVersion": 1', after=b'"displayTimeUnit": "ms"', array=None):
    """The trace as an object."""
    return b"{" + before + b', "traceEvents": ' + (array or base.trace.rstrip()) + b", " + after + b"}\n"


def objects():
    """A trace that is an object, damaged around and in its array."""
    yield on_trace("an object, whole", in_object)
    yield on_trace("an object, decoys around", lambda b: in_object(
        b, b'"a": {"traceEvents": [{"ph": "X"}]}, "list": [{"name": "x"}, 1.5, [[]]]', b'"z": [{"ph": 1}], "y": {}'))
    yield on_trace("an object, garbage behind a value", lambda b: in_object(b, after=b'"x": 1 2'), "partial")
    yield on_trace("an object, no value behind its array", lambda b: in_object(b, after=b'"x": '), "partial")
    yield on_trace("an object, a comma before its end", lambda b: in_object(b, after=b""), "partial")
    yield on_trace("an object, no comma behind its array", lambda b: in_object(b).replace(b'], "disp', b'] "disp'),
                   "partial")
    yield on_trace("an object, not closed", lambda b: in_object(b).rstrip()[:-1], "partial")
    yield on_trace("an object, garbage behind it", lambda b: in_object(b) + b"x", "partial")
    yield on_trace("an object, damage in its array", lambda b: in_object(b, array=b.with_value(
        b.event("wanted", "middle"), ("pid",), b"NaN").rstrip()), "partial", skipped=1)
    yield on_trace("an object, a comma at the end of its array",
                   lambda b: in_object(b, array=b.trace.rstrip()[:-1] + b",]"), "partial")
    yield on_trace("an object, cut in an event", lambda b: in_object(b)[:b.spans[5][0] + 60], "partial", skipped=1)
    yield on_trace("an object, damage before its array", lambda b: in_object(b, b'"x": NaN'), "partial")
    yield on_trace("an object, closed by the wrong bracket", lambda b: in_object(b).rstrip()[:-1] + b"]", "partial")


def values():
    """Values that cannot be read, or that look as if they could not."""
    def at(kind, path, raw):
        return lambda base: base.with_value(base.event(kind, "middle"), path, raw)
    sequence, forward, stack = ("args", "Sequence number"), ("args", "Fwd thread id"), ("args", "Call stack")
    said = {"message": r"trace_view\.json: "}
    for raw in (b'"x"', b"null", b'""', b"true", b"[]", b"{}", b"1e30", b'"1736405443863674.4x"', b'"N/A"'):
        yield on_trace(f"ts is {raw!r}, wanted", at("wanted", ("ts",), raw), "partial", skipped=1, **said)
    yield on_trace("ts is 'x', not wanted", at("unwanted", ("ts",), b'"x"'))
    for key, path, bad in (("dur", ("dur",), (b'"x"', b'"N/A"', b"1e30", b'"5 us"')),
                           ("Sequence number", sequence, (b'"x"', b"99999999999999999999", b"1.5", b'"7.0"')),
                           ("Fwd thread id", forward, (b'"x"', b"1.5", b'"1e3"'))):
        for raw in bad:
            yield on_trace(f"{key} is {raw!r}, wanted", at("wanted", path, raw), "partial", **said)
        yield on_trace(f"{key} is {bad[0]!r}, not wanted", at("unwanted", path, bad[0]))
    for raw in (b"99999999999999999999", b'"99999999999999999999"', b"9223372036854775807"):
        yield on_trace(f"Fwd thread id is {raw!r}", at("wanted", forward, raw))
    for raw in (b'"\xff"', b'"a\\u0000b"', b'"a\xe6\xa1;\\r\\nb"', b'"\xf0\x9f\x98;\\r\\n\xc0\xaf\xed\xa0\x80"',
                b'"\xed\xa0\x80"'):
        yield on_trace(f"a call stack of {raw!r}", at("wanted", stack, raw), "partial", **said)
    yield on_trace("invalid UTF-8 in a name that is not wanted", at("unwanted", ("name",), b'"\xff\xfe"'))
    yield on_trace("invalid UTF-8 in a value that nobody needs", at("wanted", ("args", "x"), b'"\xff\xfe"'))


def accepted_traces():
    """Variations that are not damage; rows stay the same."""
    def rewritten(**options):
        return lambda base: json.dumps(base.events, **options).encode()

    def each(change):
        """Every event changed."""
        return lambda base: json.dumps([change(json.loads(json.dumps(e))) for e in base.events]).encode()

    def further(**values):
        return each(lambda event: {**event, **values})

    def value(path, raw):
        return lambda base: base.with_value(base.event("unwanted", "middle"), path, raw)

    def as_numbers(base):
        """Time stamps as JSON numbers."""
        return re.sub(rb'"ts": "([0-9.]+)"', rb'"ts": \1', base.trace)

    def as_texts(base):
        return re.sub(rb'"(dur|pid|tid|Sequence number|Fwd thread id)": (-?[0-9.]+)', rb'"\1": "\2"', base.trace)
    yield on_trace("as it is", lambda b: b.trace)
    yield on_trace("pretty-printed", rewritten(indent=4))
    yield on_trace("pretty-printed with CRLF", lambda b: json.dumps(b.events, indent=1).replace("\n", "\r\n").encode())
    yield on_trace("without blanks", rewritten(separators=(",", ":")))
    yield on_trace("keys sorted", rewritten(sort_keys=True))
    yield on_trace("keys in reverse order", each(lambda e: dict(reversed(e.items()))))
    yield on_trace("blanks around everything",
                   lambda b: b" \r\n\t" + b.trace.replace(b", {", b"\t,\r\n {") + b"\r\n\r\n  ")
    yield on_trace("with a byte order mark", lambda b: b"\xef\xbb\xbf" + b.trace)
    yield on_trace("an object with a byte order mark", lambda b: b"\xef\xbb\xbf" + in_object(b))
    yield on_trace("times as numbers", as_numbers)
    yield on_trace("numbers as texts", as_texts)
    yield on_trace("keys escaped", lambda b: b.trace.replace(b'"Call stack"', b'"\\u0043all\\u0020stack"'))
    yield on_trace("slashes escaped", lambda b: b.trace.replace(b"/", b"\\/"))
    yield on_trace("keys that come twice", lambda b: b.trace.replace(b'"ph": "X"', b'"ph": "?", "ts": 5, "ph": "X"'))
    yield on_trace("keys that nobody knows",
                   further(x=[[{}], {"name": 1, "ts": 2, "args": {"Call stack": "no"}}], Y=None))
    yield on_trace("large numbers where nobody needs them",
                   further(id=11022204950826225271, hash=10**60, rate=-1.5e-300))
    yield on_trace("an exponent beyond a double", value(("args", "x"), b"1e999"))
    for raw in (b"null", b"[]", b'"text"', b"5", b"true", b"[[1]]"):
        yield on_trace(f"args is {raw!r}", value(("args",), raw))
    yield on_trace("120 arrays inside one another", value(("args", "x"), b"[" * 120 + b"]" * 120))
    yield on_trace("a text of 7 MiB", value(("args", "x"), b'"' + b"x" * (7 << 20) + b'"'))
    yield on_trace("an event of 15 MiB", value(("args", "x"), long_event(15)))
    yield on_trace("events without anything", lambda b: b"[{}, " + b.trace[1:].rstrip()[:-1] + b", {}]")
    yield on_trace("all kinds of ph",
                   lambda b: b.trace.replace(b'"ph": "C"', b'"ph": "i"').replace(b'"ph": "M"', b'"ph": "f"'))
    yield on_trace("a quote and a brace in a text", value(("name",), b'"a \\"}, {\\"ph\\": \\"X\\"} ], {"'))
    yield on_trace("flow events of large ids", lambda b: b"[" + b", ".join(
        b'{"ph": "%s", "id": %d, "ts": "1", "name": "n"}' % (ph, 1736405443863674400) for ph in (b"s", b"t",
                                                                                                 b"f")) + b", "
        + b.trace[1:])
    yield on_packed("packed", gzip.compress)
    yield on_packed("packed in two members", lambda d: gzip.compress(d[:len(d) // 2]) + gzip.compress(d[len(d) // 2:]))
    yield on_packed("packed in 30 members", lambda d: b"".join(
        gzip.compress(d[i:i + len(d) // 30 + 1]) for i in range(0, len(d), len(d) // 30 + 1)))
    yield on_packed("packed, an empty member between",
                    lambda d: gzip.compress(d[:50]) + gzip.compress(b"") + gzip.compress(d[50:]))
    yield on_packed("packed with a byte order mark", lambda d: gzip.compress(b"\xef\xbb\xbf" + d))
    yield on_packed("stored, not packed", lambda d: gzip.compress(d, compresslevel=0))


def packed():
    """Damaged gzip data."""
    def flipped(data):
        data = bytearray(gzip.compress(data))
        data[-6] ^= 0x55            # of the checksum
        return bytes(data)
    yield on_packed("packed, empty", lambda d: b"", "partial")
    yield on_packed("packed, of nothing", lambda d: gzip.compress(b""), "partial")
    yield on_packed("packed, cut in its head", lambda d: gzip.compress(d)[:5], "partial")
    yield on_packed("packed, its checksum cut", lambda d: gzip.compress(d)[:-5], "partial")
    yield on_packed("packed, a wrong checksum", flipped, "partial")
    yield on_packed("packed, a text behind it", lambda d: gzip.compress(d) + b"garbage behind it", "partial")
    yield on_packed("packed, zero bytes behind it", lambda d: gzip.compress(d) + bytes(512), "partial")
    yield on_packed("packed, half a member behind it", lambda d: gzip.compress(d) + gzip.compress(b" " * 100)[:12],
                    "partial")
    yield on_packed("packed, a cut text", lambda d: gzip.compress(d[:-1]), "partial",
                    message=r"trace_view\.json.*: .* at byte \d+")
    yield on_packed("packed, damage in an event", lambda d: gzip.compress(d.replace(b'"ph": "X"', b'"ph": NaN', 1)),
                    "partial",
                    skipped=1)


def tables():
    """Damage of operator_memory.csv."""
    def cell(which, title, raw):
        return lambda base: base.with_cell(base.line(which), title, raw)
    for which in ("first", "GE", "last"):
        for title, raw in (("Size(KB)", b"x"), ("Size(KB)", b"1e999"), ("Allocation Time(us)", b"1.69512E+15"),
                           ("Allocation Time(us)", b"soon"), ("Duration(us)", b"1;5"),
                           ("Release Time(us)", b"1736405443863674.4.4"), ("Allocation Total Allocated(MB)", b"NaN"),
                           ("Active Duration(us)", b"inf"), ("Name", b"\xff"), ("Stream Ptr", b"6\0"),
                           ("Device Type", b"NPU\xe6\xa1")):
            yield on_table(f"{title} is {raw!r}, {which} row", cell(which, title, raw), "partial", bad_cells=1)
        yield on_table(f"a cell too few, {which} row", lambda b, w=which: b.with_line(
            b.line(w), b.lines[b.line(w)].rsplit(b",", 1)[0] + b"\r\n"), "partial", bad_cells=1)
        yield on_table(f"a cell too many, {which} row", lambda b, w=which: b.with_line(
            b.line(w), b.lines[b.line(w)].rstrip() + b",more\r\n"), "partial", bad_cells=1)
        yield on_table(f"a quote never closed, {which} row", lambda b, w=which: b.with_line(
            b.line(w), b'"' + b.lines[b.line(w)]), "partial", lost_rows=1)
        yield on_table(f"a quote never closed in a later cell, {which} row", cell(which, "Device Type", b'"NPU:0'),
                       "partial",
                       lost_rows=1)
        yield on_table(f"a cell of 2 MiB, {which} row", cell(which, "Name", b"x" * (2 << 20)), "partial", lost_rows=1,
                       message=r"operator_memory\.csv: (?=.*at byte \d+).*limit CSV_CELL_BYTES")
        yield on_table(f"a row of 5 MiB, {which} row", lambda b, w=which: b.with_line(
            b.line(w), b.lines[b.line(w)].rstrip() + (b"," + b"x" * 9999) * 525 + b"\r\n"), "partial", lost_rows=1,
            message=r"operator_memory\.csv: (?=.*at byte \d+).*limit CSV_ROW_BYTES")
        yield on_table(f"a row of 5000 cells, {which} row", lambda b, w=which: b.with_line(
            b.line(w), b.lines[b.line(w)].rstrip() + b"," * 5000 + b"\r\n"), "partial", lost_rows=1,
            message=r"operator_memory\.csv: (?=.*at byte \d+).*limit CSV_COLUMNS")
    yield on_table("a quote never closed within 6 MB", lambda b: b.with_line(
        1, b'"' + b.lines[1] + (b"n" * 100000 + b.lines[1]) * 60), "partial", lost_rows=1 - 60)
    yield on_table("no time at all", lambda b: b.with_line(1, b"aten::add,8.5" + b"," * 12 + b"6,NPU:0\r\n"), "partial",
                   bad_cells=1)
    yield on_table("three bad cells in one row", lambda b: b.with_line(1, b"aten::add,x,y,z" + b"," * 11 + b"\r\n"),
                   "partial",
                   bad_cells=3)
    yield on_table("the last row cut", lambda b: b.table.rstrip()[:-12], "partial", bad_cells=1)
    yield on_table("the last row cut behind its name", lambda b: b"".join(b.lines[:-1]) + b"aten::su", "partial",
                   bad_cells=2)
    yield on_table("a unit that nobody knows", lambda b: b.table.replace(b"Allocation Total Allocated(MB)",
                                                                        b"Allocation Total Allocated(TB)"), "partial",
                   bad_cells=1)
    yield on_table("zero bytes in place of a row", lambda b: b.with_line(1, bytes(len(b.lines[1]) - 2) + b"\r\n"),
                   "partial",
                   bad_cells=3)
    nothing = {"lost_rows": ALL, "state": "damaged", "message": r"operator_memory\.csv: "}
    for title in ("Name", "Size(KB)", "Allocation Time(us)"):
        yield on_table(f"no column {title}", lambda b, t=title.encode(): b.table.replace(t, b"x", 1), "failed",
                       **nothing)
    yield on_table("another file's content", lambda b: b.trace, "failed", **nothing)
    yield on_table("only rows", lambda b: b"".join(b.lines[1:]), "failed", **nothing)
    yield on_table("only zero bytes", lambda b: bytes(5000), "failed", **nothing)
    yield on_table("semicolons in place of commas", lambda b: b.table.replace(b",", b";"), "failed", **nothing)
    yield on_table("a quote never closed in the header", lambda b: b'"' + b.table, "failed", **nothing)


def accepted_tables():
    """Variations of the table that are not damage."""
    def moved(order, row=lambda cells: cells):
        """The columns in another order."""
        def change(base):
            lines = [line.rstrip(b"\r\n").split(b",") for line in base.lines]
            return b"".join(b",".join(row([cells[i] for i in order(len(cells))])) + b"\r\n" for cells in lines)
        return change

    def times_quoted(base):
        return b"\r\n".join(re.sub(rb"([0-9]{16}\.[0-9]+)\t?", rb'"\1\t"',
                                   line.rstrip()) for line in base.lines) + b"\r\n"

    def in_megabytes(base):
        """Sizes in MB, totals in KB."""
        lines = [line.rstrip(b"\r\n").split(b",") for line in base.lines[1:]]
        for cells in lines:
            cells[1] = repr(float(cells[1]) / 1024).encode()
            cells[7:13] = [repr(float(c) * 1024).encode() if c else c for c in cells[7:13]]
        header = base.lines[0].replace(b"MB", b"?").replace(b"KB", b"MB").replace(b"?", b"KB")
        return header + b"".join(b",".join(cells) + b"\r\n" for cells in lines)
    yield on_table("with LF", lambda b: b.table.replace(b"\r\n", b"\n"))
    yield on_table("with CR", lambda b: b.table.replace(b"\r\n", b"\r"))
    yield on_table("CRLF and LF mixed", lambda b: b.table.replace(b"\r\n", b"\n", 3))
    yield on_table("with a byte order mark", lambda b: b"\xef\xbb\xbf" + b.table)
    yield on_table("a blank first line", lambda b: b"\r\n" + b.table)
    yield on_table("blank lines between", lambda b: b.table.replace(b"\r\n", b"\r\n\r\n \t\r\n"))
    yield on_table("no final line end", lambda b: b.table.rstrip())
    yield on_table("times quoted with TAB", times_quoted)
    yield on_table("everything quoted", lambda b: b"".join(
        b'"' + line.rstrip(b"\r\n").replace(b",", b'","') + b'"\r\n' for line in b.lines))
    yield on_table("blanks around cells", lambda b: b.table.replace(b",", b" , "))
    yield on_table("N-A in place of empty", lambda b: b.lines[0] + re.sub(
        rb"(?<=,)(?=[,\r])", b"N/A", b"".join(b.lines[1:])))
    yield on_table("columns in reverse order", moved(lambda n: range(n - 1, -1, -1)))
    yield on_table("further columns", moved(range, lambda cells: [b"x", *cells[:5], b'"a, b"', *cells[5:], b"7"]))
    yield on_table("sizes in MB, totals in KB", in_megabytes)
    yield on_table("ten columns", moved(lambda n: (0, 1, 2, 3, 5, 7, 8, 10, 11, 14)), same=False)
    yield on_table("a name with a comma, a quote and line breaks", lambda b: b.with_cell(
        1, "Name", b'"a, ""b""\r\nc\nd"'), same=False)
    yield on_table("a quote that is closed lines later", lambda b: b.with_line(
        1, b'"' + b"line\r\n" * 50 + b'"' + b.lines[1][b.lines[1].index(b","):]), same=False)
    yield on_table("header only", lambda b: b.lines[0], lost_rows=ALL)
    yield on_table("zero bytes long", lambda b: b"", lost_rows=ALL)
    yield on_table("a byte order mark only", lambda b: b"\xef\xbb\xbf", lost_rows=ALL)
    yield on_table("blank lines only", lambda b: b"\r\n\r\n", lost_rows=ALL)


def absent_or_not_needed():
    """Files that are not there, and what lies in the capture's directory."""
    def without(*names):
        def change(base, files):
            for name in names:
                del files[name]
        return change

    def with_file(name, content):
        return lambda base, files: files.update({name: content})

    def damaged_trace(base, files):
        files[TRACE] = b"[{]"
    yield Mutation("no trace", without(TRACE), TRACE, state="absent", same=False)
    yield Mutation("no table", without(TABLE), TABLE, state="absent", lost_rows=ALL)
    yield Mutation("no file at all", without(TRACE, TABLE), TRACE, "empty", state="absent", lost_rows=ALL,
                   message="no known file")
    yield Mutation("a damaged trace that no record needs",
                   lambda b, f: (damaged_trace(b, f), f.update({TABLE: b.lines[0]})), TRACE, state="unused",
                   lost_rows=ALL)
    yield Mutation("metadata that is no JSON", with_file("../profiler_metadata.json", b'{"role": '), TRACE, "partial",
                   state="read", message=r"profiler_metadata\.json: ", same=True)
    yield Mutation("metadata that is no object", with_file("../profiler_metadata.json", b"[]"), TRACE, "partial",
                   state="read",
                   message=r"profiler_metadata\.json: ", same=True)
    for content in (b"{}", b'{"role": 5}', b'{"role": ""}', b'{"role": null, "ENV_VARIABLES": {}}'):
        yield Mutation(f"metadata {content!r}", with_file("../profiler_metadata.json", content), TRACE)
    yield Mutation("another info file", with_file("../profiler_info_9999.json", b"{}"), TRACE, "failed",
                   state="unused", lost_rows=ALL,
                   message="no rank id")
    yield Mutation("a packed trace beside it", with_file(TRACE + ".gz", b"no gzip data"), TRACE)


COLUMNS = {
    "PYTORCH_API": ("startNs", "endNs", "globalTid", "name", "sequenceNumber", "fwdThreadId", "callchainId", "type"),
    "OP_MEMORY": ("name", "size", "allocationTime", "releaseTime", "duration", "allocationTotalAllocated",
                  "allocationTotalReserved", "allocationTotalActive", "releaseTotalAllocated", "releaseTotalReserved",
                  "releaseTotalActive", "streamPtr", "deviceId")}
MEMORY_TIMES = ("allocationTime", "releaseTime", "duration")


def recast(table, before, after, changed):
    """SQL that gives columns of a table another type."""
    columns = ", ".join(f"{before}{c}{after} {c}" if c in changed else c for c in COLUMNS[table])
    return (f"CREATE TABLE other AS SELECT {columns} FROM {table}; DROP TABLE {table}; "
            f"ALTER TABLE other RENAME TO {table}")


def databases():
    """Captures with a database."""
    ok = {"state": "read"}
    failed = {"state": "damaged", "lost_rows": ALL}
    yield on_database("a database", "", **ok)
    yield on_database("a database without a rank", "", file="ascend_pytorch_profiler.db", **ok)
    yield on_database("events from a database", "", keep=(TABLE,), **ok)
    yield on_database("records from a database", "", keep=(TRACE,), **ok)
    yield on_database("a database that is not needed", "", keep=(TRACE, TABLE), state="unused")
    yield on_database("a damaged one that is not needed", "", keep=(TRACE, TABLE), change=lambda d: b"x" * 5000,
                      state="unused",
                      same=True)
    # without records nothing looks for a stack, so nothing of it is used
    yield on_database("a database without OP_MEMORY", "DROP TABLE OP_MEMORY", same=False, lost_rows=ALL, state="unused")
    for table in ("PYTORCH_API", "PYTORCH_CALLCHAINS"):
        yield on_database(f"a database without {table}", f"DROP TABLE {table}", same=False, lost_rows=0, **ok)
    yield on_database("a database without names", "DROP TABLE STRING_IDS", "partial", message=".", state="damaged")
    yield on_database("a database without one name", "DELETE FROM STRING_IDS WHERE value = 'aten::mul'", "partial",
                      message=".")
    yield on_database("a database without one frame", "DELETE FROM STRING_IDS WHERE value = 'main.py(1): main'",
                      "partial",
                      message=".")
    for column in ("releaseTotalActive", "deviceId"):
        yield on_database(f"a database without column {column}", f"ALTER TABLE OP_MEMORY DROP COLUMN {column}",
                          same=False, **ok)
    yield on_database("a database without column releaseTime", "ALTER TABLE OP_MEMORY DROP COLUMN releaseTime",
                      "partial",
                      bad_cells=1, message=".")      # a row that was only released has no time
    yield on_database("a database without column activeDuration", "ALTER TABLE OP_MEMORY DROP COLUMN activeDuration",
                      **ok)
    for column in ("connectionId", "inputShapes"):
        yield on_database(f"a database without column {column}", f"ALTER TABLE PYTORCH_API DROP COLUMN {column}", **ok)
    for column in ("sequenceNumber", "fwdThreadId", "callchainId"):
        yield on_database(f"a database without column {column}", f"ALTER TABLE PYTORCH_API DROP COLUMN {column}",
                          same=False, **ok)
    yield on_database("times as text", recast("OP_MEMORY", "CAST(", " AS TEXT)", MEMORY_TIMES), **ok)
    yield on_database("event times as integers", recast("PYTORCH_API", "CAST(", " AS INTEGER)", ("startNs", "endNs")),
                      **ok)
    yield on_database("times as REAL", recast("OP_MEMORY", "", " + 0.0", MEMORY_TIMES), same=False, **ok)
    yield on_database("a size that is no number", "UPDATE OP_MEMORY SET size = 'x' WHERE rowid = 2", "partial",
                      bad_cells=1,
                      message=".")
    yield on_database("a time that is no number", "UPDATE OP_MEMORY SET allocationTime = 'x' WHERE rowid = 1",
                      "partial",
                      bad_cells=1, message=".")
    yield on_database("an event time that is no number", "UPDATE PYTORCH_API SET startNs = 'x' WHERE rowid = 1",
                      "partial",
                      skipped=1, message=".")
    yield on_database("an event without an end", "UPDATE PYTORCH_API SET endNs = NULL WHERE rowid = 1", same=False,
                      **ok)
    yield on_database("a write-ahead log beside it", "", "partial", beside={"-wal": b"x" * 100}, message="checkpoint",
                      same=True)
    yield on_database("an empty write-ahead log beside it", "", beside={"-wal": b""}, **ok)
    yield on_database("a journal beside it", "", "partial", beside={"-journal": b"x" * 100}, message="journal",
                      same=True)
    yield on_database("a shared-memory file beside it", "", beside={"-shm": b"x" * 100}, **ok)
    yield on_database("no database", "", "failed", change=lambda d: b"this is no database\n" * 300, **failed)
    yield on_database("a wrong header", "", "failed", change=lambda d: b"SQLite format 2" + d[15:], **failed)
    yield on_database("only the first page of one", "", "failed", change=lambda d: d[:4096], **failed)
    yield on_database("no database for the events", "", "partial", keep=(TABLE,), change=lambda d: b"x" * 5000,
                      same=False)
    yield on_database("a damaged trace beside a database", "", "partial", keep=(TABLE,), text={TRACE: b'[{"ph": "X", '},
                      state="unused", message="trace_view", skipped=1, same=False)
    yield on_database("a damaged table beside a database", "", "failed", keep=(TRACE,), text={TABLE: b"Name;Size"},
                      state="unused", message="operator_memory", lost_rows=ALL)


GROUPS = (events_everywhere, events_once, between_events, cuts, roots, objects, values, accepted_traces, packed, tables,
          accepted_tables, absent_or_not_needed, databases)
ON_REAL = (events_everywhere, between_events, cuts, packed)     # these fit every base
