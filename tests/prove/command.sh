#!/bin/bash
# command.sh - collider prove as a command: exit codes, sources, options: command.sh COLLIDER DIR NVCC ROOT
set -u
collider=$1 dir=$2 nvcc=$3 root=$4
tree=$(mktemp -d) || exit 2
trap 'rm -rf "$tree"' EXIT
failed=0

expect() { # expect CODE PATTERN ARGUMENTS...
	local code=$1 pattern=$2 out rc
	shift 2
	out=$("$collider" prove "$@" 2>&1)
	rc=$?
	[[ $rc =~ ^($code)$ ]] || { echo "FAIL prove $*: expected exit code $code, found $rc"; echo "$out"; failed=1; }
	grep -Eq -- "$pattern" <<<"$out" || { echo "FAIL prove $*: expected $pattern, found:"; echo "$out"; failed=1; }
}

ptx() { # ptx FILE.cu [OPTION...]: one compilation for many questions
	"$nvcc" -ptx -G -arch=sm_90 -D__COLLIDER_PROVE__=1 -I "$root/include" "${@:2}" \
		-include collider/assume.h -o "${1%.cu}.ptx" "$1"
}

cat >"$tree/mask.cu" <<'CU'
//--blockDim=32 --gridDim=1
#ifndef OFFSET
#define OFFSET 1u
#endif
__global__ void mask(float *y) { y[(threadIdx.x - OFFSET) & 31] = 1.0f; }
CU
ptx "$tree/mask.cu"
expect 0 'blockDim.x = 32' "$tree/mask.cu"
expect 10 'threadIdx.x' --block-dim=64 --grid-dim=1 "$tree/mask.ptx"
expect 0 'race-free' "$tree/mask.cu" -- -DOFFSET=5u
# Nothing analysed is not race-free.
expect 2 "error: --kernel=mast: no kernel of .*mask.ptx has that in its name$" --kernel=mast "$tree/mask.ptx"
expect 2 "error: --kernel=mast: no kernel" --format=json --kernel=mast "$tree/mask.ptx"
expect 0 'race-free' --kernel=mas --block-dim=32 --grid-dim=1 "$tree/mask.ptx"
cat >"$tree/none.cu" <<'CU'
__device__ int twice(int i) { return 2 * i; }
int main() { return 0; }
CU
expect 1 'error: .*none.cu has no kernel: nothing was analysed$' "$tree/none.cu"
printf '.version 8.0\n.target sm_80\n.address_size 64\n.visible .func f() { ret; }\n' >"$tree/bare.ptx"
expect 1 'bare.ptx has no kernel' "$tree/bare.ptx"
mkdir "$tree/build"
printf '[{"directory":"%s","file":"none.cu","command":"nvcc -c none.cu"}]\n' "$tree" >"$tree/build/compile_commands.json"
expect 1 'has no kernel' --build="$tree/build"
cat >"$tree/assume.cu" <<'CU'
__global__ void half(float *y, int n)
{
	collider_assume(n == 1);
	y[threadIdx.x / n] = 1.0f;
}
CU
expect 14 'collider_assume' "$tree/assume.cu"
ptx "$tree/assume.cu"
cat >"$tree/param.cu" <<'CU'
__global__ void half(float *y, int n) { y[threadIdx.x / n] = 1.0f; }
CU
expect 10 'true data race' --no-remedies "$tree/param.cu"
ptx "$tree/param.cu"
expect 10 'scalar parameters may be anything here' --block-dim=4 "$tree/param.ptx"
expect 10 'what it uses: --param=NAME=VALUE,$' --block-dim=4 --grid-dim=1 "$tree/param.ptx"
expect 14 'parameter 2 = 1' --param=2=1 "$tree/param.ptx"
cat >"$tree/tile.cu" <<'CU'
__global__ void tile(float *y)
{
	__shared__ float s[256];
	s[threadIdx.x % 256] = 1.0f;
	y[blockIdx.x * 256 + threadIdx.x % 256] = 1.0f;
}
CU
expect 10 'because blockDim.x, gridDim.x may be anything here' "$tree/tile.cu"
ptx "$tree/tile.cu"
expect 10 'what it uses: --block-dim=X,Y,Z --grid-dim=X,Y,Z,$' "$tree/tile.ptx"
expect 10 'found with blockDim \(' "$tree/tile.ptx"
expect 10 '"free":\["blockDim.x","gridDim.x"\]' --format=json "$tree/tile.ptx"
expect 0 '^tile.*race-free$' --block-dim=256 "$tree/tile.ptx"
expect 10 'because gridDim.x may be anything' --block-dim=512 "$tree/tile.ptx"
expect 11 'assume.cu:3: this assumption contradicts the others' --param=2=2 "$tree/assume.ptx"
expect 11 'parameter 2 = 2 contradicts the others' --param=2=2 "$tree/assume.ptx"
expect 14 'race-free' --param=2=1 "$tree/assume.ptx"
expect 11 'error: vacuous' --param=2=1,2=2 "$tree/param.ptx"
expect 11 '"verdict":"vacuous"' --format=json --block-dim=2048 "$tree/param.ptx"
expect 11 "blockDim.x = 2048 is above CUDA's limit" --block-dim=2048 "$tree/param.ptx"
for second in 32 64; do
	printf '//--blockDim=64\n//--blockDim=%s\n%s\n' $second \
		'__global__ void k(float *y) { y[threadIdx.x] = 1.0f; }' >"$tree/lines$second.cu"
