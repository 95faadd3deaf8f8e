#!/bin/bash
# Traces cut at many bytes: every complete event before the cut counts, and nothing else does.
# usage: cuts.sh SOURCE_DIR BINARY
set -euo pipefail
. "$(dirname "$0")/../support/testlib.bash"

"$python" "$support/cuts.py" make "$work"
for processes in 1 3; do
    run_expecting 3 "$processes" -q -o "$work/$processes.h5" "$work/job"
done
check "the files of one and of three processes are equal" cmp "$work/1.h5" "$work/3.h5"
check "every cut: rows, counts, offset and message" "$python" "$support/cuts.py" check "$work" "$work/1.h5"
finish
