#!/usr/bin/env python3
"""random_source.py - random kernels in CUDA C++, compiled by nvcc, judged by prove and under the oracle.

    random_source.py COLLIDER ORACLE_RUN NVCC [SEED [COUNT [-G | -O3]]]

What the generators of PTX have not: the compiler's own code (with -G, or optimised), loops with heads
of all kinds, two-dimensional and cast arrays, structures and bit fields, pointers chosen by conditions
or swapped, early ends, shuffles in loops, places that lanes share out beside plain stores, private
arrays, functions that take pointers. A kernel is made of one to three such shapes and then changed in
none to three places. Judged as random_judge.py does; each kernel is run with some values of its
scalar. A wrong proof of a kernel that leaves its arrays in such a launch isn't counted (the contract
has no such launch): it is built once more with checks of each index.
"""
import json, os, random, re, subprocess, sys, tempfile
import random_judge

DIMS = (((64, 1), (2, 1)), ((16, 4), (2, 1)), ((32, 2), (1, 2)), ((96, 1), (1, 1)))
SCALARS = (0, 3, 64, 200)
SEEDS = 2
PER_FILE = 20

# ---- trees: (kind, field..., [statements]); a field is (kind, text) --------------------------------
# i and j are the counters of the innermost loops, x and y numbers, p and q pointers.

INDEX = ('tid', 'tid', 'tid', 'tid + 1', 'tid ^ 1', 'NT - 1 - tid', 'tid - 1', 'tid + i', 'tid + i * NT', 'i', 'i * 4 + j', 'j', 'lane', 'warp',
         'tid * 2', 'tid * 2 + 1', 'tid * 3', 'tid / 2', 'tid >> 1', 'tid * 4 + i', 'tid * 4 + j', 'x', 'y', 'x + tid', 'x * 32 + lane', 'warp * 32 + x',
         'own', 'own', 'own + 1', 'own * 2', 'n - tid', 'tid + n', 'n', 'bid', 'bid * NT + i', '(tid + n) % NT', '(unsigned)(tid - 1) % NT',
         '(unsigned)(tid * 65537) >> 16', '(tid * 5 + 3) & 63', 'tx * 4 + ty', 'ty * 17 + tx', 'ty * 16 + tx', 'tx * 16 + ty', '63 - tid', 'loc[i & 3]', 'loc[tid & 3] + tid',
         'tid % 16 * 4 + tid / 16', '__brev(tid) >> 26', 'min(tid, 40)', 'max(tid - 1, 0)', 'abs(tid - 32)', '2 * i * (tid + 1)', '(2 * tid + 1) * i', 'tid - i', 'c[tid]', 'c[0] + tid',
         '(signed char)tid + 64', '(unsigned char)(tid * 4)', '(tid & ~i) + i', 'tid & (i - 1)', '0', '1', '5', '(int)u', '(int)(u >> 4)')
PLACES = ('s', 's', 's', 's', 'a', 'a', 'b', 'S64', 't', 'bytes', 'bytes', 'shorts', 'wide', 'pairs.x', 'pairs.y', 'two.lo', 'two.mid', 'two.b[0]', 'bits.f', 'bits.g', 'p', 'q',
          'abytes', 'ashorts', 'down', 'blk', 'vol')
CONDS = ('tid == 0', 'tid == 0', 'tid < 32', 'tid >= 32', 'tid < i', 'tid % (2 * i) == 0', '(tid & 1) == 0', 'tid < n', 'own < n', 'n > 2', 'n == 3', 'tid + i < NT', 'tid >= i', 'lane == 0', 'lane < 16',
         'x == 0', 'x < 5', 'tid > 0', 'tid < NT - 1', 'tid + 1 < NT', 'tx < 8', 'ty == 0', 'c[0] == 0', 'c[tid] == 0', 'c[tid] & 1', 'i == 0', 'i < 2', '!(tid & i)', '(tid & i) == 0', 'bid == 0',
         'tid == n', 'tid != 5', 'y < 2', 'tid < 32 && n > 2', 'tid == 0 || n == 0', 'true', 'u < 10u', 'u - 1u < 40u')
NUMS = ('0', '1', '1', '2', '3', '4', '8', '16', '31', '32', '63', '-1')
HEADS = ('int V = 0; V < 4; V++', 'int V = tid; V < 256; V += NT', 'int V = NT / 2; V > 0; V >>= 1', 'int V = NT / 2; V > 0; V /= 2', 'int V = 1; V < NT; V <<= 1', 'int V = 1; V < NT; V *= 2',
         'unsigned V = 4; V-- > 0;', 'int V = 3; V >= 0; V--', 'int V = tid; V < n; V += NT', 'int V = 0; V < n; V++', 'int V = n; V > tid; V--', 'int V = lane; V < 96; V += 32',
         'int V = tid * 4; V < tid * 4 + 4; V++', 'int V = 0, W = 7; V < W; V++, W--', 'int V = 0; V * V < n; V++', 'int V = 0; V < 3 && x < 5; V++', 'int V = tid; V >= 0; V -= 16',
         'unsigned V = tid; V < 200u; V += 64u', 'short V = 0; V < 4; V++', 'unsigned char V = 1; V != 0 && V < 64; V <<= 1', 'int V = 0; V != 4; V += 2', 'size_t V = tid; V < 256; V += NT',
         'int V = NT; V >>= 1;', 'int V = 0; V < warp + 1; V++', 'int V = own; V < 512; V += NT * NB', 'int V = 64 >> 1; V >= 1; V >>= 1', 'int V = n & 3; V < 4; V++', 'int V = 0; V < c[0]; V++',
         'int V = 0; V < 4; V += 1 + (x & 1)', 'int V = tid - 1; V < 256; V += 64')
