#!/bin/bash
# Captures that several processes share give the same file as one process, whole and damaged.   usage: split.sh SOURCE_DIR BINARY
set -euo pipefail
. "$(dirname "$0")/../support/testlib.bash"

one=$work/one.h5
other=$work/other.h5
export RLMR_SPLIT_BYTES=4000 # else only files of many megabytes are split

# The file that the others must equal, from one process; leaves what it said, without what only -v says.
make_one() { # EXIT_CODE INPUT
    run_expecting "$1" 1 -q --force -o "$one" "$2"
    sed '/^output: /d' "$work/stdout" >"$work/one.out"
    sort "$work/stderr" >"$work/one.err"
}

check_same() { # SENTENCE EXIT_CODE PROCESSES INPUT
    run_expecting "$2" "$3" -v --progress never --force -o "$other" "$4"
    check "$1: same bytes" cmp "$one" "$other"
    check_file "$1: same summary" "$work/one.out" <(sed '/^output: /d' "$work/stdout")
    check_file "$1: same warnings" "$work/one.err" <(grep -v ' \(debug\|info\): ' "$work/stderr" | sort)
}

parts() { # how many captures were read in parts, and how many of these again by one process
    echo "$(grep -c ' debug: capture .*: in [0-9]* parts$' "$work/stderr" || true)" \
        "$(grep -c ' debug: capture .* parts, then by one process' "$work/stderr" || true)"
}

# --- Three captures of very different size -------------------------------------------------------------------
for role in large:2.5 middle:0.4 small:0.02; do
    "$python" "$support/gen_memory.py" "$work/job" --roles "${role%:*}" --ranks 1 --mb "${role#*:}" >/dev/null
done
check_text "three captures" 3 "$(find "$work/job" -name '*_ascend_pt' | wc -l)"
make_one 0 "$work/job"
check "rows were written" test "$(show "$one" memory_events capture | wc -l)" -gt 300
counts=(1 2 3 4 5 6 7 8)
[[ $(ldd "$binary") != *libasan* ]] || counts=(1 4 8) # each run takes seconds
declare -A shared=([1]=0 [2]=1 [3]=1 [4]=1 [5]=1 [6]=1 [7]=2 [8]=2)
for processes in "${counts[@]}"; do
    check_same "np $processes" 0 "$processes" "$work/job"
    check_text "np $processes: captures in parts" "${shared[$processes]} 0" "$(parts)"
done
RLMR_MESSAGE_BYTES=200 check_same "np 3, messages of 200 bytes" 0 3 "$work/job"
for policy in nearest enclosing; do
    run_expecting 0 1 -q --force --match $policy -o "$one" "$work/job"
    run_expecting 0 4 -q --force --match $policy -o "$other" "$work/job"
    check "np 4, --match $policy: same bytes" cmp "$one" "$other"
done
run_expecting 0 4 -v --force --strict -o "$other" "$work/job"
run_expecting 0 1 -q --force --strict -o "$one" "$work/job"
check "np 4, --strict: same bytes" cmp "$one" "$other"

mapfile -t sizes < <(find "$work/job" \( -name trace_view.json -o -name operator_memory.csv -o -name profiler_metadata.json \) -printf '%s\n')
megabytes=$(printf '%s\n' "${sizes[@]}" | awk '{ sum += $1 } END { printf "%.1f", sum / 1e6 }')
for processes in 1 4; do
    run_expecting 0 "$processes" --force --progress always -o "$other" "$work/job"
    check "np $processes: the last line of progress has all bytes" \
        grep -qE "progress: $megabytes of $megabytes MB \(100 %\), [0-9.]+ MB/s, 0 s left\$" "$work/stderr"
done

some=(2 3 5)
[[ $(ldd "$binary") != *libasan* ]] || some=(3) # each run takes seconds
# --- Something is wrong with one of them ---------------------------------------------------------------------
trace="large/*_ascend_pt/$data/trace_view.json"
records="large/*_ascend_pt/$data/operator_memory.csv"
put() { # FILE OFFSET BYTES
    printf '%b' "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}
damage() { # CASE: on a fresh copy of the job in $work/damaged
    rm -rf "$work/damaged"
    cp -r "$work/job" "$work/damaged"
    cd "$work/damaged"
    # shellcheck disable=SC2206 # one file each
    local json=($trace) csv=($records)
    local bytes rows
    bytes=$(stat -c %s "${json[0]}")
    rows=$(stat -c %s "${csv[0]}")
    case $1 in
    "cut trace") truncate -s $((bytes * 2 / 3)) "${json[0]}" ;;
    "garbage in the trace") put "${json[0]}" $((bytes / 2)) '\0}]{"\xff' ;;
    "a bracket too much at the end") printf ']' >>"${json[0]}" ;;
    "a number for an event") sed -i '0,/^\[/s//[17,/' "${json[0]}" ;;
    "a duration that is none") sed -i '0,/"dur": *[0-9.]*, *"cat": *"cpu_op"/s//"dur": "long", "cat": "cpu_op"/' "${json[0]}" ;;
    "a bad cell") sed -i '30s/^\([^,]*\),[^,]*/\1,large/' "${csv[0]}" ;;
    "an open quote") put "${csv[0]}" $((rows / 3)) '"' ;;
    "a cut table") truncate -s $((rows - 10)) "${csv[0]}" ;;
    esac
    cd "$work"
}
for case in "cut trace" "garbage in the trace" "a bracket too much at the end" "a number for an event" "a duration that is none" \
    "a bad cell" "an open quote" "a cut table"; do
    damage "$case"
    run 1 -q --force -o "$one" "$work/damaged"
    check_text "$case: exit code" 3 "$exit_code"
    make_one 3 "$work/damaged"
    for processes in "${some[@]}"; do
        check_same "$case, np $processes" 3 "$processes" "$work/damaged"
        check_text "$case, np $processes: read again by one process" 1 "$(parts | cut -d' ' -f2)"
    done
done
finish
