#!/bin/bash
# The batch script on a real two-node Slurm: same bytes as one process, the refusal of N lone copies, and nothing
# left behind when a job is stopped.   usage: slurm_test.sh SOURCE_DIR BINARY
# RLMR_SLURM_HERE names a script that starts such a Slurm on this machine: "start DIR", "stop DIR", DIR/slurm.conf.
set -euo pipefail

source_dir=$(realpath "${1:?usage: slurm_test.sh SOURCE_DIR BINARY}")
binary=$(realpath "${2:?usage: slurm_test.sh SOURCE_DIR BINARY}")
batch=$source_dir/scripts/slurm/rl-insight-mr.sbatch
generate=$source_dir/tests/support/gen_memory.py
slurm_here=${RLMR_SLURM_HERE:-$source_dir/../shared/tools/slurm-here.sh}

skip() {
    echo "skipped: $1"
    exit 77
}
[[ $(ldd "$binary") != *libasan* ]] || skip "the plain build has run under Slurm"
[[ -x $slurm_here ]] || skip "no script that starts a Slurm here (RLMR_SLURM_HERE)"
((EUID == 0)) || skip "starting a Slurm needs root"
for tool in munged slurmctld slurmd sbatch mpirun; do
    command -v "$tool" >/dev/null || skip "$tool is not installed"
done
[[ -x $binary ]] || {
    echo "no program $binary"
    exit 1
}

# In a process namespace of its own, where the system allows that, nothing outlives the test, however it ends; and
# orphans are reaped, by this shell, where the first process of a container does not do so and Slurm would wait.
if [[ -z ${RLMR_SLURM_TEST_INSIDE:-} ]] && unshare --pid --fork --mount-proc true 2>/dev/null; then
    export RLMR_SLURM_TEST_INSIDE=yes RLMR_SLURM_HERE=$slurm_here
    exec unshare --pid --fork --kill-child --mount-proc "$BASH" "$(realpath "$0")" "$source_dir" "$binary"
fi

failures=0
check() { # SENTENCE COMMAND...
    local sentence=$1
    shift
    if "$@"; then
        echo "ok: $sentence"
    else
        echo "FAILED: $sentence"
        failures=$((failures + 1))
    fi
}

# The caller may itself run under a launcher; nothing of it may reach our processes.
unset "${!SLURM_@}" "${!SBATCH_@}" "${!PMIX_@}" "${!PMI_@}" OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE "${!RLMR_@}"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1
# Both nodes are this host: no shared memory between them, and addresses that do not depend on its network.
export OMPI_MCA_btl=self,tcp OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_oob_tcp_if_include=lo

work=$(mktemp -d)
slurm=$work/slurm
# From here on, also while it starts: no command of Slurm may reach the cluster that this machine may belong to.
export SLURM_CONF=$slurm/slurm.conf

is_daemon() { # PID_FILE TEXT: it names a running process whose command line, which the test gave it, has the text
    local pid
    pid=$(cat "$1" 2>/dev/null) && [[ -n $pid ]] && grep -qasF -- "$2" "/proc/$pid/cmdline"
}

running_daemons() { # pid files of daemons that this test started; one that has ended but was not waited for is none
    local file
    for file in "$slurm"/*.pid; do
        if is_daemon "$file" "$SLURM_CONF"; then echo "$file"; fi
    done
}

# What is to be stopped is known by its pid file; a file whose number is by now another process's must not stay.
forget_strangers() {
    local file
    for file in "$slurm"/*.pid; do
        is_daemon "$file" "$SLURM_CONF" || rm -f "$file"
    done
    file=$slurm/munged.pidfile
    [[ ! -f $file ]] || is_daemon "$(<"$file")" "--pid-file=$(<"$file")" || rm -f "$file"
}

stop_all() {
    local status=$?
    trap - EXIT
    set +e
    if [[ -f $slurm/slurm.conf ]]; then
        if ((failures || status)); then tail -n 20 "$slurm"/log/* "$work"/*.log 2>/dev/null; fi
        # the Slurm is ours alone, so every job in it is
        timeout 20 scancel --user=root
        for _ in {1..100}; do [[ -n $(timeout 5 squeue -h 2>/dev/null) ]] || break; sleep 0.2; done
        forget_strangers
        "$slurm_here" stop "$slurm"
        for _ in {1..100}; do [[ -n $(running_daemons) ]] || break; sleep 0.2; done
        [[ -z $(running_daemons) ]] || echo "still running: $(running_daemons)"
    fi
    rm -rf "$work" 2>/dev/null || { sleep 1 && rm -rf "$work"; } # a daemon may save its state to the last
    exit "$status"
}
trap stop_all EXIT
trap 'exit 143' TERM INT

submit() { # JOB_NAME [SBATCH_OPTION...]: sets job
    local name=$1
    shift
    job=$(sbatch --parsable --job-name="$name" --nodes=2 --ntasks=2 --ntasks-per-node=1 --time=5 \
        --output="$work/$name.log" "$@" "$batch")
}

job_state() { scontrol show job "$job" | sed -nE 's/.*JobState=([A-Z_]+).*/\1/p'; }
job_exit() { scontrol show job "$job" | sed -nE 's/.* ExitCode=([0-9]+):.*/\1/p'; }

await_end() { # SECONDS: of the job, and of all its processes
    local tenths=$(($1 * 10))
    while ((tenths-- > 0)); do
        case $(job_state) in
        PENDING | CONFIGURING | RUNNING | SUSPENDED | COMPLETING) sleep 0.1 ;;
        *) return 0 ;;
        esac
    done
    echo "job $job ($(job_state)) has not ended within $1 s"
    return 1
}

