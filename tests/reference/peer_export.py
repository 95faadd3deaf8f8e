#!/usr/bin/python3
"""The cluster tables in the forms of mstt's cluster analysis: its text files, or its database.

Written from the peer's formats alone, to compare the reference with the peer's recorded results without our program.
"""
import argparse
import csv
import json
import os
import sqlite3

import cluster_reference
from cluster_input import NO_TIME_NS, STEP_TITLES, TIME_KEYS
from cluster_reference import COLLECTIVE, INDICES, TOTAL, grouped

OP = ("step", "type", "hccl_op_name", "group_name")


def users_of(tables):
    """The ranks that a capture shows to use each (type, group)."""
    users = {}
    for row in (*tables["cluster_communication_time"], *tables["cluster_communication_bandwidth"]):
        users.setdefault((row["type"], row["group_name"]), set()).add(row["rank_id"])
    return users


def step_key(row):
    """step5."""
    return f"step{row['step']}"


def rounded(number):
    """To 4 decimals."""
    return round(number, 4)


# ------------------------------------------------------------------------------------ text

def nested(tables):
    """(where to put a row in the peer's nesting: a function that makes the dictionaries on the way, the whole)."""
    users, whole = users_of(tables), {}

    def place(row):
        outer = str(tuple(sorted(users.get((row["type"], row["group_name"]), ()))))
        op = f"{row['hccl_op_name']}@{row['group_name']}"
        return whole.setdefault(outer, {}).setdefault(step_key(row), {}).setdefault(op, {})
    return place, whole


def ratio(part, whole):
    """A quotient to 4 decimals, 0 if nothing is divided by."""
    return rounded(part / whole) if whole else 0


def add(info, more):
    """Add up numbers by key."""
    for key, value in more.items():
        info[key] = info.get(key, 0) + value


def known(numbers):
    """The numbers that are there, by key."""
    return {key: value for key, value in numbers.items() if value == value}


def finish_operators(whole):
    """Give each operator, and total, its quotients."""
    for ops in (ops for steps in whole.values() for ops in steps.values()):
        for op, info in ((op, info) for op, ranks in ops.items() for info in ranks.values()):
            times, bands = info["Communication Time Info"], info["Communication Bandwidth Info"]
            for title, part in {"Wait Time Ratio": "Wait Time(ms)",
                                "Synchronization Time Ratio": "Synchronization Time(ms)"}.items():
                if part in times and "Transit Time(ms)" in times:
                    times[title] = ratio(times[part], times[part] + times["Transit Time(ms)"])
            for band in bands.values() if op.startswith(TOTAL) else ():
                band["Bandwidth(GB/s)"] = ratio(band["Transit Size(MB)"], band["Transit Time(ms)"])


def communication_json(tables):
    """cluster_communication.json. A p2p and a collective total that would have one place are added up."""
    place, whole = nested(tables)
    for row in tables["cluster_communication_time"]:
        info = place(row).setdefault(str(row["rank_id"]), {"Communication Time Info": {},
                                                           "Communication Bandwidth Info": {}})
        add(info["Communication Time Info"], known({title: row[name] for name, title in TIME_KEYS.items()}))
        if row["start_timestamp_ns"] != NO_TIME_NS:
            info["Communication Time Info"]["Start Timestamp(us)"] = row["start_timestamp_ns"] / 1000
    seen = set()
    for row in tables["cluster_communication_bandwidth"]:
        bands = place(row)[str(row["rank_id"])]["Communication Bandwidth Info"]
        band = bands.setdefault(row["band_type"], {"Transit Time(ms)": 0, "Transit Size(MB)": 0,
                                                   "Size Distribution": {}})
        key = tuple(row[name] for name in (*OP, "rank_id", "band_type"))
        if key not in seen:         # the same in all rows of a transport
            seen.add(key)
            add(band, {"Transit Time(ms)": row["transit_time"], "Transit Size(MB)": row["transit_size"]})
        if row["hccl_op_name"] != TOTAL:
            band.update(known({"Large Packet Ratio": row["large_packet_ratio"], "Bandwidth(GB/s)": row["bandwidth"]}))
        if row["package_size"] == row["package_size"]:
            packets = band["Size Distribution"].setdefault(repr(row["package_size"]), [0, 0])
            packets[0] += row["count"]
            packets[1] += row["total_duration"]
    finish_operators(whole)
    return whole


