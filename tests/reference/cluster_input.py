"""What one capture says of the cluster: step trace, communication, matrix, groups, devices; from text or database.

Text goes before the database for each kind of file, and is not replaced by it when it is damaged. Numbers keep the
digits that the file has until they are read once.
"""
import json
import math
import os
import re
import sqlite3
import urllib.parse
from typing import NamedTuple, Optional

import csv_text
import memory_reference
import trace_text
from memory_reference import clean, to_decimal
from profiler_db import digits
from trace_text import Number

NO_TIME_NS = -2**63
P2P, COLLECTIVE = "p2p", "collective"
STEP_TITLES = {
    "computing": "Computing", "communication_not_overlapped": "Communication(Not Overlapped)",
    "overlapped": "Overlapped", "communication": "Communication", "free": "Free", "stage": "Stage", "bubble": "Bubble",
    "communication_not_overlapped_and_exclude_receive": "Communication(Not Overlapped and Exclude Receive)",
    "preparing": "Preparing"}
TIME_KEYS = {"elapsed_time": "Elapse Time(ms)", "transit_time": "Transit Time(ms)", "wait_time": "Wait Time(ms)",
             "synchronization_time": "Synchronization Time(ms)", "idle_time": "Idle Time(ms)"}
SIZES = {"tp": "tensor_model_parallel_size", "pp": "pipeline_model_parallel_size", "dp": "data_parallel_size",
         "cp": "context_parallel_size", "ep": "expert_model_parallel_size", "world": "world_size"}


class Step(NamedTuple):
    """A row of the step trace; numbers by column, NaN where absent."""
    step: str
    numbers: dict


class Band(NamedTuple):
    """One transport of an operator; packets: (size in MB or NaN, count, duration in ms), at least one."""
    transport: str
    transit_size: float
    transit_time: float
    bandwidth: float
    large_packet_ratio: float
    packets: list


class Op(NamedTuple):
    """An operator of one step and section; times by column, or None where only its bandwidth is known."""
    step: str
    type: str
    name: str
    group: str
    start_ns: int
    times: Optional[dict]
    bands: list


class Link(NamedTuple):
    """A link of the matrix, its ends by their numbers in the group."""
    step: str
    type: str
    op: str
    group: str
    src: int
    dst: int
    transport: str
    op_name: str
    transit_size: float
    transit_time: float


class Group(NamedTuple):
    """A communicator that metadata declares; ranks by number in the group, empty if it does not say."""
    id: str
    pg_name: str
    ranks: list


class Facts(NamedTuple):
    """All of a capture."""
    steps: list
    ops: list
    links: list
    groups: list
    distribution: Optional[dict]    # distributed_args, or None
    devices: list                   # (rank, device, host uid, host name)


# ------------------------------------------------------------------------------------ values

def number(value):
    """A number, or a cell, as float; NaN if it is absent or unreadable."""
    found = to_decimal(value) if isinstance(value, str) else None
    found = None if found is None else memory_reference.finite(found)
    return math.nan if found is None else found


def integer(value, absent):
    """A number as integer; `absent` if it is none."""
    found = number(value)
    return int(found) if found == found and found == int(found) else absent


def time_ns(value):
    """Microseconds as integer nanoseconds."""
    found = to_decimal(value) if isinstance(value, str) else None
    found = None if found is None else memory_reference.us_to_ns(found)
    return NO_TIME_NS if found is None else found


def text(value):
    """A text as the output holds it; empty if it is none."""
    return clean(value) if isinstance(value, str) and not isinstance(value, Number) else ""


def rank(value):
    """A JSON number as rank, or None."""
    good = isinstance(value, Number) and re.fullmatch(r"\d+", value, re.ASCII) and int(value) < 2**31
    return int(value) if good else None


def bare_step(key):
    """The id of step5, or step 5; empty for a bare step."""
    return clean(key[4:] if key.startswith("step") else key)


