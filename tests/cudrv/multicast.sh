#!/bin/sh
# multicast.sh COLLIDER MULTICAST - multicast objects of two devices are what multimem accesses; a race of multimem.st with
# a load of one of the memories is reported in each seed, and none where a barrier is between.
set -eu
fail() {
	echo "$2"
	echo "FAILED: $1"
	exit 1
}
for seed in 1 2 3; do
	run="$1 run --device=cpu --cpu-devices=2 --seed=$seed --error-exitcode=9 --"
	out=$($run "$2" right 2>&1) || fail "seed $seed: exit code $?" "$out"
	echo "$out" | grep -q "^Result  : no race seen" || fail "seed $seed: not silent" "$out"
	echo "$out" | grep -q "not available" && fail "something is not there" "$out"
	rc=0
	out=$($run "$2" racy 2>&1) || rc=$?
	[ $rc = 9 ] || fail "seed $seed: exit code $rc" "$out"
	echo "$out" | grep -q "1 data race found" || fail "seed $seed: not one race" "$out"
done
# Both faults say what is at that address.
for kind in unmapped ordinary; do
	rc=0
	out=$($1 run --device=cpu --cpu-devices=2 --error-exitcode=9 -- "$2" $kind 2>&1) || rc=$?
	[ $rc = 0 ] || fail "$kind: exit code $rc" "$out"
	echo "$out" | grep -q "^Stopped : .*a multicast object's address" || fail "$kind: not said" "$out"
done
