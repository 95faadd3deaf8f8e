#!/bin/bash
# cppcheck over the product.   usage: cppcheck.sh SOURCE_DIR
set -euo pipefail
. "$(dirname "$0")/lint.bash"
enter "$@"
need cppcheck

mapfile -t files < <(find src -name '*.c' 2>/dev/null | sort)
suppress=(
    --suppress=missingIncludeSystem                  # cppcheck does not read system headers, and need not
    --suppress=unmatchedSuppression                  # an inline suppression may be for another version of cppcheck
    --suppress=unusedStructMember                    # members that only a descriptor names, by offset
    --suppress=readdirCalled                         # readdir_r is deprecated; no two threads share a directory stream
    --suppress=constParameterCallback                # the library that calls decides about the signature
    --suppress=constParameter:src/comm/comm_serial.c # its signatures are those of comm_mpi.c
)
((${#files[@]} == 0)) || cppcheck -q -j2 --std=c11 --library=posix -I include \
    --enable=warning,style,performance,portability --inline-suppr --error-exitcode=1 \
    "${suppress[@]}" "${files[@]}" || complain "cppcheck has findings"
finish ${#files[@]} "C files"
