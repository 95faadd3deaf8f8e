#!/usr/bin/python3
"""Output files of rl-insight-mr with the tables of the cluster, made without it.

cluster_h5.py peer DIR FILE.h5     from a cluster_analysis_output of mstt, text or database
cluster_h5.py sample FILE.h5 [--role ROLE]... [--windows N] [--memory ROWS] [--bare] [--empty] [--only TABLE]...
    small, of every kind of row; --bare: without preparing and coordinates; --empty: without rows
"""
import argparse
import csv
import json
import math
import os
import sqlite3
from decimal import Decimal

import h5py
import numpy as np

NAN = math.nan
ABSENT_NS = -(2**63)
TOTAL = "Total Op Info"
STEP_NUMBERS = [
    "computing", "communication_not_overlapped", "overlapped", "communication", "free", "stage", "bubble",
    "communication_not_overlapped_and_exclude_receive", "preparing"
]
TABLES = {
    "captures": "i:capture t:role i:rank_id i:window t:path t:timestamp t:source t:status "
    + " ".join(
        f"t:{kind}_state l:{kind}_bytes"
        for kind in ("profiler_info profiler_metadata trace_view operator_memory step_trace_time communication "
                     "communication_matrix profiler_db analysis_db").split()
    )
    + " l:events_seen l:events_with_stack l:events_skipped l:memory_rows l:rows_matched l:bad_cells"
    " l:first_error_offset t:message",
    "memory_events": "l:start_time_ns t:name t:role i:rank_id i:capture t:component t:call_stack t:call_stack_top"
    " t:call_stack_match f:size_kb f:start_time_ms f:duration_ms f:active_duration_ms b:is_released"
    " f:total_allocated_mb f:total_reserved_mb f:total_active_mb t:device_type t:stream",
    "cluster_step_trace_time": "t:role i:window t:step t:type t:index i:rank_id i:capture "
    + " ".join("f:" + name for name in STEP_NUMBERS)
    + " i:dp_index i:pp_index i:tp_index",
    "cluster_communication_time": "t:role i:window t:step i:rank_id i:capture t:type t:hccl_op_name t:group_name"
    " l:start_timestamp_ns f:elapsed_time f:transit_time f:wait_time f:synchronization_time f:idle_time"
    " f:synchronization_time_ratio f:wait_time_ratio",
    "cluster_communication_bandwidth": "t:role i:window t:step i:rank_id i:capture t:type t:hccl_op_name"
    " t:group_name t:band_type f:transit_size f:transit_time f:bandwidth f:large_packet_ratio f:package_size"
    " l:count f:total_duration",
    "cluster_communication_matrix": "t:role i:window t:step t:type t:hccl_op_name t:group_name i:src_rank i:dst_rank"
    " i:src_local i:dst_local t:transport_type t:op_name f:transit_size f:transit_time f:bandwidth",
    "communication_group": "t:role t:type t:group_name t:group_id t:pg_name t:rank_set i:size i:members_seen t:source",
    "rank_device_map": "t:role i:rank_id i:capture l:device_id t:host_uid t:host_name",
    "cluster_base_info": "t:role t:key t:value",
}
TYPES = {"l": np.int64, "i": np.int32, "b": np.uint8, "f": np.float64}
INDEX = {"captures": "capture", "memory_events": "start_time_ns"}
DEFAULTS = {"t": "", "l": 0, "i": 0, "b": 0, "f": NAN}
UTF8 = h5py.string_dtype("utf-8")


def encode(item, encoding):
    """The attributes by which AnnData knows what an object is."""
    item.attrs["encoding-type"] = encoding
    item.attrs["encoding-version"] = "0.2.0"


def dataset(group, name, values, dtype):
    """A dataset in the layout of the product."""
    return group.create_dataset(name, data=np.asarray(values, dtype=dtype), maxshape=(None,), chunks=(65536,),
                                compression=1, shuffle=dtype is not UTF8)


