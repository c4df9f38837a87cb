#!/bin/bash
# run_copies.sh - asynchronous copies and matrix accesses under collider: is every race found?
#
#   run_copies.sh WORKDIR COLLIDER [-b | -n] [-k RUNS] [NAME...]
#
# The programs of tests/instrument/programs (tensor, bulk and cluster copies, st.async, cp.async,
# ldmatrix, stmatrix, wmma), each without and with its races, and the scenarios of tests/hadron that
# have cp.async, bulk copies or distributed shared memory: RUNS (10) runs of each, one line for each
# race with the runs in which it was found and the runs of the race-free program that stayed silent.
# DEVICE=gpu (the default) or cpu.  -b only builds, for a machine without a GPU;  -n takes WORKDIR as
# it was built (the shared cudart lies in it, so the GPU machine needs a driver and this repository).
# NAME: only these programs. Exit code 1: a race found in fewer than 9 of 10 runs, a false positive,
# a wrong result; 2: wrong usage, or it can't be built.
set -u

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
programs=$root/tests/instrument
usage="usage: $0 WORKDIR COLLIDER [-b | -n] [-k RUNS] [NAME...]"
[ $# -ge 2 ] || { echo "$usage" >&2; exit 2; }
mkdir -p "$1/bin" "$1/lib" || exit 2
dir=$(cd "$1" && pwd)
collider=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
shift 2
runs=10
how=
while getopts bnk: o; do
	case $o in
	b) how=-b ;;
	n) how=-n ;;
	k) runs=$OPTARG ;;
	*) echo "$usage" >&2; exit 2 ;;
	esac
done
shift $((OPTIND - 1))
export DEVICE=${DEVICE:-gpu} RUNS=$runs
scenarios=
names=("$@")
if [ $# -eq 0 ]; then
	for f in "$programs"/programs/*.cu; do
		names+=("$(basename "$f" .cu)")
	done
	scenarios=$(cd "$root/tests/hadron" && ls | sed -n 's/^\(\(cp_async\|bulk\|dsmem\)_[a-z0-9_]*\)\.cu$/\1/p')
fi

one() { # one NAME BUILD
	BUILD=$2 sh "$programs/programs.sh" "$collider" "$programs/programs/$1.cu" "$dir/bin"
}
export -f one
export programs collider dir

bad=0
if [ "$how" != -n ]; then
	printf '%s\n' "${names[@]}" | xargs -P "${JOBS:-2}" -I{} bash -c 'one {} only' || exit 2
	toolkit=$(readlink -f "$(command -v "${NVCC:-nvcc}")")
	lib=${toolkit%/bin/*}/lib64/libcudart.so
	cp "$(readlink -f "$lib")" \
		"$dir/lib/$(readelf -d "$lib" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')" || exit 2
	if [ "$scenarios" ]; then
		# shellcheck disable=SC2086
		bash "$root/tests/hadron/run.sh" "$dir/hadron" "$collider" -b $scenarios || exit 2
		# Device code keeps its lines; the host's are of no use here, and half of the size.
		strip --strip-debug "$dir"/hadron/bin/* "$dir"/bin/*
	fi
	[ "$how" != -b ] || exit 0
fi
printf '%-18s %-32s %-9s %s\n' program race found 'silent without'
for name in "${names[@]}"; do
	one "$name" no || bad=1
done
if [ "$scenarios" ]; then
	# shellcheck disable=SC2086
	bash "$root/tests/hadron/run.sh" "$dir/hadron" "$collider" -n -k "$runs" $scenarios || bad=1
fi
[ $bad -eq 0 ] && echo "all as expected" || echo "NOT as expected"
exit $bad
