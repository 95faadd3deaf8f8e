#!/usr/bin/python3
"""Measure the program: make the data, run every row, print ratios, write JSON, the page's table and its plots.

usage: run.py BUILD_DIR [--scale 1.0] [--runs 3] [--only WORD,...] [--work DIR] [--json FILE] [--page docs/performance.md]

BUILD_DIR holds a release build with its target `bench`. Every figure is a ratio of two things that are measured in turn within one
call, page cache warm: the median of the runs. Seconds of different calls say nothing on a machine that others use too.
"""
import argparse
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import plot

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
SUPPORT = os.path.join(ROOT, "tests", "support")
PYTHON = "/usr/bin/python3"
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_mpi_yield_when_idle="1")


def mpirun(processes):
    """Each process on its own core, as mpirun does by itself, as long as there are enough."""
    enough = processes <= os.cpu_count()
    return ["mpirun", "-q", *(["--bind-to", "core"] if enough else ["--oversubscribe"]), "-np", str(processes)]


class Bench:
    """The data, which are made when they are asked for, and the commands."""

    def __init__(self, options, work):
        self.build, self.scale, self.runs, self.work = options.build, options.scale, options.runs, work
        self.program = os.path.join(options.build, "rl-insight-mr")

    def data(self, name, make):
        """The directory of a job, made once."""
        path = os.path.join(self.work, name)
        if not os.path.isdir(path):
            make(path)
        return path

    def generated(self, megabytes, ranks=1):
        """A job of captures whose traces have so many megabytes, times the scale."""
        size = max(megabytes * self.scale, 0.1) if ranks == 1 else megabytes
        return self.data(f"job_{size:g}_{ranks}", lambda path: subprocess.run(
            [PYTHON, os.path.join(SUPPORT, "gen_memory.py"), path, "--roles", "actor_update", "--ranks", str(ranks), "--mb",
             str(size)], check=True, stdout=subprocess.DEVNULL))

    def padded(self, job, times):
        """The same job with its trace made so many times as large by device events, which nothing asks for."""
        def make(path):
            shutil.copytree(job, path)
            trace = trace_of(path)
            event = (b'{"ph": "X", "name": "MatMulV3_1", "pid": 1056, "tid": 6, "ts": "1755143611835444.687", "dur": 50.672, '
                     b'"args": {"Model Id": 4294967295, "Task Type": "AI_CORE", "Physic Stream Id": 6, "Task Id": 17}},\n')
            block = event * 8192
            with open(trace_of(job), "rb") as source, open(trace, "wb") as out:
                out.write(source.read(1))
                left = os.path.getsize(trace_of(job)) * (times - 1)
                while left > 0:
                    out.write(block)
                    left -= len(block)
                shutil.copyfileobj(source, out, 1 << 20)
        return self.data(os.path.basename(job) + f"_padded_{times}", make)

    def measure(self, command):
        """(seconds, peak memory of each process in MB, largest first) of a command."""
        memory = os.path.join(self.work, "memory")
        if os.path.exists(memory):
            os.remove(memory)
        start = time.monotonic()
        subprocess.run(command, check=True, env=dict(ENVIRONMENT, BENCH_MEMORY=memory), stdout=subprocess.DEVNULL)
        seconds = time.monotonic() - start
        with open(memory) as lines:
            return seconds, sorted((int(line) * 1024 / 1e6 for line in lines), reverse=True)

    def timed(self, command):
        """A command that writes its peak memory."""
        return ["/usr/bin/time", "-a", "-o", os.path.join(self.work, "memory"), "-f", "%M", *command]

    def command(self, processes, job, *more):
        """The program on a job."""
        run = self.timed([self.program, job, "-o", os.path.join(self.work, "out.h5"), "--force", "--quiet", *more])
        return run if processes == 1 else [*mpirun(processes), *run]

    def medians(self, commands, runs=None):
        """For each command (median seconds, most memory); in rounds, so that a drift of the machine meets all alike."""
        figures = [[] for _ in commands]
        for turn in range((runs or self.runs) + 1):  # the first only warms the page cache
            for at, command in enumerate(commands):
                figure = self.measure(command)
                if turn > 0:
                    figures[at].append(figure)
        return [(statistics.median(f[0] for f in each), max(f[1][0] for f in each)) for each in figures]


def trace_of(job):
    """The one trace below a directory."""
    return next(os.path.join(folder, "trace_view.json") for folder, _, names in os.walk(job) if "trace_view.json" in names)


def row(what, figure, must=None, goal=None, least=True, **more):
    """One line of the table; `least`: the figure must not be below `must`, else not above."""
    held = None if must is None else (figure >= must if least else figure <= must)
    return {"what": what, "figure": figure, "must": must, "goal": goal, "held": held, **more}


