#!/usr/bin/python3
"""Measure step trace and communication: seconds and peak memory, beside the Python reference.

usage: cluster.py BINARY [--runs 3] [--markdown docs/performance.md] [--json FILE]

The data are generated clusters as text. As for memory.py: whole commands, page cache warm, the median of the runs; compare ratios
within one call of this script. The largest is run once.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

import memory

GENERATOR = os.path.join(memory.ROOT, "tests", "support", "gen_cluster.py")
REFERENCE = os.path.join(memory.ROOT, "tests", "reference", "cluster_reference.py")
SMALL = ("--tp", "4", "--pp", "4", "--dp", "4", "--steps", "4")         # 64 ranks
LARGE = ("--tp", "4", "--pp", "4", "--dp", "16", "--steps", "1")        # 256 ranks, each with a link to each


def timed(command, memory_file):
    """A command that adds its peak memory to a file."""
    return ["/usr/bin/time", "-a", "-o", memory_file, "-f", "%M", *command]


def program(binary, processes, inputs, memory_file):
    """The command for so many processes."""
    run = timed([binary, inputs, "-o", inputs + ".h5", "--force", "--quiet"], memory_file)
    return run if processes == 1 else ["mpirun", "-q", "-np", str(processes), *run]


def as_markdown(rows):
    """The table for docs/performance.md."""
    lines = ["| whole command | MB | s | MB/s | peak memory of a process, MB |", "|---|---|---|---|---|"]
    for row in rows:
        lines.append(f"| {row['label']} | {row['bytes'] / 1e6:.0f} | {row['seconds']:.2f} "
                     f"| {row['bytes'] / row['seconds'] / 1e6:.1f} | {row['memory_mb']:.0f} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--markdown", help="file whose part between the bench markers is replaced")
    parser.add_argument("--json")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        memory_file = os.path.join(folder, "memory")
        small, large = os.path.join(folder, "small"), os.path.join(folder, "large")
        for inputs, sizes in ((small, SMALL), (large, LARGE)):
            subprocess.run(["/usr/bin/python3", GENERATOR, inputs, *sizes], check=True, stdout=subprocess.DEVNULL)
        plan = [("64 ranks, 1 process", program(options.binary, 1, small, memory_file), small, options.runs),
                ("64 ranks, 2 processes", program(options.binary, 2, small, memory_file), small, options.runs),
                ("64 ranks, Python reference", timed(["/usr/bin/python3", REFERENCE, small], memory_file), small, 1),
                ("256 ranks, 4 processes", program(options.binary, 4, large, memory_file), large, 1)]
        rows = []
        for label, command, inputs, runs in plan:
            memory.measure(command, memory_file) if runs > 1 else None  # warms the page cache
            figures = [memory.measure(command, memory_file) for _ in range(runs)]
            rows.append({"label": label, "bytes": memory.tree_bytes(inputs),
                         "seconds": statistics.median(f[0] for f in figures), "memory_mb": max(f[1] for f in figures)})
    result = {"machine": memory.machine(), "runs": options.runs, "rows": rows}
    table = as_markdown(rows)
    print(table)
    if options.json:
        with open(options.json, "w") as out:
            json.dump(result, out, indent=1)
    if options.markdown:
        memory.write_between_markers(options.markdown, "bench/cluster.py", result["machine"], table)


if __name__ == "__main__":
    sys.exit(main())
