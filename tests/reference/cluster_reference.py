#!/usr/bin/python3
"""The cluster tables of Ascend profiler captures: a plain reference to test the program against.

Written from the rules alone and sharing no code with the program. It holds everything in memory and sums with
math.fsum. Rows are dictionaries by column, in the order of the output file.
"""
import argparse
import collections
import csv
import itertools
import json
import math
import os
import re

import cluster_input
import memory_reference
from cluster_input import COLLECTIVE, NO_TIME_NS, SIZES, STEP_TITLES, TIME_KEYS

TOTAL = "Total Op Info"
TEXT, I32, I64, F64 = "text", "int32", "int64", "float64"
KEY = {"role": TEXT, "window": I32, "step": TEXT, "rank_id": I32, "capture": I32, "type": TEXT, "hccl_op_name": TEXT,
       "group_name": TEXT}
RATIOS = {"synchronization_time_ratio": "synchronization_time", "wait_time_ratio": "wait_time"}
INDICES = ("dp_index", "pp_index", "tp_index")
# Columns of each table in order: name -> type.
TABLES = {
    "cluster_step_trace_time": {
        "role": TEXT, "window": I32, "step": TEXT, "type": TEXT, "index": TEXT, "rank_id": I32, "capture": I32,
        **dict.fromkeys(STEP_TITLES, F64), **dict.fromkeys(INDICES, I32)},
    "cluster_communication_time": {**KEY, "start_timestamp_ns": I64, **dict.fromkeys((*TIME_KEYS, *RATIOS), F64)},
    "cluster_communication_bandwidth": {
        **KEY, "band_type": TEXT, "transit_size": F64, "transit_time": F64, "bandwidth": F64, "large_packet_ratio": F64,
        "package_size": F64, "count": I64, "total_duration": F64},
    "cluster_communication_matrix": {
        "role": TEXT, "window": I32, "step": TEXT, "type": TEXT, "hccl_op_name": TEXT, "group_name": TEXT,
        "src_rank": I32, "dst_rank": I32, "src_local": I32, "dst_local": I32, "transport_type": TEXT, "op_name": TEXT,
        "transit_size": F64, "transit_time": F64, "bandwidth": F64},
    "communication_group": {
        "role": TEXT, "type": TEXT, "group_name": TEXT, "group_id": TEXT, "pg_name": TEXT, "rank_set": TEXT,
        "size": I32, "members_seen": I32, "source": TEXT},
    "rank_device_map": {"role": TEXT, "rank_id": I32, "capture": I32, "device_id": I64, "host_uid": TEXT,
                        "host_name": TEXT},
    "cluster_base_info": {"role": TEXT, "key": TEXT, "value": TEXT},
}
# By what the rows of each table are sorted, text bytewise; further keys keep the order of the captures' files.
ORDER = {
    "cluster_step_trace_time": ("role", "window", "step", "type", "rank_id", "index", "capture"),
    "cluster_communication_time": ("role", "window", "step", "rank_id", "type", "group_name", "hccl_op_name",
                                   "capture"),
    "cluster_communication_bandwidth": ("role", "window", "step", "rank_id", "type", "group_name", "hccl_op_name",
                                        "band_type", "package_size", "capture"),
    "cluster_communication_matrix": ("role", "window", "step", "type", "hccl_op_name", "group_name", "src_rank",
                                     "dst_rank", "src_local", "dst_local", "transport_type"),
    "communication_group": ("role", "type", "group_name", "group_id"),
    "rank_device_map": ("role", "rank_id", "capture", "device_id"),
    "cluster_base_info": ("role", "key"),
}


# ------------------------------------------------------------------------------------ small things

def total(numbers):
    """The sum of the numbers that are there; NaN if none is."""
    there = [n for n in numbers if n == n]
    return math.fsum(there) if there else math.nan


def greatest(numbers):
    """The greatest of the numbers that are there; NaN if none is."""
    return max((n for n in numbers if n == n), default=math.nan)


def quotient(numerator, denominator):
    """Their quotient, 0 if nothing is divided by; NaN if one is absent."""
    if numerator != numerator or denominator != denominator:
        return math.nan
    return numerator / denominator if denominator else 0.0


def tuple_text(ranks):
    """Ranks ascending, in the manner of a tuple."""
    return str(tuple(sorted(ranks)))


def group_hash(group_id):
    """The name that communication files have for a group id."""
    high = low = 0
    for char in group_id:
        high = (high * 29 + ord(char)) % 2**32
        low = (low * 131 + ord(char)) % 2**32
    return str(high << 32 | low)


