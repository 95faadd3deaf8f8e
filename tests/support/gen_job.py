#!/usr/bin/python3
"""Write a small job of Ascend profiler captures that holds every valid variation of their memory files.

Roles, ranks and windows, time stamps and parents of every form; captures without a trace, without a
table, raw, with an empty trace, packed; traces as an array or an object with all kinds of events, all
forms of numbers, ties, nested operators and backward threads; tables of every column set and quoting.
Nothing is damaged: every capture is ok or empty. The bytes depend on --seed and --scale alone.
"""
import argparse
import gzip
import json
import os
import random
import re

START_NS = 1736405443863674400      # all captures start here, so that their rows interleave and tie
SCENE_NS = 1000000                  # one scene takes at most one millisecond
FORWARD, BACKWARD, BACKWARD_2 = ((4300000000, 4300000000), (4300000000, "26591"), ("4300000000", 26592))
STEP_FOLDER, REFERENCE, CRITIC = "训练 作业/step 2", "训练 作业/ref log prob", "critic_节点_1"
NAMES = ["aten::empty", "aten::empty_strided", "aten::add", "aten::_to_copy", "npu::npu_rms_norm", "HcclAllgather",
         'odd, "quoted" name', "two\nlines", "three\r\nlines, really", "算子::加法", "back\\slash/\U0001f600"]

# Every capture: parent, directory, profiler_info (a rank: in the file name; None: no key), role in the metadata
# (None: no such file, "": no role), style of the trace and of the table (None: no such file).
CAPTURES = [
    ("训练 作业/actor", "host0_1000_20250109143043123_ascend_pt", 0, "actor", "line", "plain"),
    (STEP_FOLDER, "20250109_143044_ascend_pt", 0, "actor", "pretty", "quoted"),
    (STEP_FOLDER, "rank0_ascend_pt", 0, "actor", "object", "spread"),
    (STEP_FOLDER, "dp0_pp0_tp1_cp0_ep0_rank1_20250109143045_ascend_pt", {"rank_id": 1}, "actor", "packed", "plain"),
    (STEP_FOLDER, "host_1_20250109143043125_ascend_pt", {"rank_id": "2"}, "actor", "line", None),
    (REFERENCE, "rank_0_ascend_pt", {}, None, "lines", "ten columns"),
    (REFERENCE, "xxx_ascend_pt", 1, "", None, "quoted"),
    (REFERENCE, "rank_2_20250109143043126_ascend_pt", 2, None, "empty", "plain"),
    (REFERENCE, "host_2_20250109143043127_ascend_pt", 3, None, "raw", None),
    (REFERENCE, "unknown_ascend_pt", 0, None, None, None),
    (CRITIC, "host 3_20250109143043128_ascend_pt", 12, "Критик 评论家", "object", "megabytes"),
    (CRITIC, "host 3_20250109143043129_ascend_pt", 13, "Критик 评论家", "no stacks", "plain"),
    (CRITIC, "host 3_20250109143043130_ascend_pt", 14, "Критик 评论家", "empty object", "header"),
    (CRITIC, "host 3_20250109143043131_ascend_pt", 15, "Критик 评论家", "lines", "nothing"),
]


def us(ns):
    """Nanoseconds as decimal microseconds with three decimals."""
    return f"{ns // 1000}.{ns % 1000:03d}"


class Number(str):
    """A number as it is to stand in JSON."""


