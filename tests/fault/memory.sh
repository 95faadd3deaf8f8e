#!/bin/bash
# Whatever takes memory fails once: one error about it and no file, or all as usual. See fault_run.c.
# usage: memory.sh SOURCE_DIR FAULT_RUN
set -euo pipefail
. "$(dirname "$0")/job.bash"

make_job job
make_small_job small
make_cluster cluster
printf '%s\n\n%s\r\n' "$PWD/small" "$PWD/small/critic" >list

faulty "memory: a run for memory" memory -v -m memory --progress never -o out.h5 "$PWD/job"
faulty "memory: a run for step trace and communication" memory -q -o out.h5 "$PWD/cluster"
if [[ $(ldd "$binary") == *libasan* ]]; then
    echo "--check and --strict are left to the plain build: they take the same memory"
else
    faulty "memory: --check" memory --check -q "$PWD/job"
    faulty "memory: --strict" memory --strict -m memory -o out.h5 "$PWD/job"
fi
faulty "memory: every option" memory --check --input-list "$PWD/list" -o a.h5 -o out.h5 -f -m all -m memory --rank-list 5,0,1-3 \
    --role all --role actor,critic --match nearest --time-offset 1.5 --progress never -q
faulty "memory: wrong usage" memory -o out.h5 --role actor --rank-list 1,2,x "$PWD/small"
finish
