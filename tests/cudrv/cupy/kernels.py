"""
kernels.py NAME right|racy - kernels in CuPy, and what it computes with kernels of its own. The racy ones have a marked line.
"""
import sys

import cupy
import numpy

TOTAL = r"""
extern "C" __global__ void total(const float *x, float *out, int n)
{
	__shared__ float s[128];
	int i = threadIdx.x;
	s[i] = i < n ? x[i] : 0; // race
	BARRIER
	if (i == 0) {
		float t = 0;
		for (int k = 0; k < 128; k++)
			t += s[k]; // race
		*out = t;
	}
}
"""
HISTOGRAM = r"""
extern "C" __global__ void histogram(const int *x, int *bins)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	ADD // race
}
"""


def run_total(kind):
    code = TOTAL.replace("BARRIER", "__syncthreads();" if kind == "right" else "")
    x, out = cupy.arange(128, dtype=cupy.float32), cupy.zeros(1, cupy.float32)
    cupy.RawModule(code=code).get_function("total")((1,), (128,), (x, out, numpy.int32(128)))
    return kind == "racy" or out.get()[0] == 8128


def run_histogram(kind):
    code = HISTOGRAM.replace("ADD", "atomicAdd(&bins[x[i]], 1);" if kind == "right" else "bins[x[i]]++;")
    x, bins = cupy.arange(256, dtype=cupy.int32) % 8, cupy.zeros(8, cupy.int32)
    cupy.RawKernel(code, "histogram")((4,), (64,), (x, bins))
    return kind == "racy" or (bins.get() == 32).all()


def run_shared(kind):
    """All blocks store to one element, by an elementwise kernel that indexes itself."""
    to = "i" if kind == "right" else "0"
    store = cupy.ElementwiseKernel("raw float32 x", "raw float32 y", "y[%s] = x[i];" % to, "store")
    x = cupy.arange(1000, dtype=cupy.float32)
    y = cupy.zeros(1000, cupy.float32)
    store(x, y, size=1000)
    return kind == "racy" or (y.get() == x.get()).all()


def run_own(kind):
    """CuPy's own: elementwise, reductions, CUB's and Thrust's."""
    x = cupy.arange(1000, dtype=cupy.int64)
    square = cupy.ElementwiseKernel("int64 x", "int64 y", "y = x * x", "square")
    largest = cupy.ReductionKernel("int64 x", "int64 y", "x", "max(a, b)", "y = a", "0", "largest")
    return (int(square(x).sum()) == 332833500 and int(largest(x)) == 999 and int(cupy.cumsum(x)[-1]) == 499500
            and (cupy.sort(x[::-1]).get() == x.get()).all() and (cupy.concatenate([x, x]) + 1).get()[1999] == 1000)


def run_cublas(kind):
    """It needs machine code: an error of cuBLAS."""
    try:
        cupy.ones((4, 4), cupy.float32) @ cupy.ones((4, 4), cupy.float32)
    except cupy.cuda.cublas.CUBLASError:
        return True
    return False


if __name__ == "__main__":
    sys.exit(0 if globals()["run_" + sys.argv[1]](sys.argv[2]) else "wrong result")
