#!/usr/bin/python3
"""For each of the eight points in which our cluster tables are better than the peer's: its answer, and ours.

`make` writes the jobs that need more than the generator gives, `check` reads the jobs of peer_points.sh and the files
that the program has made of them. The peer's answer is what it recorded (results beside the repository), or what its
rule, restated here in a few lines, gives for the same job. A point fails if the peer's answer is not the one that it is
known for, or if ours is not the right one.
"""
import argparse
import glob
import json
import math
import os
import re
import sqlite3
import sys

import h5py

from check_peer import read_column
from cluster_reference import TOTAL, group_hash

OUTPUT = "ASCEND_PROFILER_OUTPUT"
HASH = re.compile(r"[^@]*$")


# ------------------------------------------------------------------------------------ jobs made here

def write(path, value):
    """A file, of JSON unless it is text already."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="ascii") as stream:
        stream.write(value if isinstance(value, str) else json.dumps(value))


def operator(wait_ms):
    """An operator that only waits."""
    return {"Communication Time Info": {"Start Timestamp(us)": 1723545784022534.0, "Elapse Time(ms)": wait_ms,
                                        "Transit Time(ms)": 0, "Wait Time(ms)": wait_ms,
                                        "Synchronization Time(ms)": 0, "Idle Time(ms)": 0},
            "Communication Bandwidth Info": {}}


def write_capture(folder, rank, groups, operators):
    """A capture; groups: id -> (name, ranks), operators: section -> key -> operator."""
    path = os.path.join(folder, f"host0_{rank}_20240813182000{rank:03d}_ascend_pt")
    write(os.path.join(path, f"profiler_info_{rank}.json"), {"rank_id": rank})
    write(os.path.join(path, "profiler_metadata.json"), {"parallel_group_info": {
        key: {"group_name": name, "group_rank": ranks.index(rank), "global_ranks": ranks}
        for key, (name, ranks) in groups.items() if rank in ranks}})
    write(os.path.join(path, OUTPUT, "communication.json"), {"step5": operators})
    write(os.path.join(path, OUTPUT, "step_trace_time.csv"), f"Step,Computing\n5,{100 + rank}\n")


# Three pp groups that are one pipeline only when all of them are seen, and collective groups across and within it.
TANGLED = {"a": ("pp", [0, 9]), "b": ("pp", [1, 5]), "c": ("pp", [5, 9]), "d": ("tp", [0, 2]), "e": ("tp", [1, 3]),
           "f": ("dp", [0, 1])}
TENTHS = 10


def make(folder):
    """The jobs `tangled` and `tenths`."""
    for rank in (0, 1, 2, 3, 5, 9):
        operators = {"p2p": {}, "collective": {}}
        for key, (name, ranks) in TANGLED.items():
            if rank in ranks:
                section, kind = ("p2p", "send") if name == "pp" else ("collective", "allReduce")
                operators[section][f"hcom_{kind}__000_0_1@{group_hash(key)}"] = operator(1)
        write_capture(os.path.join(folder, "tangled"), rank, TANGLED, operators)
    write_capture(os.path.join(folder, "tenths"), 0, {}, {"p2p": {}, "collective": {
        f"hcom_allReduce__000_{number}_1@77": operator(0.1) for number in range(TENTHS)}})


# ------------------------------------------------------------------------------------ reading

def captures(job):
    """The captures of a job."""
    return sorted(glob.glob(os.path.join(glob.escape(job), "**", "*_ascend_pt"), recursive=True))


def rank_of(capture):
    """Its rank."""
    return int(re.search(r"profiler_info_(\d+)", "".join(os.listdir(capture)))[1])


def read_json(capture, *parts):
    """A JSON file of a capture as the peer reads it: of equal keys the last."""
    with open(os.path.join(capture, *parts), encoding="utf-8") as stream:
        return json.load(stream)


class Point:
    """What is checked of one point."""

    def __init__(self, folder, shared):
        self.folder, self.shared, self.failures = folder, shared, 0

    def job(self, name):
        """The folder of a job."""
        return os.path.join(self.folder, name)

    def ours(self, job, table, **wanted):
        """The rows of our table that have these values, as dictionaries."""
        with h5py.File(os.path.join(self.folder, f"{job}.h5"), "r") as root:
            names = root[table].attrs["column-order"]
            columns = [read_column(root[table], name) for name in names]
        rows = [dict(zip(names, cells)) for cells in zip(*columns)]
        return [row for row in rows if all(row[name] == value for name, value in wanted.items())]

    def recorded(self, *path):
        """A file of the peer's results; None if they are not beside the repository."""
        path = os.path.join(self.shared, "data", "expected", *path)
        if not os.path.exists(path):
            print(f"  not checked, for it is not here: {os.path.join(*path.split(os.sep)[-3:])}")
            return None
        with open(path, encoding="utf-8") as stream:
            return json.load(stream)

    def expect(self, what, peer, known, ours, right):
        """The peer's answer is the known one, and ours the right one."""
        good = peer == known and ours == right and known != right
        self.failures += not good
        print(f"  {'ok' if good else 'FAILED'}: {what}: the peer {shorten(peer)}, ours {shorten(ours)}"
              + ("" if good else f"; should be {shorten(known)} and {shorten(right)}"))

    def check(self, what, holds):
        """Something of ours alone."""
        self.failures += not holds
        print(f"  {'ok' if holds else 'FAILED'}: {what}")


