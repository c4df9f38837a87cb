#!/bin/bash
# examples.sh - the examples on the CPU device: same output as on the GPU, same verdicts.
#
#   examples.sh COLLIDER PROGRAMS [-k SEEDS]
#
# PROGRAMS is the folder of tests/gpu/build.sh (here: of the target gpu_programs).
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
collider=$(readlink -f "$1")
programs=$2
shift 2
unset COLLIDER_OPTIONS COLLIDER_CUDART COLLIDER_CPU
DEVICE=cpu exec "$root/tests/gpu/run_races.sh" "$programs" "$collider" "$@"
