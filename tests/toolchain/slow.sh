#!/bin/bash
# slow.sh - a build that takes long says so with the kernel's name; kernels left out by name stay as they
# were, and need no room; a line on a terminal shows the time.
. "$(dirname "$0")/lib.sh"
arch=-arch=sm_90

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

# A program that waits for what it loads gets a line before ptxas starts, if that will take long.
text_of() { # text_of N: a kernel with N stores
	printf '.version 8.0\n.target sm_90\n.address_size 64\n.visible .entry long_one(.param .u64 p)\n{\n'
	printf '.reg .b32 %%r1;\n.reg .b64 %%d1;\nld.param.u64 %%d1, [p];\nmov.u32 %%r1, %%tid.x;\n'
	for ((i = 0; i < $1; i++)); do echo "st.global.u32 [%d1+$((i * 132))], %r1;"; done
	printf 'ret;\n}\n'
}
ln -s "$tool" bin/collider-load
text_of 20 >short.ptx && text_of 4000 >long.ptx
COLLIDER_TOOL_OPTIONS=long-build=0ms bin/collider-load 90 '' 0 a.out '' 0 3<short.ptx 4>short.code 2>short.log
test -s short.code && test ! -s short.log || fail "expected code and no word: $(cat short.log)"
COLLIDER_TOOL_OPTIONS=long-build=0ms setsid bin/collider-load 90 '' 0 a.out '' 0 3<long.ptx 4>long.code 2>long.log &
waits=$!
while kill -0 $waits 2>/dev/null && [ ! -s long.log ]; do sleep 0.1; done
kill -- -$waits 2>/dev/null || true
wait $waits 2>/dev/null || true
grep -q "^collider: a.out: its GPU code gets checks .* about [0-9]* s; --kernel-name-exclude='long_one' leaves" long.log ||
	fail "expected a word to who waits, found: $(cat long.log)"
# Or the kernel that costs most stays as it was, and only it.
{ text_of 4000; text_of 20 | sed '1,3d; s/long_one/short_one/'; } >both.ptx
COLLIDER_TOOL_OPTIONS=long-build=0ms:load-limit=2s bin/collider-load 90 '' 0 a.out '' 0 3<both.ptx 4>both.code 2>both.log
test ! -s both.log || fail "expected no word where nobody waits: $(cat both.log)"
grep -aq 'a.out: long_one runs as it was: ptxas would take about [0-9]* s .*--load-limit' both.code || fail "expected the costly kernel's name"
grep -aq 'short_one runs as it was' both.code && fail "expected checks in the other kernel"

# The left out kernel has the code that it has without Collider; the other one has not.
rc_of 0 "$real/bin/nvcc" $arch -lineinfo -cubin two.cu -o want.cubin
code() { readelf -x ".text.$2" "$1" | grep '^ *0x' || fail "$1: no code of $2"; }
diff <(code got.cubin _Z3bigPi) <(code want.cubin _Z3bigPi) >&2 || fail "other code for what was left out"
if diff -q <(code got.cubin _Z5smallIiEvPT_) <(code want.cubin _Z5smallIiEvPT_) >diffs; then
	fail "expected checks in the other kernel"
fi

# Code in which nothing can race: ptxas is not tried, and no kernel changes; with no kernel the text is
# nvcc's own.
echo '__global__ void idle(int n) { if (n > 3) __syncthreads(); }' >idle.cu
rc_of 0 "$nvcc" $arch --collider-verbose -cubin idle.cu -o idle.cubin
grep -q 'for the original, 0.00 s with checks (0 runs)' log || fail "expected no trial, found: $(cat log)"
has idle.cubin
rc_of 0 "$real/bin/nvcc" $arch -lineinfo -cubin idle.cu -o want.cubin
diff <(readelf -SW idle.cubin | grep -o '\.text\.[^ ]*') <(readelf -SW want.cubin | grep -o '\.text\.[^ ]*') >&2 ||
	fail "expected no function of ours"
diff <(code idle.cubin _Z4idlei) <(code want.cubin _Z4idlei) >&2 || fail "expected the idle kernel's own code"
echo 'int nothing;' >none.cu
rc_of 0 "$nvcc" $arch -ptx none.cu
"$real/bin/nvcc" $arch -lineinfo -ptx none.cu -o want.ptx
diff none.ptx want.ptx >&2 || fail "expected nvcc's own text"

# What ptxas has to say about the code with checks is said once, and its result taken: for two targets.
echo '__global__ void __launch_bounds__(1024, 3) odd(int *p) { p[threadIdx.x] = p[threadIdx.x + 1]; }' >odd.cu
rc_of 0 "$nvcc" -arch=sm_90 -arch=sm_90a -cubin odd.cu
rc_of 0 "$nvcc" -arch=sm_90 -arch=sm_90a -c odd.cu
test "$(grep -c 'minnctapersm' log)" -eq 1 || fail "expected ptxas' warning once, found: $(cat log)"
test -z "$(find "$XDG_CACHE_HOME" -path '*/kept/*' -name '*.said')" || fail "the message was not taken"

# The line on a terminal, and its end.
python3 - "$nvcc" $arch --long-build=1ms -c two.cu >seen <<'PY'
import pty, sys
sys.exit(pty.spawn(sys.argv[1:]) >> 8)
PY
grep -q 'ptxas on the code with checks: [0-9]* s' seen || fail "expected a line about the time on a terminal"
tail -c 200 seen | tr '\r' '\n' | tail -1 | grep -q 'ptxas on the code' && fail "the line is still there at the end"
no_leftovers
