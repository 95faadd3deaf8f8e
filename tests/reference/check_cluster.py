#!/usr/bin/python3
"""Compare the cluster tables of an output file with the reference, row by row.

Floats may differ by a relative 1e-12 (both sides sum with compensation, in different orders); everything else is
exact. Exit code 0 and one line if all agrees, else 1 and at most 20 differences.
"""
import argparse
import math
import sys

import h5py

import check_memory
import cluster_reference
from cluster_reference import F64, I32, I64, TABLES

TOLERANCE = 1e-12
UNITS = {"transit_size": "MB", "package_size": "MB", "bandwidth": "GB/s", "start_timestamp_ns": "ns",
         **dict.fromkeys(("total_duration", *cluster_reference.TIME_KEYS), "ms")}


def unit(table, column):
    """The unit of a column."""
    kind = TABLES[table][column]
    if kind not in (F64, I64, I32):
        return ""
    if table == "cluster_step_trace_time" and kind == F64:
        return "us"
    return UNITS.get(column, "1")


def same(value, wanted):
    """Whether a cell is as expected."""
    if isinstance(wanted, float):
        return (value != value and wanted != wanted) or math.isclose(value, wanted, rel_tol=TOLERANCE, abs_tol=0)
    return value == wanted


def compare_rows(differences, name, table, expected):
    """Each row of a table equals the expected one."""
    columns = [table[column].tolist() for column in TABLES[name]]
    rows = list(zip(*columns))
    differences.expect(len(rows) == len(expected), f"/{name}: {len(rows)} rows, not {len(expected)}")
    for number, (row, wanted) in enumerate(zip(rows, expected)):
        wrong = [f"{column} is {value!r}, not {wanted[column]!r}"
                 for column, value in zip(TABLES[name], row) if not same(value, wanted[column])]
        if wrong:
            differences.add(f"/{name} row {number}: {'; '.join(wrong)}; in {wanted}")


def check_table(differences, root, name, expected):
    """A table has its columns and equals the reference; the number of rows compared."""
    if not differences.expect(name in root, f"/{name} is missing"):
        return 0
    kinds = {"row": I64, **TABLES[name]}
    table = check_memory.read_table(differences, root[name], kinds)
    if not differences.expect(list(table) == list(kinds), f"/{name}: columns {list(table)}"):
        return 0
    for column in TABLES[name]:
        differences.attribute(root[name][column], "unit", unit(name, column))
    differences.expect(table["row"].tolist() == list(range(len(table["row"]))), f"/{name}: the index is not 0..n-1")
    compare_rows(differences, name, table, expected)
    check_memory.check_other_reader(differences, root[name], table)
    return len(table["row"])


def main():
    parser = argparse.ArgumentParser(description="Compare the cluster tables of an output file with the reference.")
    parser.add_argument("file", metavar="FILE.h5")
    parser.add_argument("roots", nargs="+", metavar="ROOT")
    parser.add_argument("--min-rows", type=int, default=0, metavar="N", help="fail if fewer rows were compared")
    arguments = parser.parse_args()
    differences, compared = check_memory.Differences(), 0
    with h5py.File(arguments.file, "r") as root:
        for name, expected in cluster_reference.analyse(arguments.roots).items():
            compared += check_table(differences, root, name, expected)
    differences.expect(compared >= arguments.min_rows, f"only {compared} rows compared, {arguments.min_rows} wanted")
    if differences.count:
        sys.exit(f"{arguments.file}: {differences.count} differences")
    print(f"{compared} rows compared")


if __name__ == "__main__":
    main()
