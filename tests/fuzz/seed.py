#!/usr/bin/python3
"""Write the seeds of the fuzz targets: small inputs made by hand and by gen_job.py.   usage: seed.py CORPUS_DIR

Files found by fuzzing lie beside them and are left alone. The bytes depend on nothing but this file and gen_job.py.
"""
import os
import random
import struct
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
sys.dont_write_bytecode = True
import gen_job  # noqa: E402  (its path is known only now)


def text(value):
    """A text on the wire."""
    data = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<Q", len(data)) + data


# ------------------------------------------------------------------------------------ wire

def wire_capture(number, role, path, stamp, message, files):
    numbers = [number, number - 1, number % 3, number % 4, 5, 6, 7, 8, 9, 10, 11, -1]
    data = struct.pack("<12q", *numbers) + b"".join(text(t) for t in (role, path, stamp, message, role))
    for kind in range(9):
        state, size, name = files.get(kind, (0, -1, ""))
        data += struct.pack("<Iq", state, size) + text(name)
    return data + struct.pack("<6q", 0, 1, 0, 0, 100, 100)  # the whole of it


def wire_block(run, rows, data):
    return struct.pack("<BBH", run, rows, len(data)) + data


def wire_texts(run, *texts):
    data = b"".join(text(t) for t in texts)
    return struct.pack("<BH", run, len(data)) + data


def wire_words(*values):
    return struct.pack(f"<{len(values)}I", *values)


def wire_map(roles, layouts, groups, stages):
    """A map of the cluster; a group is role, name, ranks by number, and pairs of further numbers and ranks."""
    data = wire_words(len(roles)) + b"".join(text(role) for role in roles)
    data += wire_words(len(layouts)) + b"".join(wire_words(*layout) for layout in layouts)
    data += wire_words(len(groups))
    for role, name, ranks, pairs in groups:
        data += wire_words(role) + text(name) + wire_words(len(ranks), len(pairs), *ranks)
        data += b"".join(wire_words(*pair) for pair in pairs)
    data += wire_words(len(stages))
    for role, ranks in stages:
        data += wire_words(role, len(ranks), *ranks)
    return data


def wire_index(names, threads, stacks, pairs, stack_entries=(), plains=(), backwards=(), forwards=()):
    """An index of call stacks; an id is a place in a list, from 1."""
    forms = (("<qqQII", stack_entries), ("<qqQI4x", plains), ("<qqQqII", backwards), ("<qqQI4x", forwards), ("<II", pairs))
    data = struct.pack("<IqqI", 1, 5, 900, len(stacks))
    data += b"".join(text(b"".join(struct.pack(form, *entry) for entry in entries)) for form, entries in forms)
    for texts in (names, threads, stacks):
        data += wire_words(len(texts) + 1) + b"".join(text(each) for each in texts)
    return data


