#!/bin/bash
# One cluster as text, as databases and mixed gives the same tables.   usage: cluster_forms.sh SOURCE_DIR BINARY
set -euo pipefail
. "$(dirname "$0")/../support/testlib.bash"
[[ $(ldd "$binary") != *libasan* ]] || skip "its jobs, with the sanitizer, are like those of reference_cluster_generated"

mkdir "$work/here"
cd "$work/here"

check_same() { # SENTENCE MIN_ROWS DIRECTORY...: the first as text
    local sentence=$1 rows=$2 directory
    run_expecting 0 1 -q --force -o text.h5 "$3"
    shift 3
    for directory; do
        run_expecting 0 2 -q --force -o other.h5 "$directory"
        check "$sentence: $directory as text" "$python" "$reference/same_cluster.py" text.h5 other.h5 --min-rows "$rows"
    done
}

for options in "--transports --zeros --absent" "--bare-step named --shared-hash" "--columns old --no-metadata"; do
    rm -rf text db mixed
    read -r -a words <<<"$options"
    for form in text db mixed; do
        "$python" "$support/gen_cluster.py" "$form" --form "$form" --steps 1 "${words[@]}"
    done
    check_same "$options" 4000 text db mixed
done

tools=$source_dir/../shared/tools
if [[ -d $tools ]]; then
    for form in text db; do "$python" "$tools/gen_$form.py" "by_tools/$form" --seed 5 >/dev/null; done
    check_same "another generator's cluster" 1500 by_tools/text by_tools/db
else
    echo "there is no other generator beside the repository: its cluster is not compared"
fi
finish