POINTERS = ('s', 's + 64', 's + 128', 'a', 'a + 64', 'b', '(tid < 32 ? s : s + 64)', '(n > 2 ? s : a)', '(i & 1 ? s : s + 64)', 'q', 'p', 'a + bid * 64', 's + NT', '(lane == 0 ? a : b)', '(c[0] ? s : s + 64)',
            '(int *)two', '&s[n & 64]', 'a + (n & 1) * 64', '(p == s ? s + 64 : s)')
SHUFFLES = ('__shfl_xor_sync(~0u, X, K)', '__shfl_up_sync(~0u, X, K)', '__shfl_down_sync(~0u, X, K)', '__shfl_sync(~0u, X, K)', '__shfl_sync(~0u, X, 0)', '__shfl_up_sync(~0u, X, K, 8)',
            'scan(X, lane)', 'total(X)', '__popc(__ballot_sync(~0u, (X) & 1) & below)', '__popc(__ballot_sync(~0u, lane < 20) & below)', '(int)__reduce_add_sync(~0u, X & 1)')
STORES = ('P = v', 'P = v', 'P = v', 'P += v', 'P = 1', 'P = X', 'P ^= 3', 'P++')
ATOMICS = ('atomicAdd(A, 1)', 'atomicAdd(A, 1)', 'atomicAdd(A, 2)', 'atomicExch(A, 1)', 'atomicCAS(A, 0, 1)', 'atomicMax(A, tid)', 'atomicSub(A, 1)', '(int)atomicInc((unsigned *)A, 1000u)', 'atomicOr(A, 1 << lane)')
COUNTERS = ('s[500]', 'a[-1]', 'a[-1 - bid]', 's[501]', 'b[-2]', 's[0]', 'a[0]')
CHOICES = {'I': INDEX, 'P': PLACES, 'C': CONDS, 'N': NUMS, 'H': HEADS, 'Q': POINTERS, 'S': SHUFFLES, 'W': STORES, 'A': ATOMICS, 'K': COUNTERS,
           'X': ('x', 'x', 'y'), 'V': ('v', 'v', 'x', 'y'), 'T': ('p', 'p', 'q'), 'Y': ('int4', 'int2', 'long long', 'short', 'char')}


def f(kind, text=None):
    return lambda r: (kind, text if text is not None and r.random() < .85 else r.choice(CHOICES[kind]))


def st(r, place, index, how='P = v'):
    return ('store', ('W', how), ('P', place), ('I', index))


def ld(r, place, index):
    return ('load', ('P', place), ('I', index))


def bar(r):
    """Mostly what orders."""
    return [('bar',)] if r.random() < .9 else r.choice(([], [('syncwarp',)], [('fence',)]))


def tree(r):
    """A reduction in shared memory."""
    head, cond, to, of = r.choice((
        ('int V = NT / 2; V > 0; V >>= 1', 'tid < i', 'tid', 'tid + i'), ('int V = NT / 2; V > 0; V /= 2', 'tid < i', 'tid', 'tid + i'),
        ('int V = 1; V < NT; V *= 2', 'tid % (2 * i) == 0', 'tid', 'tid + i'), ('int V = 1; V < NT; V <<= 1', '(tid & (2 * i - 1)) == 0', 'tid', 'tid + i'),
        ('int V = 1; V < NT; V *= 2', 'tid < NT / (2 * i)', '2 * i * tid', '2 * i * tid + i'),
        ('int V = NT; V >>= 1;', 'tid < i', 'tid', 'tid + i')))
    inner = ('if', ('C', cond), [ld(r, 's', of), st(r, 's', to, 'P += v')])
    loop = [inner, *bar(r)] if r.random() < .7 else [*bar(r), inner]
    return [st(r, 's', 'tid'), *bar(r), ('for', ('H', head), loop), *bar(r), ('if', ('C', 'tid == 0'), [ld(r, 's', '0'), st(r, 'a', 'bid')])]


def scan(r):
    """Hillis and Steele, in place or between two halves."""
    if r.random() < .5:
        return [st(r, 's', 'tid'), *bar(r), ('for', ('H', 'int V = 1; V < NT; V <<= 1'), [
            ('if', ('C', 'tid >= i'), [ld(r, 's', 'tid - i')]), *bar(r), st(r, 's', 'tid', 'P += v'), *bar(r)])]
    return [('point', ('T', 'p'), ('Q', 's')), ('point', ('T', 'q'), ('Q', r.choice(('s + 64', 's + 128', 's + NT')))), st(r, 'p', 'tid'), *bar(r), ('for', ('H', 'int V = 1; V < NT; V <<= 1'), [
        ('if', ('C', 'tid >= i'), [ld(r, 'p', 'tid - i')]), st(r, 'q', 'tid'), ('swap',), *bar(r)]), ld(r, 'p', 'tid ^ 1')]


