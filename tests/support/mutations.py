#!/usr/bin/python3
"""Damage captures in many ways, and check what the program makes of each.

`make DIR` writes a capture for each mutation below DIR/job: of a small generated capture, and if a real one is
given, of that too. `check DIR FILE.h5` compares a run over all of them with the table in mutation_table.py. `alone DIR
BINARY` runs the program on one capture at a time: on each damaged kind with --strict, whose one error must name
it, and on each large one, whose memory must stay small.
"""
import argparse
import collections
import concurrent.futures
import os
import random
import re
import subprocess
import sys
import tempfile

import h5py

import mutation_base
import mutation_table
import show_table
from mutation_base import OUTPUT, TABLE, TRACE

# One event (16 MiB) and one text in it (8 MiB), each held in a buffer that grows by doubling, beside Open MPI and HDF5.
RSS_LIMIT_MB = 200
PATIENCE_S = "200"
MEASURE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "measure.py")
TOKENS = [b'"', b"{", b"}", b"[", b"]", b",", b":", b", {", b"}, {", b"\\", b"\n", b"\r\n", b"\0", b"\xff", b"\xe6",
          b"1", b"-",
          b".5", b"e9", b"null", b"NaN", b'"ph": 1', b'{"name": "x"}', b', {"ph": "X"}', b'"args": {', b"//", b" ",
          b"\t"]
DAMAGED = ("partial", "failed")
ELSEWHERE = re.compile(r"\b(middle|last) (un)?wanted|first unwanted|GE row|last row")  # the same damage again
OTHER_BYTES = re.compile(r"""b'.*'|b".*"|\d+""")
LARGE_BYTES = 1000000
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
    """(exit code, lines on stderr, most memory in 10^6 bytes) of a run."""
    with tempfile.NamedTemporaryFile("r") as memory, tempfile.TemporaryDirectory() as session:
        # One process needs no more; runs that begin and end at once must not share Open MPI's directory, or its
        # start may fail.
        environment = {**os.environ, "OMPI_MCA_btl": "self", "OMPI_MCA_pml": "ob1",
                       "OMPI_MCA_orte_tmpdir_base": session}
        # by a process of its own: what a process has held before it becomes another one counts as that one's
        command = [sys.executable, "-S", MEASURE, memory.name, "timeout", "-k", "5", PATIENCE_S, binary, "-q", "-m", "memory"]
        done = subprocess.run([*command, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, env=environment, check=False)
        return done.returncode, done.stderr.decode("utf-8", "replace").splitlines(), int(memory.read())


def check_strict(run_program, directory, mutation):
    """What is wrong about a run with --strict on a damaged capture."""
    with tempfile.TemporaryDirectory() as folder:
        output = os.path.join(folder, "strict.h5")
        code, lines = run_program("--strict", "-o", output)
        left = os.listdir(folder)
    errors = [line for line in lines if line.startswith("rl-insight-mr: error: ")]
    if code != 1 or left:
        yield f"--strict: exit code {code}, files {left}, {lines[-1:]}"
    status, message = ("partial", mutation.only_strict) if mutation.only_strict else (mutation.status, mutation.message)
    if len(errors) != 1 or f"error: --strict: capture {directory} is {status}: " not in errors[0]:
        yield f"--strict: errors {errors}, exit code {code}, {lines[-8:]}"
    elif not re.search(message, errors[0]):
        yield f"--strict: {errors[0]!r} does not match {message!r}"


def check_plain(run_program, _, mutation):
    """What is wrong about a run without."""
    with tempfile.TemporaryDirectory() as folder:
        output = os.path.join(folder, "new.h5")
        code, lines = run_program("-o", output)
        left = os.listdir(folder)
    if code != (3 if mutation.status in DAMAGED else 0) or left != ["new.h5"]:
        yield f"exit code {code}, files {left}, {lines[-1:]}"


def jobs_alone(root, of_a_kind):
    """(base, directory, Mutation, check) of what is worth a run of its own: MPI takes a third of a second to start."""
    kinds = collections.Counter()
    for name in tabled(root):
        for directory, _, mutation in named_mutations(name):
            files = [entry.stat().st_size for entry in os.scandir(os.path.join(root, "job", name, directory, OUTPUT))]
            kind = OTHER_BYTES.sub("", mutation.name)
            another = ELSEWHERE.search(kind) or kinds[kind] >= of_a_kind
            noticed = mutation.status in DAMAGED or mutation.only_strict
            if noticed and name == "small" and not another:
                kinds[kind] += 1
                yield name, directory, mutation, check_strict
            if sum(files) > LARGE_BYTES and name == "small":
                yield name, directory, mutation, check_plain


def alone(root, binary, limit_mb, of_a_kind):
    """Run the program on one capture at a time."""
    def one(job):
        name, directory, mutation, check_run = job
        memory = 0

        def run_program(*arguments):
            nonlocal memory
            code, lines, memory = run(binary, [*arguments, os.path.join(root, "job", name, directory)])
            return code, lines
        return [f"{name}/{directory}: {text}" for text in check_run(run_program, directory,
                                                                    mutation)], memory, directory
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(one, jobs_alone(root, of_a_kind)))
    findings = [text for texts, _, _ in results for text in texts]
    print(*findings[:20], sep="\n", end="\n" if findings else "")
    _, peak, where = max(results, key=lambda result: result[1])
    print(f"most memory: {peak} MB, {where}")
    if findings or (limit_mb and peak >= limit_mb):
        sys.exit(f"{len(findings)} differences, {peak} MB of {limit_mb} MB")
    print(f"{len(results)} runs on one capture")


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
    running.add_argument("--of-a-kind", type=int, default=2, help="how many that differ only in their bytes")
    running.add_argument("--limit-mb", type=int, default=RSS_LIMIT_MB, help="0 for no limit")
    arguments = parser.parse_args()
    if arguments.command == "make":
        make(arguments.root, arguments.real)
        make_random(arguments.root, mutation_base.small_base(), arguments.random, arguments.seed)
    elif arguments.command == "check":
        check(arguments.root, arguments.file)
    else:
        alone(arguments.root, os.path.realpath(arguments.binary), arguments.limit_mb, arguments.of_a_kind)


if __name__ == "__main__":
    main()
