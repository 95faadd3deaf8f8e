# shellcheck shell=bash
# What the lints have in common. Sourced by each; a lint calls enter, then complain for each finding, then finish.

findings=0

enter() { # SOURCE_DIR
    cd "${1:?usage: ${0##*/} SOURCE_DIR [BUILD_DIR or BINARY]}" || exit 1
}

need() { # TOOL: without it the lint is skipped, in ctest's words
    command -v "$1" >/dev/null || {
        echo "skipped: $1 is not installed"
        exit 77
    }
}

complain() {
    echo "$*"
    findings=$((findings + 1))
}

finish() { # COUNT WHAT
    if (($1 == 0)); then
        echo "nothing to check: no $2 found in $PWD"
        exit 1
    fi
    echo "checked $1 $2: $findings findings"
    ((findings == 0))
}

# The files of the project: what git tracks or would track, else all but the build trees.
project_files() {
    if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
        # deleted but still in the index is not a file
        git ls-files -co --exclude-standard | while read -r file; do [[ ! -f $file ]] || echo "$file"; done
    else
        find . \( -name .git -o -path ./build \) -prune -o -type f -printf '%P\n'
    fi | sort
}
