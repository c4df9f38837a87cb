#!/bin/bash
# complete.sh COLLIDER SOURCE_FOLDER - a run is complete, partial with what it left out, or nothing: under the
# default and each detector alone, in the last line, in JSON, for collider report.
set -eu
collider=$1
src=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
unset COLLIDER_OPTIONS COLLIDER_CPU
failed=0

fail() {
	echo "FAILED: $*: $last"
	sed 's/^/  /' out
	failed=1
}

# run CODE ARGUMENTS...: the run, and its saved report, end with that code
run() {
	local want=$1 rc=0
	shift
	last="$*"
	"$collider" run --device=cpu --fail-partial --save=saved "$@" >out 2>&1 || rc=$?
	[ $rc = "$want" ] || fail "exit code $rc, expected $want"
	rc=0
	"$collider" report --fail-partial saved >again 2>&1 || rc=$?
	[ $rc = "$want" ] || fail "report: exit code $rc, expected $want"
	for end in out again; do
		grep '^======== ' $end | tail -1 >$end.last
	done
	cmp -s out.last again.last || fail "report: $(cat again.last)"
}
ends() { grep -qE -- "$1" out.last || fail "the last line has no '$1'"; }
gap() { grep -q "^{\"type\":\"gap\",\"why\":\"$1\".*$2" saved || fail "no gap $1 with $2 in JSON"; }

build() { "$collider" nvcc --no-fit -lineinfo "$@" >out 2>&1 || { last="build $*"; fail "it failed"; }; }
build -arch=compute_90 "$src/complete.cu" -o app
build -arch=sm_90 -rdc=true -DRDC "$src/complete.cu" -o cdp -lcudadevrt
# PTX for a newer device only, as nvcc itself embeds it.
COLLIDER_DISABLE=1 "$collider" nvcc -cudart shared -gencode arch=compute_100a,code=compute_100a -DSM100A \
	"$src/complete.cu" -o newer
COLLIDER_DISABLE=1 "$collider" nvcc -cudart shared -gencode arch=compute_90,code=compute_90 \
	"$src/complete.cu" -o unbuilt
COLLIDER_DISABLE=1 "$collider" nvcc -cudart shared -gencode arch=compute_120,code=compute_120 \
	"$src/complete.cu" -o newest

for d in collide,oracle collide oracle hirace iguard watch; do
	run 0 --detector=$d ./app copy plain other copy
	ends 'no race seen in 64 (judged|checked) accesses$'
	run 73 --detector=$d ./app copy copy
	ends 'NOTHING WAS CHECKED: the program launched no kernel$'
	run 73 --detector=$d ./app copy invalid
	ends 'NOTHING WAS CHECKED: kernel plain.int\*., 1 launch: CUDA refused the launch: cudaErrorInvalidValue$'
	run 74 --detector=$d ./app invalid other
	ends 'no race seen in [0-9,]+ [a-z]* accesses; PARTIAL: kernel plain.int\*. invalid launch$'
	gap invalid-launch _Z5plainPi
	run 74 --detector=$d ./cdp plain refused
	ends 'no race seen in [0-9,]+ [a-z]* accesses; PARTIAL: kernel refused.int\*. refused(, |$)'
	gap refused _Z7refusedPi
	run 73 --detector=$d ./cdp copy refused
	ends 'NOTHING WAS CHECKED: kernel refused.int\*., 1 launch: the device can.t run it: .*(dynamic parallelism|no object defines)'
done
# Stores that have raced too often are forgotten; but none of them can race with what comes after a barrier.
last='stores of equal values'
once() { "$collider" run --device=cpu --detector=oracle --same-value=ignore "$@" >out 2>&1 || fail "exit code $?"; tail -1 out >out.last; }
once --fail-partial ./app flag
ends 'no race seen in [0-9,]+ judged accesses, besides 1 finding left out$'
once ./app early
ends ' 1 data race found'

# What a detector leaves undecided, where the run had it: launches without an order, host code beside kernels.
for d in collide,oracle collide oracle hirace hirace,iguard; do
	run 0 --detector=$d ./app plain aside
done
run 74 --detector=iguard ./app plain aside
gap launches 'nothing orders it with another launch'
grep -q 'nothing orders it with another launch' out || fail "the report doesn't say so"
run 0 --detector=iguard ./app plain wait aside
for d in hirace iguard; do
	run 74 --detector=$d ./app managed
	gap host-accesses 'loads and stores of host code'
	run 0 --detector=$d ./app staged wait plain
done
run 0 ./app managed staged
run 0 --detector=oracle ./app managed

# Code for newer devices: only what this one lacks is refused.
run 0 ./newest plain refused other
run 0 ./newer plain other
run 74 ./newer plain refused other
ends 'no race seen in 64 judged accesses; PARTIAL: kernel refused.int\*. refused$'
gap refused 'mapa.u32'
# Stopped at an instruction, after accesses.
run 74 --detector=oracle ./app plain seven refused
ends 'PARTIAL: '
gap stopped ''

# Options: what they leave out, and what they don't find.
run 74 --kernel-name=plain ./app plain other
gap left-out _Z5otherPi
run 0 --kernel-name='plain,o*' ./app plain other
run 73 --kernel-name=plan ./app plain other
ends 'NOTHING WAS CHECKED: .*--kernel-name=plan matched no kernel that was launched$'
run 74 --kernel-name-exclude=plan ./app plain other
ends 'PARTIAL: --kernel-name-exclude=plan matched no kernel that was launched$'
run 73 --launch-skip=2 ./app plain other
ends 'NOTHING WAS CHECKED: .*--launch-skip=2 left no launch to be checked$'
run 73 --kernel-name-exclude='plain,o*' ./app plain other
ends 'NOTHING WAS CHECKED: .*--kernel-name-exclude=plain,o\* left no launch to be checked$'
run 73 --kernel-name-exclude=plain --launch-skip=1 ./app plain other
ends 'NOTHING WAS CHECKED: .*--kernel-name-exclude=plain and --launch-skip=1 left no launch to be checked$'
run 74 --kernel-name-exclude=plain ./unbuilt plain other
ends 'no race seen in 32 judged accesses; PARTIAL: kernel plain.int\*. left out$'
run 74 --launch-skip=1 ./app plain other
gap left-out _Z5plainPi
run 74 --launch-count=1 ./app plain other
run 0 --launch-count=2 ./app plain other
run 74 --detector=collide --rate=2 ./app plain plain plain plain other other other other
run 0 --rate=2 ./app plain # the oracle judges all

# Why no call came.
run 73 env -i ./app plain
ends 'NOTHING WAS CHECKED: env starts the program without the environment'
run 0 env A=1 ./app plain
printf '#include <cuda.h>\nint main() { return cuInit(0) != 0; }\n' >driver.cpp
# (Linked with ours: not every toolkit has the driver's stub.)
build driver.cpp -o driver -Xlinker --allow-shlib-undefined -Xlinker "$(cd "$(dirname "$collider")/../lib/collider/cpu" && pwd)/libcuda.so.1"
run 73 ./driver
ends 'NOTHING WAS CHECKED: the program launched no kernel'
# Without symbols, too: no runtime is missing in it.
strip driver
run 73 ./driver
ends 'NOTHING WAS CHECKED: the program launched no kernel'
exit $failed