def trace_map(bench):
    """Inside the process, against read(2)."""
    data = os.path.dirname(trace_of(bench.generated(300)))
    line = subprocess.run([os.path.join(bench.build, "bench_trace_map"), data, str(2 * bench.runs + 1)], check=True,
                          capture_output=True, text=True).stdout.split()
    read_s, map_s, size = float(line[0]), float(line[1]), int(line[2])
    return [row("trace map inside the process against read(2) of the same file", read_s / map_s, 1 / 5, 1 / 3,
                read_mb_s=size / read_s / 1e6, map_mb_s=size / map_s / 1e6)]


def whole_command(bench):
    """A large trace: against Python, and with 2 processes."""
    job = bench.generated(3000)
    size = os.path.getsize(trace_of(job))
    one, two = bench.medians([bench.command(1, job), bench.command(2, job)])
    python = bench.measure(bench.timed([PYTHON, os.path.join(HERE, "reference.py"), job, os.path.join(bench.work, "out.csv")]))
    empty = bench.generated(0.1)
    start = bench.medians([bench.command(1, empty), bench.command(2, empty)])
    return [row("whole command on a 3 GB trace, 1 process, against Python (ijson, bisect, floats)", python[0] / one[0], 12, 25,
                seconds=one[0], mb_s=size / one[0] / 1e6, python_seconds=python[0], python_memory_mb=python[1][0]),
            row("one 3 GB trace, 2 processes against 1", one[0] / two[0], 1.7, 1.9, seconds=two[0], mb_s=size / two[0] / 1e6),
            row("the same without the seconds of a run on 0.1 MB, which are MPI's start and end",
                (one[0] - start[0][0]) / (two[0] - start[1][0]), start_1_seconds=start[0][0], start_2_seconds=start[1][0])]


def memory(bench):
    """Peak memory does not grow with the file."""
    job = bench.generated(300)
    small, large = (max(bench.measure(bench.command(1, each))[1][0] for _ in range(2)) for each in (job, bench.padded(job, 10)))
    return [row("peak memory: the 300 MB trace padded to 3 GB against the trace itself", large / small, 1.1, least=False),
            row("peak memory on the 300 MB capture, MB", small, 200, 100, least=False)]


def many_captures(bench):
    """Linear in captures."""
    counts = [250, 500, 1000]
    jobs = [bench.generated(0.1, int(count * min(bench.scale, 1))) for count in counts]
    seconds = [figure[0] for figure in bench.medians([bench.command(2, job) for job in jobs])]
    each = [second / count for second, count in zip(seconds, counts)]
    check = bench.medians([bench.timed([bench.program, "--check", job]) for job in (jobs[0], jobs[2])])
    found = (check[1][0] - check[0][0]) / (int(counts[2] * min(bench.scale, 1)) - int(counts[0] * min(bench.scale, 1)))
    return [row("DataMap, milliseconds a capture on a local disk", 1e3 * found),
            row("1,000 captures of 100 KB on 2 processes: time of a capture against that with 250", each[2] / each[0], 1.2,
                least=False, seconds=dict(zip(map(str, counts), seconds)))]


def cluster(bench):
    """Step trace and communication of 64 ranks as text, against the Python reference of the tests."""
    job = bench.data("cluster", lambda path: subprocess.run(
        [PYTHON, os.path.join(SUPPORT, "gen_cluster.py"), path, "--tp", "4", "--pp", "4", "--dp", "4", "--steps", "4"],
        check=True, stdout=subprocess.DEVNULL))
    one, two = bench.medians([bench.command(1, job), bench.command(2, job)])
    reference = os.path.join(ROOT, "tests", "reference", "cluster_reference.py")
    python = bench.measure(bench.timed([PYTHON, reference, job]))
    return [row("whole command on a cluster of 64 ranks and 4 steps, 1 process, against the Python reference", python[0] / one[0],
                seconds=one[0], seconds_2_processes=two[0], python_seconds=python[0], memory_mb=one[1])]


def write_rate(bench):
    """MB/s of one process that writes 500 MB and has them on the disk."""
    path, block = os.path.join(bench.work, "block"), os.urandom(1 << 20)
    start = time.monotonic()
    with open(path, "wb", buffering=0) as out:
        for _ in range(500):
            out.write(block)
        os.fsync(out.fileno())
    rate = 500 * len(block) / (time.monotonic() - start) / 1e6
    os.remove(path)
    return rate


