#!/bin/bash
# What mstt wrote, brought into a file of ours and exported again, is what mstt wrote.
# usage: export_round_trip.sh SOURCE_DIR BINARY
set -euo pipefail
. "$(dirname "$0")/../support/testlib.bash"
shared=$source_dir/../shared
compare=$shared/tools/compare.py
[[ -f $compare && -d $shared/data/expected/cluster_text ]] || skip "the peer's outputs are not here"
binary=${binary%/*}/rl-insight-export

for expected in "$shared"/data/expected/cluster_{text,db}/*; do
    name=${expected##*/}
    form=text
    [[ ! -f $expected/cluster_analysis.db ]] || form=db
    "$python" "$support/cluster_h5.py" peer "$expected" "$work/$name.h5"
    run_expecting 0 1 -q "$work/$name.h5" "$work/$name" --to "$form"
    said=$("$python" "$compare" --tol 1e-9 --all --ignore-path "$work/$name/cluster_analysis_output" "$expected") || true
    check_text "$name, $form: no difference" EQUAL "$said"
done
finish
