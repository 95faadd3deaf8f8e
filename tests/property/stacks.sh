#!/bin/bash
# More distinct call stacks than one capture may have: reading of the trace ends there, and memory does not grow further.
# usage: stacks.sh SOURCE_DIR BINARY
set -euo pipefail
. "$(dirname "$0")/../support/testlib.bash"

limit_stacks=$((1 << 20))
limit_megabytes=300 # a million stacks, each with its text, its entry and its places in hash tables
time_us=1736408883694624.810
make_capture "$work/job/actor/a_ascend_pt" 0 "$(record aten::first $time_us)" "$(record aten::last $time_us)"

# Every event has a sequence number, so that its stack may be needed, and a stack of its own.
events() { # FIRST NAME COUNT
    awk -v first="$1" -v name="$2" -v count="$3" -v ts=$time_us 'BEGIN {
        for (i = first; i < first + count; i++)
            printf "%s{\"name\": \"%s\", \"cat\": \"cpu_op\", \"ph\": \"X\", \"ts\": \"%s\", \"dur\": 5, " \
                   "\"args\": {\"Sequence number\": %d, \"Call stack\": \"a.py(%d): f\"}}", i ? "," : "[", name, ts, i, i }'
}
{
    events 0 aten::first 1
    events 1 aten::other $((limit_stacks - 1))
    events $limit_stacks aten::last 5000
    echo ']'
} >"$work/job/actor/a_ascend_pt/$data/trace_view.json"

code=0
timeout "$patience_s" "$python" "$support/measure.py" "$work/peak" "$binary" -q -o "$work/new.h5" "$work/job" \
    >/dev/null 2>"$work/stderr" || code=$?
check_text "it ends, partial" 3 "$code"
check "the limit is named" grep -qE 'capture a_ascend_pt is partial: trace_view.json: .*limit STACKS' "$work/stderr"
check_text "what comes before the limit counts, what comes behind it does not" '["aten::first", "enclosing", "a.py(0): f"]
["aten::last", "none", ""]' "$(show "$work/new.h5" memory_events name call_stack_match call_stack)"
check_text "the capture is partial, with both rows" '["partial", "damaged", 2, 1]' \
    "$(show "$work/new.h5" captures status trace_view_state memory_rows rows_matched)"
peak=$(<"$work/peak")
if [[ $(ldd "$binary") == *libasan* ]]; then
    echo "skipped: its peak of $peak MB, the sanitizer's memory is in it"
else
    check "its peak of $peak MB is below $limit_megabytes MB" test "$peak" -lt "$limit_megabytes"
fi
finish
