#!/bin/bash
# run.sh - the scenarios of the SuperCollider paper's Table 3 under collider: which are found?
#
#   run.sh WORKDIR COLLIDER [-b | -n] [-r] [-k RUNS] [-t TWIN_RUNS] [-d RDELAY/WDELAY] [NAME...]
#
# Builds every scenario and its twin into WORKDIR (COLLIDER nvcc $BUILD_FLAGS, for $ARCH or sm_90; compute_90: PTX
# alone, for the CPU device; what is newer than its source stays), runs each RUNS (10) times with seeds 1 to RUNS, its twin TWIN_RUNS (RUNS) times, and prints one line:
# what it must be, in how many runs it was found on its marked lines, how many runs of the race-free
# program reported anything. DEVICE=gpu (the default) or cpu, as in tests/gpu.
#   -b  only build      -n  don't build: WORKDIR was built elsewhere (it holds all that is needed)
#   -r  only what is required; the others are listed with their reason
# A scenario with `// detector: collide` is required: found in 9 of 10 runs, 4 of 5. What it needs of options
# stands in `// options: KEY=VALUE:...` and `// delays: RDELAY/WDELAY`; its twin gets the same. One with
# `// detector: later (REASON)` is run and shown, and nothing is demanded of it. Whatever is said of
# a race-free program, or of a line that is not marked, is a false positive. Exit code 1: a required
# race missed, a false positive, a wrong output or a crash; 2: wrong usage, or it can't be built.
set -u

here=$(cd "$(dirname "$0")" && pwd)
scenarios=${SCENARIOS:-$here}
usage="usage: $0 WORKDIR COLLIDER [-b | -n] [-r] [-k RUNS] [-t TWIN_RUNS] [-d RDELAY/WDELAY] [NAME...]"
[ $# -ge 2 ] || { echo "$usage" >&2; exit 2; }
mkdir -p "$1" || exit 2
dir=$(cd "$1" && pwd)
collider=$2
shift 2
runs=10
twin_runs=
# Stores need a window, too: with a wdelay of 1 ns two writers on a GPU seldom meet.
delays=5000/5000
build=1
run=1
all=1
while getopts bnrk:t:d: o; do
	case $o in
	b) run=0 ;;
	n) build=0 ;;
	r) all=0 ;;
	k) runs=$OPTARG ;;
	t) twin_runs=$OPTARG ;;
	d) delays=$OPTARG ;;
	*) echo "$usage" >&2; exit 2 ;;
	esac
done
shift $((OPTIND - 1))
twin_runs=${twin_runs:-$runs}
unset COLLIDER_OPTIONS

# ---- building --------------------------------------------------------------------------

header() { # header SOURCE KEY: the value of a line `// KEY: VALUE`
	sed -n "s,^// $2: ,,p" "$1"
}

has_twin_inside() { # has_twin_inside SOURCE: is the race-free half the same source with -DFIXED?
	grep -q '^// twin: -DFIXED' "$1"
}

# build_one SOURCE: into bin/, with its log in log/. NAME.fixed.cu may be NAME.cu with -DFIXED.
build_one() {
	local name bin src=$1 fit= host=-O3
	name=$(basename "$src" .cu)
	bin=$dir/bin/$name
	# The CPU device needs no registers counted, and no host code optimised.
	case ${ARCH:-} in compute_*) fit=--no-fit host=-O0 ;; esac
	if [ ! -f "$src" ]; then
		src=${src%.fixed.cu}.cu
		fit="$fit -DFIXED"
	fi
	[ "$bin" -nt "$src" ] && [ "$bin" -nt "$here/hadron.h" ] && [ "$bin" -nt "$collider" ] && return
	# shellcheck disable=SC2046,SC2086
	"$collider" nvcc $fit ${BUILD_FLAGS:-} $(header "$src" flags) $host -g -lineinfo -arch="${ARCH:-sm_90}" \
		-I"$here/../../examples" -I"$here" -Xlinker -rpath '-Xlinker=$ORIGIN/../lib' "$src" -o "$bin" >"$dir/log/$name" 2>&1 && return
	echo "FAIL: $name can't be built, see $dir/log/$name" >&2
	rm -f "$bin"
	return 1
}

mkdir -p "$dir/bin" "$dir/log" || exit 2
if [ "${BUILD_ONE:-}" ]; then
	build_one "$BUILD_ONE"
	exit
