#!/bin/bash
# slow.sh - a build that takes long says so with the kernel's name; kernels left out by name stay as they
# were, and need no room; a line on a terminal shows the time.
. "$(dirname "$0")/lib.sh"
arch=-arch=sm_90 cubin_regs=$2

cat >two.cu <<'CU'
__global__ void big(int *p)
{
	for (int i = 0; i < 8; i++)
		p[threadIdx.x + i] += p[threadIdx.x + 3 * i];
}
template <class T> __global__ void small(T *p)
{
	for (int i = 0; i < 3; i++)
		p[threadIdx.x + i] = p[i];
}
template __global__ void small<int>(int *);
CU

rc_of 0 "$nvcc" $arch -c two.cu
test ! -s log || fail "expected no word about a short build, found: $(cat log)"
rc_of 0 "$nvcc" $arch --long-build=1ms -c two.cu
grep -q ': big(int\*) has [0-9]* instructions' log || fail "expected the largest kernel's name, found: $(cat log)"
grep -q -- "--kernel-name-exclude='big" log || fail "expected what to leave out, found: $(cat log)"
rc_of 0 "$nvcc" $arch --long-build=0 -c two.cu
test ! -s log || fail "expected silence with --long-build=0"

# What it says works: the kernel is left out, and only it.
pattern=$(rc_of 0 "$nvcc" $arch --long-build=1ms -c two.cu; sed -n "s/.*--kernel-name-exclude='\([^',]*\).*/\1/p" log)
test "$pattern" = big || fail "expected the pattern big, found $pattern"
rc_of 0 "$nvcc" $arch --collider-verbose --long-build=1ms "--kernel-name-exclude=$pattern" -cubin two.cu -o got.cubin
grep -q ': 6 accesses in 1 kernels' log || fail "expected one kernel with checks, found: $(cat log)"
grep -q 'small<int>(int\*) has [0-9]* instructions' log || fail "expected the other kernel's name: $(cat log)"
if grep -q 'big(' log; then fail "what is left out is no part of the time: $(cat log)"; fi
rc_of 0 "$nvcc" $arch --collider-verbose '--kernel-name=small<int>' -c two.cu
grep -q ': 6 accesses in 1 kernels' log || fail "expected small<int> alone, found: $(cat log)"
rc_of 0 "$nvcc" $arch --collider-verbose '--kernel-name-exclude=_ZN*,small<int>' -dc two.cu
grep -q 'accesses in 1 kernels' log || fail "expected big alone under -rdc, found: $(cat log)"
has two.o

# The left out kernel has the registers that it has without Collider.
rc_of 0 "$real/bin/nvcc" $arch -cubin two.cu -o want.cubin
regs() { "$2" "$1" | grep ' *_Z3big'; }
diff <(regs got.cubin "$cubin_regs") <(regs want.cubin "$cubin_regs") >&2 || fail "other code for what was left out"

# The line on a terminal, and its end.
python3 - "$nvcc" $arch --long-build=1ms -c two.cu >seen <<'PY'
import pty, sys
sys.exit(pty.spawn(sys.argv[1:]) >> 8)
PY
grep -q 'ptxas on the code with checks: [0-9]* s' seen || fail "expected a line about the time on a terminal"
tail -c 200 seen | tr '\r' '\n' | tail -1 | grep -q 'ptxas on the code' && fail "the line is still there at the end"
no_leftovers
