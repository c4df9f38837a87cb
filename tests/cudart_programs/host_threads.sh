#!/bin/sh
# host_threads.sh COLLIDER PROGRAM - host threads under the oracle. Each for itself, kernels that nothing
# orders race, and those that the API or the C library orders don't; taken for one, an atomic that
# isn't seen makes no report.
set -eu
collider=$1
program=$2
out=$(mktemp)
trap 'rm -f "$out"' EXIT

# judge TEXT OPTION HOW: the report holds TEXT, and no race if TEXT says so
judge() {
	rc=0
	"$collider" run --detector=oracle $2 -- "$program" $3 >"$out" 2>&1 || rc=$?
	if [ $rc != 0 ] || ! grep -q "^ok$" "$out" || ! grep -qF -- "$1" "$out"; then
		cat "$out"
		echo "$2 $3: exit code $rc, expected: $1" >&2
		exit 1
	fi
}
clean="no race seen"
for how in mutex condition barrier semaphore once join event; do
	judge "$clean" --host-threads=separate $how
done
judge "DATA RACE" --host-threads=separate nothing
judge "$clean" --host-threads=one atomic
