#!/bin/bash
# Text files: no path of somebody's machine, no tab, no trailing blank, no marker of unfinished work, no big file;
# and what README.md tells to type and to read exists.   usage: text.sh SOURCE_DIR
set -euo pipefail
. "$(dirname "$0")/lint.bash"
enter "$@"

limit_bytes=$((512 * 1024))
tab=$'\t'
report() { # GREP_OPTION PATTERN MESSAGE FILE...
    local option=$1 pattern=$2 message=$3 hit
    shift 3
    while IFS= read -r hit; do complain "$hit: $message"; done < <(grep -HnI "$option" -e "$pattern" -- "$@" | cut -c1-160)
}

mapfile -t files < <(project_files)
while IFS=: read -r bytes file; do
    ((bytes <= limit_bytes)) || complain "$file: $bytes bytes, more than $limit_bytes"
done < <(stat -c %s:%n -- "${files[@]}")
# captures and expected results are as their tools wrote them
texts=()
for file in "${files[@]}"; do
    case $file in
    tests/data/* | tests/*/data/* | tests/*/fixtures/* | tests/*/corpus/* | tests/*/expected/* | *.csv | *.json) ;;
    *) texts+=("$file") ;;
    esac
done
report -E '(^|[^A-Za-z0-9_.$}-])/([w]ork|[r]oot|[h]ome/[A-Za-z]|[U]sers/)' "path of a machine" "${texts[@]}"
report -F "$tab" "tab" "${texts[@]}"
report -E ' +$' "trailing blank" "${texts[@]}"
report -wE 'TO[D]O|FIX[M]E|XX[X]' "unfinished" "${texts[@]}"

# Commands of README.md: each line of a shell block begins with a program that exists, and names existing files.
commands=0
while read -r line; do
    commands=$((commands + 1))
    read -r -a words <<<"$line"
    while [[ ${words[0]:-} =~ ^[A-Za-z_]+= ]]; do words=("${words[@]:1}"); done
    first=${words[0]:-}
    case $first in
    '' | sudo | git | sbatch | srun | rl-insight-mr | */rl-insight-mr) ;;
    */*) [[ -x $first ]] || complain "README.md: $first is not a program here: $line" ;;
    *) command -v "$first" >/dev/null || complain "README.md: there is no command $first: $line" ;;
    esac
    for word in "${words[@]}"; do
        case ${word#./} in
        scripts/* | tests/* | docs/* | .ci/*) [[ -e $word ]] || complain "README.md: $word does not exist: $line" ;;
        esac
    done
done < <([[ ! -f README.md ]] || awk '
    /^ *```/ { on = !on && /```(sh|bash|console|shell)/; next }
    on {
        sub(/^ *\$ /, ""); sub(/(^| )#.*/, "")
        if (more) { more = /\\$/; next }    # the rest of a command
        more = /\\$/; sub(/ *\\$/, "")
        if ($0 !~ /^ *$/) print
    }' README.md)
((commands > 0)) || complain "README.md: no shell block with a command found"

# Links between the documents, without anchors.
while IFS=: read -r file link; do
    [[ -e $(dirname "$file")/$link ]] || complain "$file: link to $link leads nowhere"
done < <(project_files | { grep '\.md$' || true; } | xargs -r grep -HoE '\]\([^)#: ]+[)#]' | sed -E 's/:\]\(/:/; s/[)#]$//')

echo "README commands checked: $commands"
finish "${#files[@]}" "files"
