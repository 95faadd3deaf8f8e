# shellcheck shell=bash
# What the scripts of this directory share: jobs of all that has its own path through the program, as small as they can be,
# since each call in them costs a run. Sourced by a script called as SCRIPT SOURCE_DIR FAULT_RUN.
# shellcheck source=tests/support/testlib.bash
. "$(dirname "$0")/../support/testlib.bash"

mkdir "$work/here"
# the output of each run, in memory if possible: it is synced, which takes a disk its time
out=$(mktemp -d -p "$(test -w /dev/shm && echo /dev/shm || echo "$work")")
trap 'rm -rf "$out"; clean_up' EXIT
cd "$work/here" || exit 1
export RLMR_MESSAGE_BYTES=200 # so that a few rows take several blocks

time_us=1736408883694624.810
event="{\"name\": \"aten::add\", \"cat\": \"cpu_op\", \"ph\": \"X\", \"ts\": \"$time_us\", \"dur\": 5, \"pid\": 1, \"tid\": 1,"
event+=" \"args\": {\"Call stack\": \"a.py(1): f;\\r\\nb.py(2): g\", \"Sequence number\": 7}}"
backward="{\"name\": \"AddBackward0\", \"cat\": \"cpu_op\", \"ph\": \"X\", \"ts\": \"1736408883694724.810\", \"dur\": 50, \"pid\": 1,"
backward+=" \"tid\": 2, \"args\": {\"Sequence number\": 7, \"Fwd thread id\": 1}}"

put_database() { # FILE: a record, and the event that has its stack
    "$python" - "$1" <<'PYTHON'
import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as connection:
    connection.executescript("""
        CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, value TEXT);
        INSERT INTO STRING_IDS VALUES (1, 'aten::add'), (2, 'a.py(1): f'), (3, 'b.py(2): g');
        CREATE TABLE ENUM_API_TYPE (id INTEGER PRIMARY KEY, name TEXT);
        INSERT INTO ENUM_API_TYPE VALUES (50001, 'op');
        CREATE TABLE PYTORCH_API (startNs TEXT, endNs TEXT, globalTid INTEGER, name INTEGER, sequenceNumber INTEGER,
            fwdThreadId INTEGER, callchainId INTEGER, type INTEGER);
        INSERT INTO PYTORCH_API VALUES ('1736408883694624810', '1736408883694629810', 1, 1, 7, 0, 1, 50001);
        CREATE TABLE PYTORCH_CALLCHAINS (id INTEGER, stack INTEGER, stackDepth INTEGER);
        INSERT INTO PYTORCH_CALLCHAINS VALUES (1, 2, 0), (1, 3, 1);
        CREATE TABLE OP_MEMORY (name INTEGER, size INTEGER, allocationTime INTEGER, allocationTotalAllocated INTEGER,
            allocationTotalReserved INTEGER, allocationTotalActive INTEGER, streamPtr INTEGER, deviceId INTEGER);
        INSERT INTO OP_MEMORY VALUES (1, 8704, 1736408883694624810, 1, 2, 3, 6, 0);
    """)
PYTHON
}

make_job() { # DIRECTORY: captures that are ok, partial, failed and empty
    local actor=$1/actor critic=$1/critic
    make_capture "$actor/a_20250109143043123_ascend_pt" 0 "$(record aten::add $time_us)" "$(record aten::mul 1736408883694744.810)"
    printf '[%s, %s, {"ph": "M"}]' "$event" "$backward" >"$actor/a_20250109143043123_ascend_pt/$data/trace_view.json"
    make_capture "$actor/b_ascend_pt" 0 "$(record aten::add $time_us)" # another window, packed
    printf '{"traceEvents": [%s]}' "$event" | gzip -n >"$actor/b_ascend_pt/$data/trace_view.json.gz"
    # bad cells, and a trace that is cut
    make_capture "$actor/c_ascend_pt" 2 "$(record aten::add $time_us)" "$(record aten::add x)" "$(record $'\xff' $time_us)"
    printf '[%s, {"name": "cu' "$event" >"$actor/c_ascend_pt/$data/trace_view.json"
    make_capture "$actor/d_ascend_pt" 3
    put_database "$actor/d_ascend_pt/$data/ascend_pytorch_profiler_3.db"
    mkdir -p "$critic/e_ascend_pt/FRAMEWORK" "$critic/f_ascend_pt" # raw, rank and role from files; nothing, so no rank
    echo '{"rank_id": "4"}' >"$critic/e_ascend_pt/profiler_info.json"
    echo '{"role": "critic"}' >"$critic/e_ascend_pt/profiler_metadata.json"
}

