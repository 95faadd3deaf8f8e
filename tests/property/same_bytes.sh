#!/bin/bash
# The file has the same bytes for every number of processes, size of messages, order of directories and inputs, and
# whatever fresh memory holds.   usage: same_bytes.sh SOURCE_DIR BINARY
set -euo pipefail
. "$(dirname "$0")/../support/testlib.bash"

one=$work/one.h5
other=$work/other.h5
counts=(1 2 3 4 7)
messages=(100 1000 "")
fills=(85 170)
whole=true # with other jobs, damaged ones, and real captures
if [[ $(ldd "$binary") == *libasan* ]]; then # each run takes seconds
    counts=(1 3 7)
    messages=(1000 "")
    fills=() # its malloc() fills as it likes
fi
[[ $binary != *few_rows* ]] || whole=false

# The file that the others must equal, from one process; leaves what it said, sorted.
make_one() { # EXIT_CODE INPUT...
    run_expecting "$1" 1 -q --force -o "$one" "${@:2}"
    sed '/^output: /d' "$work/stdout" >"$work/one.out"
    sort "$work/stderr" >"$work/one.err"
    code=$1
}

check_same() { # SENTENCE PROCESSES INPUT...
    run_expecting "$code" "$2" -q --force -o "$other" "${@:3}"
    check "$1: same bytes" cmp "$one" "$other"
    if ! cmp -s "$work/one.out" <(sed '/^output: /d' "$work/stdout"); then
        check_file "$1: same summary" "$work/one.out" <(sed '/^output: /d' "$work/stdout")
    fi
    if ! cmp -s "$work/one.err" <(sort "$work/stderr"); then
        check_file "$1: same messages" "$work/one.err" <(sort "$work/stderr")
    fi
}

# --- Generated jobs -----------------------------------------------------------------------------------------
# Two with the same roles, ranks and time stamps, so that only their paths tell their captures apart.
job_of_all_kinds "$work/job/1" 1
job_of_all_kinds "$work/job/2" 2
make_one 0 "$work/job"
check "rows were written" test "$(show "$one" memory_events capture | wc -l)" -gt 1200
for processes in "${counts[@]}"; do
    for message_bytes in "${messages[@]}"; do
        if [[ -n $message_bytes ]]; then export RLMR_MESSAGE_BYTES=$message_bytes; fi
        [[ $processes$message_bytes = 1 ]] ||
            check_same "np $processes, messages of ${message_bytes:-the usual} bytes" "$processes" "$work/job"
        unset RLMR_MESSAGE_BYTES
    done
done

for seed in 1 2 3; do
    "$python" "$support/shuffle_copy.py" "$work/job" "$work/shuffled$seed" --seed "$seed"
    check_same "a copy with its directories in another order, $seed" $((seed % 2 * 2 + 1)) "$work/shuffled$seed"
done
parts=("$work/job/1/critic_节点_1" "$work/job/2" "$work/job/1/训练 作业")
check_same "the parts of the job as inputs" 1 "${parts[@]}"
check_same "the parts of the job in another order" 3 "${parts[1]}" "${parts[2]}" "${parts[0]}"

# What malloc hands out holds these bytes instead of zeros.
for fill in "${fills[@]}"; do
    export MALLOC_PERTURB_=$fill
    check_same "np 1, fresh memory holds $fill" 1 "$work/job"
    check_same "np 3, fresh memory holds $fill" 3 "$work/job"
    unset MALLOC_PERTURB_
done

if ! $whole; then
    echo "skipped: the other jobs, with few rows in a block"
    finish
    exit
fi

# Damage must not make a difference either: what is read before it, offsets and messages.
job_of_all_kinds "$work/damaged" 2
mapfile -t traces < <(find "$work/damaged" -name 'trace_view.json' -size +4k | sort)
mapfile -t tables < <(find "$work/damaged" -name operator_memory.csv -size +4k | sort)
truncate -s 9000 "${traces[0]}"
truncate -s 5000 "${tables[1]}"
sed -i '4s/^[^,]*,/bad \xff name,x/' "${tables[2]}"
rm "$(dirname "${tables[3]}")"/../profiler_info*.json
make_one 3 "$work/damaged"
message_bytes=(100 1000 100 1000)
for processes in 2 3 4 7; do
    RLMR_MESSAGE_BYTES=${message_bytes[processes % 4]} check_same "a damaged job, np $processes" "$processes" "$work/damaged"
done
MALLOC_PERTURB_=90 check_same "a damaged job, fresh memory holds 90" 4 "$work/damaged"

# Step trace and communication, of several roles and windows, as text and as databases.
"$python" "$support/gen_cluster.py" "$work/cluster" --form mixed --roles actor,ref --role-in parent --windows 2 --steps 1 \
    --dp 2 --transports >/dev/null
make_one 0 "$work/cluster"
check "stages and links were written" test "$(show "$one" cluster_step_trace_time type | grep -c stage)" -gt 4
for processes in 2 3 4 7; do
    RLMR_MESSAGE_BYTES=${message_bytes[processes % 4]} check_same "a cluster, np $processes" "$processes" "$work/cluster"
done
"$python" "$support/shuffle_copy.py" "$work/cluster" "$work/shuffled_cluster" --seed 5
MALLOC_PERTURB_=90 check_same "a cluster, its directories in another order, fresh memory holds 90" 3 "$work/shuffled_cluster"

# --- Real captures ------------------------------------------------------------------------------------------
if [[ -d $real_data ]]; then
    mapfile -t roots < <(find "$real_data" -mindepth 1 -maxdepth 1 -type d | sort)
    make_one 0 "${roots[@]}"
    check_same "real captures, np 3" 3 "${roots[@]}"
    RLMR_MESSAGE_BYTES=1000 check_same "real captures, np 4, messages of 1000 bytes" 4 "${roots[@]}"
    RLMR_MESSAGE_BYTES=100 check_same "real captures, np 7, messages of 100 bytes" 7 "${roots[@]}"
    MALLOC_PERTURB_=85 check_same "real captures, fresh memory holds 85" 2 "$real_data"
    mapfile -t roots < <(printf '%s\n' "${roots[@]}" | sort -r)
    check_same "real captures, inputs in another order" 2 "${roots[@]}"
    "$python" "$support/shuffle_copy.py" "$real_data" "$work/real" --seed 4
    check_same "a copy of the real captures with its directories in another order" 3 "$work/real"
else
    echo "shared data not present, checked on generated jobs only"
fi
finish
