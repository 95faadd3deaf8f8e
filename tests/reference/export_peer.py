#!/usr/bin/python3
"""Sort the differences between our export and the peer's recorded results: each must follow from a point of our rules.

Takes sets NAME,CAPTURES,OURS,EXPECTED,DIFFERENCES: the captures, two output folders and what ../shared/tools/compare.py
prints of them (A is ours). A rule is a form of line and a check of the values behind it, against the peer's own or
against the reference. A line that no rule explains is a failure, and so is a rule that explains no line of any set.
"""
import argparse
import ast
import collections
import json
import math
import os
import re
import sys
from typing import Callable, NamedTuple

import cluster_reference
from cluster_reference import TOTAL

TOLERANCE = 1e-9
P2P_KINDS = "send|receive|batchsendrecv"
MATRIX, DATABASE = "cluster_communication_matrix.json", "cluster_analysis.db"
PLACE = rf"{re.escape(MATRIX)}/(?P<ranks>\([\d,]+\))/step(?P<step>\d*)/"
STATISTIC = r"top\d|middle|bottom\d|total"
ROW = rf"{re.escape(DATABASE)}:ClusterCommunicationMatrix only in "
LINK_KEYS = {"Transport Type": "transport_type", "Transit Size(MB)": "transit_size", "Op Name": "op_name",
             "Transit Time(ms)": "transit_time", "Bandwidth(GB/s)": "bandwidth"}
ROW_COLUMNS = ("step", "hccl_op_name", "group_name", "src_rank", "dst_rank", "transport_type", "op_name",
               "transit_size", "transit_time", "bandwidth")


class Rule(NamedTuple):
    """What a line may be, and what must then hold of the values."""
    text: str
    pattern: str
    holds: Callable


def same(a, b):
    """Whether two values of an export are equal."""
    numbers = (int, float)
    if isinstance(a, numbers) and isinstance(b, numbers):
        return math.isclose(a, b, rel_tol=TOLERANCE)
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


class Set:
    """One set of captures with both results."""

    def __init__(self, name, captures, ours, expected, differences):
        self.name = name
        with open(differences, encoding="utf-8") as stream:
            *self.lines, self.summary = stream.read().splitlines()
        self.ours, self.peers = (self.read_matrix(folder) for folder in (ours, expected))
        self.tables = cluster_reference.analyse([captures])
        self.rows = [ast.literal_eval(line.split(": ", 1)[1]) for line in self.lines if re.match(f"{ROW}[AB]: ", line)]
        self.sides = [line[len(DATABASE) + len(":ClusterCommunicationMatrix only in ")]
                      for line in self.lines if re.match(f"{ROW}[AB]: ", line)]

    @staticmethod
    def read_matrix(folder):
        """The matrix of a text export, its outer keys without blanks."""
        path = os.path.join(folder, MATRIX)
        if not os.path.exists(path):
            return {}
        with open(path, encoding="utf-8") as stream:
            matrix = json.load(stream)
        keys = {key: str(sorted(int(rank) for rank in re.findall(r"\d+", key))) for key in matrix}
        return {"(" + keys[key][1:-1].replace(" ", "") + ")": value for key, value in matrix.items()}

    def reference_rows(self, step, op, group, src, dst):
        """The rows of the reference for one link."""
        wanted = {"step": step, "hccl_op_name": op, "group_name": group, "src_rank": src, "dst_rank": dst}
        return [row for row in self.tables["cluster_communication_matrix"]
                if all(row[name] == value for name, value in wanted.items())]

    def is_p2p_by_metadata(self, group, rank):
        """Whether the group has p2p operators alone, and the metadata says that the rank is in it."""
        rows = [row for row in self.tables["communication_group"] if row["group_name"] == group]
        return [row["type"] for row in rows] == ["p2p"] and rows[0]["source"] == "metadata" and rank in map(
            int, re.findall(r"\d+", rows[0]["rank_set"]))

    def is_kept_link(self, step, op, group, src, dst, value):
        """Whether a link of ours is that of the reference, and between members of a p2p group."""
        rows = self.reference_rows(step, op, group, src, dst)
        return (len(rows) == 1 and self.is_p2p_by_metadata(group, src) and self.is_p2p_by_metadata(group, dst)
                and all(same(value[name], rows[0][name]) for name in value if name != "bandwidth")
                and same(round(value["bandwidth"], 4), round(rows[0]["bandwidth"], 4)))

    def text_link(self, match, op, ends):
        """A link of our text export by columns of the matrix."""
        link = self.ours[match["ranks"]][f"step{match['step']}"][f"{op}@{match['group']}"][ends]
        return {LINK_KEYS[key]: value for key, value in link.items()}


# ------------------------------------------------------------------------------------ text

def renamed_in_text(item, match):
    """Both names hold the same links, and every operator that is named is a reduceScatter."""
    step, group = f"step{match['step']}", match["group"]
    ours, peers = item.ours[match["ranks"]][step], item.peers[match["ranks"]][step]
    old, new = (f"{kind}-{match['statistic']}@{group}" for kind in ("reduce", "reducescatter"))
    every = [link.get("Op Name") for key, links in peers.items() if key.startswith("reduce-") and key.endswith(
        f"@{group}") for link in links.values()]
    return (old in peers and old not in ours and new in ours and new not in peers and same(ours[new], peers[old])
            and any(every) and all("reducescatter" in name.lower() for name in every if name))