def sort_key(order):
    """What sorts rows by those columns: text bytewise, an absent number first."""
    def key(row):
        values = (row[name] for name in order)
        return [v.encode("utf-8") if isinstance(v, str) else (v == v, v if v == v else 0) for v in values]
    return key


def grouped(items, key):
    """Items by key, as dictionary of lists in order of appearance."""
    groups = collections.defaultdict(list)
    for item in items:
        groups[key(item)].append(item)
    return groups


def components(sets):
    """The connected components of sets: what shares a member is one."""
    found = []
    for members in map(set, sets):
        touching = [c for c in found if c & members]
        found = [c for c in found if not c & members] + [members.union(*touching)]
    return found


# ------------------------------------------------------------------------------------ captures

class Part:
    """A capture with its role in the job and what it says."""

    def __init__(self, capture, role):
        self.role, self.window, self.rank, self.number = role, capture.window, capture.rank_id, capture.number
        self.facts = cluster_input.read_capture(capture.path)
        steps = {step.step for step in self.facts.steps} - {""}
        self.only_step = steps.pop() if len(steps) == 1 else ""

    def step(self, step):
        """A step's id; where there is none, the only step of the step trace."""
        return step or self.only_step

    def key(self, step, section, op, group):
        """The columns that name an operator."""
        return {"role": self.role, "window": self.window, "step": self.step(step), "rank_id": self.rank,
                "capture": self.number, "type": section, "hccl_op_name": op, "group_name": group}


def parts_of(roots):
    """The Parts of all captures with a rank, in the order of /captures."""
    captures = [c for c in memory_reference.data_map(roots) if c.rank_id >= 0]
    roles = {}
    for capture in captures:
        metadata = memory_reference.read_json(os.path.join(capture.path, "profiler_metadata.json")) or {}
        roles[capture.path] = cluster_input.text(metadata.get("role"))
    parents = collections.defaultdict(set)
    for capture in captures:
        parents[capture.rank_id].add(os.path.basename(os.path.dirname(capture.path)))
    several = any(len(names) > 1 for names in parents.values())
    return [Part(c, roles[c.path] or (c.role if several else "")) for c in captures]


# ------------------------------------------------------------------------------------ groups, stages, coordinates

class Job:
    """The captures of one role: its groups, stages and sizes."""

    def __init__(self, role, parts):
        self.role = role
        self.by_rank = sorted(parts, key=lambda p: (p.rank, p.number))
        self.users = collections.defaultdict(set)           # (type, group) -> ranks seen to use it
        self.greatest_local = collections.defaultdict(lambda: -1)
        self.declared = collections.defaultdict(dict)       # hash -> group id -> (pg_name, ranks)
        self.self_linked = collections.defaultdict(dict)    # group -> local number -> rank
        for part in self.by_rank:
            self.learn(part)
        self.groups = sorted(self.group_rows(), key=sort_key(ORDER["communication_group"]))
        self.stages = self.find_stages()
        self.args = next((p.facts.distribution for p in self.by_rank if p.facts.distribution), None)

    def learn(self, part):
        """Take in what a capture says of groups."""
        for op in part.facts.ops:
            self.users[op.type, op.group].add(part.rank)
        for link in part.facts.links:
            self.users[link.type, link.group].add(part.rank)
            self.greatest_local[link.group] = max(self.greatest_local[link.group], link.src, link.dst)
            if link.src == link.dst >= 0:
                self.self_linked[link.group].setdefault(link.src, part.rank)
        for group in part.facts.groups:
            ids = self.declared[group_hash(group.id)]
            name, ranks = ids.get(group.id, ("", []))
            ids[group.id] = (name or group.pg_name, ranks or group.ranks)

    def global_rank(self, group, number):
        """The rank behind a number in a group; -1 if unknown."""
        for _, ranks in (self.declared[group][key] for key in sorted(self.declared[group])):
            if 0 <= number < len(ranks):
                return ranks[number]
        return self.self_linked[group].get(number, -1)

    def group_rows(self):
        """The rows of /communication_group."""
        for (section, group), users in self.users.items():
            for group_id, (pg_name, ranks) in (self.declared[group] or {"": ("", [])}).items():
                size = len(set(ranks)) or max(len(users), 1 + self.greatest_local[group])
                yield {"role": self.role, "type": section, "group_name": group, "group_id": group_id,
                       "pg_name": pg_name, "rank_set": tuple_text(set(ranks or users)), "size": size,
                       "members_seen": len(users), "source": "metadata" if ranks else "observed"}

    def find_stages(self):
        """The stages as sets of ranks; none without pipelines."""
        members = [(row, set(map(int, re.findall(r"\d+", row["rank_set"])))) for row in self.groups]
        pipelines = components(ranks for row, ranks in members if row["pg_name"].lower().startswith("pp"))
        inside = [ranks for row, ranks in members
                  if row["type"] == COLLECTIVE and all(len(ranks & pipeline) <= 1 for pipeline in pipelines)]
        return components(inside) if pipelines else []

    def stage(self, rank):
        """The text of a rank's stage."""
        return tuple_text(next((stage for stage in self.stages if rank in stage), ()))

    def indices(self, rank):
        """The coordinates of a rank in the order tp-cp-dp-pp; -1 where the sizes are not known, or do not agree."""
        unknown = dict.fromkeys(INDICES, -1)
        sizes = {name: (self.args or {}).get(key) for name, key in SIZES.items()}
        if not all(type(size) is int and 0 <= size < 2**31 for size in sizes.values()):
            return unknown
        tp, pp, dp, cp, ep = (sizes[name] or 1 for name in ("tp", "pp", "dp", "cp", "ep"))
        if sizes["world"] != tp * cp * dp * pp or dp % ep or rank >= sizes["world"]:
            return unknown
        # the ranks in order: tp counts fastest, then cp, dp, pp
        places = itertools.product(range(pp), range(dp), range(cp), range(tp))
        pp_index, dp_index, _, tp_index = next(itertools.islice(places, rank, None))
        return {"dp_index": dp_index, "pp_index": pp_index, "tp_index": tp_index}