def split_key(key):
    """(operator, group) of a key."""
    op, at, group = key.rpartition("@")
    return (clean(op), clean(group)) if at else (clean(key), clean(key))


def local(value):
    """A number in a group."""
    return int(value) if re.fullmatch(r"\d+", value, re.ASCII) and int(value) < 2**31 else -1


# ------------------------------------------------------------------------------------ text

class Pairs(list):
    """A JSON object as its (key, value) pairs, so that no key is lost."""

    def get(self, key, default=None):
        """The value of a key, the first there is."""
        return next((value for name, value in self if name == key), default)


DECODER = json.JSONDecoder(object_pairs_hook=Pairs, parse_int=Number, parse_float=Number,
                           parse_constant=trace_text.refuse)
BLANKS = re.compile(r"[ \t\r\n]*")


class Cursor:
    """A place in JSON text that may be damaged: what comes before the damage can be read, then ValueError comes."""

    def __init__(self, path):
        with open(path, "rb") as stream:
            self.text, self.at = stream.read().decode("utf-8", "surrogateescape"), 0

    def peek(self):
        """The next character that is no blank; empty at the end."""
        self.at = BLANKS.match(self.text, self.at).end()
        return self.text[self.at:self.at + 1]

    def take(self, wanted):
        """Pass over one of these characters, and give it."""
        char = self.peek()
        if not char or char not in wanted:
            raise ValueError(f"no {wanted} at {self.at}")
        self.at += 1
        return char

    def value(self):
        """The value here; the cursor stands behind it then."""
        self.peek()
        value, self.at = DECODER.raw_decode(self.text, self.at)
        return value

    def keys(self):
        """The keys of the object here. Whoever takes a key must pass over its value before the next."""
        if self.peek() != "{":
            self.value()
            return
        self.take("{")
        if self.peek() == "}":
            self.take("}")
            return
        while True:
            key = self.value()
            if not isinstance(key, str) or isinstance(key, Number):
                raise ValueError(f"no key at {self.at}")
            self.take(":")
            yield key
            if self.take(",}") == "}":
                return


def read_json(path):
    """The object in a file, or empty if there is none."""
    try:
        content = Cursor(path).value()
    except (OSError, ValueError):
        return Pairs()
    return content if isinstance(content, Pairs) else Pairs()


def operator_keys(cursor):
    """(step, type, key) of every operator in a communication file, the cursor at its value; of equal keys the first."""
    seen = set()
    for step in cursor.keys():
        for section in cursor.keys():
            if section not in (P2P, COLLECTIVE):
                cursor.value()
                continue
            for key in cursor.keys():
                place = (bare_step(step), section, key)
                if key.startswith("Total") or place in seen:
                    cursor.value()
                else:
                    seen.add(place)
                    yield place


def before_damage(items):
    """The items up to the damage."""
    try:
        yield from items
    except ValueError:
        return


def text_packets(distribution):
    """The packets of a Size Distribution."""
    packets = []
    for size, value in distribution if isinstance(distribution, Pairs) else ():
        if isinstance(value, list) and len(value) == 2:
            packets.append((number(size), integer(value[0], 0), number(value[1])))
    return packets or [(math.nan, 0, 0.0)]


def text_ops(path):
    """The Ops of communication.json."""
    cursor = Cursor(path)
    for step, section, key in operator_keys(cursor):
        value = cursor.value()
        if not isinstance(value, Pairs):
            continue
        times, bands = value.get("Communication Time Info", Pairs()), value.get("Communication Bandwidth Info", Pairs())
        yield Op(step, section, *split_key(key), time_ns(times.get("Start Timestamp(us)")),
                 {column: number(times.get(name)) for column, name in TIME_KEYS.items()},
                 [Band(clean(transport), number(band.get("Transit Size(MB)")), number(band.get("Transit Time(ms)")),
                       number(band.get("Bandwidth(GB/s)")), number(band.get("Large Packet Ratio")),
                       text_packets(band.get("Size Distribution"))) for transport, band in bands])