def stride(r):
    """Loops over elements: each thread its own."""
    head, index, place = r.choice((
        ('int V = tid; V < 256; V += NT', 'i', 's'), ('int V = own; V < 512; V += NT * NB', 'i', 'a'), ('int V = tid * 4; V < tid * 4 + 4; V++', 'i', 's'),
        ('int V = tid; V < n; V += NT', 'bid * 1024 + i', 'a'), ('int V = 0; V < 4; V++', 'tid * 4 + i', 's'), ('int V = 0; V < 4; V++', 'tid + i * NT', 's'), ('int V = 3; V >= 0; V--', 'tid * 4 + i', 's'),
        ('unsigned V = tid; V < 200u; V += 64u', '(int)i', 's'), ('int V = 0; V < n; V++', 'i * NT * NB + own', 'a'), ('int V = n; V > tid; V--', 'bid * 1024 + tid', 'a'),
        ('unsigned V = 4; V-- > 0;', 'tid + (int)i * NT', 's'), ('int V = 0, W = 7; V < W; V++, W--', 'i * NT + tid', 's'), ('size_t V = tid; V < 256; V += NT', '(int)i', 's')))
    body = [st(r, place, index)]
    if r.random() < .3:
        body = [ld(r, 'c', index), *body]
    if r.random() < .3:
        body.append((r.choice(('break', 'continue')), ('C', r.choice(CONDS))))
    if r.random() < .3:
        body = [('if', ('C', r.choice(('i & 1', 'c[i & 31] == 0', 'i < 100', 'tid != 5'))), body)]
    return [('for', ('H', head), body), *bar(r), ld(r, place, r.choice(('tid ^ 1', re.sub(r'\bi\b', '3', index))))]


def tiles(r):
    """Rows and columns, transposed."""
    return r.choice((
        [st(r, 't', 'ty * 17 + tx'), *bar(r), ld(r, 't', r.choice(('tx * 17 + ty', 'ty * 17 + tx', 'tx * 4 + ty'))), st(r, 'a', 'own')],
        [st(r, 's', 'ty * 16 + tx'), *bar(r), ld(r, 's', 'tx * 4 + ty'), *bar(r), st(r, 's', 'tx * 4 + ty')],
        [('for', ('H', 'int V = 0; V < 4; V++'), [st(r, 't', '(tid / 16 * 4 + i) * 17 + tid % 16' if r.random() < .5 else 'i * 17 + tid % 16'), *bar(r), ld(r, 't', 'i * 17 + (tid + 1) % 16'), *bar(r)])]))


def casts(r):
    """Bytes and halves beside words, vectors, structures, bit fields."""
    kind = r.choice(('bytes', 'vec', 'two', 'bits', 'pairs', 'wide', 'abytes'))
    if kind in ('bytes', 'abytes'):
        array = 's' if kind == 'bytes' else 'a'
        mine = 'tid' if kind == 'bytes' else 'own'
        b = kind
        return [st(r, b, r.choice((mine, mine + ' * 4', mine + ' * 4 + i', mine + ' * 2'))), *bar(r), ('load', ('P', array), ('I', r.choice((mine, mine + ' / 4', mine + ' >> 1')))), *bar(r), st(r, array, mine), *bar(r),
                ld(r, r.choice((b, 'shorts')), 'tid ^ 1')]
    if kind == 'vec':
        return [('vector', ('Y', r.choice(CHOICES['Y'])), ('P', r.choice(('s', 'a'))), ('I', r.choice(('tid', 'tid', 'tid', 'own', 'tid * 2')))), *bar(r), ld(r, r.choice(('s', 'a')), r.choice(('tid ^ 1', 'tid * 4', 'own')))]
    if kind == 'two':
        return [st(r, 'two.lo', 'tid'), *(bar(r) if r.random() < .3 else []), st(r, r.choice(('two.mid', 'two.b[0]')), r.choice(('tid', 'tid ^ 1', 'NT - 1 - tid'))), *bar(r), ld(r, 'two.lo', 'tid ^ 1')]
    if kind == 'bits':
        return [st(r, 'bits.f', r.choice(('tid', 'tid / 2', 'tid'))), *(bar(r) if r.random() < .5 else []), st(r, 'bits.g', r.choice(('tid', 'tid', 'tid ^ 1')))]
    if kind == 'pairs':
        return [st(r, 'pairs.x', 'tid'), st(r, 'pairs.y', r.choice(('tid', 'NT - 1 - tid', 'tid ^ 1'))), *bar(r), ld(r, 'pairs.x', 'tid ^ 1')]
    return [st(r, 'wide', r.choice(('tid', 'tid / 2', 'tid >> 1'))), *bar(r), ld(r, 's', r.choice(('tid * 2', 'tid', '2 * tid + 1'))), *bar(r), st(r, 's', r.choice(('tid * 2', 'tid')))]


