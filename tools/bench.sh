#!/bin/sh
# bench.sh - bench/ptx on the corpus, and bench/overhead where there is a GPU: bench.sh BUILD
set -eu
cd "$(dirname "$0")/.."
build=$(cd "$1" && pwd)
cuda=$(tools/find_cuda.sh)
PATH=$cuda/bin:$PATH
TARGETS=main NVCC=$cuda/bin/nvcc tests/corpus/generate.sh "$build/bench_corpus"
"$build/bin/bench_ptx" "$build"/bench_corpus/cub_device.sm_90.ptx
if cap=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null); then
	ARCH=sm_$(echo "$cap" | head -n 1 | tr -d '. ')
	export ARCH
	tests/gpu/build.sh "$build/gpu" "$build/bin/collider"
	bench/overhead/run.sh "$build/gpu" "$build/bin/collider" -o "$build/overhead.json"
else
	echo "bench: no GPU here, bench/overhead was not run"
fi
