#!/bin/bash
# Which captures a run takes: --rank-list, --role, --input-list, several inputs, links.
# usage: filters.sh SOURCE_DIR BINARY
set -euo pipefail
. "$(dirname "$0")/../support/testlib.bash"

mkdir "$work/here"
cd "$work/here"
job_of_all_kinds job
run_expecting 0 1 -o all.h5 job

# --- Filters ------------------------------------------------------------------------------------------------
# What a filter leaves is what the unfiltered file says of the same captures, numbered anew.
ranks=0,1,2,3,12,13,14,15
roles="actor,ref log prob,Критик 评论家"
check_filter() { # SENTENCE PROCESSES RANKS ROLES OPTION...: what is left, and what asks for it
    local sentence=$1 conditions=(--where "rank_id=$3" --where "role=$4")
    run_expecting 0 "$2" -q --force -o some.h5 "${@:5}" job
    show all.h5 captures --without capture "${conditions[@]}" >expected
    show some.h5 captures --without capture >actual
    check_file "$sentence: captures" <(cut -d, -f1-3 expected) <(cut -d, -f1-3 actual)
    # paths are relative to what is left, so only their ends agree
    check_text "$sentence: numbered from 0" "$(seq 0 $(($(wc -l <actual) - 1)))" \
        "$(show some.h5 captures capture | tr -d '[]')"
    show all.h5 memory_events --without capture "${conditions[@]}" >expected
    show some.h5 memory_events --without capture >actual
    check_file "$sentence: rows" expected actual
    check "$sentence: some rows are left, and some are not" test "$(wc -l <actual)" -gt 20 -a "$(wc -l <actual)" -lt 600
}
attributes() { show "$1" --attribute rank_list --attribute role | paste -sd' '; }
check_filter "two ranks" 1 0,2 "$roles" --rank-list 0,2
check_text "two ranks: attributes" '"0,2" "all"' "$(attributes some.h5)"
check_filter "ranges that overlap, in any order" 3 0,1,2,13,14,15 "$roles" --rank-list 13-15,2,0-1,1-2,14
check_text "ranges that overlap: attributes are joined ranges" '"0-2,13-15" "all"' "$(attributes some.h5)"
check_filter "a role with blanks" 1 "$ranks" "ref log prob" --role "ref log prob" --rank-list all
check_text "a role with blanks: attributes" '"all" "ref log prob"' "$(attributes some.h5)"
run_expecting 0 1 -q --force -o some.h5 --role all --rank-list all job
check "all roles and all ranks: the same bytes" cmp all.h5 some.h5
check_filter "two roles" 3 "$ranks" "Критик 评论家,actor" --role "Критик 评论家,actor"
check_text "two roles: attributes" '"all" "Критик 评论家,actor"' "$(attributes some.h5)"
check_filter "a role and a rank" 1 0 actor --role actor --rank-list 0
check_text "a role and a rank: windows 0 to 2 of one rank" "[0] [1] [2]" "$(show some.h5 captures window | paste -sd' ')"
check_text "a role and a rank: rows name their capture" "[0] [1] [2]" \
    "$(show some.h5 memory_events capture | sort -u | paste -sd' ')"
check_text "without filters: attributes" '"all" "all"' "$(attributes all.h5)"

# A capture without a rank is in no list of ranks; that is said.
cp -r job norank
mkdir -p "norank/nobody/x_ascend_pt/$data"
run_expecting 3 1 -q -o norank.h5 norank
check_text "a capture without a rank id is in the file" '["nobody", -1, "failed"]' \
    "$(show norank.h5 captures role rank_id status --where rank_id=-1)"
run_expecting 0 1 -q -o norank_list.h5 --rank-list 0-15 norank
check_text "a capture without a rank id is left out by --rank-list" "" \
    "$(show norank_list.h5 captures role rank_id status --where rank_id=-1)"