def pointers(r):
    """Chosen by a condition, swapped, passed to a function, from its end."""
    kind = r.choice(('chosen', 'pingpong', 'function', 'down', 'walk', 'handed', 'way'))
    if kind == 'chosen':
        return [('point', ('T', 'p'), ('Q', r.choice(POINTERS))), st(r, 'p', 'tid'), *bar(r), ld(r, r.choice(('p', 's', 'a')), 'tid ^ 1'), *bar(r), st(r, r.choice(('p', 's', 'a')), 'tid')]
    if kind == 'pingpong':
        return [('point', ('T', 'p'), ('Q', r.choice(('s', 's', 'a + bid * 64')))), ('point', ('T', 'q'), ('Q', r.choice(('s + 64', 's + 64', 'b + bid * 64')))), ('for', ('H', r.choice(('int V = 0; V < 4; V++', 'int V = 0; V < n; V++'))), [
            ld(r, 'p', 'tid ^ 1'), st(r, 'q', 'tid'), *bar(r), ('swap',)]), *bar(r), ld(r, 'q', 'tid + 1')]
    if kind == 'handed':  # from one to the other, in some turns
        on, new = ('point', ('T', 'p'), ('Q', r.choice(('q', 'q', 'q + 1', 'p + 1')))), ('point', ('T', 'q'), ('Q', r.choice(POINTERS)))
        if r.random() < .4:
            new = ('if', ('C', r.choice(('c[i] & 1', 'i > 1', 'n > 2', 'c[0] == 0'))), [new])
        return [('point', ('T', 'p'), ('Q', r.choice(('s', 's', 'a + bid * 64')))), ('point', ('T', 'q'), ('Q', r.choice(('s', 's', 'p', 'a + bid * 64')))), ('for', ('H', r.choice(('int V = 0; V < 4; V++', 'int V = 0; V < n; V++'))), [
            st(r, 'p', 'tid'), *(bar(r) if r.random() < .5 else []), (ld if r.random() < .5 else st)(r, r.choice(('s', 'a', 'b')), r.choice(('tid ^ 1', 'tid', '64 + tid'))), *bar(r), on, new])]
    if kind == 'way':  # by what leads to the other
        go = ('go', ('T', 'p'), ('C', r.choice(('true', 'true', 'i & 1', 'c[i] & 1'))))
        return [('point', ('T', 'p'), ('Q', r.choice(('s', 's', 'a + bid * 64')))), ('way', ('T', 'p'), ('Q', r.choice(POINTERS))), ('for', ('H', r.choice(('int V = 0; V < 4; V++', 'int V = 0; V < n; V++'))), [
            *([go] if r.random() < .8 else []), st(r, r.choice(('p', 'gone')), 'tid'), *(bar(r) if r.random() < .5 else []), (ld if r.random() < .5 else st)(r, r.choice(('s', 'a', 'b')), r.choice(('tid ^ 1', 'tid', '64 + tid'))), *bar(r),
            *([('way', ('T', 'p'), ('Q', r.choice(POINTERS)))] if r.random() < .2 else [])])]
    if kind == 'function':
        return [('call', ('P', r.choice(('s', 'a', 'p'))), ('I', r.choice(('tid', 'own', 'NT - 1 - tid')))), *bar(r), ('call', ('P', 's'), ('I', r.choice(('tid ^ 1', 'tid', 'tid + 1'))))]
    if kind == 'down':
        return [st(r, 'down', 'tid'), *bar(r), ld(r, r.choice(('down', 's')), r.choice(('tid ^ 1', 'NT - 1 - tid'))), *bar(r), st(r, 's', 'tid')]
    return [('point', ('T', 'p'), ('Q', r.choice(('s', 'a + bid * 64')))), ('walk', ('T', 'p'), ('N', r.choice(('1', '4', '-1', '16'))), [st(r, 'raw', 'tid')]), *bar(r), ld(r, 's', 'tid')]


def lanes(r):
    """Shuffles in loops, ranks and sums as places."""
    kind = r.choice(('sum', 'rank', 'scan', 'loop'))
    if kind == 'sum':
        return [('set', ('X', 'x'), ('I', 'c[tid]')), ('for', ('H', 'int V = 16; V > 0; V >>= 1'), [('shuffle', ('X', 'x'), ('S', '__shfl_down_sync(~0u, X, K)'), ('N', 'i'), ('W', 'P += v'))]),
                ('if', ('C', 'lane == 0'), [st(r, 's', 'warp')]), *bar(r), ('if', ('C', r.choice(('tid < 32', 'tid == 0', 'warp == 0'))), [ld(r, 's', 'lane & 1'), *([st(r, 's', '0')] if r.random() < .3 else [])])]
    if kind == 'rank':
        cond, vote = r.choice((('(tid & 1) == 0', '__popc(__ballot_sync(~0u, (tid & 1) == 0) & below)'), ('lane < 20', '__popc(__ballot_sync(~0u, lane < 20) & below)'), ('c[tid] & 1', '__popc(__ballot_sync(~0u, c[tid] & 1) & below)')))
        return [('shuffle', ('X', 'x'), ('S', vote), ('N', '0'), ('W', 'P = v')), ('if', ('C', cond), [st(r, 's', 'warp * 32 + x')]), *bar(r), ld(r, 's', 'tid')]
    if kind == 'scan':
        return [('set', ('X', 'x'), ('I', r.choice(('1', 'c[tid] & 1', '(tid & 3)', '1 + (tid & 1)')))), ('set', ('X', 'y'), ('I', 'x')), ('shuffle', ('X', 'x'), ('S', 'scan(X, lane)'), ('N', '0'), ('W', 'P = v')),
                ('if', ('C', r.choice(('y > 0', 'true', 'y != 0'))), [st(r, 's', r.choice(('warp * 64 + x', 'warp * 128 + x', 'warp * 64 + x - y', 'x', 'warp * 64 + x - 1')))])]
    return [('set', ('X', 'x'), ('I', 'lane')), ('for', ('H', r.choice(('int V = 1; V < 32; V <<= 1', 'int V = 0; V < 4; V++', 'int V = 0; V < n; V++'))), [
        ('shuffle', ('X', 'x'), ('S', r.choice(SHUFFLES[:6])), ('N', r.choice(('i', '1', '2', '5'))), ('W', 'P = v')), st(r, 's', r.choice(('x + warp * 32', 'warp * 32 + x', 'tid', 'x'))), *bar(r)])]


