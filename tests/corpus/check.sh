#!/bin/bash
# check.sh - put every PTX file of the corpus through collider and ptxas.
#
#   tests/corpus/check.sh DIR [-c COLLIDER] [-s CUBIN_SAME] [-i] [-r] [-o] [-k] [-b] [NAME-PATTERN]
#
# For each file of DIR/manifest.tsv (from generate.sh):
#   round trip    ptxas gives the same code for the file and for what
#                 `collider instrument --sanitize=none` prints from it
#   instrumented  what `collider instrument` prints assembles for the same target; with STRIP=1
#                 what `--strip` leaves of it has the original's code
# -i: only instrumented, -r: only round trip, -o: only that the originals assemble, -k: keep the files
# made. What was said of a file stays in DIR/results, and is read from there while it is newer than the
# file, COLLIDER and this script; -b: only make it so (the build does, file by file), exit code 0. Prints one line for each failure and a sum; exit code 1 when anything failed. Sections are compared by tests/tools/cubin_same.
set -u

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
ptxas=${PTXAS:-ptxas}

# Assembles: assemble FILE TARGET FLAGS CUBIN
assemble() {
	local flags=$3
	[ "$flags" = - ] && flags=
	# shellcheck disable=SC2086
	"$ptxas" -arch="$2" $flags "$1" -o "$4" >"$4.log" 2>&1
}

fail() { # fail FILE WHAT LOG
	echo "FAIL $1: $2: $(grep -m1 . "$3" 2>/dev/null | cut -c1-200)"
}

is_current() { # is_current RESULT FILE
	local f
	for f in "$2" "$CHECK_COLLIDER" "$CHECK_SAME" "$here/check.sh"; do
		[ "$1" -nt "$f" ] || return 1
	done
}

# Known already, or found out now. The result says "good" or what failed.
result_of() {
	local result=$CHECK_DIR/results/$1
	if [ $CHECK_WHAT != both ] || [ "$CHECK_KEEP" ]; then
		check_one "$@"
		return
	fi
	if ! is_current "$result" "$CHECK_DIR/$1"; then
		check_one "$@" >"$result.tmp" && echo good >>"$result.tmp"
		mv "$result.tmp" "$result" || return 1
	fi
	[ "$(cat "$result")" = good ] || { cat "$result"; return 1; }
}

check_one() {
	local file=$1 target=$2 flags=$3 stem bad=0
	stem=$CHECK_TMP/${file%.ptx}
	if ! assemble "$CHECK_DIR/$file" "$target" "$flags" "$stem.orig.cubin"; then
		fail "$file" "the original does not assemble" "$stem.orig.cubin.log"
		return 1
	fi
	if [ "$CHECK_WHAT" = trip ] || [ "$CHECK_WHAT" = both ]; then
		if ! "$CHECK_COLLIDER" instrument --sanitize=none "$CHECK_DIR/$file" \
			-o "$stem.same.ptx" >"$stem.log" 2>&1; then
			fail "$file" "collider instrument --sanitize=none" "$stem.log"
			bad=1
		elif ! assemble "$stem.same.ptx" "$target" "$flags" "$stem.same.cubin"; then
			fail "$file" "the printed text does not assemble" "$stem.same.cubin.log"
			bad=1
		elif ! "$CHECK_SAME" "$stem.orig.cubin" "$stem.same.cubin" >"$stem.log" 2>&1; then
			fail "$file" "round trip gives other code" "$stem.log"
			bad=1
		fi
	fi
	if [ "$CHECK_WHAT" = instrumented ] || [ "$CHECK_WHAT" = both ]; then
		if ! "$CHECK_COLLIDER" instrument "$CHECK_DIR/$file" -o "$stem.inst.ptx" \
			>"$stem.log" 2>&1; then
			fail "$file" "collider instrument" "$stem.log"
			bad=1
		elif ! assemble "$stem.inst.ptx" "$target" "$flags" "$stem.inst.cubin"; then
			fail "$file" "the instrumented text does not assemble" "$stem.inst.cubin.log"
			bad=1
		elif [ "${STRIP:-}" ]; then
			if ! "$CHECK_COLLIDER" instrument --strip "$stem.inst.ptx" \
				-o "$stem.strip.ptx" >"$stem.log" 2>&1; then
				fail "$file" "collider instrument --strip" "$stem.log"
				bad=1
			elif ! assemble "$stem.strip.ptx" "$target" "$flags" "$stem.strip.cubin"; then
				fail "$file" "the stripped text does not assemble" "$stem.strip.cubin.log"
				bad=1
			elif ! "$CHECK_SAME" "$stem.orig.cubin" "$stem.strip.cubin" >"$stem.log" 2>&1; then
				fail "$file" "--strip gives other code" "$stem.log"
				bad=1
			fi
		fi
	fi
	[ "$CHECK_KEEP" ] || rm -f "$stem".*
	return $bad
}

