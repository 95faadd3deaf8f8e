#!/bin/bash
# Generated jobs against the reference, cell by cell, under every policy; and times to the nanosecond.
# usage: generated.sh SOURCE_DIR BINARY
set -euo pipefail
. "$(dirname "$0")/../support/testlib.bash"

mkdir "$work/here"
cd "$work/here"

check_reference() { # SENTENCE PROCESSES EXIT_CODE MIN_ROWS ARGUMENT...: both programs take them
    local sentence=$1 processes=$2 code=$3 rows=$4
    shift 4
    run_expecting "$code" "$processes" -q --force -o new.h5 "$@"
    check "$sentence: as the reference says" "$python" "$reference/check_memory.py" new.h5 "$@" --min-rows "$rows"
}

# Four jobs at once: their captures share roles and ranks, so that windows, ties and order matter across them.
for seed in 1 2 3 4; do job_of_all_kinds "kinds/$seed" "$seed"; done
check_reference "jobs of all kinds, best" 1 0 2000 --match best kinds
check_reference "jobs of all kinds, nearest" 2 0 2000 --match nearest kinds
check_reference "jobs of all kinds, enclosing" 3 0 2000 --match enclosing kinds
check_reference "one job of all kinds, shifted" 2 0 400 --match best --time-offset=-12.345 kinds/1
check_reference "one job of all kinds, shifted out of reach" 1 3 400 --match best --time-offset 3700000000 kinds/2

"$python" "$support/gen_memory.py" large --roles actor_update,ref_log_prob --ranks 2 --mb 2 >/dev/null
for policy in best nearest enclosing; do
    check_reference "four traces of 2 MB, $policy" 2 0 1000 --match "$policy" large
done

# --- To the nanosecond --------------------------------------------------------------------------------------
# A double of this many microseconds can only be told from its neighbours 250 ns away. Three events, one ns apart, as
# text and as JSON numbers; three records at the same times, quoted with a TAB and bare.
make_events() { # QUOTE
    local ns
    for ns in 809 810 811; do
        printf '{"name": "aten::add", "cat": "cpu_op", "ph": "X", "ts": %s1736408883694624.%s%s, "dur": %s0.001%s, ' \
            "$1" "$ns" "$1" "$1" "$1"
        printf '"pid": 1, "tid": 1, "args": {"Call stack": "at.py(%s): f"}}' "$ns"
        ((ns == 811)) || printf ', '
    done
}
for form in text number; do
    quote='"'
    [[ $form == text ]] || quote=''
    capture=exact/$form/a_ascend_pt
    make_capture "$capture" 0 "$(record aten::add $'"1736408883694624.811\t"')" "$(record aten::add 1736408883694624.810)" \
        "$(record aten::add $'1736408883694624.809\t')" "$(record aten::add 1736408883694624.808)" \
        "aten::add,-8.5,,1736408883694624.810,,,,,,,1.5,2.5,3.5,6,NPU:0"
    printf '[%s]' "$(make_events "$quote")" >"$capture/$data/trace_view.json"
done
for policy in best nearest enclosing; do
    run_expecting 0 1 -q --force -o new.h5 --match "$policy" exact
    how=$policy
    [[ $policy != best ]] || how=enclosing
    for form in text number; do
        check_text "times as $form, $policy: start and stack to the nanosecond" "[1736408883694624808, \"none\", \"\"]
[1736408883694624809, \"$how\", \"at.py(809): f\"]
[1736408883694624810, \"$how\", \"at.py(810): f\"]
[1736408883694624810, \"none\", \"\"]
[1736408883694624811, \"$how\", \"at.py(811): f\"]" \
            "$(show new.h5 memory_events start_time_ns call_stack_match call_stack --where "role=$form")"
    done
done
check_reference "times to the nanosecond" 1 0 10 --match best exact
finish
