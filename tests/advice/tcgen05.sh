#!/bin/bash
# tcgen05.sh COLLIDER GPU_CASES CASES DRIVER - reports of tcgen05 have its own words, and so have those of
# clusters: the remedy of some launches of the files in CASES, for tcgen05 none of wgmma's.
set -u
collider=$1 program=$2 cases=$3
export LD_LIBRARY_PATH=$4
unset COLLIDER_OPTIONS COLLIDER_TOOL_OPTIONS
bad=0
has() { # has FILE LAUNCH TEXT...: the report of that launch has each text
	local t
	file=$1 nth=$2
	shift 2
	out=$(timeout 60 "$collider" run --device=cpu --detector=oracle --seed=1 -- "$program" "$cases/$file.ptx" "$nth" 2>&1)
	for t; do
		grep -Fq -- "$t" <<<"$out" || { echo "FAIL: $file, $nth: no '$t'"; bad=1; }
	done
	[ $bad = 0 ] || echo "$out"
}
says() { # the same, and nothing of wgmma
	has "$@"
	! grep -q 'usually helps:.*wgmma\|wgmma\.wait' <<<"$out" || { echo "FAIL: $file, $nth: wgmma"; bad=1; }
}
says race_tcgen05_stages 1 'before the tcgen05.mma: the phase of the mbarrier that the copy completes'
says race_tcgen05 3 'after a tcgen05.mma: tcgen05.commit'
says race_tcgen05 10 'matrix product, in the thread that made the ordinary access, before the barrier.'
says race_tcgen05 13 'tcgen05.wait::ld (fence_view_async_tmem_load() of CUTLASS)' 'tcgen05.dealloc, tensor memory'
says race_tcgen05_issuer 3 'one thread issues both or a' 'A commit covers what its own thread has issued'
has race_multicast_init 1 'an mbarrier that may not be initialised' 'fence.mbarrier_init, then cluster.sync() in all blocks'
has race_wgmma_stages 21 'must wait for the readers of all blocks that it writes to'
exit $bad
