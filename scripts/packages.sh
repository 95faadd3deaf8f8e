# shellcheck shell=bash
# The Debian packages of this project, and how to install those that are missing. Meant to be sourced.

# shellcheck disable=SC2034  # used by the scripts that source this file
packages_build=(
    build-essential cmake ninja-build pkg-config openmpi-bin libopenmpi-dev
    libyajl-dev libcsv-dev libhdf5-dev libsqlite3-dev zlib1g-dev libdeflate-dev libxxhash-dev libcunit1-dev
)
# shellcheck disable=SC2034
packages_run=(python3-h5py python3-pandas hdf5-tools)
# shellcheck disable=SC2034
packages_test=(
    python3-ijson python3-anndata python3-numpy
    clang-format-14 clang-tidy-14 cppcheck shellcheck mandoc
    clang-14 libclang-rt-14-dev llvm-14 # tests/fuzz/run.sh
    gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user # tests/cross
    slurm-wlm munge
)

# Install those of the named packages that are missing; quiet unless that fails.
install_packages() {
    local package log
    local missing=() as_root=()
    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
        echo "error: no apt here; install the equivalent of: $*" >&2
        return 1
    fi
    for package in "$@"; do
        [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) = installed ]] ||
            missing+=("$package")
    done
    ((${#missing[@]})) || return 0
    if ((EUID != 0)); then
        if ! command -v sudo >/dev/null; then
            echo "error: not root and no sudo; have these installed first: ${missing[*]}" >&2
            return 1
        fi
        as_root=(sudo)
    fi
    echo "installing ${missing[*]}"
    log=$(mktemp)
    as_root+=(env DEBIAN_FRONTEND=noninteractive)
    if ! { "${as_root[@]}" apt-get -qq update &&
        "${as_root[@]}" apt-get -qq -y --no-install-recommends install "${missing[@]}"; } >"$log" 2>&1; then
        cat "$log" >&2
        rm -f "$log"
        echo "error: apt-get failed; needed are: ${missing[*]}" >&2
        return 1
    fi
    rm -f "$log"
}
