#!/bin/bash
# What a program launches: collider prove --run, and --launches without a source.
#   launches.sh COLLIDER COLLIDER-NVCC
collider=$1 nvcc=$2 failed=0
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
cd "$tree" || exit 2
export XDG_CACHE_HOME=$tree

cat >app.cu <<'CU'
#include <cstdio>
struct Shape {
	int w, h;
	float *row;
};
__global__ void transpose(float *out, const float *in, int w, int h)
{
	__shared__ float s[16][17];
	int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
	if (x < w && y < h)
		s[threadIdx.y][threadIdx.x] = in[y * w + x];
	__syncthreads();
	x = blockIdx.y * 16 + threadIdx.x;
	y = blockIdx.x * 16 + threadIdx.y;
	if (x < h && y < w)
		out[y * h + x] = s[threadIdx.x][threadIdx.y];
}
__global__ void by_struct(float *p, Shape d)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
	if (x < d.w && y < d.h)
		p[y * d.w + x] = d.row[x];
}
__global__ void too_wide(float *p, Shape d)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
	if (x <= d.w && y < d.h)
		p[y * d.w + x] = 1;
}
__global__ void behind(float *a, const float *b, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		a[i] = b[i];
}
__global__ void before(float *a, const float *b, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		a[i] = b[i];
}
__global__ void in_place(float *a, const float *b, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		a[i] = b[i] + 1;
}
__global__ void strides(float *a, int n, int k)
{
	if (threadIdx.x + k < n)
		a[threadIdx.x * k] = 1;
}
__global__ void strides_from_one(float *a, int n, int k)
{
	if (threadIdx.x + k < n)
		a[threadIdx.x * k] = 1;
}
struct Many {
	float *p[24];
};
struct Few {
	float *p[4];
};
__global__ void many(Many m)
{
	m.p[0][threadIdx.x] = m.p[23][threadIdx.x];
}
__global__ void few(Few f)
{
	f.p[0][threadIdx.x] = f.p[3][threadIdx.x];
}
__global__ void few_apart(Few f)
{
	f.p[0][threadIdx.x] = f.p[3][threadIdx.x];
}
__global__ void never(float *a)
{
	a[0] = threadIdx.x;
}
int main(int argc, char **)
{
	float *a, *b;
	cudaMalloc(&a, 1 << 20);
	cudaMalloc(&b, 1 << 20);
	if (argc > 1)
		return 3;
	transpose<<<dim3(7, 5), dim3(16, 16)>>>(a, b, 100, 70);
	by_struct<<<dim3(2, 8), 64>>>(a, Shape{100, 8, b});
	too_wide<<<dim3(2, 8), 64>>>(a, Shape{100, 8, b});
	behind<<<4, 64>>>(a, a + 256, 256);
	before<<<4, 64>>>(a, a + 1, 256);
	in_place<<<4, 64>>>(a, a, 256);
	for (int k = 0; k < 20; k++) {
		strides<<<1, 64>>>(a, 128, k);
		strides_from_one<<<1, 64>>>(a, 128, k + 1);
	}
	Many m;
	Few f, g;
	for (int i = 0; i < 24; i++)
		m.p[i] = a + i; /* more than are told apart */
	for (int i = 0; i < 4; i++) {
		f.p[i] = a + i;
		g.p[i] = a + 64 * i;
	}
	many<<<1, 64>>>(m);
	few<<<1, 64>>>(f);
	few_apart<<<1, 64>>>(g);
	return cudaDeviceSynchronize() != cudaSuccess;
}
CU

expect() { # expect RC PATTERN COMMAND...
	local rc=$1 pattern=$2 got
	shift 2
	"$@" >log 2>&1
	got=$?
	if [ $got != "$rc" ] || ! grep -qE -- "$pattern" log; then
		echo "FAIL $*: expected $rc and '$pattern', found $got"
		cat log
		failed=1
	fi
}
verdict() { # verdict KERNEL TEXT: in log
	grep -qE "^$1\(.*: $2\$" log || { echo "FAIL $1: expected $2"; grep "^$1(" log; failed=1; }
}
says() { # says PATTERN: in log
	grep -qE -- "$1" log || { echo "FAIL nothing says '$1'"; cat log; failed=1; }
}

for sanitize in none collide; do
	options=(-g -arch=compute_90)
	[ $sanitize = collide ] && options+=(--sanitize=collide)
	"$nvcc" "${options[@]}" -o app app.cu || exit 2
	expect 10 'for launches that this program makes: found with' "$collider" prove --no-cache --run -- ./app
	verdict transpose race-free
	verdict by_struct race-free
	verdict too_wide 'true alarm'
	verdict behind race-free
	verdict before 'true alarm'
	verdict in_place race-free
	verdict strides 'true alarm'
	verdict strides_from_one race-free
	verdict many 'potential alarms only'
	verdict few 'true alarm'
	verdict few_apart race-free
	says '^  launch <<<\(7, 5, 1\), \(16, 16, 1\)>>> .*= 100, .*= 70: race-free'
	says '^  launch <<<.*parameter 2 = parameter 1 \+ 1024 bytes.*: race-free'
	says '^  20 launches <<<.*= 1 to 20: race-free'
	says '^  for other launches: there (is|may be) a race at .*app.cu'
	grep -q '^never' log && { echo 'FAIL a kernel that is not launched'; failed=1; }