def shared_out(r):
    """Places that lanes share out of one addition, beside plain stores."""
    k, cond = r.choice(COUNTERS[:6]), r.choice(('c[tid] & 1', 'tid & 1', 'lane < 20', 'true', 'c[tid] == 0', 'tid < n'))
    zero = [('if', ('C', 'tid == 0'), [('clear', ('K', k))]), *bar(r)] if k[0] == 's' or r.random() < .5 else []
    place = r.choice(('s', 's', 'blk', 'a', 'b'))
    take = r.choice((('by leader', ('X', 'x'), ('K', k)), ('by leader', ('X', 'x'), ('K', k)), ('by vote', ('X', 'x'), ('K', k), ('C', cond)), ('draw', ('X', 'x'), ('A', 'atomicAdd(A, 1)'), ('K', k))))
    body = [take, st(r, place, r.choice(('x', 'x', 'x', 'x * 2', 'x + 1')))]
    if r.random() < .3:
        body = [('for', ('H', r.choice(('int V = tid; V < 256; V += NT', 'int V = 0; V < 2; V++', 'int V = tid; V < n; V += NT'))), [('if', ('C', cond), body)])]
    elif r.random() < .8:
        body = [('if', ('C', cond), body)]
    if r.random() < .3:
        body.insert(r.randrange(len(body) + 1), ('if', ('C', r.choice(CONDS)), [('plain', ('K', k), ('I', r.choice(('0', 'n', 'x'))))]))
    return zero + body + bar(r) + ([ld(r, place, 'tid')] if r.random() < .5 else [])


def ends(r):
    """Early ends and barriers."""
    cond = r.choice(('tid >= n', 'own >= n', 'tid >= 32', 'n == 3', 'c[0] == 0', 'c[tid] == 0', 'bid == 0', 'tid == 5', 'lane >= 20', 'tid > n'))
    rest = [st(r, 's', 'tid'), *bar(r), ld(r, 's', r.choice(('tid ^ 1', 'tid + 1', 'NT - 1 - tid')))]
    if r.random() < .3:
        rest = [('for', ('H', r.choice(('int V = 0; V < 4; V++', 'int V = 0; V < n; V++', 'int V = tid; V < n; V += NT'))), [*rest, *bar(r), *([(r.choice(('break', 'continue')), ('C', cond))] if r.random() < .4 else [])])]
    if r.random() < .3:
        return [('if', ('C', cond), rest)]
    if r.random() < .3:
        return [st(r, 's', 'tid'), ('switch', ('I', r.choice(('n', 'tid & 3', 'n & 3', 'bid', 'c[0]'))), rest)]
    return [('return', ('C', cond)), *rest]


def private(r):
    return [('local', ('I', r.choice(('tid', 'i', '0'))), ('I', r.choice(('tid', 'own', 'tid * 2')))), ('local', ('I', r.choice(('tid + 1', '1', 'n'))), ('I', r.choice(('tid', '64 + tid', '0')))),
            st(r, 's', r.choice(('loc[0]', 'loc[tid & 3] + tid', 'loc[1]'))), *bar(r), ld(r, 's', 'tid')]


def numbers(r):
    """Arithmetic that wraps, digits, signs."""
    u = r.choice(('tid - 1', 'tid * 4', 'tid * 0x10000001u', 'tid + n', 'n * tid', '~tid', '(unsigned)tid << 26 >> 26', 'tid % 8 * 8 + tid / 8', 'tid * 3 % 64', 'tid * n', '(unsigned)tid * tid', '-tid', 'tid ^ (tid >> 1)', '(tid << 1 | tid >> 5) & 63', 'tid * 5 & 63'))
    use = r.choice(('(int)(u & 127)', '(int)(u % 64)', '(int)(u >> 2)', '(int)(u % 512)', '(int)u', '(int)(u / 4)', '(int)((unsigned char)u)', '(int)((short)u & 255)', '(int)(u >> 28) + tid', '(int)(u % 7) + tid * 7'))
    return [('unsigned', ('I', u)), ('if', ('C', r.choice(('true', 'u < 500u', 'u < 500u', 'u - 1u < 40u', 'tid < 32'))), [st(r, r.choice(('s', 's', 'bytes', 'a')), use)]), *bar(r), ld(r, 's', 'tid')]


