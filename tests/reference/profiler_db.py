"""Memory records and events of ascend_pytorch_profiler_<rank>.db: tables OP_MEMORY and PYTORCH_API.

A missing table or column is absence. Values keep all their digits: a REAL means its shortest round-trip decimal.
"""
import os
import sqlite3
import urllib.parse
from decimal import Decimal, localcontext

FRAME_END = ";\r\n"
OP = "op"               # the type of PYTORCH_API whose events are cpu_op
OP_TYPE = 50001         # its number, where ENUM_API_TYPE is missing
MEMORY_COLUMNS = ("name", "size", "allocationTime", "releaseTime", "duration", "activeDuration",
                  "allocationTotalAllocated", "allocationTotalReserved", "allocationTotalActive",
                  "releaseTotalAllocated", "releaseTotalReserved", "releaseTotalActive", "streamPtr", "deviceId")
API_COLUMNS = ("startNs", "endNs", "globalTid", "name", "sequenceNumber", "fwdThreadId", "callchainId", "type")


def digits(value):
    """A value as decimal text; empty if it is NULL."""
    if isinstance(value, float):
        return format(Decimal(repr(value)), "f")
    return "" if value is None else text_of(value)


def text_of(value):
    """A value as text."""
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)


def thousandth(value):
    """Nanoseconds as microseconds: the same digits with the point three places further left."""
    try:
        with localcontext() as context:
            context.prec = 1000
            return format(Decimal(value).scaleb(-3), "f")
    except ArithmeticError:
        return value


def join_frames(frames):
    """A call stack; none if no frame is known."""
    return FRAME_END.join(frames) if any(frames) else ""


class Database:
    """An open database; what is damaged in it is noted in `capture`."""

    def __init__(self, path, capture):
        self.capture, self.texts, self.chains = capture, {}, {}
        for suffix in ("-wal", "-journal"):
            if os.path.exists(path + suffix) and os.path.getsize(path + suffix):
                self.damaged(f"{os.path.basename(path)}{suffix} is not empty")
        uri = f"file:{urllib.parse.quote(os.fsencode(path))}?mode=ro&immutable=1"
        self.connection = sqlite3.connect(uri, uri=True) if os.path.isfile(path) else sqlite3.connect(":memory:")
        self.connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
        if not os.path.isfile(path):
            self.damaged("not a file")
        self.texts = {row["id"]: text_of(row["value"]) for row in self.rows("STRING_IDS", ("id", "value"))}

    def damaged(self, reason):
        self.capture.damaged("profiler_db", f"profiler database: {reason}")

    def is_usable(self):
        """Whether SQLite can read it at all."""
        try:
            self.connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
            return True
        except sqlite3.DatabaseError:
            return False

    def uses(self, table):
        """Note that a table is read, if there is one."""
        if self.has(table) and self.capture.profiler_db_state == "unused":
            self.capture.profiler_db_state = "read"

    def has(self, table):
        """Whether there is such a table."""
        try:
            found = self.connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (table,))
            return found.fetchone() is not None
        except sqlite3.DatabaseError as error:
            self.damaged(error)
            return False

    def rows(self, table, columns):
        """The rows of a table in rowid order as dictionaries; what it lacks is None."""
        if not self.has(table):
            return
        try:
            there = {row[1] for row in self.connection.execute(f"PRAGMA table_info({table})")}
            wanted = ", ".join(c if c in there else "NULL" for c in columns)
            for row in self.connection.execute(f"SELECT {wanted} FROM {table} ORDER BY rowid"):
                yield dict(zip(columns, row))
        except sqlite3.DatabaseError as error:
            self.damaged(error)

    def text(self, number):
        """(text of a string id, whether it is there); NULL is the empty text."""
        return ("", True) if number is None else (self.texts.get(number, ""), number in self.texts)

    def memory(self):
        """The rows of OP_MEMORY as cells of operator_memory.csv in B and ns, text by column of the table."""
        self.uses("OP_MEMORY")
        for row in self.rows("OP_MEMORY", MEMORY_COLUMNS):
            name, known = self.text(row["name"])
            if not known:
                self.damaged(f"no string {row['name']}")
            is_ge = row["streamPtr"] is None and row["allocationTotalActive"] is None
            cells = {key: digits(value) for key, value in row.items()}
            yield {**cells, "name": f"cann::{name}" if is_ge else name,
                   "deviceId": f"NPU:{cells['deviceId']}" if cells["deviceId"] else ""}

    def call_chains(self):
        """The call stacks by id."""
        chains = {}
        for row in self.rows("PYTORCH_CALLCHAINS", ("id", "stack", "stackDepth")):
            frame, known = self.text(row["stack"])
            if not known:
                self.damaged(f"no string {row['stack']}")
            chains.setdefault(row["id"], []).append((row["stackDepth"], frame))
        return {key: join_frames([frame for _, frame in sorted(frames, key=lambda f: f[0])])
                for key, frames in chains.items()}

    def events(self):
        """The rows of PYTORCH_API as (event of a trace, errors in it)."""
        self.uses("PYTORCH_API")
        kinds = {row["id"]: row["name"] for row in self.rows("ENUM_API_TYPE", ("id", "name"))} or {OP_TYPE: OP}
        chains = self.call_chains()
        for row in self.rows("PYTORCH_API", API_COLUMNS):
            name, known = self.text(row["name"])
            start, end = digits(row["startNs"]), digits(row["endNs"])
            arguments = {"Sequence number": digits(row["sequenceNumber"]), "Fwd thread id": digits(row["fwdThreadId"])}
            event = {"name": name, "ts": thousandth(start), "tid": digits(row["globalTid"]),
                     "cat": "cpu_op" if kinds.get(row["type"]) == OP else "", "args": arguments}
            if start and end:
                event["dur"] = thousandth(difference(end, start))
            arguments["Call stack"] = chains.get(row["callchainId"], "")
            yield event, [] if known else [f"no string {row['name']}"]


def difference(end, start):
    """The difference of two decimals as text, or what cannot be read."""
    try:
        with localcontext() as context:
            context.prec = 1000
            return format(Decimal(end) - Decimal(start), "f")
    except ArithmeticError:
        return end
