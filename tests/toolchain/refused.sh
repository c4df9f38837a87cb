#!/bin/bash
# refused.sh - what ptxas refuses: a cap on the functions that we add, then a kernel without checks, which
# the report names; and modules with many kernels that call, which are assembled as an object.
collider=$(readlink -f "$(dirname "$1")/collider")
regs=$(readlink -f "$2")
. "$(dirname "$0")/lib.sh"
arch=-arch=sm_90

# The real toolkit, but for a ptxas that writes down what it is asked and obeys $kit/does.
kit="$work/kit"
mkdir -p "$kit/bin"
for f in "$real"/*; do
	test "$(basename "$f")" = bin || ln -s "$f" "$kit/"
done
for f in "$real"/bin/*; do
	test "$(basename "$f")" = ptxas || test "$(basename "$f")" = nvcc || ln -s "$f" "$kit/bin/"
done
cp "$real/bin/nvcc" "$kit/bin/nvcc"
cat >"$kit/bin/ptxas" <<SH
#!/bin/bash
echo "\$*" >>"$kit/asked"
for in; do case \$in in *.ptx) break ;; esac; done
. "$kit/does"
exec "$real/bin/ptxas" "\$@"
SH
chmod +x "$kit/bin/ptxas"
export CUDA_HOME=$kit

# ptxas names the registers of what a kernel calls: the whole file is capped so, once.
cat >"$kit/does" <<'SH'
if grep -q __collider_knobs "$in" && [[ "$*" == *-arch=sm_90* && "$*" != *-maxrregcount=40* ]]; then
	echo "ptxas error   : Entry function '_Z1kPi' with max regcount of 40 calls function '__collider_changed' with regcount of 52" >&2
	exit 255
fi
SH
rc_of 0 "$nvcc" --collider-verbose $arch -cubin k.cu -o capped.cubin
has capped.cubin
grep -q 'maxrregcount=40' "$kit/asked" || fail "expected a trial with a cap of 40: $(cat "$kit/asked")"
test "$(grep -c 'trial' "$kit/asked")" -eq 3 || fail "expected the original and two trials: $(cat "$kit/asked")"
rc_of 0 "$nvcc" $arch -ptx k.cu -o capped.ptx
head -1 capped.ptx | grep -qx '// collider-maxrregcount 40' || fail "expected the cap in the text: $(head -1 capped.ptx)"
# A second refusal with the same cap is no reason to try for ever: the code reports without calls.
cat >"$kit/does" <<'SH'
if grep -q '__collider_changed,' "$in"; then
	echo "ptxas error   : Entry function '_Z1kPi' with max regcount of 40 calls function '__collider_changed' with regcount of 52" >&2
	exit 255
fi
SH
rc_of 0 "$nvcc" --collider-verbose $arch -cubin k.cu -o free.cubin
has free.cubin

# A kernel whose code with checks is refused, whatever it looks like: it runs as it was, the other one
# doesn't; the build says so, and so does the report of a run.
cat >two.cu <<'CU'
#include <cstdio>
__global__ void good(int *p) { p[threadIdx.x] += 1; }
__global__ void bad(int *p) { p[threadIdx.x] += 2; }
int main()
{
	int *p;
	cudaMalloc(&p, 4096);
	good<<<1, 32>>>(p);
	bad<<<1, 32>>>(p);
	printf("%d\n", (int)cudaDeviceSynchronize());
	return 0;
}
CU
cat >"$kit/does" <<'SH'
if sed -n '/entry _Z3badPi/,/^}/p' "$in" | grep -q collider; then
	echo "$in, line 9; error   : something about '_Z3badPi'" >&2
	exit 255
fi
SH
rc_of 0 "$nvcc" $arch -cudart shared two.cu -o two
grep -q '_Z3badPi runs as it was' log || fail "expected a line about the kernel: $(cat log)"
rc_of 0 "$collider" run --device=cpu --detector=collide -- ./two
sed -n '/^PARTIAL/,$p' log | grep -q 'bad' || fail "expected bad in the list of what was not checked: $(cat log)"
if sed -n '/^PARTIAL/,$p' log | grep -q 'good'; then fail "good was checked: $(cat log)"; fi
echo >"$kit/does"
rc_of 0 "$nvcc" $arch -cudart shared two.cu -o two
rc_of 0 "$collider" run --device=cpu --detector=collide -- ./two
if sed -n '/^PARTIAL/,$p' log | grep -q 'bad'; then fail "bad was checked here: $(cat log)"; fi

# As an object ptxas assembles a large kernel with iguard's checks, alone it doesn't (C7600, as of CUB's
# onesweep): then the kernel runs as it was. A small one isn't asked about, nor collide's checks.
cat >large.cu <<'CU'
template <int n> __device__ void each(int *p) { p[n] += p[n * 7 + 1]; each<n - 1>(p); }
template <> __device__ void each<0>(int *) {}
__global__ void large(int *p) { each<12>(p + threadIdx.x); }
__global__ void small(int *p) { p[threadIdx.x] += 1; }
CU
cat >"$kit/does" <<'SH'
if [[ "$*" == *--entry=* && "$*" != *--compile-only* ]]; then
	echo "ptxas fatal   : (C7600) Register allocation failed with register count of '7'" >&2
	exit 255
fi
SH
: >"$kit/asked"
rc_of 0 "$nvcc" --sanitize=iguard $arch -rdc=true -c large.cu -o large.o
grep -q '_Z5largePi runs as it was: .*C7600' log || fail "expected a line about the kernel: $(cat log)"
test "$(grep -c -- '--entry=_Z5largePi' "$kit/asked")" -eq 1 || fail "expected one question: $(cat "$kit/asked")"
if grep -q -- '--entry=_Z5smallPi' "$kit/asked"; then fail "a small kernel was asked about"; fi
: >"$kit/asked"
rc_of 0 "$nvcc" $arch -rdc=true -c large.cu -o large.o
if grep -q -- '--entry=' "$kit/asked"; then fail "asked for collide, too: $(cat "$kit/asked")"; fi
echo >"$kit/does"

# Sixteen kernels with calls: each function of ours is there once; with fifteen, once for each. All
# symbols of the program stay, and every kernel accepts the launches that it accepted.
kernels_of()
{
	echo 'static __device__ int hidden; __device__ int seen; __constant__ int constant[4];'
	for i in $(seq "$1"); do
		echo "__global__ void k$i(int *p) { p[threadIdx.x] += p[threadIdx.x + $i] + hidden + constant[$i & 3]; }"
	done
	echo 'int main() { int v = 0; cudaMemcpyToSymbol(hidden, &v, 4); cudaMemcpyToSymbol(seen, &v, 4);'
	echo 'return k1 == nullptr; }'
}
functions() { readelf -sW "$1" 2>/dev/null | awk '$4 == "FUNC" { print $8 }' | grep -c "${2:-__collider_items}\$"; }
for n in 15 16; do
	kernels_of $n >many.cu
	rc_of 0 "$nvcc" --inline-checks=0 $arch -cubin many.cu -o many.cubin
	found=$(functions many.cubin)
	want=1
	test $n -eq 16 || want=15
	test "$found" -eq $want || fail "$n kernels: found __collider_items $found times, expected $want"
	rc_of 0 "$real/bin/nvcc" $arch -cubin many.cu -o plain.cubin
	objects() { readelf -sW "$1" 2>/dev/null | awk '$4 == "OBJECT" && $8 !~ /collider|^\./ { print $3, $8 }' | sort; }
	diff <(objects many.cubin) <(objects plain.cubin) >&2 || fail "other variables than nvcc's"
	# shellcheck disable=SC2046
	"$regs" plain.cubin many.cubin $(for i in $(seq $n); do echo "_Z$((1 + ${#i}))k${i}Pi"; done) >log || fail "$(cat log)"
done
# With hirace always: its rare cases are calls, across which a kernel keeps much.
kernels_of 2 >two.cu
rc_of 0 "$nvcc" --sanitize=hirace $arch -cubin two.cu -o two.cubin
found=$(functions two.cubin __collider_hirace_step)
test "$found" -eq 1 || fail "hirace: found __collider_hirace_step $found times, expected it once"
# The way by an object fails: the text is assembled as a whole.
printf '#!/bin/sh\nexit 1\n' >nvlink
chmod +x nvlink
rm "$kit/bin/nvlink"
cp nvlink "$kit/bin/nvlink"
rc_of 0 "$nvcc" --inline-checks=0 $arch -cubin many.cu -o whole.cubin
test "$(functions whole.cubin)" -eq 16 || fail "expected a copy for each kernel"
no_leftovers
