#!/bin/bash
# Install, build, run rl-insight-mr over a small generated job and look at the result. Can be run again.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/packages.sh
. scripts/packages.sh

step() { printf '\n== %s\n' "$*"; }

# Open MPI starts nothing as root without these two; the third matters in containers only.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl_vader_single_copy_mechanism=none

step "1/5 packages"
install_packages "${packages_build[@]}" "${packages_run[@]}"
echo "all there"

step "2/5 build"
cmake --preset release --log-level=NOTICE
cmake --build --preset release --target rl-insight-mr -- --quiet
echo "built build/release/rl-insight-mr"

step "3/5 a small job: two roles, two ranks each, 5 MB of trace a rank"
rm -rf build/quickstart
mkdir -p build/quickstart
/usr/bin/python3 tests/support/gen_memory.py build/quickstart/profiles \
    --roles actor_update,ref_log_prob --ranks 2 --mb 5

step "4/5 mpirun -np 2 rl-insight-mr"
mpirun -q --oversubscribe -np 2 build/release/rl-insight-mr build/quickstart/profiles \
    -o build/quickstart/job.h5 --force

step "5/5 which source line holds the memory (scripts/show_memory.py)"
/usr/bin/python3 scripts/show_memory.py build/quickstart/job.h5

step "next: the same over your own profiles"
echo "mpirun -q -np $(nproc) build/release/rl-insight-mr /path/to/profiles -o job.h5"
