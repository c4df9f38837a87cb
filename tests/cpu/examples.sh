#!/bin/bash
# examples.sh - the examples on the CPU device: same output as on the GPU, same verdicts.
#
#   examples.sh COLLIDER WORKDIR [-k SEEDS]
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
collider=$(readlink -f "$1")
work=$2
shift 2
mkdir -p "$work"
unset COLLIDER_OPTIONS COLLIDER_CUDART COLLIDER_CPU
SETS=examples "$root/tests/gpu/build.sh" "$work" "$collider"
DEVICE=cpu exec "$root/tests/gpu/run_races.sh" "$work" "$collider" "$@"
