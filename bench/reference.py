#!/usr/bin/python3
"""What people would write in Python, to measure against: ijson, lists by name, bisection, times as floats.

usage: reference.py JOB OUTPUT.csv        every *_ascend_pt directory below JOB, the rule of --match nearest
"""
import bisect
import csv
import os
import sys

import ijson.backends.yajl2_c as ijson


def stacks_by_name(path):
    """{name: (sorted times, their call stacks)} of the events with a call stack."""
    found = {}
    with open(path, "rb") as trace:
        for event in ijson.items(trace, "item", use_float=True):
            stack = event.get("args", {}).get("Call stack") if event.get("cat") == "cpu_op" else None
            if stack:
                found.setdefault(event["name"], []).append((float(event["ts"]), stack))
    index = {}
    for name, events in found.items():
        events.sort(key=lambda event: event[0])
        index[name] = ([event[0] for event in events], [event[1] for event in events])
    return index


def match(path, index, out):
    """Write each record with the call stack of the last event of its name before it."""
    with open(path, newline="") as table:
        for row in csv.DictReader(table):
            times, stacks = index.get(row["Name"], ((), ()))
            time = row["Allocation Time(us)"]
            at = bisect.bisect_right(times, float(time)) if time else 0
            out.writerow([row["Name"], time, row["Size(KB)"], row["Duration(us)"], stacks[at - 1] if at else ""])


def main():
    with open(sys.argv[2], "w", newline="") as output:
        out = csv.writer(output)
        for folder, names, _ in os.walk(sys.argv[1]):
            for name in sorted(names):
                data = os.path.join(folder, name, "ASCEND_PROFILER_OUTPUT")
                if name.endswith("_ascend_pt"):
                    match(os.path.join(data, "operator_memory.csv"), stacks_by_name(os.path.join(data, "trace_view.json")), out)


if __name__ == "__main__":
    main()