done
expect 11 'lines32.cu:2: vacuous: --blockDim=32 contradicts line 1' "$tree/lines32.cu"
expect 14 'race-free' "$tree/lines64.cu"
# options in the first lines: with a blank, for the compiler, unknown ones, mere comments
for line in '// --blockDim=64 --gridDim=4' '//  --block-dim=[64] --grid-dim=[4] -DSIZE=64 --no-inline' \
	'// two words
//--blockDim=64 --gridDim=4'; do
	printf '%s\n%s\n' "$line" '#ifndef SIZE
#define SIZE 64
#endif
__global__ void k(int *o) { __shared__ int s[SIZE]; s[threadIdx.x % 64] = 1; o[blockIdx.x * 64 + threadIdx.x] = s[threadIdx.x]; }' >"$tree/line.cu"
	expect 0 'blockDim.x = 64; gridDim.x = 4' "$tree/line.cu"
done
sed -i 's/SIZE=64/SIZE=0/; s/--gridDim=4$/--gridDim=4 -DSIZE=-1/' "$tree/line.cu"
expect 1 'negative|array' "$tree/line.cu"
for line in '//--blockDim=64 --grid=4' '// --blockDim=many'; do
	printf '%s\n%s\n' "$line" '__global__ void k(int *o) { o[threadIdx.x] = 1; }' >"$tree/line.cu"
	expect 1 "error: .*line.cu:1: (the option '--grid=4' isn't known|expected numbers)" "$tree/line.cu"
done
printf '//--blockDim=64 -- as the host has it\n//--- a ruler ---\n%s\n' \
	'__global__ void k(int *o) { o[threadIdx.x] = 1; }' >"$tree/line.cu"
expect 14 '"free":\["blockDim.x"\]' --format=json "$tree/line.cu"
printf '//--blockDim=64 --gridDim=1 --warp-sync=32\n%s\n' \
	'__global__ void k(volatile int *o) { __shared__ volatile int s[96]; s[threadIdx.x] = 1; if (threadIdx.x < 32) s[threadIdx.x] += s[threadIdx.x + 1]; o[threadIdx.x] = 1; }' >"$tree/line.cu"
expect 12 'run in lockstep' "$tree/line.cu"
# a library's header below an -isystem folder reads y; the same by -I counts
mkdir "$tree/lib"
printf '%s\n' '__device__ inline void row(int *n) { if (threadIdx.y < 1000) atomicAdd(n, 1); }' >"$tree/lib/row.h"
printf '#include <row.h>\n%s\n' '__global__ void k(int *o, int *n) { row(n); o[blockIdx.x * blockDim.x + threadIdx.x] = 1; }' >"$tree/lib.cu"
expect 0 '1: blockDim.y, blockDim.z' --no-remedies "$tree/lib.cu" -- -isystem "$tree/lib"
expect 12 'threadIdx.y' --no-remedies "$tree/lib.cu" -- -I "$tree/lib"
expect 14 'parameter n = 1' --param=n=1 "$tree/param.ptx"
expect 11 "no parameter 'm'" --param=m=1 "$tree/param.ptx"
expect 2 'NAME=VALUE' --param=n "$tree/param.ptx"
expect 2 'expected numbers' --block-dim=many "$tree/param.ptx"
expect 2 'takes a .cu or .ptx' --block-dim=4
expect 1 'No such file' "$tree/none.ptx"
echo 'this is no PTX' >"$tree/bad.ptx"
expect 1 'bad.ptx:1:' "$tree/bad.ptx"

# assumptions
expect 14 'race-free' --assume='n == 1' "$tree/param.ptx"
expect 14 'n <= 1' --assume='n > 0; n <= 1' "$tree/param.ptx"
! "$collider" prove --block-dim=4 --grid-dim=1 "$tree/param.ptx" | grep -q -- '--assume=' ||
	{ echo 'FAIL a remedy that nobody can use'; failed=1; }
