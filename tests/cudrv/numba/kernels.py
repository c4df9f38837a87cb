"""
kernels.py - six kernels in Numba, each right and with one race; kernels.py NAME right|racy runs one and looks at its
result. The race is at the lines marked so.
"""
import sys

import numpy as np
from numba import cuda, int32

N = 256


@cuda.jit
def add(x, y, out, step):
    i = cuda.blockIdx.x * step + cuda.threadIdx.x
    if i < out.size:
        out[i] = x[i] + y[i] + cuda.blockIdx.x  # race


def run_add(is_right):
    x, y, out = np.arange(N, dtype=np.int32), np.ones(N, np.int32), np.zeros(N, np.int32)
    add[4, 64](x, y, out, 64 if is_right else 63)
    return (out[:63] == x[:63] + 1).all()


@cuda.jit
def reverse(x, has_barrier):
    tile = cuda.shared.array(N, int32)
    i = cuda.threadIdx.x
    tile[i] = x[i]  # race
    if has_barrier:
        cuda.syncthreads()
    x[i] = tile[N - 1 - i]  # race


def run_reverse(is_right):
    x = np.arange(N, dtype=np.int32)
    reverse[1, N](x, is_right)
    return not is_right or (x == np.arange(N)[::-1]).all()


@cuda.jit
def histogram(x, out, is_atomic):
    i = cuda.grid(1)
    if is_atomic:
        cuda.atomic.add(out, x[i], 1)
    else:
        out[x[i]] += 1  # race


def run_histogram(is_right):
    x, out = np.arange(N, dtype=np.int32) % 7, np.zeros(7, np.int32)
    histogram[4, 64](x, out, is_right)
    return not is_right or (out == np.bincount(x)).all()


@cuda.jit
def total(x, out, has_barrier):
    tile = cuda.shared.array(N, int32)
    i = cuda.threadIdx.x
    tile[i] = x[i]
    cuda.syncthreads()
    n = N // 2
    while n > 0:
        if i < n:
            tile[i] += tile[i + n]  # race
        if has_barrier:
            cuda.syncthreads()
        n //= 2
    if i == 0:
        out[0] = tile[0]


def run_total(is_right):
    x, out = np.arange(N, dtype=np.int32), np.zeros(1, np.int32)
    total[1, N](x, out, is_right)
    return not is_right or out[0] == x.sum()


@cuda.jit
def stencil(x, out):
    i = cuda.grid(1)
    if 0 < i < x.size - 1:
        out[i] = x[i - 1] + x[i + 1]  # race


def run_stencil(is_right):
    x = cuda.to_device(np.arange(N, dtype=np.int32))
    out = cuda.to_device(np.zeros(N, np.int32)) if is_right else x
    stencil[4, 64](x, out)
    return not is_right or (out.copy_to_host()[1:-1] == 2 * np.arange(1, N - 1)).all()


@cuda.jit
def publish(data, flag, out, has_fence):
    if cuda.blockIdx.x == 0:
        data[0] = 42  # race
        if has_fence:
            cuda.threadfence()
        cuda.atomic.exch(flag, 0, 1)
    else:
        while cuda.atomic.add(flag, 0, 0) == 0:
            pass
        if has_fence:
            cuda.threadfence()
        out[0] = data[0]  # race


def run_publish(is_right):
    data, flag, out = np.zeros(1, np.int32), np.zeros(1, np.int32), np.zeros(1, np.int32)
    publish[2, 1](data, flag, out, is_right)
    return out[0] == 42


if __name__ == "__main__":
    if not globals()["run_" + sys.argv[1]](sys.argv[2] == "right"):
        sys.exit("%s: wrong result" % sys.argv[1])
