#!/bin/sh
# processes.sh COLLIDER RACY - whose launches are checked: --target-processes, --target-processes-filter. RACY's name is minimum.
set -u
collider=$1 racy=$2
failed=0
# run CODE TEXT OPTIONS... -- COMMAND...: its exit code, and a line of the report
run() {
	code=$1 text=$2 rc=0
	shift 2
	out=$("$collider" run --device=cpu --error-exitcode=9 --fail-partial "$@" 2>&1) || rc=$?
	[ $rc = "$code" ] && echo "$out" | grep -q -- "$text" && return
	echo "$out"
	echo "FAILED: $*: exit code $rc, expected $code and '$text'"
	failed=1
}
left="launched by a process that is left out"
run 9 "1 data race found" -- sh -c "$racy; true"
run 9 "1 data race found" --target-processes=all -- sh -c "$racy; true"
run 73 "$left" --target-processes=application-only -- sh -c "$racy; true"
run 9 "1 data race found" --target-processes=application-only -- "$racy"
run 9 "1 data race found" --target-processes-filter='mini*' -- sh -c "$racy; true"
run 9 "1 data race found" --target-processes-filter='other,regex:^min.mum$' -- "$racy"
run 73 "$left" --target-processes-filter=min,sh -- sh -c "$racy; true"
# Two processes, one of them by another name: its launches are left out, the race of the other is found.
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cp "$racy" "$dir/another"
run 9 "1 data race found" --target-processes-filter=minimum -- sh -c "$dir/another; $racy"
run 73 "$left" --target-processes-filter=nothing -- sh -c "$dir/another; $racy"
out=$("$collider" run --target-processes-filter='regex:(' -- true 2>&1)
[ $? = 2 ] || { echo "FAILED: a wrong expression: $out"; failed=1; }
exit $failed
