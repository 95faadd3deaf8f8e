#!/usr/bin/python3
"""Compare /memory_events and /captures of an output file with the reference, cell by cell.

The file is read twice, with plain h5py and with anndata, and must give the same tables; its HDF5 layout
(types, attributes, chunks, filters) is checked too. Floats must be equal to the last bit.
Exit code 0 and one line if all agrees, else 1 and at most 20 differences.
"""
import argparse
import decimal
import sys
import warnings

import h5py
import numpy

import memory_reference

with warnings.catch_warnings():
    warnings.simplefilter("ignore")     # anndata warns that it has no pytorch
    from anndata.experimental import read_elem

CHUNK_ROWS = 65536
UNITS = ("ns", "us", "ms", "MiB", "KiB", "MB", "GB/s", "1")
ROOT_ATTRIBUTES = ("format", "format_version", "producer", "mode", "match", "time_offset_us", "rank_list", "role",
                   "parallel_strategy")
KINDS = ("trace_view", "operator_memory", "profiler_db")
CAPTURE_COLUMNS = {
    "capture": "integer", "role": "text", "rank_id": "integer", "window": "integer", "path": "text",
    "timestamp": "any", "source": "text", "status": "text",
    **{f"{kind}_state": "text" for kind in KINDS}, **{f"{kind}_bytes": "integer" for kind in KINDS},
    "events_seen": "integer", "events_with_stack": "integer", "events_skipped": "integer", "memory_rows": "integer",
    "rows_matched": "integer", "bad_cells": "integer", "first_error_offset": "integer", "message": "text",
}
MEMORY_COLUMNS = {name: kind for name, (kind, _) in memory_reference.COLUMNS.items()}
# Columns of /captures that are compared, and the attribute of the reference's Capture that holds the value.
COMPARED = {"role": "role", "rank_id": "rank_id", "window": "window", "path": "relative_path", "status": "status",
            "memory_rows": "memory_rows", "rows_matched": "rows_matched", "bad_cells": "bad_cells",
            **{name: name for name in ("events_seen", "events_with_stack", "events_skipped", "source",
                                       "first_error_offset", *(f"{kind}_state" for kind in KINDS))}}


class Differences:
    """Collects what differs; prints the first 20."""

    def __init__(self):
        self.count = 0

    def add(self, text):
        self.count += 1
        if self.count <= 20:
            print(text)

    def expect(self, condition, text):
        """Add `text` unless `condition`; gives back whether it held."""
        if not condition:
            self.add(text)
        return bool(condition)

    def attribute(self, item, name, value):
        """Expect an attribute with exactly this value."""
        found = item.attrs.get(name)
        self.expect(type(found) == type(value) and found == value, f"{item.name}: {name} is {found!r}, not {value!r}")


def check_dataset(differences, data):
    """One dimension without limit, the chunk size, shuffle and deflate."""
    differences.expect(data.maxshape == (None,), f"{data.name}: maximal shape {data.maxshape}")
    differences.expect(data.chunks == (CHUNK_ROWS,), f"{data.name}: chunks {data.chunks}")
    filters = (data.shuffle, data.compression, data.fletcher32, data.scaleoffset)
    expected = (True, "gzip", False, None)
    differences.expect(filters == expected, f"{data.name}: filters {filters}, not {expected}")


def check_text_type(differences, where, dtype):
    """Variable-length UTF-8."""
    text = h5py.check_string_dtype(dtype)
    differences.expect(text and text.length is None and text.encoding == "utf-8", f"{where}: not variable-length UTF-8")


def read_number(differences, data, kind):
    """A numeric column as an array."""
    kinds = {"integer": ("int32", "int64", "uint32", "uint64", "uint8"), "any": None}.get(kind, (kind,))
    differences.expect(kinds is None or data.dtype.name in kinds, f"{data.name}: type {data.dtype}, not {kind}")
    differences.expect(data.dtype.newbyteorder("<") == data.dtype, f"{data.name}: not little-endian")
    differences.attribute(data, "encoding-type", "array")
    differences.attribute(data, "encoding-version", "0.2.0")
    differences.expect(data.attrs.get("unit") in UNITS, f"{data.name}: unit is {data.attrs.get('unit')!r}")
    check_dataset(differences, data)
    return data[:]


