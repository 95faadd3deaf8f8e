#!/bin/bash
# The includes follow the layers: who may see whom, and which layer owns which library.
#   usage: layers.sh SOURCE_DIR
# A public header, include/rlmr/x.h, names its layer in its first lines: /* layer: core */
# A private header is included as "x.h" from its own directory only.
set -euo pipefail
. "$(dirname "$0")/lint.bash"
enter "$@"

declare -A may_see=(
    [core]="core"
    [io]="io core"
    [mapper]="mapper io core"
    [reducer]="reducer core"
    [comm]="comm core"
    [cli]="cli core"
    [app]="app cli mapper reducer comm io core"
    [export]="export cli io core"
)

# Sets owner: the layer that may include a library's header from its sources.
find_owner() {
    case $1 in
    mpi.h) owner='comm' ;;
    yajl/*.h | csv.h | hdf5.h | sqlite3.h | zlib.h | libdeflate.h) owner=io ;;
    xxhash.h | immintrin.h | arm_neon.h) owner=core ;;
    *) owner='' ;;
    esac
}

# ISO C11 and POSIX, as far as glibc has them; whatever is in neither list wants a decision.
is_libc() {
    case $1 in
    assert.h | ctype.h | errno.h | fenv.h | float.h | inttypes.h | iso646.h | limits.h | locale.h | math.h | \
        setjmp.h | signal.h | stdalign.h | stdarg.h | stdatomic.h | stdbool.h | stddef.h | stdint.h | stdio.h | \
        stdlib.h | stdnoreturn.h | string.h | strings.h | tgmath.h | threads.h | time.h | uchar.h | wchar.h | \
        wctype.h | malloc.h | dirent.h | fcntl.h | fnmatch.h | ftw.h | getopt.h | glob.h | langinfo.h | libgen.h | poll.h | \
        pthread.h | regex.h | sched.h | semaphore.h | termios.h | unistd.h | sys/*.h) ;;
    *) return 1 ;;
    esac
}

# The layers that public headers declare; a header made by CMake declares it in its template.
declare -A layer_of=()
while IFS=: read -r file line; do
    name=${file#include/rlmr/}
    layer_of[${name%.in}]=${layer_of[${name%.in}]:-${line:3:-3}}
done < <(awk 'FNR > 5 { nextfile } /^\/\* [l]ayer: [a-z]+ \*\/$/ { sub(/layer: /, ""); print FILENAME ":" $0 }' include/rlmr/*)

check_include() { # FILE LINE LAYER PRIVATE_DIR KIND NAME
    local file=$1 place=$1:$2 layer=$3 dir=$4 kind=$5 name=$6 owner
    # inside include/rlmr a neighbour may go without the directory
    [[ -n $dir || $kind != '"' || $name = rlmr/* ]] || name=rlmr/$name
    if [[ $name = rlmr/* ]]; then
        owner=${layer_of[${name#rlmr/}]:-}
        if [[ -z $owner ]]; then
            complain "$place: $name does not exist in include, or names no layer"
        elif [[ " ${may_see[$layer]} " != *" $owner "* ]]; then
            complain "$place: $layer must not include $name, which belongs to $owner"
        fi
    elif [[ $kind = '"' ]]; then
        [[ $name != */* ]] || complain "$place: \"$name\": a private header is included from its own directory"
        [[ -f $dir/$name ]] || complain "$place: \"$name\" is not beside the file"
    else
        find_owner "$name"
        if [[ -n $owner ]]; then
            [[ $owner = "$layer" ]] || complain "$place: <$name> is for $owner only"
            [[ -n $dir || $owner = core ]] || complain "$place: <$name> must not show in a public header"
        else
            is_libc "$name" || complain "$place: <$name> is neither libc nor a library with a layer"
        fi
    fi
}

mapfile -t files < <(find src include -name '*.[ch]' -o -name '*.h.in' -o -name '*.inc' -o -name '*.def' 2>/dev/null |
    sort)
declare -A layer_at=() dir_at=()
for file in "${files[@]}"; do
    layer='' dir=''
    case $file in
    src/*/*)
        dir=${file%/*}
        layer=${file#src/}
        layer=${layer%%/*}
        ;;
    include/rlmr/*)
        name=${file#include/rlmr/}
        layer=${layer_of[${name%.in}]:-}
        ;;
    esac
    [[ -n $layer && -n ${may_see[$layer]:-} ]] ||
        complain "$file: belongs to no layer; a public header says it in its first lines: /* layer: core */"
    layer_at[$file]=$layer
    dir_at[$file]=$dir
done
while read -r file line kind name; do
    [[ -z ${may_see[${layer_at[$file]:-none}]:-} ]] ||
        check_include "$file" "$line" "${layer_at[$file]}" "${dir_at[$file]}" "$kind" "$name"
done < <(awk '
    /^[[:blank:]]*#[[:blank:]]*include/ {
        text = $0
        if (!sub(/^[[:blank:]]*#[[:blank:]]*include[[:blank:]]*/, "", text) || text !~ /^[<"][^>"]*[>"]/) {
            print FILENAME, FNR, "? a name made by a macro"
            next
        }
        name = substr(text, 2)
        sub(/[>"].*/, "", name)
        print FILENAME, FNR, substr(text, 1, 1), name
    }' "${files[@]}")
finish ${#files[@]} "C files"
