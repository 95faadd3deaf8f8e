#!/bin/bash
# Core and its unit tests are built for 64-bit ARM and run by qemu.   usage: aarch64.sh SOURCE_DIR BUILD_DIR
set -euo pipefail

usage="usage: ${0##*/} SOURCE_DIR BUILD_DIR"
source_dir=$(realpath "${1:?$usage}")
build=$(realpath "${2:?$usage}")/cross-aarch64
for tool in aarch64-linux-gnu-gcc qemu-aarch64; do
    command -v "$tool" >/dev/null || {
        echo "skipped: $tool is not installed"
        exit 77
    }
done
[[ -d /usr/aarch64-linux-gnu/include ]] || {
    echo "skipped: there is no libc for aarch64 here (libc6-dev-arm64-cross)"
    exit 77
}

cmake -S "$source_dir/tests/cross" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=None \
    -DCMAKE_TOOLCHAIN_FILE="$source_dir/cmake/aarch64.cmake"
cmake --build "$build"
ctest --test-dir "$build" --verbose --no-tests=error
