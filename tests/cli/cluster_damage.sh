#!/bin/bash
# Step trace, communication and metadata damaged in many ways: what is kept, what is lost, what is said. See cluster_damage.py.
# usage: cluster_damage.sh SOURCE_DIR BINARY
set -euo pipefail
. "$(dirname "$0")/../support/testlib.bash"

check "each damage costs what it must, and is said" "$python" "$support/cluster_damage.py" "$work" "$binary"
finish