done

# the file of a recording is enough, and a source gives the names
expect 0 '' "$collider" run --device=cpu --record-launches=seen -- ./app
expect 10 'transpose.*: race-free' "$collider" prove --no-cache --launches=seen
expect 0 'launch .* w = 100, h = 70: race-free' "$collider" prove --no-cache --kernel=transpose --launches=seen app.cu
expect 10 '"launches":\[\{"blockDim":\[64,1,1\],"gridDim":\[1,1,1\],"count":20' \
	"$collider" prove --no-cache --format=json --kernel=strides --launches=seen
expect 11 'no launch of this kernel was recorded' "$collider" prove --no-cache --kernel=never --launches=seen app.cu

# What the CPU device asks about one launch: an answer that time cut short isn't one for more time,
# and one that is found is one for less.
{ grep -m1 '^{"ptx"' seen; grep -m1 '"kernel":"[^"]*transpose' seen; } >one
rm -rf "$tree/collider"
for x in 1:late 1:late 10000:proven 1:proven; do
	bash -c "exec -a collider-prove-launch $collider ${x%:*} 3<one 4>answer"
	[ "$(head -1 answer)" = "${x#*:}" ] || { echo "FAIL $x: $(cat answer)"; failed=1; }
done

# Launches of many shapes are proven as any within their bounds; one of them that races isn't lost in
# these, and has its own line.
grep -m1 '"kernel":"[^"]*too_wide' seen | sed 's/"value":100}/"value":4096}/' >shape
{ grep -m1 '^{"ptx"' seen; for x in {1..63} {1..63}; do sed "s/\"grid\":\[2,/\"grid\":[$x,/" shape; done; } >shapes
expect 0 '^too_wide.*: race-free' "$collider" prove --no-cache --launches=shapes
[ "$(grep -cE '^  2 launches <<<\([0-9]+, 8, 1\), .*: race-free' log)" = 63 ] ||
	{ echo 'FAIL lines of shapes'; cat log; failed=1; }
sed 's/"grid":\[2,/"grid":[65,/' shape >>shapes
expect 10 '^  launch <<<\(65, 8, 1\), .*: true alarm' "$collider" prove --no-cache --launches=shapes
grep -qE '<<<\(63, 8, 1\), .*: race-free' log || { echo 'FAIL the other shapes'; cat log; failed=1; }

# Pointers into no array that the recorder knew: just past one's end, and equal ones. Others are apart.
cat >other.cu <<'CU'
extern "C" __global__ void from_end(float *first, float *last)
{
	first[threadIdx.x] = last[-1 - (int)threadIdx.x];
}
extern "C" __global__ void shift(float *a, float *b, float *c, double f, double g)
{
	c[threadIdx.x] = b[threadIdx.x + 1] * f;
	a[threadIdx.x] = g;
}
CU
other() { # other RC PATTERN KERNEL PARAMETERS...: each a value, or a value, an array and its size
	local rc=$1 pattern=$2 words='' off=0 p
	printf '{"kernel":"%s","block":[64,1,1],"grid":[1,1,1],"params":[' "$3" >others
	for p in "${@:4}"; do
		IFS=, read -r value array size <<<"$p"
		words+=",{\"offset\":$off,\"bytes\":8,\"value\":$value"
		[ -n "$array" ] && words+=",\"array\":$array,\"at\":0,\"size\":$size"
		words+='}'
		off=$((off + 8))
	done
	printf '%s]}\n' "${words#,}" >>others
	expect "$rc" "$pattern" "$collider" prove --no-cache --kernel="$3" --launches=others other.cu
}
x=139000000000000 y=93000000000000 z=94000000000000 one=4607182418800017408
other 10 '^  launch .*last = first \+ 256 bytes.*: true alarm' from_end $x,1,256 $((x + 256))
other 0 '^  launch .*: race-free' from_end $x,1,256 $((x + 260))
other 10 '^  launch .*c = b.*: true alarm' shift $x,1,256 $y $y $one $one
other 0 '^  launch .*: race-free' shift $x,1,256 $y $z $one $one
other 10 '^  launch .*b = a, c = a.*: true alarm' shift $y $y $y 1 2

# what can't be
"$collider" run --device=cpu --record-launches=/dev/full -- ./app >full 2>&1
for line in "can't be written: No space left on device" "recorded as 0 lines in /dev/full" "not recorded: the file can't be written"; do
	[ "$(grep -c -- "$line" full)" = 1 ] || { echo "FAILED: on a full device: no '$line'" && cat full && failed=1; }
done
expect 1 'launched no kernel' "$collider" prove --run -- ./app none
expect 2 'takes a program' "$collider" prove --run
expect 2 'neither' "$collider" prove --run --launches=seen -- ./app
expect 127 '' "$collider" prove --run -- ./nowhere
exit $failed