# ------------------------------------------------------------------------------------ step trace

def step_rows(part, job):
    """The rank rows of a capture."""
    for step in part.facts.steps:
        yield {"role": part.role, "window": part.window, "step": part.step(step.step), "type": "rank",
               "index": str(part.rank), "rank_id": part.rank, "capture": part.number, **step.numbers,
               **job.indices(part.rank)}


def stage_rows(rows, jobs):
    """The rows of the stages over rank rows."""
    rows = [row for row in rows if jobs[row["role"]].stages]
    for (role, window, step, index), members in grouped(rows, lambda r: (
            r["role"], r["window"], r["step"], jobs[r["role"]].stage(r["rank_id"]))).items():
        yield {"role": role, "window": window, "step": step, "type": "stage", "index": index, "rank_id": -1,
               "capture": -1, **{name: greatest(m[name] for m in members) for name in STEP_TITLES},
               **dict.fromkeys(INDICES, -1)}


# ------------------------------------------------------------------------------------ communication

def with_ratios(times):
    """Times with their ratios to the time of transfer."""
    return {**times, **{ratio: quotient(times[name], times[name] + times["transit_time"])
                        for ratio, name in RATIOS.items()}}


def totals_by_group(part):
    """(key columns of the total, the operators that it sums up) for each group of each step and section."""
    groups = grouped(part.facts.ops, lambda op: (part.step(op.step), op.type, op.group))
    return [(part.key(step, section, TOTAL, group), ops) for (step, section, group), ops in groups.items()]


def time_rows(part):
    """The rows of /cluster_communication_time of a capture."""
    for op in part.facts.ops:
        if op.times:
            yield {**part.key(op.step, op.type, op.name, op.group), "start_timestamp_ns": op.start_ns,
                   **with_ratios(op.times)}
    for key, ops in totals_by_group(part):
        timed = [op.times for op in ops if op.times]
        if timed:
            sums = {name: total(times[name] for times in timed) for name in TIME_KEYS}
            yield {**key, "start_timestamp_ns": NO_TIME_NS, **with_ratios(sums)}


def band_rows(part):
    """The rows of /cluster_communication_bandwidth of a capture."""
    for op in part.facts.ops:
        for band in op.bands:
            for size, count, duration in band.packets:
                yield {**part.key(op.step, op.type, op.name, op.group), "band_type": band.transport,
                       "transit_size": band.transit_size, "transit_time": band.transit_time,
                       "bandwidth": band.bandwidth, "large_packet_ratio": band.large_packet_ratio,
                       "package_size": size, "count": count, "total_duration": duration}
    for key, ops in totals_by_group(part):
        for transport, bands in grouped((b for op in ops for b in op.bands), lambda b: b.transport).items():
            yield from band_total({**key, "band_type": transport}, bands)


