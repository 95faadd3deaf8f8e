#!/bin/bash
# Without --strict most events of a trace are not looked into: on files without damage that makes no difference.
# usage: strict.sh SOURCE_DIR BINARY
set -euo pipefail
. "$(dirname "$0")/../support/testlib.bash"

check_strict() { # SENTENCE PROCESSES ARGUMENT...
    local sentence=$1 processes=$2
    shift 2
    run_expecting 0 "$processes" -q --force -o "$work/some.h5" "$@"
    sed '/^output: /d' "$work/stdout" >"$work/some.out"
    run_expecting 0 "$processes" -q --force --strict -o "$work/all.h5" "$@"
    check "$sentence: --strict gives the same bytes" cmp "$work/some.h5" "$work/all.h5"
    check_file "$sentence: --strict gives the same summary" "$work/some.out" <(sed '/^output: /d' "$work/stdout")
    show "$work/all.h5" memory_events call_stack_match >"$work/matches"
    check "$sentence: with call stacks" grep -qE '"(enclosing|backward|nearest)"' "$work/matches"
}

for seed in 1 2 3 4 5; do
    job_of_all_kinds "$work/job/$seed" "$seed"
done
for policy in best nearest enclosing; do
    check_strict "jobs of all kinds, $policy" 2 -m memory --match "$policy" "$work/job"
done
check_strict "one job of all kinds, shifted" 1 -m memory --time-offset=-12.345 "$work/job/1"

"$python" "$support/gen_memory.py" "$work/large" --roles actor_update,ref_log_prob --ranks 2 --mb 3 >/dev/null
check_strict "four traces of 3 MB" 2 -m memory "$work/large"

if [[ -d $real_data ]]; then
    check_strict "real captures" 2 -m memory "$real_data"
else
    echo "skipped: there are no real captures beside the repository"
fi
finish
