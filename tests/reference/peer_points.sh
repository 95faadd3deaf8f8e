#!/bin/bash
# The eight points in which the cluster tables are better than the peer's, each with the peer's answer and ours.
# usage: peer_points.sh SOURCE_DIR BINARY
set -euo pipefail
. "$(dirname "$0")/../support/testlib.bash"
[[ $(ldd "$binary") != *libasan* ]] || skip "its runs, with the sanitizer, are like those of reference_cluster_generated"

mkdir "$work/here"
cd "$work/here"

job() { # EXIT_CODE NAME [OPTION...]: made by the generator unless it is there
    [[ -d $2 ]] || "$python" "$support/gen_cluster.py" "$2" --steps 1 "${@:3}"
    run_expecting "$1" 1 -q -o "$2.h5" "$2"
}

"$python" "$reference/peer_points.py" make .
job 0 tangled
job 0 tenths
job 0 whole --no-batch
for processes in 2 3; do run_expecting 0 "$processes" -q -o "whole_$processes.h5" whole; done
job 0 unknown --captured 0,1,3,6 --no-metadata
job 0 two_of_eight --captured 1,6
job 0 roles --dp 1 --roles actor,ref --role-in parent --windows 2
job 0 context --cp 2
job 0 shared_hash --tp 4 --dp 1 --shared-hash --no-metadata --form db
job 3 duplicates --duplicates
job 0 zeros --zeros
job 0 old_columns --columns old --form db
job 0 mixed_reduce --mixed-reduce
cp -r whole damaged
echo '{"step5": }' >"$(echo damaged/*1002_*/"$data")/communication.json"
job 3 damaged
check "each point" "$python" "$reference/peer_points.py" check . --shared "$source_dir/../shared"
finish
