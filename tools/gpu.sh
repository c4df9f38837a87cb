#!/bin/sh
# gpu.sh - all tests that need a GPU, on this machine: gpu.sh BUILD
set -eu
cd "$(dirname "$0")/.."
build=$(cd "$1" && pwd)
cap=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -n 1 | tr -d '. ') || {
	echo "gpu: nvidia-smi does not answer: no GPU or no driver here" >&2
	exit 3
}
NVCC=$(tools/find_cuda.sh)/bin/nvcc
ARCH=sm_$cap
export NVCC ARCH
PATH=$(dirname "$NVCC"):$PATH
tests/gpu/build.sh "$build/gpu" "$build/bin/collider"
tests/gpu/run_races.sh "$build/gpu" "$build/bin/collider"
tests/gpu/run_racefree.sh "$build/gpu" "$build/bin/collider"
ctest --test-dir "$build" -L gpu --output-on-failure
