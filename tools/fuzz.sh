#!/bin/sh
# fuzz.sh - fuzz_ptx for some seconds on a copy of the seed corpus: fuzz.sh BUILD SECONDS
#
# The copy keeps what libFuzzer adds out of the sources. A crash leaves its input in the build folder
# and ends with exit code 77 (libFuzzer's).
set -eu
cd "$(dirname "$0")/.."
seeds=$1/corpus
mkdir -p "$seeds"
cp tests/fuzz/corpus/*.ptx tests/corpus/*.ptx "$seeds"
exec "$1/bin/fuzz_ptx" -max_total_time="$2" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
	-artifact_prefix="$1/" "$seeds"