# The processes of the program (not mpirun, srun or the script) that write to FILE.
processes_of() { # FILE
    local arguments=()
    for process in /proc/[0-9]*; do
        mapfile -d '' -t arguments 2>/dev/null <"$process/cmdline" || continue
        [[ ${arguments[0]:-} != "$binary" || " ${arguments[*]} " != *" $1 "* ]] || echo "${process#/proc/}"
    done
}

await_processes() { # COUNT FILE
    for _ in {1..300}; do
        (($(processes_of "$2" | wc -l) != $1)) || return 0
        sleep 0.1
    done
    echo "not $1 processes within 30 s"
    return 1
}

is_empty_dir() {
    [[ -z $(ls -A "$1") ]] || {
        ls -lA "$1"
        return 1
    }
}

mkdir "$slurm"
sleep 60 &
stranger=$!
echo "$stranger" >"$slurm/slurmctld.pid"
forget_strangers
check "a pid file that names a stranger is not followed" test ! -e "$slurm/slurmctld.pid"
if jobs -rp | grep -x "$stranger" >/dev/null; then kill "$stranger"; fi
wait "$stranger" || true

"$slurm_here" start "$slurm" >"$work/start.log" 2>&1 || {
    cat "$work/start.log"
    exit 1
}
[[ $(sinfo -h -o %D) = 2 ]]

# --- The same bytes, whichever way it was started -----------------------------------------------------------
/usr/bin/python3 "$generate" "$work/profiles" --roles actor_update,ref_log_prob --ranks 2 --mb 1
mkdir "$work/out" "$work/scratch"
timeout 120 "$binary" "$work/profiles" -o "$work/one.h5" >/dev/null

export RLMR_INPUT=$work/profiles RLMR_BIN=$binary
for launcher in mpirun srun; do
    export RLMR_LAUNCHER=$launcher RLMR_OUTPUT=$work/out/$launcher.h5
    submit "$launcher"
    await_end 120
    check "two nodes under $launcher end with 0" test "$(job_exit)" = 0
    check "two nodes under $launcher write the bytes of one process" cmp "$work/one.h5" "$RLMR_OUTPUT"
done

export RLMR_LAUNCHER=mpirun RLMR_SCRATCH=$work/scratch RLMR_OUTPUT=$work/out/mpirun.h5
inode=$(stat -c %i "$RLMR_OUTPUT")
submit refused
await_end 120
check "an existing output is refused" test "$(job_exit)" = 1
check "an existing output is left alone" test "$(stat -c %i "$RLMR_OUTPUT")" = "$inode"
submit replaced --export=ALL,RLMR_OPTIONS=--force
await_end 120
check "--force by way of scratch ends with 0" test "$(job_exit)" = 0
check "--force by way of scratch replaces the output" test "$(stat -c %i "$RLMR_OUTPUT")" != "$inode"
check "what came by way of scratch has the same bytes" cmp "$work/one.h5" "$RLMR_OUTPUT"
check "scratch is empty afterwards" is_empty_dir "$work/scratch"
check "nothing but the outputs is there" test "$(find "$work/out" -printf '%P ' | xargs -n1 | sort | xargs)" = \
    "mpirun.h5 srun.h5"

# --- N copies of "process 0 of 1" ---------------------------------------------------------------------------
refusal=0
timeout 60 srun --nodes=2 --ntasks=2 --mpi=none "$binary" "$work/profiles" -o "$work/alone.h5" \
    >"$work/alone.log" 2>&1 || refusal=$?
check "srun without PMI is refused with 1 or 2 (was $refusal)" test "$refusal" = 1 -o "$refusal" = 2
check "the refusal names the cure" grep -q -- '--mpi=pmix' "$work/alone.log"
check "a refused run writes nothing" test ! -e "$work/alone.h5"

# --- A job that is stopped ----------------------------------------------------------------------------------
# Enough to be busy for a while, in little space: the same big trace many times over, with few memory records.
/usr/bin/python3 "$generate" "$work/long" --roles actor_update --ranks 1 --mb 40
capture=$(find "$work/long" -name '*_ascend_pt')
records=$capture/ASCEND_PROFILER_OUTPUT/operator_memory.csv
sed -n '1,50p' "$records" >"$records.short"
mv "$records.short" "$records"
for n in {1..1000}; do cp -al "$capture" "${capture%/*}/again_${n}_ascend_pt"; done

export RLMR_INPUT=$work/long
unset RLMR_SCRATCH
for launcher in mpirun srun; do
    for way in warning cancel; do
        stopped=$work/stopped-$launcher-$way
        mkdir "$stopped"
        export RLMR_LAUNCHER=$launcher RLMR_OUTPUT=$stopped/job.h5
        submit "stopped-$launcher-$way"
        await_processes 2 "$RLMR_OUTPUT"
        sleep 1
        check "$launcher, $way: the job still runs when it is to be stopped" test "$(job_state)" = RUNNING
        # the warning before the time limit goes to the script alone, scancel to every process
        case $way in
        warning) scancel --batch --signal=TERM "$job" ;;
        cancel) scancel "$job" ;;
        esac
        await_end 120
        case $way in
        warning) check "$launcher, $way: the job ends with a failure" test "$(job_state)/$(job_exit)" = FAILED/1 ;;
        cancel) check "$launcher, $way: the job is cancelled" test "$(job_state)" = CANCELLED ;;
        esac
        check "$launcher, $way: no output and no temporary is left" is_empty_dir "$stopped"
        check "$launcher, $way: no process is left" await_processes 0 "$RLMR_OUTPUT"
    done
done

echo "$failures failures"
((failures == 0))
