#!/bin/bash
# cuda_gdb.sh - cuda-gdb stops at a race of a program built with --trap, with a backtrace.
#
#   cuda_gdb.sh PROGRAM SOURCE [SCRIPT]
#
# PROGRAM is SOURCE (examples/stencil.cu, say) built with `collider nvcc --trap -lineinfo` or -G;
# SCRIPT is tools/cuda-gdb/collider.gdb. Exit code 77: there is no GPU or no cuda-gdb (CUDA_GDB can
# name one).
set -u

[ $# -ge 2 ] || { echo "usage: $0 PROGRAM SOURCE [SCRIPT]" >&2; exit 2; }
program=$1
source=$2
script=${3:-$(cd "$(dirname "$0")/../../tools/cuda-gdb" && pwd)/collider.gdb}
gdb=${CUDA_GDB:-$(command -v cuda-gdb)}
[ "$gdb" ] || { echo "skip: no cuda-gdb"; exit 77; }
[ -e /dev/nvidiactl ] || { echo "skip: no GPU"; exit 77; }

out=$(mktemp) || exit 2
trap 'rm -f "$out"' EXIT
timeout 300 "$gdb" -batch -x "$script" -ex run -ex collider-race -ex kill --args "$program" >"$out" 2>&1
bad=0
found=0
for line in $(grep -n '// race: ' "$source" | cut -d: -f1); do
	grep -q "^#0 .*$(basename "$source"):$line" "$out" && found=1
done
[ $found -eq 1 ] || { echo "FAIL: frame 0 is not at a racy line of $source"; bad=1; }
[ $bad -eq 0 ] && echo "stopped at the race: $(grep '^#0 ' "$out" | head -1)"
[ $bad -eq 0 ] || cat "$out"
exit $bad
