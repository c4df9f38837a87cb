#!/bin/sh
# nvrtc.sh COLLIDER PROGRAM LIBNVRTC - a kernel that is compiled at run time: its race is reported with
# the lines of its source, and none where there is a barrier.
set -eu
collider=$1
program=$2
nvrtc=$3
out=$(mktemp)
trap 'rm -f "$out"' EXIT
[ -e "$nvrtc" ] || {
	echo "this toolkit has no NVRTC"
	exit 77
}
for kernel in racy:9 fixed:0; do
	rc=0
	"$collider" run --device=cpu --error-exitcode=9 -- "$program" "$nvrtc" ${kernel%:*} >"$out" 2>&1 || rc=$?
	[ $rc = ${kernel#*:} ] || {
		cat "$out"
		echo "FAILED: ${kernel%:*}: exit code $rc"
		exit 1
	}
	[ ${kernel%:*} = fixed ] || grep -q 'kernel.cu:[35]:.* in sums$' "$out" || {
		cat "$out"
		echo "FAILED: no line"
		exit 1
	}
done