expect 10 'true alarm' --no-remedies --assume='n == 2' "$tree/param.ptx"
# launches that are tried before the solver is asked keep to --assume and --param
expect 10 '[1-9] by trying' --no-remedies --assume='n == 2' "$tree/param.ptx"
expect 10 'n  *2$' --no-remedies --assume='n == 2' "$tree/param.ptx"
expect 10 'n  *2$' --no-remedies --param=n=2 "$tree/param.ptx"
expect 10 'n  *1[0-9][0-9]' --no-remedies --assume='n > 100 && n < 200' "$tree/param.ptx"
! "$collider" prove --assume='n == 1' "$tree/param.ptx" | grep -q 'by trying' ||
	{ echo 'FAIL a launch was tried that --assume excludes'; failed=1; }
expect 11 'contradict' --assume='n == 1; n == 2' "$tree/param.ptx"
expect 11 "has no parameter 'k'" --assume='k == 1' "$tree/param.ptx"
expect 2 'column 4: the expression ends here' --assume='n <' "$tree/param.ptx"
expect 2 'column 3: expected an operator' --assume='n n' "$tree/param.ptx"
cat >"$tree/index.cu" <<'CU'
__global__ void scatter(float *y, const int *idx)
{
	int at = idx[threadIdx.x];
	y[at] = 1.0f;
}
__global__ void scatter_said(float *y, const int *idx)
{
	collider_injective(idx, 1024);
	y[idx[threadIdx.x]] = 1.0f;
}
__global__ void scatter_distinct(float *y, const int *idx)
{
	int at = idx[threadIdx.x] * 3;
	collider_distinct(at);
	y[at] = 1.0f;
}
__global__ void distinct_denied(float *y)
{
	int at = threadIdx.x / 2;
	collider_distinct(at);
	y[at] = 1.0f;
}
__global__ void same_value(int *y)
{
	y[threadIdx.x / 2] = 7;
}
__global__ void other_value(int *y)
{
	y[threadIdx.x / 2] = threadIdx.x;
}
__global__ void count_down(float *y, unsigned n)
{
	for (unsigned i = threadIdx.x; i < n; i += blockDim.x)
		y[i] = 1.0f;
}
CU
ptx "$tree/index.cu"
one='--block-dim=64 --grid-dim=1'
# shellcheck disable=SC2086
{
expect 12 'approximated: at' $one --no-remedies --kernel=7scatterPf "$tree/index.ptx"
expect 12 '"contents":.{"array":"idx","param_offset":8,"offset":[0-9]*,"bytes":4,"value":[0-9]*}' --format=json \
	$one --no-remedies --kernel=7scatterPf "$tree/index.ptx"
expect 12 "race-free with --assume='(injective.idx.|distinct.at.)'" $one --kernel=7scatterPf "$tree/index.ptx"
expect 0 'race-free' $one --kernel=7scatterPf --assume='injective(idx)' "$tree/index.ptx"
expect 12 'potential' $one --no-remedies --kernel=7scatterPf --assume='injective(idx, 63)' "$tree/index.ptx"
expect 0 'what collider_injective says' $one --kernel=scatter_said "$tree/index.ptx"
expect 0 'what collider_distinct says' $one --kernel=scatter_distinct "$tree/index.ptx"
expect 11 'the first two threads' $one --kernel=distinct_denied "$tree/index.ptx"
expect 10 'true data race' $one --no-remedies --kernel=same_value "$tree/index.ptx"
expect 13 'excused by --benign' $one --benign=same-value --kernel=same_value "$tree/index.ptx"
expect 10 'true data race' $one --benign=same-value --no-remedies --kernel=other_value "$tree/index.ptx"
expect 0 "doesn't wrap" --block-dim=48 --grid-dim=1 --kernel=count_down "$tree/index.ptx"
expect '1[02]' 'data race' --block-dim=48 --grid-dim=1 --no-remedies --all-launches --kernel=count_down "$tree/index.ptx"
expect 10 'confirmed: the launch raced' $one --no-remedies --confirm --reproducer="$tree" --kernel=other_value "$tree/index.cu"
expect 0 'write 4 at .threadIdx.x' --protocol "$tree/mask.cu"
}
[ -s "$tree/race1.cu" ] || { echo 'FAIL --reproducer: no file'; failed=1; }
grep -q 'kernel)(int\*) = other_value' "$tree/race1.cu" || { echo 'FAIL --reproducer:'; cat "$tree/race1.cu"; failed=1; }

