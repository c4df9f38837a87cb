#!/bin/sh
# samples.sh ROUNDTRIP CASES-DIR NVCC - what nvcc makes of sample.cu in four ways, and every case written by hand,
# must survive the round trip.
set -e
export ROUNDTRIP=$1
cases=$2 nvcc=$3
bin=$(dirname "$nvcc")
export PTXAS=$bin/ptxas
trip=$(dirname "$0")/../tools/roundtrip.sh
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for f in "$cases"/*.ptx; do
	"$trip" "$f" sm_90
done
i=0
for flags in "-O3" "-O3 -lineinfo" "-G" "-O3 -rdc=true -lineinfo"; do
	i=$((i + 1))
	"$nvcc" -std=c++17 -arch=compute_90 -ptx $flags "$cases/../sample.cu" -o "$dir/s$i.ptx"
	case $flags in *-G*) opt="-g -O0" ;; *) opt= ;; esac
	"$trip" "$dir/s$i.ptx" sm_90 $opt
done
