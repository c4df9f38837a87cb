#!/bin/bash
# ways.sh - what the driver is handed in each way of loading: ways.sh COLLIDER BUILT SOURCES
. "$(dirname "$0")/lib.sh"
program=$built/load_program

nvcc -ptx -lineinfo -arch=sm_90 sum.cu -o sum.ptx || exit 2
for mode in size speed none; do
	nvcc -fatbin -lineinfo -arch=sm_90 -compress-mode $mode sum.cu -o $mode.fatbin || exit 2
done
nvcc -fatbin -lineinfo -arch=sm_90 -maxrregcount=24 sum.cu -o capped.fatbin || exit 2
nvcc -fatbin -gencode arch=compute_80,code=compute_80 -gencode arch=compute_90,code=sm_90 sum.cu -o other.fatbin || exit 2
nvcc -cubin -arch=sm_90 sum.cu -o sum.cubin || exit 2

# What a build makes of it. A text has the name of the file whose memory it lies in.
COLLIDER_TOOL_OPTIONS=samples "$collider" nvcc --prune=none -cubin -lineinfo -arch=sm_90 sum.cu -o built.cubin || exit 2
COLLIDER_TOOL_OPTIONS=samples "$collider" nvcc --prune=none -cubin -lineinfo -arch=sm_90 -maxrregcount=24 sum.cu -o capped.cubin || exit 2
cp sum.ptx load_program
COLLIDER_TOOL_OPTIONS=prune=none:samples "$collider" ptxas -arch=sm_90 load_program -o text.cubin || exit 2
COLLIDER_TOOL_OPTIONS=prune=none:samples "$collider" ptxas -arch=sm_90 -maxrregcount=24 load_program -o text24.cubin || exit 2

go a -- "$program" . look data:sum.ptx capped:sum.ptx fat:size.fatbin file:speed.fatbin library:none.fatbin \
	library-file:size.fatbin wrapper:speed.fatbin wrapper:capped.fatbin found:none.fatbin || fail "a: $(cat a.err)"
cat >want <<'L'
cuModuleLoadData code 0
cuModuleLoadDataEx code 1
cuModuleLoadData code 2
cuModuleLoadData code 3
cuLibraryLoadData code 4
cuLibraryLoadData code 5
cuLibraryLoadData code 6
cuLibraryLoadData code 7
cuModuleLoadData code 8
L
diff want a || fail "a: other calls than expected"
same a.0 text.cubin
same a.1 text24.cubin
for i in 2 3 4 5 6 8; do same a.$i built.cubin; done
same a.7 capped.cubin
says a.err '^Note: GPU code instrumented as it was loaded: 9 of 9 images in '
# The functions are the driver's: one that no toolkit knows, none that it lacks.
expect a.out "private 42, lacking 0, spare 0"

# A text without lines of a source is the source, and kept; one with lines isn't.
[ ! -e cache/collider/text ] || fail "a text with lines is kept"
nvcc -ptx -arch=sm_90 sum.cu -o bare.ptx || exit 2
go a -- "$program" . data:bare.ptx || fail "a: $(cat a.err)"
expect a "cuModuleLoadData code 0"
bare=$(echo cache/collider/text/block_sum-*.ptx)
cmp "$bare" bare.ptx || fail "the text isn't kept"
"$built/load_sites" a.0 >a.sites
line=$(grep -n 'ld\.global' bare.ptx | head -1 | cut -d: -f1)
expect a.sites "$work/$bare:$line"

# The driver's linker gets text, with the cap that its functions need. Machine code stays.
go b -- "$program" . link:sum.ptx link-fat:none.fatbin link-file:sum.ptx data:sum.cubin || fail "b: $(cat b.err)"
cat >want <<'L'
cuLinkAddData_v2 text 0 cap 32
cuLinkAddData_v2 text 1 cap 32
cuLinkAddData_v2 text 2 cap 32
cuModuleLoadData code 3
L
diff want b || fail "b: other calls than expected"
for i in 0 1 2; do grep -q __collider_knobs b.$i || fail "b.$i has no checks"; done
cmp b.3 sum.cubin || fail "machine code was changed"

# PTX of another architecture than the machine code stays, and is named; unless it is asked for.
go c -- "$program" . wrapper:other.fatbin || fail "c: $(cat c.err)"
expect c "cuLibraryLoadData wrapper 0"
cmp c.0 other.fatbin || fail "other.fatbin was changed"
says c.err 'load_program: its GPU code runs as it was: its machine code is for sm_90, and its PTX, for sm_80, may be'
go c --any-ptx -- "$program" . wrapper:other.fatbin || fail "c: $(cat c.err)"
expect c "cuLibraryLoadData code 0"
# On another device it is the program that runs; and none runs on an older one.
STANDIN_SM=86 go c -- "$program" . wrapper:other.fatbin || fail "c: $(cat c.err)"
expect c "cuLibraryLoadData code 0"
STANDIN_SM=75 go c -- "$program" . wrapper:other.fatbin || fail "c: $(cat c.err)"
expect c "cuLibraryLoadData wrapper 0"