def kept_in_text(item, match):
    """The peer has the operator, without this link; ours is the reference's."""
    op, src, dst = f"{match['kind']}-{match['statistic']}", int(match["src"]), int(match["dst"])
    peers = item.peers[match["ranks"]][f"step{match['step']}"]
    return peers.get(f"{op}@{match['group']}") == {} and item.is_kept_link(
        match["step"], op, match["group"], src, dst, item.text_link(match, op, f"{src}-{dst}"))


def total_in_text(item, match):
    """The total of a p2p group adds up its -total operators, which the peer has without a link."""
    step = f"step{match['step']}"
    ours, peers = item.ours[match["ranks"]][step], item.peers[match["ranks"]][step]
    names = [key for key in ours if re.fullmatch(rf"({P2P_KINDS})-total@{match['group']}", key)]
    total = ours[f"{TOTAL}@{match['group']}"]
    sums = collections.defaultdict(lambda: [0, 0])
    for ends, link in ((ends, link) for key in names for ends, link in ours[key].items()):
        sums[ends][0] += link["Transit Size(MB)"]
        sums[ends][1] += link["Transit Time(ms)"]
    return (names and all(peers[key] == {} for key in names) and total.keys() == sums.keys()
            and all(same((link["Transit Size(MB)"], link["Transit Time(ms)"]), tuple(sums[ends]))
                    and item.is_kept_link(match["step"], TOTAL, match["group"], *map(int, ends.split("-")),
                                          item.text_link(match, TOTAL, ends)) for ends, link in total.items()))


# ------------------------------------------------------------------------------------ database

def renamed_in_database(item, match):
    """The other side has the same row under the other name."""
    row = ast.literal_eval(match["row"])
    names = {"reduce": "reducescatter", "reducescatter": "reduce"}
    kind, statistic = row[1].split("-")
    twin = (row[0], f"{names[kind]}-{statistic}", *row[2:])
    # what the peer has of reduce in this group and step
    every = [other[6] for side, other in zip(item.sides, item.rows)
             if side == "B" and other[0] == row[0] and other[2] == row[2] and other[1].startswith("reduce-")]
    return ((kind == "reduce") == (match["side"] == "B") and any(every)
            and all("reducescatter" in name.lower() for name in every if name)
            and any(side != match["side"] and same(twin, other) for side, other in zip(item.sides, item.rows)))


def kept_in_database(item, match):
    """A link of a p2p group, or their total, as the reference has it."""
    row = dict(zip(ROW_COLUMNS, ast.literal_eval(match["row"])))
    ends = int(row["src_rank"]), int(row["dst_rank"])
    value = {name: row[name] for name in ROW_COLUMNS[5:]}
    return item.is_kept_link(row["step"][4:], row["hccl_op_name"], row["group_name"], *ends, value)


RULES = (
    Rule("7: reduce is reducescatter (text)",
         PLACE + rf"(?P<kind>reduce|reducescatter)-(?P<statistic>{STATISTIC})@(?P<group>\d+) only in [AB]",
         renamed_in_text),
    Rule("1: links of p2p are kept (text)",
         PLACE + rf"(?P<kind>{P2P_KINDS})-(?P<statistic>{STATISTIC})@(?P<group>\d+)/(?P<src>\d+)-(?P<dst>\d+) "
                 "only in A",
         kept_in_text),
    Rule("1: so p2p groups have totals (text)", PLACE + rf"{TOTAL}@(?P<group>\d+) only in A", total_in_text),
    Rule("7: reduce is reducescatter (database)",
         ROW + rf"(?P<side>[AB]): (?P<row>\('step\d*', '(reduce|reducescatter)-({STATISTIC})', .*\))",
         renamed_in_database),
    Rule("1: links of p2p are kept (database)",
         ROW + rf"A: (?P<row>\('step\d*', '({P2P_KINDS})-({STATISTIC})', .*\))", kept_in_database),
    Rule("1: so p2p groups have totals (database)",
         ROW + rf"A: (?P<row>\('step\d*', '{TOTAL}', .*\))", kept_in_database),
)


def explain(item, line):
    """The rule that explains a difference, or None."""
    for rule in RULES:
        match = re.fullmatch(rule.pattern, line)
        if match:
            return rule if rule.holds(item, match) else None
    return None


def main():
    parser = argparse.ArgumentParser(description="Sort the differences between our export and the peer's results.")
    parser.add_argument("sets", nargs="+", metavar="NAME,CAPTURES,OURS,EXPECTED,DIFFERENCES")
    arguments = parser.parse_args()
    fired, failures = collections.Counter(), 0
    for item in (Set(*text.split(",")) for text in arguments.sets):
        by_rule = collections.Counter()
        for line in item.lines:
            rule = explain(item, line)
            by_rule[rule.text if rule else "not explained"] += 1
            if not rule:
                failures += 1
                print(f"{item.name}: not explained: {line[:300]}")
        if item.summary != (f"{len(item.lines)} differences" if item.lines else "EQUAL"):
            failures += 1
            print(f"{item.name}: not what compare.py prints: {item.summary}")
        fired.update(by_rule)
        print(f"{item.name}: {len(item.lines)} differences {dict(by_rule)}")
    for rule in RULES:
        if not fired[rule.text]:
            failures += 1
            print(f"a rule that explains nothing: {rule.text}")
    sys.exit(f"{failures} failures" if failures else 0)


if __name__ == "__main__":
    main()
