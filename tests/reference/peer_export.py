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

RATIO_KEYS = {"wait_time_ratio": "Wait Time Ratio", "synchronization_time_ratio": "Synchronization Time Ratio"}
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


def communication_json(tables):
    """cluster_communication.json."""
    place, whole = nested(tables)
    for row in tables["cluster_communication_time"]:
        info = {title: row[name] for name, title in TIME_KEYS.items() if row[name] == row[name]}
        info.update({title: rounded(row[name]) for name, title in RATIO_KEYS.items()})
        if row["start_timestamp_ns"] != NO_TIME_NS:
            info["Start Timestamp(us)"] = row["start_timestamp_ns"] / 1000
        place(row)[str(row["rank_id"])] = {"Communication Time Info": info, "Communication Bandwidth Info": {}}
    for row in tables["cluster_communication_bandwidth"]:
        bands = place(row)[str(row["rank_id"])]["Communication Bandwidth Info"]
        band = bands.setdefault(row["band_type"], {
            "Transit Time(ms)": row["transit_time"], "Transit Size(MB)": row["transit_size"], "Size Distribution": {},
            "Bandwidth(GB/s)": rounded(row["bandwidth"])})
        if row["hccl_op_name"] != TOTAL:
            band["Large Packet Ratio"] = row["large_packet_ratio"]
        if row["package_size"] == row["package_size"]:
            band["Size Distribution"][repr(row["package_size"])] = [row["count"], row["total_duration"]]
    return whole


def matrix_json(tables):
    """cluster_communication_matrix.json."""
    place, whole = nested(tables)
    for row in tables["cluster_communication_matrix"]:
        if row["hccl_op_name"] == TOTAL and min(row["src_rank"], row["dst_rank"]) < 0:
            continue
        links = place(row)
        if min(row["src_rank"], row["dst_rank"]) >= 0:
            links[f"{row['src_rank']}-{row['dst_rank']}"] = {
                "Transport Type": row["transport_type"], "Transit Time(ms)": row["transit_time"],
                "Transit Size(MB)": row["transit_size"], "Op Name": row["op_name"],
                "Bandwidth(GB/s)": rounded(row["bandwidth"])}
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


def database_rows(tables):
    """The rows of each table of the database."""
    yield "CommunicationGroupMapping", [(r["type"], r["rank_set"].replace(", ", ","), r["group_name"], r["group_id"],
                                         r["pg_name"]) for r in tables["communication_group"]]
    yield "ClusterCommunicationTime", [
        (step_key(r), r["rank_id"], r["hccl_op_name"], r["group_name"],
         0 if r["start_timestamp_ns"] == NO_TIME_NS else r["start_timestamp_ns"] / 1000,
         *(r[name] for name in TIME_KEYS),
         *(rounded(r[name]) if r["hccl_op_name"] == TOTAL else 0
           for name in ("synchronization_time_ratio", "wait_time_ratio")))
        for r in tables["cluster_communication_time"]]
    yield "ClusterCommunicationBandwidth", [
        (step_key(r), r["rank_id"], r["hccl_op_name"], r["group_name"], r["band_type"], r["transit_size"],
         r["transit_time"], rounded(r["bandwidth"]), r["large_packet_ratio"] if r["hccl_op_name"] != TOTAL else 0,
         r["package_size"] if r["package_size"] == r["package_size"] else 0, r["count"], r["total_duration"])
        for r in tables["cluster_communication_bandwidth"]]
    yield "ClusterCommunicationMatrix", [
        (step_key(r), r["hccl_op_name"], r["group_name"], r["src_rank"], r["dst_rank"], r["transport_type"],
         r["op_name"], r["transit_size"], r["transit_time"], r["bandwidth"])
        for r in tables["cluster_communication_matrix"] if min(r["src_rank"], r["dst_rank"]) >= 0]
    rows = tables["cluster_step_trace_time"]
    known = any(row["dp_index"] >= 0 for row in rows)
    yield "ClusterStepTraceTime", [
        (r["step"], r["type"], r["index"].replace(", ", ",") if r["type"] == "stage" else r["index"],
         *(r[name] for name in STEP_TITLES),
         *(("NA" if r["type"] == "stage" else r[name]) if known else 0 for name in INDICES)) for r in rows]
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
    arguments = parser.parse_args()
    tables = cluster_reference.analyse(arguments.roots)
    (write_text if arguments.form == "text" else write_database)(tables, arguments.folder)


if __name__ == "__main__":
    main()