def write_table(root, name, rows):
    """A table of dicts; what a row does not say is absent."""
    group = root.create_group(name)
    encode(group, "dataframe")
    columns = [column.split(":") for column in TABLES[name].split()]
    index = INDEX.get(name, "row")
    group.attrs["_index"] = index
    group.attrs["column-order"] = np.array([column for _, column in columns if column != index], dtype=UTF8)
    if index == "row":
        encode(dataset(group, "row", range(len(rows)), np.int64), "array")
    for kind, column in columns:
        values = [row.get(column, DEFAULTS[kind]) for row in rows]
        if kind != "t":
            encode(dataset(group, column, values, TYPES[kind]), "array")
            continue
        categories = sorted(set(values), key=lambda text: text.encode())
        codes = {text: code for code, text in enumerate(categories)}
        text = group.create_group(column)
        encode(text, "categorical")
        text.attrs["ordered"] = False
        encode(dataset(text, "codes", [codes[value] for value in values], np.int32), "array")
        encode(dataset(text, "categories", categories, UTF8), "string-array")


def write_file(path, tables):
    """Tables by name, as lists of dicts, in one file."""
    with h5py.File(path, "w") as root:
        root.attrs["format"] = "rl-insight-mr"
        root.attrs["format_version"] = 1
        for name, rows in tables.items():
            write_table(root, name, rows)


def sort_rows(tables):
    """In the order of the product, as far as exports depend on it."""
    keys = {
        "cluster_step_trace_time": "role window step type rank_id index",
        "cluster_communication_time": "role window step rank_id type group_name hccl_op_name",
        "cluster_communication_bandwidth": "role window step rank_id type group_name hccl_op_name band_type package_size",
        "cluster_communication_matrix": "role window step type hccl_op_name group_name src_rank dst_rank",
        "communication_group": "role type group_name group_id",
    }
    for name, columns in keys.items():
        def key(row, wanted=columns.split()):
            values = [row.get(column, "" if column in ("role", "step") else 0) for column in wanted]
            return [-1 if isinstance(value, float) and math.isnan(value) else value for value in values]
        tables.get(name, []).sort(key=key)
    return tables


def captures_of(ranks, role="", windows=1, paths=None):
    """One row a capture."""
    return [
        {"capture": number, "role": role, "rank_id": rank, "window": window, "status": "ok",
         "path": (paths or {}).get(rank, f"rank{rank}_window{window}_ascend_pt")}
        for number, (rank, window) in enumerate((rank, window) for rank in ranks for window in range(windows))
    ]


def tuple_text(ranks):
    """(0, 1), (0,), ()."""
    return str(tuple(ranks))


# --- mstt's text ---------------------------------------------------------------------------------------------

def number(value):
    return float(value)


def step_rows(path):
    """Of cluster_step_trace_time.csv."""
    names = dict(zip(["Computing", "Communication(Not Overlapped)", "Overlapped", "Communication", "Free", "Stage", "Bubble",
                      "Communication(Not Overlapped and Exclude Receive)", "Preparing"], STEP_NUMBERS))
    places = {"DP Index": "dp_index", "PP Index": "pp_index", "TP Index": "tp_index"}
    rows = []
    with open(path, newline="", encoding="utf-8") as file:
        for cells in csv.DictReader(file):
            row = {"step": cells["Step"], "type": cells["Type"], "index": cells["Index"]}
            row["rank_id"] = int(cells["Index"]) if cells["Type"] == "rank" else -1
            row.update({column: number(cells[name]) for name, column in names.items() if name in cells})
            row.update({column: -1 if cells.get(name, "NA") == "NA" else int(cells[name])
                        for name, column in places.items()})
            rows.append(row)
    return rows


def time_row(key, info):
    """A row of cluster_communication_time."""
    start = info.get("Start Timestamp(us)")
    return {
        **key,
        "start_timestamp_ns": ABSENT_NS if start is None else int(Decimal(str(start)) * 1000),
        "elapsed_time": number(info.get("Elapse Time(ms)", NAN)),
        "transit_time": number(info.get("Transit Time(ms)", NAN)),
        "wait_time": number(info.get("Wait Time(ms)", NAN)),
        "synchronization_time": number(info.get("Synchronization Time(ms)", NAN)),
        "idle_time": number(info.get("Idle Time(ms)", NAN)),
        "wait_time_ratio": number(info.get("Wait Time Ratio", NAN)),
        "synchronization_time_ratio": number(info.get("Synchronization Time Ratio", NAN)),
    }


def band_rows(key, info):
    """Rows of cluster_communication_bandwidth."""
    for band, values in info.items():
        row = {
            **key,
            "band_type": band,
            "transit_size": number(values["Transit Size(MB)"]),
            "transit_time": number(values["Transit Time(ms)"]),
            "bandwidth": number(values["Bandwidth(GB/s)"]),
            "large_packet_ratio": number(values.get("Large Packet Ratio", NAN)),
        }
        sizes = values["Size Distribution"] or {"nan": [0, 0]}
        for size, (count, duration) in sizes.items():
            yield {**row, "package_size": number(size), "count": int(count), "total_duration": number(duration)}


