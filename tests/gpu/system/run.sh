#!/bin/bash
# run.sh - races across the system: copies and fills of the host against kernels, processes.
#
#   run.sh WORKDIR COLLIDER [OPTIONS AND NAMES of tests/hadron/run.sh]
#
# The programs of this folder, racy and race-free, built and run as the scenarios of Table 3 are
# (tests/hadron/run.sh: DEVICE, -b, -n, -k and the table it prints). On the CPU device the oracle
# must confirm what is reported of the racy ones. Exit code as there.
set -u

here=$(cd "$(dirname "$0")" && pwd)
SCENARIOS=$here bash "$here/../../hadron/run.sh" "$@" || exit
[ "${DEVICE:-gpu}" = cpu ] || exit 0

dir=$(cd "$1" && pwd)
collider=$2
bad=0
for src in "$dir"/src/*.cu; do
	grep -q '^// detector: collide' "$src" || continue
	name=$(basename "$src" .cu)
	rc=0
	"$collider" run --device=cpu --verify --seed=7 --rdelay=5000 --wdelay=1 \
		--log-file=/dev/null -- "$dir/bin/$name" >"$dir/verify" 2>&1 || rc=$?
	[ $rc -ne 77 ] || continue
	grep -q 'the oracle confirms all' "$dir/verify" && continue
	echo "--verify of $name: exit code $rc"
	cat "$dir/verify"
	bad=1
done
[ $bad -ne 0 ] || echo "the oracle confirms what was reported"
exit $bad
