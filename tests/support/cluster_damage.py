#!/usr/bin/python3
"""Damage the step trace, communication and metadata of a generated cluster, a file at a time, and check what the program makes of it.

usage: cluster_damage.py WORK BINARY

Of two ranks one is damaged. The rows of the other must be as they were, and those of the damaged one in the tables that its
file does not feed. With --strict the same is exit code 1, one error, and no file.
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
from typing import Callable, NamedTuple

import h5py

import show_table

HERE = os.path.dirname(os.path.abspath(__file__))
STEPS, TIMES, LINKS, META = "step_trace_time.csv", "communication.json", "communication_matrix.json", "profiler_metadata.json"
ANALYSIS, PROFILER = "analysis.db", "ascend_pytorch_profiler_1.db"
KINDS = {STEPS: "step_trace_time", TIMES: "communication", LINKS: "communication_matrix", META: "profiler_metadata",
         ANALYSIS: "analysis_db", PROFILER: "profiler_db"}
STEP, TIME, BAND, LINK = ("cluster_step_trace_time", "cluster_communication_time", "cluster_communication_bandwidth",
                          "cluster_communication_matrix")
FED = {STEPS: (STEP,), TIMES: (TIME, BAND), LINKS: (LINK,), META: (), ANALYSIS: (STEP, TIME, BAND, LINK), PROFILER: ()}
SAME, FEWER, NONE = "the same rows", "fewer rows", "no rows"
DAMAGED = 1             # the rank
PATIENCE_S = 300


class Mutation(NamedTuple):
    """What is done to a file, and what must come of it."""
    name: str
    file: str
    change: Callable            # of its bytes; None as the result: the file is gone
    state: str = "damaged"
    rows: str = FEWER           # of the damaged rank in the tables that the file feeds
    message: str = ""           # a regular expression


def cut(part):
    """The beginning of it."""
    return lambda data: data[:int(len(data) * part)]


def replaced(old, new, count=1):
    """With other bytes in it."""
    def change(data):
        assert old in data, old
        return data.replace(old, new, count)
    return change


def late(old, new):
    """With other bytes in it, behind its middle."""
    def change(data):
        middle = len(data) // 2
        assert old in data[middle:], old
        return data[:middle] + data[middle:].replace(old, new, 1)
    return change


def becomes(data):
    """Something else altogether."""
    return lambda _: data


def absent(_):
    """Nothing."""


MUTATIONS = [
    *(Mutation("absent", file, absent, "absent", NONE) for file in (STEPS, TIMES, LINKS, ANALYSIS)),
    Mutation("absent", META, absent, "absent"),
    *(Mutation(f"{what}, {part}", file, cut(part), "damaged", FEWER, rf"{re.escape(file)}: .*byte \d+")
      for file in (TIMES, LINKS) for what, part in (("cut", 0.3), ("cut", 0.7))),
    Mutation("cut in the total that is not used", TIMES, cut(0.98), "damaged", SAME, r"byte \d+"),
    *(Mutation("without a byte", file, becomes(b""), "damaged", NONE, re.escape(file)) for file in (TIMES, LINKS, META)),
    Mutation("without a byte", STEPS, becomes(b""), "read", NONE),
    *(Mutation("an array", file, becomes(b"[]"), "damaged", NONE, re.escape(file)) for file in (TIMES, LINKS)),
    *(Mutation("an empty object", file, becomes(b"{}"), "read", NONE) for file in (TIMES, LINKS, META)),
    *(Mutation("no step is an object", file, becomes(b'{"step5": 5}'), "damaged", NONE, f"{re.escape(file)}: .*byte")
      for file in (TIMES, LINKS)),
    *(Mutation("an unknown section", file, replaced(b'"collective": {', b'"others": {'), "damaged", NONE, "section")
      for file in (TIMES, LINKS)),
    *(Mutation("a bare word", file, late(b": 0.", b": N/A, 0."), "damaged", FEWER, r"byte \d+") for file in (TIMES, LINKS)),
    *(Mutation("NaN", file, late(b": 0.", b": NaN, 0."), "damaged", FEWER, r"byte \d+") for file in (TIMES, LINKS)),
    *(Mutation("garbage behind the end", file, lambda data: data + b" x", "damaged", SAME, r"byte \d+") for file in (TIMES, LINKS)),
    *(Mutation("too deep", file, replaced(b"{", b'{"x": ' + b"[" * 5000), "damaged", NONE, "JSON_DEPTH") for file in (TIMES, LINKS, META)),
    *(Mutation("a key of 9 MiB", file, replaced(b'{"', b'{"' + b"x" * (9 << 20)), "damaged", NONE, "STRING_BYTES")
      for file in (TIMES, LINKS)),
    Mutation("a time that is true", TIMES, lambda data: re.sub(rb'("Elapse Time\(ms\)": )[-0-9.e]+', rb"\1true", data, 1),
             "damaged", SAME, 'elapsed time "true": not a number'),
    Mutation("a count that is 1.5", TIMES, lambda data: re.sub(rb"\[\d+, ", b"[1.5, ", data, 1), "damaged", SAME,
             'packet count "1.5": not an integer'),
    Mutation("a link without a dash", LINKS, lambda data: re.sub(rb'"\d+-\d+"', b'"07"', data, 1), "damaged", FEWER, "link"),
    Mutation("a link from x", LINKS, lambda data: re.sub(rb'"\d+-\d+"', b'"x-1"', data, 1), "damaged", FEWER, "no numbers in the group"),
    Mutation("cut", STEPS, cut(0.9), "damaged", SAME, "the file ends inside the row"),
    Mutation("no column Computing", STEPS, replaced(b"Computing", b"Computed"), "damaged", NONE, "nothing can be read"),
    Mutation("a bad cell", STEPS, lambda data: re.sub(rb"(\n[^,]*,[^,]*,)[^,]*,", rb"\1x,", data, 1), "damaged", SAME,
             'Computing "x": not a number'),
    Mutation("a cell too many", STEPS, lambda data: data.rstrip() + b",1\r\n", "damaged", SAME, "more cells"),
    Mutation("header only", STEPS, lambda data: data[:data.index(b"\n") + 1], "read", NONE),
    Mutation("cut", META, cut(0.5), "damaged", SAME, r"profiler_metadata\.json: .*byte \d+"),
    Mutation("garbage", META, becomes(b"garbage"), "damaged", SAME, r"profiler_metadata\.json: .*byte \d+"),
    Mutation("cut", ANALYSIS, cut(0.5), "damaged", NONE, r"analysis\.db"),
    Mutation("no database", ANALYSIS, becomes(b"no database at all"), "damaged", NONE, r"analysis\.db"),
    Mutation("without a byte", ANALYSIS, becomes(b""), "unused", NONE),
    Mutation("cut", PROFILER, cut(0.5), "damaged", SAME, r"ascend_pytorch_profiler_1\.db"),
]


def rows_of(path):
    """Rows of the four tables by (table, rank), as JSON without what names the capture; those of links by table alone."""
    found = {}
    with h5py.File(path, "r") as root:
        for name in (STEP, TIME, BAND, LINK):
            table = root[name]
            names = [column for column in table.attrs["column-order"] if column not in ("capture", "dp_index", "pp_index", "tp_index")]
            columns = [show_table.read_column(table, column) for column in names]
            ranks = show_table.read_column(table, "rank_id") if name != LINK else None
            for row, values in enumerate(zip(*columns)):
                key = (name, ranks[row] if ranks else -1)
                found.setdefault(key, []).append(json.dumps(values))
        captures = {name: show_table.read_column(root["captures"], name) for name in root["captures"].attrs["column-order"]}
    return found, captures


def run(binary, *arguments):
    """Run the program. @return its exit code and what it says"""
    done = subprocess.run([binary, "-q", "-f", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=False, timeout=PATIENCE_S)
    return done.returncode, done.stderr


def check_rows(base, found, mutation):
    """What is wrong with the rows."""
    wrong = []
    for key in sorted(base, key=str):
        table, rank = key
        was, now = base[key], found.get(key, [])
        if rank != DAMAGED and table != LINK:
            expected = SAME
        else:
            expected = mutation.rows if table in FED[mutation.file] else SAME
        if table == STEP and mutation.file in (TIMES, LINKS, META, ANALYSIS):
            was, now = ([row for row in rows if '"rank"' in row] for rows in (was, now)) # stages need groups
        if table == LINK and mutation.file in (META, TIMES):
            was, now = [len(was)], [len(now)]           # their ends are resolved otherwise
        if table == LINK and expected == NONE:
            expected = FEWER                            # those of the other rank stay
        good = {SAME: len(now) == len(was), FEWER: 0 < len(now) < len(was), NONE: not now}[expected]
        if expected == SAME and mutation.state == "read" or rank != DAMAGED and table != LINK:
            good = good and now == was
        if not good:
            wrong.append(f"{table} of rank {rank}: {len(now)} rows, not {expected} ({len(was)})")
    return wrong


def check(base, binary, folder, mutation):
    """What is wrong with a mutation's run."""
    output = os.path.join(folder, "out.h5")
    code, said = run(binary, "-o", output, os.path.join(folder, "job"))
    damaged = mutation.state == "damaged"
    if code != (3 if damaged else 0):
        return [f"exit code {code}: {said}"]
    found, captures = rows_of(output)
    wrong = check_rows(base, found, mutation)
    at = captures["rank_id"].index(DAMAGED)
    state = captures[KINDS[mutation.file] + "_state"][at]
    if state != mutation.state:
        wrong.append(f"the file is {state}, not {mutation.state}")
    message = captures["message"][at]
    if damaged and not re.search(mutation.message, message):
        wrong.append(f"the message is {message!r}")
    status = captures["status"][at]
    if damaged != (status in ("partial", "failed")) or captures["status"][1 - at] != "ok":
        wrong.append(f"status {status}, of the other {captures['status'][1 - at]}")
    if damaged and status not in said:
        wrong.append(f"it does not say that the capture is {status}")
    strict_output = os.path.join(folder, "strict.h5")
    code, said = run(binary, "--strict", "-o", strict_output, os.path.join(folder, "job"))
    errors = said.count(": error: ")
    if (code, errors, os.path.exists(strict_output)) != ((1, 1, False) if damaged else (0, 0, True)):
        wrong.append(f"--strict: exit code {code}, {errors} errors")
    return wrong


