#!/bin/bash
# beside.sh COLLIDER FOLDER PROGRAM PTX DRIVER - the judge beside a GPU, without one: the CPU device's
# driver library (in the folder DRIVER) is what our own stands in for, so all of the program's half
# and the judge's process are run.
set -u
collider=$1 work=$2 program=$3 ptx=$4
export LD_LIBRARY_PATH=$5
unset COLLIDER_OPTIONS COLLIDER_TOOL_OPTIONS LD_PRELOAD CUDA_MODULE_LOADING
rm -rf "$work" && mkdir -p "$work/tmp" && cd "$work" || exit 2
export XDG_CACHE_HOME=$work/cache TMPDIR=$work/tmp
bad=0
fail() {
	echo "FAIL: $*"
	cat "$out" 2>/dev/null
	bad=1
}
go() { # go CODE WORDS... [-- OPTIONS...]: one run, its report in $out
	local want=$1 words=() rc
	shift
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		words+=("$1")
		shift
	done
	shift
	out=$work/${words[0]}.out
	timeout 100 "$collider" run --device=gpu --load=off --detector=none --judge=auto "$@" \
		"$program" "$ptx" "${words[@]}" >"$out" 2>&1
	rc=$?
	[ $rc = "$want" ] || fail "${words[*]}: exit code $rc, expected $want"
}
says() { grep -Eq -- "$1" "$out" || fail "no '$1'"; }
lacks() { grep -Eq -- "$1" "$out" && fail "'$1' is there"; }

# A race is found with both lines, by whom is said, and the program ends as it would.
go 3 racy
says '^done$'
says '^======== 1 data race found'
says 'beside.cu:10:'
says "Judged +: on the CPU device: block \([0-9]+,0,0\) of launch [12], from the GPU's memory"
# (The second one is only while the program runs, or a moment longer; the third one never. Any may
# be judged first.)
says '^Note: judged beside the GPU: racy: [0-9]+ of 32 blocks, [12] launch'
go 9 racy -- --error-exitcode=9
# Some loads before, the judge has not answered to the others when it is asked of this one.
go 3 racy loads
says '^======== 1 data race found'
go 3 right
says '^Result +: no race seen in [0-9,]+ accesses judged beside the GPU'
lacks 'DATA RACE'
# --judge=all takes the third launch, too; --judge-blocks limits what is executed.
go 3 right -- --judge=all --judge-blocks=8
says 'judged beside the GPU: right: 8 of 32 blocks, 3 launches'

# --judge=verify executes whole grids, and compares what they leave with what the launches have left.
go 3 right -- --judge=verify
says 'judged beside the GPU: right: 32 of 32 blocks'
says 'compared with the GPU: right: [0-9]+ bytes, all alike'
go 3 moment -- --judge=verify
says 'compared with the GPU: moment: 8192 of 8192 words differ'
lacks 'DATA RACE'

# What wasn't asked for is not judged: by its name, or its place among the launches that were.
go 3 racy then=right -- --kernel-name=right
says 'judged beside the GPU: right'
lacks 'DATA RACE|beside the GPU: racy'
go 3 racy then=right -- --kernel-name-exclude='ri*'
says '1 data race found'
lacks 'beside the GPU: right'
go 3 racy 5 -- --judge=all --launch-skip=1 --launch-count=2
says 'judged beside the GPU: racy: .*, 2 launches'
says 'Judged +: .* of launch [23], from'
go 3 racy then=right -- --launch-skip=3
lacks 'DATA RACE|beside the GPU: racy'
go 3 right then=racy -- --kernel-name=racy --launch-skip=2 --judge=all
says '1 data race found'
says 'judged beside the GPU: racy: .*, 1 launch,'
says 'Judged +: .* of launch 6, from'

# ... or by the NVTX range in which it was launched, of which NVTX informs the agent.
go 3 racy range then=right -- --nvtx-exclude=step
says 'judged beside the GPU: right'
lacks 'DATA RACE|beside the GPU: racy'
go 3 racy range then=right -- --nvtx-include=step
says '1 data race found'
lacks 'beside the GPU: right'

# What detectors pass over has the judge's word beside it.
go 3 right -- --detector=collide
says '^  kernel right, .*: not instrumented \(beside the GPU [0-9]+ of 32 blocks were judged\)$'

# What it is depends on memory, which is that from before the launch.
go 3 indexed 1
says 'data races? found'
go 3 indexed 1 ramp
lacks 'DATA RACE'

# What is reached through a pointer in memory is copied, too, if it is little; else it is there at
# the next launch.
go 3 chase chain 1
says 'judged beside the GPU: chase: [0-9]+ of 32 blocks, 1 launch'
lacks 'not judged beside|DATA RACE'
go 3 chase chain 1 far
says 'Note: not judged beside the GPU: chase: .*what is there is not known here'
go 3 chase chain far wait
says 'judged beside the GPU: chase: [0-9]+ of 32 blocks'
lacks 'DATA RACE'

# Tensor maps are the driver's own, and so is what they lead to.
go 3 tile map
says '1 data race found'
says 'asynchronous copy'
go 3 tile map right
says 'judged beside the GPU: tile: [0-9]+ of 32 blocks'
lacks 'DATA RACE'
go 3 column map columns
says '1 data race found'
says 'asynchronous copy'
go 3 column map columns right
says 'judged beside the GPU: column: [0-9]+ of 32 blocks'
lacks 'DATA RACE'

# The same kernel with a copy that only newer GPUs have, one pixel of halo beside the offset. (The text
# keeps its target: this device is judged by that.)
sed -e 's/global\.im2col\./global.im2col::w./' \
	-e '/im2col::w/s/{\(%rs[0-9]*\)}/{\1, \1}/' "$ptx" >"$work/wide.ptx"
ptx=$work/wide.ptx
go 3 column map wide
says '1 data race found'
says 'asynchronous copy'
go 3 column map wide right
says 'judged beside the GPU: column: [0-9]+ of 32 blocks'
lacks 'DATA RACE'
ptx=$4

# Launches that aren't wanted go a short way; one of another size is wanted, and all are counted.
go 3 indexed 600 ramp late
says '1 data race found'
says 'Judged +: .* of launch 601, from'
go 3 indexed 600 ramp
lacks 'DATA RACE'

# Memory of a pool, which is freed in the order of a stream.
# (All are waited for.)
go 3 racy pool -- --judge=all
says '1 data race found'
says 'judged beside the GPU: racy: .*, 4 launches'

# What a program that runs has assembled is kept, so that the judge has the text of such code.
COLLIDER_PYTHON=1 "$collider" ptxas -arch=sm_90 "$ptx" -o code.cubin >ptxas.out 2>&1
cmp -s "$XDG_CACHE_HOME"/collider/origin/*.ptx "$ptx" || { out=ptxas.out; fail "no text is kept"; }

# However the program ends, there is a report.
go 3 racy reset
says '1 data race found'
go 3 racy reset
says '1 data race found'
go 134 racy abort wait
says '1 data race found'
go 3 racy child
says '1 data race found'

# Launches become files, which are judged without the program.
go 3 racy -- --capsules="$work/kept"
says '^collider: --capsules: [12] launches were kept; the files hold the program.s data'
out=$work/replay.out
"$collider" judge "$work"/kept/*.capsule >"$out" 2>&1 || fail "collider judge"
says '1 data race found'
says 'beside.cu:10:'
exit $bad
