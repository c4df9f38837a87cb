#!/usr/bin/env python3
"""random_kernels.py - random small kernels, judged by prove and by running all their inputs.

    random_kernels.py COLLIDER [SEED [COUNT [LIMIT]]] [digits | pitches]

A kernel is made as a tree, printed as PTX for `collider prove`, and run by an interpreter of that
tree that shares nothing with prove: every launch of at most 2 blocks of 4 threads and a few values
of the parameter, with three contents of an array that is only read. Race-free must mean that no
launch races or lets threads of a block meet different barriers; a true alarm must race in the
launch, at the lines, that it names, whatever the array holds. LIMIT is the processor
time of one kernel ("250ms"): with it many kernels are worth more than the few that take long.

With `digits`, indices are put together from quotients and remainders by three parameters, in rows
whose sizes are parameters, too. The dimensions are given, the parameters have bounds and perhaps a
relation, and a kernel that is proven is run for all their values. With `pitches` it are elements of
rows and planes, whose pitch is in elements or bytes, in loops, with numbers before and between them.
"""
import itertools, json, random, subprocess, sys, tempfile, os

M = 0xffffffff
SHARED = 256  # bytes
PER_FILE = 50
HEAD = ('.version 8.0', '.target sm_90', '.address_size 64')
FILLS = (lambda i: 0, lambda i: i & 3, lambda i: (7 * i + 1) >> 1 & 3)
LAUNCHES = [(t, c, n) for t in (1, 2, 3, 4) for c in (1, 2) for n in (0, 1, 2, 3, 5)]

PARAMS = {'m': ('n',), 'n': ('more', 0), 'p': ('more', 1)}  # the three of `digits`
RELATIONS = (('', lambda m, n, p: True),) * 3 + (
    ('{m} <= {n}', lambda m, n, p: m <= n), ('{m} == {p}', lambda m, n, p: m == p),
    ('{n} <= {p}', lambda m, n, p: n <= p), ('{m} * {n} <= {p}', lambda m, n, p: m * n <= p),
    ('{n} == 2 * {m}', lambda m, n, p: n == 2 * m))


def signed(v):
    return v - (1 << 32) if v >> 31 else v


# ---- trees ------------------------------------------------------------------------------

