#!/bin/bash
# Generated clusters against the reference, row by row.
# usage: cluster_generated.sh SOURCE_DIR BINARY
set -euo pipefail
. "$(dirname "$0")/../support/testlib.bash"

mkdir "$work/here"
cd "$work/here"

generate() { # DIRECTORY OPTION...
    "$python" "$support/gen_cluster.py" "$@"
}

processes=1
check_reference() { # SENTENCE EXIT_CODE MIN_ROWS DIRECTORY...: with one and with three processes in turn
    local sentence=$1 code=$2 rows=$3
    shift 3
    run_expecting "$code" "$processes" -q --force -o new.h5 "$@"
    check "$sentence: as the reference says" "$python" "$reference/check_cluster.py" new.h5 "$@" --min-rows "$rows"
    processes=$((4 - processes))
}

check_job() { # EXIT_CODE MIN_ROWS OPTION...: of the generator
    rm -rf job
    generate job "${@:3}"
    check_reference "${*:3}" "$1" "$2" job
}

forms=(text db mixed)
seeds=(1 2 3)
[[ $(ldd "$binary") != *libasan* ]] || forms=(mixed) seeds=(1) # each run takes seconds
for form in "${forms[@]}"; do
    check_job 0 6000 --form "$form" --steps 1 --transports --zeros --absent
done
check_job 0 9500 --form mixed --nodes --no-metadata
check_job 0 4700 --cp 2 --dp 1 --steps 1 --columns later
check_job 0 14000 --cp 2 --steps 1 --form db
check_job 0 2400 --tp 1 --pp 3 --steps 1 --columns old --form mixed --seed 2
check_job 0 1700 --pp 1 --steps 1
check_job 0 8900 --dp 1 --steps 1 --roles actor,ref --role-in parent --windows 3 --empty-step --form mixed --columns later
check_job 0 6000 --dp 1 --steps 1 --roles actor,Критик --role-in metadata --windows 2 --empty-step --form mixed
check_job 0 3000 --steps 1 --captured 0,1,3,6 --no-metadata --transports --form mixed
check_job 0 2400 --captured 1,6 --silent tp,pp
check_job 0 4700 --steps 1 --silent default_group,dp --no-distributed-args --seed 3
check_job 0 5000 --steps 1 --shared-hash --mixed-reduce --form mixed
check_job 0 4700 --bare-step named --form mixed
check_job 0 4700 --bare-step empty --form mixed
check_job 0 3500 --steps 1 --plain-matrix --transports
for form in text db; do check_job 3 4700 --steps 1 --duplicates --form "$form"; done
for seed in "${seeds[@]}"; do check_job 3 3000 --steps 1 --cut --seed "$seed"; done

# Several jobs at once: their ranks lie under several parents, so that the parents are the roles.
rm -rf job
generate job/plain --form db
generate job/other --seed 4 --no-metadata --steps 1 --tp 1
check_reference "two jobs that share ranks" 0 9000 job

finish