def text_links(path):
    """The Links of communication_matrix.json."""
    cursor = Cursor(path)
    for step, section, key in operator_keys(cursor):
        links = cursor.value()      # an operator counts when it is whole
        for ends, link in links if isinstance(links, Pairs) else ():
            src, _, dst = ends.partition("-")
            yield Link(step, section, *split_key(key), local(src), local(dst), text(link.get("Transport Type")),
                       text(link.get("Op Name")), number(link.get("Transit Size(MB)")),
                       number(link.get("Transit Time(ms)")))


def text_steps(path):
    """The Steps of step_trace_time.csv; columns by name."""
    with open(path, "rb") as stream:
        lines = [line for line in csv_text.rows(stream.read()) if not line.lost]
    columns = {}
    for position, title in enumerate(lines[0].cells if lines else ()):
        columns.setdefault(title.strip(csv_text.BLANKS), position)
    for line in lines[1:]:
        cells = line.cells[:-1] if len(line.cells) < len(lines[0].cells) and line.unended else line.cells

        def cell(title, cells=cells):
            position = columns.get(title, len(cells))
            return cells[position].strip(csv_text.BLANKS) if position < len(cells) else ""
        yield Step(clean(cell("Step")), {column: number(cell(title)) for column, title in STEP_TITLES.items()})


def text_groups(groups):
    """The Groups of parallel_group_info."""
    for group_id, group in groups if isinstance(groups, Pairs) else ():
        if isinstance(group, Pairs):
            ranks = group.get("global_ranks")
            ranks = [rank(value) for value in ranks] if isinstance(ranks, list) and not isinstance(ranks, Pairs) else []
            yield Group(clean(group_id), text(group.get("group_name")), [] if None in ranks else ranks)


# ------------------------------------------------------------------------------------ databases

class Database:
    """A database, absent where `path` is None; what it lacks is absent."""

    def __init__(self, path):
        uri = f"file:{urllib.parse.quote(os.fsencode(path))}?mode=ro&immutable=1" if path else ":memory:"
        self.connection = sqlite3.connect(uri, uri=True)
        self.connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")

    def rows(self, table, columns):
        """The rows of a table as dictionaries of texts, empty for NULL; columns that it lacks are None."""
        there = {row[1].lower() for row in self.connection.execute(f"PRAGMA table_info({table})")}
        wanted = ", ".join(c if c.lower() in there else "NULL" for c in columns)
        for row in self.connection.execute(f"SELECT {wanted} FROM {table} ORDER BY rowid") if there else ():
            yield {c: digits(value) if c.lower() in there else None for c, value in zip(columns, row)}

    def steps(self):
        """The Steps of StepTraceTime."""
        for row in self.rows("StepTraceTime", ("step", *STEP_TITLES)):
            yield Step(clean(row["step"] or ""), {column: number(row[column]) for column in STEP_TITLES})

    def ops(self):
        """The Ops of CommAnalyzerTime and CommAnalyzerBandwidth."""
        ops = {}
        columns = ("start_timestamp", "elapse_time", *list(TIME_KEYS)[1:])
        for row in self.rows("CommAnalyzerTime", (*KEY_COLUMNS, *columns)):
            times = {**row, "elapsed_time": row["elapse_time"]}
            ops.setdefault(place(row), Op(*place(row), time_ns(row["start_timestamp"]),
                                          {column: number(times[column]) for column in TIME_KEYS}, []))
        columns = ("transport_type", "transit_size", "transit_time", "bandwidth", "large_packet_ratio")
        for row in self.rows("CommAnalyzerBandwidth", (*KEY_COLUMNS, *columns, "package_size", "count",
                                                       "total_duration")):
            op = ops.setdefault(place(row), Op(*place(row), NO_TIME_NS, None, []))
            band = next((b for b in op.bands if b.transport == clean(row["transport_type"])), None)
            if not band:
                band = Band(clean(row["transport_type"]), *(number(row[c]) for c in columns[1:]), [])
                op.bands.append(band)
            packet = number(row["package_size"]), integer(row["count"], 0), number(row["total_duration"])
            if packet[0] != packet[0] or packet[:2] == (0, 0):
                packet = math.nan, 0, 0.0
            if not any(packet[0] == size or packet[0] != packet[0] and size != size for size, _, _ in band.packets):
                band.packets.append(packet)
        return ops.values()

    def links(self):
        """The Links of CommAnalyzerMatrix; of equal ones the first."""
        links = {}
        for row in self.rows("CommAnalyzerMatrix", (*KEY_COLUMNS, "src_rank", "dst_rank", "transport_type", "op_name",
                                                    "transit_size", "transit_time")):
            link = Link(*place(row), local(row["src_rank"]), local(row["dst_rank"]), clean(row["transport_type"]),
                        clean(row["op_name"] or ""), number(row["transit_size"]), number(row["transit_time"]))
            links.setdefault(link[:6], link)
        return links.values()

    def metadata(self, name):
        """A row of META_DATA."""
        value = next((row["value"] for row in self.rows("META_DATA", ("name", "value")) if row["name"] == name), "null")
        return json.loads(value, object_pairs_hook=Pairs, parse_int=Number, parse_float=Number)

    def devices(self):
        """(rank, device, host uid, host name) of RANK_DEVICE_MAP, each with the first row of HOST_INFO."""
        host = next(self.rows("HOST_INFO", ("hostUid", "hostName")), {"hostUid": "", "hostName": ""})
        return [(integer(row["rankId"], -1), integer(row["deviceId"], -1), clean(host["hostUid"]),
                 clean(host["hostName"])) for row in self.rows("RANK_DEVICE_MAP", ("rankId", "deviceId"))]


