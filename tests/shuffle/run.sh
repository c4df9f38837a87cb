#!/bin/bash
# run.sh COLLIDER WHAT - block shuffling on the CPU device. WHAT is one of
#   grids     each block of many grids works once in every order, clusters hold together; the first
#             blocks of a grid of 7.5e10 are those that the arithmetic of race/shuffle/blocks.h says
#   waves     the race of SuperCollider 3.5.2: seen in 2 of 10 runs in the usual order at most (a block
#             whose loads are all delayed comes late enough), in 9 of 10 with fold,
#             in half of them with affine; nothing is said of the race-free twin
#   waits     look-back scans end in every order, or by --timeout; kernels that wait are not shuffled
#             unless asked for
#   sites     --sample=N checks a few sites a run, in the end all that run; --coverage notes them
#   streams   a race that only another order of two streams shows is found with --shuffle-streams,
#             not without; nothing is said of its twin; what is never held back is counted
#   objects   a program linked with an object that was not instrumented keeps its order, unless the CPU
#             device instruments that object when it loads it
# The programs are built in the current folder, if they aren't there yet: `run.sh COLLIDER build NAME`.
set -u
collider=$1
what=$2
here=$(cd "$(dirname "$0")" && pwd)
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
unset COLLIDER_OPTIONS
bad=0
fail() {
	echo "FAIL: $*" | head -40 >&2
	bad=1
}

build() { # build NAME SOURCE FLAGS...
	local name=$1 src=$here/$2
	shift 2
	[ "$name" -nt "$src" ] && [ "$name" -nt "$collider" ] && return
	"$collider" nvcc -O0 -arch=compute_90 --no-fit "$@" "$src" -o "$name" || exit 2
}

make_program() { # make_program NAME...
	local name objects ptx system=../gpu/system
	for name; do
		case $name in
		grids) build grids grids.cu -I"$here/../../src" ;;
		waves | sites) build $name $name.cu ;;
		# Fitted: how many tiles have a place depends on the registers.
		lookback)
			[ lookback -nt "$here/lookback.cu" ] && [ lookback -nt "$collider" ] && continue
			"$collider" nvcc -O0 -std=c++17 -arch=sm_90 "$here/lookback.cu" -o lookback || exit 2
			;;
		waves_fixed) build waves_fixed waves.cu -DFIXED ;;
		stream_order*)
			set -- -I"$here/../hadron" -I"$here/../../examples"
			[ $name = stream_order ] || set -- "$@" -DFIXED
			build $name $system/stream_order.cu "$@"
			;;
		graphs) build graphs ../cudart_programs/graphs.cu -I"$here/../cudart_programs" ;;
		mixed)
			# Linked for the GPU, too: both, all of it instrumented, and mixed, one object of two.
			[ mixed -nt "$here/objects_a.cu" ] && [ mixed -nt "$here/objects_b.cu" ] &&
				[ mixed -nt "$collider" ] && continue
			objects="-O3 -arch=sm_90 -rdc=true"
			ptx="-O3 -rdc=true -gencode arch=compute_90,code=compute_90"
			# shellcheck disable=SC2086
			{
				"$collider" nvcc $objects -c "$here/objects_a.cu" -o a.o &&
				"$collider" nvcc $objects -c "$here/objects_b.cu" -o b.o &&
				"${NVCC:-nvcc}" $ptx -c "$here/objects_b.cu" -o plain_b.o &&
				"$collider" nvcc $objects a.o b.o -o both &&
				"$collider" nvcc $objects a.o plain_b.o -o mixed
			} || exit 2
			;;
		*) echo "no program $name" >&2; exit 2 ;;
		esac
	done
}

# run SEED ORDER PROGRAM ARGUMENTS...: output in $T/out, report in $T/report, more options in $more
more=
run() {
	local seed=$1 order=$2
	shift 2
	# shellcheck disable=SC2086
	timeout 120 "$collider" run --device=cpu --detector=collide --seed="$seed" --shuffle="$order" $more \
		--log-file="$T/report" -- "$@" >"$T/out" 2>"$T/err"
}
races() { grep -c 'DATA RACE' "$T/report"; }

case $what in
build)
	make_program "$3"
	;;
grids)
	make_program grids
	for order in off affine fold auto all; do
		for seed in 1 2 3; do
			run $seed $order ./grids $seed || fail "$order $seed: $(cat "$T/out" "$T/err")"
			grep -q '^ok' "$T/out" || fail "$order $seed: $(cat "$T/out")"
			[ "$(races)" = 0 ] || fail "$order $seed: $(cat "$T/report")"
		done
	done
	for seed in 1 2 3 4; do
		run $seed affine ./grids $seed huge
		[ "$(cat "$T/out")" = ok ] || fail "huge, seed $seed: $(cat "$T/out" "$T/err")"
	done
	;;
