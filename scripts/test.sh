#!/bin/bash
# Install, build and run every test, plain and under the sanitizers; the last line is the sum.
#   scripts/test.sh          everything
#   scripts/test.sh --fast   plain build only, without the tests labelled slow
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/packages.sh
. scripts/packages.sh

case "${1:-}" in
'') presets=(dev asan) ;;
--fast) presets=(dev) ;;
*)
    echo "usage: scripts/test.sh [--fast]" >&2
    exit 2
    ;;
esac

# Open MPI: allow root, more processes than cores without spinning, and containers without ptrace.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none

install_packages "${packages_build[@]}" "${packages_run[@]}" "${packages_test[@]}"

reports=()
for preset in "${presets[@]}"; do
    echo "== $preset: build"
    cmake --preset "$preset" --log-level=NOTICE
    cmake --build --preset "$preset" -- --quiet
    echo "== $preset: test"
    report=$PWD/build/$preset/junit.xml
    rm -f "$report"
    skip=()
    [[ ${1:-} != --fast ]] || skip=(-LE '^slow$')
    # The report decides, below: a failure here must not keep the next preset from running.
    ctest --preset "$preset" -j2 "${skip[@]}" --test-output-size-passed 16384 --output-junit "$report" || true
    reports+=("$report")
done

/usr/bin/python3 - "${reports[@]}" <<'PYTHON'
import os, sys, xml.etree.ElementTree as xml

passed = failed = 0
problems = []
for path in sys.argv[1:]:
    preset = os.path.basename(os.path.dirname(path))
    ran = 0
    for case in xml.parse(path).iter("testcase") if os.path.exists(path) else ():
        name, status = case.get("name"), case.get("status")
        skipped = case.find("skipped")
        if status == "run":
            passed += 1
            ran += 1
        elif status == "disabled" or (skipped is not None and skipped.get("message", "").startswith("SKIP_")):
            lines = (case.findtext("system-out") or "").strip().splitlines() or ["no reason printed"]
            print(f"skipped: {preset}: {name}: {lines[-1].strip().removeprefix('skipped: ')}")
        else:  # failed, or not run for a reason that is no decision of the test
            failed += 1
            ran += 1
            problems.append(f"failed: {preset}: {name}")
    if ran == 0:
        failed += 1
        problems.append(f"failed: {preset}: no test ran")
print(*problems, sep="\n", end="\n" if problems else "")
print(f"{passed} passed, {failed} failed")
sys.exit(1 if problems else 0)
PYTHON