def matrix_json(tables):
    """cluster_communication_matrix.json. A link has one place, whatever its transports; the last one names it."""
    place, whole = nested(tables)
    for row in tables["cluster_communication_matrix"]:
        unresolved = min(row["src_rank"], row["dst_rank"]) < 0
        links = {} if unresolved and row["hccl_op_name"] == TOTAL else place(row)
        if not unresolved:
            link = links.setdefault(f"{row['src_rank']}-{row['dst_rank']}", {})
            add(link, {"Transit Time(ms)": row["transit_time"], "Transit Size(MB)": row["transit_size"]})
            link.update({"Transport Type": row["transport_type"], "Op Name": row["op_name"], "Bandwidth(GB/s)": ratio(
                link["Transit Size(MB)"], link["Transit Time(ms)"])})
    return whole


def group_json(tables):
    """communication_group.json."""
    users, lists, infos = users_of(tables), {COLLECTIVE: [], "p2p": []}, []
    for (section, group), _ in grouped(tables["communication_group"], lambda r: (r["type"], r["group_name"])).items():
        lists[section].append(sorted(users[section, group]))
    for row in tables["communication_group"]:
        ranks = [int(rank) for rank in row["rank_set"].strip("()").split(",") if rank]
        infos.append({"type": row["type"], "rank_set": ranks, "group_name": row["group_name"],
                      "group_id": row["group_id"], "pg_name": row["pg_name"]})
    return {**lists, "comm_group_parallel_info": infos}


def step_table(tables):
    """The lines of cluster_step_trace_time.csv."""
    rows = tables["cluster_step_trace_time"]
    names = [n for n in STEP_TITLES if n != "preparing" or any(r[n] == r[n] for r in rows)]
    indices = INDICES if any(row["dp_index"] >= 0 for row in rows) else ()
    yield ["Step", "Type", "Index", *(STEP_TITLES[name] for name in names),
           *(name.replace("_index", " Index").replace("dp", "DP").replace("pp", "PP").replace("tp", "TP")
             for name in indices)]
    for row in rows:
        places = ["NA" if row["type"] == "stage" else row[name] for name in indices]
        yield [row["step"], row["type"], row["index"], *(repr(row[name]) for name in names), *places]


def write_text(tables, folder):
    """The files of the text form; what has no content is not written, but the groups."""
    contents = {"cluster_communication.json": communication_json(tables),
                "cluster_communication_matrix.json": matrix_json(tables)}
    for name, content in {**{n: c for n, c in contents.items() if c},
                          "communication_group.json": group_json(tables)}.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as stream:
            json.dump(content, stream)
    if tables["cluster_step_trace_time"]:
        with open(os.path.join(folder, "cluster_step_trace_time.csv"), "w", encoding="utf-8", newline="") as stream:
            csv.writer(stream).writerows(step_table(tables))


# ------------------------------------------------------------------------------------ database

DDL = {
    "CommunicationGroupMapping": "type TEXT, rank_set TEXT, group_name TEXT, group_id TEXT, pg_name TEXT",
    "ClusterCommunicationTime":
        "step TEXT, rank_id INTEGER, hccl_op_name TEXT, group_name TEXT, start_timestamp REAL, elapsed_time REAL, "
        "transit_time REAL, wait_time REAL, synchronization_time REAL, idle_time REAL, "
        "synchronization_time_ratio REAL, wait_time_ratio REAL",
    "ClusterCommunicationBandwidth":
        "step TEXT, rank_id INTEGER, hccl_op_name TEXT, group_name TEXT, band_type TEXT, transit_size REAL, "
        "transit_time REAL, bandwidth REAL, large_packet_ratio REAL, package_size REAL, count INTEGER, "
        "total_duration REAL",
    "ClusterCommunicationMatrix":
        "step TEXT, hccl_op_name TEXT, group_name TEXT, src_rank REAL, dst_rank REAL, transport_type TEXT, "
        "op_name TEXT, transit_size REAL, transit_time REAL, bandwidth REAL",
    "ClusterStepTraceTime": f"step TEXT, type TEXT, \"index\" TEXT, {', '.join(f'{n} NUMERIC' for n in STEP_TITLES)}, "
                            "dp_index INTEGER, pp_index INTEGER, tp_index INTEGER",
    "ClusterBaseInfo": "key TEXT, value TEXT",
    "HostInfo": "hostUid TEXT, hostName TEXT",
    "RankDeviceMap": "rankId INTEGER, deviceId INTEGER, hostUid TEXT, profilePath TEXT",
}


