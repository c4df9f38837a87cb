#!/bin/bash
# run_racefree.sh - run race-free programs under collider: no report, the same output.
#
#   run_racefree.sh DIR COLLIDER [-k RUNS] [-d "RDELAY/WDELAY ..."] [-n LOOPS] [NAME...]
#
# DIR is what build.sh packed. Runs each program plain, then k times instrumented at each pair of
# delays. Fails on any data race, on output that differs from the plain build's, and on a run
# that checked nothing. The fixed twins of the examples are part of it. The sum of the checked
# accesses is that of the reports, i.e. counted by the tool on the device. DEVICE=cpu: common.sh.
#
# With DETECTOR=oracle (and DEVICE=cpu) the plain programs are judged, with seeds 1 to RUNS and the
# arguments of their `// small:` line: loops, and how many times smaller a large one is to be.
# A `// seeds:` line limits RUNS.
set -u

usage="usage: $0 DIR COLLIDER [-k RUNS] [-d 'RDELAY/WDELAY ...'] [-n LOOPS] [NAME...]"
[ $# -ge 2 ] || { echo "$usage" >&2; exit 2; }
dir=$(cd "$1" && pwd) || exit 2
collider=$2
shift 2
all=1
delays="1/1 5000/1 5000/5000"
loops=
while getopts k:d:n: o; do
	case $o in
	k) all=$OPTARG ;;
	d) delays=$OPTARG ;;
	n) loops=$OPTARG ;;
	*) echo "$usage" >&2; exit 2 ;;
	esac
done
shift $((OPTIND - 1))
. "$dir/common.sh"
[ $detector = collide ] || delays=1/1

tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
bad=0
grand=0

# Accesses checked in one run, from the report's summary line.
checked_of() {
	local l
	l=$(grep '"type"[[:space:]]*:[[:space:]]*"summary"' "$1" 2>/dev/null | tail -1)
	[ $detector = collide ] && l=$(json_get "$l" checked) || l=$(json_get "$l" judged)
	echo "${l:-0}"
}

check_run() {
	local report=$1 name=$2 rc=$3
	[ "$rc" -eq 0 ] || echo "exit code $rc: $(tail -1 "$report.err" | head -c 80)"
	[ -s "$report" ] || echo "no report"
	findings_of "$report" | while IFS='|' read -r kind class file line; do
		case $class in
		possible* | undecided*) ;;
		*) echo "false positive $kind ($class) at $file:$line" ;;
		esac
	done
	cmp -s "$report.out" "$tmp/$name.plain" || echo "output differs: $(head -c 60 "$report.out")"
	[ "$(checked_of "$report")" -gt 0 ] || echo "nothing was checked"
}

names=("$@")
if [ ${#names[@]} -eq 0 ]; then
	# Of the examples the oracle is asked by run_races.sh.
	for f in "$dir"/src/racefree/*.cu "$dir"/src/examples/*.fixed.cu; do
		[ $detector = collide ] || [ "${f%/examples/*}" = "$f" ] || continue
		names+=("$(basename "$f" .cu)")
	done
fi
printf '%-22s %-10s %14s %6s %9s  %s\n' program delays checked quiet possible verdict
for name in "${names[@]}"; do
	bin=$dir/collide/$name
	[ "$device" = gpu ] || [ -x "$bin" ] || bin=$dir/plain/$name # the CPU device puts the checks in
	runs=$all
	if [ $detector = oracle ]; then
		bin=$dir/plain/$name
		runs=$(seeds_of "$dir/src/racefree/$name.cu" "$all")
		loops=$(sed -n 's,^// small: ,,p' "$dir/src/racefree/$name.cu" 2>/dev/null)
	fi
	if [ ! -x "$bin" ] || [ ! -x "$dir/plain/$name" ]; then
		echo "$name: FAIL: not built"
		bad=1
		continue
	fi
	# shellcheck disable=SC2086
	run_plain 120 "$dir/plain/$name" $loops >"$tmp/$name.plain" 2>"$tmp/$name.said" || {
		echo "$name: FAIL: the plain program fails: $(tail -qn1 "$tmp/$name".{plain,said} | tail -1)"
		bad=1
		continue
	}
	for d in $delays; do
		good=0
		why=
		sum=0
		possible=0
		for ((k = 0; k < runs; k++)); do
			report=$tmp/$name.$k
			# shellcheck disable=SC2086
			run_collider 180 "$report" $((k + 1)) "${d%/*}" "${d#*/}" "$bin" $loops
			problem=$(check_run "$report" "$name" $?)
			sum=$((sum + $(checked_of "$report")))
			possible=$((possible + $(findings_of "$report" | grep -c '|possible\||undecided')))
			if [ -z "$problem" ]; then
				good=$((good + 1))
			else
				why="$why $(echo "$problem" | sort -u | head -2 | tr '\n' ';')"
			fi
		done
		verdict=ok
		if [ $good -ne "$runs" ]; then
			verdict="FAIL:$why"
			bad=1
		fi
		grand=$((grand + sum))
		printf '%-22s %-10s %14s %6s %9s  %s\n' "$name" "$d" "$sum" "$good/$runs" \
			"$possible" "$verdict"
	done
done
echo "$grand accesses checked, delays $delays, $all runs each:" \
	"$([ $bad -eq 0 ] && echo "no data race reported, all output as plain" || echo FAILED)"
exit $bad
