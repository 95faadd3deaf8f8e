#!/bin/bash
# The man pages are sound, and the page of each program has the options of --help, no more and no less.
#   usage: man.sh SOURCE_DIR BINARY...
set -euo pipefail
. "$(dirname "$0")/lint.bash"
mapfile -t binaries < <(realpath "${@:2}")
((${#binaries[@]} > 0)) || {
    echo "usage: man.sh SOURCE_DIR BINARY..."
    exit 1
}
enter "$@"
need mandoc

mapfile -t pages < <(find docs/man -name '*.1' 2>/dev/null | sort)
for page in "${pages[@]}"; do
    mandoc -T lint -W warning "$page" || complain "$page: see above"
done

# Option names that open a line, of all lines that begin with a dash at the least such indent; text that
# happens to begin with a dash stands further in.
option_names() {
    awk 'match($0, /^ *-/) { if (!least || RLENGTH < least) least = RLENGTH; line[++n] = $0; at[n] = RLENGTH }
        END { for (i = 1; i <= n; i++) if (at[i] <= least + 4) print line[i] }' |
        sed -E 's/^ *//; s/   .*//' | { grep -oE '(^|[ ,/])--?[A-Za-z][A-Za-z0-9-]*' || true; } | tr -d ' ,/' | sort -u
}

compare_options() { # BINARY
    local binary=$1 page=docs/man/${1##*/}.1 option in_help in_page
    [[ -x $binary && -f $page ]] || {
        complain "$page or $binary is missing"
        return 0
    }
    in_help=$("$binary" --help | option_names)
    # -T ascii prints bold and underlined text by overstriking
    in_page=$(mandoc -T ascii -O width=200 "$page" | sed $'s/.\b//g' |
        awk '/^[A-Z]/ { on = /^(OPTIONS|DESCRIPTION)/ } on' | option_names)
    [[ -n $in_help ]] || complain "$binary --help: no option found"
    for option in $(comm -23 <(echo "$in_help") <(echo "$in_page")); do
        complain "$page: $option of --help is missing"
    done
    for option in $(comm -13 <(echo "$in_help") <(echo "$in_page")); do
        complain "$page: $option is not in --help"
    done
    echo "options compared: $(wc -w <<<"$in_help")"
}

for program in "${binaries[@]}"; do
    compare_options "$program"
done
finish ${#pages[@]} "man pages"
