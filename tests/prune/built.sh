#!/bin/bash
# built.sh - collider nvcc makes proofs, without being asked, and runs use them:
#
#   built.sh COLLIDER COLLIDER-NVCC BUILT.CU cpu|gpu
#
# What it has time for hangs on the machine, so what is proven is kept by an earlier build where it
# must be there; without that each proof is whole or missing. --prune=none makes none. Exit code 77
# without a GPU.
collider=$1 nvcc=$2 source=$3 device=$4
[ "$device" = cpu ] || nvidia-smi -L >/dev/null 2>&1 || exit 77
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export XDG_CACHE_HOME=$dir/cache
mkdir "$XDG_CACHE_HOME"
unset COLLIDER_OPTIONS COLLIDER_TOOL_OPTIONS
failed=0

fail() {
	echo "FAIL $*"
	failed=1
}

# text NAME OPTIONS...: the PTX with checks, $dir/NAME.ptx
text() {
	local name=$1
	shift
	"$nvcc" "$@" --no-fit -arch=sm_90 -ptx -o "$dir/$name.ptx" "$source" || exit 1
}

# proofs NAME: the declarations in that text that the agent reads
proofs() {
	grep -o '__collider_proof_.* = {.*' "$dir/$1.ptx"
}

# On a cold cache: what is there is whole, however much time there was.
text cold
text none --prune=none
text proved --prune=proved
proofs cold >"$dir/cold"
proofs proved >"$dir/proved"
grep -vxFf "$dir/proved" "$dir/cold" && fail 'half a proof'
[ "$(grep -c . "$dir/proved")" = 1 ] && grep -q '^__collider_proof__Z8reversed' "$dir/proved" ||
	fail "--prune=proved: $(cat "$dir/proved")"
proofs none && fail '--prune=none: a proof'
grep -q 'collider_plain' "$dir/none.ptx" && fail '--prune=none: code without checks'
text warm
proofs warm | cmp -s - "$dir/proved" || fail "by default: $(proofs warm)"
grep -q '__collider_state__Z10no_barrier' "$dir/warm.ptx" && fail 'a kernel without a proof has code without checks'
# Of an object nothing is known of who launches its kernels.
text object -rdc=true
proofs object && fail '-rdc=true: a proof'
"$collider" instrument --strip "$dir/warm.ptx" -o "$dir/stripped.ptx" &&
	! grep -q '__collider' "$dir/stripped.ptx" || fail '--strip leaves something'

# The program has the proof beside its tables of sites; its racy kernel is found as before.
mkdir "$dir/kept"
"$nvcc" -keep -keep-dir "$dir/kept" -arch=sm_90 -o "$dir/program" "$source" || exit 1
nm "$dir"/kept/*.cubin >"$dir/names"
grep -q ' __collider_proof__Z8reversed' "$dir/names" || fail "the program: $(grep collider_ "$dir/names")"
grep -q ' __collider_\(proof\|state\)__Z10no_barrier' "$dir/names" && fail 'the racy kernel has a proof'

# run PROGRAM DETECTOR SEED [KERNEL]: the report in $dir/out
run() {
	local program=$1 detector=$2 seed=$3 judge=
	shift 3
	[ "$device" = cpu ] || judge=--judge=off
	timeout 100 "$collider" run --device="$device" $judge --detector=$detector --seed=$seed --error-exitcode=10 "$dir/$program" "$@" >"$dir/out" 2>&1
}

# checks PROGRAM DETECTOR: how many executions of accesses the proven kernel's run has checked
checks() {
	run "$1" "$2" 1 || fail "$2, $1: $(cat "$dir/out")"
	sed -nE 's/^  ([0-9,]*) access(es)? (read again|judged by the history).*/\1/p' "$dir/out" | tr -d ,
}

# 256 threads access shared memory twice, and global memory twice. On the CPU device what is proven in
# shared memory has no check (hirace and iguard never check the read, which a barrier keeps from all
# writes); on a GPU nothing of the kernel has.
while read -r detector all few; do
	"$nvcc" --sanitize=$detector -arch=sm_90 -o "$dir/program" "$source" || exit 1
	"$nvcc" --sanitize=$detector --prune=none -arch=sm_90 -o "$dir/whole" "$source" || exit 1
	got=$(checks whole $detector)
	[ "$got" = $all ] || [ "$device" = gpu ] || fail "$detector, --prune=none: $got checks, $all expected: $(cat "$dir/out")"
	got=$(checks program $detector)
	if [ "$device" = cpu ]; then
		[ "$got" = $few ] || fail "$detector: $got checks, $few expected: $(cat "$dir/out")"
		grep -q 'to shared memory, proven race-free for some launches' "$dir/out" || fail "$detector: $(cat "$dir/out")"
	else
		grep -q '^  1 kernel: 1 proven for these launches (every schedule), 0 checked, 0 partial' "$dir/out" &&
			grep -q '^Complete (proven)' "$dir/out" || fail "$detector isn't proven: $(cat "$dir/out")"
	fi
	# The kernel without a proof races as before.
	for seed in 1 2 3 4 5 6 7 8; do
		run program $detector $seed no_barrier
		got=$?
		[ $got = 0 ] || break
	done
	[ $got = 10 ] || fail "$detector, the racy kernel: $got, $(cat "$dir/out")"
done <<'L'
collide 1024 512
hirace 768 512
iguard 768 512
hirace,iguard 1536 1024
L
[ "$device" = gpu ] && exit $failed

# The oracle judges all of it, unless it is proven at the launch.
run program oracle 1 || fail "oracle: $(cat "$dir/out")"
run program oracle 1 no_barrier
[ $? = 10 ] || fail "oracle, the racy kernel: $(cat "$dir/out")"
exit $failed
