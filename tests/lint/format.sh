#!/bin/bash
# Every C file is laid out as .clang-format says.   usage: format.sh SOURCE_DIR
set -euo pipefail
. "$(dirname "$0")/lint.bash"
enter "$@"
need clang-format-14

mapfile -t files < <(find src include tests -name '*.[ch]' 2>/dev/null | sort)
while IFS=: read -r file _; do
    complain "$file: not formatted; see clang-format-14 $file | diff $file -"
done < <(clang-format-14 --dry-run --Werror --style=file "${files[@]}" 2>&1 | { grep 'clang-format-violations' || true; } | sort -u -t: -k1,1)
finish ${#files[@]} "C files"
