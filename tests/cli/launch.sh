#!/bin/bash
# Under launchers: lone copies under srun are refused with the cure, and what is said before MPI starts comes once.
# usage: launch.sh SOURCE_DIR BINARY
set -euo pipefail
. "$(dirname "$0")/../support/testlib.bash"

mkdir "$work/here"
cd "$work/here"
make_capture job/actor/host_1_20250109143043123_ascend_pt 0 "$(record aten::add 1736408883694624.810)"
refusal="rl-insight-mr: error: srun started 2 processes without PMI, each would be process 0 of 1: use srun --mpi=pmix,"
refusal+=" or mpirun"

is_refused() { grep -q 'without PMI' "$work/stderr"; }
is_not_refused() { ! is_refused; }

# --- Copies of "process 0 of 1" -----------------------------------------------------------------------------
SLURM_STEP_NUM_TASKS=2 run 1 -o new.h5 job
check_text "two tasks without PMI: exit code" 1 "$exit_code"
check_text "two tasks without PMI: the cure, and nothing else" "$refusal" "$(<"$work/stderr")"
check_text "two tasks without PMI: nothing on stdout" "" "$(<"$work/stdout")"

SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=0 run 1 --check job
check_text "task 0 of two says so, also for --check" "1 $refusal" "$exit_code $(<"$work/stderr")"
SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=1 run 1 -o new.h5 job
check_text "task 1 of two is refused without a word" "1 " "$exit_code $(cat "$work/stdout" "$work/stderr")"

# Refused before MPI_Init: it would fail here, with a text of its own.
OPAL_PREFIX=$work/nowhere SLURM_STEP_NUM_TASKS=2 run 1 -o new.h5 job
check_text "two tasks without PMI: refused before MPI starts" "1 $refusal" "$exit_code $(<"$work/stderr")"
check_text "a refused run leaves nothing" job "$(listing .)"

SLURM_STEP_NUM_TASKS=1 run_expecting 0 1 -o one.h5 job
check "one task is not refused" test -s one.h5
SLURM_NTASKS=2 SLURM_NPROCS=2 run_expecting 0 1 -o ntasks.h5 job
check "SLURM_NTASKS alone, as in a batch script, is not refused" cmp one.h5 ntasks.h5
SLURM_STEP_NUM_TASKS=2 run_expecting 0 2 -o mpirun.h5 job
check "two tasks under mpirun are not refused" cmp one.h5 mpirun.h5
OMPI_MCA_pml=nowhere run 2 -o chosen.h5 job
check "a transport that the user has chosen stays, even one that does not exist" test "$exit_code" -ne 0 -a ! -e chosen.h5
# Whether MPI itself accepts a variable that no launcher stands behind is not ours.
for variable in OMPI_COMM_WORLD_SIZE=2 PMIX_RANK=0 PMI_RANK=0; do
    export "${variable?}" SLURM_STEP_NUM_TASKS=2
    run 1 -o variable.h5 job
    unset "${variable%=*}" SLURM_STEP_NUM_TASKS
    check "with ${variable%=*} set it is not refused" is_not_refused
done

# --- Once, not once a process -------------------------------------------------------------------------------
for variable in OMPI_COMM_WORLD_RANK PMIX_RANK PMI_RANK; do
    for rank in 0 1 12; do
        export "$variable=$rank"
        run 1 --help
        said_help=$exit_code,$(wc -l <"$work/stdout"),$(wc -l <"$work/stderr")
        run 1 -V
        said_version=$exit_code,$(wc -l <"$work/stdout"),$(wc -l <"$work/stderr")
        run 1 --no-such-option
        said_usage=$exit_code,$(wc -l <"$work/stdout"),$(wc -l <"$work/stderr")
        unset "$variable"
        if ((rank == 0)); then
            check "$variable=$rank: help is said ($said_help)" test "${said_help/0,[1-9][0-9],0/}" = ""
            check_text "$variable=$rank: version and usage are said" "0,1,0 2,0,2" "$said_version $said_usage"
        else
            check_text "$variable=$rank: silent" "0,0,0 0,0,0 0,0" "$said_help $said_version ${said_usage#*,}"
        fi
    done
done

# A launcher ends the others when one process fails: process 0 must be heard although it comes last.
late=(-np 1 bash -c 'sleep 1; exec "$@"' late "$binary")
for arguments in "--mode heap job" "--no-such-option" ""; do
    read -r -a words <<<"$arguments"
    code=0
    timeout -k 5 "$patience_s" mpirun -q "${late[@]}" "${words[@]}" : -np 2 "$binary" "${words[@]}" \
        >"$work/stdout" 2>"$work/stderr" </dev/null || code=$?
    check_text "a wrong command line ($arguments), process 0 comes last: it is said once" "2 2 rl-insight-mr: error:" \
        "$code $(wc -l <"$work/stderr") $(head -n1 "$work/stderr" | cut -d' ' -f1,2)"
done

# Lines of several programs under mpirun mix unless each goes out in one write.
if command -v strace >/dev/null && strace -qq -o /dev/null -e trace=none true 2>/dev/null; then
    strace -qq -o "$work/strace" -e trace=write "$binary" --mode heap job >/dev/null 2>"$work/stderr" || true
    check_text "each line on stderr is one write" "$(wc -l <"$work/stderr")" \
        "$(sed 's/^[0-9]* *//' "$work/strace" | grep -c '^write(2,')"
else
    echo "skipped: the number of writes, strace cannot run here"
fi

# --- Help and version do without MPI ------------------------------------------------------------------------
export OPAL_PREFIX=$work/nowhere
run 1 -o broken.h5 job
check "MPI cannot start here" test "$exit_code" -ne 0
run 1 --help
check_text "--help does not start MPI" "0 Usage: rl-insight-mr [OPTION]... INPUT..." \
    "$exit_code $(head -n1 "$work/stdout")"
run 1 --version
check_text "--version does not start MPI" "0 rl-insight-mr" "$exit_code $(cut -d' ' -f1 "$work/stdout")"
run 1 --mode heap job
check_text "a wrong command line does not start MPI" "2 2" "$exit_code $(wc -l <"$work/stderr")"
finish