# templates
echo 'template <int N> __global__ void t(float *y) { y[threadIdx.x % N] = 1; }' >"$tree/template.cu"
expect 11 "a template without an instance: --instantiate='t<" "$tree/template.cu"
expect 0 't<64>.*race-free' --instantiate='t<64>' --block-dim=64 --grid-dim=1 "$tree/template.cu"

# intrinsics and library functions that are calls; threads that end
cp "$dir/calls.cu" "$tree/calls.cu"
ptx "$tree/calls.cu"
call() { # call CODE PATTERN KERNEL OPTION...
	local kernel=$3
	expect "$1" "$2" --no-remedies --grid-dim=1 --kernel="$kernel" "${@:4}" "$tree/calls.ptx"
}
call 0 'race-free' counted --block-dim=256
call 10 'true data race on shared memory voted' voted --block-dim=256
call 0 'race-free' all_any --block-dim=256
call 0 'race-free' 'trapped<64'
call 10 'true data race' 'trapped<65'
call 0 'race-free' 'asserted<64'
call 10 'true data race' 'asserted<65'
call 0 'race-free' 'computed<1'
call 10 'confirmed: the launch raced' 'computed<2' --confirm
call 0 'race-free' 'ended<0' --block-dim=256
call 10 'one of the threads has ended: later barriers do not order it' 'ended<128' --block-dim=256

# What ptxas refuses is refused, whatever it may make of the analysis; and a division by nothing.
refused() {
	printf '.version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n'
	printf '.reg .pred %%p;\n.reg .b32 %%r<4>;\n.reg .b64 %%d<4>;\nld.param.u64 %%d1, [p%s];\n' "${2:-}"
	printf 'mov.u32 %%r1, %%tid.x;\n%s\nst.global.u32 [%%d1], %%r1;\nret;\n}\n' "$1"
}
for wrong in '@%d1 bra L; L:' 'atom.global.add.u32 %r2, %d1, %r1;' 'add.u32 %r1, %r1;' 'add.u32 %r1, %d1, %r1;'; do
	refused "$wrong" >"$tree/wrong.ptx"
	expect 1 'wrong.ptx:11:1: error' "$tree/wrong.ptx"
done
refused '' +-4 >"$tree/right.ptx"
expect '0|1[0-3]' '1 kernel' "$tree/right.ptx"
refused '' >"$tree/right.ptx"
expect 10 'true data race' "$tree/right.ptx"
expect 2 'division by 0' --assume='1/0 == 1' "$tree/right.ptx"
expect 2 'division by 0' --assume='$1 % 0x0 == 1' "$tree/right.ptx"
TMPDIR=$tree/none expect 1 'instantiate: .*/none/collider-' --instantiate='t<64>' "$tree/template.cu"
mkdir "$tree/tmp"
TMPDIR=$tree/tmp expect 0 't<64>.*race-free' --instantiate='t<64>' --block-dim=64 --grid-dim=1 "$tree/template.cu"

# a build, and what was found before
cat >"$tree/compile_commands.json" <<JSON
[{"directory": "$tree", "command": "nvcc -DOFFSET=5u -O3 -c mask.cu -o mask.o", "file": "mask.cu"},
 {"directory": "$tree", "command": "cc -c x.c", "file": "x.c"},
 {"directory": "$tree", "arguments": ["nvcc", "-c", "param.cu"], "file": "param.cu"}]
JSON
export XDG_CACHE_HOME=$tree/cache
mkdir "$tree/cache"
expect 10 'collider: .2/2. param.cu' --no-remedies --build="$tree"
expect 10 'from the cache' --no-remedies --build="$tree"
# cut off by a full disk, or changed: analysed again
for f in "$tree"/cache/collider/prove-*; do truncate -s -1 "$f"; done
expect 10 '2 kernels: 1 race-free, 1 with true' --no-remedies --build="$tree"
for f in "$tree"/cache/collider/prove-*; do printf x | dd of="$f" bs=1 seek=200 conv=notrunc 2>/dev/null; done
expect 10 '2 kernels: 1 race-free, 1 with true' --no-remedies --build="$tree"
# Ctrl-C while the last file is compiled: what was found before is there in the next run
mkdir "$tree/stopped"
cp "$tree/mask.cu" "$tree/param.cu" "$tree/stopped"
sed "s|\"directory\": \"$tree\"|\"directory\": \"$tree/stopped\"|; s/OFFSET=5u/OFFSET=7u/" \
	"$tree/compile_commands.json" >"$tree/stopped/compile_commands.json"
mv "$tree/stopped/param.cu" "$tree/stopped/last.cu"
mkfifo "$tree/stopped/param.cu" # its compiler waits
set -m
"$collider" prove --no-remedies --build="$tree/stopped" >"$tree/stopped/log" 2>&1 &
running=$!
set +m
for ((i = 0; i < 600; i++)); do
	grep -q '2/2. param.cu' "$tree/stopped/log" && break
	sleep .1
