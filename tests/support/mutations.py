#!/usr/bin/python3
"""Damage captures in many ways, and check what the program makes of each.

`make DIR` writes a capture for each mutation below DIR/job: of a small generated capture, and if a real one is
given, of that too. `check DIR FILE.h5` compares a run over all of them with the table in mutation_table.py. `alone DIR
BINARY` runs the program on each alone: exit code, with --strict the one error, and the most memory.
"""
import argparse
import concurrent.futures
import os
import random
import re
import subprocess
import sys
import tempfile
import threading

import h5py

import mutation_base
import mutation_table
import show_table
from mutation_base import OUTPUT, TABLE, TRACE

# One event (16 MiB) and one text in it (8 MiB), each held in a buffer that grows by doubling, beside Open MPI and HDF5.
RSS_LIMIT_MB = 200
PATIENCE_S = 60
TOKENS = [b'"', b"{", b"}", b"[", b"]", b",", b":", b", {", b"}, {", b"\\", b"\n", b"\r\n", b"\0", b"\xff", b"\xe6",
          b"1", b"-",
          b".5", b"e9", b"null", b"NaN", b'"ph": 1', b'{"name": "x"}', b', {"ph": "X"}', b'"args": {', b"//", b" ",
          b"\t"]
DAMAGED = ("partial", "failed")
OWN_COLUMNS = ("rank_id", "capture", "role")        # of /memory_events, in which all captures differ


def named_mutations(name):
    """(directory, rank, Mutation) of each mutation of a base; the first is none at all."""
    groups = mutation_table.GROUPS if name == "small" else mutation_table.ON_REAL
    whole = mutation_table.Mutation("whole", lambda base, files: None, TRACE)
    mutations = [whole, *(mutation for group in groups for mutation in group())]
    for rank, mutation in enumerate(mutations):
        words = re.sub("[^A-Za-z0-9]+", " ", mutation.name).strip()[:60].replace(" ", "_")
        yield f"{rank:03d}_{words}_ascend_pt", rank, mutation


def write_capture(root, base, directory, rank, files):
    """A capture of these files."""
    output = os.path.join(root, "job", base, directory, OUTPUT)
    os.makedirs(output)
    for name, content in {f"../profiler_info_{rank}.json": b"{}", **files}.items():
        with open(os.path.join(output, name), "wb") as stream:
            stream.write(content)


def at_random(data, rng, tokens):
    """Bytes with a few random errors; `tokens` are put in among others."""
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(data) + 1)
        length = rng.choice((1, 1, 1, 2, 10, 100, 1000))
        token = rng.choice(tokens) if rng.random() < 0.7 else rng.randbytes(rng.choice((1, 2, 20)))
        other = rng.randrange(len(data) + 1)
        data = rng.choice((
            data[:at] + data[at + length:], data[:at] + token + data[at + length:], data[:at] + token + data[at:],
            data[:at] + data[other:other + length] + data[at:], data[:at] + bytes(length) + data[at + length:],
            data[:at] + data[at + 1:at + 1 + length].upper() + data[at:]))
    return data if rng.random() < 0.9 else data[:rng.randrange(len(data) + 1)]


def make_random(root, base, count, seed):
    """Captures with random damage in the trace, or in the table: the reference says what must become of them."""
    for number in range(count):
        rng = random.Random(f"{seed}/{number}")
        files = {TRACE: base.trace, TABLE: base.table}
        if number % 5:
            files[TRACE] = at_random(base.trace, rng, TOKENS)
        else:       # what a quote means that is closed within a cell is not laid down
            files[TABLE] = at_random(base.table, rng, [t.replace(b'"', b"") for t in TOKENS]).replace(b'"', b"'")
        write_capture(root, "random", f"{number:05d}_ascend_pt", number, files)
    print(f"{count} random captures")


def make(root, real):
    """Write all captures."""
    bases = [mutation_base.small_base(), *([mutation_base.real_base(real)] if real else [])]
    for base in bases:
        for directory, rank, mutation in named_mutations(base.name):
            files = {TRACE: base.trace, TABLE: base.table}
            mutation.change(base, files)
            write_capture(root, base.name, directory, rank, files)
        print(f"{rank + 1} captures of the {base.name} one")


# ------------------------------------------------------------------------------------ a run over all

class Findings:
    """Prints what is wrong, and counts it."""

    def __init__(self):
        self.count = 0

    def expect(self, found, wanted, text):
        if found != wanted:
            self.count += 1
            print(f"{text}: {found!r}, not {wanted!r}")

    def finish(self, sentence):
        if self.count:
            sys.exit(f"{self.count} differences")
        print(sentence)


def read_table(table, names=None):
    """Rows of a table as dictionaries; NaN as text, so that it equals itself."""
    names = names or [table.attrs["_index"], *table.attrs["column-order"]]
    columns = [[repr(v) if v != v else v for v in show_table.read_column(table, name)] for name in names]
    return [dict(zip(names, values)) for values in zip(*columns)]


def rows_by_capture(group):
    """Rows of /memory_events by capture, without what differs between captures."""
    rows = {}
    for row in read_table(group):
        rows.setdefault(row["capture"], []).append({k: v for k, v in row.items() if k not in OWN_COLUMNS})
    return rows


