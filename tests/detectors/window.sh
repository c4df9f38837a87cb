#!/bin/sh
# window.sh COLLIDER NVCC SOURCE WORK - the part of a bulk copy that collide checks is drawn anew each time, also
# once checks have thinned out: a race that begins after the sure ones is found in whichever part it is.
# (A draw of the part by the number that had just decided to check showed one part again and again.)
set -eu
collider=$1 source=$3 work=$4
mkdir -p "$work"
cd "$work"
bad=0
fail() { echo "FAIL: $*"; bad=1; }

for twin in clean racy; do
	define=
	[ $twin = clean ] || define=-DRACY
	"$collider" nvcc --sanitize=collide $define -std=c++14 -lineinfo -cudart shared --no-fit -O0 \
		-arch=compute_90 "$source" -o $twin
done

# found TWIN PART: in how many of three seeds.
found()
{
	n=0
	for seed in 1 2 3; do
		"$collider" run --device=cpu --detector=collide --judge=off --seed=$seed --log-file=log \
			./"$1" 1500 700 "$2" >said
		grep -q cudaSuccess said || fail "$1 $2: $(cat said)" >&2
		! grep -q '^======== [1-9][0-9]* data race' log || n=$((n + 1))
	done
	echo $n
}

for part in 0 3 5 8 11 14; do
	[ "$(found racy $part)" -ge 2 ] || fail "part $part: not found"
	[ "$(found clean $part)" = 0 ] || fail "part $part: a race in right code"
done
exit $bad