def type_of(group, op, types):
    """Whether a group's operator is p2p: by what the group is used for, or, if for both, by its name."""
    if types.get(group, "both") != "both":
        return types[group]
    return "p2p" if op.lower().replace("hcom_", "").startswith(("send", "receive", "batchsendrecv")) else "collective"


def from_text(directory):
    """Tables of mstt's text files."""
    tables = {"captures": [], "cluster_step_trace_time": []}
    path = os.path.join(directory, "cluster_step_trace_time.csv")
    if os.path.exists(path):
        tables["cluster_step_trace_time"] = step_rows(path)
    with open(os.path.join(directory, "communication_group.json"), encoding="utf-8") as file:
        groups = json.load(file)["comm_group_parallel_info"]
    tables["communication_group"] = [
        {**group, "rank_set": tuple_text(group["rank_set"]), "size": len(group["rank_set"])} for group in groups
    ]
    types = {}
    for group in groups:
        types[group["group_name"]] = "both" if group["group_name"] in types else group["type"]
    ranks = {row["rank_id"] for row in tables["cluster_step_trace_time"] if row["rank_id"] >= 0}
    path = os.path.join(directory, "cluster_communication.json")
    if os.path.exists(path):
        tables["cluster_communication_time"], tables["cluster_communication_bandwidth"] = [], []
        for step, op, rank, info in leaves(path):
            name, group = op.rsplit("@", 1)
            key = {"step": step, "rank_id": int(rank), "type": type_of(group, name, types), "hccl_op_name": name,
                   "group_name": group}
            tables["cluster_communication_time"].append(time_row(key, info["Communication Time Info"]))
            tables["cluster_communication_bandwidth"] += band_rows(key, info["Communication Bandwidth Info"])
            ranks.add(int(rank))
    path = os.path.join(directory, "cluster_communication_matrix.json")
    if os.path.exists(path):
        tables["cluster_communication_matrix"] = list(matrix_rows(path, types))
    tables["captures"] = captures_of(sorted(ranks))
    return tables


def leaves(path):
    """(step, op, leaf, value) of a communication file; leaf is None for an operator without any."""
    with open(path, encoding="utf-8") as file:
        for steps in json.load(file).values():
            for step, ops in steps.items():
                for op, values in ops.items():
                    for leaf, value in values.items() or [(None, None)]:
                        yield step[len("step"):], op, leaf, value


def matrix_rows(path, types):
    """Rows of cluster_communication_matrix; an operator without links has lost them all."""
    for step, op, link, info in leaves(path):
        name, group = op.rsplit("@", 1)
        row = {"step": step, "type": type_of(group, name, types), "hccl_op_name": name, "group_name": group}
        if link is None:
            yield {**row, "src_rank": -1, "dst_rank": -1, "src_local": 0, "dst_local": 1, "transport_type": "HCCS"}
            continue
        src, dst = map(int, link.split("-"))
        yield {
            **row, "src_rank": src, "dst_rank": dst, "src_local": src, "dst_local": dst,
            "transport_type": info["Transport Type"], "op_name": info["Op Name"],
            "transit_size": number(info["Transit Size(MB)"]), "transit_time": number(info["Transit Time(ms)"]),
            "bandwidth": number(info["Bandwidth(GB/s)"]),
        }


# --- mstt's database -----------------------------------------------------------------------------------------

def select(connection, table):
    """Rows of a table as dicts, none if there is no table."""
    connection.row_factory = sqlite3.Row
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone():
        return []
    return [dict(row) for row in connection.execute(f'SELECT * FROM "{table}"')]


def bare_step(row):
    return {**row, "step": row["step"][len("step"):]}


