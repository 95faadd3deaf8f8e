#!/bin/bash
# clang-tidy with the checks of .clang-tidy over the product.   usage: tidy.sh SOURCE_DIR BUILD_DIR
set -euo pipefail
. "$(dirname "$0")/lint.bash"
build=$(realpath "${2:?usage: tidy.sh SOURCE_DIR BUILD_DIR}")
enter "$@"
need clang-tidy-14
[[ -f $build/compile_commands.json ]] || {
    echo "no compile_commands.json in $build"
    exit 1
}

mapfile -t files < <(find src -name '*.c' 2>/dev/null | sort)
# gcc's own warning options mean nothing to clang
((${#files[@]} == 0)) || printf '%s\0' "${files[@]}" |
    xargs -0 -n1 -P2 clang-tidy-14 -p "$build" --quiet --extra-arg=-Wno-unknown-warning-option 2>&1 |
    { grep -vE '^[0-9]+ warnings?( treated as errors?| generated)|^Suppressed |^Use -header-filter' || true; } ||
    complain "clang-tidy has findings"
finish ${#files[@]} "C files"
