#!/bin/bash
# programs.sh - host code built by `collider cc` and `collider c++` with gcc and clang, under the CPU
# device: what races is found at its line, what waits is never reported, and code without CUDA does
# what it always did.
#
#   programs.sh COLLIDER NVCC WORKDIR [SEEDS]
#
# SEEDS (20) runs of each program that waits and half as many of each that races, but SEEDS or 5 at least:
# found in 9 of 10, 4 of 5, or 2 of 3. With fewer than 5, clang's objects, which call the same functions,
# are asked about the accesses that it compiles otherwise.
set -u
here=$(cd "$(dirname "$0")" && pwd)
collider=$1
cuda=$(dirname "$(dirname "$(readlink -f "$2")")")
work=$3
seeds=${4:-20}
bad=0
unset COLLIDER_OPTIONS COLLIDER_CC COLLIDER_CXX
mkdir -p "$work" && cd "$work" || exit 2

fail() {
	echo "FAIL: $*"
	bad=1
}

# run NAME MODE HOW SEED [OPTION]: the report in $work/report.jsonl
run() {
	rm -f report.jsonl
	timeout 120 "$collider" run --device=cpu --detector=collide --seed="$4" --json=report.jsonl ${5:-} -- "./$1" "$2" \
		"$3" >out 2>err
	rc=$?
	[ $rc -eq 0 ] && [ -s report.jsonl ] || fail "$1 $2 $3, seed $4: exit code $rc, $(tail -1 err)"
}

# Findings that are none of the kernel: KIND|CLASS|FILE|LINE
host_findings() {
	grep -qE '"space": ?"(managed|pinned|system)"' report.jsonl || return 0
	python3 - report.jsonl <<'P'
import json, os, sys
for line in open(sys.argv[1]):
    o = json.loads(line)
    if o["type"] == "finding" and o["space"] in ("managed", "pinned", "system"):
        # Some systems' memcpy is an inline function of a header (_FORTIFY_SOURCE).
        own = [p for p in [o, *o["inlined_at"]] if not p["file"].startswith("/usr/")]
        at = (own or [o])[0]
        print(o["kind"], o["class"], os.path.basename(at["file"]), at["line"], sep="|")
P
}

# races NAME MODE MARK KIND CLASS: found at the marked lines, and nowhere else in host code
races() {
	local name=$1 mode=$2 mark=$3 kind=$4 class=$5 k found=0 n=$((seeds < 5 ? seeds : seeds < 10 ? 5 : seeds / 2)) lines hit
	lines=$(grep -n "race: $mark \*/" "$here/reader.c" | cut -d: -f1)
	for ((k = 1; k <= n; k++)); do
		run "$name" "$mode" race $k
		hit=0
		while IFS='|' read -r a b c d; do
			if [ "$a|$b|$c" = "$kind|$class|reader.c" ] && grep -qx "$d" <<<"$lines"; then
				hit=1
			else
				fail "$name $mode, seed $k: $a ($b) at $c:$d"
			fi
		done < <(host_findings)
		found=$((found + hit))
	done
	echo "$name $mode: found in $found of $n"
	[ $((n - found)) -le $(((n + 7) / 10)) ] || fail "$name $mode was missed"
}

# silent NAME MODE HOW RUNS
silent() {
	local name=$1 mode=$2 how=$3 k said
	for ((k = 1; k <= $4; k++)); do
		run "$name" "$mode" "$how" $k
		said=$(host_findings)
		[ -z "$said" ] || fail "$name $mode $how, seed $k: false positive $said"
	done
}

"$collider" nvcc -O2 -arch=sm_90 -c "$here/kernel.cu" -o kernel.o || exit 2
link="kernel.o -I$cuda/include -L$cuda/lib64 -Wl,-rpath,$cuda/lib64 -lcudart"
for cc in gcc clang; do
	command -v $cc >/dev/null || { fail "$cc is missing: run 'make setup'"; continue; }
	plus=$([ $cc = gcc ] && echo g++ || echo clang++)
	# In one step, and in two, as C++.
	COLLIDER_CC=$cc "$collider" cc -O2 -Wall -Werror "$here/reader.c" $link -lstdc++ -o reader_$cc &&
		COLLIDER_CXX=$plus "$collider" c++ -x c++ -O0 -g -I"$cuda/include" -c "$here/reader.c" \
			-o reader_$plus.o &&
		COLLIDER_CXX=$plus "$collider" c++ reader_$plus.o $link -o reader_$plus ||
		{ fail "$cc can't build reader.c"; continue; }
	ldd reader_$cc | grep -q tsan && fail "$cc: ThreadSanitizer is linked"
	modes='read write memcpy volatile'
	[ $cc = clang ] && [ "$seeds" -lt 5 ] || modes="$modes pinned copy"
	for mode in $modes; do
		case $mode in
		read | pinned | copy) races reader_$cc $mode read clobbered-read data-race ;;
		write) races reader_$cc write write lost-update data-race ;;
		memcpy) races reader_$cc memcpy memcpy clobbered-read data-race ;;
		volatile) races reader_$cc volatile volatile clobbered-read volatile-conflict ;;
		esac
		silent reader_$cc $mode wait "$seeds"
	done
	races reader_$plus read read clobbered-read data-race
	silent reader_$cc atomic race "$seeds"
	silent reader_$plus read wait "$seeds"

	# --host-filter: checks in other files only; findings in other places only.
	COLLIDER_CC=$cc "$collider" cc -O2 -I"$cuda/include" --host-filter='other*.c,*.cpp' \
		-c "$here/reader.c" -o none.o
	nm none.o | grep -q __tsan && fail "$cc: --host-filter has let checks in"
	for filter in sum '*/reader.c' 'rea*.c,x'; do
		run reader_$cc read race 1 --host-filter="$filter"
		[ "$(host_findings)" ] || fail "$cc: --host-filter=$filter left the race out"
	done
	run reader_$cc read race 1 --host-filter='su,reader'
	[ -z "$(host_findings)" ] || fail "$cc: --host-filter=su,reader let the race in"
	grep -q 'left out by --host-filter: 1' err || fail "$cc: --host-filter was not told"

	# Without CUDA: the same output and exit code as without checks, under collider run and alone.
	$plus -O2 -pthread "$here/plain.cpp" -o plain &&
		COLLIDER_CXX=$plus "$collider" c++ -O2 -Wall -Werror -pthread "$here/plain.cpp" -o plain_host ||
		{ fail "$plus can't build plain.cpp"; continue; }
	./plain >want
	want=$?
	for how in "" "$collider run --device=cpu --detector=collide --quiet --host-memory=all --"; do
		$how ./plain_host >got 2>err
		[ $? -eq $want ] && cmp -s want got || fail "plain.cpp under '$how' with $plus: $(cat got)"
	done
	# A library that carries its own copy of the runtime.
	COLLIDER_CC=$cc "$collider" cc -O2 -shared -fPIC "$here/reader.c" -Dmain=other_main -I"$cuda/include" \
		-o libreader.so || fail "$cc can't build a shared library"
done
exit $bad
