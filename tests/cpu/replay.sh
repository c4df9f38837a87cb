#!/bin/bash
# replay.sh - the same seed gives the same output and report, byte for byte: replay.sh COLLIDER ROOT
#
# With any number of the CPU device's threads, too.
# A program with a race in one stream, and one with several streams and events; the former on a busy processor, too.
set -eu
collider=$(readlink -f "$1")
root=$(readlink -f "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
unset COLLIDER_OPTIONS COLLIDER_CPU COLLIDER_CUDART
ptx="-O0 -arch=compute_90 --no-fit" # -O0 is the host's half
# shellcheck disable=SC2086
"$collider" nvcc $ptx "$root/examples/reduction.cu" -o reduction
# shellcheck disable=SC2086
"$collider" nvcc $ptx -I"$root/examples" "$root/tests/gpu/racefree/streams_events.cu" -o streams

one() { # one PROGRAM SEED FILE [OPTION]
	local small=
	[ "$1" != streams ] || small="4 32" # its `// small:` line; without, 63 million accesses
	# shellcheck disable=SC2086
	"$collider" run --device=cpu ${4:-} --seed="$2" --json="$3.json" -- ./"$1" $small >"$3" 2>&1 || true
	# The process number is the system's.
	sed -i 's/"pid":[0-9]*/"pid":0/g' "$3.json"
}
for p in streams reduction; do
	one $p 3 first
	one $p 3 second
	cmp first second || { echo "FAILED: $p: two runs with seed 3 differ"; exit 1; }
	cmp first.json second.json || { echo "FAILED: $p: two reports with seed 3 differ"; exit 1; }
	for n in 1 4; do # the default: one for each processor
		one $p 3 third --threads=$n
		cmp first third && cmp first.json third.json ||
			{ echo "FAILED: $p: with --threads=$n seed 3 differs"; exit 1; }
	done
done
# Eight at a time on one processor: how long a launch, its proof or a process waits for it must not matter.
for i in 1 2 3 4 5 6 7 8; do
	(taskset -p -c "$(taskset -p -c $$ | sed 's/.*[ ,-]//')" $BASHPID >/dev/null && one reduction 3 busy$i) &
done
wait
for i in 1 2 3 4 5 6 7 8; do
	cmp first busy$i && cmp first.json busy$i.json || { echo "FAILED: on a busy processor seed 3 differs"; exit 1; }
done
one reduction 4 second # first: seed 3
! cmp -s first second || { echo "FAILED: seeds 3 and 4 gave the same"; exit 1; }
echo "ok"
