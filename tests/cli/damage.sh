#!/bin/bash
# Damaged, unreadable and missing input: what is left is read, what is lost is said, and nothing hangs.
# usage: damage.sh SOURCE_DIR BINARY
set -euo pipefail
. "$(dirname "$0")/../support/testlib.bash"

mkdir "$work/here"
cd "$work/here"
time_us=1736408883694624.810
event="{\"name\": \"aten::add\", \"cat\": \"cpu_op\", \"ph\": \"X\", \"ts\": \"$time_us\", \"dur\": 5, \"pid\": 1, \"tid\": 1,"
event+=" \"args\": {\"Call stack\": \"a.py(1): f\"}}"

# Run JOB on one and on three processes, whole captures and shared ones: same file, same messages; leaves JOB.h5 and $work/stderr.
run_both() { # EXIT_CODE JOB
    local split_bytes
    run_expecting "$1" 1 -q -o "$2.h5" "$2"
    sort "$work/stderr" >"$2.err"
    for split_bytes in 1000000000 200; do
        RLMR_SPLIT_BYTES=$split_bytes run_expecting "$1" 3 -q --force -o "$2.three.h5" "$2"
        check "$2: three processes write the same file, captures of $split_bytes bytes shared" cmp "$2.h5" "$2.three.h5"
        check_file "$2: three processes say the same" "$2.err" <(sort "$work/stderr")
    done
}

# With --strict the same job is a failure with one message about a capture, and no file.
run_strict() { # JOB PATTERN: what the message names
    local processes
    for processes in 1 3; do
        run_expecting 1 "$processes" -q --strict -o strict.h5 "$1"
        check_text "$1: --strict, np $processes: one error" 1 "$(errors_said)"
        check "$1: --strict, np $processes: it says where" grep -qE "error: --strict: capture $2" "$work/stderr"
        check_text "$1: --strict, np $processes: no file" "" "$(find . -name '*strict*')"
        rm -f strict.h5
    done
}

states=(status trace_view_state operator_memory_state memory_rows)
captures_of() { # JOB COLUMN...: one line a capture
    show "$1.h5" captures "${@:2}"
}

# --- A trace that is cut ------------------------------------------------------------------------------------
job_of_all_kinds whole
run_expecting 0 1 -q -o whole.h5 whole
cp -r whole cut
declare -A cut_at=(
    ["cut/训练 作业/actor/host0_1000_20250109143043123_ascend_pt"]=16000 # within an event
    ["cut/训练 作业/step 2/20250109_143044_ascend_pt"]=1                 # after the opening bracket
    ["cut/critic_节点_1/host 3_20250109143043128_ascend_pt"]=-1          # the very last byte
)
for capture in "${!cut_at[@]}"; do
    truncate -s "${cut_at[$capture]}" "$capture/$data/trace_view.json"
done
run_both 3 cut
check "cut: rows, stacks from the events before the cut, status, as the reference says" \
    "$python" "$reference/check_memory.py" cut.h5 cut --match best --min-rows 600
check_file "cut: the other captures are complete" \
    <(show whole.h5 captures --without message --where status=ok,empty | grep -vE 'host0_1000|20250109_143044|043128') \
    <(show cut.h5 captures --without message --where status=ok,empty)
