#!/bin/bash
# run_races.sh - run the racy examples and their fixed twins under collider.
#
#   run_races.sh DIR COLLIDER [-k RUNS] [-d RDELAY/WDELAY] [NAME...]
#
# DIR is what build.sh packed. A program with `// detector: collide` passes when each run reports
# one of the expected kinds on a marked line, for every `expect` line of its header, and no data
# race on any line that isn't marked. A fixed twin passes when no run reports anything that is a
# data race, and its output is that of the plain build. Exit code 1: a miss, a false
# positive or a wrong output.
#
# With DETECTOR=oracle (and DEVICE=cpu) the plain programs are judged: what stands after
# `expect oracle:` is required, lines are those of either side, every run of a racy program must be
# as the header says (one of them, with `// detector: oracle seldom`), and nothing may be reported
# of fixed twins in any of them. RUNS is 20, less for programs with a `// seeds:` line.
#
# With DEVICE=cpu run k has seed k, RUNS is the most (20), and a racy program passes with the first
# run that is as it must be; the output of fixed twins must be the GPU's, too.
set -u

usage="usage: $0 DIR COLLIDER [-k RUNS] [-d RDELAY/WDELAY] [NAME...]"
[ $# -ge 2 ] || { echo "$usage" >&2; exit 2; }
dir=$(cd "$1" && pwd) || exit 2
collider=$2
shift 2
runs=5
[ "${DEVICE:-gpu}" = gpu ] || runs=20
delays=5000/1
while getopts k:d: o; do
	case $o in
	k) runs=$OPTARG ;;
	d) delays=$OPTARG ;;
	*) echo "$usage" >&2; exit 2 ;;
	esac
done
shift $((OPTIND - 1))
. "$dir/common.sh"
all=$runs

tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
bad=0

check_fixed() {
	local report=$1 name=$2 kind class file line
	findings_of "$report" | while IFS='|' read -r kind class file line; do
		case $class in
		possible* | undecided*) ;;
		*) echo "false positive $kind at $file:$line" ;;
		esac
	done
	cmp -s "$report.out" "$tmp/$name.plain" || echo "output differs: $(head -c 80 "$report.out")"
	case "$(gpu_output "$name")" in
	"" | "$(cat "$report.out")") ;;
	*) echo "output is not the GPU's: $(head -c 80 "$report.out")" ;;
	esac
}

echo "delays $delays ns, $all runs each"
printf '%-20s %-34s %-10s %s\n' program expected "as it must" verdict
names=("$@")
if [ ${#names[@]} -eq 0 ]; then
	for f in "$dir"/src/examples/*.cu; do
		names+=("$(basename "$f" .cu)")
	done
fi
for name in "${names[@]}"; do
	src=$dir/src/examples/$name.cu
	bin=$dir/collide/$name
	# The CPU device puts the checks into a plain program, too.
	[ $detector = collide ] && { [ "$device" = gpu ] || [ -x "$bin" ]; } || bin=$dir/plain/$name
	why=
	good=0
	runs=$all
	seldom=0
	[ $detector = collide ] || runs=$(seeds_of "$src" "$all")
	if [ $detector = oracle ] && grep -q '^// detector: oracle seldom' "$src"; then
		seldom=1
		runs=20
	fi
	required=1
	expected=nothing
	if [ ! -x "$bin" ] || [ ! -f "$src" ]; then
		printf '%-20s %-34s %-10s %s\n' "$name" - "0/$runs" "FAIL: not built"
		bad=1
		continue
	fi
	if ! grep -q '^// expect: nothing' "$src"; then
		expected=$(sed -n "s,^// expect $detector: .* at ,,p" "$src" | tr '\n' ' ')
		if [ $detector = collide ] && grep -q '^// detector: later' "$src"; then
			required=0
			expected="(later detectors)"
		fi
	else
		run_plain 120 "$dir/plain/$name" >"$tmp/$name.plain" 2>&1 ||
			why="the plain program fails;"
	fi
	for ((k = 0; k < runs; k++)); do
		report=$tmp/$name.$k
		run_collider 120 "$report" $((k + 1)) "${delays%/*}" "${delays#*/}" "$bin"
		rc=$?
		if [ $rc -ne 0 ] && [ $rc -ne 1 ]; then
			problem="exit code $rc: $(tail -1 "$report.err" | head -c 80)"
		elif [ ! -s "$report" ]; then
			problem="no report"
		elif [ "$expected" = nothing ]; then
			problem=$(check_fixed "$report" "$name")
			[ $rc -eq 0 ] || problem="$problem wrong result"
		elif [ $required -eq 1 ]; then
			problem=$(check_racy "$src" "$report")
		else
			problem=
		fi
		if [ -z "$problem" ]; then
			good=$((good + 1))
			# Other seeds need not show it once more.
			if [ "$device" = cpu ] && [ "$expected" != nothing ] &&
				{ [ $detector = collide ] || [ $seldom -eq 1 ]; }; then
				k=$((k + 1))
				break
			fi
			[ "$device" = gpu ] || [ $detector = oracle ] || [ $k -lt 2 ] || { k=$((k + 1)) && break; }
		elif [ "$device" = cpu ] && { [ $detector = collide ] || [ $seldom -eq 1 ]; } &&
			! echo "$problem" | grep -qv '^missed'; then
			continue
		else
			why="$why $(echo "$problem" | sort -u | head -2 | tr '\n' ';')"
		fi
	done
	[ "$device" = gpu ] || [ $good -gt 0 ] || why="$why not found with any seed"
	if { [ $good -eq "$runs" ] || [ "$device" = cpu ]; } && [ -z "$why" ]; then
		verdict=ok
		[ $required -eq 1 ] || verdict="ok (not required)"
	else
		verdict="FAIL:$why"
		bad=1
	fi
	printf '%-20s %-34s %-10s %s\n' "$name" "$expected" "$good/$k" "$verdict"
done
[ $bad -eq 0 ] && echo "all as expected" || echo "NOT as expected"
exit $bad