def reduce(bench):
    """Mapped rows to the closed file, against packing the columns alone, the best of each; the benchmark itself says what it has measured."""
    command = [*mpirun(2), os.path.join(bench.build, "bench_reduce"), os.path.join(bench.work, "rows.h5"),
               str(int(20e6 * bench.scale))]
    runs = [json.loads(subprocess.run(command, check=True, env=ENVIRONMENT, capture_output=True, text=True).stdout)
            for _ in range(bench.runs)]
    reduce_s, pack_s = (min(said[key] for said in runs) for key in ("reduce_s", "pack_s"))
    first, other = runs[0]["peak_mb"]
    return [row("20 million rows to the closed file, 2 processes, against packing their columns alone", reduce_s / pack_s,
                1.6, 1.3, least=False, reduce_s=reduce_s, pack_s=pack_s,
                file_mb=os.path.getsize(os.path.join(bench.work, "rows.h5")) / 1e6, write_mb_s=write_rate(bench)),
            row("peak memory of process 0 against the other", first / other, 1.2, least=False, mb=float(first), other_mb=float(other))]


def instructions(bench):
    """Instructions for each byte of a trace, which repeat exactly."""
    data = os.path.dirname(trace_of(bench.generated(30)))
    text = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
                           os.path.join(bench.build, "bench_trace_map"), data, "0"], check=True, capture_output=True, text=True)
    count = int(re.search(r"Collected : (\d+)", text.stderr).group(1))
    return [row("instructions for each byte of the trace, its records included (callgrind)",
                count / os.path.getsize(os.path.join(data, "trace_view.json")))]


def processes(bench):
    """Throughput over N and memory over the size of the file, for the plots."""
    job = bench.generated(3000)
    size = os.path.getsize(trace_of(job))
    counts = [1, 2, 3, 4]
    figures = bench.medians([bench.command(count, job) for count in counts], 1)
    base = bench.generated(300)
    sizes = [base] + [bench.padded(base, times) for times in (3, 10)]
    peaks = [bench.measure(bench.command(1, each))[1][0] for each in sizes]
    points = {"throughput": [[count, size / figure[0] / 1e6] for count, figure in zip(counts, figures)],
              "memory": [[os.path.getsize(trace_of(each)) / 1e6, peak] for each, peak in zip(sizes, peaks)]}
    return [row("4 processes on this machine against 1", figures[0][0] / figures[3][0], points=points)]


PARTS = {part.__name__: part for part in
         (trace_map, whole_command, memory, many_captures, cluster, reduce, instructions, processes)}


def machine():
    """What the figures were measured on."""
    with open("/proc/cpuinfo") as lines:
        model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    return {"processor": model, "cores": os.cpu_count(), "commit": commit}


def number(value):
    """A figure as the table has it."""
    return "" if value is None else f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def as_markdown(result):
    """The table of the page."""
    where = result["machine"]
    lines = [f"{where['processor']}, {where['cores']} cores, commit {where['commit']}, scale {result['scale']:g}.", "",
             "| what | measured | must | goal | beside it |", "|---|---|---|---|---|"]
    for each in result["rows"]:
        beside = ", ".join(f"{key} {number(value)}" for key, value in each.items()
                           if isinstance(value, float) and key not in ("figure", "must", "goal"))
        mark = " (falls short)" if each["held"] is False else ""
        lines.append(f"| {each['what']} | {number(each['figure'])}{mark} | {number(each['must'])} | {number(each['goal'])} | {beside} |")
    return "\n".join(lines) + "\n"


def write_page(page, result):
    """Replace what stands between the markers, and the plots beside the page."""
    with open(page) as text:
        before, rest = text.read().split("<!-- bench/run.py -->\n", 1)
    after = rest.split("<!-- end -->\n", 1)[1]
    with open(page, "w") as out:
        out.write(f"{before}<!-- bench/run.py -->\n{as_markdown(result)}<!-- end -->\n{after}")
    for each in result["rows"]:
        folder = os.path.join(os.path.dirname(page), "images")
        os.makedirs(folder, exist_ok=True)
        if "points" in each:
            plot.write(os.path.join(folder, "throughput.svg"), each["points"]["throughput"], "processes", "MB/s, whole command")
            plot.write(os.path.join(folder, "memory.svg"), each["points"]["memory"], "MB of the trace", "peak memory of the process, MB")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--scale", type=float, default=1.0, help="of the sizes; a figure counts at 1 only")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--work", help="directory for the data, kept; else a temporary one")
    parser.add_argument("--json")
    parser.add_argument("--page")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = options.work or folder
        os.makedirs(work, exist_ok=True)
        bench = Bench(options, work)
        result = {"machine": machine(), "scale": options.scale, "runs": options.runs, "rows": []}
        for name in options.only.split(","):
            for each in PARTS[name](bench):
                result["rows"].append(each)
                print(f"{each['what']}: {number(each['figure'])}", f"(must {number(each['must'])})" if each["must"] else "", flush=True)
    if options.json:
        with open(options.json, "w") as out:
            json.dump(result, out, indent=1)
    if options.page:
        write_page(options.page, result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