def wire():
    """Seeds of fuzz_wire by name."""
    one = wire_capture(0, "actor", "a_ascend_pt", "20250109143043123", "", {2: (3, 12345, "/x/trace_view.json")})
    two = wire_capture(2, "评论家", b"odd\xff\n_ascend_pt", "", "cut at byte 7", {k: (1, k, f"/f{k}") for k in range(9)})
    rng = random.Random(1)
    noise = bytes(rng.randrange(256) for _ in range(400))
    keys = b"".join(struct.pack("<q", k) for k in (1, 2, 3, 3, 4, 5, 6, 7))
    yield "share_empty", b"\0"
    yield "share_one", b"\0" + one
    yield "share_two", b"\0" + one + two
    yield "share_cut", b"\0" + one + two[:-5]
    yield "share_long_text", b"\0" + struct.pack("<12q", *range(12)) + struct.pack("<Q", 2**63) + b"x"
    yield "share_bad_status", b"\0" + struct.pack("<12q", 0, 0, 0, 9, *range(8)) + bytes(140)
    yield "share_bad_state", b"\0" + struct.pack("<12q", *range(3), 0, *range(8)) + bytes(32) + b"\x09" + bytes(180)
    for kind, name in ((1, "captures"), (2, "events")):
        head = bytes([kind])
        yield f"{name}_none", head + b"\0"
        yield f"{name}_sorted", head + b"\1" + wire_block(0, 8, keys) + wire_block(1, 8, keys) + wire_block(0, 1, b"\x09")
        yield f"{name}_noise", head + b"\3" + b"".join(wire_block(r, 1 + r, noise[r:]) for r in (0, 1, 2, 3, 2, 1))
        yield f"{name}_too_many", head + b"\0" + wire_block(0, 9, keys)
        yield f"{name}_short", head + b"\0" + wire_block(0, 2, keys) + wire_block(0, 0, b"\1\0\0\0half a row")
        yield f"{name}_no_rows", head + b"\0" + wire_block(0, 0, bytes(4)) + wire_block(0, 2, keys)
    yield "texts_none", b"\3\0"
    yield "texts_one", b"\3\0" + wire_texts(0, "", "a", "aa") + wire_texts(0, "b")
    yield "texts_shared", b"\3\2" + wire_texts(0, "a", "c") + wire_texts(1, "a", "b") + wire_texts(2, "c") + wire_texts(1, "c")
    yield "texts_unsorted", b"\3\1" + wire_texts(0, "b", "a") + wire_texts(1, "c")
    yield "texts_cut", b"\3\0" + wire_texts(0, "a", "b")[:-1] + b"\0\0\1"
    yield "texts_long", b"\3\0\0\x09\0" + struct.pack("<Q", 2**64 - 1) + b"x"
    yield "codes_all", b"\4\3" + struct.pack("<4I", 0, 2, 5, 2**32 - 1)
    yield "codes_few", b"\4\3" + struct.pack("<3I", 0, 2, 5)
    yield "codes_none", b"\4\0"
    layouts = [(0, 2, 2, 1, 2, 1, 8), (1, 1, 2, 1, 1, 1, 2)]
    groups = [(0, "", [0], []), (0, "7", [4, 0], [(3, 9)]), (1, "12", [], [(2, 1), (3, 0)])]
    some = b"\5" + wire_map(["", "actor"], layouts, groups, [(0, [0, 2]), (0, [1, 3]), (1, [0])])
    yield "map_empty", b"\5" + wire_map([], [], [], [])
    yield "map_some", some
    yield "map_cut", some[:-2]
    yield "map_longer", some + b"\0"
    yield "map_two_stages", b"\5" + wire_map(["a"], [], [], [(0, [0, 2]), (0, [2])])
    yield "map_bad_sizes", b"\5" + wire_map(["a"], [(0, 2, 2, 1, 2, 1, 9)], [], [])
    yield "map_bad_role", b"\5" + wire_map(["a"], [], [(1, "1", [0], [])], [])
    yield "map_many", b"\5" + wire_words(0, 0, 0, 2**32 - 1) + bytes(40)
    stacks, pairs = ["f.py(1): f;\\r\\n", "g", "\\q"], [(1, 1), (2, 2)]
    entries = {"stack_entries": [(0, 50, 3, 1, 3), (20, 2000, 9, 1, 4), (20, 2000, 9, 2, 7)],
               "plains": [(1, 5000, 4, 1), (2, 6000, 5, 2)], "backwards": [(1, 7000, 6, 11, 1, 0), (3, 9, 7, 12, 2, 0)],
               "forwards": [(11, 0, 1, 4), (12, 1, 2, 3)]}
    index = b"\6" + wire_index(["add", "mul"], ["1\0" + "1", "1\0" + "2"], stacks, pairs, **entries)
    yield "index_some", index
    yield "index_empty", b"\6" + wire_index([], [], [], [])
    yield "index_cut", index[:-9]
    yield "index_other_name", b"\6" + wire_index(["sub"], [], [], [])
    yield "index_bad_pair", b"\6" + wire_index(["add"], ["1"], [], [(1, 2)])
    yield "index_bad_stack", b"\6" + wire_index(["add"], [], ["a"], [], stack_entries=[(0, 1, 2, 1, 4)])
    yield "index_many", b"\6" + struct.pack("<IqqI", 0, 0, 0, 2**32 - 1) + bytes(40)
    yield "index_many_names", b"\6" + struct.pack("<IqqI", 0, 0, 0, 0) + bytes(40) + wire_words(2**32 - 1)


# ------------------------------------------------------------------------------------ datamap

def job_files(seed):
    """The files of a small job of gen_job.py: path and content, by path."""
    with tempfile.TemporaryDirectory() as folder:
        for index, capture in enumerate(gen_job.CAPTURES):
            parent, name, info, role, trace, table = capture
            rng = random.Random(f"{seed} {index}")
            gen_job.write_capture(os.path.join(folder, parent, name), info, role, trace, table, rng, 1)
        for path, _, names in sorted(os.walk(folder)):
            for name in sorted(names):
                with open(os.path.join(path, name), "rb") as stream:
                    yield os.path.relpath(os.path.join(path, name), folder), stream.read()


