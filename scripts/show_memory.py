#!/usr/bin/python3
"""Show which source lines hold the memory, and what was read.   usage: show_memory.py FILE.h5"""
import sys

import h5py
import pandas as pd


def read_table(group):
    """One table of the file as a pandas DataFrame."""
    def column(item):
        if isinstance(item, h5py.Group):  # text: each distinct value once, and a number per row
            return pd.Categorical.from_codes(item["codes"][:], item["categories"].asstr()[:])
        return item[:]
    names = [group.attrs["_index"], *group.attrs["column-order"]]
    return pd.DataFrame({name: column(group[name]) for name in names}).set_index(names[0])


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: show_memory.py FILE.h5")
    pd.set_option("display.width", 160, "display.max_columns", None, "display.max_colwidth", 90)
    with h5py.File(sys.argv[1], "r") as file:
        memory = read_table(file["memory_events"])
        captures = read_table(file["captures"])
    held = memory.groupby(["role", "call_stack_top"], observed=True)["size_kb"].agg(["sum", "count"])
    held.columns = ["size_kb", "records"]
    held = held.rename(index={"": "(no call stack)"}, level="call_stack_top")
    print(held.sort_values("size_kb", ascending=False).head(10).to_string(float_format="%.1f"))
    print()
    print(captures[["role", "rank_id", "window", "status", "memory_rows", "rows_matched"]].to_string())


if __name__ == "__main__":
    main()
