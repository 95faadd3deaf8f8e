#!/bin/bash
# Real captures against the reference, against RL-Insight's own rows, and against known numbers.
# usage: real.sh SOURCE_DIR BINARY
set -euo pipefail
. "$(dirname "$0")/../support/testlib.bash"

[[ -d $real_data ]] || skip "there are no real captures beside the repository"
expected=$source_dir/../shared/data/expected/memory_nearest
mkdir "$work/here"
cd "$work/here"

# --- All of them, under every policy ------------------------------------------------------------------------
for policy in best nearest enclosing; do
    run_expecting 0 2 -q -o "$policy.h5" -m memory --match "$policy" "$real_data"
    check "all, $policy: as the reference says" \
        "$python" "$reference/check_memory.py" "$policy.h5" "$real_data" --match "$policy" --min-rows 7000
done

# --- RL-Insight's rows --------------------------------------------------------------------------------------
for peer in "$expected"/*.csv; do
    name=$(basename "$peer" .csv)
    run_expecting 0 1 -q -o peer.h5 --force --match nearest "$real_data/$name"
    check "$name: nearest has RL-Insight's rows" "$python" "$reference/check_peer.py" peer.h5 "$peer" --min-rows 49
done

# --- Known numbers ------------------------------------------------------------------------------------------
matches() { # FILE: the rows by how their stack was found, as "49 nearest, 57 none"
    show "$1" memory_events call_stack_match | tr -d '[]"' | sort | uniq -c | sed 's/^ *//' | paste -sd, | sed 's/,/, /g'
}

check_known() { # NAME EXIT_CODE POLICY MATCHES
    run_expecting "$2" 1 --force -o known.h5 --match "$3" "$real_data/$1"
    check_text "$1, $3: rows by how their stack was found" "$4" "$(matches known.h5)"
    check_text "$1, $3: rows on stdout" "$(tr ' ' '\n' <<<"$4" | awk '{ sum += $1 } END { print sum }')" \
        "$(sed -n 's|^rows of /memory_events: ||p' "$work/stdout")"
}
for level in 0 2 2_db; do
    check_known "resnet_2rank_level$level" 0 best "104 backward, 138 enclosing, 12 nearest, 114 none"
    check_known "resnet_2rank_level$level" 0 nearest "152 nearest, 216 none"
    check_known "resnet_2rank_level$level" 0 enclosing "138 enclosing, 230 none"
    run_expecting 0 1 -q --force -o known.h5 "$real_data/resnet_2rank_level$level"
    check_text "resnet_2rank_level$level: each capture, rows and those with a stack" $'["ok", 184, 127]\n["ok", 184, 127]' \
        "$(show known.h5 captures status memory_rows rows_matched)"
done

# The same kind of run exported as text and as a database: only what differs from run to run does, times and totals.
timeless=(name rank_id component call_stack call_stack_top call_stack_match size_kb is_released device_type)
for form in text:resnet_2rank_level2 db:resnet_2rank_level2_db; do
    run_expecting 0 2 -q --force -o "${form%:*}.h5" "$real_data/${form#*:}"
    show "${form%:*}.h5" memory_events "${timeless[@]}" | sort >"${form%:*}.rows"
done
check "a database gives rows" test "$(wc -l <db.rows)" -eq 368
check_file "a database gives the rows of text" text.rows db.rows
states=(source profiler_db_state trace_view_state operator_memory_state)
check_text "what was read is said" '["db", "read", "absent", "absent"]
["db", "read", "absent", "absent"]' "$(show db.h5 captures "${states[@]}")"

check_known llm_pp2_dp2_4rank 0 best "6329 none"
check_known formats_2023 0 best "49 none"
check_known rl_memory_sample 0 best "49 nearest"
finish