def datamap():
    """Seeds of fuzz_datamap by name: the captures of a job, and those that have something odd."""
    captures = {}
    for path, content in job_files(1):
        capture, rest = path.split("_ascend_pt/")
        rest = rest.replace("ASCEND_PROFILER_OUTPUT/", ">")
        if "/" in rest:
            rest, content = rest.split("/")[0] + "/", b""
        captures.setdefault(capture, []).append((rest, content if "profiler_" in rest else content[:20]))
    for number, (capture, entries) in enumerate(captures.items()):
        parent, name = capture.rsplit("/", 1)
        pieces = [parent.split("/")[-1].encode(), name.encode()]
        for entry, content in entries:
            pieces += [entry.encode(), content]
        yield f"job_{number:02d}", b"\n--\n".join(pieces)
    odd = {
        "nothing": [],
        "two_ranks": [("profiler_info_1.json", b"{}"), ("profiler_info_2.json", b"{}"), (">trace_view.json", b"[]")],
        "two_infos": [("profiler_info.json", b'{"rank_id": 3}'), ("profiler_info_2.json", b"{}")],
        "rank_text": [("profiler_info.json", b'{"rank_id": "12"}')],
        "rank_huge": [("profiler_info.json", b'{"rank_id": 2147483648}'), ("profiler_info_99999999999.json", b"")],
        "rank_negative": [("profiler_info.json", b'{"rank_id": -1}')],
        "rank_deep": [("profiler_info.json", b'{"a": {"rank_id": 1}, "rank_id": [1], "rank_id": 7}')],
        "rank_array": [("profiler_info.json", b"[1]")],
        "bomb": [("profiler_info.json", b'{"a":' + b"[" * 130)],
        "cut": [("profiler_info.json", b'{"rank_id": 5'), ("profiler_metadata.json", b'{"role": "act')],
        "role_bytes": [("profiler_info_0.json", b"{}"), ("profiler_metadata.json", b'{"role": "\xff\\u0000\\ud800x"}')],
        "role_empty": [("profiler_info_0.json", b"{}"), ("profiler_metadata.json", b'{"role": ""}')],
        "role_number": [("profiler_info_0.json", b"{}"), ("profiler_metadata.json", b'{"role": 5}')],
        "folders": [("profiler_info_0.json/", b""), ("profiler_metadata.json/", b""), (">trace_view.json/", b""),
                    (">operator_memory.csv/", b"")],
        "links": [("@profiler_info_0.json", b"nowhere"), ("@profiler_metadata.json", b"profiler_info_0.json"),
                  (">@trace_view.json", b"/dev/zero"), (">@trace_view.json.gz", b"../x"), ("x", b"[]"),
                  (">@operator_memory.csv", b"operator_memory.csv"), ("@ASCEND_PROFILER_OUTPUT", b".")],
        "databases": [("profiler_info_0.json", b"{}"), (">ascend_pytorch_profiler_0.db", b"x"), (">analysis.db", b"y"),
                      (">ascend_pytorch_profiler.db", b"z"), (">ascend_pytorch_profiler_.db", b"z")],
        "linked_output": [("profiler_info_0.json", b"{}"), ("data/", b""), ("@ASCEND_PROFILER_OUTPUT", b"data")],
        "output_is_file": [("profiler_info_0.json", b"{}"), ("ASCEND_PROFILER_OUTPUT", b"no directory")],
    }
    stamps = ("20250109_143044", "h_1_20250109143043123", "12345678901234", "123456789012345678_1", "", "\u8bad_\u7ec3")
    for number, (name, entries) in enumerate(odd.items()):
        pieces = [b"parent \xff" if name == "role_empty" else b"parent", stamps[number % len(stamps)].encode()]
        for entry, content in entries:
            pieces += [entry.encode(), content]
        yield name, b"\n--\n".join(pieces)


# ------------------------------------------------------------------------------------ communication

