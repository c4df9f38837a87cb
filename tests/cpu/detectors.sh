#!/bin/bash
# detectors.sh - --detector on the CPU device decides alone what is checked, whatever the program
# was built for: detectors.sh COLLIDER WORK PROGRAMS
#
# An example and its race-free twin, each built by nvcc alone and by collider nvcc: PROGRAMS is the folder of
# tests/gpu/build.sh (here: of the target gpu_programs).
set -u
collider=$1 work=$2 programs=$3
export COLLIDER_OPTIONS=device=cpu:color=never
unset COLLIDER_CPU COLLIDER_CUDART
failed=0
mkdir -p "$work" && cd "$work" || exit 2
for name in scan scan.fixed; do
	ln -sf "$programs/plain/$name" "$name.plain"
	ln -sf "$programs/collide/$name" "$name.built"
done

# expect PROGRAM DETECTORS WORDS NOT: the report has the words; NOT: and none of these
expect() {
	local rc=0
	"$collider" run --detector="$2" --log-file=report.txt -- "./$1" >out.txt 2>err.txt || rc=$?
	# The racy one may compute something wrong, and says so by 1.
	[ $rc -le 1 ] || { echo "FAIL $1, $2: exit code $rc"; cat out.txt err.txt; failed=1; }
	for word in "${@:3:1}"; do
		grep -qE "$word" report.txt || { echo "FAIL $1, $2: no '$word'"; cat report.txt; failed=1; }
	done
	! grep -qE "$4" report.txt || { echo "FAIL $1, $2: has '$4'"; cat report.txt; failed=1; }
	cat err.txt
}
for how in plain built; do
	expect scan.$how collide '1 data race found' 'not instrumented'
	expect scan.fixed.$how collide 'no race seen in [0-9,]* checked' 'not instrumented'
	expect scan.$how none '1 launch: not instrumented' 'data race found'
	expect scan.fixed.$how none '1 launch: not instrumented' 'no race seen'
	expect scan.$how oracle '1 data race found' 'read again'
	expect scan.$how oracle,collide '1 data race found' 'not instrumented'
	expect scan.fixed.$how collide,oracle 'no race seen in [0-9,]* judged' 'not instrumented'
done
# What was put in at load finds the same line as what was put in at build time.
for how in plain built; do
	"$collider" run --log-file=$how.txt -- ./scan.$how >/dev/null 2>&1
	grep -oE 'scan\.cu:[0-9]+' $how.txt | sort -u >$how.lines
done
cmp -s plain.lines built.lines && [ -s plain.lines ] ||
	{ echo "FAIL other lines: $(diff plain.lines built.lines)"; failed=1; }
exit $failed
