#!/bin/sh
# demo.sh - show the main job on examples/reduction.cu, racy and fixed: demo.sh COLLIDER
#
# The race must be found in one and not in the other: on the GPU where there is one, else on the
# CPU device.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
collider=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
work=$root/build/demo
mkdir -p "$work"
cd "$root"

show() { # the command as the reader would type it, then its output
	echo "\$ $(echo "$*" | sed "s,$collider,collider,; s,$root/,,g")"
	"$@"
}
fail() { echo "demo: $*" >&2; exit 1; }

arch=sm_80
has_gpu=
if smi=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null); then
	cap=$(echo "$smi" | head -n 1 | tr -d '. ')
	case $cap in
	[0-9]*) arch=sm_$cap has_gpu=1 ;;
	esac
fi

echo "--- 1. compile a program that lacks a barrier; nvcc's options stay as they are"
for name in reduction reduction.fixed; do
	show "$collider" nvcc -O3 -arch=$arch "examples/$name.cu" -o "build/demo/$name"
done

echo
echo "--- 2. what was put into its PTX"
nvcc=$(tools/find_cuda.sh)/bin/nvcc
show "$nvcc" -ptx -O3 -arch=$arch -lineinfo examples/reduction.cu -o build/demo/reduction.ptx
show "$collider" instrument --stats build/demo/reduction.ptx -o build/demo/checked.ptx
calls=$(grep -c '^[[:space:]].*call.* __collider_' build/demo/checked.ptx) ||
	fail "no checks in the PTX"
echo "($(grep -c . build/demo/reduction.ptx) lines became $(grep -c . build/demo/checked.ptx);" \
	"$calls of them call a report function)"

echo
echo "--- 3. run it"
if [ "$has_gpu" ]; then
	where="on this machine's GPU"
else
	where="on the CPU device, since this machine has no GPU"
fi
echo "(it runs $where)"
show "$collider" run --error-exitcode=99 -- build/demo/reduction && rc=0 || rc=$?
[ $rc -eq 99 ] || fail "the race in reduction was not found (exit code $rc)"
echo
show "$collider" run --error-exitcode=99 -- build/demo/reduction.fixed && rc=0 || rc=$?
[ $rc -eq 0 ] || fail "reduction.fixed should run without a report (exit code $rc)"
echo
echo "demo: the race was found in reduction, and none in reduction.fixed, $where"
