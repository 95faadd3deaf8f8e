#!/usr/bin/python3
"""Measure memory analysis: MB/s and peak memory for 1 and 2 processes, beside the Python reference.

usage: memory.py BINARY [--mb 300] [--runs 3] [--markdown docs/performance.md] [--json FILE]

Figures are of whole commands, page cache warm, the median of the runs; each round runs every row once, so that a drift
of the machine meets all alike. Compare ratios within one call of this script, not seconds of different calls.
"""
import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
GENERATOR = os.path.join(ROOT, "tests", "support", "gen_memory.py")
REFERENCE = os.path.join(ROOT, "tests", "reference", "memory_reference.py")
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   OMPI_MCA_mpi_yield_when_idle="1", OMPI_MCA_rmaps_base_oversubscribe="1")


def tree_bytes(path):
    """Bytes of all files below a directory."""
    return sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(path) for name in names)


def measure(command, memory_file):
    """(seconds, peak memory in MB of the largest process) of a command that writes the latter by time(1)."""
    if os.path.exists(memory_file):
        os.remove(memory_file)
    start = time.monotonic()
    subprocess.run(command, check=True, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    seconds = time.monotonic() - start
    with open(memory_file) as lines:
        return seconds, max(int(line) for line in lines) * 1024 / 1e6


def rows_to_measure(binary, folder, output, memory_file):
    """[(label, command, input directory)]"""
    def timed(command):
        return ["/usr/bin/time", "-a", "-o", memory_file, "-f", "%M", *command]

    def program(processes, inputs):
        run = timed([binary, inputs, "-o", output, "--force", "--quiet"])
        return run if processes == 1 else ["mpirun", "-q", "-np", str(processes), *run]

    one, two = os.path.join(folder, "one"), os.path.join(folder, "two")
    return [
        ("1 capture, 1 process", program(1, one), one),
        ("1 capture, 2 processes", program(2, one), one),
        ("2 captures, 1 process", program(1, two), two),
        ("2 captures, 2 processes", program(2, two), two),
        ("1 capture, Python reference", timed(["/usr/bin/python3", REFERENCE, one]), one),
    ]


def machine():
    """What the figures were measured on."""
    with open("/proc/cpuinfo") as lines:
        model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    return {"processor": model, "cores": os.cpu_count(), "commit": commit}


def as_markdown(result):
    """The table for docs/performance.md."""
    base = result["rows"][-1]["seconds"] / result["rows"][-1]["bytes"]
    lines = ["| whole command | MB | s | MB/s | times the reference | peak memory of a process, MB |",
             "|---|---|---|---|---|---|"]
    for row in result["rows"]:
        rate = row["bytes"] / row["seconds"]
        lines.append(f"| {row['label']} | {row['bytes'] / 1e6:.0f} | {row['seconds']:.2f} | {rate / 1e6:.0f} "
                     f"| {rate * base:.1f} | {row['memory_mb']:.0f} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("--mb", type=float, default=300)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--markdown", help="file whose part between the bench markers is replaced")
    parser.add_argument("--json")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name, ranks in (("one", 1), ("two", 2)):
            subprocess.run(["/usr/bin/python3", GENERATOR, os.path.join(folder, name), "--roles", "actor_update",
                            "--ranks", str(ranks), "--mb", str(options.mb)], check=True, stdout=subprocess.DEVNULL)
        rows = rows_to_measure(options.binary, folder, os.path.join(folder, "job.h5"), os.path.join(folder, "memory"))
        figures = {label: [] for label, _, _ in rows}
        for round_number in range(options.runs + 1):  # the first only warms the page cache
            for label, command, _ in rows:
                figure = measure(command, os.path.join(folder, "memory"))
                if round_number > 0:
                    figures[label].append(figure)
        result = {"machine": machine(), "mb": options.mb, "runs": options.runs, "rows": [
            {"label": label, "bytes": tree_bytes(inputs), "seconds": statistics.median(f[0] for f in figures[label]),
             "memory_mb": max(f[1] for f in figures[label])} for label, _, inputs in rows]}
    table = as_markdown(result)
    print(table)
    if options.json:
        with open(options.json, "w") as out:
            json.dump(result, out, indent=1)
    if options.markdown:
        write_between_markers(options.markdown, "bench/memory.py", result["machine"], table)


def write_between_markers(path, script, where, table):
    """Replace what stands between the two markers of a script in a page."""
    with open(path) as page:
        before, rest = page.read().split(f"<!-- {script} -->\n", 1)
        after = rest.split("<!-- end -->\n", 1)[1]
    head = f"{where['processor']}, {where['cores']} cores, commit {where['commit']}.\n\n"
    with open(path, "w") as page:
        page.write(f"{before}<!-- {script} -->\n{head}{table}\n<!-- end -->\n{after}")


if __name__ == "__main__":
    sys.exit(main())
