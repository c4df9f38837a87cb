#!/bin/bash
# schedules.sh - other orders of blocks and streams, and a few sites a run: a table of what each shows.
#
#   schedules.sh WORKDIR COLLIDER [-b | -n] [-k RUNS]
#
# Builds the programs of tests/shuffle and three of tests/gpu into WORKDIR and runs them. DEVICE=gpu (the
# default) or cpu.
#   -b  only build      -n  don't build: WORKDIR was built elsewhere (it holds all that is needed)
#   -k  runs for what is found by chance (10, twice as many for affine), with seeds from 1
#
# What each row must show:
#   waves      the first and the last block of a grid race (SuperCollider 3.5.2): fold finds it in 9 of
#              10 runs, affine in half of them on at most four waves; nothing is said of the twin
#   look-back  waiting for other blocks by ticket, by block and in CUB's scan: the right sums, since
#              such kernels keep their order and the report says so; a --shuffle=all that leaves no
#              place for an early block ends at --timeout, and the report says so
#   grid sync  a cooperative launch, shuffled with --shuffle=all: the right result
#   clusters   each block once, those of a cluster together
#   sites      --sample=N: other sites by seed, all that run in the end, as --coverage shows
#   streams    a race that only another order of two streams shows, in about half of the runs
# Exit code 1: something else was seen; 2: wrong usage, or it can't be built.
set -u

here=$(cd "$(dirname "$0")" && pwd)
usage="usage: $0 WORKDIR COLLIDER [-b | -n] [-k RUNS]"
[ $# -ge 2 ] || { echo "$usage" >&2; exit 2; }
mkdir -p "$1/bin" "$1/lib" || exit 2
dir=$(cd "$1" && pwd)
collider=$2
shift 2
build=1
run=1
runs=10
while getopts bnk: o; do
	case $o in
	b) run=0 ;;
	n) build=0 ;;
	k) runs=$OPTARG ;;
	*) echo "$usage" >&2; exit 2 ;;
	esac
done
unset COLLIDER_OPTIONS
device=${DEVICE:-gpu}

# ---- building --------------------------------------------------------------------------

build_one() { # build_one NAME SOURCE FLAGS...
	local bin=$dir/bin/$1 src=$here/$2
	shift 2
	[ "$bin" -nt "$src" ] && [ "$bin" -nt "$collider" ] && return
	case ${ARCH:-} in compute_*) set -- --no-fit "$@" ;; esac
	"$collider" nvcc -O3 -std=c++17 -lineinfo -arch="${ARCH:-sm_90}" -I"$here/../hadron" \
		-I"$here/../../examples" -I"$here/../../src" -I"$here/racefree" "$@" \
		-Xlinker -rpath '-Xlinker=$ORIGIN/../lib' "$src" -o "$bin" || exit 2
}