def shorten(value):
    """A value for the eye."""
    text = repr(value)
    return text if len(text) < 100 else text[:97] + "..."


# ------------------------------------------------------------------------------------ the peer's rules

def peer_links(job, section):
    """{(group, local source, local destination)} that it keeps and that it drops: only n-n links tell ranks."""
    known, links = set(), set()
    for capture in captures(job):
        for step in read_json(capture, OUTPUT, "communication_matrix.json").values():
            for key, ends in step[section].items():
                pairs = {(HASH.search(key)[0], *map(int, pair.split("-"))) for pair in ends}
                links |= pairs
                known |= {(group, src) for group, src, dst in pairs if src == dst}
    kept = {link for link in links if {(link[0], link[1]), (link[0], link[2])} <= known}
    return kept, links - kept


def peer_users(job):
    """group -> ranks seen to use it with collective operators; that is its key, and its members without metadata."""
    users = {}
    for capture in captures(job):
        for step in read_json(capture, OUTPUT, "communication.json").values():
            for key in step["collective"]:
                if not key.startswith("Total"):
                    users.setdefault(HASH.search(key)[0], set()).add(rank_of(capture))
    return users


def peer_captures(job):
    """The captures that it takes: of each rank the newest by the time stamp in the name."""
    newest = {}
    for capture in captures(job):
        stamp = int(capture.split("_")[-3])
        newest[rank_of(capture)] = max(newest.get(rank_of(capture), (0, "")), (stamp, capture))
    return [capture for _, capture in newest.values()]


def peer_stages(groups):
    """Its stages: each link takes in, in one sweep, what meets the growing union."""
    links = sorted((set(ranks) for name, ranks in groups.values() if name.startswith("pp")), key=min)
    unions = []
    while links:
        union, taken = set(links[0]), [links[0]]
        for link in links[1:]:
            if link & union:
                union |= link
                taken.append(link)
        unions.append(union)
        links = [link for link in links if link not in taken]
    stages = []
    for ranks in (set(ranks) for name, ranks in groups.values() if not name.startswith("pp")):
        if all(len(ranks & union) <= 1 for union in unions):
            touching = [stage for stage in stages if stage & ranks]
            stages = [stage for stage in stages if not stage & ranks] + [ranks.union(*touching)]
    return sorted(stages, key=min)


def peer_knows_indices(args):
    """Whether it gives coordinates for these sizes."""
    return args["world_size"] == (args["tensor_model_parallel_size"] * args["pipeline_model_parallel_size"]
                                  * args["data_parallel_size"]) and args["context_parallel_size"] == 1


