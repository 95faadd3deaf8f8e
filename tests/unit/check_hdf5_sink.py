#!/usr/bin/python3
"""Reads the file of the unit test with readers that are not ours: h5py and anndata.

    RLMR_KEEP_FILE=/tmp/sink.h5 build/dev/tests/unit_tests && tests/unit/check_hdf5_sink.py /tmp/sink.h5

Prints what is wrong, one line each; exits with 0 if nothing is, else 1. The numbers and formulas are those of
test_hdf5_sink.c. The interpreter must have h5py, pandas and anndata.
"""

import sys

import h5py
import numpy as np
import pandas as pd
from anndata.experimental import read_elem

BLOCK_ROWS = 65536
ROWS = 2 * BLOCK_ROWS + 100
PROBE = {
    "row": ("int64", "1"),
    "time_ns": ("int64", "ns"),
    "name": ("category", ""),
    "rank_id": ("int32", "1"),
    "flag": ("uint8", "1"),
    "size": ("float64", "KiB"),
    "stack": ("category", ""),
}

problems = []


def check(good, text):
    if not good:
        problems.append(text)


def equal(got, expected, text):
    check(got == expected, f"{text}: {got!r}, expected {expected!r}")


def names():
    return [""] + [f"name {i:06d} \u00e9" for i in range(1, 3000)]


def stacks():
    return [""] + [f"stack {i:06d} " + "x" * (i * 37 % 6000) for i in range(1, 700)]


def check_text_attribute(node, key):
    """As h5py writes a str: scalar, variable length, UTF-8, NUL-terminated."""
    attribute = h5py.h5a.open(node.id, key.encode())
    kind = attribute.get_type()
    where = f"{node.name}@{key}"
    check(kind.is_variable_str(), f"{where} is not of variable length")
    equal(kind.get_cset(), h5py.h5t.CSET_UTF8, f"{where}, character set")
    equal(kind.get_strpad(), h5py.h5t.STR_NULLTERM, f"{where}, padding")
    check(isinstance(node.attrs[key], (str, np.ndarray)), f"{where} is not text")


def check_dataset(node, encoding):
    equal(node.attrs["encoding-type"], encoding, node.name)
    equal(node.attrs["encoding-version"], "0.2.0", node.name)
    equal(node.maxshape, (None,), f"{node.name}, maximum shape")
    equal(node.chunks, (BLOCK_ROWS,), f"{node.name}, chunks")
    equal((node.shuffle, node.compression, node.compression_opts), (True, "gzip", 1), f"{node.name}, filters")


def check_categorical(node):
    equal(node.attrs["encoding-type"], "categorical", node.name)
    equal(node.attrs["encoding-version"], "0.2.0", node.name)
    ordered = node.attrs["ordered"]
    check(isinstance(ordered, (bool, np.bool_)) and not ordered, f"{node.name}: ordered is {ordered!r}")
    check_dataset(node["codes"], "array")
    check_dataset(node["categories"], "string-array")
    equal(node["codes"].dtype, np.dtype("<i4"), f"{node.name}/codes")
    equal(h5py.check_string_dtype(node["categories"].dtype).encoding, "utf-8", f"{node.name}/categories")
    raw = [text.encode() for text in node["categories"].asstr()[:]]
    check(all(a < b for a, b in zip(raw, raw[1:])), f"{node.name}/categories are not ascending")


def check_column(node):
    for key in ("encoding-type", "encoding-version", "unit", "description"):
        check_text_attribute(node, key)
    if isinstance(node, h5py.Group):
        check_categorical(node)
    else:
        check_dataset(node, "array")


def check_table(group):
    for key in ("encoding-type", "encoding-version", "_index", "column-order", "description"):
        check_text_attribute(group, key)
    equal(group.attrs["encoding-type"], "dataframe", group.name)
    equal(group.attrs["encoding-version"], "0.2.0", group.name)
    order = list(group.attrs["column-order"])
    equal(set(group), {group.attrs["_index"], *order}, f"{group.name}, members")
    check(group.attrs["_index"] not in order, f"{group.name}: the index is in column-order")
    for name in group:
        check_column(group[name])
    frame = read_elem(group)
    equal(frame.index.name, group.attrs["_index"], f"{group.name}, index name")
    equal(list(frame.columns), order, f"{group.name}, columns")
    return frame


def check_probe(group):
    frame = check_table(group)
    row = np.arange(ROWS, dtype="uint64")
    time = 1700000000000000000 + (row * np.uint64(2654435761) % np.uint64(2**32)).astype("int64")
    size = np.where(row % 10 == 3, np.nan, row * 0.5)
    equal(list(frame.columns), [name for name in PROBE if name != "row"], "probe, columns")
    check(np.array_equal(frame.index, row), "probe, index")
    check(np.array_equal(frame["time_ns"], time), "probe, time_ns")
    check(np.array_equal(frame["rank_id"], row.astype("int32") % 5 - 1), "probe, rank_id")
    check(np.array_equal(frame["flag"], row & np.uint64(1)), "probe, flag")
    check(np.array_equal(frame["size"], size, equal_nan=True), "probe, size")
    for name, texts, codes in (("name", names(), row % 3000), ("stack", stacks(), row * row % 700)):
        expected = pd.Categorical.from_codes(codes.astype("int32"), texts)
        equal(list(frame[name].cat.categories), texts, f"probe, {name}")
        check((frame[name].values == expected).all(), f"probe, {name}: wrong rows")
    for name, (dtype, unit) in PROBE.items():
        equal(group[name].attrs["unit"], unit, f"probe, unit of {name}")
        equal(str(frame.index.dtype if name == "row" else frame[name].dtype), dtype, f"probe, dtype of {name}")


def check_small(file):
    frame = check_table(file["indexed"])
    equal(list(frame.index), [0, 10, 20, 30, 40], "indexed, index")
    equal(list(frame["value"]), [0, 0.25, 0.5, 0.75, 1], "indexed, value")
    equal(check_table(file["lonely"]).shape, (0, 0), "lonely, shape")
    frame = check_table(file["memory_events"])
    equal(frame.shape, (0, 18), "memory_events, shape")
    equal(frame.index.name, "start_time_ns", "memory_events, index")
    check("file_row" not in file["memory_events"], "memory_events has a hidden column")


def check_root(file):
    equal(dict(file.attrs), {"format": "rl-insight-mr", "format_version": 1, "time_offset_us": 0.5}, "root attributes")
    check_text_attribute(file, "format")
    equal(file.attrs["format_version"].dtype, np.dtype("int64"), "format_version")
    equal(file.attrs["time_offset_us"].dtype, np.dtype("float64"), "time_offset_us")
    equal(set(file), {"probe", "indexed", "lonely", "memory_events"}, "tables")


def main(path):
    with h5py.File(path, "r") as file:
        check_root(file)
        check_probe(file["probe"])
        check_small(file)
    print("\n".join(problems) or f"{path} is as it should be")
    return 1 if problems else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} FILE")
    sys.exit(main(sys.argv[1]))