if [ $build -eq 1 ]; then
	build_one waves ../shuffle/waves.cu
	build_one waves_fixed ../shuffle/waves.cu -DFIXED
	build_one lookback ../shuffle/lookback.cu
	build_one grids ../shuffle/grids.cu
	build_one sites ../shuffle/sites.cu
	build_one grid_sync racefree/grid_sync.cu
	build_one cluster racefree/cluster.cu
	build_one stream_order system/stream_order.cu
	build_one stream_order.fixed system/stream_order.cu -DFIXED
	# The runtime that the programs ask for, so that a GPU machine needs only a driver.
	toolkit=$(readlink -f "$(command -v "${NVCC:-nvcc}")")
	lib=${toolkit%/bin/*}/lib64/libcudart.so
	cp "$(readlink -f "$lib")" \
		"$dir/lib/$(readelf -d "$lib" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')" || exit 2
fi
[ $run -eq 1 ] || exit 0

# ---- running ------------------------------------------------------------------------------

T=$(mktemp -d) || exit 2
trap 'rm -rf "$T"' EXIT
bad=0

# go SEED "OPTIONS" PROGRAM ARGUMENTS...: output in $T/out, report in $T/report
go() {
	local seed=$1 options=$2
	shift 2
	: >"$T/report"
	# shellcheck disable=SC2086
	timeout 150 "$collider" run --device="$device" --seed="$seed" $options \
		--log-file="$T/report" -- "$dir/bin/$1" "${@:2}" >"$T/out" 2>"$T/err"
}
races() { grep -c 'DATA RACE' "$T/report"; }
said() { grep -q "$1" "$T/report"; }

# row WHAT OPTIONS RESULT PROBLEM
row() {
	printf '%-22s %-26s %-32s %s\n' "$1" "$2" "$3" "${4:-ok}"
	[ -z "$4" ] || bad=1
}

# What is wrong with a run that must print $1 and report nothing; $2 its exit code.
problem_of() {
	if [ "$2" -ne 0 ]; then
		echo "FAIL: exit code $2: $(tail -1 "$T/out" "$T/err" | tr '\n' ' ' | head -c 100)"
	elif ! grep -q "^$1" "$T/out"; then
		echo "FAIL: printed $(head -1 "$T/out" | head -c 60)"
	elif [ "$(races)" != 0 ]; then
		echo "FAIL: false positive $(grep -m1 'at .*:[0-9]' "$T/report")"
	elif said 'NOTHING WAS CHECKED'; then
		echo "FAIL: $(grep -m1 'NOTHING WAS' "$T/report")"
	fi
}

echo "device $device, $runs runs where chance decides"
printf '%-22s %-26s %-32s %s\n' what options result verdict

for order in off fold affine; do
	found=0
	clean=0
	why=
	# A store is watched for long enough that the blocks of a wave meet.
	options="--shuffle=$order --wdelay=1000000"
	n=$runs
	[ $order = affine ] && n=$((2 * runs))
	for ((seed = 1; seed <= n; seed++)); do
		waves=3
		[ $order = affine ] && waves=$((2 + seed % 3))
		go "$seed" "$options" waves $waves || why="FAIL: exit code $?"
		[ "$(races)" = 0 ] || found=$((found + 1))
		go "$seed" "$options" waves_fixed $waves
		problem=$(problem_of ok $?)
		[ -z "$problem" ] && clean=$((clean + 1)) || why="twin $problem"
	done
	case $order in
	fold) [ $((found * 10)) -ge $((n * 9)) ] || why="FAIL: missed too often" ;;
	# Half of them, but for chance: 6 of 20 or less have a probability of 6% then.
	affine) [ $((found * 10)) -gt $((n * 3)) ] || why="FAIL: missed too often" ;;
	esac
	row waves "--shuffle=$order" "found $found/$n, twin clean $clean/$n" "$why"
done

for how in ticket block cub; do
	for order in affine fold auto; do
		go 3 "--shuffle=$order" lookback $how
		why=$(problem_of ok $?)
		said 'keep their order: one of its loops waits' || why="${why:-FAIL: not told}"
		row "look-back, $how" "--shuffle=$order" "$(cat "$T/out"), kept its order" "$why"
	done
done
ok=0
why=
for seed in 1 2 3 4; do
	go $seed "--shuffle=all --timeout=60" lookback ticket
	problem=$(problem_of ok $?)
	said 'keep their order' && problem="FAIL: not shuffled"
	[ -z "$problem" ] && ok=$((ok + 1)) || why=$problem
done
row "look-back, ticket" "--shuffle=all" "$ok/4 right, shuffled" "$why"
# Which order leaves no place for an early tile is chance.
stopped=0
why=
for ((seed = 1; seed <= 12 && !stopped; seed++)); do
	go $seed "--shuffle=all --timeout=6" lookback block
	rc=$?
	if said 'ended by --timeout=6; kernels that waited'; then
		stopped=$seed
		# The kernel traps and the program sees it; one that hasn't gone after a second gets SIGTERM.
		[ $rc -eq 1 ] || [ $rc -eq 143 ] || why="FAIL: exit code $rc"
	else
		why=$(problem_of ok $rc)
		[ -z "$why" ] || break
	fi
done
[ $stopped -gt 0 ] || why="${why:-FAIL: no order made it wait for ever}"
row "look-back, block" "--shuffle=all --timeout=6" "seed $stopped: exit code $rc, told" "$why"

for order in affine fold auto all; do
	# 3 steps, so that the CPU device is soon done.
	go 5 "--shuffle=$order --timeout=60" grid_sync 3
	why=$(problem_of ok $?)
	result=shuffled
	said 'keep their order' && result="kept its order"
	[ $order/"$result" = "all/kept its order" ] && why="FAIL: not shuffled"
	row "grid sync" "--shuffle=$order" "$(cut -d' ' -f1 "$T/out"), $result" "$why"
done
for order in affine fold auto all; do
	go 2 "--shuffle=$order" grids 2
	why=$(problem_of ok $?)
	go 2 "--shuffle=$order" cluster 3
	why=${why:-$(problem_of ok $?)}
	row clusters "--shuffle=$order" "each block once, whole clusters" "$why"
done

number() { sed -n "s/^Note: .*checked \([0-9]*\) of \([0-9]*\) sites\{0,1\} in \([0-9]*\) runs*\$/\\$1/p" "$T/report"; }
why=
go 1 "--coverage=$T/all" sites || why="FAIL: exit code $?"
reached=$(number 1)
all=$(number 2)
row sites "--coverage" "reached ${reached:-0} of ${all:-0}" "$why"
before=0
sets=
for ((seed = 1; seed <= 40 && before < ${reached:-0}; seed++)); do
	go $seed "--sample=2 --coverage=$T/one$seed" sites || why="FAIL: exit code $?"
	sets="$sets $(grep '"checked"' "$T/one$seed" | cksum | cut -d' ' -f1)"
	go $seed "--sample=2 --coverage=$T/cov" sites || why="FAIL: exit code $?"
	now=$(number 1)
	[ "${now:-0}" -ge $before ] || why="FAIL: covered $now after $before"
	before=${now:-0}
done
different=$(printf '%s\n' $sets | sort -u | wc -l)
[ $before = "$reached" ] || why="${why:-FAIL: not all}"
[ "$different" -ge 3 ] || why="${why:-FAIL: the same sites by each seed}"
"$collider" report --coverage="$T/cov" | grep -q "^checked $reached of $all sites in $((seed - 1)) runs" ||
	why="${why:-FAIL: collider report tells something else}"
row sites "--sample=2" "$before in $((seed - 1)) runs, $different choices" "$why"

for order in "" --shuffle-streams; do
	found=0
	clean=0
	why=
	for ((seed = 1; seed <= runs; seed++)); do
		go $seed "--dense=0 $order" stream_order
		rc=$?
		[ $rc -le 1 ] || why="FAIL: exit code $rc" # a race may make the result wrong
		[ "$(races)" = 0 ] || found=$((found + 1))
		go $seed "--dense=0 $order" stream_order.fixed
		problem=$(problem_of ok $?)
		[ -z "$problem" ] && clean=$((clean + 1)) || why="twin $problem"
	done
	# Which of two streams is held is chance, as the order of blocks is under affine.
	[ -z "$order" ] || [ $((found * 10)) -gt $((runs * 3)) ] || why="FAIL: missed too often"
	row streams "${order:-no option}" "found $found/$runs, twin clean $clean/$runs" "$why"
done
[ $bad -eq 0 ] && echo "all as expected" || echo "NOT as expected"
exit $bad
