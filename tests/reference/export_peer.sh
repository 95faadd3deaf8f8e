#!/bin/bash
# The exports against the peer's recorded results: what differs must follow from a point of our rules; and against the
# reference in the peer's forms: nothing differs.   usage: export_peer.sh SOURCE_DIR BINARY [EXPORT_BINARY]
set -euo pipefail
. "$(dirname "$0")/../support/testlib.bash"

exporter=${3:-$(dirname "$binary")/rl-insight-export}
[[ -x $exporter ]] || {
    echo "no program $exporter"
    exit 1
}
shared=$source_dir/../shared
[[ -d $shared/data/expected && -d $shared/tools ]] || skip "there are no results of the peer beside the repository"
mkdir "$work/here"
cd "$work/here"

compare() { # OURS EXPECTED: prints the differences, all of them
    "$python" "$shared/tools/compare.py" --tol 1e-9 --all --ignore-path "$1" "$2" || [[ $? == 1 ]]
}

sets=()
export_set() { # FORM CAPTURES
    local form=$1 captures=$2 name folder status=0
    name=$(basename "$captures")
    mkdir "$name" "$name/reference"
    run_expecting 0 1 -q -o "$name/job.h5" "$shared/data/$captures"
    timeout "$patience_s" "$exporter" --to "$form" "$name/job.h5" "$name/out" || status=$?
    check_text "$name: the exit code of the export" 0 "$status"
    folder=$name/out/cluster_analysis_output
    [[ -d $folder ]] || {
        failed "$name: no cluster_analysis_output"
        return 0
    }
    "$python" "$reference/peer_export.py" "$form" "$name/reference" "$shared/data/$captures"
    check_text "$name: as the reference, in the peer's form" EQUAL "$(compare "$folder" "$name/reference")"
    compare "$folder" "$shared/data/expected/cluster_$form/$name" >"$name/differences"
    sets+=("$name,$shared/data/$captures,$folder,$shared/data/expected/cluster_$form/$name,$name/differences")
}

for captures in real/llm_pp2_dp2_4rank real/resnet_2rank_level0 real/resnet_2rank_level2 synthetic/text8 \
    synthetic/text4_nometa; do
    export_set text "$captures"
done
export_set db synthetic/db8
export_set db real/resnet_2rank_level2_db
check "every difference from the peer follows from a point" "$python" "$reference/export_peer.py" "${sets[@]}"
finish
