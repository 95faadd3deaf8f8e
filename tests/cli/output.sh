#!/bin/bash
# No half-written output: it appears at once and whole, or not at all, whatever happens to the run.
# usage: output.sh SOURCE_DIR BINARY
set -euo pipefail
. "$(dirname "$0")/../support/testlib.bash"

profiles=$work/profiles
out=$work/out
list=$work/list
job_of_all_kinds "$profiles"
mkdir "$out"
run_expecting 0 1 -q -o "$work/whole.h5" "$profiles"
whole_bytes=$(stat -c %s "$work/whole.h5")

check_empty() { # SENTENCE: nothing is left in $out
    check_text "$1: no output and no temporary" "" "$(listing "$out")"
}

check_old() { # SENTENCE INODE: $out holds the old output and nothing else
    check_text "$1: the old output is as it was, alone" "old.h5 $2 old" \
        "$(listing "$out") $(stat -c %i "$out/old.h5") $(<"$out/old.h5")"
}

make_old() { # sets `inode`
    echo old >"$out/old.h5"
    inode=$(stat -c %i "$out/old.h5")
}

# The number of a process that ended may by now be a stranger's: no signal goes to what is not known as ours.
stranger=$(env -u TEST_MARK bash -c 'sleep 5 >/dev/null 2>&1 & echo $!')
end_process KILL "$stranger"
sleep 0.2
check "a process that this script did not start gets no signal" grep -q "^State:.S" "/proc/$stranger/status"

has_temporary() { [[ -n $(find "$out" -name '.*.tmp') ]]; }

