#!/usr/bin/python3
"""Write the captures of a made-up cluster as text, as databases, or mixed: step trace, communication, metadata.

The ranks of a job of tp * cp * dp * pp ranks communicate in the groups of their parallel dimensions and in one of all.
What is written depends on the options alone, and says the same in every form. Only --duplicates and --cut make damage.
"""
import argparse
import csv
import itertools
import json
import os
import random
import sqlite3

START_US = 1723545784022534.0
TITLES = ("Computing", "Communication(Not Overlapped)", "Overlapped", "Communication", "Free", "Stage", "Bubble",
          "Communication(Not Overlapped and Exclude Receive)", "Preparing")
STEP_COLUMNS = ("computing", "communication_not_overlapped", "overlapped", "communication", "free", "stage", "bubble",
                "communication_not_overlapped_and_exclude_receive", "preparing")
TIMES = {"Start Timestamp(us)": "start_timestamp", "Elapse Time(ms)": "elapse_time",
         "Transit Time(ms)": "transit_time", "Wait Time(ms)": "wait_time",
         "Synchronization Time(ms)": "synchronization_time", "Idle Time(ms)": "idle_time"}
TRANSPORTS = ("RDMA", "HCCS", "PCIE", "SDMA", "SIO")
PACKET_SIZES_MB = (4e-06, 9.6e-05, 0.002944, 0.524288, 2.097152, 16, 125.82912)
KINDS = ("allReduce", "allGather", "reduceScatter", "broadcast", "alltoAll")
TABLES = {
    "StepTraceTime": ", ".join(f"{column} NUMERIC" for column in STEP_COLUMNS),
    "CommAnalyzerTime": "hccl_op_name TEXT, group_name TEXT, start_timestamp NUMERIC, elapse_time NUMERIC, "
                        "transit_time NUMERIC, wait_time NUMERIC, synchronization_time NUMERIC, idle_time NUMERIC, "
                        "step TEXT, type TEXT",
    "CommAnalyzerBandwidth": "hccl_op_name TEXT, group_name TEXT, transport_type TEXT, transit_size NUMERIC, "
                             "transit_time NUMERIC, bandwidth NUMERIC, large_packet_ratio NUMERIC, "
                             "package_size NUMERIC, count NUMERIC, total_duration NUMERIC, step TEXT, type TEXT",
    "CommAnalyzerMatrix": "hccl_op_name TEXT, group_name TEXT, src_rank TEXT, dst_rank TEXT, transport_type TEXT, "
                          "transit_size NUMERIC, transit_time NUMERIC, bandwidth NUMERIC, step TEXT, type TEXT, "
                          "op_name TEXT",
}


class Object(list):
    """A JSON object as (key, value) pairs: keys may come twice."""


def to_json(value):
    """JSON text of a value that may hold Objects."""
    if isinstance(value, Object):
        return "{" + ", ".join(f"{json.dumps(key)}: {to_json(item)}" for key, item in value) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(to_json, value)) + "]"
    return json.dumps(value)


def present(**fields):
    """An Object without what is absent."""
    return Object((key, value) for key, value in fields.items() if value is not None)


def named(titles, values):
    """An Object of titles and values without what is absent."""
    return present(**{title: value for title, value in zip(titles, values)})


def per(numerator, denominator):
    """A quotient as profilers write it."""
    return 0 if denominator == 0 else round(numerator / denominator, 4)


def hash_of(group_id):
    """The name of a group in communication files."""
    names = [0, 0]
    for code in map(ord, group_id):
        names = [(name * factor + code) & 0xFFFFFFFF for name, factor in zip(names, (29, 131))]
    return str(names[0] * 2**32 + names[1])


# ------------------------------------------------------------------------------------ the job

class Group:
    """A communicator: its members by their number in it."""

    def __init__(self, name, ordinal, ranks):
        self.name, self.ranks = name, ranks
        self.id = f"10.0.0.{1 + ranks[0] // 8}%eth0_60000_{ordinal}_17{ordinal:02d}000000{ranks[0]:05d}"
        self.hash = hash_of(self.id)