class Maker:
    def __init__(self, rng):
        self.rng, self.nvar, self.accesses, self.depth = rng, 0, 0, 0
        self.vars = []
        self.has_mem = rng.random() < .3
        self.is_tidy = rng.random() < .5  # as kernels usually are: most of those are race-free

    def leaf(self):
        r = self.rng.random()
        if r < .4:
            return ('spec', 'tid')
        if r < .5:
            return ('spec', self.rng.choice(('ctaid', 'ntid', 'nctaid')))
        if r < .6:
            return ('n',)
        if r < .8 and self.vars:
            return ('var', self.rng.choice(self.vars))
        return ('const', self.rng.choice((0, 1, 2, 3, 4, 7, 8, M)))

    def expr(self, d=2):
        if d == 0 or self.rng.random() < .3:
            return self.leaf()
        op = self.rng.choice(('add', 'add', 'add', 'sub', 'mul', 'and', 'or', 'xor', 'shl', 'shr', 'rem',
                              'div', 'min', 'sel'))
        if op in ('shl', 'shr'):
            return (op, self.expr(d - 1), ('const', self.rng.choice((1, 2, 31))))
        if op in ('rem', 'div'):
            return (op, self.expr(d - 1), ('const', self.rng.choice((2, 3, 4))))
        if op == 'sel':
            return (op, self.cond(), self.expr(d - 1), self.expr(d - 1))
        return (op, self.expr(d - 1), self.expr(d - 1))

    def digits(self):
        """A number put together again from quotients and remainders, or its bits turned around."""
        n, d, m = self.leaf(), self.rng.choice((2, 3, 4)), self.rng.choice((1, 1, 2, 3))
        if self.rng.random() < .3:
            return ('shr', ('brev', self.rng.choice((n, ('spec', 'tid')))), ('const', self.rng.choice((26, 28, 29))))
        k = ('const', self.rng.choice((d * m, d * m, d, 1)))
        return ('add', ('mul', ('rem', n, ('const', d)), ('const', m)), ('mul', ('div', n, ('const', d)), k))

    def cond(self):
        if self.has_mem and self.rng.random() < .5:
            return (self.rng.choice(('lt.u', 'eq', 'ne')), ('mem', self.leaf()), ('const', self.rng.choice((0, 1, 2))))
        return (self.rng.choice(('lt.u', 'lt.s', 'eq', 'ne', 'ge.s')), self.expr(1), self.expr(1))

    def uniform(self):
        if self.has_mem and self.rng.random() < .3:
            return ('mem', self.leaf())
        return self.rng.choice((('n',), ('const', 2), ('const', 3), ('spec', 'ntid')))

    def row(self):
        """An element of a row of n, perhaps guarded."""
        self.accesses += 1
        own = ('add', ('mul', ('spec', 'ctaid'), ('spec', 'ntid')), ('spec', 'tid'))
        x, y = (self.rng.choice((('spec', 'tid'), ('spec', 'ctaid'), own, self.leaf())) for _ in range(2))
        if self.rng.random() < .5:
            x, y = self.rng.choice(((('spec', 'tid'), ('spec', 'ctaid')), (('spec', 'ctaid'), ('spec', 'tid'))))
        s = ['access', self.rng.choice(('ld', 'st', 'st')), 'global', ('add', ('mul', y, ('n',)), x), 4, 0]
        return ['if', (self.rng.choice(('lt.u', 'lt.s')), x, ('n',)), [s]] if self.rng.random() < .8 else s

    def access(self):
        if self.rng.random() < .12:
            return self.row()
        self.accesses += 1
        space = self.rng.choice(('shared', 'shared', 'global'))
        index = self.expr()
        if self.rng.random() < .5:  # what most kernels do
            index = self.rng.choice((('spec', 'tid'), ('add', ('spec', 'tid'), ('const', 1)),
                                     ('add', ('mul', ('spec', 'ctaid'), ('spec', 'ntid')),
                                      ('spec', 'tid'))))
        if self.is_tidy:
            own = ('spec', 'tid') if space == 'shared' else \
                ('add', ('mul', ('spec', 'ctaid'), ('spec', 'ntid')), ('spec', 'tid'))
            index = self.rng.choice((own, own, own, ('xor', own, ('const', 1)),
                                     ('sub', ('const', 63), own), ('add', own, self.leaf())))
        if self.rng.random() < .15:
            index = self.digits()
        kind = self.rng.choice(('ld', 'st', 'st', 'st', 'red'))
        width = 4 if kind == 'red' or self.is_tidy else self.rng.choice((4, 4, 1))
        return ['access', kind, space, ('and', index, ('const', 63)), width, 0]

    def block(self, size):
        out = []
        for _ in range(size):
            r = self.rng.random()
            if r < .35 and self.accesses < 3:
                if self.is_tidy and self.rng.random() < .7:
                    out.append(['barrier', 0])
                out.append(self.access())
            elif r < .55:
                out.append(['barrier', 0])
            elif r < .7 and self.depth < 2:
                self.depth += 1
                out.append(['if', self.cond(), self.block(self.rng.randint(1, 2))])
                self.depth -= 1
            elif r < .85 and self.depth < 2 and self.nvar < 2:
                v, self.nvar = self.nvar, self.nvar + 1
                start = self.rng.choice((('const', 0), ('const', 1), ('spec', 'tid')))
                bound = self.uniform() if self.rng.random() < .7 else self.expr(1)
                step = self.rng.choice((('add', 1), ('add', 1), ('add', 2), ('shl', 1)))
                self.depth += 1
                self.vars.append(v)
                out.append(['loop', v, start, bound, step, self.block(self.rng.randint(1, 3))])
                self.vars.pop()
                self.depth -= 1
            elif r < .9:
                out.append(['return', self.cond()])
        return out

    def part(self, k, is_shared):
        """A part of the thread's position: a number of its own only on one side of the bound k."""
        tid, r = ('spec', 'tid'), self.rng.random()
        k = k if r < .7 else self.rng.choice((1, 2, 3, 4))
        x = self.rng.choice((('rem', tid, ('const', k)), ('rem', tid, ('const', k)), ('sub', tid, ('const', k)),
                             ('and', tid, ('const', k - 1)), tid, ('xor', tid, ('const', k)), ('div', tid, ('const', 2)),
                             ('add', ('mul', ('rem', tid, ('const', 2)), ('const', 2)), ('div', tid, ('const', 2)))))
        if self.rng.random() < .3:
            x = ('add', x, ('const', self.rng.choice((1, 2, k))))
        if is_shared and self.rng.random() < .9:
            return x
        return ('add', x, ('mul', ('spec', 'ctaid'), ('const', self.rng.choice((4, 4, 8, k, 1)))))

    def split(self):
        """Threads on both sides of a bound, each with an index of its own."""
        out, array, k = [], self.rng.choice(('shared', 'shared', 'global')), self.rng.choice((1, 2, 2, 3))
        index = self.part(k, array == 'shared')
        for i in range(2):
            self.accesses += 1
            if i and self.rng.random() < .6:
                index = self.part(k, array == 'shared')
            x = self.rng.choice((('spec', 'tid'),) * 4 + (('spec', 'ctaid'), ('rem', ('spec', 'tid'), ('const', 2))))
            op = self.rng.choice((('lt.u', 'ge.s'),) * 3 + (('ge.s', 'lt.u'), ('eq', 'ne'), ('lt.s', 'lt.s')))[i]
            s = ['access', self.rng.choice(('st', 'ld', 'ld')) if i else 'st', array, ('and', index, ('const', 63)), 4, 0]
            out.append(['if', (op, x, ('const', k)), [s]])
            if not i and self.rng.random() < .2:
                out.append(['barrier', 0])
        return out

    def digit_row(self):
        """Digits by parameters of a thread's number in the grid, each times what may be its place."""
        def product(*choices):
            trees = [('const', x) if isinstance(x, int) else PARAMS[x] for x in self.rng.choice(choices)]
            return trees[0] if len(trees) == 1 else ('mul', *trees)

        sign, own = self.rng.choice(('', '.s')), ('add', ('mul', ('spec', 'ctaid'), ('spec', 'ntid')), ('spec', 'tid'))
        by, next_by = product('m', 'm', 'n', 'p'), product('n', 'p', 'm')
        digits, rest = [('rem' + sign, own, by)], ('div' + sign, own, by)
        if self.rng.random() < .8:
            digits.append(('rem' + sign, rest, next_by))
            rest = self.rng.choice((('div' + sign, rest, next_by), ('div' + sign, own, ('mul', by, next_by))))
        digits.append(rest)
        index = ('mul', digits[0], product([1], [1], [1], [2]))
        if len(digits) == 3:
            index = ('add', index, ('mul', digits[1], product('m', 'n', 'p', [1], [2], [3])))
        place = product('n', 'p', 'm', 'nm', 'mp', 'np', [2, 'n'], [2, 'm'])
        index = ('add', index, ('mul', rest, place))
        body = [['access', 'st', 'global', index, 4, 0]]
        if self.rng.random() < .5:
            body.append(['access', 'st', 'global', ('add', index, product([1], 'm', 'n', [2, 'n'], 'nm')), 4, 0])
        guard = self.rng.choice((None, (rest, 'n'), (rest, 'p'), (own, 'nm'), (own, 'p')))
        return [['if', ('lt.s', guard[0], product(guard[1])), body]] if guard else body

    def sized(self):
        """A size of rows: a parameter, or made of some."""
        m, n, p = PARAMS.values()
        return self.rng.choice((m, n, p, m, n, ('mul', m, n), ('add', m, ('const', 2)), ('mul', n, ('const', 4)),
                                ('mul', ('add', m, ('const', 1)), n), ('mul', p, ('mul', m, n)), ('const', 8)))

    def pitched(self):
        """Elements of rows, perhaps of planes, of which each thread stores some."""
        tid, ctaid = ('spec', 'tid'), ('spec', 'ctaid')
        own = ('add', ('mul', ctaid, ('spec', 'ntid')), tid)
        m, n, p = PARAMS.values()
        space = self.rng.choice(('global', 'global', 'global', 'shared'))
        pairs = ((tid, ctaid), (ctaid, tid), (own, ('const', 0))) if space == 'global' else \
            ((tid, ('const', 0)), (('rem', tid, m), ('div', tid, m)), (('div', tid, m), ('rem', tid, m)))
        x, y = self.rng.choice(pairs)
        loops, guards = self.rng.choice((0, 0, 1, 1, 2)), []
        if self.rng.random() < .3:
            x = ('add', ('mul', x, self.rng.choice((('const', 2), m))), self.rng.choice((('const', 1), m, p)))
        for v in range(loops):
            if self.rng.random() < .5:
                y = self.rng.choice((('add', ('mul', y, n), ('var', v)), ('add', ('mul', ('var', v), n), y),
                                     ('add', y, ('mul', ('var', v), ('const', 2)))))
            else:
                x = self.rng.choice((('add', ('mul', x, p), ('var', v)), ('add', x, ('mul', ('var', v), ('spec', 'ntid'))),
                                     ('sub', ('add', x, ('const', 4)), ('var', v))))
        pitch, width = self.sized(), self.rng.choice((4, 4, 8, 1))
        body = []
        for i in range(self.rng.choice((1, 1, 1, 2, 3))):
            if i and self.rng.random() < .5:
                x = ('add', x, ('const', self.rng.choice((1, 2, 5, 8))))
            elif i:
                y = ('add', y, self.rng.choice((('const', 1), m, n)))
            if space == 'global' and self.rng.random() < .5:
                scale = self.rng.choice((width, width, 4, 8))
                body.append(['access', 'st', 'global', (x, scale, y, pitch), width, 0])
            else:
                body.append(['access', 'st', space, ('add', x, ('mul', y, pitch)), width, 0])
        if self.rng.random() < .7:
            body = [['if', ('lt.s', x, self.rng.choice((pitch, pitch, m, n))), body]]
        if self.rng.random() < .5:
            body = [['if', ('lt.s', y, self.rng.choice((m, n, p))), body]]
        for v in range(loops):
            start = self.rng.choice((('const', 0), ('const', 0), ('const', 1), tid))
            step = ('add', self.rng.choice((1, 1, 2)))
            body = [['loop', v, start, self.rng.choice((m, n, p, ('const', 3))), step, body]]
        return body

    def kernel(self):
        if self.rng.random() < .2:
            return self.split()
        body = self.block(self.rng.randint(2, 4))
        while self.accesses < 2:
            body.append(self.access())
        return body