waves)
	make_program waves waves_fixed
	# On the virtual clock the blocks of a wave start far apart, so a store is watched for long.
	more="--wdelay=1000000"
	for order in off fold affine; do
		found=0
		runs=10
		[ $order = affine ] && runs=20
		for ((seed = 1; seed <= runs; seed++)); do
			waves=3
			[ $order = affine ] && waves=$((2 + seed % 3))
			run $seed $order ./waves $waves || fail "$order: exit code $?"
			if [ "$(races)" != 0 ]; then
				found=$((found + 1))
				grep -q 'waves.cu:17' "$T/report" || fail "another line: $(cat "$T/report")"
				grep -Eq 'Block \((0|[1-9][0-9]*),0,0\)' "$T/report" || fail "no block"
				last=$(($(sed -n 's/^blocks //p' "$T/err") - 1))
				grep -Eq "Block \((0|$last),0,0\)" "$T/report" ||
					fail "not a logical block: $(grep Block "$T/report")"
			fi
			run $seed $order ./waves_fixed $waves || fail "$order: twin: exit code $?"
			[ "$(races)" = 0 ] || fail "$order: twin: $(cat "$T/report")"
		done
		echo "$order: $found of $runs"
		case $order in
		off) [ $found -le 2 ] || fail "the race shows without shuffling" ;;
		fold) [ $found -ge 9 ] || fail "fold: found in $found of 10 runs" ;;
		affine) [ $found -ge 10 ] || fail "affine: found in $found of 20 runs" ;;
		esac
	done
	more="--wdelay=1000000 --verify"
	run 1 fold ./waves 3 || fail "the oracle: exit code $?: $(cat "$T/err")"
	last=$(($(sed -n 's/^blocks //p' "$T/err") - 1))
	grep -q "($last,0,0)" "$T/report" || fail "the oracle shows no logical block: $(cat "$T/report")"
	;;
waits)
	make_program lookback
	for how in ticket cub block; do
		for order in fold auto; do
			run 3 $order ./lookback $how || fail "$how, $order: $? $(cat "$T/out")"
			[ "$(cat "$T/out")" = ok ] || fail "$how, $order: $(cat "$T/out")"
			[ "$(races)" = 0 ] || fail "$how, $order: $(cat "$T/report")"
			grep -q 'keep their order: one of its loops waits' "$T/report" ||
				fail "$how, $order: not said: $(cat "$T/report")"
		done
	done
	run 3 off ./lookback block || fail "block, off: $?"
	grep -q 'keep their order' "$T/report" && fail "said without being asked"
	more="--timeout=60"
	for seed in 1 2 3 4; do
		run $seed all ./lookback ticket
		[ "$(cat "$T/out")" = ok ] || fail "ticket, all: $(cat "$T/out" "$T/report")"
		grep -q 'keep their order' "$T/report" && fail "ticket, all: $(cat "$T/report")"
	done
	# Some of these orders leave no place for the first tile: the flag ends the kernel. The others are
	# over in less than a second of the processor, and have much longer on a busy machine.
	more="--timeout=30"
	stopped=0 ended=0
	for seed in 1 2 3 4; do
		[ $stopped = 0 ] || [ $ended = 0 ] || break
		run $seed all ./lookback block
		if grep -q 'ended by --timeout=30; kernels that waited' "$T/report"; then
			stopped=$((stopped + 1))
			grep -q 'launch failure\|illegal instruction' "$T/out" ||
				fail "block, all: the kernel did not end: $(cat "$T/out" "$T/err")"
		else
			[ "$(cat "$T/out")" = ok ] || fail "block, all: $(cat "$T/out")"
			ended=$((ended + 1))
		fi
	done
	[ $stopped -ge 1 ] || fail "no order made the kernel wait for ever"
	;;
