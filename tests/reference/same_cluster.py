#!/usr/bin/python3
"""Whether two output files have the same cluster tables, to the last bit; but for /rank_device_map, which only
databases fill. Exit code 0 and the number of rows if so, else 1 and the first difference of each table."""
import argparse
import sys

import h5py

from check_peer import read_column
from cluster_reference import TABLES


def rows_of(root, name):
    """The rows of a table; each value as text, so that NaN equals NaN."""
    return list(zip(*(map(repr, read_column(root[name], column)) for column in TABLES[name])))


def main():
    parser = argparse.ArgumentParser(description="Compare the cluster tables of two output files.")
    parser.add_argument("files", nargs=2, metavar="FILE.h5")
    parser.add_argument("--min-rows", type=int, default=0, metavar="N", help="fail if fewer rows were compared")
    arguments = parser.parse_args()
    compared, failures = 0, 0
    with h5py.File(arguments.files[0], "r") as one, h5py.File(arguments.files[1], "r") as other:
        for name in TABLES:
            if name == "rank_device_map":
                continue
            rows, others = rows_of(one, name), rows_of(other, name)
            compared += len(rows)
            if rows != others:
                failures += 1
                print(f"/{name}: {len(rows)} and {len(others)} rows; first difference:",
                      next((pair for pair in zip(rows, others) if pair[0] != pair[1]), None))
    if failures or compared < arguments.min_rows:
        sys.exit(f"{failures} tables differ; {compared} rows compared")
    print(f"{compared} rows are the same")


if __name__ == "__main__":
    main()
