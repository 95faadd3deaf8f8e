#!/bin/bash
# A trace larger than the memory that is used for it: what is held grows with rows and stacks, not with the file.
# usage: large_slow.sh SOURCE_DIR BINARY
set -euo pipefail
. "$(dirname "$0")/../support/testlib.bash"

megabytes=300
limit_megabytes=200
patience_s=600
"$python" "$support/gen_memory.py" "$work/job" --roles actor_update --ranks 1 --mb "$megabytes"
trace=$(find "$work/job" -name trace_view.json)
check "the trace is large" test "$(stat -c %s "$trace")" -ge $((megabytes * 1000000))

code=0
timeout "$patience_s" "$python" "$support/measure.py" "$work/peak" "$binary" -q -o "$work/new.h5" "$work/job" >/dev/null || code=$?
check_text "it ends well" 0 "$code"
peak=$(<"$work/peak")
if [[ $(ldd "$binary") == *libasan* ]]; then
    echo "skipped: its peak of $peak MB, the sanitizer's memory is in it"
else
    check "its peak of $peak MB is below $limit_megabytes MB" test "$peak" -lt "$limit_megabytes"
fi
check "its rows are those of the reference" "$python" "$reference/check_memory.py" "$work/new.h5" "$work/job" --match best \
    --min-rows 40000
finish
