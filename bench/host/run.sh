#!/bin/sh
# run.sh - bench_host with gcc and with clang: run.sh BUILD. The table goes to standard output.
#
# loops.c is compiled twice by the same compiler, at -O2 without and with checks; the rest is
# compiled as it is. Nothing else should run meanwhile.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for cc in gcc clang; do
	command -v $cc >/dev/null || { echo "no $cc here"; continue; }
	echo "== $($cc --version | head -n 1)"
	$cc -O2 -g1 -DPREFIX=plain_ -c "$here/loops.c" -o "$work/plain.o"
	COLLIDER_CC=$cc "$build/bin/collider" cc -O2 -DPREFIX=host_ -c "$here/loops.c" -o "$work/host.o"
	$cc -O2 -D_GNU_SOURCE -I"$here/../../src" -c "$here/bench_host.c" -o "$work/bench.o"
	COLLIDER_CC=$cc "$build/bin/collider" cc "$work/plain.o" "$work/host.o" "$work/bench.o" \
		"$build/src/race/libcollider_race.a" "$build/src/base/libcollider_base.a" -lzstd -lm \
		-o "$work/bench_host"
	"$work/bench_host"
done
