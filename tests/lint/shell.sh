#!/bin/bash
# Every shell script passes shellcheck, also those without a suffix.   usage: shell.sh SOURCE_DIR
set -euo pipefail
. "$(dirname "$0")/lint.bash"
enter "$@"
need shellcheck

mapfile -t all < <(project_files)
mapfile -t files < <(awk '
    FNR == 1 { if (FILENAME ~ /\.(sh|bash|sbatch)$/ || /^#!.*[\/ ](ba|da)?sh( |$)/) print FILENAME; nextfile }' "${all[@]}")
shellcheck -x --source-path=. --source-path=SCRIPTDIR "${files[@]}" || complain "shellcheck: see above"
finish ${#files[@]} "shell scripts"
