#!/bin/bash
# remedies.sh COLLIDER NVCC: assumptions that take all alarms away, of kernels whose sizes no
# dimension of the launch shows. Where rows overlap whatever the sizes are there is none.
collider=$1 nvcc=$2
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failed=0

cat >"$tree/k.cu" <<'CU'
// what lies above a tile of a diagonal is nobody's tile
template <int width> __device__ void diagonal(int *a, int cols, int i)
{
	int bx = blockIdx.x, at = cols * 16 * (i - 1 - bx) + width * bx + threadIdx.x + 1, up = a[at];
	for (int y = 1; y <= 16; y++)
		a[at + y * cols] = up;
}
__global__ void tiles(int *a, int cols, int i) { diagonal<16>(a, cols, i); }
__global__ void narrow(int *a, int cols, int i) { diagonal<15>(a, cols, i); }
// nine planes of each pixel, by a pointer that two loops move
__global__ void put_down(float *out, int n, int h, int w)
{
	for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += 256 * gridDim.x) {
		float *p = out + (i / w / h * 9 * h + i / w % h) * w + i % w;
		for (int k = 0; k < 3; k++)
			for (int j = 0; j < 3; j++, p += h * w)
				*p = i;
	}
}
// every 32nd element, until a sum of steps is beyond n
__global__ void counted(float *a, int n)
{
	for (int b = blockIdx.x * 64 + threadIdx.x, base = b * 32; base < n; base = b * 32) {
		a[b] = base;
		b += 64 * gridDim.x;
	}
}
CU
"$nvcc" -ptx -arch=sm_90 -G -o "$tree/k.ptx" "$tree/k.cu" || exit 1

helps() { # helps PATTERN KERNEL OPTION...: an assumption like that removes all
	local pattern=$1 kernel=$2
	shift 2
	"$collider" prove --no-cache --kernel="$kernel" "$@" "$tree/k.ptx" |
		grep -Eq "race-free with --assume='$pattern'" ||
		{ echo "FAIL $kernel: no remedy like $pattern"; failed=1; }
}

helps '.*256 <= cols.*' tiles --block-dim=16 --grid-dim=16
helps '.*1 <= w && 1 <= h.*' put_down --block-dim=256 --grid-dim=64
helps 'n >= 0 && n <= 1048576' counted --block-dim=64 --grid-dim=46
! "$collider" prove --no-cache --kernel=narrow --block-dim=16 --grid-dim=16 "$tree/k.ptx" |
	grep -q "race-free with .*<= cols" || { echo 'FAIL a remedy for tiles that overlap'; failed=1; }
exit $failed
