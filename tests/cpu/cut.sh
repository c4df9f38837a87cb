#!/bin/sh
# cut.sh - a launch that takes longer than --budget is judged in part: the report says so for each
# kernel, races of its first blocks are found, and nothing is reported that is none.
#
#   cut.sh COLLIDER NVCC SOURCE WORKDIR
set -u
collider=$1 nvcc=$2 source=$3
unset COLLIDER_OPTIONS
mkdir -p "$4" && cd "$4" || exit 2
bad=0

fail() {
	echo "FAIL: $*"
	cat report
	bad=1
}

for program in racy fixed; do
	define=
	[ $program = fixed ] || define=-DRACY
	"$nvcc" $define -std=c++14 -gencode arch=compute_90,code=compute_90 -lineinfo -cudart shared \
		-o $program "$source" || exit 2
	for how in --detector=oracle --detector=collide,oracle \
		"--detector=oracle --memory-model=weak"; do
		"$collider" run --device=cpu --budget=1ms $how -- ./$program >out 2>report ||
			fail "$program $how: exit code $?"
		grep -q done out || fail "$program $how: it didn't end"
		[ "$(grep -c 'launch.* judged in part' report)" -eq 2 ] ||
			fail "$program $how: not each kernel judged in part"
		grep -q 'none checked' report && fail "$program $how: a kernel was left out"
		grep -q 'DATA RACE' report && found=racy || found=fixed
		[ "$found" = "$program" ] || fail "$program $how: findings"
		grep -A1 'in function' report | grep -q 'chain' && fail "$program $how: chain"
	done
done
exit $bad