def check_false(differences, group):
    """`ordered` is False as h5py writes a bool: an enum of int8 {FALSE=0, TRUE=1}."""
    if not differences.expect("ordered" in group.attrs, f"{group.name}: no ordered"):
        return
    kind = group.attrs.get_id("ordered").get_type()
    is_enum = isinstance(kind, h5py.h5t.TypeEnumID)
    members = is_enum and {kind.get_member_name(i): kind.get_member_value(i) for i in range(kind.get_nmembers())}
    differences.expect(members == {b"FALSE": 0, b"TRUE": 1} and kind.get_super().dtype == numpy.int8,
                       f"{group.name}: ordered is not an enum of int8 FALSE and TRUE")
    differences.expect(group.attrs["ordered"] == 0, f"{group.name}: ordered is true")


def read_text(differences, group):
    """A text column as an array of str."""
    differences.attribute(group, "encoding-type", "categorical")
    differences.attribute(group, "encoding-version", "0.2.0")
    differences.attribute(group, "unit", "")
    check_false(differences, group)
    if not differences.expect(set(group) == {"codes", "categories"}, f"{group.name}: holds {list(group)}"):
        return numpy.array([], dtype=object)
    codes, categories = group["codes"], group["categories"]
    differences.expect(codes.dtype == numpy.dtype("<i4"), f"{codes.name}: type {codes.dtype}, not int32")
    check_dataset(differences, codes)
    differences.attribute(categories, "encoding-type", "string-array")
    differences.attribute(categories, "encoding-version", "0.2.0")
    check_text_type(differences, categories.name, categories.dtype)
    check_dataset(differences, categories)
    texts, codes = list(categories[:]), codes[:]
    differences.expect(texts == sorted(set(texts)), f"{categories.name}: not sorted bytewise and distinct")
    used = numpy.array_equal(numpy.unique(codes), numpy.arange(len(texts)))
    if not differences.expect(used, f"{group.name}: codes are not exactly those of the categories"):
        codes = numpy.clip(codes, 0, max(len(texts) - 1, 0))
    return numpy.array([texts[code].decode() for code in codes] if texts else [], dtype=object)


def read_table(differences, group, kinds):
    """The table as ordered dictionary of arrays, the index first, read with h5py alone; checks its layout.

    `kinds` has the kind of each column, the index first: its type, "integer", "text" or "any"; columns without a
    kind may have any.
    """
    differences.attribute(group, "encoding-type", "dataframe")
    differences.attribute(group, "encoding-version", "0.2.0")
    differences.attribute(group, "_index", next(iter(kinds)))
    order = list(group.attrs.get("column-order", ()))
    if order:
        check_text_type(differences, f"{group.name}: column-order", group.attrs.get_id("column-order").dtype)
    names = [group.attrs.get("_index"), *order]
    differences.expect(sorted(names) == sorted(group), f"{group.name}: column-order does not list its members")
    table = {}
    for name in (n for n in names if n in group):
        column, kind = group[name], kinds.get(name, "any")
        description = column.attrs.get("description")
        differences.expect(isinstance(description, str) and description, f"{column.name}: no description")
        is_text = isinstance(column, h5py.Group)
        differences.expect(kind == "any" or is_text == (kind == "text"), f"{column.name}: not {kind}")
        table[name] = read_text(differences, column) if is_text else read_number(differences, column, kind)
    lengths = {len(values) for values in table.values()}
    differences.expect(len(lengths) == 1, f"{group.name}: columns of lengths {sorted(lengths)}")
    return table


def check_other_reader(differences, group, table):
    """What anndata reads is what h5py has read."""
    try:
        frame = read_elem(group)
    except Exception as error:      # whatever it is, the file is to blame
        differences.add(f"{group.name}: anndata cannot read it: {error!r}")
        return
    index = group.attrs["_index"]
    differences.expect(frame.index.name == index, f"{group.name}: anndata names the index {frame.index.name!r}")
    differences.expect(list(frame.columns) == list(table)[1:],
                       f"{group.name}: anndata has columns {list(frame.columns)}")
    for name, values in table.items():
        other = numpy.asarray(frame.index if name == index else frame[name])
        numbers = values.dtype != object
        # pandas 1.5 makes every integer index int64
        same_type = values.dtype == other.dtype or (name == index and other.dtype == "int64")
        same = (numpy.array_equal(values, other, equal_nan=values.dtype.kind == "f") and same_type
                if numbers else list(values) == list(other))
        differences.expect(same, f"{group.name}/{name}: anndata and h5py read different values")