def check_mutation(findings, where, mutation, found, rows, whole):
    """A row of /captures, and the capture's rows, are as the table says."""
    state = mutation.state or ("damaged" if mutation.status in DAMAGED else "read")
    lost = len(whole) if mutation.lost_rows is mutation_table.ALL else mutation.lost_rows
    expected = {"status": mutation.status, "events_skipped": mutation.skipped, "bad_cells": mutation.bad_cells,
                "memory_rows": len(whole) - lost, f"{mutation_table.KINDS[mutation.file]}_state": state}
    for name, wanted in expected.items():
        findings.expect(found[name], wanted, f"{where}: {name}")
    findings.expect(len(rows), len(whole) - lost, f"{where}: rows")
    silent = found["message"] == ""
    said = re.search(mutation.message, found["message"], re.DOTALL) if mutation.message else silent
    findings.expect(bool(said), True, f"{where}: message {found['message']!r} matches {mutation.message!r}")
    same = mutation.same if mutation.same is not None else mutation.status == "ok" and not lost
    if same:
        findings.expect(rows == whole, True, f"{where}: has the rows of the whole capture")


def tabled(root):
    """The bases whose captures the table knows."""
    return sorted(set(os.listdir(os.path.join(root, "job"))) - {"random"})


def check(root, path):
    """Compare a file with the table."""
    findings, count = Findings(), 0
    with h5py.File(path, "r") as file:
        rows, captures = rows_by_capture(file["memory_events"]), read_table(file["captures"])
    by_place = {(c["role"],
                 c["rank_id"] if c["rank_id"] >= 0 else int(c["path"].split("/")[-1][:3])): c for c in captures}
    for name in tabled(root):
        whole = rows[by_place[name, 0]["capture"]]
        for directory, rank, mutation in named_mutations(name):
            found = by_place[name, rank]
            check_mutation(findings, f"{name}/{directory}", mutation, found, rows.get(found["capture"], []), whole)
            count += 1
    findings.finish(f"{count} mutations")


# ------------------------------------------------------------------------------------ runs of one each

def run(binary, arguments):
    """(exit code, lines on stderr, 10^6 bytes of memory) of a run."""
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen([binary, "-q", *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=errors)
        timer = threading.Timer(PATIENCE_S, child.kill)
        timer.start()
        _, status, usage = os.wait4(child.pid, 0)
        timer.cancel()
        errors.seek(0)
        lines = errors.read().decode("utf-8", "replace").splitlines()
    return os.waitstatus_to_exitcode(status), lines, round(usage.ru_maxrss * 1024 / 1e6)


def run_alone(binary, root, name, directory, mutation):
    """(what is wrong, most memory) of runs on one capture, as it comes and with --strict."""
    findings, where = [], f"{name}/{directory}"
    capture = os.path.join(root, "job", name, directory)
    damaged = mutation.status in DAMAGED
    with tempfile.TemporaryDirectory(dir=root) as folder:
        output = os.path.join(folder, "new.h5")
        code, lines, memory = run(binary, ["-o", output, capture])
        if code != (3 if damaged else 0) or not os.path.exists(output):
            findings.append(f"{where}: exit code {code}, {lines[-1:]}")
        strict = os.path.join(folder, "strict.h5")
        code, lines, strict_memory = run(binary, ["--strict", "-o", strict, capture])
        if code != (1 if damaged else 0) or os.path.exists(strict) == damaged:
            findings.append(f"{where}: --strict: exit code {code}, {lines[-1:]}")
        errors = [line for line in lines if line.startswith("rl-insight-mr: error: ")]
        wanted = f"--strict: capture {directory} is {mutation.status}: "
        if len(errors) != damaged or any(wanted not in line for line in errors):
            findings.append(f"{where}: --strict: errors {errors}")
        if damaged and not re.search(mutation.message, errors[0] if errors else "", re.DOTALL):
            findings.append(f"{where}: --strict: {errors} does not match {mutation.message!r}")
        left = sorted(os.listdir(folder))
        if left != ["new.h5"] + ([] if damaged else ["strict.h5"]):
            findings.append(f"{where}: files {left}")
    return findings, max(memory, strict_memory)


def alone(root, binary, limit_mb):
    """Run the program on each capture alone."""
    jobs = [(name, directory, mutation) for name in tabled(root)
            for directory, _, mutation in named_mutations(name)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda job: run_alone(binary, root, *job), jobs))
    findings = [text for texts, _ in results for text in texts]
    print(*findings[:20], sep="\n", end="\n" if findings else "")
    peak, where = max((memory, f"{job[0]}/{job[1]}") for (_, memory), job in zip(results, jobs))
    print(f"most memory: {peak} MB, {where}")
    if findings or (limit_mb and peak >= limit_mb):
        sys.exit(f"{len(findings)} differences, {peak} MB")
    print(f"{len(jobs)} mutations, each alone")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    commands = parser.add_subparsers(dest="command", required=True)
    making, checking, running = (commands.add_parser(name) for name in ("make", "check", "alone"))
    for command in (making, checking, running):
        command.add_argument("root", metavar="DIR")
    making.add_argument("--real", metavar="DIR", help="a capture of text files")
    making.add_argument("--random", type=int, default=0, metavar="N", help="and N captures with random damage")
    making.add_argument("--seed", default="1")
    checking.add_argument("file", metavar="FILE.h5")
    running.add_argument("binary", metavar="BINARY")
    running.add_argument("--limit-mb", type=int, default=RSS_LIMIT_MB, help="0 for no limit")
    arguments = parser.parse_args()
    if arguments.command == "make":
        make(arguments.root, arguments.real)
        make_random(arguments.root, mutation_base.small_base(), arguments.random, arguments.seed)
    elif arguments.command == "check":
        check(arguments.root, arguments.file)
    else:
        alone(arguments.root, os.path.realpath(arguments.binary), arguments.limit_mb)


if __name__ == "__main__":
    main()
