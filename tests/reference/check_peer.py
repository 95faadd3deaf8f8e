#!/usr/bin/python3
"""Compare /memory_events of a file made with --match nearest with the rows of RL-Insight's memory parser.

Rows must pair up one-to-one, in any order. Times may differ by 1e-3 ms (the peer's are doubles); everything
else is exact, but the peer writes total_active_mb 0.0 where the cell is absent and we NaN.
Exit code 0 and one line if all agrees, else 1 and at most 20 rows without a partner.
"""
import argparse
import collections
import csv
import math
import sys

import h5py

TIMES = ("start_time_ms", "duration_ms")
TOLERANCE_MS = 1e-3
TEXTS = ("name", "role", "device_type", "call_stack_top", "call_stack")
NUMBERS = ("rank_id", "size_kb", "total_allocated_mb", "total_reserved_mb", "total_active_mb")


def read_column(table, name):
    """A column as a list."""
    column = table[name]
    if isinstance(column, h5py.Group):
        texts = [text.decode() for text in column["categories"][:]]
        return [texts[code] for code in column["codes"][:]]
    return column[:].tolist()


def read_file(path):
    """The rows of /memory_events as dictionaries."""
    with h5py.File(path, "r") as root:
        columns = {name: read_column(root["memory_events"], name) for name in (*TEXTS, *NUMBERS, *TIMES)}
    return [dict(zip(columns, cells)) for cells in zip(*columns.values())]


def read_peer(path):
    """The peer's rows as dictionaries."""
    with open(path, encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    for row in rows:
        row.update({name: float(row[name]) for name in (*NUMBERS, *TIMES)})
    return rows


def grouped(rows):
    """Times of the rows by all that must be exact, ascending."""
    groups = collections.defaultdict(list)
    for row in rows:
        if math.isnan(row["total_active_mb"]):
            row["total_active_mb"] = 0.0
        groups[tuple(row[name] for name in (*TEXTS, *NUMBERS))].append(tuple(row[name] for name in TIMES))
    return {key: sorted(times) for key, times in groups.items()}


def unpaired(ours, peers):
    """(which, key, times) of the rows without a partner."""
    for key in {**ours, **peers}:
        left = list(peers.get(key, ()))
        for times in ours.get(key, ()):
            partner = next((p for p in left if all(abs(a - b) <= TOLERANCE_MS for a, b in zip(times, p))), None)
            if partner is None:
                yield "ours", key, times
            else:
                left.remove(partner)
        yield from (("peer", key, times) for times in left)


def main():
    parser = argparse.ArgumentParser(description="Compare an output file with RL-Insight's rows.")
    parser.add_argument("file", metavar="FILE.h5")
    parser.add_argument("expected", metavar="EXPECTED.csv")
    parser.add_argument("--min-rows", type=int, default=1, metavar="N", help="fail if fewer rows were compared")
    arguments = parser.parse_args()
    ours, peers = read_file(arguments.file), read_peer(arguments.expected)
    lonely = list(unpaired(grouped(ours), grouped(peers)))
    for which, key, times in lonely[:20]:
        print(f"only {which}: {dict(zip((*TIMES, *TEXTS, *NUMBERS), (*times, *key)))}")
    if lonely:
        sys.exit(f"{arguments.file}: {len(lonely)} rows without a partner")
    if len(peers) < arguments.min_rows:
        sys.exit(f"only {len(peers)} rows compared, {arguments.min_rows} wanted")
    print(f"{len(peers)} rows compared")


if __name__ == "__main__":
    main()