# A run that has begun its file and then waits for its list of inputs, until `feed`. It stays where a signal or a full
# disk meets it. Sets `job` and `pids`.
park() { # PROCESSES OPTION...
    rm -f "$list"
    mkfifo "$list"
    exec 7<>"$list"
    start "$@" -q --input-list "$list"
    if ! await "$patience_s" has_temporary; then
        failed "np $1 does not begin its file"
        give_up
    fi
    mapfile -t pids < <(processes_of_job)
    ((${#pids[@]} == $1)) || {
        failed "np $1 has ${#pids[@]} processes, with the temporary $(listing "$out")"
        give_up
    }
}

# The rest would make no sense.
give_up() {
    cat "$work/stdout" "$work/stderr"
    ps -o pid,ppid,stat,wchan:20,args -p "$job" --ppid "$job" || true
    exit 1
}

feed() { # INPUT...
    printf '%s\n' "$@" >&7
    exec 7>&-
}

# --- At once and whole --------------------------------------------------------------------------------------
for processes in 1 3; do
    umask 027
    park "$processes" -o "$out/new.h5"
    umask 022
    check_text "np $processes, at work: nothing under the target's name, one hidden temporary beside it" \
        ".new.h5.*.tmp" "$(listing "$out" | sed -E 's/\.[0-9a-f]{16}\.tmp/.*.tmp/')"
    feed "$profiles"
    await_job "${pids[@]}"
    check_text "np $processes: it ends well, with the output alone" "0 new.h5" "$exit_code $(listing "$out")"
    check "np $processes: the output is whole" cmp "$work/whole.h5" "$out/new.h5"
    check_text "np $processes: permissions follow the umask" 640 "$(stat -c %a "$out/new.h5")"
    rm "$out/new.h5"
done

make_old
park 2 --force -o "$out/old.h5"
check_text "--force, at work: the old output is still there" "$inode old" "$(stat -c %i "$out/old.h5") $(<"$out/old.h5")"
feed "$profiles"
await_job "${pids[@]}"
check_text "--force: it ends well, with the output alone" "0 old.h5" "$exit_code $(listing "$out")"
check "--force: the output is replaced" cmp "$work/whole.h5" "$out/old.h5"

# --- An existing output -------------------------------------------------------------------------------------
make_old
cut=$work/cut
make_capture "$cut/actor/a_ascend_pt" 0 "$(record aten::add 1736408883694624.810)"
echo '[{"name": ' >"$cut/actor/a_ascend_pt/$data/trace_view.json"
for processes in 1 3; do
    run_expecting 1 "$processes" -q -o "$out/old.h5" "$profiles"
    check_text "np $processes: refused without --force, in one message" \
        "rl-insight-mr: error: $out/old.h5 exists; use --force to replace it" "$(<"$work/stderr")"
    check_old "np $processes, refused" "$inode"
    run_expecting 1 "$processes" -q --force --strict -o "$out/old.h5" "$cut"
    check_old "np $processes, damage with --force --strict" "$inode"
done
run_expecting 1 1 -q --force -o "$out/old.h5" "$work/nowhere"
check_old "a missing input with --force" "$inode"
run_expecting 1 1 -q --force --rank-list 99 -o "$out/old.h5" "$profiles"
check_old "nothing left with --force" "$inode"
run_expecting 2 1 -q --force --match closest -o "$out/old.h5" "$profiles"
check_old "a wrong command line with --force" "$inode"
run_expecting 0 1 -q --force --check -o "$out/old.h5" "$cut"
check_old "--check with --force" "$inode"
rm "$out/old.h5"

# One that appears while the run is at work is not replaced either.
park 1 -o "$out/old.h5"
make_old
feed "$profiles"
await_job
check_text "an output that appears meanwhile: exit code, errors" "1 1" "$exit_code $(errors_said)"
check_old "an output that appears meanwhile" "$inode"
rm "$out/old.h5"

# --- A full disk --------------------------------------------------------------------------------------------
check_full() { # SENTENCE
    check_text "$1: exit code, errors" "1 1" "$exit_code $(errors_said)"
    check "$1: it says what cannot be written" grep -qE "error: cannot write $out/new.h5 \(.*\): " "$work/stderr"
    check_empty "$1"
}

# Limits on the size of files, set when MPI runs: its own files would not fit into most of them.
if command -v prlimit >/dev/null; then
    half=$((whole_bytes / 2))
    last=$((whole_bytes - 1))
    for limit in 1:600 1:1000 1:$half 1:$last 3:1000 3:$last; do
        park "${limit%:*}" -o "$out/new.h5"
        prlimit --pid "${pids[0]}" --fsize="${limit#*:}"
        feed "$profiles"
        await_job "${pids[@]}"
        check_full "np ${limit%:*}, files of at most ${limit#*:} of $whole_bytes bytes"
    done
    make_old
    park 1 --force -o "$out/old.h5"
    prlimit --pid "${pids[0]}" --fsize="$half"
    feed "$profiles"
    await_job
    check_text "--force, files of at most $half bytes: exit code, errors" "1 1" "$exit_code $(errors_said)"
    check_old "--force, files of at most $half bytes" "$inode"
    rm "$out/old.h5"
    park 1 -o "$out/new.h5"
    prlimit --pid "${pids[0]}" --fsize="$whole_bytes"
    feed "$profiles"
    await_job
    check_text "files of at most $whole_bytes bytes are enough" 0 "$exit_code"
    rm -f "$out/new.h5"
else
    echo "skipped: limits on the size of files, there is no prlimit"
fi

if mount -t tmpfs -o size=4k none "$out" 2>/dev/null; then
    disks_mounted+=("$out")
    for disk in 1:4k 1:64k 3:64k 1:448k 3:448k; do
        mount -o "remount,size=${disk#*:}" "$out"
        run_expecting 1 "${disk%:*}" -q -o "$out/new.h5" "$profiles"
        check_full "np ${disk%:*}, a disk of ${disk#*:}"
    done
    mount -o remount,size=1m "$out"
    run_expecting 0 1 -q -o "$out/new.h5" "$profiles"
    check "a disk of 1m is enough" cmp "$work/whole.h5" "$out/new.h5"
    rm "$out/new.h5"
    mount -o remount,ro "$out"
    run_expecting 1 3 -q -o "$out/new.h5" "$profiles"
    check_full "np 3, a disk that is read-only"
    umount "$out"
else
    echo "skipped: a full disk and a read-only one, a tmpfs cannot be mounted here"
fi

# --- Places that are none -----------------------------------------------------------------------------------
mkdir "$out/directory"
echo text >"$out/file"
before=$(listing "$out")
for place in none/new.h5 directory directory/ file/new.h5 none/; do
    for processes in 1 3; do
        run_expecting 1 "$processes" -q --force -o "$out/$place" "$profiles"
        check_text "np $processes, --output $place: one error that names it, and nothing made" "1 1 $before " \
            "$(errors_said) $(grep -cF "$out/${place%/*}" "$work/stderr") $(listing "$out") $(listing "$out/directory")"
    done
done
rm -r "$out/directory" "$out/file"

# --- Signals ------------------------------------------------------------------------------------------------
# Enough to be busy for a while, in little space: the same trace many times over, with few records.
"$python" "$support/gen_memory.py" "$work/long" --roles actor --ranks 1 --mb 20 >/dev/null
capture=$(find "$work/long" -name '*_ascend_pt')
sed -i 51q "$capture/$data/operator_memory.csv"
for n in {1..400}; do cp -al "$capture" "${capture%/*}/again_${n}_ascend_pt"; done

has_read_much() { # of what the last process has read
    local bytes
    bytes=$(sed -n 's/^rchar: //p' "/proc/${pids[-1]}/io" 2>/dev/null)
    ((${bytes:-0} > 60000000)) || ! is_running "$job"
}

check_stopped() { # SENTENCE
    check "$1: it fails (exit code $exit_code)" test "$exit_code" -ne 0
    check_text "$1: one error" 1 "$(errors_said)"
    check_empty "$1"
}

# A second between SIGTERM and SIGKILL, which mpirun gives its processes, is not much on a busy machine.
export OMPI_MCA_odls_base_sigkill_timeout=3
for signal in TERM INT; do
    for processes in 1 2; do
        park "$processes" -o "$out/new.h5"
        end_process "$signal" "$job"
        await_job "${pids[@]}"
        exec 7>&-
        check_stopped "SIG$signal, np $processes, while it waits"
        ((processes > 1)) || check_text "SIG$signal, np 1, while it waits: exit code" 1 "$exit_code"

        park "$processes" -o "$out/new.h5"
        feed "$work/long"
        await "$patience_s" has_read_much || failed "np $processes does not read"
        end_process "$signal" "$job"
        await_job "${pids[@]}"
        check_stopped "SIG$signal, np $processes, while it reads"
        ((processes > 1)) || check_text "SIG$signal, np 1, while it reads: exit code" 1 "$exit_code"
    done
done

make_old
park 2 --force -o "$out/old.h5"
end_process TERM "${pids[1]}"
await_job "${pids[@]}"
exec 7>&-
check "SIGTERM to one of two processes ends the job" test "$exit_code" -ne 0
check_old "SIGTERM to one of two processes, --force" "$inode"
rm "$out/old.h5"
unset OMPI_MCA_odls_base_sigkill_timeout

# A signal at any other moment: the output is there and whole, and the run says so; or neither.
for delay in 0.02 0.05 0.1 0.2 0.3; do
    start 1 -q -o "$out/new.h5" "$profiles"
    sleep "$delay"
    end_process TERM "$job"
    await_job
    if ((exit_code == 0)); then
        check "SIGTERM after $delay s, too late: the output is whole" cmp "$work/whole.h5" "$out/new.h5"
        rm -f "$out/new.h5"
    else
        check_empty "SIGTERM after $delay s"
    fi
done

# The same when it matters most, while the file gets its name, and when all is said and MPI ends (as mpirun does to process
# 0 when another one has left before it): a debugger delays a system call, to be in time.
if command -v strace >/dev/null && strace -qq -o /dev/null -e trace=none true 2>/dev/null; then
    # The call that makes the temporary, by its number.
    strace -qq -f -o "$work/strace" -e trace=openat "$binary" -q -o "$out/new.h5" "$profiles" >"$work/stdout" 2>&1 </dev/null
    made=$(grep openat "$work/strace" | grep -n '\.tmp"' | cut -d: -f1)
    rm -f "$out/new.h5"
    # sentence, what strace delays and how, the file that is there when the signal comes, and the output
    while IFS='|' read -r sentence call delay sight output; do
        rm -f "$work/strace"
        strace -qq -f -o "$work/strace" -e trace="$call" -e inject="$call:$delay" \
            "$binary" -q -o "$out/$output" "$profiles" >"$work/stdout" 2>"$work/stderr" </dev/null &
        job=$!
        await "$patience_s" eval "grep -qs '$call' '$work/strace' && compgen -G '$work/$sight' >/dev/null" ||
            failed "it does not come to $call"
        mapfile -t pids < <(processes_of_job)
        end_process TERM "${pids[0]}"
        await_job "${pids[@]}"
        if ((exit_code == 0)); then
            check "SIGTERM $sentence, too late: the output is whole" cmp "$work/whole.h5" "$out/new.h5"
            check_text "SIGTERM $sentence, too late: no error" 0 "$(errors_said)"
            check_text "SIGTERM $sentence, too late: nothing else is left" new.h5 "$(listing "$out")"
        else
            check_stopped "SIGTERM $sentence"
        fi
        rm -f "$out/new.h5"
    done <<END
while the temporary is made|openat|delay_exit=2000000:when=$made|out/.*.tmp|new.h5
before the output has its name|fsync|delay_enter=2000000|out/.*.tmp|new.h5
when the output has its name|renameat2|delay_exit=2000000|out/new.h5|new.h5
when all is well and said|shutdown|delay_enter=2000000|out/new.h5|new.h5
when the error is said|shutdown|delay_enter=2000000|stderr|none/new.h5
END
else
    echo "skipped: a signal while the output gets its name, strace cannot run here"
fi

# --- Killed -------------------------------------------------------------------------------------------------
# No handler runs, so a temporary may stay; but nothing hangs, and nothing has the target's name. Process 0 or another, at each
# stage: while the inputs are searched for, while files are read, and while rows are gathered and written.
mkdir -p "$work/wide/actor"
for n in {1..60}; do
    copy=$work/wide/actor/wide_${n}_ascend_pt
    mkdir -p "$copy/$data"
    echo '{}' >"$copy/profiler_info_$n.json"
    "$python" -c 'import sys
print(sys.argv[1])
for i in range(4000): print(f"aten::add,8.5,{1736408883694624 + 97 * i}.{i % 1000:03},,,,,1.5,2.5,3.5,,,,6,NPU:0")' \
        "$csv_header" >"$copy/$data/operator_memory.csv"
done

come_to() { # STAGE
    case $1 in
    searches) ;;
    reads)
        feed "$work/long"
        await "$patience_s" has_read_much || failed "it does not read"
        ;;
    writes)
        feed "$work/wide"
        await "$patience_s" writes_rows || failed "it does not write"
        ;;
    esac
}

writes_rows() { (($(find "$out" -name '.*.tmp' -printf '%s\n') > 100000)); }

signals=(KILL TERM)
[[ $(ldd "$binary") != *libasan* ]] || signals=(TERM) # after SIGKILL it can find nothing
for stage in searches reads writes; do
    [[ $stage != writes ]] || export RLMR_MESSAGE_BYTES=64 # so that it takes a while
    for victim in 0 1; do
        for signal in "${signals[@]}"; do
            park 2 -o "$out/new.h5"
            come_to "$stage"
            check "np 2, while it $stage: process $victim is there for SIG$signal" is_running "${pids[victim]}"
            end_process "$signal" "${pids[victim]}"
            await_job "${pids[@]}"
            exec 7>&-
            check "SIG$signal of process $victim of 2, while it $stage: the job fails (exit code $exit_code)" test "$exit_code" -ne 0
            check "SIG$signal of process $victim of 2, while it $stage: no output" test ! -e "$out/new.h5"
            [[ $signal == TERM ]] || find "$out" -name '.*.tmp' -delete
            check_empty "SIG$signal of process $victim of 2, while it $stage"
        done
    done
done
unset RLMR_MESSAGE_BYTES
park 1 -o "$out/new.h5"
end_process KILL "$job"
await_job 2>/dev/null
exec 7>&-
check_text "SIGKILL of a lone process: exit code, and no output" "137 " "$exit_code $(ls "$out")"
find "$out" -name '.*.tmp' -delete
check_empty "at the end"
finish
