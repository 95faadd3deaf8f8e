# shellcheck shell=bash
# What the scripts that drive the program share. Sourced by a script called as SCRIPT SOURCE_DIR BINARY; it gives each
# a scratch directory $work that is removed at the end, and wants `finish` as its last command.
# shellcheck disable=SC2034 # some of these variables serve the scripts alone

usage="usage: ${0##*/} SOURCE_DIR BINARY"
source_dir=$(realpath "${1:?$usage}")
binary=$(realpath "${2:?$usage}")
python=/usr/bin/python3 # Debian's, which has h5py and anndata
support=$source_dir/tests/support
reference=$source_dir/tests/reference
real_data=$source_dir/../shared/data/real
patience_s=120 # what takes longer hangs
data=ASCEND_PROFILER_OUTPUT # the data directory of a capture

[[ -x $binary ]] || {
    echo "no program $binary"
    exit 1
}

# The caller may itself run under a launcher; nothing of it may reach our processes.
unset "${!SLURM_@}" "${!PMIX_@}" "${!PMI_@}" "${!RLMR_@}" OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
export LC_ALL=C.UTF-8

failures=0
job=""
disks_mounted=()
work=$(mktemp -d)
export TEST_MARK=$work # by which our processes are known: numbers of processes come again

# Nothing of a failed script stays: neither its processes nor its files.
clean_up() {
    local pid disk
    if [[ -n $job ]]; then
        for pid in $(processes_of_job) "$job"; do end_process KILL "$pid"; done
    fi
    for disk in "${disks_mounted[@]}"; do umount -l "$disk" 2>/dev/null || true; done
    rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 143' TERM INT

skip() { # REASON: ctest shows the script as skipped
    echo "skipped: $1"
    exit 77
}

finish() {
    echo "$failures failures"
    ((failures == 0))
}

failed() { # SENTENCE
    echo "FAILED: $1"
    failures=$((failures + 1))
}

check() { # SENTENCE COMMAND...: the command must succeed
    local sentence=$1
    shift
    if "$@"; then
        echo "ok: $sentence"
    else
        failed "$sentence"
    fi
}

check_text() { # SENTENCE EXPECTED ACTUAL
    if [[ $2 == "$3" ]]; then
        echo "ok: $1"
    else
        failed "$1"
        diff -u --label expected --label actual <(printf '%s\n' "$2") <(printf '%s\n' "$3") || true
    fi
}

check_file() { # SENTENCE EXPECTED_FILE ACTUAL_FILE, of text
    local difference
    if difference=$(diff -u --label expected --label actual "$2" "$3"); then
        echo "ok: $1"
    else
        failed "$1"
        printf '%s\n' "$difference"
    fi
}

# --- Running it ---------------------------------------------------------------------------------------------

launcher() { # PROCESSES: sets `launch`; one process is a run without mpirun, as a user types it
    launch=()
    (($1 == 1)) || launch=(mpirun -q -np "$1")
}

# Run it to the end: sets exit_code, and fills $work/stdout and $work/stderr.
run() { # PROCESSES ARGUMENT...
    launcher "$1"
    shift
    exit_code=0
    timeout -k 5 "$patience_s" "${launch[@]}" "$binary" "$@" >"$work/stdout" 2>"$work/stderr" </dev/null || exit_code=$?
    ((exit_code != 124)) || failed "it hangs: ${launch[*]} ${binary##*/} $*"
}

# Sets exit_code like run, and complains unless it is as expected.
run_expecting() { # CODE PROCESSES ARGUMENT...
    local expected=$1
    shift
    run "$@"
    if ((exit_code != expected)); then
        failed "exit code $exit_code, not $expected, of $1 processes with: ${*:2}"
        cat "$work/stderr"
    fi
}

# Start it in the background: sets `job`, the process id of the program, or of mpirun.
start() { # PROCESSES ARGUMENT...
    launcher "$1"
    shift
    # what holds a FIFO open must not be inherited
    "${launch[@]}" "$binary" "$@" >"$work/stdout" 2>"$work/stderr" </dev/null 7>&- &
    job=$!
}

# Whether a process that this script has started runs; one that has ended but was not waited for does not.
is_running() { # PID
    local state
    state=$(grep -sE '^(State|PPid):' "/proc/$1/status") || return 1
    [[ ! $state =~ State:.[ZX] ]] || return 1
    # before a child has become what it is to be, its environment is not known
    [[ $state =~ PPid:.$$$ ]] || grep -qzsxF "TEST_MARK=$work" "/proc/$1/environ"
}

# Send a signal to a process that this script has started, and to no other.
end_process() { # SIGNAL PID
    if is_running "$2"; then kill "-$1" "$2" 2>/dev/null || true; fi
}

# The process ids of the program in `job`, in the order of their MPI ranks.
processes_of_job() {
    local pid rank program
    for pid in "$job" $(cat /proc/"$job"/task/*/children 2>/dev/null); do
        program=$(readlink "/proc/$pid/exe" 2>/dev/null) || continue
        [[ $program == "$binary" ]] || continue
        rank=$(tr '\0' '\n' 2>/dev/null <"/proc/$pid/environ" | sed -n 's/^OMPI_COMM_WORLD_RANK=//p')
        echo "${rank:-0} $pid"
    done | sort -n | cut -d' ' -f2
}

await() { # SECONDS COMMAND...: until it succeeds
    local tenths=$(($1 * 10))
    shift
    while ! "$@"; do
        ((tenths-- > 0)) || return 1
        sleep 0.1
    done
}

has_ended() { # PID...
    local pid
    for pid; do
        if is_running "$pid"; then return 1; fi
    done
}

# Wait for `job` and all its processes: sets exit_code; what does not end is killed and a failure.
await_job() { # [PID...]: processes of it that must be gone too
    local pid
    exit_code=0
    if ! await "$patience_s" has_ended "$job" "$@"; then
        failed "still running after $patience_s s: $job $*"
        for pid in "$job" "$@"; do end_process KILL "$pid"; done
    fi
    wait "$job" || exit_code=$?
    job=""
}

# --- Looking at what came out --------------------------------------------------------------------------------

show() { # FILE.h5 ARGUMENT...: see show_table.py
    "$python" "$support/show_table.py" "$@"
}

listing() { # DIRECTORY: the names in it, on one line
    find "$1" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort | paste -sd' '
}

errors_said() { # the number of error messages on stderr
    grep -c '^rl-insight-mr: error: ' "$work/stderr" || true
}

# --- Captures ------------------------------------------------------------------------------------------------

job_of_all_kinds() { # DIRECTORY [SEED]
    "$python" "$support/gen_job.py" "$1" --seed "${2:-1}" >/dev/null
}

csv_header="Name,Size(KB),Allocation Time(us),Release Time(us),Active Release Time(us),Duration(us),Active Duration(us)"
csv_header+=",Allocation Total Allocated(MB),Allocation Total Reserved(MB),Allocation Total Active(MB)"
csv_header+=",Release Total Allocated(MB),Release Total Reserved(MB),Release Total Active(MB),Stream Ptr,Device Type"

# A capture without data, or with a table of these rows.
make_capture() { # DIRECTORY RANK [ROW...]
    local directory=$1 row
    mkdir -p "$directory/$data"
    echo '{}' >"$directory/profiler_info_$2.json"
    shift 2
    (($# == 0)) || {
        printf '%s\r\n' "$csv_header"
        for row; do printf '%s\r\n' "$row"; done
    } >"$directory/$data/operator_memory.csv"
}

record() { # NAME TIME_US: a row of operator_memory.csv
    printf '%s,8.5,%s,,,,,1.5,2.5,3.5,,,,6,NPU:0' "$1" "$2"
}
