#!/bin/bash
# figure6.sh - figure 6 of HiRace's paper (SC'24): three Rodinia programs under three race detectors.
#
#   figure6.sh HECBENCH COLLIDER [-p "PROGRAM ..."] [-n REPEATS] [-t SECONDS] [-a ARCH] [-x]
#
# HECBENCH is a checkout of zjin-lcf/HeCBench, which has CUDA versions of SRAD, Backprop and Gaussian
# (src/srad-cuda and so on, src/data/srad); -p: only these (srad, backprop, gaussian). Each is built by
# nvcc and by `collider nvcc` for hirace and iguard, and run at several sizes: plain, hirace, iguard, and
# compute-sanitizer --tool racecheck on the plain program where it is on the PATH (-x: leave it out). The
# time is the one that the program prints of its work on the GPU, the median of REPEATS (3); racecheck runs
# once, up to SECONDS (60). A ratio is to the plain run of the same size. The bars are logarithmic, one #
# for each doubling. The exit code is 1 if a build fails or a program doesn't end well.
set -u

usage="usage: $0 HECBENCH COLLIDER [-p 'PROGRAM ...'] [-n REPEATS] [-t SECONDS] [-a ARCH] [-x]"
[ $# -ge 2 ] || { echo "$usage" >&2; exit 2; }
src=$(cd "$1/src" && pwd) || exit 2
collider=$(command -v "$2") && collider=$(readlink -f "$collider") || exit 2
shift 2
programs="srad backprop gaussian"
repeats=3
limit=60
arch=native
is_racecheck=1
while getopts p:n:t:a:x o; do
	case $o in
	p) programs=$OPTARG ;;
	n) repeats=$OPTARG ;;
	t) limit=$OPTARG ;;
	a) arch=$OPTARG ;;
	x) is_racecheck=0 ;;
	*) echo "$usage" >&2; exit 2 ;;
	esac
done
tools="hirace iguard"
if [ $is_racecheck -eq 1 ]; then
	if command -v compute-sanitizer >/dev/null; then
		tools="$tools racecheck"
	else
		echo "compute-sanitizer is not on the PATH: racecheck is left out"
	fi
fi
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
bad=0
# srad reads ../data/srad/image.pgm and writes into its folder.
mkdir -p "$tmp/data" "$tmp/run"
cp -r "$src/data/srad" "$tmp/data/" || exit 2

files_of() {
	case $1 in
	srad) echo main.cu ;;
	backprop) echo backprop.cu facetrain.cu imagenet.cu main.cu ;;
	gaussian) echo gaussianElim.cu utils.cu ;;
	esac
}

build() { # build PROGRAM HOW
	local how=("$collider" nvcc "--sanitize=$2")
	[ "$2" = plain ] && how=(nvcc)
	# shellcheck disable=SC2046
	(cd "$src/$1-cuda" &&
		"${how[@]}" -std=c++17 -O3 -lineinfo -arch="$arch" $(files_of "$1") -o "$tmp/run/$1.$2") \
		>"$tmp/log.$1.$2" 2>&1 && return
	echo "FAIL build of $1 for $2:" >&2
	tail -n 3 "$tmp/log.$1.$2" >&2
	return 1
}

arguments_of() { # arguments_of PROGRAM SIZE
	case $1 in
	srad) echo "100 0.5 ${2/x/ }" ;;
	backprop) echo "$2" ;;
	gaussian) echo "-q -t -s $2" ;;
	esac
}

# Milliseconds on the GPU, from the program's output.
time_in() {
	case $1 in
	srad) sed -n 's/^ *\([0-9.]*\) s,.*: COMPUTE.*/\1/p' "$2" | awk '{printf "%.3f\n", $1 * 1e3}' ;;
	backprop) sed -n 's/^Device offloading time = \([0-9.]*\).*/\1/p' "$2" | awk '{printf "%.3f\n", $1 * 1e3}' ;;
	gaussian) sed -n 's/^Total kernel execution time \([0-9]*\).*/\1/p' "$2" | awk '{printf "%.3f\n", $1 / 1e3}' ;;
	esac
}

once() { # once PROGRAM HOW SIZE: its time, or nothing
	local run=("$tmp/run/$1.$2")
	case $2 in
	racecheck) run=(compute-sanitizer --tool racecheck "$tmp/run/$1.plain") ;;
	hirace | iguard) run=("$collider" run "--detector=$2" --log-file="$tmp/report.$1.$2" -- "${run[@]}") ;;
	esac
	# shellcheck disable=SC2046
	(cd "$tmp/run" && timeout "$limit" "${run[@]}" $(arguments_of "$1" "$3")) >"$tmp/out" 2>&1 || return
	time_in "$1" "$tmp/out"
}

median() { # median PROGRAM HOW SIZE
	local i n=$repeats
	[ "$2" = racecheck ] && n=1
	for ((i = 0; i < n; i++)); do once "$@"; done | sort -g | awk '{v[NR] = $1} END {if (NR) print v[int((NR + 1) / 2)]}'
}

for p in $programs; do
	for how in plain hirace iguard; do build "$p" $how || bad=1; done
done
[ $bad -eq 0 ] || exit 1
printf '%-9s %-10s %-10s %11s %9s  %s\n' program size run ms ratio "one # for each doubling"
for row in srad:502x458 srad:1004x916 srad:2008x1832 backprop:65536 backprop:262144 backprop:1048560 \
	gaussian:512 gaussian:1024 gaussian:2048 gaussian:4096; do
	p=${row%:*} size=${row#*:}
	case " $programs " in *" $p "*) ;; *) continue ;; esac
	plain=$(median "$p" plain "$size")
	[ -n "$plain" ] || { echo "FAIL $p $size"; bad=1; continue; }
	printf '%-9s %-10s %-10s %11s\n' "$p" "$size" plain "$plain"
	for how in $tools; do
		t=$(median "$p" "$how" "$size")
		if [ -z "$t" ]; then
			printf '%-9s %-10s %-10s %11s\n' "$p" "$size" "$how" "> $limit s"
			[ "$how" = racecheck ] || bad=1
			continue
		fi
		awk -v p="$p" -v s="$size" -v h="$how" -v t="$t" -v b="$plain" 'BEGIN {
			r = t / b
			for (x = r; x >= 1.414; x /= 2) bar = bar "#"
			printf "%-9s %-10s %-10s %11s %9.2f  %s\n", p, s, h, t, r, bar }'
	done
done
for p in $programs; do
	for how in hirace iguard; do
		n=$(sed -n 's/^======== \([0-9]*\) data race.*/\1/p' "$tmp/report.$p.$how" | head -n 1)
		echo "$p, $how: ${n:-0} data races"
	done
done
exit $bad