# ---- PTX ----------------------------------------------------------------------------------

class Printer:
    def __init__(self, lines, name, body, nmore=0):
        self.l, self.name, self.nr, self.np, self.nl, self.nd = lines, name, 10, 0, 0, 1
        more = ''.join(', .param .u32 %s_n%d' % (name, i) for i in range(nmore))
        self.put('.visible .entry %s(.param .u64 %s_p, .param .u32 %s_n, .param .u64 %s_q%s)' % (
            name, name, name, name, more))
        self.put('{')
        decl = len(lines)
        self.put('')
        self.put('.shared .align 8 .b8 %s_s[%d];' % (name, SHARED))
        self.put('ld.param.u64 %%rd0, [%s_p];' % name)
        self.put('ld.param.u32 %%r0, [%s_n];' % name)
        self.put('ld.param.u64 %%rd1, [%s_q];' % name)
        for i in range(nmore):
            self.put('ld.param.u32 %%r%d, [%s_n%d];' % (8 + i, name, i))
        self.stmts(body)
        self.put('$%s_end:' % name)
        self.put('ret;')
        self.put('}')
        lines[decl] = '.reg .b32 %%r<%d>; .reg .b64 %%rd<%d>; .reg .pred %%p<%d>;' % (
            self.nr + 1, self.nd + 2, self.np + 1)

    def put(self, s):
        self.l.append(s)
        return len(self.l)

    def reg(self):
        self.nr += 1
        return '%%r%d' % self.nr

    def expr(self, e):
        op = e[0]
        if op == 'n':
            return '%r0'
        if op == 'more':
            return '%%r%d' % (8 + e[1])
        if op == 'var':
            return '%%r%d' % (1 + e[1])
        d = self.reg()
        if op == 'const':
            self.put('mov.u32 %s, %d;' % (d, e[1]))
        elif op == 'spec':
            self.put('mov.u32 %s, %%%s.x;' % (d, e[1]))
        elif op == 'brev':
            self.put('brev.b32 %s, %s;' % (d, self.expr(e[1])))
        elif op == 'mem':
            self.nd += 1
            i = self.expr(('and', e[1], ('const', 63)))
            self.put('mad.wide.u32 %%rd%d, %s, 4, %%rd1;' % (self.nd, i))
            self.put('ld.global.u32 %s, [%%rd%d];' % (d, self.nd))
            self.put('and.b32 %s, %s, 3;' % (d, d))
        elif op == 'sel':
            p, a, b = self.cond(e[1]), self.expr(e[2]), self.expr(e[3])
            self.put('selp.b32 %s, %s, %s, %s;' % (d, a, b, p))
        else:
            a, b = self.expr(e[1]), self.expr(e[2])
            name = {'add': 'add.u32', 'sub': 'sub.u32', 'mul': 'mul.lo.u32', 'and': 'and.b32',
                    'or': 'or.b32', 'xor': 'xor.b32', 'shl': 'shl.b32', 'shr': 'shr.u32',
                    'rem': 'rem.u32', 'div': 'div.u32', 'rem.s': 'rem.s32', 'div.s': 'div.s32',
                    'min': 'min.s32'}[op]
            self.put('%s %s, %s, %s;' % (name, d, a, b))
        return d

    def cond(self, c):
        a, b = self.expr(c[1]), self.expr(c[2])
        self.np += 1
        p = '%%p%d' % self.np
        name = {'lt.u': 'lt.u32', 'lt.s': 'lt.s32', 'eq': 'eq.u32', 'ne': 'ne.u32', 'ge.s': 'ge.s32'}
        self.put('setp.%s %s, %s, %s;' % (name[c[0]], p, a, b))
        return p

    def label(self):
        self.nl += 1
        return '$%s_%d' % (self.name, self.nl)

    def in_bytes(self, s):
        """A store at x * scale + y * pitch bytes, in 64 bits."""
        x, scale, y, pitch = s[3]
        x, y, pitch = self.expr(x), self.expr(y), self.expr(pitch)
        self.nd += 2
        self.put('mad.wide.u32 %%rd%d, %s, %d, %%rd0;' % (self.nd - 1, x, scale))
        self.put('mad.wide.u32 %%rd%d, %s, %s, %%rd%d;' % (self.nd, y, pitch, self.nd - 1))
        s[5] = self.put('st.global.u%d [%%rd%d], %s;' % (8 * s[4], self.nd, '%rd0' if s[4] == 8 else '%r0'))

    def access(self, s):
        _, kind, space, index, width, _ = s
        if not isinstance(index[0], str):
            return self.in_bytes(s)
        i = self.expr(index)
        self.nd += 1
        d = '%%rd%d' % self.nd
        v = self.reg()
        if space == 'shared':
            a = self.reg()
            self.put('mov.u32 %s, %s_s;' % (a, self.name))
            t = self.reg()
            self.put('mad.lo.u32 %s, %s, %d, %s;' % (t, i, width, a))
            addr = t
        elif width == 4 and self.nd % 3 == 0:  # as an int that was kept in 64 bits
            self.put('cvt.u64.u32 %s, %s;' % (d, i))
            self.put('shl.b64 %s, %s, 32;' % (d, d))
            self.put('shr.s64 %s, %s, 30;' % (d, d))
            self.put('add.s64 %s, %s, %%rd0;' % (d, d))
            addr = d
        else:
            self.put('mad.wide.u32 %s, %s, %d, %%rd0;' % (d, i, width))
            addr = d
        if kind == 'ld':
            s[5] = self.put('ld.%s.u%d %s, [%s];' % (space, 8 * width, v, addr))
        elif kind == 'st':
            s[5] = self.put('st.%s.u%d [%s], %s;' % (space, 8 * width, addr, '%rd0' if width == 8 else '%r0'))
        else:
            s[5] = self.put('red.%s.add.u32 [%s], %%r0;' % (space, addr))

    @staticmethod
    def above(s):
        """What a loop's step has above its 32 bits."""
        return 0 if len(s[5]) % 2 else 3 << 32

    def wide(self, s, start, v):
        """The register of a loop's counter that is kept in 64 bits, as an int with a step of size_t is."""
        if s[4][0] != 'add' or self.nl % 3 == 0:
            self.put('mov.u32 %s, %s;' % (v, start))
            return None
        self.nd += 1
        wide = '%%rd%d' % self.nd
        self.put('cvt.u64.u32 %s, %s;' % (wide, start))
        return wide

    def stmts(self, body):
        for s in body:
            if s[0] == 'access':
                self.access(s)
            elif s[0] == 'barrier':
                s[1] = self.put('bar.sync 0;')
            elif s[0] == 'if':
                p, end = self.cond(s[1]), self.label()
                self.put('@!%s bra %s;' % (p, end))
                self.stmts(s[2])
                self.put(end + ':')
            elif s[0] == 'loop':
                v = '%%r%d' % (1 + s[1])
                wide = self.wide(s, self.expr(s[2]), v)
                top, end = self.label(), self.label()
                self.put(top + ':')
                if wide:
                    self.put('cvt.u32.u64 %s, %s;' % (v, wide))
                p = self.cond(('lt.s', ('var', s[1]), s[3]))
                self.put('@!%s bra %s;' % (p, end))
                self.stmts(s[5])
                if wide:
                    self.put('cvt.s64.s32 %s, %s;' % (wide, v))
                    self.put('add.s64 %s, %s, %d;' % (wide, wide, s[4][1] + self.above(s)))
                elif s[4][0] == 'add':
                    self.put('add.u32 %s, %s, %d;' % (v, v, s[4][1]))
                else:
                    self.put('shl.b32 %s, %s, %d;' % (v, v, s[4][1]))
                self.put('bra %s;' % top)
                self.put(end + ':')
            else:
                self.put('@%s bra $%s_end;' % (self.cond(s[1]), self.name))