def repeat(r):
    """do ... while, with what is carried."""
    return [('do', ('C', r.choice(('x < 4', 'x < n', 'x < 3 && y < 5', 'x < 2 + (n & 1)', 'x < tid'))), [st(r, 's', r.choice(('tid', 'tid + x * NT', 'y + tid', 'x * NT + tid'))), *bar(r), ld(r, 's', 'tid ^ 1'), *bar(r), ('add', ('X', 'y'), ('I', r.choice(('NT', '1', 'tid', 'x'))))])]


SHAPES = (tree, scan, stride, stride, tiles, casts, casts, pointers, pointers, lanes, lanes, shared_out, shared_out, ends, ends, private, numbers, numbers, repeat)


def shape(r):
    body = r.choice(SHAPES)(r)
    for _ in range(r.choice((0, 0, 1, 1, 2))):
        more = r.choice(SHAPES)(r)
        body += (bar(r) if r.random() < .8 else []) + more
    return body


def change(r, body):
    if r.random() < .4:
        return
    where, i, how, s = random_judge.rearrange(r, body)
    if how < .5:
        return
    if how < .58:
        where[i] = r.choice((('if', f('C')(r), [s]), ('for', f('H')(r), [s])))
    elif how < .64:
        where.insert(i, r.choice((('load', f('P')(r), f('I')(r)), ('store', ('W', 'P = v'), f('P')(r), f('I')(r)), ('bar',), ('return', f('C')(r)), ('break', f('C')(r)), ('swap',))))
    else:
        at = [k for k in range(1, len(s)) if not isinstance(s[k], list)]
        if at:
            k = r.choice(at)
            where[i] = s[:k] + (f(s[k][0])(r),) + s[k + 1:]


# ---- as CUDA C++ -------------------------------------------------------------------------------------

HEAD = r'''
#define NT (int)(blockDim.x * blockDim.y)
#define NB (int)(gridDim.x * gridDim.y)
#ifdef CHECK
#define IN(i, n) ((i) >= 0 && (i) < (n) ? (i) : (__trap(), 0))
#define NEAR(i) ((i) > -60000 && (i) < 60000 ? (i) : (__trap(), 0))
#else
#define IN(i, n) (i)
#define NEAR(i) (i)
#endif
struct two { short lo; char mid; unsigned char b[1]; };
struct bits { unsigned f : 8, g : 8, h : 16; };
__device__ __forceinline__ int scan(int x, int lane)
{
	for (int d = 1; d < 32; d <<= 1) {
		int y = __shfl_up_sync(~0u, x, d);
		if (lane >= d)
			x += y;
	}
	return x;
}
__device__ __forceinline__ int total(int x)
{
#pragma unroll
	for (int d = 16; d; d /= 2)
		x += __shfl_xor_sync(~0u, x, d);
	return x;
}
__device__ __noinline__ void put(int *at, int i, int v) { at[i] = v; }
__device__ __forceinline__ int by_leader(int *k)
{
	unsigned m = __activemask();
	int lane = threadIdx.y * blockDim.x + threadIdx.x & 31, first = __ffs(m) - 1, x;
	if (lane == first)
		x = atomicAdd(k, __popc(m));
	return __shfl_sync(m, x, first) + __popc(m & (1u << lane) - 1);
}
__device__ __forceinline__ int by_vote(int *k, bool is_in)
{
	unsigned m = __ballot_sync(~0u, is_in);
	int lane = threadIdx.y * blockDim.x + threadIdx.x & 31, first = __ffs(m) - 1, x = 0;
	if (lane == first)
		x = atomicAdd(k, __popc(m));
	return __shfl_sync(~0u, x, first) + __popc(m & (1u << lane) - 1);
}
'''
START = '''extern "C" __global__ void %s(int *a, int *b, const int *c, int n)
{
	__shared__ __align__(16) int s[512];
	__shared__ int t[16][17], dummy;
	__shared__ struct two two[128];
	__shared__ struct bits bits[128];
	__shared__ int2 pairs[128];
	int tx = threadIdx.x, ty = threadIdx.y, tid = ty * blockDim.x + tx, bid = blockIdx.y * gridDim.x + blockIdx.x;
	int lane = tid & 31, warp = tid >> 5, own = bid * NT + tid, i = 0, j = 0, x = 0, y = 0, v = 1, loc[4] = {0, 1, 2, 3};
	unsigned below = (1u << lane) - 1, u = tid;
	int *p = s, *q = a;
	long long way = 0;
'''