sites)
	make_program sites
	rm -f "$T/cov"
	number() { sed -n "s/^Note: .*checked \([0-9]*\) of \([0-9]*\) sites in \([0-9]*\) runs*\$/\\$1/p" "$T/report"; }
	# All sites: what is never reached is never covered. A site that was chosen is checked at each
	# execution, so no fewer checks than without --coverage.
	more="--wdelay=5000"
	run 1 off ./sites || fail "exit code $?"
	reread() { sed -n 's/^  \([0-9,]*\) accesses read again.*/\1/p' "$T/report" | tr -d ,; }
	want=$(reread)
	more="--wdelay=5000 --coverage=$T/all"
	run 1 off ./sites || fail "exit code $?"
	[ "$want" -gt 0 ] && [ "$(reread)" -ge "$want" ] || fail "--coverage checks less: $want, $(reread)"
	[ "$(races)" != 0 ] || fail "no race with --coverage: $(cat "$T/report")"
	reached=$(number 1)
	all=$(number 2)
	[ "$reached" -gt 0 ] && [ "$reached" -lt "$all" ] || fail "covered $reached of $all"
	# A few a run: at most N and the rest of a group; none outside of what can be reached.
	before=0
	found=
	for seed in $(seq 1 40); do
		more="--wdelay=5000 --sample=2 --coverage=$T/cov"
		run $seed off ./sites || fail "exit code $?"
		now=$(number 1)
		[ "$now" -ge $before ] && [ "$now" -le $((before + 9)) ] || fail "from $before to $now"
		[ "$(number 3)" = $seed ] || fail "run $seed: $(number 3) runs"
		before=$now
		found="$found $(sed -n 's/^    [a-z].* at .*sites.cu:\([0-9]*\):.*/\1/p' "$T/report" | tr '\n' ' ')"
	done
	[ $before = "$reached" ] || fail "covered $before of $reached in 40 runs"
	echo "covered $before of $all; lines:" $(printf '%s\n' $found | sort | uniq -c)
	[ "$(printf '%s\n' $found | sort -u | wc -l)" -ge 2 ] || fail "races at: $found"
	"$collider" report --coverage="$T/cov" >"$T/out" || fail "report: $?"
	grep -q "^checked $reached of $all sites in 40 runs" "$T/out" || fail "$(cat "$T/out")"
	# A damaged file is reported before the program starts, and stays as it is.
	echo '{"runs": 1, "tables": [{"table": "zz", "leads": "1", "checked": "1"}]}' >"$T/cov"
	cp "$T/cov" "$T/was"
	run 1 off ./sites && fail "a damaged coverage file was taken"
	cmp -s "$T/cov" "$T/was" || fail "a damaged coverage file was written over"
	# No site at all is left out without being said.
	more="--sample=1"
	run 1 off ./sites
	grep -q 'only 1 of the program' "$T/report" || fail "--sample is not told"
	;;
streams)
	make_program stream_order stream_order.fixed
	for seed in 1 2 3 4 5 6; do
		more="--dense=0"
		run $seed off ./stream_order || fail "off: exit code $?: $(cat "$T/out" "$T/err")"
		[ "$(races)" = 0 ] || fail "seen without another order: $(cat "$T/report")"
		grep -q 'held back' "$T/report" && fail "told without being asked"
		more="--dense=0 --shuffle-streams"
		run $seed off ./stream_order.fixed || fail "twin: exit code $?"
		[ "$(races)" = 0 ] || fail "twin: $(cat "$T/report")"
		grep -q 'launches held back for another order of streams' "$T/report" ||
			fail "not told: $(cat "$T/report")"
	done
	found=0
	for seed in 1 2 3; do
		run $seed off ./stream_order
		[ "$(races)" = 0 ] || found=$((found + 1))
	done
	echo "found: $found of 3"
	[ $found -ge 1 ] || fail "no order of three shows the race"
	# The same seed is the same run.
	cp "$T/out" "$T/first"
	run 3 off ./stream_order
	cmp -s "$T/out" "$T/first" || fail "the same seed, another run"
	make_program graphs
	more="--shuffle-streams"
	run 1 off ./graphs || fail "graphs: exit code $?: $(cat "$T/out" "$T/err")"
	grep -q 'never held back: written into a graph' "$T/report" || fail "$(cat "$T/report")"
	make_program waves
	run 1 off ./waves 1 || fail "waves: exit code $?"
	grep -q '1 launch never held back: on the legacy default stream' "$T/report" ||
		fail "$(cat "$T/report")"
	;;
objects)
	make_program mixed
	# The oracle alone takes each object as it was built.
	for how in "both collide" "mixed collide" "both oracle" "mixed oracle"; do
		p=${how% *}
		more="--detector=${how#* }"
		for seed in 1 2 3; do
			run $seed fold ./$p || fail "$how: $? $(cat "$T/out" "$T/err")"
			[ "$(cat "$T/out")" = ok ] || fail "$how: $(cat "$T/out")"
			if [ "$how" = "mixed oracle" ]; then
				grep -q 'keep their order: not all of its code' "$T/report" ||
					fail "$how: not said: $(cat "$T/report")"
			else
				grep -q 'keep their order' "$T/report" && fail "$how: $(cat "$T/report")"
			fi
		done
	done
	;;
*)
	echo "usage: $0 COLLIDER grids|waves|waits|sites|streams|objects|build NAME" >&2
	exit 2
	;;
esac
exit $bad
