#!/bin/bash
# The cluster tables of real and synthetic captures against the reference, row by row.
# usage: cluster_real.sh SOURCE_DIR BINARY
set -euo pipefail
. "$(dirname "$0")/../support/testlib.bash"
[[ $(ldd "$binary") != *libasan* ]] || skip "its captures, with the sanitizer, are in property_same_bytes"

data_sets=$source_dir/../shared/data
[[ -d $data_sets ]] || skip "there are no captures beside the repository"
mkdir "$work/here"
cd "$work/here"

check_reference() { # SENTENCE MIN_ROWS DIRECTORY...: with one and with three processes
    local sentence=$1 rows=$2
    shift 2
    run_expecting 0 1 -q --force -o one.h5 "$@"
    run_expecting 0 3 -q --force -o three.h5 "$@"
    check "$sentence: as the reference says" "$python" "$reference/check_cluster.py" one.h5 "$@" --min-rows "$rows"
    check "$sentence: three processes write the same bytes" cmp one.h5 three.h5
}

for folder in "$data_sets"/real/* "$data_sets"/synthetic/*; do
    rows=150
    [[ $folder != *level0 && $folder != *rl_memory_sample ]] || rows=0 # hardly a row
    check_reference "${folder##*/}" "$rows" "$folder"
done
# All at once: ranks lie under several parents, so that the parents are the roles; text and databases mixed.
check_reference "all real ones" 2000 "$data_sets/real"
check_reference "everything" 6000 "$data_sets/real" "$data_sets/synthetic"
finish
