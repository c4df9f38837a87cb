#!/bin/sh
# ways.sh COLLIDER PROGRAM - a program of the driver's API, by every way to its functions: the racy
# kernel is reported, with exit code and kernel, the fixed one isn't.
set -eu
collider=$1
program=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0
fail() {
	echo "FAILED: $*"
	tail -25 "$dir/out" | sed 's/^/  /'
	failed=1
}
run() {
	rc=0
	"$collider" run --device=cpu --error-exitcode=9 -- "$program" "$@" >"$dir/out" 2>&1 || rc=$?
}
for way in linked dlopen proc ex library linker graph mixed; do
	run $way racy
	[ $rc = 9 ] || fail "$way racy: exit code $rc"
	grep -q '^1. DATA RACE' "$dir/out" || fail "$way racy: no data race"
	grep -q 'in fill$' "$dir/out" || fail "$way racy: no kernel"
	run $way fixed
	[ $rc = 0 ] || fail "$way fixed: exit code $rc"
	grep -Eq '^(What was checked:)? *1 kernel launch' "$dir/out" || fail "$way fixed: no launch was checked"
done
exit $failed
