#!/bin/sh
# cut.sh - a launch that takes longer than --budget is judged in part: the report says so for each
# kernel, races of its first blocks are found, and nothing is reported that is none.
#
# The blocks that begin later run without checks: each runs once, in each order of blocks, and few
# accesses are checked.
#
#   cut.sh COLLIDER NVCC SOURCE WORKDIR        rest.cu lies beside SOURCE
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
		[ "$(grep -c '^Note: .* judged in part' report)" -eq 2 ] ||
			fail "$program $how: not each kernel judged in part"
		grep -q 'none checked' report && fail "$program $how: a kernel was left out"
		grep -q 'DATA RACE' report && found=racy || found=fixed
		[ "$found" = "$program" ] || fail "$program $how: findings"
		grep -q 'races with .* in .*chain' report && fail "$program $how: chain"
	done
done

"$nvcc" -gencode arch=compute_90,code=compute_90 -lineinfo -cudart shared -o rest \
	"${source%/*}/rest.cu" || exit 2
# Each order of blocks; the first of them with the weak model, too.
for skip in 0 1 2 3; do
	models=sc
	[ $skip -ne 0 ] || models="sc weak"
	for model in $models; do
		"$collider" run --device=cpu --budget=1ms --verbose --launch-skip=$skip --memory-model=$model \
			-- ./rest >out 2>report || fail "rest, launch $skip, $model: exit code $?"
		grep -q done out || fail "rest, launch $skip, $model: $(cat out)"
		grep -q 'launch judged in part' report || fail "rest, launch $skip, $model: not in part"
		again=$(sed -n 's/^ *\([0-9,]*\) accesses read again.*/\1/p' report | tr -d ,)
		# 2 launches of 1,000 blocks make 10.5 million.
		[ "${again:-0}" -lt 4000000 ] || fail "rest, launch $skip: $again checks"
		grep -q 'no race seen' report || fail "rest, launch $skip, $model: findings"
	done
done

# Blocks that don't communicate: those that begin later are executed by several threads, each once, in each order.
for skip in 0 1 2 3; do
	for threads in 1 4; do
		for program in apart meet; do
			"$collider" run --device=cpu --budget=1ms --threads=$threads --launch-skip=$skip \
				-- ./rest $program >out 2>report ||
				fail "rest $program, launch $skip, $threads threads: exit code $?"
			grep -q done out || fail "rest $program, launch $skip, $threads threads: $(cat out)"
			grep -q 'launch judged in part' report ||
				fail "rest $program, launch $skip, $threads threads: not in part"
			# (The race of the others is at their end: mostly it comes after the budget's.)
			[ $program = meet ] || grep -q 'no race seen' report ||
				fail "rest $program, launch $skip, $threads threads: findings"
		done
	done
done

# Blocks that wait for a later one by weak loads run beside it, with a budget and without.
for program in racy fixed; do
	define=
	[ $program = racy ] || define=-DFIXED
	"$nvcc" $define -gencode arch=compute_90,code=compute_90 -lineinfo -cudart shared -o waits \
		"${source%/*}/waits.cu" || exit 2
	for how in "--threads=1" "--threads=4" "--threads=4 --detector=oracle" "--threads=4 --budget=1ms" \
		"--threads=4 --detector=none"; do
		for kernel in all one called stack; do
			timeout 100 "$collider" run --device=cpu $how -- ./waits $kernel >out 2>report ||
				fail "waits, $program $kernel $how: exit code $?"
			grep -q done out || fail "waits, $program $kernel $how: it didn't end"
			grep -q 'DATA RACE' report && found=racy || found=fixed
			# (With so small a budget the race may come when nothing is judged any more.)
			case $how in *budget* | *none*) [ $found = fixed ] && found=$program ;; esac
			[ "$found" = "$program" ] || fail "waits, $program $kernel $how: findings"
		done
	done
done

# The checks in the code alone: blocks that begin later run without, and what these may order is no finding.
for detector in hirace iguard collide watch; do
	"$collider" run --device=cpu --budget=1ms --detector=$detector -- ./rest >out 2>report ||
		fail "rest, $detector: exit code $?"
	grep -q done out || fail "rest, $detector: $(cat out)"
	grep -q 'launch.* judged in part' report || fail "rest, $detector: not in part"
	grep -q 'DATA RACE' report && fail "rest, $detector: findings"
done

# Of four launches of each kernel, all on the same input, one is checked, or one is executed without
# checks; the others are copied, or executed and compared.
for how in copy try; do
	"$collider" run --device=cpu --launch-count=1 --repeats=$how -- ./rest >out 2>report ||
		fail "repeats, $how: exit code $?"
	grep -q done out || fail "repeats, $how: $(cat out)"
	grep -q 'Note: 6 of the launches without checks' report && found=copy || found=try
	[ $found = $how ] || fail "repeats, $how: the note"
	grep -q repeats=try report && fail "repeats, $how: something differs"
done
exit $bad