def compare_column(differences, where, values, expected):
    """Each cell of a column equals the expected one, if that is known (not None); NaN equals NaN."""
    if not differences.expect(len(values) == len(expected), f"{where}: {len(values)} rows, not {len(expected)}"):
        return
    for row, (value, wanted) in enumerate(zip(values.tolist(), expected)):
        if wanted is not None and value != wanted and not (value != value and wanted != wanted):
            differences.add(f"{where} row {row}: {value!r}, not {wanted!r}")


def check_memory_events(differences, group, rows):
    """/memory_events equals the rows of the reference; the number of rows compared."""
    table = read_table(differences, group, MEMORY_COLUMNS)
    differences.expect(list(table) == list(MEMORY_COLUMNS), f"{group.name}: columns {list(table)}")
    for position, (name, (_, unit)) in enumerate(memory_reference.COLUMNS.items()):
        if name in table:
            differences.attribute(group[name], "unit", unit)
            compare_column(differences, f"{group.name}/{name}", table[name], [row[position] for row in rows])
    check_other_reader(differences, group, table)
    return len(next(iter(table.values()), ()))


def check_captures(differences, group, captures):
    """/captures has its columns and equals the reference where the reference knows the value."""
    table = read_table(differences, group, CAPTURE_COLUMNS)
    missing = [name for name in CAPTURE_COLUMNS if name not in table]
    differences.expect(not missing, f"{group.name}: no column {missing}")
    expected = {"capture": list(range(len(captures)))}
    expected.update({name: [getattr(c, key) for c in captures] for name, key in COMPARED.items()})
    for name, values in expected.items():
        if name in table:
            compare_column(differences, f"{group.name}/{name}", table[name], values)
    check_other_reader(differences, group, table)


def check_root(differences, root, match, time_offset):
    """The attributes of the root."""
    attributes = root.attrs
    missing = [name for name in ROOT_ATTRIBUTES if name not in attributes]
    if not differences.expect(not missing, f"root: no attribute {missing}"):
        return
    differences.attribute(root, "format", "rl-insight-mr")
    differences.expect(attributes["format_version"] == 1, f"root: format_version is {attributes['format_version']!r}")
    differences.expect(str(attributes["producer"]).startswith("rl-insight-mr "), f"root: {attributes['producer']!r}")
    differences.attribute(root, "match", match)
    offset = decimal.Decimal(str(attributes["time_offset_us"]))
    differences.expect(offset == decimal.Decimal(time_offset), f"root: time_offset_us is {offset}")


def main():
    parser = argparse.ArgumentParser(description="Compare an output file with the reference.")
    parser.add_argument("file", metavar="FILE.h5")
    parser.add_argument("roots", nargs="+", metavar="ROOT")
    parser.add_argument("--match", choices=memory_reference.POLICIES, required=True)
    parser.add_argument("--time-offset", default="0", metavar="US")
    parser.add_argument("--min-rows", type=int, default=0, metavar="N", help="fail if fewer rows were compared")
    arguments = parser.parse_args()
    captures, rows = memory_reference.analyse(arguments.roots, arguments.match, arguments.time_offset)
    differences = Differences()
    compared = 0
    with h5py.File(arguments.file, "r") as root:
        check_root(differences, root, arguments.match, arguments.time_offset)
        if differences.expect("memory_events" in root and "captures" in root, "memory_events or captures is missing"):
            compared = check_memory_events(differences, root["memory_events"], rows)
            check_captures(differences, root["captures"], captures)
    if compared < arguments.min_rows:
        differences.add(f"only {compared} rows compared, {arguments.min_rows} wanted")
    if differences.count:
        sys.exit(f"{arguments.file}: {differences.count} differences")
    print(f"{compared} rows compared")


if __name__ == "__main__":
    main()
