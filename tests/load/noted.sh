#!/bin/bash
# noted.sh - what launches had in common, for the proof after a load: noted.sh COLLIDER BUILT SOURCES
#
# A kernel that no single assumption proves asks for notes of its launches; what is noted (here by
# load_noted, as no launch runs on the stand-in driver) is taken for granted by the process that proves
# later, and the second load has the proof, with tests for it. Launches that race prove nothing.
. "$(dirname "$0")/lib.sh"
program=$built/load_program
kept=$XDG_CACHE_HOME/collider/loaded
cat >rows.cu <<'C'
/* Race-free in blocks of 16 by 16 with n == 16. */
__global__ void rows(float *p, float f, int n, long long k)
{
	int i = (n + 1) * (16 * blockIdx.y + threadIdx.y) + threadIdx.x;
	p[i] = p[i] * f + k;
}
/* Proven as it is. */
__global__ void each(float *p) { p[blockIdx.x * blockDim.x + threadIdx.x] += 1; }
/* No proof can stand for an atomic operation. */
__global__ void sums(float *p, int n) { atomicAdd(p + n, 1); }
C
nvcc -fatbin -lineinfo -arch=sm_90 rows.cu -o rows.fatbin || exit 2

# Kernels of an image that ask for notes, and those that have a proof.
asks() { nm "$1" | sed -n 's/^.* __collider_noted_Z*_Z4\(....\)P.*/\1/p' | sort | tr '\n' ' '; }
proofs() { nm "$1" | sed -n 's/^.* __collider_proof_Z*_Z4\(....\)P.*/\1/p' | sort | tr '\n' ' '; }

# launches IMAGE BLOCK.X BLOCK.Y GRID.Y N: as a run would note two of them, of other grids
launches() {
	for grid in 64 $(($4 + 1)); do
		"$built/load_noted" "$kept" "$1" rows "$2" "$3" 1 1 $grid 1 0 3 "$5" 7 >noted.out || fail "$1: no notes are asked for"
	done
	expect noted.out 0x4 # neither the pointer nor the two numbers of other kinds
}

go a --prune=none -- "$program" . wrapper:rows.fatbin || fail "a: $(cat a.err)"
[ -z "$(asks a.0)" ] || fail "--prune=none: $(asks a.0)"
go a --prune=proved -- "$program" . wrapper:rows.fatbin || fail "a: $(cat a.err)"
[ -z "$(asks a.0)" ] || fail "--prune=proved, by which nothing is proven later: $(asks a.0)"

# Three runs, in none of which the kernel is launched: then it isn't tried any more.
settled a --prune=auto -- "$program" . wrapper:rows.fatbin
[ "$(asks a.0)" = "rows " ] || fail "notes are asked for: $(asks a.0)"
[ "$(proofs a.0)" = "each " ] || fail "proven: $(proofs a.0)"

# run NAME BLOCK.X BLOCK.Y GRID N: what is proven with launches that were noted before the code is made again
run() {
	rm -rf "$kept"
	mkdir -m 700 "$kept"
	launches a.0 "$2" "$3" "$4" "$5"
	settled "$1" --prune=auto -- "$program" . wrapper:rows.fatbin
}
run b 16 16 64 16
[ "$(proofs b.0)" = "each rows " ] || fail "with notes: $(proofs b.0), asked for: $(asks b.0)"
[ -z "$(asks b.0)" ] || fail "what is proven asks for notes: $(asks b.0)"
ls "$kept"/*.* 2>/dev/null && fail "leftovers"
[ "$(ls "$kept" | grep -c -- -launches)" -eq 1 ] || fail "one file of notes expected: $(ls "$kept")"

# Launches that race.
run c 16 16 64 8
[ "$(proofs c.0)" = "each " ] || fail "racy launches: $(proofs c.0)"
exit $bad