done
kill -INT -- -$running
wait $running
code=$?
[ $code = 130 ] || { echo "FAIL Ctrl-C: expected exit code 130, found $code"; cat "$tree/stopped/log"; failed=1; }
mv "$tree/stopped/last.cu" "$tree/stopped/param.cu"
out=$("$collider" prove --no-remedies --build="$tree/stopped" 2>&1)
grep -A2 '^mask' <<<"$out" | grep -q 'from the cache' || { echo "FAIL a stopped --build begins again"; echo "$out"; failed=1; }
expect 2 'found both' --build="$tree" "$tree/mask.cu"
expect 1 'compile_commands.json: No such' --build="$tree/cache"

# 24,090 pairs
{
	printf '%s\n' '.version 8.0' '.target sm_90' '.address_size 64' '.visible .entry k(.param .u64 p)' '{' \
		'.reg .b32 %r<4>; .reg .b64 %rd<4>;' 'ld.param.u64 %rd0, [p];' 'mov.u32 %r0, %tid.x;' \
		'mul.wide.u32 %rd1, %r0, 1024;' 'add.s64 %rd2, %rd0, %rd1;'
	for i in $(seq 0 218); do echo "st.global.u32 [%rd2+$((4 * i))], %r0;"; done
	printf '%s\n' 'ret;' '}'
} >"$tree/many.ptx"
expect 14 '24090 pairs' "$tree/many.ptx"
sed 's/, 1024;/, 8;/' "$tree/many.ptx" >"$tree/many_racy.ptx"
expect 10 'the time limit was reached before' --no-remedies --prove-timeout=1 "$tree/many_racy.ptx"

not() { # not PATTERN ARGUMENTS...: what isn't said
	local pattern=$1
	shift
	"$collider" prove "$@" 2>&1 | grep -E -- "$pattern" && { echo "FAIL prove $*: found $pattern"; failed=1; }
}
not 'may be anything here' --no-remedies --block-dim=4 --grid-dim=1 --param=2=2 "$tree/param.ptx"

# launches that were seen, alarms of several levels
echo '__global__ void all(int *y) { y[0] = threadIdx.x + blockIdx.x; }' >"$tree/pair.cu"
printf '%s\n' '{"kernel":"_Z4halfPfi","block":[64,1,1],"grid":[1,1,1],"params":[{"offset":0,"bytes":8,"value":1},{"offset":8,"bytes":4,"value":1}]}' >"$tree/launches"
expect 0 'a recorded launch' --launches="$tree/launches" "$tree/param.ptx"
sed -i 's/"value":1}\]/"value":2}]/' "$tree/launches"
expect 10 'true data race' --no-remedies --launches="$tree/launches" "$tree/param.ptx"
sed 's/"value":2}\]/"value":1}]/; s/"block":.64/"block":[32/' "$tree/launches" >>"$tree/launches.other"
cat "$tree/launches" >>"$tree/launches.other"
not 'may be anything here' --no-remedies --launches="$tree/launches.other" "$tree/param.ptx"
expect 10 '^  launch <<<.1, 1, 1., .32, 1, 1.>>> .* = 1: race-free' --launches="$tree/launches.other" "$tree/param.ptx"
expect 10 '^  launch <<<.1, 1, 1., .64, 1, 1.>>> .* = 2: true alarm' --launches="$tree/launches.other" "$tree/param.ptx"
# alarms of one array are one block in the text, by pairs of lines; JSON has each
cat >"$tree/block.cu" <<'EOF'
__global__ void two(int *a, int *flag) {
  a[0] = threadIdx.x; *flag = 1;
  a[1] = threadIdx.x + a[0];
  *flag = 1;
}
EOF
expect 10 '^    and on this array at lines$' $one "$tree/block.cu"
expect 10 '^      2 and 3 .true., 3 and 3 .true.$' $one "$tree/block.cu"
[[ $("$collider" prove $one "$tree/block.cu" | grep -c '^  true data race on the array of') == 2 ]] ||
	{ echo 'FAIL blocks of alarms'; failed=1; }
# ... where all stores to it are of equal values, it is said how to excuse them
[[ $("$collider" prove $one "$tree/block.cu" | grep -c 'all stores are of equal values: --benign') == 1 ]] ||
	{ echo 'FAIL the way to excuse equal stores'; failed=1; }