def place(p, index):
    i = '(int)(%s)' % index
    arrays = {'s': 's[IN(%s, 512)]', 'S64': 's[%s & 63]', 'a': 'a[NEAR(%s)]', 'b': 'b[NEAR(%s)]', 'c': 'c[NEAR(%s)]', 'bytes': '((unsigned char *)s)[IN(%s, 2048)]', 'shorts': '((short *)s)[IN(%s, 1024)]',
              'wide': '((long long *)s)[IN(%s, 256)]', 'pairs.x': 'pairs[IN(%s, 128)].x', 'pairs.y': 'pairs[IN(%s, 128)].y', 'two.lo': 'two[IN(%s, 128)].lo', 'two.mid': 'two[IN(%s, 128)].mid',
              'two.b[0]': 'two[IN(%s, 128)].b[0]', 'bits.f': 'bits[IN(%s, 128)].f', 'bits.g': 'bits[IN(%s, 128)].g', 'p': 'p[%s & 63]', 'gone': '(p + way)[%s & 63]', 'q': 'q[%s & 63]', 'abytes': '((char *)a)[NEAR(%s)]',
              'ashorts': '((short *)a)[NEAR(%s)]', 'down': '(s + 511)[-IN(%s, 512)]', 'blk': 'a[bid * 1024 + NEAR(%s)]', 'vol': '((volatile int *)s)[IN(%s, 512)]'}
    if p == 't':
        return 't[IN(%s / 17, 16)][IN(%s %% 17, 17)]' % (i, i)
    if p == 'raw':
        return 'p[tid & 15]'
    return arrays[p] % i


class Text:
    def __init__(self):
        self.out, self.depth, self.tabs, self.in_loop = [], 0, 1, 0

    def say(self, s):
        self.out.append('\t' * self.tabs + s)

    def block(self, head, body, tail='}', is_loop=False):
        self.say(head)
        self.tabs += 1
        self.in_loop += is_loop
        self.body(body)
        self.in_loop -= is_loop
        self.tabs -= 1
        self.say(tail)

    def statement(self, s):
        kind, a = s[0], [x[1] if isinstance(x, tuple) else x for x in s[1:]]
        if kind == 'store':
            how, at = a[0], place(a[1], a[2])
            self.say(re.sub(r'\bP\b', lambda _: at, how).replace('X', 'x') + ';')
        elif kind == 'load':
            self.say('v += %s;' % place(a[0], a[1]))
        elif kind == 'vector':
            whole = place(a[1] if a[1] in ('a', 'b') else 's', '(%s) * (int)sizeof(%s) / 4' % (a[2], a[0]))
            value = {'int4': 'make_int4(v, 1, 2, v)', 'int2': 'make_int2(v, 1)'}.get(a[0], '(%s)v' % a[0])
            self.say('*(%s *)((char *)&%s + (%s) * (int)sizeof(%s) %% 4) = %s;' % (a[0], whole, a[2], a[0], value))
        elif kind == 'if':
            self.block('if (%s) {' % a[0], a[1])
        elif kind == 'for':
            name = 'ij'[min(self.depth, 1)]
            self.depth += 1
            head = a[0].replace('V', name).replace('W', 'w')
            self.block('for (%s%s) {' % (head, '' if head.count(';') == 2 else ''), a[1], is_loop=True)
            self.depth -= 1
        elif kind == 'do':
            self.block('x = 0;\n%sdo {' % ('\t' * self.tabs), a[1] + [('plus',)], '} while (%s);' % a[0], is_loop=True)
        elif kind == 'plus':
            self.say('x++;')
        elif kind == 'switch':
            self.block('switch (%s) { case 0: {' % a[0], a[1], '} break; case 2: v++; case 3: s[IN(tid, 512)] = v; default: break; }')
        elif kind == 'bar':
            self.say('__syncthreads();')
        elif kind == 'syncwarp':
            self.say('__syncwarp();')
        elif kind == 'fence':
            self.say('__threadfence_block();')
        elif kind == 'return':
            self.say('if (%s) return;' % a[0])
        elif kind in ('break', 'continue'):
            self.say('if (%s) %s;' % (a[0], kind if self.in_loop else 'v++'))
        elif kind == 'set':
            self.say('%s = %s;' % (a[0], a[1]))
        elif kind == 'add':
            self.say('%s += %s;' % (a[0], a[1]))
        elif kind == 'unsigned':
            self.say('u = %s;' % a[0])
        elif kind == 'point':
            self.say('%s = %s;' % (a[0], a[1]))
        elif kind == 'way':
            self.say('way = %s - %s;' % (a[1], a[0]))
        elif kind == 'go':
            self.say('if (%s) { %s += way; way = -way; }' % (a[1], a[0]))
        elif kind == 'swap':
            self.say('{ int *h = p; p = q; q = h; }')
        elif kind == 'walk':
            self.block('for (int h = 0; h < 3; h++, %s += %s * 16) {' % (a[0], a[1]), a[2], is_loop=True)
        elif kind == 'shuffle':
            value = re.sub(r'\bK\b', a[2], a[1].replace('X', a[0]))
            self.say('%s %s %s;' % (a[0], '+=' if '+=' in a[3] else '=', value))
        elif kind == 'local':
            self.say('loc[(%s) & 3] = %s;' % (a[0], a[1]))
        elif kind == 'call':
            array = {'a': 'a', 'b': 'b', 'p': 'p', 'q': 'q'}.get(a[0], 's')
            self.say('put(%s, %s(%s)%s, v);' % (array, 'IN(' if array == 's' else '(', a[1], ', 512)' if array == 's' else ')'))
        elif kind == 'by leader':
            self.say('%s = by_leader(&%s);' % tuple(a))
        elif kind == 'by vote':
            self.say('%s = by_vote(&%s, %s);' % tuple(a))
        elif kind == 'draw':
            self.say('%s = %s;' % (a[0], re.sub(r'\bA\b', '&' + a[2], a[1])))
        elif kind == 'clear':
            self.say('%s = 0;' % a[0])
        elif kind == 'plain':
            self.say('%s = %s;' % tuple(a))
        else:
            sys.exit('what is %s?' % kind)

    def body(self, statements):
        for s in statements:
            self.statement(s)


