#!/bin/bash
# tcgen05.sh COLLIDER GPU_CASES CASES DRIVER - reports of tcgen05 have its own words: the remedy of some
# launches of the files in CASES, and none of wgmma's.
set -u
collider=$1 program=$2 cases=$3
export LD_LIBRARY_PATH=$4
unset COLLIDER_OPTIONS COLLIDER_TOOL_OPTIONS
bad=0
says() { # says FILE LAUNCH TEXT...: the report of that launch has each text
	local out file=$1 nth=$2 t
	shift 2
	out=$(timeout 60 "$collider" run --device=cpu --detector=oracle --seed=1 -- "$program" "$cases/$file.ptx" "$nth" 2>&1)
	for t; do
		grep -Fq -- "$t" <<<"$out" || { echo "FAIL: $file, $nth: no '$t'"; bad=1; }
	done
	! grep -q 'usually helps:.*wgmma\|wgmma\.wait' <<<"$out" || { echo "FAIL: $file, $nth: wgmma"; bad=1; }
	[ $bad = 0 ] || echo "$out"
}
says race_tcgen05_stages 1 'before the tcgen05.mma: the phase of the mbarrier that the copy completes'
says race_tcgen05 3 'after a tcgen05.mma: tcgen05.commit'
says race_tcgen05 10 'matrix product, in the thread that made the ordinary access, before the barrier.'
says race_tcgen05 13 'tcgen05.wait::ld (fence_view_async_tmem_load() of CUTLASS)' 'tcgen05.dealloc, tensor memory'
exit $bad
