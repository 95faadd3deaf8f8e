#!/bin/bash
# What the program says and how it ends, word for word, alone and as three processes.
# usage: golden.sh SOURCE_DIR BINARY [--write]
# A case is expected/NAME.args, one argument a line, with NAME.out, NAME.err and NAME.code as they must come out of a
# run in a directory that holds the inputs below. --write makes those three anew; look at the difference.
set -euo pipefail
. "$(dirname "$0")/../support/testlib.bash"

cases=$source_dir/tests/cli/expected
write=${3:-}
here=$work/here
mkdir -p "$here"
cd "$here"

# The inputs. A packed trace is left out of every case: its size depends on the version of zlib.
job_of_all_kinds job
mkdir -p empty/directory
echo text >file
echo old >old.h5
make_capture damaged/actor/host_1_20250109143043123_ascend_pt 0 "$(record aten::add 1736408883694624.810)"
printf '[{"name": "aten::add", "cat": "cpu_op", "ts": "17364' \
    >"damaged/actor/host_1_20250109143043123_ascend_pt/$data/trace_view.json"
make_capture damaged/actor/host_2_20250109143043123_ascend_pt 1 "$(record aten::add 1736408883694624.810)"
make_capture damaged/actor/host_3_20250109143043123_ascend_pt 2
rm damaged/actor/host_3_20250109143043123_ascend_pt/profiler_info_2.json
"$python" "$support/gen_cluster.py" cluster --tp 1 --pp 1 --dp 2 --steps 1 >/dev/null
before=$(listing .)

# What may change without a reason to look at it: where the test runs, and the version.
without_chance() { # FILE
    sed -E "s|$work|WORK|g; s/^(rl-insight-mr) [0-9]+\.[0-9]+\.[0-9]+\$/\1 X.Y.Z/" "$1"
}

count=0
for arguments in "$cases"/*.args; do
    name=$(basename "$arguments" .args)
    mapfile -t words <"$arguments"
    if [[ $write == --write ]]; then
        run 1 "${words[@]}"
        without_chance "$work/stdout" >"$cases/$name.out"
        without_chance "$work/stderr" >"$cases/$name.err"
        echo "$exit_code" >"$cases/$name.code"
        rm -f new.h5
        continue
    fi
    code=$(<"$cases/$name.code")
    for processes in 1 3; do
        run "$processes" "${words[@]}"
        check_text "$name, np $processes: exit code" "$code" "$exit_code"
        check_file "$name, np $processes: stdout" "$cases/$name.out" <(without_chance "$work/stdout")
        check_file "$name, np $processes: stderr" "$cases/$name.err" <(without_chance "$work/stderr")
        written=$before
        # a run that wrote is a case with -o new.h5
        if [[ $code == [03] && ${words[*]} == *new.h5* ]]; then
            written=$(printf '%s\n' "$before" new.h5 | tr ' ' '\n' | sort | paste -sd' ')
        fi
        check_text "$name, np $processes: files afterwards" "$written" "$(listing .)"
        check_text "$name, np $processes: the old output is as it was" old "$(<old.h5)"
        rm -f new.h5
    done
    count=$((count + 1))
done
[[ $write == --write ]] || check "cases were found" test "$count" -gt 25
finish