class Trace:
    """Draws events and the memory records (name, ns) that belong to them; `now` is the time in ns."""

    def __init__(self, rng, with_stack):
        self.rng, self.with_stack = rng, with_stack
        self.now, self.sequence = START_NS, 100
        self.events, self.records = [], []
        self.stacks = [self.call_stack(depth) for depth in (1, 2, 2, 3, 3, 4, 5, 25)]
        self.stacks += ['a "quoted" frame}], [{"ph": "X"};\r\n\\', "escape \x1b;\r\n框架.py(3): 前向 \U0001f600"]

    def call_stack(self, depth):
        """A call stack, the innermost frame first."""
        files = ("torch/nn/modules/module.py", "verl/工作/dp_actor.py", "torch/autograd/function.py")
        return ";\r\n".join(f"/opt/{self.rng.choice(files)}({self.rng.randint(1, 2000)}): "
                            f"{self.rng.choice(('forward', 'inner', '<lambda>'))}" for _ in range(depth))

    # ------------------------------------------------------------------------------ events

    def ts(self, ns):
        """A time stamp in one of its forms."""
        forms = [us(ns), us(ns), us(ns).rstrip("0").rstrip("."), Number(us(ns)), Number(us(ns).rstrip("0") + "0")]
        if ns % 1000 == 0:
            forms += [str(ns // 1000), ns // 1000]
        if self.rng.random() < 0.02:
            forms = [Number(f"{ns}e-3"), Number(f"{str(ns)[0]}.{str(ns)[1:]}E15")]
        return self.rng.choice(forms)

    def dur(self, ns):
        """A duration in one of its forms; tails may round it by one nanosecond."""
        tail = self.rng.choice(("", "0", "4", "5", "49999999999999", "50000000000000", "99999999999999"))
        forms = [us(ns), Number(us(ns)), Number(us(ns) + tail), us(ns) + tail]
        if ns % 1000 == 0:
            forms += [ns // 1000, Number(f"{ns // 1000}e0")]
        return self.rng.choice(forms)

    def op(self, name, at, ns, thread=FORWARD, stack=None, sequence=None, forward=None, cat="cpu_op", **more):
        """Add an event `at` ns after now; `ns` long, None without a duration. `stack` is any JSON value."""
        arguments = {"Sequence number": sequence, "Fwd thread id": forward, "Input Dims": "4,2;\r\n;\r\n"}
        if self.with_stack:
            arguments["Call stack"] = stack
        arguments = {key: value for key, value in arguments.items() if value is not None}
        event = {"ph": "X", "name": name, "pid": thread[0], "tid": thread[1], "ts": self.ts(self.now + at),
                 "dur": None if ns is None else self.dur(ns), "cat": cat, "args": arguments, **more}
        self.events.append({key: value for key, value in event.items() if value is not None})

    def record(self, name, at):
        """Add a memory record `at` ns after now."""
        self.records.append((name, self.now + at))

    def stack(self):
        return self.rng.choice(self.stacks)

    def next_sequence(self):
        self.sequence += 1
        return self.sequence

    # ------------------------------------------------------------------------------ scenes

    def nested(self):
        """An earlier, longer operator encloses where the last one of its name has ended; all bounds are hit."""
        name = self.rng.choice(NAMES)
        self.op(name, 0, 100000, stack=self.stacks[1])
        self.op(name, 10000, 10000, stack=self.stacks[3])
        for at in (-1, 0, 9999, 10000, 19999, 20000, 50000, 99999, 100000, 200000):
            self.record(name, at)

    def ties(self):
        """Same-named operators with equal times; the later in the file wins."""
        name = self.rng.choice(NAMES)
        for ns in (40000, 60000, 50000):
            self.op(name, 1000, ns, stack=self.stack())
        for at in (1000, 45000, 55000, 65000):
            self.record(name, at)

    def never_enclosing(self):
        """Operators without a usable duration, found as the nearest only."""
        name = self.rng.choice(NAMES)
        self.op(name, 0, None, stack=self.stack())
        self.op(name, 20000, 0, stack=self.stack())
        self.op(name, 40000, None, stack=self.stack(), ph="B")
        self.op(name, 60000, None, ph="E")
        self.op(name, 80000, 5000, stack=self.stack(), dur=-5)
        for at in (0, 30000, 50000, 70000, 81000):
            self.record(name, at)

    def not_stacks(self):
        """Stacks that do not count: not text, empty, elsewhere, or not of a cpu_op."""
        name = "not::stacks"
        for at, value in enumerate((7, "", [self.stack()], {"a": self.stack()}, True)):
            self.op(name, at * 1000, 90000, stack=value)
        self.op(name, 6000, 90000, **{"Call stack": self.stack()})
        self.op(name, 7000, 90000, stack=self.stack(), cat="python_function")
        self.op(name, 8000, 90000, stack=self.stack(), cat=None)
        self.events[-1]["args"]["args"] = {"cat": "cpu_op", "Call stack": self.stack()}
        self.op(name, 9000, 90000, cat='{"cat": "cpu_op", "args": {"Call stack": "x"}}')
        for args in (None, Number("null"), [], "text", 5):
            self.op(name, 9500, 90000)
            self.events[-1].pop("args")
            self.events[-1].update({"args": args} if args is not None else {})
        self.record(name, 50000)

    def backward(self):
        """A record in the backward thread gets the stack of the forward operator."""
        name, sequence = self.rng.choice(NAMES), self.next_sequence()
        text = self.rng.random() < 0.5
        self.op("aten::forward", 0, 20000, stack=self.stack(), sequence=sequence - 50)
        self.op("aten::forward", 1000, 20000, stack=self.stack(), sequence=str(sequence) if text else sequence)
        self.op("aten::forward", 2000, 20000, stack=self.stack(), sequence=sequence,
                cat=self.rng.choice((None, "cpu_op")))
        self.op("MulBackward0", 300000, 90000, BACKWARD, sequence=sequence if text else str(sequence), forward=1)
        self.op(name, 310000, 50000, BACKWARD, sequence=-1, forward=0)
        self.op("later::forward", 320000, 100, stack=self.stack(), sequence=sequence)
        for at in (309999, 310000, 359999, 360000):
            self.record(name, at)

    def innermost(self):
        """Several backward operators enclose: greatest time, then shortest, then the later in the file."""
        name, outer = self.rng.choice(NAMES), self.next_sequence()
        inner = [self.next_sequence() for _ in range(4)]
        for sequence in (outer, *inner):
            self.op("aten::forward", 1000, 20000, stack=self.stack(), sequence=sequence)
        self.op("OuterBackward0", 300000, 200000, BACKWARD, sequence=outer, forward="1")
        for sequence, ns in zip(inner, (90000, 60000, 60000, 30000)):
            self.op("InnerBackward0", 310000, ns, BACKWARD, sequence=sequence, forward=1)
        self.op("OtherThreadBackward0", 320000, 90000, BACKWARD_2, sequence=inner[0], forward=1)
        self.op("NoForwardThread", 320000, 90000, BACKWARD, sequence=inner[0], forward=0)
        self.op(name, 305000, 190000, BACKWARD)
        for at in (306000, 315000, 345000, 375000, 405000):
            self.record(name, at)

    def second_candidate(self):
        """The last candidate has no way to a stack, an earlier one has."""
        name, sequence, lost = self.rng.choice(NAMES), self.next_sequence(), self.next_sequence()
        self.op("aten::forward", 0, 20000, stack=self.stack(), sequence=sequence)
        self.op("AddBackward0", 300000, 90000, BACKWARD, sequence=sequence, forward=1)
        self.op(name, 310000, 70000, BACKWARD)
        if self.rng.random() < 0.5:
            self.op("LostBackward0", 320000, 90000, BACKWARD_2, sequence=lost, forward=1)
        self.op(name, 330000, 70000, BACKWARD_2)
        self.record(name, 340000)
        self.record(name, 390000)

    def no_forward_stack(self):
        """Backward operators whose forward operator has no stack, comes too late, or cannot be told."""
        name = "never::found"
        for at, stack, forward_at, told in ((300000, None, 0, True), (400000, self.stack(), 400000, True),
                                            (500000, self.stack(), 0, None), (600000, self.stack(), 0, -1)):
            sequence = self.next_sequence()
            self.op("aten::forward", forward_at, 20000, stack=stack, sequence=sequence)
            self.op("SumBackward0", at, 90000, BACKWARD, sequence=sequence if told is True else told, forward=1)
            self.op(name, at + 1000, 80000, BACKWARD)
            self.record(name, at + 2000)

    def crowd(self):
        """Many operators of few names at few times, so that everything occurs together."""
        rng = self.rng
        for _ in range(40):
            stack = self.stack() if rng.random() < 0.4 else None
            sequence = rng.choice((None, -1, self.sequence + rng.randint(-9, 0), str(self.sequence)))
            self.op(rng.choice(NAMES[:4]), rng.randint(0, 60) * 10000, rng.choice((0, 10000, 50000, 250000)),
                    rng.choice((FORWARD, BACKWARD, BACKWARD_2)), stack, sequence, rng.choice((None, 0, 1, "2", "0")))
        for _ in range(30):
            self.record(rng.choice(NAMES[:4]), rng.randint(0, 700) * 1000 + rng.choice((-1, 0, 0, 1)))

    def others(self):
        """Events that memory analysis passes over: metadata, counters, flows, device and host events."""
        ts = self.ts(self.now + 500)
        self.events += [
            {"name": "process_name", "pid": 4294967295, "tid": 0, "args": {"name": "Python", "x": None}, "ph": "M"},
            {"ph": "C", "name": "HBM 0/Read", "pid": 1088, "tid": 0, "ts": ts, "args": {"Read(MB/s)": Number("10.50")}},
            {"ph": "s", "bp": "e", "name": "async_npu", "id": 1736405443863674400, "pid": "p", "tid": "t", "ts": ts,
             "cat": "async_npu"},
            {"ph": "f", "bp": "e", "id": "1736405443863674400", "name": "HostToDevice", "pid": 6, "tid": 6, "ts": ts},
            {"ph": "t", "name": "fwdbwd", "id": 5, "pid": 1, "tid": 1, "ts": ts, "cat": "fwdbwd"},
            {"ph": "i", "name": "marker", "pid": 1, "tid": 1, "ts": ts, "s": "t", "args": {"deep": [[{"a": [None]}]]}},
            {"name": "MatMulV3_1", "pid": 1056, "tid": 6, "ts": ts, "dur": Number("36.69999999999999996"),
             "args": {"Model Id": 4294967295, "hash": 11022204950826225271, "hash text": "11022204950826225271",
                      "on": True, "rate": Number("-1.5e-07")}, "ph": "X"},
            {"name": "Free", "pid": 1120, "tid": 2, "ts": ts, "dur": 0, "args": {}, "ph": "X"},
            {"ph": "X", "name": "module.py(1751): _call_impl", "pid": 1, "tid": 1, "ts": ts, "dur": 3,
             "cat": "python_function", "args": {"Python id": 1, "Python parent id": None}},
        ]

    SCENES = (nested, ties, never_enclosing, not_stacks, backward, innermost, second_candidate, no_forward_stack,
              crowd, others)

    def play(self, scale):
        """Play every scene `scale` times, each in its own millisecond; shuffle events and records."""
        scenes = list(self.SCENES) * scale
        self.rng.shuffle(scenes)
        for scene in scenes:
            scene(self)
            self.now += SCENE_NS
        self.rng.shuffle(self.events)
        self.rng.shuffle(self.records)


# ------------------------------------------------------------------------------------ writing a trace

def event_text(event, rng, indent=None):
    """An event as JSON: keys in some order, some of them escaped, Numbers as they are."""
    def plain(value):
        if isinstance(value, dict):
            return {key: plain(v) for key, v in value.items()}
        if isinstance(value, list):
            return [plain(v) for v in value]
        return f"@@{value}@@" if isinstance(value, Number) else value
    keys = list(event)
    if rng.random() < 0.3:
        rng.shuffle(keys)
    ascii_only = rng.random() < 0.5
    text = json.dumps({key: plain(event[key]) for key in keys}, indent=indent, ensure_ascii=ascii_only)
    text = re.sub(r'"@@([^"@]*)@@"', r"\1", text)
    if rng.random() < 0.1:
        for key in ("Call stack", "cpu_op", "Sequence number", "dur"):
            text = text.replace(f'"{key}"', '"' + key.translate({32: r"\u0020", 95: r"\u005F", 117: r"\u0075"}) + '"')
        text = text.replace("/", "\\/")        # stays the same text
    return text


def trace_text(events, style, rng):
    """The content of trace_view.json in one of its styles."""
    if style == "empty":
        return "[]"
    if style == "empty object":
        return '{"traceEvents": []}\n'
    texts = [event_text(event, rng, 2 if style == "pretty" else None) for event in events]
    if style == "pretty":
        return "[\n" + ",\n".join(texts) + "\n]\n"
    if style == "lines":
        return " [ \r\n" + " ,\r\n\t".join(texts) + "\r\n] \r\n"
    if style == "object":
        decoy = event_text(events[0], rng)
        return (f'{{"schemaVersion": 1, "nested": {{"traceEvents": [{decoy}]}}, "list": [{decoy}, [], 1.5],\n'
                f'"traceEvents": [{", ".join(texts)}],\n"displayTimeUnit": "ms", "after": [{decoy}]}}')
    return "[" + ", ".join(texts) + "]"


# ------------------------------------------------------------------------------------ writing a table

COLUMNS = ["Name", "Size(KB)", "Allocation Time(us)", "Release Time(us)", "Active Release Time(us)", "Duration(us)",
           "Active Duration(us)", "Allocation Total Allocated(MB)", "Allocation Total Reserved(MB)",
           "Allocation Total Active(MB)", "Release Total Allocated(MB)", "Release Total Reserved(MB)",
           "Release Total Active(MB)", "Stream Ptr", "Device Type"]
TIMES = COLUMNS[2:7]
STREAMS = ("", "6", "1162636336", "94509039890976")


def table_rows(records, rng, device):
    """Rows as dictionaries of the columns, sizes in KB and totals in MB; all kinds of rows."""
    rows = []
    for name, ns in records:
        held = rng.randint(1000, 10**10)
        early = rng.randint(-2000, 2000)
        total = rng.randint(1, 10**6) / 1024
        row = {"Name": name, "Size(KB)": rng.choice((0.5, 192, 8.5, "65536.5", "0.1")), "Allocation Time(us)": us(ns),
               "Allocation Total Allocated(MB)": total, "Allocation Total Reserved(MB)": 21084,
               "Allocation Total Active(MB)": total + 0.5, "Stream Ptr": rng.choice(STREAMS),
               "Device Type": f"NPU:{device}"}
        kind = rng.random()
        if kind < 0.85:
            row.update({"Release Time(us)": us(ns + held), "Active Release Time(us)": us(ns + held + early),
                        "Duration(us)": us(held), "Active Duration(us)": us(held + early),
                        "Release Total Allocated(MB)": total / 2, "Release Total Reserved(MB)": 21000.0,
                        "Release Total Active(MB)": total / 2})
        if kind < 0.05:         # released, without a duration
            del row["Duration(us)"], row["Active Duration(us)"]
        elif kind < 0.10:       # a duration without a release
            del row["Release Time(us)"]
        rows.append(row)
    for row in rows[::17]:      # only the release was seen
        release = {key: row[key] for key in row if key.startswith(("Release", "Active Rel", "Stream", "Device"))}
        if "Release Time(us)" in release:
            rows.append({"Size(KB)": -8.5, **release})
    for index in range(min(5, len(rows))):
        ns = START_NS + index * 1000
        rows.append({"Name": ("cann::ReduceSum7", "cann::Graph_70_in_1")[index % 2], "Size(KB)": 3072.0,
                     "Allocation Time(us)": us(ns)[:-2], "Release Time(us)": us(ns + 17380)[:-1],
                     "Duration(us)": "17.38",
                     "Allocation Total Allocated(MB)": 3.125, "Allocation Total Reserved(MB)": 74.75,
                     "Release Total Allocated(MB)": 3.1875, "Release Total Reserved(MB)": 74.75,
                     "Device Type": f"NPU:{device}"})
    if rows and "Allocation Time(us)" in rows[0]:       # an exponent that keeps all digits
        digits = rows[0]["Allocation Time(us)"].replace(".", "")
        rows[0]["Allocation Time(us)"] = f"{digits[0]}.{digits[1:]}E+15"
    return rows


def quoted(cell, always=False):
    """A CSV cell, quoted if it must be or `always`."""
    return '"' + cell.replace('"', '""') + '"' if always or any(c in cell for c in ',"\r\n') else cell


def table_text(rows, style, rng):
    """The content of operator_memory.csv in one of its styles."""
    if style == "nothing":
        return ""
    columns, line_end, absent, scale, titles = list(COLUMNS), "\r\n", "", {}, {}
    if style == "header":
        rows = []
    if style == "ten columns":
        columns = [c for c in COLUMNS if "Active" not in c and c != "Stream Ptr"]
        line_end = "\n"
    if style == "spread":       # further columns, in other places, absent cells marked
        columns = ["Device_id"] + columns[::-1] + ["Note"]
        columns.insert(4, "Tag(KB)")
        absent = "N/A"
    if style == "megabytes":
        scale = {"Size(KB)": 1 / 1024, **{c: 1024 for c in COLUMNS if "Total" in c}}
        titles = {c: c.replace("KB", "MB") if "KB" in c else c.replace("MB", "KB") for c in scale}
        line_end = "\n"
    lines = [",".join(titles.get(column, column) for column in columns)]
    for row in rows:
        cells = []
        for column in columns:
            value = row.get(column, absent if column in COLUMNS else rng.choice(("", "x, y", "7")))
            if column in scale and value != absent:
                value = float(value) * scale[column]
            graph_engine = str(row.get("Name", "")).startswith("cann::")
            tab = "\t" if column in TIMES and value != absent and not graph_engine else ""
            always = style == "quoted" and (tab != "" or rng.random() < 0.1)
            cells.append(quoted(f"{value}{tab}", always))
        lines.append(",".join(cells))
    text = line_end.join(lines) + line_end
    if style == "quoted":       # byte order mark, blank first line, no final line end
        text = "\ufeff" + line_end + text[:-len(line_end)]
    return text


# ------------------------------------------------------------------------------------ writing captures

def write(path, content):
    """Write text as UTF-8, or JSON for anything else; packed if the name says so."""
    data = (content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, indent=4)).encode()
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as stream:
        stream.write(gzip.compress(data, mtime=0) if path.endswith(".gz") else data)


def write_capture(folder, info, role, trace_style, table_style, rng, scale):
    """Write one capture of CAPTURES."""
    by_name = isinstance(info, int)
    content = {"config": {"common_config": {"with_stack": True}}, "start_info": {"syscnt_enable": False}}
    content.update({"rank_id": info} if by_name else info)
    write(os.path.join(folder, f"profiler_info_{info}.json" if by_name else "profiler_info.json"), content)
    if role is not None:
        metadata = {"ENV_VARIABLES": {"ASCEND_GLOBAL_LOG_LEVEL": ""}}
        if role:
            metadata = {"distributed_args": {}, **metadata, "parallel_group_info": {}, "role": role}
        write(os.path.join(folder, "profiler_metadata.json"), metadata)
    if trace_style == "raw":
        write(os.path.join(folder, "FRAMEWORK", "torch.op_range"), "raw")
        write(os.path.join(folder, "PROF_000001_20250109143043127_ABC", "host", "start_info"), "{}")
        return
    output = os.path.join(folder, "ASCEND_PROFILER_OUTPUT")
    write(os.path.join(output, "notes.txt"), "not a known file\n")
    trace = Trace(rng, trace_style != "no stacks")
    trace.play(scale)
    if trace_style:
        name = "trace_view.json.gz" if trace_style == "packed" else "trace_view.json"
        write(os.path.join(output, name), trace_text(trace.events, trace_style, rng))
    if table_style:
        device = info % 8 if by_name else 1
        write(os.path.join(output, "operator_memory.csv"),
              table_text(table_rows(trace.records, rng, device), table_style, rng))


def main():
    parser = argparse.ArgumentParser(description="Write a small job with every valid variation of memory files.")
    parser.add_argument("out")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scale", type=int, default=1, help="multiplies the events and records of a capture")
    arguments = parser.parse_args()
    for parent, name, *capture in CAPTURES:
        rng = random.Random(f"{arguments.seed}/{parent}/{name}")
        write_capture(os.path.join(arguments.out, parent, name), *capture, rng, arguments.scale)
    print(f"{len(CAPTURES)} captures")


if __name__ == "__main__":
    main()