def source(name, body):
    t = Text()
    t.body(body)
    return START % name + '\n'.join(t.out) + '\n\ta[16384 + own] = v + x + y;\n}\n'


def compile(nvcc, text, path, *flags):
    with open(path + '.cu', 'w') as out:
        out.write(text)
    r = subprocess.run([nvcc, '-ptx', '-arch=sm_90', '-w', *flags, '-o', path + '.ptx', path + '.cu'], capture_output=True, text=True)
    if r.returncode:
        sys.exit('%s\n%s' % (r.stderr, text))
    return path + '.ptx'


def runs(oracle, path, names, block, grid):
    """What each does in some launches."""
    answers = []
    for fill, n in ((fill, n) for fill in ('zeros', 'ramp') for n in SCALARS):
        lines = ['%s %d %d 1 %d %d 1 %s p p p %d' % (name, *block, *grid, fill, n) for name in names]
        r = subprocess.run([oracle, path, '1', str(SEEDS)], input='\n'.join(lines) + '\n', capture_output=True, text=True)
        answers.append(r.stdout.strip().split('\n'))
        if len(answers[-1]) != len(names):
            sys.exit('%s: %s' % (path, r.stderr))
    return list(zip(*answers))


def prove(collider, path, block, grid):
    import json
    r = subprocess.run([collider, 'prove', '--format=json', '--no-cache', '--no-remedies', '--no-confirm', '--block-dim=%d,%d,1' % block,
                        '--grid-dim=%d,%d,1' % grid, '--prove-timeout=2', path], capture_output=True, text=True)
    if not r.stdout:
        sys.exit('%s: %s' % (path, r.stderr))
    return {k['mangled']: k['verdict'] for k in json.loads(r.stdout)['kernels']}


def is_confirmed(collider, path, name, block, grid):
    """Does one of its true alarms race in the launch that it names? (Its scalars are others than those of runs().)"""
    r = subprocess.run([collider, 'prove', '--format=json', '--no-cache', '--no-remedies', '--confirm', '--kernel=' + name, '--block-dim=%d,%d,1' % block,
                        '--grid-dim=%d,%d,1' % grid, '--prove-timeout=10', path], capture_output=True, text=True)
    return any(a['confirmed'] == 'confirmed' for k in json.loads(r.stdout)['kernels'] for a in k['alarms'] if a['true'] and k['mangled'] == name)


def main():
    collider, oracle, nvcc = sys.argv[1:4]
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    count = int(sys.argv[5]) if len(sys.argv) > 5 else 100
    ways = [sys.argv[6]] if len(sys.argv) > 6 else ['-G', '-O3']
    rng, failed = random.Random(seed), 0
    counts = dict.fromkeys(('proven', 'race', 'true', 'false true', 'not confirmed'), 0)
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, 'k')
        for first in range(0, count, PER_FILE):
            kernels, (block, grid) = [], rng.choice(DIMS)
            for _ in range(min(PER_FILE, count - first)):
                body = shape(rng)
                for _ in range(rng.choice((0, 1, 1, 1, 2, 2, 3))):
                    if body:
                        change(rng, body)
                kernels.append(body)
            names = ['k%d' % i for i in range(len(kernels))]
            text = HEAD + '\n'.join(map(source, names, kernels))
            for way in ways:
                ptx = compile(nvcc, text, path, way)
                verdicts = prove(collider, ptx, block, grid)
                answers = runs(oracle, ptx, names, block, grid)
                for i, (name, a) in enumerate(zip(names, answers)):
                    race = next((x for x in a if x.startswith('race')), None)
                    is_free, is_true, is_clean = verdicts[name].startswith('race-free'), verdicts[name] == 'true-alarm', all(x == 'clean' for x in a)
                    counts['proven'] += is_free
                    counts['race'] += race is not None
                    counts['true'] += race is not None and is_true
                    counts['false true'] += is_true and is_clean
                    if is_true and is_clean and not is_confirmed(collider, ptx, name, block, grid):
                        counts['not confirmed'] += 1
                        print('true, but neither raced nor confirmed: %s %s %s\n%s' % (way, block, grid, source(name, kernels[i])))
                    if is_free and race:
                        checked = compile(nvcc, HEAD + source(name, kernels[i]), path + 'c', '-DCHECK', way)
                        again = runs(oracle, checked, [name], block, grid)[0]
                        if not any(x.startswith('race') for x in again):
                            continue
                        failed += 1
                        print('FAIL: %s %s %s seed %d kernel %d is proven, but %s:\n%s' % (way, block, grid, seed, first + i, race, source(name, kernels[i])), flush=True)
    print('seed %d: %d kernels: %d proven, %d race, %d of these with a true alarm, %d clean ones with a true alarm, %d of these not confirmed; %d wrong' % (
        seed, count * len(ways), *counts.values(), failed))
    sys.exit(failed > 0)


if __name__ == '__main__':
    main()