for capture in "${!cut_at[@]}"; do
    path=${capture#cut/}
    size=$(stat -c %s "$capture/$data/trace_view.json")
    # status, trace_view_state, first_error_offset
    found=$(captures_of cut path status trace_view_state first_error_offset | grep -F "\"$path\"")
    check_text "cut after $size bytes: status and offset in /captures" "[\"$path\", \"partial\", \"damaged\", $size]" "$found"
    check "cut after $size bytes: offset on stderr" \
        grep -qF "warning: capture $path is partial: trace_view.json: parse error: premature EOF at byte $size" cut.err
done
run_strict cut '.*(host0_1000|20250109_143044|043128).* is partial: trace_view.json: .* at byte [0-9]+'

# The packed form of the same, and a trace of zero bytes.
make_capture packed/actor/a_ascend_pt 0 "$(record aten::add $time_us)" "$(record aten::add $time_us)"
make_capture packed/actor/b_ascend_pt 1 "$(record aten::add $time_us)"
make_capture packed/actor/c_ascend_pt 2 "$(record aten::add $time_us)"
{
    echo "[$event,"
    # enough that does not pack, so that the cut comes long after the first event
    "$python" -c 'import random; r = random.Random(1); print(",".join("{\"id\": %d}" % r.getrandbits(60) for _ in range(9000)))'
    echo "]"
} | gzip -n >trace.gz
head -c 60000 trace.gz >"packed/actor/a_ascend_pt/$data/trace_view.json.gz"
cp trace.gz "packed/actor/b_ascend_pt/$data/trace_view.json.gz"
: >"packed/actor/c_ascend_pt/$data/trace_view.json"
run_both 3 packed
check_text "packed and cut, packed and whole, of zero bytes: states and rows" '["partial", "damaged", "read", 2, 2]
["ok", "read", "read", 1, 1]
["partial", "damaged", "read", 1, 0]' "$(captures_of packed "${states[@]}" rows_matched)"
run_strict packed '(a|c)_ascend_pt is partial: trace_view.json'

# --- Bad cells ----------------------------------------------------------------------------------------------
make_capture cells/actor/a_ascend_pt 0 "$(record aten::add $time_us)" \
    "aten::mul,x,$time_us,,,1000,,1.5,2.5,3.5,,,,6,NPU:0" \
    'aten::div,8.5,1.69512E+15,,,,,1.5,,3.5,,,,6,NPU:0' \
    "aten::sub,8.5,$time_us,,,,,one,2.5,3.5,,,,6,NPU:0"
printf 'aten::cut,8.5,%s,,,,,1.5,2' "$time_us" >>"cells/actor/a_ascend_pt/$data/operator_memory.csv"
make_capture cells/actor/b_ascend_pt 1 "$(record aten::add $time_us)"
make_capture cells/actor/c_ascend_pt 2 "Name;Size"
printf 'Operator,Bytes\r\naten::add,1\r\n' >"cells/actor/c_ascend_pt/$data/operator_memory.csv"
run_both 3 cells
check_text "bad cells: each costs itself, not its row" '["aten::div", 8.5, 0.0, 1.5, NaN]
["aten::add", 8.5, 0.0, 1.5, 2.5]
["aten::mul", NaN, 1.0, 1.5, 2.5]
["aten::sub", 8.5, 0.0, NaN, 2.5]
["aten::cut", 8.5, 0.0, 1.5, NaN]
["aten::add", 8.5, 0.0, 1.5, 2.5]' "$(show cells.h5 memory_events name size_kb duration_ms total_allocated_mb total_reserved_mb)"
check "bad cells: as the reference says" "$python" "$reference/check_memory.py" cells.h5 cells --match best --min-rows 6
second_row=$((${#csv_header} + 2 + $(record aten::add $time_us | wc -c) + 2))
check_text "bad cells: status, count and offset; a table without its columns" "[\"partial\", 4, $second_row, 5]
[\"ok\", 0, -1, 1]
[\"failed\", 0, 0, 0]" "$(captures_of cells status bad_cells first_error_offset memory_rows)"
check "bad cells: the first is on stderr with its place" grep -qE \
    "warning: capture a_ascend_pt is partial: operator_memory.csv: row 2 at byte $second_row: Size \"x\": " cells.err
check "bad cells: their number is on stderr" grep -qE 'capture a_ascend_pt .*; 4 errors in operator_memory.csv' cells.err
for processes in 1 2; do
    run_expecting 3 "$processes" --force --verbose -o verbose.h5 cells
    check_text "bad cells: -v lists each, np $processes" "4 1" \
        "$(grep -c '^rl-insight-mr: debug: capture a_ascend_pt: operator_memory.csv: row' "$work/stderr") \
$(grep -c '^rl-insight-mr: debug: capture c_ascend_pt: operator_memory.csv: row 0' "$work/stderr")"
done
run_strict cells '(a_ascend_pt is partial|c_ascend_pt is failed): operator_memory.csv: row'

# --- No rank id ---------------------------------------------------------------------------------------------
make_capture ranks/actor/a_ascend_pt 0 "$(record aten::add $time_us)"
make_capture ranks/actor/b_ascend_pt 1 "$(record aten::add $time_us)"
rm ranks/actor/b_ascend_pt/profiler_info_1.json
make_capture ranks/actor/c_ascend_pt 2 "$(record aten::add $time_us)"
echo '{}' >ranks/actor/c_ascend_pt/profiler_info_3.json
make_capture ranks/actor/d_ascend_pt 4 "$(record aten::add $time_us)"
echo '{"rank_id": "four"}' >ranks/actor/d_ascend_pt/profiler_info.json
rm ranks/actor/d_ascend_pt/profiler_info_4.json
make_capture ranks/actor/e_ascend_pt 5 "$(record aten::add $time_us)"
echo '{"rank_id": 5' >ranks/actor/e_ascend_pt/profiler_info.json
rm ranks/actor/e_ascend_pt/profiler_info_5.json
run_both 3 ranks
check_text "no rank id: failed, and the others are complete" '["b_ascend_pt", -1, "failed", 0]
["c_ascend_pt", -1, "failed", 0]
["d_ascend_pt", -1, "failed", 0]
["e_ascend_pt", -1, "failed", 0]
["a_ascend_pt", 0, "ok", 1]' "$(captures_of ranks path rank_id status memory_rows)"
check_text "no rank id: each is said" 4 "$(grep -cE 'warning: capture [bcde]_ascend_pt is failed: .*no rank id' ranks.err)"
run_strict ranks '[bcde]_ascend_pt is failed: .*no rank id'

# --- Files that cannot be read ------------------------------------------------------------------------------
# Nothing is lost in silence: a name that is there and leads to no readable file is damage, not absence. The test may run
# as root, for whom permissions do not matter: a directory, a link to nowhere, and a FIFO that nobody writes.
for name in a b c d e f; do
    rank=$(($(printf '%d' "'$name") - 97))
    make_capture "files/actor/${name}_ascend_pt" "$rank" "$(record aten::add $time_us)"
    printf '[%s]' "$event" >"files/actor/${name}_ascend_pt/$data/trace_view.json"
done
rm "files/actor/"{a,b,c}"_ascend_pt/$data/operator_memory.csv" "files/actor/"{d,e,f}"_ascend_pt/$data/trace_view.json"
mkdir "files/actor/a_ascend_pt/$data/operator_memory.csv" "files/actor/d_ascend_pt/$data/trace_view.json"
ln -s nowhere "files/actor/b_ascend_pt/$data/operator_memory.csv"
ln -s nowhere "files/actor/e_ascend_pt/$data/trace_view.json"
mkfifo "files/actor/c_ascend_pt/$data/operator_memory.csv" "files/actor/f_ascend_pt/$data/trace_view.json"
make_capture files/actor/g_ascend_pt 6 "$(record aten::add $time_us)"
run_both 3 files
check_text "unreadable files: no memory file to read is failed, no trace to read is partial, with its rows" \
    '["a_ascend_pt", "failed", "damaged", 0]
["b_ascend_pt", "failed", "damaged", 0]
["c_ascend_pt", "failed", "damaged", 0]
["d_ascend_pt", "partial", "read", 1]
["e_ascend_pt", "partial", "read", 1]
["f_ascend_pt", "partial", "read", 1]
["g_ascend_pt", "ok", "read", 1]' "$(captures_of files path status operator_memory_state memory_rows)"
check_text "unreadable files: the traces are damaged" '["damaged"]
["damaged"]
["damaged"]' "$(captures_of files trace_view_state --where rank_id=3,4,5)"
check_text "unreadable files: each is said" 6 \
    "$(grep -cE 'warning: capture [a-f]_ascend_pt is (failed|partial): .*(operator_memory.csv|trace_view.json)' files.err)"
run_strict files '[a-f]_ascend_pt is (failed|partial): .*(operator_memory.csv|trace_view.json)'

# A link to a file that is there is read like the file.
make_capture links/actor/a_ascend_pt 0
make_capture "elsewhere" 0 "$(record aten::add $time_us)"
ln -s "$PWD/elsewhere/$data/operator_memory.csv" "links/actor/a_ascend_pt/$data/operator_memory.csv"
run_expecting 0 1 -q -o links.h5 links
check_text "a link to a file is read" '["ok", "absent", "read", 1]' "$(captures_of links "${states[@]}")"

# --- Empty --------------------------------------------------------------------------------------------------
make_capture empty/actor/a_ascend_pt 0
mkdir -p empty/actor/b_ascend_pt/FRAMEWORK empty/actor/b_ascend_pt/PROF_1
echo '{}' >empty/actor/b_ascend_pt/profiler_info_1.json
run_both 0 empty
check_text "only empty captures: written, exit 0" '["empty", "absent", "absent", 0]
["empty", "absent", "absent", 0]' "$(captures_of empty "${states[@]}")"
check_text "only empty captures: no rows" "" "$(show empty.h5 memory_events name)"
check "only empty captures: raw data is said with the cure" grep -qF 'run torch_npu.profiler.profiler.analyse(path)' empty.err
run_expecting 0 1 -q --strict -o strict.h5 empty
check "only empty captures are no failure with --strict" cmp strict.h5 empty.h5
mkdir -p none/actor/a_ascend
run_expecting 1 3 -q -o none.h5 none
check_text "no capture: exit 1 with one error, no file" "1 " "$(errors_said) $(find . -name '*none.h5*')"
finish
