#!/bin/sh
# report.sh COLLIDER SOURCE_FOLDER - what the CPU device finds reaches collider run, exactly counted, even
# when the program is killed right after it has waited for its kernels.
set -eu
collider=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$collider" nvcc -arch=sm_90 -lineinfo "$2/killed.cu" -o "$dir/killed" 2>"$dir/build" ||
	{ cat "$dir/build" >&2; exit 1; }

# run TEXT ARGUMENTS...: the report of the killed program holds TEXT
run() {
	text=$1
	shift
	rc=0
	"$collider" run --device=cpu --verbose -- "$dir/killed" "$@" >"$dir/out" 2>&1 || rc=$?
	[ $rc = 137 ] || { cat "$dir/out"; echo "exit code $rc, expected 137" >&2; exit 1; }
	for t in "$text" "these counters are exact" "1 kernel launch"; do
		grep -qF "$t" "$dir/out" || { cat "$dir/out"; echo "expected: $t" >&2; exit 1; }
	done
}
run "killed.cu:10"
run "======== no race seen" fixed
if grep -q "DATA RACE" "$dir/out"; then
	cat "$dir/out"
	exit 1
fi