fi
if [ $build -eq 1 ]; then
	mkdir -p "$dir/src" "$dir/lib" || exit 2
	cp "$scenarios"/*.cu "$here/hadron.h" "$here/../gpu/common.sh" "$dir/src/" || exit 2
	sources=("$scenarios"/*.cu)
	if [ $# -gt 0 ]; then
		sources=()
		for n in "$@"; do
			sources+=("$scenarios/$n".*)
		done
	fi
	for src in "${sources[@]}"; do
		has_twin_inside "$src" && sources+=("${src%.cu}.fixed.cu")
	done
	printf '%s\n' "${sources[@]}" |
		xargs -P "${JOBS:-2}" -I{} env BUILD_ONE={} bash "$0" "$dir" "$collider" || exit 2
	# The runtime that the programs ask for, so that a GPU machine needs only a driver.
	toolkit=$(readlink -f "$(command -v "${NVCC:-nvcc}")")
	lib=${toolkit%/bin/*}/lib64/libcudart.so
	cp "$(readlink -f "$lib")" \
		"$dir/lib/$(readelf -d "$lib" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')" || exit 2
fi
[ $run -eq 1 ] || exit 0

# ---- running ------------------------------------------------------------------------------

. "$dir/src/common.sh"
later='^later '
[ "$detector" = collide ] || later="^$detector later "
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
bad=0

# run_program NAME RUNS. Sets good (runs as they must be), why (what is a failure), codes
# (exit codes seen) and skipped (why it can't run here).
run_program() {
	local name=$1 runs=$2 src=$dir/src/$1.cu k report rc problem devices kind class file line options own
	good=0
	why=
	codes=
	skipped=
	[ -f "$src" ] || src=$dir/src/${name%.fixed}.cu
	devices=$(header "$src" devices)
	# The twin runs under the same options.
	options=$(header "$dir/src/${name%.fixed}.cu" options)
	own=$(header "$dir/src/${name%.fixed}.cu" delays)
	own=${own:-$delays}
	for ((k = 1; k <= runs; k++)); do
		report=$tmp/$name.$k
		COLLIDER_OPTIONS=cpu-devices=${devices:-1}${options:+:$options} \
			run_collider 120 "$report" $k "${own%/*}" "${own#*/}" "$dir/bin/$name"
		rc=$?
		has_word $rc "$codes" || codes="$codes $rc"
		if [ $rc -eq 77 ]; then
			skipped=$(sed -n 's/^skip: //p' "$report.out")
			return
		elif [ $rc -gt 1 ]; then
			problem="exit code $rc: $(tail -1 "$report.err" | head -c 80)"
		elif [ ! -s "$report" ]; then
			problem="no report"
		elif [ "$src" != "$dir/src/$name.cu" ] || grep -q '^// expect: nothing' "$src"; then
			problem=$(findings_of "$report" | while IFS='|' read -r kind class file line; do
				echo "false positive $kind ($class) at $file:$line"
			done)
			[ $rc -eq 0 ] || problem="$problem wrong result"
		else
			problem=$(check_racy "$src" "$report")
		fi
		if [ -z "$problem" ]; then
			good=$((good + 1))
		elif echo "$problem" | grep -qv '^missed'; then
			why="$why seed $k: $(echo "$problem" | sort -u | head -2 | tr '\n' ';')"
		fi
	done
}

# The racy one of the two: judges what run_program saw.
judge_racy() {
	local reason=$1
	if [ "$skipped" ]; then
		verdict="NOT RUN: $skipped"
	elif [ "$why" ]; then
		verdict="FAIL:$why"
	elif [ "$detector" = oracle ] && [ -z "$reason" ] && [ "$good" -lt "$runs" ]; then
		verdict="FAIL: missed in $((runs - good)) runs"
	elif [ $((runs - good)) -le $(((runs + 5) / 10)) ]; then
		verdict=ok
		[ -z "$reason" ] || verdict="found, though: later $reason"
	elif [ "$reason" ]; then
		verdict="not required: later $reason"
	else
		verdict="FAIL: missed"
	fi
}

names=("$@")
if [ ${#names[@]} -eq 0 ]; then
	for f in "$dir"/src/*.cu; do
		case $f in
		*.fixed.cu | *.racy.cu) ;;
		*) names+=("$(basename "$f" .cu)") ;;
		esac
	done
fi
found=0
required=0
listed=0
notrun=0
skipped=
echo "device $device, delays $delays ns, $runs runs of each, $twin_runs of each twin"
printf '%-26s %-16s %-7s %-5s %-7s %-5s %s\n' scenario 'table 3' found exit clean exit verdict
for name in "${names[@]}"; do
	racy=$name
	clean=$name.fixed
	if [ -f "$dir/src/$name.racy.cu" ]; then
		racy=$name.racy
		clean=$name
	fi
	src=$dir/src/$racy.cu
	if [ ! -x "$dir/bin/$racy" ] || [ ! -x "$dir/bin/$clean" ]; then
		printf '%-26s %s\n' "$name" "FAIL: not built"
		bad=1
		continue
	fi
	reason=$(header "$src" detector | sed -n "s/$later//p")
	expected=$(header "$dir/src/$name.cu" 'table 3' | sed 's/ (.*//')
	if [ "$reason" ] && [ $all -eq 0 ]; then
		good=-
		codes=' -'
		verdict="not run: later $reason"
	else
		run_program "$racy" $runs
		judge_racy "$reason"
		[ "$skipped" ] && good=-
	fi
	shown="$good/$runs"
	racy_codes=$codes
	case $verdict in
	ok | found*) found=$((found + 1)) ;;
	NOT*) notrun=$((notrun + 1)) ;;
	FAIL*) bad=1 ;;
	*) listed=$((listed + 1)) ;;
	esac
	[ "$reason" ] || required=$((required + 1))
	if [ -z "$skipped" ]; then
		run_program "$clean" $twin_runs
		if [ "$why" ]; then
			verdict="$verdict; twin FAIL:$why"
			bad=1
		fi
	fi
	[ "$skipped" ] && good=-
	printf '%-26s %-16s %-7s %-5s %-7s %-5s %s\n' "$name" "$expected" "$shown" "${racy_codes# }" \
		"$good/$twin_runs" "${codes# }" "$verdict"
	skipped=
done
echo "${#names[@]} scenarios: $found found, $required required, $listed left for later," \
	"$notrun not possible on this machine"
[ $bad -eq 0 ] && echo "all as expected" || echo "NOT as expected"
exit $bad
