"""
kernels.py - Triton's tutorials at small sizes, right and with a planted race each; the results are compared with
torch's. Tests: test_kernels.py. Alone: kernels.py NAME... runs the functions of these names.
"""
import sys

import torch
import triton
import triton.language as tl

DEVICE = triton.runtime.driver.active.get_active_torch_device()


def rand(*shape, dtype=torch.float32):
    g = torch.Generator().manual_seed(7)
    return torch.randn(*shape, generator=g).to(dtype).to(DEVICE)


# ---- vector addition ------------------------------------------------------------------------------------


@triton.jit
def add_kernel(x, y, out, n, step, BLOCK: tl.constexpr):
    i = tl.program_id(0) * step + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n) + tl.program_id(0) * 0, mask=i < n)


def add(step=256):
    x, y = rand(1000), rand(1000)
    out = torch.empty_like(x)
    add_kernel[(4, )](x, y, out, 1000, step, BLOCK=256)
    return torch.allclose(out[:step * 3 + 1], (x + y)[:step * 3 + 1])


def add_racy():
    """Two programs store the last element of the one, the first of the other."""
    return add(255)


# ---- softmax --------------------------------------------------------------------------------------------


@triton.jit
def softmax_kernel(out, x, stride, n, rows, RACY: tl.constexpr, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    for r in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=STAGES):
        c = tl.arange(0, BLOCK)
        v = tl.load(x + r * stride + c, mask=c < n, other=-float("inf"))
        v = tl.exp(v - tl.max(v, axis=0))
        v = v / tl.sum(v, axis=0)
        to = r // 2 if RACY else r
        tl.store(out + to * stride + c, v, mask=c < n)


def softmax(is_racy=False):
    x = rand(9, 100)
    out = torch.empty_like(x)
    softmax_kernel[(4, )](out, x, x.stride(0), 100, 9, is_racy, BLOCK=128, STAGES=2)
    return is_racy or torch.allclose(out, torch.softmax(x, 1), atol=1e-6)


def softmax_racy():
    """Two programs write a row each, the same one."""
    return softmax(True)


# ---- matrix multiplication ------------------------------------------------------------------------------