# alarms of one pair of lines are one in the text
expect 10 '^    and [0-9]+ more alarms? of these lines:.* threads of different blocks .true.' "$tree/pair.cu"
expect 11 'no launch of this kernel was recorded' --launches="$tree/launches" "$tree/index.ptx"
# ... two pointers that are one there are no two arrays
echo '__global__ void shift(float *y, const float *x) { y[threadIdx.x] = x[threadIdx.x + 1]; }' >"$tree/two.cu"
ptx "$tree/two.cu"
printf '%s\n' '{"kernel":"_Z5shiftPfPKf","block":[64,1,1],"grid":[1,1,1],"params":[{"offset":0,"bytes":8,"value":4096},{"offset":8,"bytes":8,"value":8192}]}' >"$tree/launches.two"
expect 0 'assuming y and x disjoint' --launches="$tree/launches.two" "$tree/two.ptx"
sed 's/8192/4096/' "$tree/launches.two" >"$tree/launches.one"
expect 10 'true data race on the array of parameter y' --no-remedies --launches="$tree/launches.one" "$tree/two.ptx"
echo nonsense >"$tree/launches"
expect 1 'launches:1: expected a launch' --launches="$tree/launches" "$tree/param.ptx"
expect 11 'could not prove' "$dir/steps/unknown.ptx"
expect 12 'potential' "$dir/steps/undefined.ptx"
expect 14 '"verdict":"race-free-single"' --format=json "$dir/steps/switch.ptx"