def communication():
    """Seeds of fuzz_communication by name: the first byte chooses the reader."""
    times = '"Communication Time Info":{"Start Timestamp(us)":1764246877076689.8,"Idle Time(ms)":"1","Wait Time(ms)":null}'
    bands = ('"Communication Bandwidth Info":{"RDMA":{"Transit Size(MB)":0,"Size Distribution":{}},"SDMA":{"Bandwidth(GB/s)":2.5,'
             '"Size Distribution":{"4e-06":[1,0.5],"8.3":[2,"3"]}}}')
    op = f'"hcom_send__1@8":{{{times},{bands}}}'
    link = '"0-1":{"Transport Type":"HCCS","Transit Time(ms)":1,"Op Name":"hcom_send__1"}'
    whole = f'{{"step5":{{"p2p":{{{op},"b@7":{{{bands},{times}}}}},"collective":{{"Total Op Info":{{{times}}},{op}}}}}}}'
    for name, value in {
        "whole": whole, "cut": whole[:-80], "no_steps": "{}", "nothing": "", "blank": " ", "array": "[]", "bom": "\ufeff{}",
        "sections": f'{{"step":{{"other":{{{op}}},"P2P":3,"p2p":{{}}}},"x":{{"collective":{{{op}}}}}}}',
        "no_objects": '{"step1":3,"step2":{"p2p":[{}],"collective":{"a":null,"b":{"Communication Time Info":[],'
                      '"Communication Bandwidth Info":{"X":1,"Y":{"Size Distribution":5}}},"c":{"Communication Bandwidth Info":"x"}}}}',
        "sizes": '{"step1":{"p2p":{"a":{"Communication Bandwidth Info":{"X":{"Size Distribution":{"1":[],"2":[1],"3":[1,2,3],'
                 '"4":[[1],2],"5":{"a":[1,2]},"6":null,"7":[true,null],"8":[1,2]}}}}}}}',
        "repeated": f'{{"step1":{{"p2p":{{"a@1":{{{times},{times},{bands},{bands}}},"a@1":{{}}}},"p2p":{{"a@1":{{}}}}}}}}',
        "values": '{"step1":{"p2p":{"a":{"Communication Time Info":{"Idle Time(ms)":{"a":[1]},"Wait Time(ms)":[[]],"x":{}}}}}}',
        "at_signs": '{"step1":{"p2p":{"@":{},"a@b@c":{},"":{},"alone":{},"\\u0040x":{}}}}', "nan": f'{{"s":{{"p2p":{{{op},"x":NaN}}}}}}',
        "deep": '{"a":{"p2p":{"x":{}}},"b":' + "[" * 130, "bytes": "{\"step\\ud800\":{\"p2p\":{\"a\\n\":{}}}} x",
    }.items():
        yield f"times_{name}", b"\0" + value.encode()
    for name, value in {
        "whole": f'{{"step5":{{"p2p":{{"send-top1@8":{{{link},"1-1":{{}}}}}},"collective":{{"Total Op Info":{{{link}}},"a@1":{{{link}}}}}}}}}',
        "no_links": '{"step5":{"p2p":{"a@1":{"01":{},"":{},"-":{},"0-1":3,"1-0":[{"0-1":{}}],"0-1-2":{"Op Name":{"a":1}}}}}}',
        "cut": f'{{"step5":{{"p2p":{{"a@1":{{{link}}},"b@1":{{{link}', "values": '{"step5":{"p2p":{"a@1":{"0-1":{"Op Name":[1],"x":{}}}}}}',
    }.items():
        yield f"links_{name}", b"\1" + value.encode()
    group = '"10.0.0.1%eth0":{"group_name":"tp","group_rank":0,"global_ranks":[0,12]}'
    for name, value in {
        "whole": f'{{"distributed_args":{{"tensor_model_parallel_size":2,"rank":1,"world_size":8}},"ENV":{{"a":"b"}},"parallel_group_info":{{{group}}}}}',
        "groups": '{"parallel_group_info":{"a":3,"b":[],"c":{"group_name":5,"global_ranks":[-1]},"d":{"global_ranks":[[1],2]},"e":{}}}',
        "line": '{"distributed_args":{ "\\u00e9\u4f60\U0001f600":[1 ,{"a":null,"b":[]},"\\n\\u0000\x7f"],"rank":{"rank":[1]},"world_size":"8"}}',
        "none": '{"distributed_args":null,"parallel_group_info":[{}],"distributed_args":{"rank":1},"distributed_args":{"a":1}}',
        "cut": f'{{"parallel_group_info":{{{group},"b":{{"global_ranks":[1', "array": "[1]",
    }.items():
        yield f"metadata_{name}", b"\2" + value.encode()


# ------------------------------------------------------------------------------------ csv, trace

