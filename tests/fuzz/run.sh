#!/bin/bash
# Search with libFuzzer (clang): build the targets, run each for some seconds from its corpus, say what came of it.
# What a target finds lies in build/fuzz/found: a new property or crash goes into tests/fuzz/corpus/TARGET with its fix.
# usage: tests/fuzz/run.sh SECONDS [TARGET...]
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:?usage: tests/fuzz/run.sh SECONDS [TARGET...]}
shift
if (($# == 0)); then
    while read -r source; do
        target=${source##*/fuzz_}
        set -- "$@" "${target%.c}"
    done < <(grep -l LLVMFuzzerTestOneInput tests/fuzz/fuzz_*.c)
fi

cmake --preset fuzz --log-level=NOTICE
cmake --build --preset fuzz -- --quiet
found=$PWD/build/fuzz/found
mkdir -p "$found"
# inputs found are kept for the next search; scratch files lie in memory if they can
scratch=$(mktemp -d -p "$(test -w /dev/shm && echo /dev/shm || echo /tmp)")
trap 'rm -rf "$scratch"' EXIT
export TMPDIR=$scratch

failures=0
for target; do
    kept=build/fuzz/corpus/$target
    log=$found/$target.log
    mkdir -p "$kept"
    options=(-max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="$found/$target-")
    [[ ! -f tests/fuzz/$target.dict ]] || options+=(-dict="tests/fuzz/$target.dict")
    # a little more than it is to take, for the start and the last input
    code=0
    timeout $((seconds + 60)) build/fuzz/tests/fuzz/fuzz_"$target" "${options[@]}" "$kept" "tests/fuzz/corpus/$target" \
        >"$log" 2>&1 || code=$?
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    edges=$(sed -nE 's/.*(cov: [0-9]+).*/\1/p' "$log" | tail -n1) # none if the first input fails
    echo "$target: ${runs:-no} executions, ${edges:-no coverage}"
    if ((code != 0)); then
        grep -E 'does not hold|SUMMARY|ERROR|Test unit written' "$log" || tail -n3 "$log"
        failures=$((failures + 1))
    fi
done
echo "$failures of $# targets failed"
((failures == 0))