check "that it is left out is said" grep -q '^rl-insight-mr: warning: 1 captures\? without a rank id' "$work/stderr"

# --- Inputs -------------------------------------------------------------------------------------------------
same_as_all() { # SENTENCE PROCESSES ARGUMENT...: the bytes of the whole job
    local sentence=$1
    shift
    run_expecting 0 "$1" -q --force -o same.h5 "${@:2}"
    check "$sentence" cmp all.h5 same.h5
}
printf 'job/critic_节点_1\r\n\njob/训练 作业' >list
same_as_all "--input-list FILE, with CRLF, a blank line and no line end at last" 1 --input-list list
same_as_all "--input-list FILE on three processes" 3 --input-list list
same_as_all "--input-list and an INPUT together" 1 --input-list <(echo job/critic_节点_1) "job/训练 作业"
for processes in 1 2; do
    launcher "$processes"
    check "--input-list - on $processes processes ends well" timeout -k 5 "$patience_s" "${launch[@]}" "$binary" -q \
        --force -o same.h5 --input-list - <list >/dev/null 2>"$work/stderr"
    check "--input-list - on $processes processes" cmp all.h5 same.h5
done
same_as_all "several inputs" 1 job/critic_节点_1 "job/训练 作业/actor" "job/训练 作业/step 2" "job/训练 作业/ref log prob"
same_as_all "several inputs in another order, on two processes" 2 "job/训练 作业" job/critic_节点_1
same_as_all "an absolute path with dots and slashes at its end" 1 "$PWD/./job/../job//"
mapfile -t captures < <(find job -name '*_ascend_pt')
check_text "there are 14 captures" 14 "${#captures[@]}"
same_as_all "every capture by itself as INPUT" 1 "${captures[@]}"
same_as_all "every capture by itself, and again below a root" 1 "${captures[@]}" job
same_as_all "two roots, one within the other" 1 "job/训练 作业" job "job/训练 作业/step 2"
ln -s job link
same_as_all "a link as INPUT is followed" 1 link
same_as_all "a link and its target count once" 2 link job

run_expecting 0 1 -q -o one.h5 "job/训练 作业/step 2/rank0_ascend_pt"
check_text "a capture as INPUT: its path is its name" '[0, "actor", 0, "rank0_ascend_pt", "ok"]' \
    "$(show one.h5 captures capture role rank_id path status)"
show all.h5 memory_events --without capture --where capture=0 >expected
show one.h5 memory_events --without capture >actual
check_file "a capture as INPUT: its rows" expected actual

# --- Links below an input -----------------------------------------------------------------------------------
cp -r job linked
ln -s "$PWD/job/critic_节点_1" linked/elsewhere
ln -s "$PWD/job/训练 作业/actor/host0_1000_20250109143043123_ascend_pt" linked/again_ascend_pt
ln -s .. linked/loop
ln -s nowhere linked/dangling_ascend_pt
same_as_all "links to directories and captures, a loop and a dangling link are not followed" 2 linked
# A capture is not searched for further captures.
mkdir -p "nested/actor/a_ascend_pt/$data"
make_capture nested/actor/a_ascend_pt 0 "$(record aten::add 1736408883694624.810)"
make_capture "nested/actor/a_ascend_pt/$data/b_ascend_pt" 1
run_expecting 0 1 -q -o nested.h5 nested
check_text "a capture within a capture is none" '[0, "a_ascend_pt"]' "$(show nested.h5 captures rank_id path)"
# Only the end of a name counts.
make_capture names/actor/b_ascend_pt_old 1
make_capture names/actor/_ascend_pt 2
echo text >names/actor/file_ascend_pt
run_expecting 0 1 -q -o names.h5 names
check_text "a directory counts by the end of its name" '[2, "_ascend_pt"]' "$(show names.h5 captures rank_id path)"

# Nothing was written into the inputs.
job_of_all_kinds again
check "the inputs are as they were" diff -r again job
finish
