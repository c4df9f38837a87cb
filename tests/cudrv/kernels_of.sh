#!/bin/sh
# kernels_of.sh COLLIDER PROGRAM LIBRARY OTHER - a library of kernels that can't run here is named once, in the notes'
# place and in the last line, and the run is not complete; another library that asks for the same is not such a one.
set -eu
fail() {
	echo "FAILED: $*"
	exit 1
}
out=$("$1" run --device=cpu -- "$2" "$3" "$3" 2>&1) || fail "exit code $?"
name=$(basename "$3")
[ "$(echo "$out" | grep -c "^collider: $name can't run on the CPU device: ")" = 1 ] || fail "not said once: $out"
echo "$out" | grep -q "a library's kernels can't run on the CPU device: $name$" || fail "no reason: $out"
echo "$out" | tail -1 | grep -q "$name" || fail "the last line doesn't name it: $out"
echo "$out" | grep -q "cuGetExportTable" && fail "the table is named: $out"
rc=0
"$1" run --device=cpu --fail-partial -- "$2" "$3" >/dev/null 2>&1 || rc=$?
[ $rc = 73 ] || fail "exit code $rc"
out=$("$1" run --device=cpu -- "$2" "$4" 2>&1) || fail "exit code $?"
echo "$out" | grep -q "library's kernels" && fail "another library is named: $out"
echo "$out" | grep -q "^collider: cuGetExportTable is not available" || fail "the table isn't named: $out"
