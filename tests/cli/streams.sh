#!/bin/bash
# Standard output and error that cannot be written.   usage: streams.sh SOURCE_DIR BINARY
set -euo pipefail
source_dir=$(realpath "${1:?usage: streams.sh SOURCE_DIR BINARY}")
binary=$(realpath "${2:?usage: streams.sh SOURCE_DIR BINARY}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
/usr/bin/python3 "$source_dir/tests/support/gen_memory.py" profiles --roles actor --ranks 1 --mb 1 >/dev/null

expect() { # SENTENCE WANTED GOT
    [[ $2 == "$3" ]] || {
        echo "FAILED: $1: wanted $2, got $3"
        exit 1
    }
    echo "ok: $1"
}
for option in --help --version "--check profiles"; do
    code=0
    # shellcheck disable=SC2086 # may be two words
    "$binary" $option >/dev/full 2>stderr || code=$?
    expect "$option into a full device fails" 1 "$code"
    expect "$option into a full device says so once" 1 "$(grep -c 'error: standard output cannot be written' stderr)"
done

"$binary" profiles -o job.h5 --quiet >/dev/full 2>stderr
expect "a lost summary leaves the file" ./job.h5 "$(echo ./*.h5)"
expect "a lost summary is said" 1 "$(grep -c 'standard output cannot be written' stderr)"
rm job.h5

"$binary" profiles -o job.h5 --force --verbose 2>&1 >/dev/null | head -c 1 >/dev/null || true
expect "a reader of the messages that goes away leaves no temporary" "" "$(find . -name '*.tmp')"