def start_us(row):
    """The start of an operator: NULL if absent, 0 for a total."""
    if row["start_timestamp_ns"] != NO_TIME_NS:
        return row["start_timestamp_ns"] / 1000
    return 0 if row["hccl_op_name"] == TOTAL else None


def merged_links(tables):
    """The rows of ClusterCommunicationMatrix: a link has one row, whatever its transports; the first one names it."""
    resolved = [r for r in tables["cluster_communication_matrix"] if min(r["src_rank"], r["dst_rank"]) >= 0]
    for key, rows in grouped(resolved, lambda r: (step_key(r), *(r[name] for name in (
            "hccl_op_name", "group_name", "src_rank", "dst_rank", "type")))).items():
        size, time = sum(r["transit_size"] for r in rows), sum(r["transit_time"] for r in rows)
        name = next((r["op_name"] for r in rows if r["op_name"]), "")
        yield (*key[:5], rows[0]["transport_type"], name, size, time, size / time if time else 0)


def database_rows(tables):
    """The rows of each table of the database."""
    yield "CommunicationGroupMapping", [(r["type"], r["rank_set"].replace(", ", ","), r["group_name"], r["group_id"],
                                         r["pg_name"]) for r in tables["communication_group"]]
    yield "ClusterCommunicationTime", [
        (step_key(r), r["rank_id"], r["hccl_op_name"], r["group_name"],
         start_us(r),
         *(r[name] for name in TIME_KEYS),
         *(rounded(r[name]) if r["hccl_op_name"] == TOTAL else 0
           for name in ("synchronization_time_ratio", "wait_time_ratio")))
        for r in tables["cluster_communication_time"]]
    yield "ClusterCommunicationBandwidth", [
        (step_key(r), r["rank_id"], r["hccl_op_name"], r["group_name"], r["band_type"], r["transit_size"],
         r["transit_time"], rounded(r["bandwidth"]), r["large_packet_ratio"] if r["hccl_op_name"] != TOTAL else 0,
         r["package_size"] if r["package_size"] == r["package_size"] else 0, r["count"], r["total_duration"])
        for r in tables["cluster_communication_bandwidth"]]
    yield "ClusterCommunicationMatrix", list(merged_links(tables))
    rows = tables["cluster_step_trace_time"]
    has_indices = any(row["dp_index"] >= 0 for row in rows)
    yield "ClusterStepTraceTime", [
        (r["step"], r["type"], r["index"].replace(", ", ",") if r["type"] == "stage" else r["index"],
         *(r[name] for name in STEP_TITLES),
         *(("NA" if r["type"] == "stage" else r[name]) if has_indices else 0 for name in INDICES)) for r in rows]
    yield "ClusterBaseInfo", [(r["key"], r["value"]) for r in tables["cluster_base_info"]]
    hosts = {r["host_uid"]: r["host_name"] for r in tables["rank_device_map"]}
    yield "HostInfo", list(hosts.items())
    yield "RankDeviceMap", [(r["rank_id"], r["device_id"], r["host_uid"], "") for r in tables["rank_device_map"]]


def write_database(tables, folder):
    """cluster_analysis.db; tables without rows are not made."""
    with sqlite3.connect(os.path.join(folder, "cluster_analysis.db")) as connection:
        for name, rows in database_rows(tables):
            if rows:
                connection.execute(f"CREATE TABLE {name} ({DDL[name]})")
                connection.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(rows[0]))})", rows)


def main():
    parser = argparse.ArgumentParser(description="Write what the peer would from the reference's tables.")
    parser.add_argument("form", choices=("text", "db"))
    parser.add_argument("folder", metavar="DIRECTORY", help="an empty one")
    parser.add_argument("roots", nargs="+", metavar="ROOT")
    parser.add_argument("--role", help="only of this role")
    parser.add_argument("--window", type=int, help="only of this window")
    arguments = parser.parse_args()
    wanted = {"role": arguments.role, "window": arguments.window}
    wanted = {name: value for name, value in wanted.items() if value is not None}
    tables = {name: [row for row in rows if all(row.get(key, value) == value for key, value in wanted.items())]
              for name, rows in cluster_reference.analyse(arguments.roots).items()}
    (write_text if arguments.form == "text" else write_database)(tables, arguments.folder)


if __name__ == "__main__":
    main()