def peer_totals(job):
    """(step, rank, group) -> elapsed time of its total, of databases: rows are joined with the table of groups."""
    rows, users = [], {}
    for capture in captures(job):
        with sqlite3.connect(f"file:{os.path.join(capture, OUTPUT, 'analysis.db')}?mode=ro", uri=True) as database:
            for op, group, step, ms in database.execute(
                    "SELECT hccl_op_name, group_name, step, elapse_time FROM CommAnalyzerTime"):
                section = "p2p" if re.search("send|receive|recv", op.lower()) else "collective"
                users.setdefault((section, group), set()).add(rank_of(capture))
                rows.append((step[4:], rank_of(capture), group, ms))
    mapping = {(group, tuple(sorted(ranks))) for (_, group), ranks in users.items()}
    totals = {}
    for *key, ms in rows:
        for group, _ in mapping:
            if group == key[2]:
                totals[tuple(key)] = totals.get(tuple(key), 0) + ms
    return totals


# ------------------------------------------------------------------------------------ the points

def links_of_p2p(point):
    """1: ranks come from metadata; links of p2p are kept, an unknown end is -1."""
    kept, dropped = peer_links(point.job("whole"), "p2p")
    singles = {link for link in dropped if not any(other[0] == link[0] for other in kept)}
    rows = point.ours("whole", "cluster_communication_matrix", type="p2p")
    ours = {(row["group_name"], row["src_local"], row["dst_local"]) for row in rows
            if min(row["src_rank"], row["dst_rank"]) >= 0}
    point.expect("p2p links between members that no link of their own names", len(singles & kept), 0,
                 len(singles & ours), len(singles))
    members = {row["group_name"]: list(map(int, re.findall(r"\d+", row["rank_set"])))
               for row in point.ours("whole", "communication_group", type="p2p")}
    point.check("their ranks are those of the metadata", rows and all(
        (row["src_rank"], row["dst_rank"]) == tuple(members[row["group_name"]][row[end]]
                                                    for end in ("src_local", "dst_local")) for row in rows))
    kept, dropped = peer_links(point.job("unknown"), "collective")
    rows = point.ours("unknown", "cluster_communication_matrix", type="collective")
    ours = {(row["group_name"], row["src_local"], row["dst_local"]) for row in rows
            if min(row["src_rank"], row["dst_rank"]) < 0}
    point.expect("links with an unknown end", len(dropped & kept), 0, len(dropped & ours), len(dropped))
    recorded = point.recorded("cluster_text", "text8", "cluster_communication_matrix.json")
    if recorded:
        links = [links for steps in recorded.values() for ops in steps.values() for key, links in ops.items()
                 if key.startswith("send-top1@")]
        point.check(f"the peer's {len(links)} recorded send-top1 hold no link", links and not any(links))


def members_of_groups(point):
    """2: a group's members come from metadata; members_seen says how many were captured."""
    everybody = max(peer_users(point.job("whole")).items(), key=lambda item: len(item[1]))[0]
    peer = sorted(peer_users(point.job("two_of_eight"))[everybody])
    row = point.ours("two_of_eight", "communication_group", group_name=everybody)[0]
    point.expect("the group of all eight ranks, two captured", str(tuple(peer)), "(1, 6)", row["rank_set"],
                 "(0, 1, 2, 3, 4, 5, 6, 7)")
    point.check("size 8, two seen, by metadata",
                (row["size"], row["members_seen"], row["source"]) == (8, 2, "metadata"))


def nothing_overwritten(point):
    """3: role and window keep captures apart."""
    job = point.job("roles")
    peer, ours = (len(peer_captures(job)), len({row["capture"] for row in point.ours(
        "roles", "cluster_communication_time")}))
    point.expect("captures of four ranks, two roles and two windows that are in the tables", peer, 4, ours, 16)
    rows = point.ours("roles", "cluster_step_trace_time", rank_id=0, type="rank")
    wanted = [(role, window) for role in ("actor", "ref") for window in (0, 1)]
    point.check("each in its own role and window", sorted((row["role"], row["window"]) for row in rows) == wanted)


