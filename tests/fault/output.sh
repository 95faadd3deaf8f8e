#!/bin/bash
# Each write of the output fails once: one error with the reason, and nothing is left. See fault_run.c.
# usage: output.sh SOURCE_DIR FAULT_RUN
set -euo pipefail
. "$(dirname "$0")/job.bash"

make_small_job small
run=(-v --progress never -o out.h5 "$PWD/small")

faulty "a disk that is full" full "${run[@]}"
faulty "a disk that is broken" write -f "${run[@]}"
finish
