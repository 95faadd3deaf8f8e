#!/bin/bash
# Generated clusters against the reference, row by row; and text against databases.
# usage: cluster_generated.sh SOURCE_DIR BINARY
set -euo pipefail
. "$(dirname "$0")/../support/testlib.bash"

mkdir "$work/here"
cd "$work/here"
all_tables=(cluster_step_trace_time cluster_communication_time cluster_communication_bandwidth
    cluster_communication_matrix communication_group cluster_base_info)

generate() { # DIRECTORY OPTION...
    "$python" "$support/gen_cluster.py" "$@"
}

check_reference() { # SENTENCE EXIT_CODE MIN_ROWS DIRECTORY...: with one and with three processes
    local sentence=$1 code=$2 rows=$3
    shift 3
    run_expecting "$code" 1 -q --force -o one.h5 "$@"
    run_expecting "$code" 3 -q --force -o three.h5 "$@"
    check "$sentence: as the reference says" "$python" "$reference/check_cluster.py" one.h5 "$@" --min-rows "$rows"
    check "$sentence: three processes write the same bytes" cmp one.h5 three.h5
}

check_job() { # EXIT_CODE MIN_ROWS OPTION...: of the generator
    rm -rf job
    generate job "${@:3}"
    check_reference "${*:3}" "$1" "$2" job
}

for form in text db mixed; do
    check_job 0 9000 --form "$form" --transports --zeros --absent
done
check_job 0 9000 --form mixed --nodes --no-metadata
check_job 0 4500 --cp 2 --dp 1 --steps 1 --columns later
check_job 0 14000 --cp 2 --steps 1 --form db
check_job 0 4800 --tp 1 --pp 3 --columns old --form mixed --seed 2
check_job 0 1700 --pp 1 --steps 1
check_job 0 8900 --roles actor,ref --role-in parent --windows 3 --empty-step --steps 1 --dp 1 --form mixed --columns later
check_job 0 5000 --roles actor,Критик --role-in metadata --windows 2 --empty-step --steps 1 --dp 1 --form mixed
check_job 0 6000 --captured 0,1,3,6 --no-metadata --transports --form mixed
check_job 0 2400 --captured 1,6 --silent tp,pp
check_job 0 9000 --silent default_group,dp --no-distributed-args --seed 3
check_job 0 9000 --shared-hash --mixed-reduce --form mixed
check_job 0 4000 --bare-step named --form mixed
check_job 0 4000 --bare-step empty --form mixed
check_job 0 8000 --plain-matrix --transports
for form in text db; do check_job 3 9000 --duplicates --form "$form"; done
for seed in 1 2 3; do check_job 3 5000 --cut --seed "$seed"; done

# Several jobs at once: their ranks lie under several parents, so that the parents are the roles.
rm -rf job
generate job/plain --form db
generate job/other --seed 4 --no-metadata --steps 1 --tp 1
check_reference "two jobs that share ranks" 0 9000 job

# --- Text and databases of one job ----------------------------------------------------------------------------
dump() { # FILE.h5: the tables that hold the same whatever the form
    local table
    for table in "${all_tables[@]}"; do
        echo "$table"
        show "$1" "$table"
    done
}

check_same() { # SENTENCE TEXT_DIRECTORY DB_DIRECTORY
    run_expecting 0 1 -q --force -o text.h5 "$2"
    run_expecting 0 2 -q --force -o db.h5 "$3"
    dump text.h5 >text.rows
    dump db.h5 >db.rows
    check "$1: rows" test "$(wc -l <text.rows)" -gt 2000
    check "$1: text and databases give the same tables" cmp text.rows db.rows
}

for options in "--transports --zeros --absent" "--bare-step named --shared-hash" "--columns old --no-metadata"; do
    rm -rf text db mixed
    read -r -a words <<<"$options"
    for form in text db mixed; do generate "$form" --form "$form" "${words[@]}"; done
    check_same "$options" text db
    check_same "$options, mixed" text mixed
done

tools=$source_dir/../shared/tools
if [[ -d $tools ]]; then
    for form in text db; do "$python" "$tools/gen_$form.py" "by_tools/$form" --seed 5 >/dev/null; done
    check_same "the other generator" by_tools/text by_tools/db
    check_reference "the other generator, text" 0 1500 by_tools/text
    check_reference "the other generator, databases" 0 1500 by_tools/db
else
    echo "there is no other generator beside the repository: its jobs are not compared"
fi
finish
