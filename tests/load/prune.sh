#!/bin/bash
# prune.sh - proofs for code that is instrumented as it is loaded: prune.sh COLLIDER BUILT SOURCES
#
# What is proven of tests/prove/prune.cu has no check, or one outside of its contract only, the same
# as in a build; a racy kernel has them in all launches of more than one thread, and one that may slip
# into the array beside keeps all of its own.
. "$(dirname "$0")/lib.sh"
program=$built/load_program
source=$here/../prove/prune.cu
nvcc -fatbin -lineinfo -arch=sm_90 -std=c++17 "$source" -o prune.fatbin || exit 2

# proven OUT: "KERNEL WHY COUNT" of what has no check
proven() {
	"$built/load_sites" "$1" | sed -n 's/^unchecked _Z[0-9]*\([a-z_]*\)P[^ ]* \(proven[a-z-]*\) /\1 \2 /p' | sort
}

few='--kernel-name=mirror,no_barrier,shared_by_all,slip'
go n "$few" -- "$program" . wrapper:prune.fatbin || fail "n: $(cat n.err)"
proven n.0 >n.proven
[ ! -s n.proven ] || fail "--prune=none: $(cat n.proven)"

# hirace checks no load that barriers keep from all writes.
for detector in collide hirace; do
	n=$([ $detector = collide ] && echo 2 || echo 1)
	go p "$few" --detector=$detector --prune=proved -- "$program" . wrapper:prune.fatbin || fail "p: $(cat p.err)"
	expect p "cuLibraryLoadData code 0"
	proven p.0 >p.proven
	for line in "mirror proven-within $n" "shared_by_all proven $n"; do
		expect p.proven "$line"
	done
	grep -E '^(slip|no_barrier proven ) ' p.proven && fail "$detector: more than is proven has no check"
done

# Kept, and made again where that is asked for in other words.
go p "$few" --detector=hirace --prune=proved -- "$program" . wrapper:prune.fatbin || fail "p: $(cat p.err)"
says p.err ', 1 kept from earlier runs$'
go p "$few" --detector=hirace -- "$program" . wrapper:prune.fatbin || fail "p: $(cat p.err)"
says p.err ' 1 of 1 images in [0-9.]+ s$'
proven p.0 >p.proven
[ ! -s p.proven ] || fail "--prune=none after another: $(cat p.proven)"

# By default what is proven in time has no check, or what was by a later load: even what earlier runs
# have proven takes longer to find than there is where the processors are busy.
settled p "$few" --detector=iguard --prune=auto -- "$program" . wrapper:prune.fatbin
# Reads of arrays that a launch doesn't write have none in some launches, without a proof.
proven p.0 >p.proven
grep -vE '^(mirror|shared_by_all|no_barrier) proven(-within)? [12]$|^[a-z_]* proven-alone [0-9]*$' p.proven && fail "by default more than is proven"
grep -q '^shared_by_all proven-alone 1$' p.proven || fail "a read of what isn't written: $(cat p.proven)"
grep -q '^mirror ' p.proven || fail "what is kept of a proof isn't used: $(cat p.proven)"

