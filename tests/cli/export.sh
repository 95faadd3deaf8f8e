#!/bin/bash
# rl-insight-export: what it writes and where, what it refuses, and that nothing half-written stays.
# usage: export.sh SOURCE_DIR BINARY
set -euo pipefail
. "$(dirname "$0")/../support/testlib.bash"
binary=${binary%/*}/rl-insight-export
[[ -x $binary ]] || {
    echo "no program $binary"
    exit 1
}

out=$work/out
peer=$out/cluster_analysis_output
text_files=(cluster_communication.json cluster_communication_matrix.json cluster_step_trace_time.csv communication_group.json)

sample() { # FILE ARGUMENT...: see cluster_h5.py
    "$python" "$support/cluster_h5.py" sample "$@"
}

verify() { # ARGUMENT...: see check_export.py
    "$python" "$support/check_export.py" "$@"
}

files_of() { # DIRECTORY: all files below, one a line
    (cd "$1" && find . -type f -printf '%P\n' | sort)
}

errors() { # the number of error messages on stderr
    grep -c '^rl-insight-export: error: ' "$work/stderr" || true
}

expect_error() { # SENTENCE CODE TEXT ARGUMENT...: one message, which holds the text
    run 1 "${@:4}"
    check_text "$1: exit code, messages" "$2 1" "$exit_code $(errors)"
    check "$1: the message says why" grep -qF -- "$3" "$work/stderr"
}

sample "$work/plain.h5"
sample "$work/several.h5" --role a/b --role ..x% --role "" --windows 2
sample "$work/windows.h5" --role actor --windows 2
sample "$work/bare.h5" --bare
sample "$work/empty.h5" --empty
sample "$work/memory.h5" --only captures --only memory_events

# --- The command line ---------------------------------------------------------------------------------------
run_expecting 0 1 --help
check "--help names the program" grep -q '^Usage: rl-insight-export ' "$work/stdout"
run_expecting 0 1 --version
check "--version" grep -qE '^rl-insight-export [0-9]+\.[0-9]+\.[0-9]+$' "$work/stdout"
usage() { # TEXT ARGUMENT...
    expect_error "wrong usage, $1" 2 "$1" "${@:2}"
    check_text "wrong usage, $1: a hint follows" "Try 'rl-insight-export --help'." "$(tail -n1 "$work/stderr")"
}
usage "FILE.h5 and DIR are needed" --to text
usage "FILE.h5 and DIR are needed" --to text "$work/plain.h5"
usage "more than FILE.h5 and DIR" --to text "$work/plain.h5" "$out" more
usage "--to is needed" "$work/plain.h5" "$out"
usage "--to does not know 'xml'" "$work/plain.h5" "$out" --to xml
usage "option --to needs an argument" "$work/plain.h5" "$out" --to
usage "unknown option -x" "$work/plain.h5" "$out" -x
usage "unknown or ambiguous option --other" "$work/plain.h5" "$out" --other
usage "option --force=1 takes no argument" "$work/plain.h5" "$out" --to csv --force=1
usage "DIR is empty" "$work/plain.h5" "" --to text
check "wrong usage writes nothing" test ! -e "$out"

# --- Text ---------------------------------------------------------------------------------------------------
run_expecting 0 1 "$work/plain.h5" "$out" --to text
check_text "text: one folder for one role and window" "$(printf 'cluster_analysis_output/%s\n' "${text_files[@]}")" "$(files_of "$out")"
check "text: JSON is as Python writes it" verify json "$peer"/*.json
check_text "text: a message for each file" 4 "$(grep -c '^rl-insight-export: info: .* is written$' "$work/stderr")"
check_text "text: stdout is empty" "" "$(<"$work/stdout")"
cp -r "$out" "$work/first"
check_text "text: step trace, header" \
    "Step,Type,Index,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,Communication(Not Overlapped and Exclude Receive),Preparing,DP Index,PP Index,TP Index"$'\r' \
    "$(head -n1 "$peer/cluster_step_trace_time.csv")"
check_text "text: step trace, a stage" \
    $'5,stage,"(0, 1)",1.0,11.0,21.0,31.0,41.0,51.0,61.0,71.0,81.0,NA,NA,NA\r' "$(tail -n1 "$peer/cluster_step_trace_time.csv")"

ask() { # FILE EXPRESSION: of `data`, the JSON in it
    "$python" -c "import json, sys; data = json.load(open(sys.argv[1])); print(json.dumps($2))" "$peer/$1"
}
op='data["(0, 1)"]["step5"]["hcom_send__002_0_1@22"]["1"]'
check_text "text: an operator's time" \
    '{"Start Timestamp(us)": 1723545784022534.0, "Elapse Time(ms)": 3.0, "Transit Time(ms)": 1.0, "Wait Time(ms)": 2.0, "Synchronization Time(ms)": 0.1, "Idle Time(ms)": 0.0, "Wait Time Ratio": 0.6667, "Synchronization Time Ratio": 0.0909}' \
    "$(ask cluster_communication.json "${op}['Communication Time Info']")"
check "text: its start has all digits" grep -qF '"Start Timestamp(us)": 1723545784022534.124,' "$peer/cluster_communication.json"
check_text "text: its transports" \
    '{"HCCS": {"Transit Size(MB)": 16.777216, "Transit Time(ms)": 0.8, "Bandwidth(GB/s)": 20.9715, "Large Packet Ratio": 0.5, "Size Distribution": {"4e-06": [3, 0.3], "2.0": [8, 0.5]}}, "SDMA": {"Transit Size(MB)": 16.777216, "Transit Time(ms)": 0.8, "Bandwidth(GB/s)": 20.9715, "Large Packet Ratio": 0.5, "Size Distribution": {}}}' \
    "$(ask cluster_communication.json "${op}['Communication Bandwidth Info']")"
check_text "text: totals come last" '["hcom_allReduce__001_0_1@11", "hcom_send__002_0_1@22", "Total Op Info@11", "Total Op Info@22"]' \
    "$(ask cluster_communication.json 'list(data["(0, 1)"]["step5"])')"
check_text "text: a total" \
    '{"Communication Time Info": {"Elapse Time(ms)": 3.0, "Transit Time(ms)": 1.0, "Wait Time(ms)": 2.0, "Synchronization Time(ms)": 0.1, "Idle Time(ms)": 0.0, "Wait Time Ratio": 0.6667, "Synchronization Time Ratio": 0.0909}, "Communication Bandwidth Info": {"HCCS": {"Transit Time(ms)": 0.8, "Transit Size(MB)": 16.777216, "Size Distribution": {"4e-06": [3, 0.3], "2.0": [8, 0.5]}, "Bandwidth(GB/s)": 20.9715}, "SDMA": {"Transit Time(ms)": 0.8, "Transit Size(MB)": 16.777216, "Size Distribution": {}, "Bandwidth(GB/s)": 20.9715}}}' \
    "$(ask cluster_communication.json 'data["(0, 1)"]["step5"]["Total Op Info@11"]["0"]')"
check_text "text: a link with several transports is one, an operator without a resolved link stays" \
    '{"allreduce-total@11": {"0-0": {"Transport Type": "LOCAL", "Transit Time(ms)": 1.5, "Transit Size(MB)": 3.0, "Op Name": "", "Bandwidth(GB/s)": 2.0}, "0-1": {"Transport Type": "RDMA", "Transit Time(ms)": 2.0, "Transit Size(MB)": 4.0, "Op Name": "", "Bandwidth(GB/s)": 2.0}, "1-1": {"Transport Type": "LOCAL", "Transit Time(ms)": 0.0, "Transit Size(MB)": 0.0, "Op Name": "", "Bandwidth(GB/s)": 0.0}}, "send-total@22": {}}' \
    "$(ask cluster_communication_matrix.json '{key: value for key, value in data["(0, 1)"]["step5"].items() if "Total" not in key}')"
check_text "text: a total without a resolved link is left out" '["Total Op Info@11"]' \
    "$(ask cluster_communication_matrix.json '[key for key in data["(0, 1)"]["step5"] if "Total" in key]')"
check_text "text: groups with members that are not captured" \
    '[[[0, 1]], [[0, 1]], [{"type": "collective", "rank_set": [0, 1, 2], "group_name": "11", "group_id": "id \"1\"\n\u00e4\ud83d\ude00", "pg_name": "tp"}, {"type": "p2p", "rank_set": [0, 1], "group_name": "22", "group_id": "", "pg_name": ""}]]' \
    "$(ask communication_group.json 'list(data.values())')"

# Captured ranks come from links where no times are, and from the members that are captured where no links tell.
sample "$work/matrix.h5" --only captures --only cluster_communication_matrix --only communication_group
rm -r "$out"
run_expecting 0 1 -q "$work/matrix.h5" "$out" --to text
check_text "text: a matrix alone" "cluster_communication_matrix.json communication_group.json" "$(listing "$peer")"
check_text "text: a matrix alone: captured ranks" '[[[0, 1]], [[0, 1]]]' "$(ask communication_group.json 'list(data.values())[:2]')"

rm -r "$out"
run_expecting 0 1 -q "$work/bare.h5" "$out" --to text
check_text "text: what no row has is left out" $'5,rank,0,0.0,10.0,20.0,30.0,40.0,50.0,60.0,70.0\r' \
    "$(sed -n 2p "$peer/cluster_step_trace_time.csv")"
rm -r "$out"
run_expecting 0 1 -q "$work/empty.h5" "$out" --to text
check_text "text: without rows there is the file of groups" "communication_group.json" "$(listing "$peer")"
check_text "text: without rows: no groups" '{"collective": [], "p2p": [], "comm_group_parallel_info": []}' \
    "$(<"$peer/communication_group.json")"
rm -r "$out"
expect_error "text: a file of memory alone" 1 "neither step trace nor communication; make it with a --mode" "$work/memory.h5" "$out" --to text
check "text: a file of memory alone: nothing is written" test ! -e "$out"

# The rows of a role and window lie together; where they do not, the same comes of them.
"$python" - "$support" "$work" <<'PYTHON'
import sys
sys.path.insert(0, sys.argv[1])
import cluster_h5 as made
for name, mixed in ("together", False), ("mixed", True):
    tables = made.sample(["a", "b"], 2, 0)
    for table in made.TABLES:
        if mixed and table.startswith("cluster_") and table != "cluster_base_info":
            place = {}
            for row in tables[table]:
                part = (row["role"], row["window"])
                place.setdefault(part, []).append(row)
            longest = max(map(len, place.values()))
            tables[table] = [rows[i] for i in range(longest) for rows in place.values() if i < len(rows)]
    made.write_file(f"{sys.argv[2]}/{name}.h5", tables)
PYTHON
for name in together mixed; do
    run_expecting 0 1 -q "$work/$name.h5" "$work/$name" --to text
done
check_text "text: four folders of rows that are mixed" 16 "$(files_of "$work/mixed" | wc -l)"
check "text: rows of other roles and windows between those of one" diff -r "$work/together" "$work/mixed"

# --- Both kinds under one group: summed in the text, apart in the database -----------------------------------
"$python" - "$support" "$work/both.h5" <<'PYTHON'
import sys
sys.path.insert(0, sys.argv[1])
import cluster_h5 as made
tables = made.sample([""], 1, 0)
for rows in tables.values():
    for row in rows:
        if row.get("group_name") == "22":
            row["group_name"] = "11"
made.write_file(sys.argv[2], made.sort_rows(tables))
PYTHON
run_expecting 0 1 -q "$work/both.h5" "$out" --to text
total='data["(0, 1)"]["step5"]["Total Op Info@11"]["0"]'
check_text "a group of both kinds, text: times, sizes and packages are summed" \
    '[6.0, 0.6667, 33.554432, 1.6, 20.9715, {"4e-06": [6, 0.6], "2.0": [16, 1.0]}]' \
    "$(ask cluster_communication.json "(lambda time, band: [time['Elapse Time(ms)'], time['Wait Time Ratio'], band['Transit Size(MB)'], band['Transit Time(ms)'], band['Bandwidth(GB/s)'], band['Size Distribution']])(${total}['Communication Time Info'], ${total}['Communication Bandwidth Info']['HCCS'])")"
run_expecting 0 1 -q "$work/both.h5" "$out" --to db
check_text "a group of both kinds, database: one total for each" 4 "$("$python" -c "
import sqlite3, sys
print(sqlite3.connect(sys.argv[1]).execute(\"SELECT count(*) FROM ClusterCommunicationTime WHERE hccl_op_name = 'Total Op Info'\").fetchone()[0])" "$peer/cluster_analysis.db")"
rm -r "$out"

# --- Database -----------------------------------------------------------------------------------------------
query() { # SQL: the rows as JSON
    "$python" -c "import json, sqlite3, sys
print(json.dumps(sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchall()))" "$peer/cluster_analysis.db" "$1"
}
run_expecting 0 1 "$work/plain.h5" "$out" --to db
check_text "database: its file" "cluster_analysis_output/cluster_analysis.db" "$(files_of "$out")"
check "database: it is sound, with all tables" verify database "$peer/cluster_analysis.db" CommunicationGroupMapping \
    ClusterCommunicationTime ClusterCommunicationBandwidth ClusterCommunicationMatrix ClusterBaseInfo ClusterStepTraceTime \
    HostInfo RankDeviceMap
cp "$peer/cluster_analysis.db" "$work/first.db"
check_text "database: groups" '[["collective", "(0,1,2)", "tp"], ["p2p", "(0,1)", ""]]' \
    "$(query "SELECT type, rank_set, pg_name FROM CommunicationGroupMapping")"
check_text "database: ratios of totals only" '[["Total Op Info", 0.0, 0.0909, 0.6667], ["hcom_send__002_0_1", 1723545784022534.0, 0.0, 0.0]]' \
    "$(query "SELECT hccl_op_name, start_timestamp, synchronization_time_ratio, wait_time_ratio FROM ClusterCommunicationTime WHERE rank_id = 0 AND group_name = '22'")"
check_text "database: no packages are a size of 0" '[["step5", "Total Op Info", "SDMA", 20.9715, 0.0, 0.0, 0, 0.0]]' \
    "$(query "SELECT step, hccl_op_name, band_type, bandwidth, large_packet_ratio, package_size, count, total_duration FROM ClusterCommunicationBandwidth WHERE rank_id = 1 AND band_type = 'SDMA' AND group_name = '22' AND hccl_op_name LIKE 'Total%'")"
check_text "database: links" '[["0.0-0.0", "LOCAL", 2.0], ["0.0-1.0", "HCCS", 2.0], ["1.0-1.0", "LOCAL", 0.0]]' \
    "$(query "SELECT src_rank || '-' || dst_rank, transport_type, bandwidth FROM ClusterCommunicationMatrix WHERE hccl_op_name = 'allreduce-total'")"
check_text "database: unresolved links are left out" '[[0]]' "$(query "SELECT count(*) FROM ClusterCommunicationMatrix WHERE group_name = '22'")"
check_text "database: step trace" '[["5", "rank", "1", 81, 0, 1, 0], ["5", "stage", "(0,1)", 81, "NA", "NA", "NA"]]' \
    "$(query "SELECT step, type, \"index\", preparing, dp_index, pp_index, tp_index FROM ClusterStepTraceTime WHERE \"index\" != '0'")"
check_text "database: devices, hosts, job" '[[0, 4, "77", "rank0_window0_ascend_pt", "h\u00e4ro", "{\"world_size\": 2}"]]' \
    "$(query "SELECT rankId, deviceId, RankDeviceMap.hostUid, profilePath, hostName, value FROM RankDeviceMap JOIN HostInfo USING (hostUid), ClusterBaseInfo WHERE rankId = 0")"
rm -r "$out"
run_expecting 0 1 -q "$work/bare.h5" "$out" --to db
check_text "database: coordinates that are unknown are 0, of a stage too" '[["rank", null, 0, 0, 0], ["stage", null, 0, 0, 0]]' \
    "$(query "SELECT DISTINCT type, preparing, dp_index, pp_index, tp_index FROM ClusterStepTraceTime")"
rm -r "$out"
sample "$work/step.h5" --only captures --only cluster_step_trace_time
run_expecting 0 1 -q "$work/step.h5" "$out" --to db
check "database: tables without rows are not there" verify database "$peer/cluster_analysis.db" ClusterStepTraceTime
rm -r "$out"
expect_error "database: a file without rows" 1 "has no rows for cluster_analysis.db" "$work/empty.h5" "$out" --to db
check "database: a file without rows: nothing is written" test ! -e "$out"

# --- CSV ----------------------------------------------------------------------------------------------------
sample "$work/rows.h5" --memory 70000 # more than a block
run_expecting 0 1 -q "$work/rows.h5" "$out" --to csv
check_text "csv: every table is a file" \
    "captures.csv cluster_base_info.csv cluster_communication_bandwidth.csv cluster_communication_matrix.csv cluster_communication_time.csv cluster_step_trace_time.csv communication_group.csv memory_events.csv rank_device_map.csv" \
    "$(listing "$out")"
check "csv: pandas reads what is in the file" verify csv "$work/rows.h5" "$out"
check_text "csv: memory begins with RL-Insight's columns" \
    "name,role,rank_id,call_stack,call_stack_top,size_kb,start_time_ms,duration_ms,total_allocated_mb,total_reserved_mb,total_active_mb,device_type" \
    "$(head -n1 "$out/memory_events.csv" | cut -d, -f1-12)"
rm -r "$out"
run_expecting 0 1 -q "$work/empty.h5" "$out" --to csv
check "csv: tables without rows have their header" verify csv "$work/empty.h5" "$out"
rm -r "$out"

# --- Folders ------------------------------------------------------------------------------------------------
run_expecting 0 1 -q "$work/windows.h5" "$out" --to db
check_text "folders: windows of one role" \
    "$(printf 'window%s/cluster_analysis_output/cluster_analysis.db\n' 0 1)" "$(files_of "$out")"
check_text "folders: a window has its own captures" '"rank0_window1_ascend_pt"' \
    "$(peer=$out/window1/cluster_analysis_output query "SELECT profilePath FROM RankDeviceMap WHERE rankId = 0" | tr -d '[]')"
rm -r "$out"
run_expecting 0 1 -q "$work/several.h5" "$out" --to db
check_text "folders: roles whose names are no names of files" \
    "$(printf '%s/cluster_analysis_output/cluster_analysis.db\n' {%,%2E%2Ex%25,a%2Fb}/window{0,1})" \
    "$(files_of "$out")"
rm -r "$out"

# --- What is there stays ------------------------------------------------------------------------------------
run_expecting 0 1 -q "$work/plain.h5" "$out" --to text
check "the same every time: text" diff -r "$work/first" "$out"
echo mine >"$peer/notes.txt"
echo old >"$peer/cluster_communication_matrix.json"
rm "$peer/communication_group.json" "$peer/cluster_communication.json"
expect_error "an existing file" 1 "cluster_step_trace_time.csv exists; use --force to replace it" "$work/plain.h5" "$out" --to text
check_text "an existing file: nothing is written before it is met" \
    "cluster_communication_matrix.json cluster_step_trace_time.csv notes.txt" "$(listing "$peer")"
check_text "an existing file: it is as it was" old "$(<"$peer/cluster_communication_matrix.json")"
run_expecting 0 1 "$work/step.h5" "$out" --to text --force
check "--force: a file of an earlier export is named" grep -q "warning: .*cluster_communication_matrix.json is of an earlier export" \
    "$work/stderr"
check_text "--force: and kept" old "$(<"$peer/cluster_communication_matrix.json")"
run_expecting 0 1 -q "$work/plain.h5" "$out" --to text -f
check_text "--force: a file of somebody else stays" mine "$(<"$peer/notes.txt")"
rm "$peer/notes.txt"
check "--force: the others are new" diff -r "$work/first" "$out"
rm "$peer/cluster_step_trace_time.csv"
ln -s "$work/plain.h5" "$peer/cluster_step_trace_time.csv"
expect_error "a link in place of a file" 1 "is a symbolic link" "$work/plain.h5" "$out" --to text --force
rm -r "$out"
run_expecting 0 1 -q "$work/plain.h5" "$out" --to db
check "the same every time: database" cmp "$work/first.db" "$peer/cluster_analysis.db"
rm -r "$out"
for ending in journal wal; do
    mkdir -p "$out/window1/cluster_analysis_output"
    journal=$out/window1/cluster_analysis_output/cluster_analysis.db-$ending
    echo old >"$journal"
    expect_error "a database's old $ending" 1 "cluster_analysis.db-$ending is of another database" "$work/windows.h5" "$out" --to db -f
    check_text "a database's old $ending: nothing is written" "$journal" "$(find "$out" -type f)"
    : >"$journal"
    run_expecting 0 1 -q "$work/windows.h5" "$out" --to db
    rm -r "$out"
done

# --- Nothing half-written -----------------------------------------------------------------------------------
mkdir "$out"
for form in text db csv; do
    for blocks in 0 1 3; do
        code=0
        said=$(ulimit -f "$blocks" && timeout 60 "$binary" -q "$work/rows.h5" "$out/new" --to "$form" 2>&1 >/dev/null) || code=$?
        check_text "full disk, $form, $blocks blocks: exit code, message" "1 1" "$code $(grep -c 'ulimit -f' <<<"$said" || true)"
        check_text "full disk, $form, $blocks blocks: no temporary" "" "$(find "$out" -name '*.tmp')"
        rm -rf "$out/new"
    done
done
code=0
(ulimit -f 0 && exec "$binary" -q "$work/plain.h5" "$out/a/b" --to db 2>/dev/null) || code=$?
check_text "full disk: directories that were made for nothing are gone" "1 " "$code $(listing "$out")"
rm -r "$out"
expect_error "a file in place of the directory" 1 "plain.h5" "$work/plain.h5" "$work/plain.h5" --to text
expect_error "a place that cannot be written" 1 "cannot make the directory /sys/none" "$work/plain.h5" /sys/none --to text

sample "$work/large.h5" --memory 300000 --only captures --only memory_events
has_temporary() { [[ -n $(find "$out" -name '.memory_events.csv.*.tmp' -size +100k 2>/dev/null) ]]; }
start 1 -q "$work/large.h5" "$out" --to csv
await "$patience_s" has_temporary || failed "it does not write"
end_process TERM "$job"
await_job "$job"
check_text "SIGTERM: exit code, message" "1 rl-insight-export: error: ended by a signal; what is not written yet is missing" \
    "$exit_code $(<"$work/stderr")"
check_text "SIGTERM: the file that was complete, and no other" captures.csv "$(listing "$out")"
rm -r "$out"

# --- Input that is no file of ours, or damaged --------------------------------------------------------------
echo text >"$work/text.h5"
: >"$work/nothing.h5"
expect_error "no file" 1 "cannot read" "$work/none.h5" "$out" --to csv
expect_error "a directory" 1 "it is no HDF5 file" "$work" "$out" --to csv
expect_error "text" 1 "text.h5: it is no HDF5 file" "$work/text.h5" "$out" --to csv
expect_error "an empty file" 1 "nothing.h5: it is no HDF5 file" "$work/nothing.h5" "$out" --to text
"$python" -c "import h5py, sys; h5py.File(sys.argv[1], 'w')['x'] = 1" "$work/other.h5"
expect_error "another HDF5 file" 1 "was not made by rl-insight-mr" "$work/other.h5" "$out" --to db

spoil() { # STATEMENT: of `root`, the file
    cp "$work/plain.h5" "$work/spoilt.h5"
    "$python" -c "
import h5py, numpy as np, sys
root = h5py.File(sys.argv[1], 'r+')
$1" "$work/spoilt.h5"
}
spoil "del root['cluster_communication_time/wait_time']"
expect_error "a column is missing" 1 "table cluster_communication_time, column wait_time: there is no dataset" "$work/spoilt.h5" "$out" --to text
spoil "root['captures/path/codes'][0] = 99"
expect_error "a code has no text" 1 "table captures, column path: row 0 has code 99 of 2 texts" "$work/spoilt.h5" "$out" --to db
spoil "del root['rank_device_map/role']; root['rank_device_map/role'] = np.zeros(2)"
expect_error "a column of another kind" 1 "table rank_device_map, column role: there is no group" "$work/spoilt.h5" "$out" --to db
spoil "root['memory_events/size_kb'].resize((4,))"
expect_error "columns of unequal length" 1 "table memory_events, column size_kb: it has 4 rows, the columns before have 5" \
    "$work/spoilt.h5" "$out" --to csv
rm -rf "$out"
spoil "root['memory_events'].attrs['column-order'] = ['name', '../captures/path']"
expect_error "a column that lies elsewhere" 1 "column ../captures/path: there is no dataset" "$work/spoilt.h5" "$out" --to csv
rm -rf "$out"
spoil "root['captures/role'].attrs['x'] = 1; root.create_group('../up'); root.create_group('.hidden').attrs['x'] = 1"
run 1 -q "$work/spoilt.h5" "$out" --to csv
check_text "tables with names that lead elsewhere: nothing lies there" "" "$(find "$work" -maxdepth 1 -name '*.csv')"
rm -rf "$out"

# Cut anywhere, or with a bit turned: one error, or none; never a crash, a hang, or a temporary. Where HDF5 itself reads what is
# not its own, AddressSanitizer ends the program in its own words.
turned=90
if [[ $(ldd "$binary") == *libasan* ]]; then
    echo "files with a bit turned are not tried with AddressSanitizer: it finds the errors of HDF5"
    turned=0
fi
"$python" - "$work" "$binary" "$turned" >"$work/damage" <<'PYTHON' || true
import os, random, shutil, subprocess, sys
work, binary, count = sys.argv[1:]
data = open(work + "/plain.h5", "rb").read()
random.seed(1)
cuts = [data[:end] for end in range(0, len(data), len(data) // 30 + 1)]
turned = []
for place in range(int(count)):
    at = random.randrange(len(data) if place % 2 else 8192)
    turned.append(data[:at] + bytes([data[at] ^ 1 << random.randrange(8)]) + data[at + 1:])
path, out = work + "/damaged.h5", work + "/damaged"
bad, refused = [], 0
for number, content in enumerate(cuts + turned):
    with open(path, "wb") as file:
        file.write(content)
    form = ("text", "db", "csv")[number % 3]
    try:
        ended = subprocess.run([binary, "-q", path, out, "--to", form], stderr=subprocess.PIPE, timeout=60)
        said = ended.stderr.decode().count("rl-insight-export: error: ")
        good = (ended.returncode, said) in ((0, 0), (1, 1))
        refused += ended.returncode == 1
        if number < len(cuts) and ended.returncode != 1:
            good = False
    except subprocess.TimeoutExpired:
        good = False
    left = [name for _, _, names in os.walk(out) for name in names if name.endswith(".tmp")]
    if not good or left:
        bad.append(number)
        shutil.copy(path, f"{work}/bad{number}.h5")
    shutil.rmtree(out, ignore_errors=True)
print(f"bad: {bad}")
print("some refused" if refused > len(cuts) + int(count) // 20 - 1 else "too few refused")
PYTHON
check_text "cut files, and files with a bit turned" $'bad: []\nsome refused' "$(<"$work/damage")"
finish