class Job:
    """The groups of a job and what each rank does in each step of each window."""

    def __init__(self, options, role, ordinal):
        self.options, self.role, self.ordinal = options, role, ordinal
        sizes = {"tp": options.tp, "cp": options.cp, "dp": options.dp, "pp": options.pp}
        self.world = options.tp * options.cp * options.dp * options.pp
        self.groups = [Group("default_group", 0, list(range(self.world)))]
        self.places = [dict(zip(("pp", "dp", "cp", "tp"), place)) for place in itertools.product(
            *(range(sizes[name]) for name in ("pp", "dp", "cp", "tp")))]
        for ordinal, name in enumerate(sizes, 1):
            for first in range(self.world):
                members = [rank for rank in range(self.world) if all(
                    self.places[rank][other] == self.places[first][other] for other in sizes if other != name)]
                if members[0] == first:
                    # numbers in a group need not be in the order of the ranks
                    self.groups.append(Group(name, ordinal, members[::-1] if name == "dp" else members))

    def draw(self, *parts):
        """A source of random numbers for one thing."""
        return random.Random("/".join(map(str, (self.options.seed, self.role, *parts))))

    def groups_of(self, rank):
        return [group for group in self.groups if rank in group.ranks]

    # ------------------------------------------------------------------------------ metadata

    def metadata(self, rank):
        """profiler_metadata.json."""
        found = {"ENV_VARIABLES": {"ASCEND_GLOBAL_LOG_LEVEL": "3"}}
        if self.options.role_in == "metadata":
            found["role"] = self.role
        return {**found, **self.declared(rank)}

    def declared(self, rank):
        """What the metadata says of groups and sizes."""
        found = {}
        if self.options.metadata:
            found["parallel_group_info"] = {
                group.id: {"group_name": group.name, "group_rank": group.ranks.index(rank),
                           "global_ranks": [] if group.name in self.options.silent else group.ranks}
                for group in self.groups_of(rank)}
        if self.options.distributed_args:
            options = self.options
            found["distributed_args"] = {
                "tensor_model_parallel_size": options.tp, "pipeline_model_parallel_size": options.pp,
                "data_parallel_size": options.dp, "context_parallel_size": options.cp,
                "expert_model_parallel_size": 1, "sequence_parallel": True, "note": 'a "quoted"\nnote, \u00e9\u7b97',
                "rank": rank, "world_size": self.world}
        return found

    # ------------------------------------------------------------------------------ step trace

    def step_trace(self, rank, window, step):
        """The numbers of a row of step_trace_time.csv."""
        rng = self.draw("trace", rank, window, step)
        computing, communication, overlapped = (round(rng.uniform(1000, 200000), rng.choice((0, 3, 11)))
                                                for _ in range(3))
        hidden = min(overlapped, communication)
        bare, free = communication - hidden, round(rng.uniform(0, 900), 3)
        bubble = rng.choice((0, round(bare / 3, 2)))
        return [computing, bare, hidden, communication, free, computing + bare + free - bubble, bubble, bare - bubble,
                rng.choice((0, 189.13, 1066.25))]

    # ------------------------------------------------------------------------------ communication

    def kinds(self, group):
        """(section, kind, how many operators) of a group."""
        if len(group.ranks) == 1:
            return [("collective", "allReduce", 1)] if group.name == "tp" else []
        if group.name == "pp":
            batch = [("p2p", "batchSendRecv", 1)] if self.options.batch else []
            return [("p2p", "send", 2), ("p2p", "receive", 2), *batch]
        kinds = [("collective", kind, count) for kind, count in zip(KINDS, (3, 2, 4, 1, 2))]
        if self.options.mixed_reduce and group.name == "default_group":
            kinds.append(("collective", "reduce", 1))
        if self.options.shared_hash and group.name == "tp":
            kinds += [("p2p", "send", 1), ("p2p", "receive", 1)]
        return kinds

    def operators(self, rank, window, step):
        """The operators of a rank as dictionaries."""
        for group in self.groups_of(rank):
            for section, kind, count in self.kinds(group):
                if section == "p2p" and group.ranks.index(rank) > 1:
                    continue
                for number in range(count):
                    rng = self.draw("op", rank, window, step, group.id, kind, number)
                    yield {"type": section, "kind": kind, "group": group, "step": step,
                           "hccl_op_name": f"hcom_{kind}__{group.hash[-3:]}_{number}_1",
                           "group_name": group.hash, **self.times(rng, rank), "bands": list(self.bands(rng))}

    def times(self, rng, rank):
        """The times of an operator by column of the database; None where absent."""
        idle = self.options.zeros and rng.random() < 0.5
        transit, wait = (0 if idle else round(rng.uniform(0, 3), rng.choice((1, 6, 10))) for _ in range(2))
        sync = wait if rng.random() < 0.3 else round(wait * rng.random(), 8)
        rest = round(rng.uniform(0, 0.1), 8)
        times = {"start_timestamp": START_US + rank + rng.randrange(10**8) / 4, "elapse_time": transit + wait + rest,
                 "transit_time": transit, "wait_time": wait, "synchronization_time": sync, "idle_time": rest}
        for name in times:
            if self.options.absent and rng.random() < 0.2:
                times[name] = None
        return times

    def bands(self, rng):
        """(transport, size, time, bandwidth, ratio of large packets, packets) of an operator."""
        used = {"HCCS"} | {name for name in ("RDMA", "PCIE", "SIO") if self.options.transports and rng.random() < 0.5}
        sums = [0, 0]
        for transport in TRANSPORTS[:5 if self.options.transports else 4]:
            packets = [(size, rng.randint(1, 16), round(rng.uniform(0, 0.5), 9))
                       for size in rng.sample(PACKET_SIZES_MB, rng.randint(0, 3))] if transport in used else []
            size = sum(size * count for size, count, _ in packets)
            time = 0 if self.options.zeros and rng.random() < 0.3 else sum(time for *_, time in packets)
            if transport == "SDMA":
                size, time = sums           # all that does not go over RDMA, without a distribution
            elif transport != "RDMA":
                sums = [sums[0] + size, sums[1] + time]
            ratio = None if self.options.absent and rng.random() < 0.2 else round(rng.random(), 4) if packets else 0
            yield transport, size, time, per(size, time), ratio, packets

    # ------------------------------------------------------------------------------ matrix

    def links(self, rank, window, step):
        """The links of a rank as dictionaries."""
        for group in self.groups_of(rank):
            own = group.ranks.index(rank)
            names = {}          # one entry of the matrix may hold operators of two kinds: reduce is also reduceScatter
            for section, kind, count in self.kinds(group):
                name = "reduce" if kind == "reduceScatter" else kind.lower()
                names.setdefault((section, name), []).extend(
                    f"hcom_{kind}__{group.hash[-3:]}_{number}_1" for number in range(count))
            for (section, name), ops in names.items():
                for src, dst in self.ends(name, own, len(group.ranks)) if section == "collective" or own < 2 else ():
                    rng = self.draw("link", rank, window, step, group.id, name, src, dst)
                    key = {"type": section, "group_name": group.hash, "step": step, "src": src, "dst": dst,
                           "transport": "LOCAL" if src == dst else rng.choice(("HCCS", "HCCS", "RDMA"))
                           if self.options.transports else "HCCS"}
                    yield from self.statistics(rng, key, name, ops)

    @staticmethod
    def ends(kind, own, size):
        """(source, destination) of the links that a member records, by their numbers in the group."""
        if kind == "send":
            return [(own, 1 - own)]
        if kind == "receive":
            return [(1 - own, own)]
        if kind == "batchsendrecv":
            return [(own, own), (own, 1 - own)]
        if kind == "broadcast":             # every member records all, so that one link is recorded several times
            return [(own, own), *((0, other) for other in range(1, size))]
        return [(own, own), *((own, other) for other in range(size) if other != own)]

    def statistics(self, rng, key, name, ops):
        """The entries of one link: of the best, middle and worst operator, and of all."""
        ops = [(op, round(rng.uniform(0.001, 600), 6),
                0 if self.options.zeros and rng.random() < 0.4 else round(rng.uniform(0.001, 30), 8))
               for op in ops]
        if self.options.plain_matrix:
            ops = [(None, sum(size for _, size, _ in ops), sum(time for *_, time in ops))]
            picks = {"": ops[0]}
        else:
            ops.sort(key=lambda op: -per(*op[1:]))
            picks = {"-top1": ops[0], "-middle": ops[len(ops) // 2], "-bottom1": ops[-1],
                     "-total": (None, sum(size for _, size, _ in ops), sum(time for *_, time in ops))}
            picks.update({f"-bottom{place}": ops[-place] for place in (2, 3) if len(ops) >= place})
        for statistic, (op, size, time) in picks.items():
            yield {**key, "hccl_op_name": name + statistic, "op_name": op, "size": size, "time": time}


# ------------------------------------------------------------------------------------ captures

class Capture:
    """One rank in one window."""

    def __init__(self, job, rank, window):
        self.job, self.options, self.rank = job, job.options, rank
        empty = self.options.empty_step and window == self.options.windows - 1
        self.bare = empty or self.options.bare_step != "no"
        self.without_id = empty or self.options.bare_step == "empty"
        steps = [str(5 + window * self.options.steps + i) for i in range(1 if self.bare else self.options.steps)]
        self.trace = [("" if self.without_id else step, job.step_trace(rank, window, step)) for step in steps]
        self.ops = [op for step in steps for op in job.operators(rank, window, step)]
        self.links = [link for step in steps for link in job.links(rank, window, step)]
        if self.options.duplicates:
            self.ops += [{**op, "elapse_time": 7777, "wait_time": 7777, "bands": list(job.bands(job.draw(
                "again", rank, number)))} for number, op in enumerate(self.ops[::5])]
            self.links += [{**link, "size": 7777, "again": True} for link in self.links[::7]]
        process, stamp = 1000 + 1000 * job.ordinal + rank, f"202408131820{window:02d}{rank:03d}"
        self.path = os.path.join(self.folder(), f"host{self.host()}_{process}_{stamp}_ascend_pt")
        self.data = os.path.join(self.path, "ASCEND_PROFILER_OUTPUT")

    def host(self):
        return self.rank // self.options.node_size

    def folder(self):
        """The capture's parent."""
        if self.options.nodes:
            return os.path.join(self.options.out, f"node{self.host()}")
        return os.path.join(self.options.out, self.job.role) if self.options.role_in == "parent" else self.options.out

    def step_key(self, step):
        return "step" if self.bare else f"step{step}"

    def parts_as_text(self):
        """Which of trace, communication, matrix, metadata are text; the others are in databases."""
        everything = {"trace", "communication", "matrix", "metadata"}
        mixed = (everything, set(), {"trace", "matrix"}, {"communication", "metadata"})[self.rank % 4]
        return {"text": everything, "db": set(), "mixed": mixed}[self.options.form]

    def write(self):
        os.makedirs(self.data)
        text = self.parts_as_text()
        self.dump(os.path.join(self.path, f"profiler_info_{self.rank}.json"), {"rank_id": self.rank})
        metadata = self.job.metadata(self.rank)
        if "metadata" not in text:
            metadata = {key: value for key, value in metadata.items() if key not in self.job.declared(self.rank)}
        self.dump(os.path.join(self.path, "profiler_metadata.json"), metadata)
        if "trace" in text:
            self.write_trace()
        if "communication" in text:
            self.write_operators()
        if "matrix" in text:
            self.write_matrix()
        if len(text) < 4:
            self.write_databases(text)

    @staticmethod
    def dump(path, value):
        with open(path, "w", encoding="ascii") as stream:
            stream.write(to_json(value))

    def cut(self, name):
        """Cut a file of the data short, each rank's at another place."""
        if self.options.cut and self.rank % 2:
            path = os.path.join(self.data, name)
            os.truncate(path, int(os.path.getsize(path) * self.job.draw("cut", self.rank, name).random()))

    # ------------------------------------------------------------------------------ text

    def write_trace(self):
        """step_trace_time.csv."""
        columns = {"old": 8, "later": 9, "current": 9}[self.options.columns]
        device = self.options.columns == "current"
        with open(os.path.join(self.data, "step_trace_time.csv"), "w", encoding="ascii", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow([*["Device_id"] * device, "Step", *TITLES[:columns]])
            writer.writerows([*[self.rank] * device, step, *numbers[:columns]] for step, numbers in self.trace)

    def nested(self, items):
        """step -> section -> list of items, all sections of all steps."""
        tree = {}
        for item in items:
            sections = tree.setdefault(self.step_key(item["step"]), {"p2p": Object(), "collective": Object()})
            sections[item["type"]].append(item)
        return tree

    def write_operators(self):
        """communication.json, with a total in each section as profilers write it."""
        tree = Object()
        for step, sections in self.nested(self.ops).items():
            tree.append((step, Object((section, Object(
                [(f"{op['hccl_op_name']}@{op['group_name']}", self.operator(op)) for op in ops]
                + [("Total Op Info", self.operator(op)) for op in ops[:1]])) for section, ops in sections.items())))
        self.dump(os.path.join(self.data, "communication.json"), tree)
        self.cut("communication.json")

    def operator(self, op):
        """An operator in communication.json."""
        times = named(TIMES, [op[column] for column in TIMES.values()])
        times += [("Wait Time Ratio", 0.5), ("Synchronization Time Ratio", 0.25)]    # not what follows from the times
        titles = ("Transit Size(MB)", "Transit Time(ms)", "Bandwidth(GB/s)", "Large Packet Ratio", "Size Distribution")
        bands = Object()
        for transport, *numbers, packets in op["bands"]:
            sizes = Object((str(size), [count, time]) for size, count, time in packets)
            bands.append((transport, named(titles, [*numbers, sizes])))
        return Object([("Communication Time Info", times), ("Communication Bandwidth Info", bands)])

    def write_matrix(self):
        """communication_matrix.json."""
        tree = Object()
        for step, sections in self.nested(self.links).items():
            parts = Object((section, Object()) for section in sections)
            for name, ops in parts:
                keys = {}
                for link in sections[name]:
                    key = link["hccl_op_name"], link["group_name"], "again" in link
                    value = named(
                        ("Transport Type", "Transit Size(MB)", "Transit Time(ms)", "Bandwidth(GB/s)", "Op Name"),
                        (link["transport"], link["size"], link["time"], per(link["size"], link["time"]),
                         link["op_name"]))
                    links = keys.setdefault(key, Object())
                    links.append((f"{link['src']}-{link['dst']}", value))
                    if "again" in link:         # a link that the first does not have
                        links.append((f"{link['src']}-77", value))
                ops.extend((f"{op}@{group}", links) for (op, group, _), links in keys.items())
            tree.append((step, parts))
        self.dump(os.path.join(self.data, "communication_matrix.json"), tree)
        self.cut("communication_matrix.json")

    # ------------------------------------------------------------------------------ databases

    def write_databases(self, text):
        """analysis.db and ascend_pytorch_profiler_<rank>.db; of what is text too they hold something else."""
        with sqlite3.connect(os.path.join(self.data, "analysis.db")) as database:
            if "trace" not in text:
                self.insert_trace(database)
            if "communication" not in text:
                self.insert(database, "CommAnalyzerTime", self.time_rows())
                self.insert(database, "CommAnalyzerBandwidth", self.band_rows())
            if "matrix" not in text:
                self.insert(database, "CommAnalyzerMatrix", self.link_rows())
            elif self.options.form == "mixed":
                self.insert(database, "CommAnalyzerMatrix", [("unused-total", "1", "0", "1", "HCCS", 1, 1, 1, "step1",
                                                              "p2p", None)])
        with sqlite3.connect(os.path.join(self.data, f"ascend_pytorch_profiler_{self.rank}.db")) as database:
            self.create(database, "META_DATA", "name TEXT, value TEXT", [
                (name, json.dumps(value)) for name, value in self.job.declared(self.rank).items()])
            self.create(database, "HOST_INFO", "hostUid TEXT, hostName TEXT", [
                (f"1234567890{self.host()}", f"host{self.host()}")])
            self.create(database, "RANK_DEVICE_MAP", "rankId INTEGER, deviceId INTEGER", [
                (self.rank, self.rank % self.options.node_size)])

    @staticmethod
    def create(database, table, columns, rows):
        database.execute(f"CREATE TABLE {table} ({columns})")
        for row in rows:
            database.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)

    def insert(self, database, table, rows):
        self.create(database, table, TABLES[table], rows)

    def insert_trace(self, database):
        """StepTraceTime, of the same columns as the text file."""
        columns = TABLES["StepTraceTime"].split(", ")[:8 if self.options.columns == "old" else 9]
        device = self.options.columns == "current"
        self.create(database, "StepTraceTime", ", ".join([*["deviceId INTEGER"] * device, "step TEXT", *columns]), [
            [*[self.rank] * device, step or None, *numbers[:len(columns)]] for step, numbers in self.trace])

    def time_rows(self):
        return [(op["hccl_op_name"], op["group_name"], *(op[column] for column in TIMES.values()),
                 self.step_key(op["step"]), op["type"]) for op in self.ops]

    def band_rows(self):
        """Rows of CommAnalyzerBandwidth; of an operator that comes twice only the first."""
        seen = set()
        for op in self.ops:
            key = op["hccl_op_name"], op["group_name"], self.step_key(op["step"]), op["type"]
            for transport, *numbers, packets in () if key in seen else op["bands"]:
                for packet in packets or [(0, 0, 0)]:
                    yield (*key[:2], transport, *numbers, *packet, *key[2:])
            seen.add(key)

    def link_rows(self):
        return [(link["hccl_op_name"], link["group_name"], str(link["src"]), str(link["dst"]), link["transport"],
                 link["size"], link["time"], per(link["size"], link["time"]), self.step_key(link["step"]),
                 link["type"], link["op_name"]) for link in self.links]


def main():
    parser = argparse.ArgumentParser(description="Write the captures of a made-up cluster.")
    parser.add_argument("out", metavar="DIRECTORY")
    for name, value in (("tp", 2), ("cp", 1), ("dp", 2), ("pp", 2), ("steps", 2), ("windows", 1), ("seed", 1),
                        ("node-size", 4)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--form", choices=("text", "db", "mixed"), default="text")
    parser.add_argument("--roles", default="", help="names, joined by commas; all on the same ranks")
    parser.add_argument("--role-in", choices=("nowhere", "parent", "metadata"), default="nowhere")
    parser.add_argument("--nodes", action="store_true", help="captures lie in node0/, node1/")
    parser.add_argument("--captured", default="", help="only these ranks, joined by commas")
    parser.add_argument("--columns", choices=("old", "later", "current"), default="current", help="of the step trace")
    parser.add_argument("--bare-step", choices=("no", "named", "empty"), default="no",
                        help="communication knows no step id; the step trace has one step, with or without id")
    parser.add_argument("--empty-step", action="store_true", help="so it is in the last window, without id")
    parser.add_argument("--no-metadata", dest="metadata", action="store_false", help="no parallel_group_info")
    parser.add_argument("--no-distributed-args", dest="distributed_args", action="store_false")
    parser.add_argument("--no-batch", dest="batch", action="store_false",
                        help="no batchSendRecv, whose links tell the ranks of a pipeline")
    parser.add_argument("--silent", default="", help="groups of these names do not tell their members")
    for name, text in (("shared-hash", "p2p and collective operators in one group"),
                       ("mixed-reduce", "a reduce beside the reduceScatter of a group"),
                       ("zeros", "times of 0"), ("transports", "several transports for one operator"),
                       ("absent", "some values are absent"), ("plain-matrix", "a matrix without statistics"),
                       ("duplicates", "keys that come twice: damage"),
                       ("cut", "communication files of odd ranks are cut: damage")):
        parser.add_argument(f"--{name}", action="store_true", help=text)
    options = parser.parse_args()
    options.silent = set(options.silent.split(",")) - {""}
    for ordinal, role in enumerate(options.roles.split(",")):
        job = Job(options, role, ordinal)
        ranks = [int(rank) for rank in options.captured.split(",") if rank] or range(job.world)
        for rank, window in itertools.product(ranks, range(options.windows)):
            Capture(job, rank, window).write()


if __name__ == "__main__":
    main()