def stages(point):
    """4: pipelines are whole components; coordinates also with context parallelism."""
    peer = [tuple(sorted(stage)) for stage in peer_stages(TANGLED)]
    rows = point.ours("tangled", "cluster_step_trace_time", type="stage")
    point.expect("stages beside the pipeline of 0-9, 1-5, 5-9", sorted(map(str, peer)), ["(0, 1, 2, 3)"],
                 sorted(row["index"] for row in rows), ["()", "(0, 2)", "(1, 3)"])
    point.check("the maximum of each column, and -1 for what a stage has not", sorted(
        (row["computing"], row["rank_id"], row["capture"], row["dp_index"], row["pp_index"], row["tp_index"])
        for row in rows) == [(value, -1, -1, -1, -1, -1) for value in (102.0, 103.0, 109.0)])
    args = read_json(captures(point.job("context"))[0], "profiler_metadata.json")["distributed_args"]
    rows = point.ours("context", "cluster_step_trace_time", type="rank")
    point.expect("coordinates of tp 2, cp 2, dp 2, pp 2", peer_knows_indices(args), False,
                 {(row["rank_id"], row["tp_index"], row["dp_index"], row["pp_index"]) for row in rows},
                 {(rank, rank % 2, rank // 4 % 2, rank // 8) for rank in range(16)})
    point.check("and stages", sorted({row["index"] for row in point.ours("context", "cluster_step_trace_time",
                type="stage")}) == sorted(str(tuple(range(first, first + 8))) for first in (0, 8)))


def totals_once(point):
    """5: totals of a group are the sums of its own operators, p2p and collective apart, and no key counts twice."""
    job = point.job("shared_hash")
    peer = peer_totals(job)
    rows = point.ours("shared_hash", "cluster_communication_time")
    both = {row["group_name"] for row in rows if row["type"] == "p2p"} & {
        row["group_name"] for row in rows if row["type"] == "collective"}
    sums, ours = {}, {}
    for row in (row for row in rows if row["group_name"] in both):
        key = row["step"], row["rank_id"], row["group_name"]
        target = ours if row["hccl_op_name"] == TOTAL else sums
        target[key] = target.get(key, 0) + row["elapsed_time"]
    ratios = {key: [round(values[key] / total, 9) for values in (peer, ours)] for key, total in sums.items()}
    doubled = {key for key, (theirs, _) in ratios.items() if theirs != 1}
    point.check(f"{len(doubled)} of {len(ratios)} totals to compare", doubled)
    point.expect("total by sum of the operators, where both kinds share a group", {ratios[key][0] for key in doubled},
                 {2.0}, {ratios[key][1] for key in ratios}, {1.0})
    capture = captures(point.job("duplicates"))[0]
    peer = [op["Communication Time Info"]["Elapse Time(ms)"] == 7777
            for section in read_json(capture, OUTPUT, "communication.json")["step5"].values()
            for key, op in section.items() if not key.startswith("Total")]
    ours = [row["elapsed_time"] == 7777 for row in point.ours("duplicates", "cluster_communication_time")]
    point.expect("a key that comes twice: the second counts", any(peer), True, any(ours), False)


def damage_costs_one_file(point):
    """6: one damaged file costs that file; zero times give 0."""
    damaged = [capture for capture in captures(point.job("damaged")) if rank_of(capture) == 2][0]
    try:
        read_json(damaged, OUTPUT, "communication.json")
        peer = "reads it"
    except ValueError:
        peer = "ends with nothing written"
    rows = {job: point.ours(job, "cluster_communication_time") for job in ("whole", "damaged")}
    point.expect("rows of operators when one communication.json is no JSON", peer, "ends with nothing written",
                 [str(row) for row in rows["damaged"]], [str(row) for row in rows["whole"] if row["rank_id"] != 2])
    point.check("the rank keeps its links and step trace", all(
        [str(row) for row in point.ours("damaged", table)] == [str(row) for row in point.ours("whole", table)]
        for table in ("cluster_communication_matrix", "cluster_step_trace_time")))
    zero = [row for row in point.ours("zeros", "cluster_communication_matrix", hccl_op_name=TOTAL)
            if row["transit_time"] == 0]
    point.expect("bandwidth of a total without time", {math.inf if row["transit_size"] else math.nan for row in zero},
                 {math.inf}, {row["bandwidth"] for row in zero}, {0.0})
    analysis = os.path.join(captures(point.job("old_columns"))[0], OUTPUT, "analysis.db")
    with sqlite3.connect(f"file:{analysis}?mode=ro", uri=True) as database:
        try:
            peer = len(database.execute("SELECT step, computing, preparing FROM StepTraceTime").fetchall())
        except sqlite3.OperationalError:
            peer = 0
    rows = point.ours("old_columns", "cluster_step_trace_time", rank_id=0)
    point.expect("rows of a rank whose StepTraceTime lacks a column", peer, 0, len(rows), 1)
    point.check("absent is NaN", all(math.isnan(row["preparing"]) and row["computing"] > 0 for row in rows))
    idle = [row for row in point.ours("zeros", "cluster_communication_time")
            if row["wait_time"] == 0 == row["transit_time"]]
    point.check("ratios of what neither waits nor transfers are 0", idle and all(
        (row["wait_time_ratio"], row["synchronization_time_ratio"]) == (0, 0) for row in idle))


def reduce_scatter(point):
    """7: reduce is reducescatter where all its operators are."""
    def kinds(keys):
        return {key.split("-")[0] for key in keys if key.startswith("reduce")}
    peer = kinds(key for capture in captures(point.job("whole"))
                 for key in read_json(capture, OUTPUT, "communication_matrix.json")["step5"]["collective"])
    ours = kinds(row["hccl_op_name"] for row in point.ours("whole", "cluster_communication_matrix"))
    point.expect("kind of a reduceScatter", peer, {"reduce"}, ours, {"reducescatter"})
    mixed = kinds(row["hccl_op_name"] for row in point.ours("mixed_reduce", "cluster_communication_matrix"))
    point.check("a group that has a reduce too keeps the name", mixed == {"reduce", "reducescatter"})
    recorded = point.recorded("cluster_text", "llm_pp2_dp2_4rank", "cluster_communication_matrix.json")
    if recorded:
        names = kinds(key for steps in recorded.values() for ops in steps.values() for key in ops)
        point.check("the peer has recorded the reduceScatter of a real job as reduce", names == {"reduce"})


def sums(point):
    """8: sums are compensated, and the same for any number of processes."""
    peer = 0.0
    for _ in range(TENTHS):
        peer += 0.1
    ours = point.ours("tenths", "cluster_communication_time", hccl_op_name=TOTAL)[0]
    point.expect("ten times 0.1 ms", peer, 0.9999999999999999, ours["wait_time"], 1.0)
    whole = []
    for processes in ("", "_2", "_3"):
        with open(os.path.join(point.folder, f"whole{processes}.h5"), "rb") as stream:
            whole.append(stream.read())
    point.check("1, 2 and 3 processes write the same bytes", whole[0] == whole[1] == whole[2])


POINTS = (links_of_p2p, members_of_groups, nothing_overwritten, stages, totals_once, damage_costs_one_file,
          reduce_scatter, sums)


def main():
    parser = argparse.ArgumentParser(description="The peer's answer and ours, point by point.")
    parser.add_argument("what", choices=("make", "check"))
    parser.add_argument("folder", metavar="DIRECTORY")
    parser.add_argument("--shared", default="", metavar="DIRECTORY", help="where the peer's results are, if anywhere")
    arguments = parser.parse_args()
    if arguments.what == "make":
        make(arguments.folder)
        return
    failures = 0
    for check in POINTS:
        print(check.__doc__)
        point = Point(arguments.folder, arguments.shared)
        check(point)
        failures += point.failures
    sys.exit(f"{failures} failures" if failures else 0)


if __name__ == "__main__":
    main()