# What wasn't proven in time is proven after it, by a process that nothing waits for, and the next load
# has it. The kernel's proof needs a bound on its blocks, which is looked for: longer than a small load waits.
cat >later.cu <<'C'
__global__ void tiles(const float *a, float *c, int n)
{
	__shared__ float s[16][17];
	int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
	s[threadIdx.y][threadIdx.x] = a[y * n + x];
	__syncthreads();
	c[y * n + x] = s[threadIdx.x][threadIdx.y];
}
C
nvcc -fatbin -lineinfo -arch=sm_90 later.cu -o later.fatbin || exit 2
rm -rf cache/collider/prove-* cache/collider/answers
go l --prune=auto -- "$program" . wrapper:later.fatbin || fail "l: $(cat l.err)"
says l.err ' 1 of 1 images in [0-9.]+ s'
entry=$(ls -t cache/collider/loaded/* | head -1)
settled l --prune=auto -- "$program" . wrapper:later.fatbin
says l.err ' 1 of 1 images in [0-9.]+ s, 1 kept from earlier runs$'
nm l.0 | grep -q ' __collider_proof_.*tiles' || fail "what was proven later isn't there"
# Of two images one is worked at, with all processors: so much memory a program takes, no more.
for i in 1 2; do nvcc -fatbin -arch=sm_90 -Dtiles=tiles$i later.cu -o later$i.fatbin || exit 2; done
rm -rf cache/collider/prove-* cache/collider/answers
go l --prune=auto -- "$program" . wrapper:later1.fatbin wrapper:later2.fatbin || fail "l: $(cat l.err)"
says l.err ' 2 of 2 images in [0-9.]+ s'
for ((i = 0; i < 600; i++)); do
	# Sessions of two process groups: who watches, and who works.
	ps -eo sid,pgid,args | grep "[c]ollider-load.*$work" | awk '$1 != $2 { print $1 }' | sort -u >at_work
	[ "$(wc -l <at_work)" -le 1 ] || fail "several at a time: $(cat at_work)"
	ps -eo args | grep -q "[c]ollider-load.*$work" || break
	sleep 0.1
done
ls cache/collider/loaded/*.* 2>/dev/null && fail "leftovers beside $entry"
[ -z "$(ls "$TMPDIR")" ] || fail "temporary files: $(ls "$TMPDIR")"

# Each kernel has its own code once more, for a sample; one that is proven has its proof there: one
# pointer, and the terms. Under hirace and iguard what says so is in the same place, and one that reads
# by a pointer and writes by another has a proof for that, which takes no prover.
rm -rf cache/collider/prove-*
nvcc -fatbin -lineinfo -arch=sm_90 -x cu - -o plain.fatbin <<'C' || exit 2
__global__ void add(int *p) { p[threadIdx.x + blockIdx.x * blockDim.x] += 1; }
__global__ void all(int *p) { p[threadIdx.x & 7] += 1; }
__global__ void cpy(int *p, const int *q) { p[threadIdx.x & 7] = q[threadIdx.x]; }
C
# Accesses to shared memory that stay in their array in blocks of 64 threads at most: such launches are proven.
nvcc -fatbin -lineinfo -arch=sm_90 -x cu - -o tile.fatbin <<'C' || exit 2
__global__ void rev(int *p)
{
	__shared__ int s[64];
	int i = threadIdx.x + blockIdx.x * blockDim.x;
	s[threadIdx.x] = p[i];
	__syncthreads();
	p[i] = s[blockDim.x - 1 - threadIdx.x];
}
C
variables() { # variables IMAGE PREFIX: the kernels that have one
	nm "$1" | sed -n "s/^.* $2_Z3\(...\)P.*/\1/p" | sort | tr '\n' ' '
}
for detector in hirace iguard hirace,iguard; do
	go p --detector=$detector --prune=proved -- "$program" . wrapper:plain.fatbin || fail "p: $(cat p.err)"
	[ "$(variables p.0 __collider_state_)" = "add all cpy " ] || fail "$detector, state: $(variables p.0 __collider_state_)"
	[ "$(variables p.0 __collider_proof_)" = "add all cpy " ] || fail "$detector, proof: $(variables p.0 __collider_proof_)"
done
# Without proofs there is the sample, which takes none: no pointer, no term.
for detector in collide hirace iguard hirace,iguard; do
	go p --detector=$detector --prune=none -- "$program" . wrapper:plain.fatbin || fail "p: $(cat p.err)"
	[ "$(variables p.0 __collider_state_)" = "add all cpy " ] || fail "$detector, --prune=none, state: $(variables p.0 __collider_state_)"
	nm -S p.0 | sed -n 's/^[0-9a-f]* 0*\([0-9a-f]*\) . __collider_proof_.*/\1/p' >p.sizes
	[ "$(tr '\n' ' ' <p.sizes)" = "$([ $detector = collide ] || echo '8 8 8 ')" ] || fail "$detector, --prune=none, proofs: $(cat p.sizes)"
done
go p --prune=proved -- "$program" . wrapper:plain.fatbin || fail "p: $(cat p.err)"
[ "$(variables p.0 __collider_state_)" = "add all cpy " ] || fail "state: $(variables p.0 __collider_state_)"
[ "$(variables p.0 __collider_proof_)" = "add " ] || fail "proof: $(variables p.0 __collider_proof_)"
go p --prune=proved -- "$program" . wrapper:tile.fatbin || fail "p: $(cat p.err)"
[ "$(variables p.0 __collider_proof_)" = "rev " ] || fail "proof: $(variables p.0 __collider_proof_)"
exit $bad
