#!/bin/sh
# virtual.sh COLLIDER VIRTUAL - virtual memory as an H100's driver has it; a kernel's race on it is reported, and none where
# there is none.
set -eu
fail() {
	echo "$2"
	echo "FAILED: $1"
	exit 1
}
out=$("$1" run --device=cpu --error-exitcode=9 -- "$2" right 2>&1) || fail "exit code $?" "$out"
echo "$out" | grep -q "^Result  : no race seen" || fail "not silent" "$out"
echo "$out" | grep -q "not available" && fail "something is not there" "$out"
rc=0
out=$("$1" run --device=cpu --error-exitcode=9 -- "$2" racy 2>&1) || rc=$?
[ $rc = 9 ] || fail "exit code $rc" "$out"
echo "$out" | grep -q "1 data race found" || fail "not one race" "$out"
