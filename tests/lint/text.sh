#!/bin/bash
# Text files: no path of somebody's machine, no tab, no trailing blank, no marker of unfinished work, no big file;
# and what README.md tells to type and to read exists.   usage: text.sh SOURCE_DIR
set -euo pipefail
. "$(dirname "$0")/lint.bash"
enter "$@"

limit_bytes=$((512 * 1024))
tab=$'\t'
report() { # GREP_OPTION PATTERN MESSAGE FILE
    local hit
    while IFS= read -r hit; do complain "$4:$hit: $3"; done < <(grep -nI "$1" -e "$2" -- "$4" | cut -c1-120)
}

count=0
while read -r file; do
    count=$((count + 1))
    bytes=$(stat -c %s -- "$file")
    ((bytes <= limit_bytes)) || complain "$file: $bytes bytes, more than $limit_bytes"
    # captures and expected results are as their tools wrote them
    case $file in
    tests/data/* | tests/*/data/* | tests/*/fixtures/* | tests/*/corpus/* | tests/*/expected/* | *.csv | *.json) continue ;;
    esac
    report -E '(^|[^A-Za-z0-9_.$}-])/([w]ork|[r]oot|[h]ome/[A-Za-z]|[U]sers/)' "path of a machine" "$file"
    report -F "$tab" "tab" "$file"
    report -E ' +$' "trailing blank" "$file"
    report -wE 'TO[D]O|FIX[M]E|XX[X]' "unfinished" "$file"
done < <(project_files)

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
finish "$count" "files"