def main():
    work, binary = sys.argv[1:]
    bases = {}
    for form in ("text", "db"):
        bases[form] = os.path.join(work, form)
        subprocess.run([sys.executable, os.path.join(HERE, "gen_cluster.py"), bases[form], "--tp", "1", "--pp", "1", "--dp", "2",
                        "--steps", "1", "--form", form], check=True, stdout=subprocess.DEVNULL)
    whole = {}
    for form, base in bases.items():
        assert run(binary, "-o", base + ".h5", base)[0] == 0
        whole[form] = rows_of(base + ".h5")[0]
    failures = 0
    for mutation in MUTATIONS:
        form = "db" if mutation.file in (ANALYSIS, PROFILER) else "text"
        folder = os.path.join(work, "mutated")
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(bases[form], os.path.join(folder, "job"))
        path, = (path for path in glob.glob(os.path.join(folder, "job", "**", mutation.file), recursive=True) if "_1001_" in path)
        with open(path, "rb") as stream:
            data = stream.read()
        changed = mutation.change(data)
        assert changed != data
        os.remove(path)
        if changed is not None:
            with open(path, "wb") as stream:
                stream.write(changed)
        wrong = check(whole[form], binary, folder, mutation)
        failures += bool(wrong)
        for what in wrong:
            print(f"{mutation.file}, {mutation.name}: {what}")
    print(f"{len(MUTATIONS)} mutations, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