if [ "${CHECK_TMP:-}" ]; then
	result_of "$1" "$2" "$3"
	exit
fi

usage="usage: $0 DIR [-c COLLIDER] [-s CUBIN_SAME] [-i] [-r] [-o] [-k] [-b] [NAME-PATTERN]"
[ $# -ge 1 ] && [ -f "$1/manifest.tsv" ] || { echo "$usage (no manifest.tsv)" >&2; exit 2; }
CHECK_DIR=$(cd "$1" && pwd)
shift
CHECK_COLLIDER=$root/build/bin/collider
CHECK_SAME=$root/tests/tools/cubin_same
CHECK_WHAT=both
CHECK_KEEP=
CHECK_ONLY_MAKE=
while getopts c:s:irokb o; do
	case $o in
	c) CHECK_COLLIDER=$OPTARG ;;
	s) CHECK_SAME=$OPTARG ;;
	i) CHECK_WHAT=instrumented ;;
	r) CHECK_WHAT=trip ;;
	o) CHECK_WHAT=original ;;
	k) CHECK_KEEP=1 ;;
	b) CHECK_ONLY_MAKE=1 ;;
	*) echo "$usage" >&2; exit 2 ;;
	esac
done
shift $((OPTIND - 1))
[ -x "$CHECK_COLLIDER" ] || [ $CHECK_WHAT = original ] ||
	{ echo "no collider at $CHECK_COLLIDER" >&2; exit 2; }
[ -x "$CHECK_SAME" ] || [ $CHECK_WHAT = instrumented ] || [ $CHECK_WHAT = original ] ||
	{ echo "no cubin_same at $CHECK_SAME" >&2; exit 2; }
mkdir -p "$CHECK_DIR/results" || exit 2
CHECK_TMP=$(mktemp -d) || exit 2
[ "$CHECK_KEEP" ] && echo "files stay in $CHECK_TMP" || trap 'rm -rf "$CHECK_TMP"' EXIT
export CHECK_DIR CHECK_COLLIDER CHECK_SAME CHECK_WHAT CHECK_KEEP CHECK_TMP

grep -- "${1:-.}" "$CHECK_DIR/manifest.tsv" | tr '\t\n' '\0\0' |
	xargs -0 -n 3 -P "${JOBS:-2}" bash "$0" >"$CHECK_TMP/out" 2>&1
rc=$?
[ -z "$CHECK_ONLY_MAKE" ] || exit 0
sort "$CHECK_TMP/out"
all=$(grep -c -- "${1:-.}" "$CHECK_DIR/manifest.tsv")
failed=$(grep '^FAIL' "$CHECK_TMP/out" | sed 's/^FAIL \([^:]*\):.*/\1/' | sort -u | wc -l)
echo "$all files ($CHECK_WHAT): $((all - failed)) good, $failed failed"
[ $rc -eq 0 ] && [ "$failed" -eq 0 ] || exit 1