# ---- the interpreter -----------------------------------------------------------------------

class Return(Exception):
    pass


class Endless(Exception):
    pass


class Thread:
    def __init__(self, tid, ctaid, launch, fill):
        self.fill = fill
        self.s = {'tid': tid, 'ctaid': ctaid, 'ntid': launch[0], 'nctaid': launch[1]}
        self.n, self.v, self.seen, self.bars, self.steps = launch[2], {}, [], [], 0
        self.more = launch[3:]

    def ev(self, e):
        op = e[0]
        if op == 'n':
            return self.n
        if op == 'more':
            return self.more[e[1]]
        if op == 'var':
            return self.v[e[1]]
        if op == 'const':
            return e[1]
        if op == 'spec':
            return self.s[e[1]]
        if op == 'sel':
            return self.ev(e[2]) if self.cond(e[1]) else self.ev(e[3])
        if op == 'mem':
            return self.fill(self.ev(e[1]) & 63)
        if op == 'brev':
            return int('{:032b}'.format(self.ev(e[1]))[::-1], 2)
        a, b = self.ev(e[1]), self.ev(e[2])
        if op == 'min':
            return a if signed(a) < signed(b) else b
        if op in ('rem.s', 'div.s'):  # towards zero
            a, b = signed(a), signed(b)
            q = abs(a) // abs(b) * (-1 if (a < 0) != (b < 0) else 1)
            return (q if op == 'div.s' else a - q * b) & M
        return {'add': lambda: a + b, 'sub': lambda: a - b, 'mul': lambda: a * b,
                'and': lambda: a & b, 'or': lambda: a | b, 'xor': lambda: a ^ b,
                'shl': lambda: a << b, 'shr': lambda: a >> b, 'rem': lambda: a % b,
                'div': lambda: a // b}[op]() & M

    def cond(self, c):
        a, b = self.ev(c[1]), self.ev(c[2])
        return {'lt.u': a < b, 'lt.s': signed(a) < signed(b), 'eq': a == b, 'ne': a != b,
                'ge.s': signed(a) >= signed(b)}[c[0]]

    def place(self, index, width):
        if isinstance(index[0], str):
            return self.ev(index) * width
        return self.ev(index[0]) * index[1] + self.ev(index[2]) * self.ev(index[3])

    def run(self, body):
        for s in body:
            if s[0] == 'access':
                self.seen.append((s[5], s[1], s[2], self.place(s[3], s[4]), s[4], len(self.bars)))
            elif s[0] == 'barrier':
                self.bars.append(s[1])
            elif s[0] == 'if':
                if self.cond(s[1]):
                    self.run(s[2])
            elif s[0] == 'return':
                if self.cond(s[1]):
                    raise Return
            else:
                self.v[s[1]] = self.ev(s[2])
                while signed(self.v[s[1]]) < signed(self.ev(s[3])):
                    self.steps += 1
                    if self.steps > 300:
                        raise Endless
                    self.run(s[5])
                    v = self.v[s[1]]
                    self.v[s[1]] = (v + s[4][1] if s[4][0] == 'add' else v << s[4][1]) & M


def conflict(x, y):
    return x[2] == y[2] and (x[1] != 'ld' or y[1] != 'ld') and x[3] < y[3] + y[4] and \
        y[3] < x[3] + x[4] and not (x[1] == 'red' and y[1] == 'red')


def concurrent(a, x, b, y):
    """Thread a does x, thread b does y."""
    if a.s['ctaid'] != b.s['ctaid']:
        return x[2] == 'global'
    return x[5] == y[5] or (x[5] == len(a.bars) and y[5] > x[5]) or \
        (y[5] == len(b.bars) and x[5] > y[5])


def run_launch(body, launch, fill):
    """The threads, or None when one doesn't end or a block's threads meet different barriers."""
    threads = []
    for c, t in itertools.product(range(launch[1]), range(launch[0])):
        th = Thread(t, c, launch, fill)
        try:
            th.run(body)
        except Return:
            pass
        except Endless:
            return None, False
        threads.append(th)
    for a, b in itertools.combinations(threads, 2):
        k = min(len(a.bars), len(b.bars))
        if a.s['ctaid'] == b.s['ctaid'] and a.bars[:k] != b.bars[:k]:
            return threads, True
    return threads, False


def races(threads):
    for a, b in itertools.combinations(threads, 2):
        for x in a.seen:
            for y in b.seen:
                if conflict(x, y) and concurrent(a, x, b, y):
                    return (x, y)
    return None


def check_free(body, contract):
    ones = [c['text'] for c in contract if c['text'].startswith('1: ')]
    for launch in LAUNCHES:
        # what the kernel never reads is 1 by the contract
        if (launch[0] > 1 and 'blockDim.x' in ones[0]) or (launch[1] > 1 and 'gridDim.x' in ones[0]):
            continue
        for fill in FILLS:
            threads, is_divergent = run_launch(body, launch, fill)
            if threads is None:
                continue
            if is_divergent:
                return 'threads of a block meet different barriers in %s' % (launch,)
            r = races(threads)
            if r:
                return 'lines %d and %d race in %s' % (r[0][0], r[1][0], launch)
    return None


def check_true(body, alarm):
    return next(filter(None, (check_true_with(body, alarm, fill) for fill in FILLS)), None)


def check_true_with(body, alarm, fill):
    if alarm['blockDim'][1:] != [1, 1] or alarm['gridDim'][1:] != [1, 1]:
        return None
    n = [p['value'] for p in alarm['params'] if p['offset'] == 8 and p['bytes'] == 4]
    more = {p['offset']: p['value'] for p in alarm['params'] if p['bytes'] == 4}
    launch = (alarm['blockDim'][0], alarm['gridDim'][0], n[0] if n else 0, more.get(24, 0), more.get(28, 0))
    found = []
    for s in alarm['sides']:
        th = Thread(s['thread'][0], s['block'][0], launch, fill)
        try:
            th.run(body)
        except Return:
            pass
        except Endless:
            return None
        found.append((th, [x for x in th.seen if x[0] == s['ptx_line']]))
    (a, xs), (b, ys) = found
    for x in xs:
        for y in ys:
            if conflict(x, y) and concurrent(a, x, b, y):
                return None
    return 'the launch %s does not race at lines %d and %d' % (
        launch, alarm['sides'][0]['ptx_line'], alarm['sides'][1]['ptx_line'])


def check_digits(body, dims, bounds, holds):
    """All values of the three parameters; each thread only stores, so a byte has one thread."""
    for m, n, p in itertools.product(*(range(lo, hi + 1) for lo, hi in bounds)):
        owner, launch = {}, (*dims, m, n, p)
        if not holds(m, n, p):
            continue
        threads = [(c, t, Thread(t, c, launch, None)) for c in range(dims[1]) for t in range(dims[0])]
        try:
            for _, _, th in threads:
                th.run(body)
        except Endless:
            continue
        if any(x[2] == 'shared' and x[3] + x[4] > SHARED for _, _, th in threads for x in th.seen):
            continue  # by the contract an access stays within its array
        for c, t, th in threads:
            for line, _, space, at, width, _ in th.seen:
                for i in range(at, at + width):
                    if owner.setdefault((i, c if space == 'shared' else None), (c, t)) != (c, t):
                        return 'two threads store at line %d in %s' % (line, launch)
    return None


def prove(collider, options, lines, path):
    """The kernels of the report."""
    with open(path, 'w') as f:
        f.write('\n'.join(lines) + '\n')
    r = subprocess.run([collider, 'prove', '--format=json', '--no-remedies', '--no-confirm', '--no-cache', *options, path],
                       capture_output=True, text=True)
    if not r.stdout:
        sys.exit('%s: %s' % (' '.join(options), r.stderr))
    return json.loads(r.stdout)['kernels']


def judge(k, body, check):
    """What is wrong with a kernel's verdict; check says what is wrong with a proof."""
    wrong = [check()] if k['verdict'] in ('race-free', 'race-free-single') else []
    wrong += [check_true(body, a) for a in k['alarms'] if a['true']]
    return [w for w in wrong if w]


def judge_mixed(collider, limit, seed, numbers, path):
    """Yields each kernel's part of the report, what is wrong with it, and its file's text."""
    lines, bodies = list(HEAD), {}
    for i in numbers:
        bodies['k%d' % i] = Maker(random.Random(seed * 1000003 + i)).kernel()
        Printer(lines, 'k%d' % i, bodies['k%d' % i])
    for k in prove(collider, limit, lines, path):
        body = bodies[k['name']]
        yield k, judge(k, body, lambda: check_free(body, k['contract'])), lines


def judge_digits(collider, limit, seed, numbers, path, make=Maker.digit_row):
    """The same of kernels with digits, each of which has assumptions of its own."""
    for i in numbers:
        rng, lines = random.Random(seed * 1000003 + i), list(HEAD)
        body, dims = make(Maker(rng)), rng.choice(((4, 2), (8, 1), (4, 3), (6, 2)))
        bounds = [(rng.choice((1, 1, 2)), rng.choice((3, 5, 8, 20))) for _ in range(3)]
        text, holds = rng.choice(RELATIONS)
        places = {'m': '$2', 'n': '$4', 'p': '$5'}
        says = ['%s >= %d && %s <= %d' % (at, lo, at, hi) for at, (lo, hi) in zip(places.values(), bounds)]
        says += [text.format(**places)] if text else []
        Printer(lines, 'k%d' % i, body, 2)
        options = ['--block-dim=%d' % dims[0], '--grid-dim=%d' % dims[1], *('--assume=' + s for s in says)]
        for k in prove(collider, limit + options, lines, path):
            yield k, judge(k, body, lambda: check_digits(body, dims, bounds, holds)), lines


def judge_pitches(*how):
    return judge_digits(*how, Maker.pitched)


def main():
    ways = {'digits': judge_digits, 'pitches': judge_pitches}
    args = [a for a in sys.argv[1:] if a not in ways]
    way = next((ways[a] for a in sys.argv[1:] if a in ways), judge_mixed)
    collider = args[0]
    seed = int(args[1]) if len(args) > 1 else 1
    count = int(args[2]) if len(args) > 2 else 100
    limit = ['--prove-timeout=' + args[3]] if len(args) > 3 else []
    counts, failed = {}, 0
    with tempfile.TemporaryDirectory() as tmp:
        for first in range(0, count, PER_FILE):
            numbers = range(first, min(first + PER_FILE, count))
            for k, wrong, lines in way(collider, limit, seed, numbers, os.path.join(tmp, 'k.ptx')):
                counts[k['verdict']] = counts.get(k['verdict'], 0) + 1
                for w in wrong:
                    failed += 1
                    print('FAIL seed %d kernel %s (%s): %s' % (seed, k['name'], k['verdict'], w))
                    keep = os.environ.get('KEEP')
                    if keep:
                        with open(keep, 'w') as f:
                            f.write('\n'.join(lines) + '\n')
    print('seed %d: %d kernels: %s' % (seed, count, ', '.join(
        '%d %s' % (v, k) for k, v in sorted(counts.items()))))
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main()
