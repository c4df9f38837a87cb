#!/bin/sh
# fuzz.sh - fuzz_ptx for some seconds, from the seeds and the PTX corpus: fuzz.sh BUILD SECONDS
#
# libFuzzer adds to the first folder only, which is in BUILD. A crash leaves its input in BUILD and
# ends with exit code 77 (libFuzzer's).
set -eu
cd "$(dirname "$0")/.."
mkdir -p "$1/corpus"
exec "$1/bin/fuzz_ptx" -max_total_time="$2" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
	-artifact_prefix="$1/" "$1/corpus" tests/fuzz/corpus tests/corpus
