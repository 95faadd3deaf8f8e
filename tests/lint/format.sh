#!/bin/bash
# Every C file is laid out as .clang-format says.   usage: format.sh SOURCE_DIR
set -euo pipefail
. "$(dirname "$0")/lint.bash"
enter "$@"
need clang-format-14

mapfile -t files < <(find src include tests -name '*.[ch]' 2>/dev/null | sort)
for file in "${files[@]}"; do
    clang-format-14 --dry-run --Werror --style=file "$file" 2>/dev/null || complain "$file: not formatted; see clang-format-14 $file | diff $file -"
done
finish ${#files[@]} "C files"