def from_database(path):
    """Tables of cluster_analysis.db."""
    connection = sqlite3.connect(path)
    groups = select(connection, "CommunicationGroupMapping")
    types = {group["group_name"]: group["type"] for group in groups}
    devices = select(connection, "RankDeviceMap")
    hosts = {host["hostUid"]: host["hostName"] for host in select(connection, "HostInfo")}
    ranks = {device["rankId"]: device["profilePath"] for device in devices}
    numbers = {rank: place for place, rank in enumerate(sorted(ranks))}
    tables = {
        "captures": captures_of(sorted(ranks), paths=ranks),
        "communication_group": [{**group, "rank_set": tuple_text(map(int, group["rank_set"].strip("()").split(",")))}
                                for group in groups],
        "rank_device_map": [{"rank_id": device["rankId"], "device_id": device["deviceId"], "host_uid": device["hostUid"],
                             "host_name": hosts[device["hostUid"]], "capture": numbers[device["rankId"]]}
                            for device in devices],
        "cluster_base_info": select(connection, "ClusterBaseInfo"),
    }
    tables["cluster_communication_time"] = [
        {**bare_step(row), "type": types[row["group_name"]], "start_timestamp_ns": ABSENT_NS if row["hccl_op_name"] == TOTAL
         else int(Decimal(repr(row["start_timestamp"])) * 1000)}
        for row in select(connection, "ClusterCommunicationTime")
    ]
    tables["cluster_communication_bandwidth"] = [
        {**bare_step(row), "type": types[row["group_name"]],
         "package_size": NAN if row["count"] == 0 else row["package_size"],
         "large_packet_ratio": NAN if row["hccl_op_name"] == TOTAL else row["large_packet_ratio"]}
        for row in select(connection, "ClusterCommunicationBandwidth")
    ]
    tables["cluster_communication_matrix"] = [
        {**bare_step(row), "type": types[row["group_name"]], "src_local": row["src_rank"], "dst_local": row["dst_rank"]}
        for row in select(connection, "ClusterCommunicationMatrix")
    ]
    steps = select(connection, "ClusterStepTraceTime")
    known = any(row["dp_index"] for row in steps)
    places = ("dp_index", "pp_index", "tp_index")
    for row in steps:
        row["rank_id"] = int(row["index"]) if row["type"] == "rank" else -1
        row["index"] = row["index"].replace(",", ", ")
        row.update({place: row[place] if known and row[place] != "NA" else -1 for place in places})
    tables["cluster_step_trace_time"] = steps
    return tables


# --- A sample ------------------------------------------------------------------------------------------------

def sample_part(role, window, first_capture):
    """Rows of two ranks that send to one another, and one of them on; every kind of row, and what is absent."""
    ranks = (0, 1)
    where = {"role": role, "window": window}
    key = {**where, "step": "5"}
    rows = {name: [] for name in TABLES if name.startswith("cluster_")}
    for rank in ranks:
        mine = {**key, "rank_id": rank, "capture": first_capture + rank}
        numbers = {name: float(10 * place + rank) for place, name in enumerate(STEP_NUMBERS)}
        rows["cluster_step_trace_time"].append(
            {**mine, **numbers, "type": "rank", "index": str(rank), "dp_index": 0, "pp_index": rank, "tp_index": 0})
        for op, group, kind in (("hcom_allReduce__001_0_1", "11", "collective"), ("hcom_send__002_0_1", "22", "p2p")):
            for name in (op, TOTAL):
                op_key = {**mine, "type": kind, "hccl_op_name": name, "group_name": group}
                rows["cluster_communication_time"].append({
                    **op_key, "start_timestamp_ns": ABSENT_NS if name == TOTAL else 1723545784022534123 + rank,
                    "elapsed_time": 3.0, "transit_time": 1.0, "wait_time": 2.0, "synchronization_time": 0.1,
                    "idle_time": 0.0, "wait_time_ratio": 2 / 3, "synchronization_time_ratio": 0.1 / 1.1})
                band = {**op_key, "transit_size": 16.777216, "transit_time": 0.8, "bandwidth": 20.9715,
                        "large_packet_ratio": NAN if name == TOTAL else 0.5}
                rows["cluster_communication_bandwidth"] += [
                    {**band, "band_type": "HCCS", "package_size": 4e-06, "count": 3, "total_duration": 0.3},
                    {**band, "band_type": "HCCS", "package_size": 2.0, "count": 8, "total_duration": 0.5},
                    {**band, "band_type": "SDMA", "package_size": NAN, "count": 0, "total_duration": 0.0}]
    rows["cluster_step_trace_time"].append(
        {**key, "type": "stage", "index": "(0, 1)", "rank_id": -1, "capture": -1, "dp_index": -1, "pp_index": -1,
         "tp_index": -1, **{name: float(10 * place + 1) for place, name in enumerate(STEP_NUMBERS)}})
    def link(op, kind, group, src, dst, **more):
        rows["cluster_communication_matrix"].append({
            **key, "type": kind, "hccl_op_name": op, "group_name": group, "src_rank": src, "dst_rank": dst,
            "src_local": src, "dst_local": dst, "transport_type": "HCCS", "op_name": "", "transit_size": 3.0,
            "transit_time": 1.5, "bandwidth": 2.0, **more})
    for op in ("allreduce-total", TOTAL):
        link(op, "collective", "11", 0, 0, transport_type="LOCAL")
        link(op, "collective", "11", 0, 1)
        link(op, "collective", "11", 0, 1, transport_type="RDMA", transit_size=1.0, transit_time=0.5)
        link(op, "collective", "11", 1, 1, transport_type="LOCAL", transit_size=0.0, transit_time=0.0, bandwidth=0.0)
    for op in ("send-total", TOTAL):
        link(op, "p2p", "22", 0, -1, dst_local=1)
    return rows


