#!/bin/bash
# The exports against the peer's recorded results: what differs must follow from a point of our rules; and against the
# reference in the peer's forms: nothing differs.   usage: export_peer.sh SOURCE_DIR BINARY [EXPORT_BINARY]
set -euo pipefail
. "$(dirname "$0")/../support/testlib.bash"
[[ $(ldd "$binary") != *libasan* ]] || skip "the same export, with the sanitizer, is in cli_export"

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
# Generated clusters, in which more can be told from the reference than the peer has recorded.
check_generated() { # FORM FOLDER_AND_OPTIONS...: `role/window0` of a cluster made with these options; `.`: only one
    local form=$1 place=$2 role window status=0 words=()
    shift 2
    rm -rf generated out reference
    mkdir reference
    "$python" "$support/gen_cluster.py" generated --steps 1 "$@"
    run_expecting 0 1 -q --force -o generated.h5 generated
    timeout "$patience_s" "$exporter" -q --to "$form" generated.h5 out || status=$?
    check_text "$*, $form: the exit code of the export" 0 "$status"
    IFS=/ read -r role window <<<"$place"
    [[ $place == . ]] || words=(--role "$role" --window "${window#window}")
    "$python" "$reference/peer_export.py" "$form" reference generated "${words[@]}"
    check_text "$*, $form, $place: as the reference, in the peer's form" EQUAL \
        "$(compare "out/$place/cluster_analysis_output" reference)"
}
for form in text db; do
    check_generated "$form" . --transports --absent
    check_generated "$form" . --zeros --captured 0,1,6 --no-metadata --plain-matrix
    check_generated "$form" . --shared-hash --mixed-reduce --bare-step empty
    check_generated "$form" . --columns old --no-distributed-args --silent tp,pp
    check_generated "$form" ref/window1 --dp 1 --roles actor,ref --role-in parent --windows 2
done

check "every difference from the peer follows from a point" "$python" "$reference/export_peer.py" "${sets[@]}"
finish
