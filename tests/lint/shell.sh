#!/bin/bash
# Every shell script passes shellcheck, also those without a suffix.   usage: shell.sh SOURCE_DIR
set -euo pipefail
. "$(dirname "$0")/lint.bash"
enter "$@"
need shellcheck

files=()
while read -r file; do
    case $file in
    *.sh | *.bash | *.sbatch) files+=("$file") ;;
    *) ! head -n1 -- "$file" | grep -qaE '^#!.*\b(ba|da)?sh\b' || files+=("$file") ;;
    esac
done < <(project_files)

for file in "${files[@]}"; do
    shellcheck -x --source-path=. --source-path=SCRIPTDIR "$file" || complain "$file: see above"
done
finish ${#files[@]} "shell scripts"
