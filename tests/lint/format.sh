#!/bin/bash
# Every C file is laid out as .clang-format says.   usage: format.sh SOURCE_DIR
set -euo pipefail
. "$(dirname "$0")/lint.bash"
enter "$@"
need clang-format-14

mapfile -t files < <(find src include tests -name '*.[ch]' 2>/dev/null | sort)
code=0
said=$(clang-format-14 --dry-run --Werror --style=file "${files[@]}" 2>&1) || code=$?
while read -r file; do
    complain "$file: not formatted; see clang-format-14 $file | diff $file -"
done < <(sed -nE 's/^([^:]+):.*clang-format-violations.*/\1/p' <<<"$said" | sort -u)
((code == 0 || findings > 0)) || complain "clang-format-14 itself failed: $said"
finish ${#files[@]} "C files"