# Checks that are there stay, but for others that are asked for.
"$collider" nvcc -fatbin -lineinfo -arch=sm_90 sum.cu -o checked.fatbin || exit 2
go d -- "$program" . wrapper:checked.fatbin || fail "d: $(cat d.err)"
expect d "cuLibraryLoadData wrapper 0"
# Their tables of sites are handed over: from machine code, packed or not, and from text alone.
for how in "-arch=sm_90 -compress-mode size" "-gencode arch=compute_90,code=compute_90"; do
	"$collider" nvcc -fatbin -lineinfo $how sum.cu -o tables.fatbin || exit 2
	XDG_CACHE_HOME=$work/d.cache go d -- "$program" . wrapper:tables.fatbin || fail "d: $(cat d.err)"
	expect d "cuLibraryLoadData wrapper 0"
	grep -lq __collider_sites "$work"/d.cache/collider/loaded/* || fail "no tables of sites: $how"
	rm -rf "$work/d.cache"
done
go d --detector=collide -- "$program" . wrapper:checked.fatbin || fail "d: $(cat d.err)"
expect d "cuLibraryLoadData wrapper 0"
go d --detector=watch -- "$program" . wrapper:checked.fatbin || fail "d: $(cat d.err)"
expect d "cuLibraryLoadData code 0"
grep -q __collider_watch d.0 && ! grep -q __collider_knobs d.0 || fail "d.0: other checks than watch's"

# Kernels that nobody asked for stay as they are; a module without any that was asked for, too.
COLLIDER_TOOL_OPTIONS=samples "$collider" nvcc --prune=none --kernel-name=block_sum -cubin -lineinfo -arch=sm_90 sum.cu -o named.cubin || exit 2
go k --kernel-name=block_sum -- "$program" . wrapper:size.fatbin || fail "k: $(cat k.err)"
same k.0 named.cubin
go k --kernel-name=another -- "$program" . wrapper:size.fatbin || fail "k: $(cat k.err)"
expect k "cuLibraryLoadData wrapper 0"
go k --kernel-name-exclude='block*,nothing' -- "$program" . wrapper:size.fatbin || fail "k: $(cat k.err)"
expect k "cuLibraryLoadData wrapper 0"

# What ptxas would take too long for stays as it was, and is named; with more time all have checks.
cat >two.cu <<'C'
__global__ void one(int *p) { p[threadIdx.x] += p[threadIdx.x + 1]; }
__global__ void two(int *p) { p[threadIdx.x] += 1; }
C
nvcc -fatbin -lineinfo -arch=sm_90 two.cu -o two.fatbin || exit 2
go l --load-limit=1ms -- "$program" . wrapper:two.fatbin || fail "l: $(cat l.err)"
for kernel in _Z3onePi _Z3twoPi; do
	says l.err "$kernel runs as it was: ptxas would take about [0-9]+ s .*--load-limit"
	"$built/load_sites" l.0 | grep -qxF "unchecked $kernel kernel-as-it-was 1" || fail "$kernel: its checks aren't missed"
done
go l --load-limit=100 -- "$program" . wrapper:two.fatbin || fail "l: $(cat l.err)"
grep -q 'runs as it was' l.err && fail "left out in time: $(cat l.err)"
"$built/load_sites" l.0 | grep -q 'kernel-as-it-was' && fail "left out in time"

# A driver that refuses it gets the program's own.
STANDIN_REFUSES=1 go e -- "$program" . data:sum.ptx wrapper:size.fatbin || fail "e: $(cat e.err)"
cat >want <<'L'
cuModuleLoadData code 0 refused
cuModuleLoadData text 1
cuLibraryLoadData code 2 refused
cuLibraryLoadData wrapper 3
L
diff want e || fail "e: other calls than expected"
cmp e.1 sum.ptx && cmp e.3 size.fatbin || fail "e: changed"
says e.err 'the driver refuses instrumented code \(error 200\)'

# A program of several objects, one of them in machine code only: all are linked again.
cat >count.cu <<'C'
__device__ int place(int i);
__device__ int code_only(int i);
extern "C" __global__ void count(const int *x, int *counts, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		counts[place(x[i]) + code_only(i)] += 1;
}
C
echo '__device__ int calls; __device__ int place(int i) { calls += 1; return i & 63; }' >place.cu
echo '__device__ int code_only(int i) { return i & 1; }' >code.cu
for f in count place; do
	nvcc -rdc=true -lineinfo -arch=sm_90 -fatbin $f.cu -o $f.fatbin || exit 2
	nvcc -rdc=true -lineinfo -arch=sm_90 -dc $f.cu -o $f.o || exit 2
	"$collider" nvcc -rdc=true -lineinfo -arch=sm_90 -dc $f.cu -o $f.checked.o || exit 2
done
nvcc -rdc=true -gencode arch=compute_90,code=sm_90 -fatbin code.cu -o code.fatbin || exit 2
nvcc -rdc=true -gencode arch=compute_90,code=sm_90 -dc code.cu -o code.o || exit 2
nvcc -dlink -arch=sm_90 count.o place.o code.o -fatbin -o linked.fatbin || exit 2
nvcc -dlink -arch=sm_90 count.checked.o place.checked.o code.o -cubin -o linked.cubin || exit 2
go r -- "$program" . parts:linked.fatbin+count.fatbin+place.fatbin+code.fatbin || fail "r: $(cat r.err)"
expect r "cuLibraryLoadData code 0"
same r.0 linked.cubin
go r -- "$program" . parts:linked.fatbin+code.fatbin || fail "r: $(cat r.err)"
expect r "cuLibraryLoadData wrapper 0"

# Text that isn't PTX goes to the driver as it is; what ptxas refuses, too.
{ cat sum.ptx; echo ".visible .entry broken() { add.s32 %r1, %r2; }"; } >broken.ptx
go f -- "$program" . data:broken.ptx || fail "f: $(cat f.err)"
expect f "cuModuleLoadData text 0"
cmp f.0 broken.ptx || fail "broken.ptx was changed"
says f.err 'load_program: not instrumented: '
exit $bad
