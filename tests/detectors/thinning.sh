#!/bin/sh
# thinning.sh COLLIDER NVCC SOURCE WORK - collide's checks thin out as race/record.h says, inline (template `seed`) and
# by call (__collider_begin): of n executions about the root of 192 * n are checked, as many again with the same seed, all with
# --dense=0; warps after a grid's first 8,192, and launches after the second, start further on. The race is found all
# the same, its twin is silent.
set -eu
collider=$1 nvcc=$2 source=$3 work=$4
mkdir -p "$work"
cd "$work"
bad=0
fail() { echo "FAIL: $*"; bad=1; }

# checked OPTION... PROGRAM MODE [N]: how many accesses the run has checked, each counted for each lane.
checked()
{
	"$collider" run --device=cpu --detector=collide --judge=off --log-file=log "$@" >said
	grep -q cudaSuccess said || fail "$*: $(cat said)" >&2
	tail -1 log | sed -n 's/,//g; s/.*no race seen in \([0-9]*\) checked.*/\1/p'
}

# within LOW HIGH NUMBER WHAT
within() { [ "$3" -ge "$1" ] && [ "$3" -le "$2" ] || fail "$4: $3 checks, not $1 to $2"; }

for form in 1000 0; do
	for twin in clean racy; do
		define=
		[ $twin = clean ] || define=-DRACY
		"$collider" nvcc --sanitize=collide --inline-checks=$form $define -std=c++14 -lineinfo -cudart shared \
			-arch=compute_80 "$source" -o $twin.$form
	done
	for seed in 1 2; do
		# 1024 of 5504, then one in 16: 1930 for each of 32 lanes; inline fewer here, where a turn is shorter than a window of
		# the clock, and a check longer.
		n=$(checked --seed=$seed ./clean.$form loop 20000)
		within 30000 72000 "$n" "loop, inline $form, seed $seed"
		again=$(checked --seed=$seed ./clean.$form loop 20000)
		[ "$n" = "$again" ] || fail "inline $form, seed $seed: $n checks, then $again"
		checked --seed=$seed ./clean.$form race 3000 >/dev/null
		! grep -q 'RACE' log || fail "inline $form, seed $seed: a race in right code"
		"$collider" run --device=cpu --detector=collide --judge=off --seed=$seed --log-file=log ./racy.$form race 3000 >said
		grep -q '^======== [1-9][0-9]* data race' log || fail "inline $form, seed $seed: finds nothing"
	done
	within 2048 2048 "$(checked ./clean.$form loop 64)" "64 turns, inline $form"
	within 640000 640000 "$(checked --dense=0 ./clean.$form loop 20000)" "all turns, inline $form"
	within 40960 40960 "$(checked --dense=0 ./clean.$form late)" "all late warps, inline $form"
	# Blocks from 256, 768 and 1,792 on are checked with a chance of 1/2, 1/4 and 1/8: 640 of 1,280 blocks; fewer here,
	# where the clock advances alike from block to block.
	within 17000 22500 "$(checked ./clean.$form late)" "late warps, inline $form"
	# The first two launches are checked whole, launch n with a chance of 2 / n, at least 1 / 64: 13 of 256 with 128
	# checks each. The others make a check with one of 1/2, 1/4, ... 1/128: 670 in all.
	within 256 256 "$(checked ./clean.$form launches 2)" "two launches, inline $form"
	within 30000 34000 "$(checked --dense=0 ./clean.$form launches 256)" "launches, inline $form"
	within 1000 4200 "$(checked ./clean.$form launches 256)" "later launches, inline $form"
done
exit $bad
