#!/bin/bash
# Each read, and each look at a file or directory, fails once: what is lost is said, and the rest is there.
# Reads, and writes, that are interrupted or short change nothing. See fault_run.c.
# usage: input.sh SOURCE_DIR FAULT_RUN
set -euo pipefail
. "$(dirname "$0")/job.bash"
[[ $(ldd "$binary") != *libasan* ]] || skip "with the sanitizer only memory and output are made to fail"

make_job job
make_cluster cluster
run=(-v --progress never -o out.h5 "$PWD/job" "$PWD/cluster")

faulty "a read that fails" read "${run[@]}"
faulty "a file that shrinks while it is read" shrink "${run[@]}"
faulty "a place that cannot be looked at" look "${run[@]}"
faulty "a read or write that is interrupted" interrupt "${run[@]}"
faulty "a read or write that is short" short "${run[@]}"
finish