# arrays of different parameters; GPUVerify's line with two dimensions
cat >"$tree/alias.cu" <<'CU'
//--blockDim=64 --gridDim=[4,2]
__global__ void shift(float *y, const float *x)
{
	unsigned i = (blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x;
	y[i] = x[i + 1];
}
CU
expect 0 'gridDim.x = 4; gridDim.y = 2; .*assuming y and x disjoint' "$tree/alias.cu"
expect 12 "the two addresses can't be compared" --may-alias --no-remedies "$tree/alias.cu"

# answers that are no numbers by 1 may come nearer to each other when the counter wraps
cat >"$tree/draws.cu" <<'CU'
__global__ void steps(int *out, unsigned *count)
{
	unsigned a = atomicAdd(count, STEP);
	out[a / STEP] = threadIdx.x;
}
CU
expect 0 'what is added to an atomic counter is less than 2.32' "$tree/draws.cu" -- -DSTEP=0x60000000u
expect 0 'no atomic counter comes around' "$tree/draws.cu" -- -DSTEP=64u
not 'what is added to an atomic counter' "$tree/draws.cu" -- -DSTEP=64u

# what the code assumes every thread keeps to, not only the two of an alarm
cat >"$tree/all.cu" <<'CU'
__global__ void assumed_by_all(float *y, unsigned n)
{
	unsigned t = threadIdx.x;
	collider_assume(t < n && (n & 1023) == n);
	y[t * n / blockDim.x] = 1.0f;
	y[2048 + t * 2 / KEEP] = 2.0f;
}
CU
expect 12 'threads of that launch may break an assumption of the code' --grid-dim=1 --no-remedies \
	"$tree/all.cu" -- -DKEEP=2
expect 10 'true data race' --grid-dim=1 --no-remedies "$tree/all.cu" -- -DKEEP=4

# limits: memory, the depth of calls
expect 11 'perhaps at its memory limit' --no-cache --no-remedies --prove-timeout=1 --prove-memory=64 "$tree/many_racy.ptx"
expect 2 'from 64 to' --prove-memory=6 "$tree/param.ptx"
calls() { # calls DEPTH: a kernel that calls so many functions, one from another
	printf '%s\n' '.version 8.0' '.target sm_90' '.address_size 64' ".func f$1() { ret; }"
	for ((i = $1 - 1; i; i--)); do echo ".func f$i() { call f$((i + 1)); ret; }"; done
	printf '%s\n' '.visible .entry k(.param .u64 p) {' '.reg .b64 %rd<2>; call f1;' \
		'ld.param.u64 %rd0, [p]; st.global.u32 [%rd0], 1; ret; }'
}
calls 20 >"$tree/calls20.ptx"
expect 14 'race-free' "$tree/calls20.ptx"
{ # two functions of 10,000 instructions, called five times each
	printf '%s\n' '.version 8.0' '.target sm_90' '.address_size 64'
	for f in 1 2; do
		echo ".func g$f() { .reg .b32 %r<2>;"
		yes 'add.u32 %r0, %r1, 1;' | head -10000
		echo 'ret; }'
	done
	echo '.visible .entry k(.param .u64 p) { .reg .b64 %rd<2>; ld.param.u64 %rd0, [p];'
	printf 'call g%s;\n' 1 2 1 2 1 2 1 2 1 2
	echo 'st.global.u32 [%rd0], 1; ret; }'
} >"$tree/large.ptx"
expect 11 'calls that are too deep or too large' "$tree/large.ptx"
calls 40 >"$tree/calls40.ptx"
expect 11 'calls that are too deep' "$tree/calls40.ptx"

# an assumption that bounds what Triton's four elements a thread make wrap
expect 0 'race-free' --assume='gridDim.x <= 1048576' "$dir/steps/triton.ptx"
expect 10 'true data race' --no-remedies --assume='gridDim.x <= 1048576' "$dir/steps/triton_racy.ptx"

# barriers that some threads or blocks end without: said, and no race
cat >"$tree/skips.cu" <<'CU'
#include <cooperative_groups.h>
__global__ void some(int *v)
{
	int i = threadIdx.x;
	if (i % 2 == 0) {
		int x = v[i + 2];
		__syncthreads();
		v[i] = x;
	}
}
__global__ void all(int *v, int n)
{
	int i = threadIdx.x;
	if (n % 2 == 0) {
		int x = v[i];
		__syncthreads();
		v[i] = x;
	}
}
__global__ void blocks(int *v, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (blockIdx.x >= n)
		return;
	v[i] = 1;
	cooperative_groups::this_grid().sync();
	v[i] = 2;
}
CU
ptx "$tree/skips.cu" -std=c++17
skips="$tree/skips.ptx --block-dim=32 --grid-dim=4"
expect 0 'barrier: .*skips.cu:7: some threads may end at the branch of line 5 without this barrier' \
	--kernel=some --block-dim=32 --grid-dim=1 "$tree/skips.ptx"
expect 0 '"problems":\[\]' --format=json --kernel=all --block-dim=32 --grid-dim=1 "$tree/skips.ptx"
# shellcheck disable=SC2086
expect 0 'barrier: .*branch of line 23 without this barrier of all blocks, which may wait' --kernel=blocks $skips

# A proof for some levels says so.
cat >"$tree/level.cu" <<'CU'
__global__ void by_two(int *o) { o[threadIdx.x / 2] = threadIdx.x; }
CU
ptx "$tree/level.cu"
expect 0 'no others are compared than threads of different warps of a block;' --level=block --block-dim=64 --grid-dim=1 "$tree/level.ptx"
expect 10 'contract: one launch by itself; blockDim.x' --block-dim=64 --grid-dim=1 "$tree/level.ptx"

# values that follow from the thread, of an alarm whose way there depends on memory; no launch that
# raced is claimed; names of parameters
cat >"$tree/rows.cu" <<'CU'
__global__ void rows(int *o, const int *p, int scale)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x;
	int y = x / 2;
	if (p[x] > 3)
		o[y + scale] = x;
}
CU
rows="--no-remedies --block-dim=64 --grid-dim=4 --param=3=7"
# shellcheck disable=SC2086
expect 12 'it would need, say, blockDim \(64, 1, 1\)' --no-confirm $rows "$tree/rows.cu"
# ... but where its launch raced
# shellcheck disable=SC2086
expect 12 'found with blockDim \(64, 1, 1\)' $rows "$tree/rows.cu"
ptx "$tree/rows.cu"
# shellcheck disable=SC2086
expect 12 '^      y +[0-9]+ +[0-9]+$' $rows "$tree/rows.ptx"
# shellcheck disable=SC2086
expect 12 '"name":"scale","offset":16,"bytes":4,"value":7' --format=json $rows "$tree/rows.ptx"
# shellcheck disable=SC2086
expect 12 '"filled":null' --no-confirm --format=json $rows "$tree/rows.ptx"

# More than 32 threads would race, and be outside of s: no run of that confirms the alarm. Room for
# all of them, and it does.
cat >"$tree/room.cu" <<'CU'
template <int N> __global__ void room(float *o, const int *p)
{
	__shared__ float s[N];
	s[threadIdx.x] = 0;
	__syncthreads();
	if (p[0] == 0)
		s[threadIdx.x % 32] = threadIdx.x;
	__syncthreads();
	o[blockIdx.x * 1024ll + threadIdx.x] = s[threadIdx.x];
}
template __global__ void room<32>(float *, const int *);
template __global__ void room<1024>(float *, const int *);
CU
expect 12 '"confirmed":"not-tried"' --format=json --no-remedies --kernel='room<32>' "$tree/room.cu"
expect 12 'confirmed: the launch raced' --no-remedies --kernel='room<1024>' "$tree/room.cu"