KEY_COLUMNS = ("step", "type", "hccl_op_name", "group_name")
P2P_NAME = re.compile("hcom_(send|receive|batchsendrecv)")


def place(row):
    """(step, type, operator, group) of a row."""
    section = row["type"]
    if section is None:         # a database of another tool, without that column
        section = P2P if P2P_NAME.match(row["hccl_op_name"].lower()) else COLLECTIVE
    return bare_step(row["step"] or ""), section, clean(row["hccl_op_name"]), clean(row["group_name"])


# ------------------------------------------------------------------------------------ captures

def plain(value):
    """A JSON value with Python's own numbers and dictionaries."""
    if isinstance(value, Pairs):
        return {name: plain(item) for name, item in value}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return json.loads(value) if isinstance(value, Number) else value


def read_capture(path):
    """The Facts of a capture."""
    folder = os.path.join(path, memory_reference.OUTPUT_FOLDER)
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []

    def find(pattern):
        name = next((n for n in names if re.fullmatch(pattern, n, re.ASCII)), None)
        return name and os.path.join(folder, name)
    analysis, profiler = Database(find(r"analysis\.db")), Database(find(memory_reference.DATABASE.pattern))
    table, ops, links = (find(name) for name in (r"step_trace_time\.csv", r"communication\.json",
                                                 r"communication_matrix\.json"))
    metadata = read_json(os.path.join(path, "profiler_metadata.json"))
    declared, distribution = (metadata.get(key) if any(name == key for name, _ in metadata) else profiler.metadata(key)
                              for key in ("parallel_group_info", "distributed_args"))
    return Facts(list(text_steps(table) if table else analysis.steps()),
                 list(before_damage(text_ops(ops)) if ops else analysis.ops()),
                 list(before_damage(text_links(links)) if links else analysis.links()),
                 list(text_groups(declared)), plain(distribution) if isinstance(distribution, Pairs) else None,
                 profiler.devices())
