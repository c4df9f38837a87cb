#!/bin/bash
# defaults.sh - what collider run does on the CPU device without --detector: collide and the oracle, their
# findings as one; the oracle steps aside where it is full; host code is watched.
#
#   defaults.sh COLLIDER NVCC WORK
#
# defaults/program.cu, which ends with exit code 3 and "done" whatever is found.
set -u
collider=$1 nvcc=$2 work=$3
source=$(cd "$(dirname "$0")" && pwd)/defaults/program.cu
unset COLLIDER_OPTIONS COLLIDER_CPU COLLIDER_CUDART
failed=0
mkdir -p "$work" && cd "$work" || exit 2
[ program -nt "$source" ] ||
	"$nvcc" -gencode arch=compute_90,code=compute_90 -g -lineinfo -cudart shared "$source" -o program || exit 2

fail() {
	echo "FAIL: $*"
	cat report err
	failed=1
}

# The line of the source that has this text.
at() {
	grep -n -- "$1" "$source" | cut -d: -f1
}

# run RC OPTIONS NAME: the exit code; findings in $races, text in report and err. LIMITS: of the device.
run() {
	local rc=0
	"$collider" run --device=cpu $2 --json=json --log-file=report -- \
		sh -c 'COLLIDER_CPU=$COLLIDER_CPU$0 exec ./program $1' "${LIMITS:-}" "$3" >out 2>err || rc=$?
	[ $rc -eq "$1" ] || fail "$3 $2: exit code $rc, expected $1"
	grep -q '^done$' out || fail "$3 $2: the program did not go on"
	races=$(grep '"type":"finding"' json | grep -c '"counts":true')
}

# One finding, with both sides, for what both detectors find; by any way of asking for both.
for options in "" --detector=oracle,collide; do
	run 3 "$options" shared
	[ $races -eq 1 ] || fail "shared $options: $races data races, expected one for both detectors"
	for line in $(at 's.threadIdx.x. = threadIdx') $(at "the race's other side"); do
		grep -q "program.cu:$line" report || fail "shared $options: the side in line $line is missing"
	done
	run 3 "$options" shared.fixed
	[ $races -eq 0 ] && grep -q 'no race seen' report || fail "shared.fixed $options: $races data races"
done
run 3 --detector=collide shared
[ $races -eq 1 ] || fail "shared: collide alone finds $races"

# The oracle is full: by default it steps aside, named, and collide goes on.
LIMITS=:oracle-actors=100
run 3 "" shared
[ $races -eq 1 ] && grep -q 'oracle is full.*stepped aside' report || fail "default, full oracle"
run 3 "" shared.fixed
[ $races -eq 0 ] && grep -q 'oracle is full.*stepped aside' report || fail "default, full oracle, fixed"
run 72 --detector=oracle shared
grep -q 'oracle is full' err || fail "the oracle alone, full"
run 71 --verify shared
LIMITS=
run 3 --verify shared.fixed

# Host code is watched from the first managed or pinned memory, unless the program has handlers.
for name in managed pinned; do
	run 3 "" $name
	[ $races -ge 1 ] && grep -q "program.cu:$(at "// host$")" report || fail "$name: $races data races"
	run 3 "" $name.fixed
	[ $races -eq 0 ] || fail "$name.fixed: $races data races"
	run 3 --host-accesses=no $name
	[ $races -eq 0 ] || fail "$name: seen in spite of --host-accesses=no"
done
for name in segv trap; do
	run 3 "" $name
	[ $races -eq 0 ] && grep -q 'not seen:.*host code' report || fail "$name: its handler was taken"
done

# One call in many streams is one finding.
run 3 "" copies
grep -q '^======== 1 data race found' report || fail "copies: $(grep ^==== report)"
run 3 "" copies.fixed
[ $races -eq 0 ] || fail "copies.fixed: $races data races"

# cudaMemcpy from pageable memory may return before the device's memory is written.
for how in "" .rows; do
	run 3 --host-copies=staged staged$how
	[ $races -eq 1 ] && grep -q "program.cu:$(at '// after a copy')" report ||
		fail "staged$how: $races data races"
	run 3 "" staged$how
	[ $races -eq 0 ] || fail "staged$how: reported without --host-copies"
done
for how in waits blocking pinned own; do
	run 3 --host-copies=staged staged.$how
	[ $races -eq 0 ] || fail "staged.$how: $races data races"
done

# The library's path may have what ends a path for the loader.
mkdir -p "a path: ours"
ln -sf "$(dirname "$(dirname "$collider")")/lib/collider/cpu/libcudart.so.13" "a path: ours"
COLLIDER_CUDART="$PWD/a path: ours/libcudart.so.13" run 3 "" shared
[ $races -eq 1 ] || fail "a library in a folder with a space: $races data races"

# The oracle judges with any number of threads.
run 3 --threads=2 shared
[ $races -eq 1 ] && grep -q 'judged' report || fail "--threads=2"
exit $failed