# What the compiler builds in has no lines, and a library's aren't the program's: its own call has.
cat >"$tree/tick.cu" <<'CU'
#include <cuda_pipeline.h>
__device__ unsigned count;
__global__ void tick(unsigned *o)
{
	*o = atomicInc(&count, 100) ? 1 : (count = 0);
}
__global__ void put(const float *in)
{
	__shared__ float s[1024];
	__pipeline_memcpy_async(&s[threadIdx.x / 2], in, 4);
	__pipeline_commit();
	__pipeline_wait_prior(0);
}
CU
expect 12 'A  updates 4 bytes at [^ ]*tick.cu:5,' --kernel=tick --no-remedies --block-dim=64 "$tree/tick.cu"
expect 10 'write 4 bytes at [^ ]*tick.cu:10,' --kernel=put --no-remedies --block-dim=64 "$tree/tick.cu"
# Optimised text has the header's line inlined: the call that a function of the program makes.
cat >"$tree/inlined.cu" <<'CU'
__device__ __forceinline__ void most(unsigned *p)
{
	atomicMax_block(p, threadIdx.x);
}
__global__ void inlined(unsigned *o)
{
	most(o);
}
CU
"$nvcc" -ptx -O3 -lineinfo -arch=sm_90 -o "$tree/inlined.ptx" "$tree/inlined.cu"
expect 10 'A, B  update 4 bytes at [^ ]*inlined.cu:3,' --no-remedies --block-dim=64 --grid-dim=4 \
	"$tree/inlined.ptx"

# what arrays hold has the sign of their type
cat >"$tree/signs.cu" <<'CU'
__global__ void signs(int *o, const long long *far, const int *near, const unsigned *all)
{
	int i = threadIdx.x;
	if (far[i] == -1 && near[i] == -2 && all[i] == 4294967295u)
		o[i / 2] = i;
}
CU
expect 12 'far.0. = -1, far.1. = -1, near.0. = -2, near.1. = -2, all.0. = 4294967295' \
	--no-remedies --block-dim=2 --grid-dim=1 "$tree/signs.cu"
expect 12 '"array":"far",[^{]*"value":-1}.*"array":"near",[^{]*"value":-2}.*"array":"all",[^{]*"value":4294967295}' \
	--format=json --no-remedies --block-dim=2 --grid-dim=1 "$tree/signs.cu"

# one line for a race of a block's threads and of different blocks
cat >"$tree/halves.cu" <<'CU'
__global__ void halves(int *a) { a[(threadIdx.x + blockIdx.x * blockDim.x) / 2] = threadIdx.x; }
CU
expect 10 'store races' --no-remedies --format=short "$tree/halves.cu"
[ "$("$collider" prove --no-remedies --format=short "$tree/halves.cu" | grep -c 'store races')" = 1 ] ||
	{ echo "FAIL prove --format=short halves.cu: a line twice"; failed=1; }

# what isn't proven as written is asked about as optimised
out=$("$collider" prove --no-cache "$dir/optimised.cu" 2>&1
	"$collider" prove --no-cache --kernel=rows_ --param=pitch=64 "$dir/optimised.cu" 2>&1)
for line in 'through_pointer(int*): race-free' 'through_pointer_racy(int*): true alarm' \
	'rows_through_pointer(int*, int): race-free' 'rows_through_pointer_racy(int*, int): true alarm' \
	'left_out_racy(int*, int const*): potential alarms only' \
	'never_read_racy(int*, int const*): potential alarms only' \
	'put_back_racy(int*, int const*): potential alarms only' \
	'one_of_two_racy(int*, int const*): potential alarms only' \
	'last_of_loop_racy(int*, int const*): potential alarms only' \
	'head_copied_racy(int*, int const*): potential alarms only' \
	'chosen_racy(int*, int const*, int): potential alarms only' \
	'chosen_through_pointer(int*, int): race-free'; do
	grep -qxF "$line" <<<"$out" || { echo "FAIL prove optimised.cu: expected $line, found:"; echo "$out"; failed=1; }
done
grep -q 'as written it isn.t proven, but as nvcc optimises it' <<<"$out" || { echo "FAIL prove optimised.cu: the contract"; failed=1; }
expect 12 'potential alarms only' --kernel='through_pointer(' --no-remedies "$dir/optimised.cu" -- -G
expect 12 'potential alarms only' --kernel=unrolled_racy --no-remedies "$dir/optimised.cu" -- -arch=sm_100

# the tables over several kernels
# shellcheck disable=SC2086
expect 10 '^ *DRF P-racy T-racy remedy  coverage timeout crash' $one --no-remedies "$tree/index.ptx"
# shellcheck disable=SC2086
expect 10 '^CIDI [0-9.]*%, CIDD [0-9.]*%, CDDI [0-9.]*%, CDDD [0-9.]*% of 7' $one --no-remedies "$tree/index.ptx"
exit $failed