def csv():
    """Seeds of fuzz_csv by name."""
    rng = random.Random(1)
    trace = gen_job.Trace(rng, True)
    trace.play(1)
    rows = gen_job.table_rows(trace.records[:4], rng, 0)
    for style in ("plain", "quoted", "ten columns", "spread", "megabytes", "header", "nothing"):
        yield f"table_{style.replace(' ', '_')}", gen_job.table_text(rows, style, rng).encode()
    line = ",".join(gen_job.COLUMNS[:5])
    for name, value in {
        "cut_in_row": line + "\r\na,1,2", "cut_in_quotes": line + '\na,"b', "blank_lines": "\n \n\t\r\n" + line + "\n\n",
        "carriage_returns": "a,b\r1,2\r\r3,4", "tabs": 'a\t, b ,"c\t"," d "\r\n\t,\t\r\n', "quotes": 'a"b,"c""d","e"f,"\n"\n',
        "absent": "N/A, N/A ,\tN/A\t,n/a\nN/A,,\"N/A\"", "nul": "a\0,b\n\0\n", "bom_only": "\ufeff", "boms": "\ufeff\ufeffa\n",
        "many_cells": "," * 4100, "many_lines": "a\n" * 300, "long": "x" * 3000 + "\n" + "y" * 10, "no_end": "a,b",
    }.items():
        yield name, value.encode()
    yield "bytes", b"\xff\xfe,\x80\n\xef\xbb,\xbf"


def trace():
    """Seeds of fuzz_trace by name."""
    rng = random.Random(2)
    drawn = gen_job.Trace(rng, True)
    drawn.play(1)
    short = sorted((e for e in drawn.events if len(str(e)) < 500), key=str)
    for number, style in enumerate(("line", "pretty", "lines", "object", "empty", "empty object")):
        yield f"job_{style.replace(' ', '_')}", gen_job.trace_text(short[number * 7::60][:6], style, rng).encode()
    event = '{"ph":"X","name":"a","ts":"1.5","dur":2,"cat":"cpu_op","args":{"Call stack":"f;\\r\\ng","Sequence number":3}}'
    for name, value in {
        "one": f"[{event}]", "object": f'{{"a":[1],"traceEvents":[{event}],"b":{{}}}}', "late_cat": '[{"args":{"a":[{}]},"cat":"x"}]',
        "cut": f"[{event},{event[:60]}", "comma": f"[{event},]", "garbage": f"[{event}] x", "nan": f'[{{"name":NaN}},{event}]',
        "bare": f'[{event},{{"name":N/A,"ts":1}},{event}]', "quote": f'[{{"name":"a"b","ph":"X"}},{event}]',
        "control": f'[{{"name":"a\x01b"}},{event}]', "blank": " ", "nothing": "", "twice": f"[{event}][{event}]",
        "not_events": f'[1,"x",null,[{event}],{{}},{event}]', "nested": '[{"args":{"args":{"cat":"x"}},"name":{"cat":"y"}}]',
        "repeated": '[{"name":"a","name":"b","args":{"Call stack":"c"},"args":5}]', "deep": "[" * 200, "objects": '[{"a":' * 130,
        "escapes": '[{"name":"\\u0041\\ud83d\\ude00\\n\\/\\ud800","c\\u0061t":"x"}]', "other_key": '{"events":[]}', "bom": "\ufeff[]",
        "no_array": '{"traceEvents":{}}', "two_arrays": f'{{"traceEvents":[{event}],"traceEvents":[]}}', "unclosed": f'{{"traceEvents":[{event}]',
        "missing_comma": f"[{event} {event}]", "missing_brace": f'[{event[:-1]},{event}]', "number_text": '[{"ts":1e5,"dur":-0.0,"pid":12345678901234567890}]',
        "bad_number": f'[{{"ts":01}},{{"ts":1.}},{{"ts":-}},{event}]', "bad_escape": f'[{{"name":"\\x"}},{event}]', "nul": f'[{{"name":"\0"}},\0{event}]',
        "text_like_event": f'[{{"name":"}},{{\\"ph\\":1}}"}},{event}]', "colon": f'[{{"name" "a"}},{event}]', "brackets": f'[{{"a":]}},{event}]',
    }.items():
        yield name, value.encode()
    yield "bytes", b'[{"name":"\xff\xc3"},{"name":"\xe4\xbd\xa0"}]'


TARGETS = {"communication": communication, "csv": csv, "datamap": datamap, "trace": trace, "wire": wire}


def main():
    for target, seeds in TARGETS.items():
        folder = os.path.join(sys.argv[1], target)
        os.makedirs(folder, exist_ok=True)
        for name, data in seeds():
            with open(os.path.join(folder, name), "wb") as stream:
                stream.write(data)


if __name__ == "__main__":
    main()
