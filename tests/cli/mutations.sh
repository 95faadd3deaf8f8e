#!/bin/bash
# Captures damaged in hundreds of ways: what is kept, what is lost, what is said. The table is mutation_table.py.
# usage: mutations.sh SOURCE_DIR BINARY
set -euo pipefail
. "$(dirname "$0")/../support/testlib.bash"

patience_s=300 # with a sanitizer, on a busy machine
real=()
if [[ -d $real_data ]]; then
    real=(--real "$real_data/resnet_2rank_level0/rank0_ascend_pt")
else
    echo "shared data not present, checked on a generated capture only"
fi
"$python" "$support/mutations.py" make "$work" --random 500 "${real[@]}"

# --- All in one job -----------------------------------------------------------------------------------------
for processes in 1 2 3; do
    run_expecting 3 "$processes" -q -m memory -o "$work/$processes.h5" "$work/job"
    sort "$work/stderr" >"$work/$processes.err"
    check "np $processes: same file" cmp "$work/1.h5" "$work/$processes.h5"
    check_file "np $processes: same messages" "$work/1.err" "$work/$processes.err"
done
check "each mutation leads to what the table says" "$python" "$support/mutations.py" check "$work" "$work/1.h5"
check "all of them, as the reference says" \
    "$python" "$reference/check_memory.py" "$work/1.h5" "$work/job" --match best --min-rows 20000
damaged=$(show "$work/1.h5" captures status | grep -cE 'partial|failed')
check_text "each damaged capture is said" "$damaged" "$(grep -cE 'warning: capture .* is (partial|failed): ' "$work/1.err")"

# --- Each alone ---------------------------------------------------------------------------------------------
options=()
if [[ $(ldd "$binary") == *libasan* ]]; then
    echo "skipped: the limit of memory, the sanitizer's is in it"
    options=(--limit-mb 0 --of-a-kind 1) # each run takes seconds
fi
check "each alone: exit code, the one error of --strict, memory" \
    "$python" "$support/mutations.py" alone "$work" "$binary" "${options[@]}"
finish