operator() { # NAME@GROUP
    printf '"%s": {"Communication Time Info": {"Start Timestamp(us)": %s, "Elapse Time(ms)": 1.5, "Transit Time(ms)": 1}, ' \
        "$1" $time_us
    printf '"Communication Bandwidth Info": {"HCCS": {"Transit Size(MB)": 1, "Transit Time(ms)": 1, "Size Distribution": {"1.0": [1, 1]}}}}'
}

put_metadata() { # FILE RANK: two stages of one rank each
    printf '{"parallel_group_info": {"a": {"group_name": "pp", "global_ranks": [0, 1]}, "tp%d": {"group_name": "tp", ' "$2" >"$1"
    printf '"global_ranks": [%d]}}, "distributed_args": {"tensor_model_parallel_size": 1, "pipeline_model_parallel_size": 2, ' "$2" >>"$1"
    printf '"data_parallel_size": 1, "context_parallel_size": 1, "expert_model_parallel_size": 1, "world_size": 2}}' >>"$1"
}

put_analysis_database() { # FILE
    "$python" - "$1" <<'PYTHON'
import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as connection:
    connection.executescript("""
        CREATE TABLE StepTraceTime (step TEXT, computing NUMERIC, preparing NUMERIC);
        INSERT INTO StepTraceTime VALUES ('5', 1.5, 2);
        CREATE TABLE CommAnalyzerTime (hccl_op_name TEXT, group_name TEXT, elapse_time NUMERIC, step TEXT, type TEXT);
        INSERT INTO CommAnalyzerTime VALUES ('hcom_receive_', '416611827809', 1.5, 'step5', 'p2p');
        CREATE TABLE CommAnalyzerBandwidth (hccl_op_name TEXT, group_name TEXT, transport_type TEXT, package_size NUMERIC,
            count NUMERIC, step TEXT, type TEXT);
        INSERT INTO CommAnalyzerBandwidth VALUES ('hcom_receive_', '416611827809', 'HCCS', 0, 0, 'step5', 'p2p');
        CREATE TABLE CommAnalyzerMatrix (hccl_op_name TEXT, group_name TEXT, src_rank TEXT, dst_rank TEXT,
            transport_type TEXT, transit_size NUMERIC, step TEXT, type TEXT);
        INSERT INTO CommAnalyzerMatrix VALUES ('receive-total', '416611827809', '0', '1', 'HCCS', 1, 'step5', 'p2p');
    """)
PYTHON
}

put_job_database() { # FILE: who runs where
    "$python" - "$1" <<'PYTHON'
import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as connection:
    connection.executescript("""
        CREATE TABLE META_DATA (name TEXT, value TEXT);
        INSERT INTO META_DATA VALUES ('parallel_group_info', '{"a": {"group_name": "pp", "global_ranks": [0, 1]}}'),
            ('distributed_args', '{"world_size": 2, "x": [true, "\u00e9"]}');
        CREATE TABLE RANK_DEVICE_MAP (rankId INTEGER, deviceId INTEGER);
        INSERT INTO RANK_DEVICE_MAP VALUES (1, 1);
        CREATE TABLE HOST_INFO (hostUid TEXT, hostName TEXT);
        INSERT INTO HOST_INFO VALUES ('7', 'host');
    """)
PYTHON
}

make_cluster() { # DIRECTORY: two ranks, one as text, one as databases; 416611827809 is the hash of the group a
    local one=$1/job/a_ascend_pt two=$1/job/b_ascend_pt
    make_capture "$one" 0
    put_metadata "$one/profiler_metadata.json" 0
    printf 'Step,Computing,Free\n5,1.5,x\n' >"$one/$data/step_trace_time.csv"
    printf '{"step": {"p2p": {%s, %s}, "collective": {%s}, "other": {}}}' "$(operator hcom_send_@416611827809)" "$(operator hcom_send_@416611827809)" \
        "$(operator hcom_reduceScatter_@98)" >"$one/$data/communication.json"
    printf '{"step5": {"collective": {"reduce-top1@98": {"0-0": {"Transport Type": "LOCAL", "Op Name": "hcom_reduceScatter_"}}, ' \
        >"$one/$data/communication_matrix.json"
    printf '"reduce-total@98": {"0-0": {"Transit Size(MB)": 1}, "0": {}}}, "p2p": {"send-total@416611827809": {"0-1": {"Tran' \
        >>"$one/$data/communication_matrix.json"
    make_capture "$two" 1
    put_analysis_database "$two/$data/analysis.db"
    put_job_database "$two/$data/ascend_pytorch_profiler_1.db"
}

make_small_job() { # DIRECTORY: for what is not about captures
    make_capture "$1/actor/a_ascend_pt" 0 "$(record aten::add $time_us)"
    make_capture "$1/critic/b_ascend_pt" 1
}

faulty() { # SENTENCE KIND ARGUMENT...
    check "$1" "$binary" "$2" "$out" "${@:3}"
}