@triton.jit
def matmul_kernel(a, b, c, M, N, K, SPLIT: tl.constexpr, ATOMIC: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
                  BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.program_id(2) * BK + tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for i in range(0, tl.cdiv(K, BK * SPLIT)):
        x = tl.load(a + m[:, None] * K + k[None, :], mask=(m < M)[:, None] & (k < K)[None, :], other=0.0)
        y = tl.load(b + k[:, None] * N + n[None, :], mask=(k < K)[:, None] & (n < N)[None, :], other=0.0)
        acc = tl.dot(x, y, acc)
        k += BK * SPLIT
    at = c + m[:, None] * N + n[None, :]
    mask = (m < M)[:, None] & (n < N)[None, :]
    if ATOMIC:
        tl.atomic_add(at, acc, mask=mask)
    elif SPLIT > 1:
        old = tl.load(at, mask=mask)
        tl.store(at, old + acc, mask=mask)
    else:
        tl.store(at, acc, mask=mask)


def matmul(split=1, is_atomic=False, warps=4, stages=3, M=60, N=48, K=96):
    a, b = rand(M, K, dtype=torch.float16), rand(K, N, dtype=torch.float16)
    c = torch.zeros(M, N, device=DEVICE)
    grid = (triton.cdiv(M, 32), triton.cdiv(N, 32), split)
    matmul_kernel[grid](a, b, c, M, N, K, split, is_atomic, BM=32, BN=32, BK=32, num_warps=warps, num_stages=stages)
    return (split > 1 and not is_atomic) or torch.allclose(c, a.float() @ b.float(), atol=1e-2)


def matmul_eight_warps():
    return matmul(warps=8)


def matmul_split():
    return matmul(3, True)


def matmul_split_racy():
    """The parts of K are added up without atomics."""
    return matmul(3, False)


# ---- layer norm -----------------------------------------------------------------------------------------


@triton.jit
def layer_norm_kernel(x, y, w, b, mean, rstd, stride, n, eps, RACY: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for off in range(0, n, BLOCK):
        c = off + tl.arange(0, BLOCK)
        total += tl.load(x + row * stride + c, mask=c < n, other=0.0)
    u = tl.sum(total, axis=0) / n
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for off in range(0, n, BLOCK):
        c = off + tl.arange(0, BLOCK)
        v = tl.where(c < n, tl.load(x + row * stride + c, mask=c < n, other=0.0) - u, 0.0)
        squares += v * v
    r = 1 / tl.sqrt(tl.sum(squares, axis=0) / n + eps)
    tl.store(mean + (0 if RACY else row), u)
    tl.store(rstd + row, r)
    for off in range(0, n, BLOCK):
        c = off + tl.arange(0, BLOCK)
        v = (tl.load(x + row * stride + c, mask=c < n, other=0.0) - u) * r
        tl.store(y + row * stride + c, v * tl.load(w + c, mask=c < n) + tl.load(b + c, mask=c < n), mask=c < n)


def layer_norm(is_racy=False):
    x, w, b = rand(6, 200), rand(200), rand(200)
    y, mean, rstd = torch.empty_like(x), torch.empty(6, device=DEVICE), torch.empty(6, device=DEVICE)
    layer_norm_kernel[(6, )](x, y, w, b, mean, rstd, x.stride(0), 200, 1e-5, is_racy, BLOCK=128)
    right = torch.nn.functional.layer_norm(x, (200, ), w, b, 1e-5)
    return torch.allclose(y, right, atol=1e-4) and (is_racy or torch.allclose(mean, x.mean(1), atol=1e-5))


def layer_norm_racy():
    """Every program stores its mean to the first element."""
    return layer_norm(True)


# ---- flash attention, forward ---------------------------------------------------------------------------


@triton.jit
def attention_kernel(q, k, v, out, scale, N, RACY: tl.constexpr, CAUSAL: tl.constexpr, BM: tl.constexpr,
                     BN: tl.constexpr, D: tl.constexpr):
    head = tl.program_id(1) * N * D
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    best = tl.full([BM], -float("inf"), tl.float32)
    total = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    x = tl.load(q + head + m[:, None] * D + d[None, :])
    last = (tl.program_id(0) + 1) * BM if CAUSAL else N
    for start in range(0, last, BN):
        n = start + tl.arange(0, BN)
        s = tl.dot(x, tl.trans(tl.load(k + head + n[:, None] * D + d[None, :]))) * scale
        if CAUSAL:
            s = tl.where(m[:, None] >= n[None, :], s, -1.0e6)
        new = tl.maximum(best, tl.max(s, 1))
        p = tl.math.exp2(s - new[:, None])
        alpha = tl.math.exp2(best - new)
        total = total * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        acc = tl.dot(p.to(tl.float16), tl.load(v + head + n[:, None] * D + d[None, :]), acc)
        best = new
    if RACY:
        m = m % 32
    tl.store(out + head + m[:, None] * D + d[None, :], acc / total[:, None])


def attention(is_racy=False, is_causal=True):
    q, k, v = (rand(2, 64, 32, dtype=torch.float16) + i for i in range(3))
    out = torch.zeros(2, 64, 32, device=DEVICE)
    attention_kernel[(2, 2)](q, k, v, out, 1.44269504 / 32**0.5, 64, is_racy, is_causal, BM=32, BN=32, D=32)
    right = torch.nn.functional.scaled_dot_product_attention(q.float(), k.float(), v.float(), is_causal=is_causal)
    return is_racy or torch.allclose(out, right, atol=2e-2)


def attention_racy():
    """Two programs of a head write the same rows."""
    return attention(True)


# ---- histogram, and a tile in shared memory by inline PTX -----------------------------------------------


@triton.jit
def histogram_kernel(x, out, n, ATOMIC: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n)
    if ATOMIC:
        tl.atomic_add(out + v, 1, i < n)
    else:
        old = tl.load(out + v, i < n)
        tl.store(out + v, old + 1, i < n)


def histogram(is_atomic=True):
    x = (rand(500) * 100).to(torch.int32).abs() % 8
    out = torch.zeros(8, dtype=torch.int32, device=DEVICE)
    histogram_kernel[(4, )](x, out, 500, is_atomic, BLOCK=128)
    return not is_atomic or torch.equal(out, torch.bincount(x, minlength=8).to(torch.int32))


def histogram_racy():
    return histogram(False)


@triton.jit
def reverse_kernel(x, out, BARRIER: tl.constexpr):
    """Each thread stores an element in shared memory and loads that of another one."""
    i = tl.arange(0, 128)
    v = tl.load(x + i)
    if BARRIER:
        r = tl.inline_asm_elementwise(
            "{ .shared .b32 tile[128]; .reg .u32 t, a; mov.u32 a, tile; mad.lo.u32 t, $1, 4, a; st.shared.b32 [t], $2;"
            " bar.sync 0; sub.u32 t, 127, $1; mad.lo.u32 t, t, 4, a; ld.shared.b32 $0, [t]; }", "=r,r,r", [i, v],
            dtype=tl.int32, is_pure=False, pack=1)
    else:
        r = tl.inline_asm_elementwise(
            "{ .shared .b32 tile[128]; .reg .u32 t, a; mov.u32 a, tile; mad.lo.u32 t, $1, 4, a; st.shared.b32 [t], $2;"
            " sub.u32 t, 127, $1; mad.lo.u32 t, t, 4, a; ld.shared.b32 $0, [t]; }", "=r,r,r", [i, v],
            dtype=tl.int32, is_pure=False, pack=1)
    tl.store(out + i, r)


def reverse(has_barrier=True):
    x = torch.arange(128, dtype=torch.int32, device=DEVICE)
    out = torch.zeros_like(x)
    reverse_kernel[(1, )](x, out, has_barrier)
    return not has_barrier or torch.equal(out, x.flip(0))


def reverse_racy():
    return reverse(False)


# ---- what a layout stores several times: right ----------------------------------------------------------


@triton.jit
def small_kernel(x, out, n, BLOCK: tl.constexpr):
    """Tensors with fewer elements than threads: reductions, conversions of layouts, a scan, a gather."""
    i, j = tl.arange(0, 16), tl.arange(0, BLOCK)
    v = tl.load(x + i[:, None] * BLOCK + j[None, :])
    s = tl.sum(v, 0) + tl.max(v, 1).to(tl.float32).sum(0)
    s = tl.cumsum(s, 0)
    p = tl.trans(tl.dot(v.to(tl.float16), tl.trans(v).to(tl.float16)))
    tl.store(out + j, s + tl.sum(tl.sum(p, 1), 0))
    tl.store(out + BLOCK + tl.arange(0, 2), tl.arange(0, 2))
    tl.store(out + BLOCK + 2, tl.sum(j, 0))


def small():
    x = rand(16, 16).round()
    out = torch.zeros(19, device=DEVICE)
    small_kernel[(1, )](x, out, 16, BLOCK=16, num_warps=8)
    s = torch.cumsum(x.sum(0) + x.max(1).values.sum(), 0) + (x @ x.T).sum()
    return torch.allclose(out, torch.cat([s, torch.tensor([0.0, 1.0, 120.0])]), atol=1e-2)


RIGHT = [add, softmax, matmul, matmul_eight_warps, matmul_split, layer_norm, attention, histogram, reverse, small]
RACY = [
    add_racy, softmax_racy, matmul_split_racy, layer_norm_racy, attention_racy, histogram_racy, reverse_racy
]

if __name__ == "__main__":
    for name in sys.argv[1:] or [f.__name__ for f in RIGHT]:
        if not globals()[name]():
            sys.exit("%s: wrong result" % name)