def sample_role(role, windows, first_capture):
    """Tables of one role."""
    tables = {name: [] for name in TABLES}
    tables["captures"] = captures_of((0, 1), role, windows)
    for place, capture in enumerate(tables["captures"]):
        capture["capture"] = first_capture + place
    for window in range(windows):
        numbers = [row["capture"] for row in tables["captures"] if row["window"] == window]
        for name, rows in sample_part(role, window, numbers[0]).items():
            tables[name] += rows
        tables["rank_device_map"] += [
            {"role": role, "rank_id": rank, "capture": number, "device_id": 4 + rank, "host_uid": "77", "host_name": "h\u00e4ro"}
            for rank, number in enumerate(numbers)
        ]
    tables["communication_group"] = [
        {"role": role, "type": "collective", "group_name": "11", "group_id": "id \"1\"\n\u00e4\U0001f600", "pg_name": "tp",
         "rank_set": "(0, 1, 2)", "size": 3, "members_seen": 2, "source": "metadata"},
        {"role": role, "type": "p2p", "group_name": "22", "rank_set": "(0, 1)", "size": 2, "members_seen": 2,
         "source": "observed"},
    ]
    tables["cluster_base_info"] = [{"role": role, "key": "distributed_args", "value": '{"world_size": 2}'}]
    return tables


def sample(roles, windows, memory_rows):
    """Tables of all roles."""
    tables = {name: [] for name in TABLES}
    for role in sorted(roles, key=lambda text: text.encode()):
        for name, rows in sample_role(role, windows, len(tables["captures"])).items():
            tables[name] += rows
    tables["memory_events"] = [
        {"start_time_ns": ABSENT_NS if row == 0 else 1736408883694624810 + row, "name": f"aten::op{row % 7}", "role": roles[0],
         "component": "PTA", "call_stack": "" if row % 3 else "a.py(1): f;\r\nb.py(2): \"g\", h",
         "call_stack_top": "" if row % 3 else "a.py(1): f", "call_stack_match": "none" if row % 3 else "enclosing",
         "size_kb": row + 0.5, "start_time_ms": NAN if row == 0 else 1736408883694.625, "duration_ms": 0.1 * row,
         "device_type": "NPU:0", "stream": "6"}
        for row in range(memory_rows)
    ]
    return tables


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    peer = commands.add_parser("peer")
    peer.add_argument("directory", metavar="DIR")
    peer.add_argument("file", metavar="FILE.h5")
    own = commands.add_parser("sample")
    own.add_argument("file", metavar="FILE.h5")
    own.add_argument("--role", action="append", metavar="ROLE")
    own.add_argument("--windows", type=int, default=1)
    own.add_argument("--memory", type=int, default=5, metavar="ROWS")
    own.add_argument("--bare", action="store_true")
    own.add_argument("--empty", action="store_true")
    own.add_argument("--only", action="append", metavar="TABLE")
    arguments = parser.parse_args()
    if arguments.command == "sample":
        tables = sample(arguments.role or [""], arguments.windows, arguments.memory)
        for row in tables["cluster_step_trace_time"] if arguments.bare else []:
            row.update({"preparing": NAN, "dp_index": -1, "pp_index": -1, "tp_index": -1})
        tables = {name: [] if arguments.empty else rows for name, rows in tables.items()
                  if not arguments.only or name in arguments.only}
    else:
        database = os.path.join(arguments.directory, "cluster_analysis.db")
        tables = from_database(database) if os.path.exists(database) else from_text(arguments.directory)
    write_file(arguments.file, sort_rows(tables))


if __name__ == "__main__":
    main()
