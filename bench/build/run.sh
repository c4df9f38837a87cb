#!/bin/bash
# run.sh - what `collider nvcc` costs at build time, as a table: each program is built by nvcc and by
# collider nvcc, one after the other, on one core.
#
#   run.sh COLLIDER [-a ARCH] [-j JOBS] [-t SECONDS] [-f LIST]... [-o FILE.tsv] [-b FOLDER] [-c OPTIONS] [-e SECONDS] [PROGRAM...]
#
# PROGRAM is a folder with a Makefile that takes ARCH= and finds nvcc on the PATH (a name of a target may
# follow after a colon), a folder of .cu and .cpp files that make one program, or one .cu file. LIST has
# lines "GROUP PROGRAM [OPTIONS OF NVCC]", paths relative to LIST's folder; # begins a comment. The
# program's own folder is copied, its neighbours are linked, so nothing is written beside the sources.
# With -b the built programs stay as FOLDER/{plain,collide}/GROUP.NAME; -c adds options to collider nvcc;
# after -e SECONDS no other program is begun.
#
# JOBS programs at once, each on a core of its own. Seconds are those of the processor, all processes of
# a build together; a ratio is of one run. A program that nvcc itself can't build is counted apart; one
# that only collider nvcc can't build makes the exit code 1. Last comes how much longer the PTX of
# each function with more than 200 sites is with its checks; FILE.functions.tsv has all of them.
set -u

usage="usage: $0 COLLIDER [-a ARCH] [-j JOBS] [-t SECONDS] [-f LIST]... [-o FILE.tsv] [-b FOLDER] [-c OPTIONS] [-e SECONDS] [PROGRAM...]"
[ $# -ge 1 ] || { echo "$usage" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
collider=$(readlink -f "$1") && [ -x "$collider" ] || { echo "$usage" >&2; exit 2; }
shift
arch=sm_90
jobs=1
limit=600
tsv=build.tsv
built=
asked=
ends=
lists=()
while getopts a:j:t:f:o:b:c:e: o; do
	case $o in
	a) arch=$OPTARG ;;
	j) jobs=$OPTARG ;;
	t) limit=$OPTARG ;;
	f) lists+=("$OPTARG") ;;
	o) tsv=$OPTARG ;;
	b) built=$OPTARG ;;
	c) asked=$OPTARG ;;
	e) ends=$(($(date +%s) + OPTARG)) ;;
	*) echo "$usage" >&2; exit 2 ;;
	esac
done
shift $((OPTIND - 1))
nvcc=$(command -v nvcc) || { echo "run.sh: nvcc is not on the PATH" >&2; exit 2; }
nvcc=$(readlink -f "$nvcc")
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT

# One line for each program: GROUP, path, options.
for p; do
	printf '%s\t%s\t\n' - "$(readlink -f "$p")"
done >"$tmp/programs"
for l in ${lists+"${lists[@]}"}; do
	folder=$(cd "$(dirname "$l")" && pwd) || exit 2
	sed 's/#.*//' "$l" | while read -r group path options; do
		[ -n "$group" ] || continue
		case $path in /*) ;; *) path=$folder/$path ;; esac
		printf '%s\t%s\t%s\n' "$group" "$path" "${options//@LIST@/$folder}"
	done
done >>"$tmp/programs"
[ -s "$tmp/programs" ] || { echo "$usage" >&2; exit 2; }

# The two compilers, under the name that makefiles use.
mkdir -p "$tmp/plain" "$tmp/collide"
printf '#!/bin/sh\nexec "%s" "$@"\n' "$nvcc" >"$tmp/plain/nvcc"
printf '#!/bin/sh\nexec "%s" nvcc --collider-verbose %s "$@"\n' "$collider" "$asked" >"$tmp/collide/nvcc"
chmod +x "$tmp/plain/nvcc" "$tmp/collide/nvcc"
export CUDA_HOME=${CUDA_HOME:-$(dirname "$(dirname "$nvcc")")}
export BENCH_TMP=$tmp BENCH_ARCH=$arch BENCH_LIMIT=$limit BENCH_BUILT=$built BENCH_ENDS=$ends
"$tmp/collide/nvcc" --version >"$tmp/version" || exit 2

tr '\n' '\0' <"$tmp/programs" |
	xargs -0 -r -n 1 -P "$jobs" --process-slot-var=BENCH_SLOT "$here/one.sh" >"$tmp/rows"
{
	cat "$here/columns.tsv"
	sort "$tmp/rows"
} >"$tsv"
echo "$(nproc) cores, $(grep -m 1 -o 'release [0-9.]*' "$tmp/version"), $arch, $(date -u +%Y-%m-%d), $jobs at once"
awk -f "$here/table.awk" "$tsv"
rc=$?
touch "$tmp/functions"
sort -u "$tmp/functions" >"${tsv%.tsv}.functions.tsv"
awk -f "$here/functions.awk" "${tsv%.tsv}.functions.tsv"
exit $rc
