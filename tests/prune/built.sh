#!/bin/bash
# built.sh - collider nvcc makes proofs, without being asked: built.sh COLLIDER COLLIDER-NVCC BUILT.CU
#
# What it has time for hangs on the machine, so what is proven is kept by an earlier build where it
# must be there; without that each proof is whole or missing. --prune=none makes none.
collider=$1 nvcc=$2 source=$3
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
for detector in oracle collide; do
	for seed in 1 2 3 4; do
		"$collider" run --device=cpu --detector=$detector --seed=$seed --error-exitcode=10 "$dir/program" no_barrier >"$dir/out" 2>&1
		got=$?
		[ $got = 0 ] || break
	done
	[ $got = 10 ] || fail "$detector, the racy kernel: $got, $(cat "$dir/out")"
	"$collider" run --device=cpu --detector=$detector --error-exitcode=10 "$dir/program" >"$dir/out" 2>&1 ||
		fail "$detector, the proven kernel: $(cat "$dir/out")"
done
exit $failed
