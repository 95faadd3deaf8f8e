#!/usr/bin/python3
"""Print columns of a table of an output file, one JSON array a row, or attributes of the file, one JSON value a line."""
import argparse
import json

import h5py


def read_column(table, name):
    """A column as a list."""
    column = table[name]
    if isinstance(column, h5py.Group):
        texts = [text.decode() for text in column["categories"][:]]
        return [texts[code] for code in column["codes"][:]]
    return column[:].tolist()


def show_rows(table, names, conditions):
    """Print the rows of which every condition, COLUMN=VALUE[,VALUE...], holds."""
    wanted = [(column, values.split(",")) for column, values in (c.split("=", 1) for c in conditions)]
    columns = {name: read_column(table, name) for name in {*names, *(column for column, _ in wanted)}}
    for row in range(len(next(iter(columns.values()), ()))):
        if all(str(columns[column][row]) in values for column, values in wanted):
            print(json.dumps([columns[name][row] for name in names], ensure_ascii=False))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", metavar="FILE.h5")
    parser.add_argument("table", nargs="?", metavar="TABLE")
    parser.add_argument("columns", nargs="*", metavar="COLUMN", help="all but those in --without if none is given")
    parser.add_argument("--without", action="append", default=[], metavar="COLUMN")
    parser.add_argument("--where", action="append", default=[], metavar="COLUMN=VALUE[,VALUE...]")
    parser.add_argument("--attribute", action="append", default=[], metavar="NAME")
    arguments = parser.parse_args()
    with h5py.File(arguments.file, "r") as root:
        for name in arguments.attribute:
            print(json.dumps(root.attrs[name], ensure_ascii=False, default=lambda value: value.item()))
        if arguments.table:
            table = root[arguments.table]
            names = arguments.columns or [table.attrs["_index"], *table.attrs["column-order"]]
            names = [name for name in names if name not in arguments.without]
            show_rows(table, names, arguments.where)


if __name__ == "__main__":
    main()
