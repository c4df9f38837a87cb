#!/bin/sh
# ranges.sh COLLIDER PROGRAM - whose launches are checked by the NVTX ranges around them: each list
# of patterns, and in which kernels of ranges.cu a race is found then.
set -u
collider=$1 program=$2
failed=0
# run KERNELS OPTIONS...: the kernels with a race, in the order of their names
run() {
	expected=$1
	shift
	out=$("$collider" run --device=cpu --detector=oracle --format=json "$@" "$program" 2>&1)
	found=$(echo "$out" | sed -n 's/^{"type":"finding".*"function":"\([a-z_]*\)(.*/\1/p' | sort -u | tr '\n' ' ')
	[ "$found" = "$expected" ] && return
	echo "$out"
	echo "FAILED: $*: a race in '$found', expected in '$expected'"
	failed=1
}
# says TEXT OPTIONS...
says() {
	text=$1
	shift
	out=$("$collider" run --device=cpu --detector=oracle "$@" "$program" 2>&1)
	echo "$out" | grep -q -- "$text" && return
	echo "$out"
	echo "FAILED: $*: '$text' was expected"
	failed=1
}
run "alone inner other_thread pushed started "
run "inner pushed " --nvtx-include=work
run "inner " --nvtx-include=lib@step
run "" --nvtx-include=step
run "inner " --nvtx-include='*@step'
run "inner started " --nvtx-include='lib@*,phase 2'
run "alone other_thread started " --nvtx-exclude=work
run "pushed " --nvtx-include=work --nvtx-exclude=lib@step
run "started " --nvtx-include='regex:phase [0-9]$'
run "" --nvtx-include=nothing
run "inner " --nvtx-include=work --launch-skip=1
says "nvtx-include=nothing matched no NVTX range" --nvtx-include=nothing
says "by its NVTX range" --nvtx-include=work
"$collider" run --nvtx-include='regex:(' -- true >/dev/null 2>&1
[ $? = 2 ] || { echo "FAILED: a wrong expression"; failed=1; }
exit $failed
