#!/usr/bin/python3
"""Compare what rl-insight-export wrote with the file it was made from.

check_export.py csv FILE.h5 DIR       every table, cell by cell, as pandas reads it
check_export.py json FILE...          each is as json.dumps() would write it
check_export.py database FILE TABLE...   sound, and has these tables
"""
import json
import re
import sqlite3
import sys

import h5py
import numpy as np
import pandas as pd


def read_column(item):
    """A column of the file as a list, text as str."""
    if isinstance(item, h5py.Group):
        categories = item["categories"].asstr()[:]
        return [categories[code] for code in item["codes"][:]]
    return item[:]


def check_csv(path, directory):
    """The first difference, or None."""
    with h5py.File(path, "r") as root:
        for name, table in root.items():
            names = [table.attrs["_index"], *table.attrs["column-order"]]
            if names[0] == "row":
                names = names[1:]
            frame = pd.read_csv(f"{directory}/{name}.csv", float_precision="round_trip", keep_default_na=False, na_values={
                column: [""] for column in names if not isinstance(table[column], h5py.Group)
            }, dtype={column: str for column in names if isinstance(table[column], h5py.Group)})  # fmt: skip
            if sorted(frame.columns) != sorted(names):
                return f"{name} has the columns {list(frame.columns)}"
            for column in names:
                wanted = read_column(table[column])
                got = frame[column].to_numpy()
                same = list(got) == list(wanted) if isinstance(wanted, list) else np.array_equal(
                    got.astype(wanted.dtype), wanted, equal_nan=wanted.dtype.kind == "f")
                if not same:
                    return f"{name}.{column} differs"
    return None


def check_json(*paths):
    """The first file that is not as Python writes it, or None."""
    for path in paths:
        with open(path, encoding="ascii", newline="") as file:
            # nanoseconds are more digits than a double has
            text = re.sub(r'("Start Timestamp\(us\)": \d+\.)\d+', r"\g<1>5", file.read())
        if json.dumps(json.loads(text)) != text:
            return f"{path} is not as json.dumps() writes it"
    return None


def check_database(path, *tables):
    """What is wrong with a database, or None."""
    with sqlite3.connect(path) as connection:
        said = connection.execute("PRAGMA integrity_check").fetchall()
        there = sorted(name for (name,) in connection.execute("SELECT name FROM sqlite_master"))
    if said != [("ok",)]:
        return f"{path}: {said}"
    return None if there == sorted(tables) else f"{path} has the tables {there}"


def main():
    checks = {"csv": check_csv, "json": check_json, "database": check_database}
    difference = checks[sys.argv[1]](*sys.argv[2:])
    if difference:
        sys.exit(difference)


if __name__ == "__main__":
    main()