def band_total(key, bands):
    """The rows of a total over one transport, one for each size of packets."""
    size, time = total(b.transit_size for b in bands), total(b.transit_time for b in bands)
    packets = grouped((p for band in bands for p in band.packets), lambda p: p[0] if p[0] == p[0] else None)
    for package_size, same in packets.items():
        yield {**key, "transit_size": size, "transit_time": time, "bandwidth": quotient(size, time),
               "large_packet_ratio": math.nan, "package_size": math.nan if package_size is None else package_size,
               "count": sum(count for _, count, _ in same),
               "total_duration": total(duration for *_, duration in same)}


# ------------------------------------------------------------------------------------ matrix

PICKED = re.compile(r".*-(top\d+|middle|bottom\d+)", re.DOTALL | re.ASCII)


def renamed(part):
    """The links of a capture; reduce is reducescatter where all its known operators are."""
    groups = grouped(part.facts.links, lambda link: (part.step(link.step), link.type, link.group))
    for links in groups.values():
        names = {link.op_name for link in links if link.op.startswith("reduce-")} - {""}
        scatters = names and all("reducescatter" in name.lower() for name in names)
        for link in links:
            is_scatter = scatters and link.op.startswith("reduce-")
            yield link._replace(op=f"reducescatter-{link.op[len('reduce-'):]}") if is_scatter else link


def link_rows(parts, jobs):
    """The rows of /cluster_communication_matrix: links that several captures have recorded are one."""
    rows = []
    for part in parts:
        for link in renamed(part):
            ends = {"src_rank": jobs[part.role].global_rank(link.group, link.src),
                    "dst_rank": jobs[part.role].global_rank(link.group, link.dst),
                    "src_local": link.src, "dst_local": link.dst, "transport_type": link.transport}
            row = {"role": part.role, "window": part.window, "step": part.step(link.step), "type": link.type,
                   "hccl_op_name": link.op, "group_name": link.group, **ends, "op_name": link.op_name,
                   "transit_size": link.transit_size, "transit_time": link.transit_time}
            rows.append(row)
            if not PICKED.fullmatch(link.op):
                rows.append({**row, "hccl_op_name": TOTAL, "op_name": ""})
    keys = ORDER["cluster_communication_matrix"]
    for same in grouped(rows, lambda row: tuple(row[name] for name in keys)).values():
        size, time = total(r["transit_size"] for r in same), total(r["transit_time"] for r in same)
        name = next((r["op_name"] for r in same if r["op_name"]), "")
        yield {**same[0], "op_name": name, "transit_size": size, "transit_time": time,
               "bandwidth": quotient(size, time)}


# ------------------------------------------------------------------------------------ the whole

def device_rows(part):
    """The rows of /rank_device_map of a capture."""
    for rank, device, host_uid, host_name in part.facts.devices:
        yield {"role": part.role, "rank_id": rank, "capture": part.number, "device_id": device,
               "host_uid": host_uid, "host_name": host_name}


def info_rows(job):
    """The rows of /cluster_base_info of a job."""
    if job.args:
        value = json.dumps({key: value for key, value in job.args.items() if key != "rank"})
        yield {"role": job.role, "key": "distributed_args", "value": value}


def analyse(roots):
    """The rows of all tables by the table's name, in the order of the output file."""
    parts = parts_of(roots)
    jobs = {role: Job(role, members) for role, members in grouped(parts, lambda part: part.role).items()}
    steps = [row for part in parts for row in step_rows(part, jobs[part.role])]
    tables = {
        "cluster_step_trace_time": [*steps, *stage_rows(steps, jobs)],
        "cluster_communication_time": [row for part in parts for row in time_rows(part)],
        "cluster_communication_bandwidth": [row for part in parts for row in band_rows(part)],
        "cluster_communication_matrix": list(link_rows(parts, jobs)),
        "communication_group": [row for job in jobs.values() for row in job.groups],
        "rank_device_map": [row for part in parts for row in device_rows(part)],
        "cluster_base_info": [row for job in jobs.values() for row in info_rows(job)],
    }
    return {name: sorted(rows, key=sort_key(ORDER[name])) for name, rows in tables.items()}


def main():
    parser = argparse.ArgumentParser(description="Reference of the cluster tables.")
    parser.add_argument("roots", nargs="+", metavar="ROOT")
    parser.add_argument("--csv", metavar="DIRECTORY", help="write each table there, with repr floats")
    arguments = parser.parse_args()
    for name, rows in analyse(arguments.roots).items():
        print(f"{name}: {len(rows)} rows")
        if arguments.csv:
            with open(os.path.join(arguments.csv, f"{name}.csv"), "w", encoding="utf-8", newline="") as stream:
                writer = csv.DictWriter(stream, TABLES[name])
                writer.writeheader()
                writer.writerows(rows)


if __name__ == "__main__":
    main()
