#!/usr/bin/env python3
"""random_values.py - random kernels whose races hang on what a value is.

    random_values.py COLLIDER ORACLE_RUN [SEED [COUNT [SHAPE]]]   SHAPE: one of the functions below

A number or an address that one thread hands to its block, by stores of all strengths and by all
atomics; numbers that threads draw from counters, sums of floats among them, and places that they
claim; places that a block draws on top of one addition; memory from malloc; ranks by masks of lanes and by votes; branches by fields of packed words.
A kernel is made of one or two such shapes and then changed in none to three places, so that most
have a twin that races. Judged by random_judge.py.
"""
import random_judge, sys

BLOCK, GRID, SEEDS = 64, 2, 4
FLOATS = {'.1': 0x3dcccccd, '1.': 0x3f800000, '1e9': 0x4e6e6b28, '2^24': 0x4b800000, '-0': 1 << 31,
          'h2': 0x3c003c00, 'h2 max': 0x7bff7bff}

# ---- trees: (name, field..., [statements]) ---------------------------------------------------------
# Variables: x and y are numbers, p and q generic addresses. A cell is 8 bytes of shared memory, or of
# global memory of the block or of the grid; an element is 4 bytes of an array at an index.

ONLY = None
GUARDS = ('first', 'last', 'second', 'fifth', 'thread 32', 'warp 0', 'warp 1', 'low lanes', 'even', 'block 0', 'all')
VARS, POINTERS = ('x', 'y'), ('p', 'q')
CELLS = [c + i for c in ('s', 's', 's', 'b', 'g') for i in '0012']
LEADS = ('total', 'total', 'one', 'half', 'more', 'size', 'max')
ARRAYS = ('row', 'row', 'out', 'in', 'p', 'q', 'table')
INDICES = ('0', '1', 'tid', 'tid', 'own', 'block', 'tid^1', 'tid/2', 'lane', 'x', 'y', 'x+tid', 'x*64+tid', 'x+y',
           'base+x', 'base+y')
LOADS = ('weak', 'weak', 'volatile', 'relaxed', 'add 0')
STORES = ('weak', 'weak', 'volatile', 'relaxed', 'exch', 'add', 'or', 'max', 'cas', 'xor', 'halves')
NUMBERS = ('0', '1', '2', '5', '63', 'tid', 'block', 'x', 'y', 'in block', 'in tid', *FLOATS)
DRAWS = ('add 1', 'add 1', 'add 2', 'add 256', 'sub 1', 'inc', 'dec', 'exch 1', 'cas', 'cas tid', 'or lane', 'xor 1',
         'max tid', 'f32 .1', 'f32 1.', 'f16x2', 'bf16x2', 'u64', 'add w')
PLACES = ('out block', 'out', 'row', 'row 32', 'in', 'table', 'cell', 'malloc', 'malloc', 'q', 'p')
TESTS = ('eq', 'ne', 'lt', 'ge')
RANKS = ('tile 4', 'tile 8', 'tile 16', 'tile 32', 'each 4th', 'vote even', 'vote in', 'active', 'match', 'vote tid')
FIELDS = ('field', 'insert', 'mix', 'shift', 'bit', 'times', 'low', 'sel')


def number(r):
    return r.choice(NUMBERS)


def element(r, arrays=ARRAYS):
    return (r.choice(arrays), r.choice(INDICES))


def one(r, *body):
    return ('if', r.choice(('first', 'first', 'fifth', 'thread 32')), list(body))


def test(r, var, *body):
    return ('test', var, r.choice(TESTS), r.choice((0, 1, 1, 2, 5, 7, 63)), list(body))


def bars(r):
    """Mostly what orders."""
    return [('bar',)] if r.random() < .85 else r.choice(([], [('syncwarp',)], [('fence',)]))


def use(r, v):
    """Something that hangs on the number v, the same in all threads of the block where it was handed."""
    kind = r.random()
    touch = ('touch', r.choice(('ld', 'st', 'st')), element(r, ('row', 'out')))
    if kind < .25:
        return [test(r, v, ('touch', 'st', ('out', r.choice(('block', '0', 'own', v)))))]
    if kind < .45:
        return [('repeat', v, [('touch', 'st', ('row', 'tid')), *bars(r), ('touch', 'ld', ('row', 'tid^1')), *bars(r)])]
    if kind < .6:
        return [('touch', 'st', (r.choice(('row', 'out')), 'base+' + v))]
    if kind < .8:
        return [test(r, v, ('bar',)), touch]
    return [test(r, v, ('exit', 'all')), ('touch', 'st', ('row', 'tid')), *bars(r), ('touch', 'ld', ('row', 'tid^1'))]


def handed(r):
    """One thread puts a number there, all read it; perhaps others write to it later or meanwhile."""
    cell, v = r.choice(CELLS), r.choice(VARS)
    put = lambda: one(r, ('put', cell, r.choice(STORES), number(r)))
    body = [('if', 'first', [('put', cell, r.choice(('weak', 'weak', 'exch')), number(r))]), *bars(r)]
    if r.random() < .4:
        body += [put(), *bars(r)]
    if r.random() < .3:
        body += [('if', 'warp 1', [*([('put', cell, r.choice(STORES), number(r))] if r.random() < .4 else []),
                                   ('exit', 'all')]), *bars(r)]
    if r.random() < .3:
        body += [put(), *bars(r)]
    body += [('get', v, cell, r.choice(LOADS)), *(bars(r) if r.random() < .5 else []), *use(r, v)]
    return body


def steps(r):
    """A loop with barriers that goes on as long as a cell says."""
    cell, v = r.choice(CELLS), r.choice(VARS)
    down = ('if', r.choice(('first', 'first', 'all')), [('put', cell, r.choice(('weak', 'weak', 'exch', 'add', 'volatile')),
                                                         r.choice(('less', 'less', '0', '1')))])
    row = [('touch', 'st', ('row', 'tid')), *bars(r), ('touch', 'ld', ('row', 'tid^1'))]
    return [('if', 'first', [('put', cell, 'weak', number(r))]), *bars(r),
            ('while', v, cell, r.choice(LOADS), [*row, *bars(r), down, *bars(r)])]


def pointer(r):
    """An address goes through a cell, and is used beside the name or address that it had."""
    cell, what = r.choice(CELLS[:-4]), r.choice(PLACES)
    who, own = r.choice(('first', 'first', 'fifth', 'thread 32', 'all')), r.choice(('tid', 'tid', '0', '1', 'base+x'))
    array = what.split()[0]
    beside = (array if array in ('row', 'out', 'in', 'table') else 'p', 'base+x' if what == 'out block' and own == '0' else own)
    how = r.choice(STORES)
    give = [('point', 'p', what), ('put', cell, how, 'p')]
    if r.random() < .2:  # in the array that is known by its name
        give = [('point', 'p', what), ('shift', 'p', r.choice((4, 128))), give[1]]
    take = [('get', 'q', cell, r.choice(LOADS)), ('touch', r.choice(('st', 'st', 'ld')), ('q', r.choice(('tid', 'tid', '0', '1', 'tid/2'))))]
    here = ('touch', r.choice(('st', 'st', 'ld')), beside)
    clear = [('if', 'first', [('put', cell, 'weak', 'null')]), ('bar',)] if how not in ('weak', 'exch') or r.random() < .3 else []
    body = [*clear, ('if', who, give), *bars(r), *([('if', r.choice(GUARDS), take)] if r.random() < .5 else take)]
    return body + (bars(r) if r.random() < .7 else []) + [('if', who, [here]) if r.random() < .7 else here]


def draws(r):
    """Numbers drawn from a counter, or claims of a place, that choose a place or who goes on."""
    cell, v, how = r.choice(CELLS), r.choice(VARS), r.choice(DRAWS)
    start = r.choice(('1e9', '2^24', '0', '-0') if 'f32' in how else ('h2 max', '0') if '16x2' in how else ('0', '0', '0', '1', '63'))
    body = [('if', 'first', [('put', cell, r.choice(('weak', 'weak', 'exch')), start)]), *bars(r),
            ('draw', v, cell, how)]
    if r.random() < .3:
        body.append(('if', r.choice(('second', 'thread 32', 'all')), [('put', cell, r.choice(STORES), r.choice(('0', start)))]))
    if r.random() < .3:
        body = [s if s[0] != 'draw' else ('if', r.choice(GUARDS), [s]) for s in body]
    mine = ('out', v) if cell[0] == 'g' else (r.choice(('row', 'out')), 'base+' + v)
    touch = ('touch', 'st', mine if r.random() < .6 else (r.choice(('row', 'out')), r.choice(('0', 'block', 'base+' + v, v, 'tid'))))
    if 'f32' in how or '16x2' in how:
        is_start = ('bits', v, 'eq', start if start != '-0' else '0', [touch])
        body.append(r.choice((is_start, touch)))
    else:
        body.append(r.choice((touch, ('test', v, r.choice(('eq', 'eq', 'lt')), r.choice((0, 0, 1, 62, 63, 64, 127)), [touch]))))
    if r.random() < .4:
        body += bars(r) + [('touch', 'ld', element(r, ('row', 'out')))]
    return body


def shares(r):
    """Places that a block draws from its counter, on top of what one thread adds to the grid's; in rounds."""
    often = lambda: [('bar',)] if r.random() < .95 else bars(r)
    c, b = r.choice(('s0', 's0', 's1')), r.choice(('s0', 's1', 's1'))
    leader, who, how = r.choice(('first', 'first', 'fifth', 'last')), r.choice(GUARDS), r.choice(('add 1', 'add 1', 'add w', 'add 2'))
    clear = ('if', r.choice(('first', 'first', 'all', 'last')), [('put', c, 'weak', r.choice(('0', '0', '0', '5')))])
    lead = [('lead', c, 'g0', b, 'total' if r.random() < .9 else r.choice(LEADS))]
    use = ('touch', 'st', ('far', 'x+y'))
    if how != 'add 1' and r.random() < .8:
        use = ('each', 'in tid' if how == 'add w' else '2', [('touch', 'st', ('far', 'x+y+j'))])
    elif r.random() < .15:
        use = ('touch', r.choice(('ld', 'st')), (r.choice(('far', 'row', 'out')), r.choice(('x', 'x+y', 'y', 'x+tid'))))
    early, late = [clear, *often()], []
    if r.random() < .3:
        early, late, lead = [], early, lead + [('put', c, 'weak', '0')]
    body = [*early, ('if', who, [('draw', 'x', c, how)]), *often()]
    if r.random() < .2:  # a queue of the block
        body += [('if', who, [('touch', 'st', ('row', 'x'))]), *often()]
        use = ('touch', 'ld', ('row', 'tid'))
    body += [('if', leader, lead), *often(), ('get', 'y', b, 'weak'), ('if', who, [use]), *often()]
    if r.random() < .15:
        body = [('if', leader, [('lead', c, 'g0', b, 'size')]), *often(), ('get', 'y', b, 'weak'), ('touch', 'st', ('far', 'y+tid'))]
    return [*late, ('times', 2, body)] if r.random() < .6 else late + body


def ranks(r):
    """Ranks among lanes."""
    v, kind = r.choice(VARS), r.choice(RANKS)
    at = r.choice(('by rank', 'by rank', 'by rank', 'warp+' + v, 'base+' + v))
    body = [('rank', v, kind, r.choice((0, 0, 0, 1)))]
    put = ('touch', 'st', (r.choice(('row', 'row', 'row', 'out')), at if at != 'by rank' else 'rank ' + kind + ' ' + v))
    guard = {'vote even': 'even', 'active': 'low lanes'}.get(kind)
    if guard and r.random() < .8:
        put = ('if', guard, [put])
    return body + [put] + bars(r) + ([('touch', 'ld', ('row', 'tid'))] if r.random() < .5 else [])


def fields(r):
    """A branch, or a place, by bits of a word of which some are known."""
    v = r.choice(VARS)
    body = [('set', v, r.choice(('in tid', 'in block', 'tid', 'in tid')))]
    body += [('calc', v, r.choice(FIELDS), r.choice((1, 2, 3, 4, 6)), r.choice((0, 1, 5, 8, 9, 63))) for _ in range(r.randint(1, 4))]
    k = r.choice((0, 1, 2, 4, 5, 8, 9, 16, 63))
    if r.random() < .6:
        return body + [('touch', 'st', ('row', 'tid')), ('test', v, r.choice(TESTS), k, [('bar',)]), ('touch', 'ld', ('row', 'tid^1'))]
    return body + [('test', v, r.choice(TESTS), k, [('touch', 'st', ('out', r.choice(('0', 'block', 'base+' + v))))])]


def shape(r):
    kinds = (handed, handed, handed, steps, pointer, pointer, pointer, draws, draws, draws, shares, shares, ranks, fields)
    if ONLY:
        return ONLY(r)
    body = r.choice(kinds)(r)
    if r.random() < .25:
        body += bars(r) + r.choice(kinds)(r)
    return body


# What the fields of each statement may become; None: a number, or an element.
CHOICES = {'if': (GUARDS,), 'exit': (GUARDS,), 'test': (VARS, TESTS, None), 'bits': (VARS, TESTS, tuple(FLOATS)), 'repeat': (VARS,),
           'while': (VARS, CELLS, LOADS), 'put': (CELLS, STORES, NUMBERS), 'get': (VARS, CELLS, LOADS), 'set': (VARS, NUMBERS),
           'draw': (VARS, CELLS, DRAWS), 'rank': (VARS, RANKS, None), 'calc': (VARS, FIELDS, None, None), 'point': (POINTERS, PLACES),
           'touch': (('ld', 'st'), None), 'shift': (POINTERS, None), 'times': (None,), 'each': (('in tid', '1', '2'),),
           'lead': (CELLS, CELLS, CELLS, LEADS)}


def other(r, s, k):
    f, choices = s[k], CHOICES[s[0]][k - 1]
    if isinstance(f, tuple):
        return element(r) if r.random() < .3 else (f[0], r.choice(INDICES))
    if choices is None:
        return max(0, f + r.choice((-1, 1, 1, 2)) * (4 if s[0] == 'shift' else 1))
    return r.choice(POINTERS if f in POINTERS else ('null', 'p', 'q') if f == 'null' else choices)


def change(r, body):
    """One change, in place, or none: many of the shapes are wrong as they are."""
    if r.random() < .5:
        return
    where, i, how, s = random_judge.rearrange(r, body)
    if how < .5:
        return
    if how < .6:
        where[i] = r.choice((('if', r.choice(GUARDS), [s]), test(r, r.choice(VARS), s)))
    elif how < .66:
        where.insert(i, r.choice((('touch', r.choice(('ld', 'st')), element(r)), ('bar',), ('exit', r.choice(GUARDS)),
                                  ('put', r.choice(CELLS), r.choice(STORES), number(r)))))
    else:
        at = [k for k in range(1, len(s)) if not isinstance(s[k], list)]
        if at:
            k = r.choice(at)
            where[i] = s[:k] + (other(r, s, k),) + s[k + 1:]


# ---- as PTX ----------------------------------------------------------------------------------------

class Text:
    """%r0 tid, %r1 block, %r2 lane, %r3 own, %r4 lanes below, %r5 x, %r6 y, %r7 what is loaded, %r8 block * 64."""

    def __init__(self, name):
        self.name, self.out, self.n = name, [], {'r': 9, 'w': 8, 'p': 1}
        self.labels, self.turn = 0, None

    def say(self, s):
        self.out.append('\t' + s)

    def new(self, kind='r'):
        self.n[kind] += 1
        return '%%%s%d' % (kind, self.n[kind] - 1)

    def op(self, name, *args):
        r = self.new('w' if name.endswith('64') and name != 'cvt.u32.u64' else 'r')
        self.say('%s %s, %s;' % (name, r, ', '.join(map(str, args))))
        return r

    def var(self, v):
        return {'x': '%r5', 'y': '%r6', 'p': '%w4', 'q': '%w5'}[v]

    def number(self, v):
        if v in FLOATS:
            return self.op('mov.u32', FLOATS[v])
        if v in VARS:
            return self.var(v)
        if v in ('tid', 'block'):
            return '%r0' if v == 'tid' else '%r1'
        if v.startswith('in '):
            r = self.new()
            self.say('ld.global.u32 %s, [%s];' % (r, self.wide('%r1' if v == 'in block' else '%r0', 4, '%w2')))
            return r
        return self.op('mov.u32', int(v))

    def wide(self, index, size, base):
        w = self.new('w')
        self.say('mad.wide.u32 %s, %s, %d, %s;' % (w, index, size, base))
        return w

    def cell(self, c):
        """Space and address."""
        i = int(c[1])
        if c[0] == 's':
            return '.shared', '[%s_c+%d]' % (self.name, 8 * i)
        if c[0] == 'b':
            return '.global', '[%s+%d]' % (self.wide('%r1', 64, '%w1'), 8 * i)
        return '.global', '[%%w1+%d]' % (1024 + 8 * i)

    def index(self, i):
        if i.startswith('rank '):
            f, v = i.split()[1:-1], i[-1]
            if f[0] == 'tile':
                return self.op('add.u32', self.op('and.b32', '%r3', -int(f[1])), self.var(v))
            if f[0] == 'each':
                x = self.op('and.b32', '%r2', 3)
                return self.op('add.u32', self.op('mad.lo.u32', x, 8, self.var(v)), self.op('and.b32', '%r3', -32))
            i = 'warp+' + v
        names = {'tid': '%r0', 'own': '%r3', 'block': '%r1', 'lane': '%r2', 'x': '%r5', 'y': '%r6'}
        if i in names:
            return names[i]
        if i in ('0', '1'):
            return self.op('mov.u32', int(i))
        if i == 'tid^1':
            return self.op('xor.b32', '%r0', 1)
        if i == 'tid/2':
            return self.op('shr.u32', '%r0', 1)
        if i == 'x+y':
            return self.op('add.u32', '%r5', '%r6')
        if i == 'x+y+j':
            return self.op('add.u32', self.op('add.u32', '%r5', '%r6'), self.turn or 0)
        if i in ('x+tid', 'y+tid'):
            return self.op('add.u32', self.var(i[0]), '%r0')
        if i == 'x*64+tid':
            return self.op('mad.lo.u32', '%r5', 64, '%r0')
        base = '%r8' if i.startswith('base') else self.op('and.b32', '%r3', -32)
        return self.op('add.u32', base, self.var(i[-1]))

    def element(self, e):
        i = self.index(e[1])
        if e[0] == 'row':
            a = self.op('mov.u32', self.name + '_s')
            return '.shared', '[%s]' % self.op('mad.lo.u32', self.op('and.b32', i, 63), 4, a)
        if e[0] in POINTERS:
            return '', '[%s]' % self.wide(self.op('and.b32', i, 63), 4, self.var(e[0]))
        if e[0] == 'far':
            return '.global', '[%s]' % self.wide(i, 4, '%w0')
        base = {'out': '%w0', 'in': '%w2', 'table': '%w1'}[e[0]]
        return '.global', '[%s]' % self.wide(self.op('and.b32', i, 4095), 4, base)

    def guard(self, g):
        p = self.new('p')
        says = {'first': ('eq', '%r0', 0), 'second': ('eq', '%r0', 1), 'last': ('eq', '%r0', BLOCK - 1), 'fifth': ('eq', '%r0', 5), 'thread 32': ('eq', '%r0', 32),
                'warp 0': ('lt', '%r0', 32), 'warp 1': ('ge', '%r0', 32), 'low lanes': ('lt', '%r2', 8), 'block 0': ('eq', '%r1', 0),
                'all': ('ge', '%r0', 0)}
        name, a, b = says[g] if g in says else ('eq', self.op('and.b32', '%r0', 1), 0)
        self.say('setp.%s.u32 %s, %s, %s;' % (name, p, a, b))
        return p

    def label(self):
        self.labels += 1
        return '$%s_%d' % (self.name, self.labels)

    def only(self, p, body):
        end = self.label()
        self.say('@!%s bra %s;' % (p, end))
        self.body(body)
        self.out.append(end + ':')

    def load(self, cell, how, is_pointer):
        space, a = self.cell(cell)
        bits = 64 if is_pointer else 32
        r = self.new('w' if is_pointer else 'r')
        if how == 'add 0':
            self.say('atom.relaxed.gpu%s.add.u%d %s, %s, 0;' % (space, bits, r, a))
        else:
            form = {'weak': '', 'volatile': '.volatile', 'relaxed': '.relaxed.gpu'}.get(how, '')
            self.say('ld%s%s.u%d %s, %s;' % (form, space, bits, r, a))
        return r

    def put(self, cell, how, value):
        space, a = self.cell(cell)
        is_pointer = value in (*POINTERS, 'null')
        bits = 64 if is_pointer else 32
        if value == 'less':  # with 'add', add -1
            v = self.op('mov.u32', -1) if how == 'add' else self.op('sub.u32', self.load(cell, 'weak', False), 1)
        else:
            v = '%w3' if value == 'null' else self.var(value) if is_pointer else self.number(value)
        if how == 'halves' and is_pointer:
            low, high = self.new(), self.new()
            self.say('mov.b64 {%s, %s}, %s;' % (low, high, v))
            self.say('st%s.u32 %s, %s;' % (space, a, low))
            self.say('st%s.u32 %s+4], %s;' % (space, a[:-1], high))
        elif how in ('weak', 'volatile', 'relaxed', 'halves'):
            form = {'volatile': '.volatile', 'relaxed': '.relaxed.gpu'}.get(how, '')
            self.say('st%s%s.u%d %s, %s;' % (form, space, bits, a, v))
        else:
            kind = 'u' if how in ('add', 'max') else 'b'
            first = '0, ' if how == 'cas' else ''
            self.say('atom.relaxed.gpu%s.%s.%s%d %s, %s, %s%s;' % (space, how, kind, bits, self.new('w' if is_pointer else 'r'), a, first, v))

    def draw(self, v, cell, how):
        space, a = self.cell(cell)
        x, name, f = self.var(v), 'atom.relaxed.gpu' + space, how.split()
        if how == 'add w':
            self.say('%s.add.u32 %s, %s, %s;' % (name, x, a, self.weight()))
        elif f[0] in ('add', 'sub'):
            self.say('%s.add.u32 %s, %s, %d;' % (name, x, a, int(f[1]) * (1 if f[0] == 'add' else -1)))
        elif f[0] in ('inc', 'dec'):
            self.say('%s.%s.u32 %s, %s, 1023;' % (name, f[0], x, a))
        elif f[0] == 'cas':
            self.say('%s.cas.b32 %s, %s, 0, %s;' % (name, x, a, self.op('add.u32', '%r0', 1) if 'tid' in f else 1))
        elif f[0] == 'f32':
            self.say('mov.f32 %%f0, 0f%08x;' % FLOATS[f[1]])
            self.say('%s.add.f32 %%f1, %s, %%f0;' % (name, a))
            self.say('mov.b32 %s, %%f1;' % x)
        elif f[0] in ('f16x2', 'bf16x2'):
            self.say('%s.add.noftz.%s %s, %s, %s;' % (name, f[0], x, a, self.op('mov.u32', FLOATS['h2'])))
        elif f[0] == 'u64':
            w = self.new('w')
            self.say('%s.add.u64 %s, %s, 1;' % (name, w, a))
            self.say('cvt.u32.u64 %s, %s;' % (x, w))
        else:
            v = {'exch': 1, 'xor': 1, 'or': '%r2', 'max': '%r0'}[f[0]]
            self.say('%s.%s.%s32 %s, %s, %s;' % (name, f[0], 'u' if f[0] == 'max' else 'b', x, a, v))

    def weight(self):
        return self.op('and.b32', self.number('in tid'), 3)

    def lead(self, cell, grid, base, how):
        """One addition for all, and where its answer goes."""
        n = self.load(cell, 'weak', False)
        if how in ('one', 'size', 'max'):
            n = self.op('mov.u32', 1 if how == 'one' else BLOCK)
        elif how != 'total':
            n = self.op('shr.u32', n, 1) if how == 'half' else self.op('add.u32', n, 1)
        was = self.new()
        self.say('atom.relaxed.gpu%s.%s.u32 %s, %s, %s;' % (self.cell(grid)[0], 'max' if how == 'max' else 'add', was, self.cell(grid)[1], n))
        self.say('st%s.u32 %s, %s;' % (*self.cell(base), was))

    def rank(self, v, kind, more):
        f = kind.split()
        if f[0] == 'tile':
            low = self.op('and.b32', '%r2', -int(f[1]))
            mask = self.op('shl.b32', self.op('mov.u32', ((1 << int(f[1])) - 1) << more & 0xffffffff), low)
        elif f[0] == 'each':
            mask = self.op('shl.b32', self.op('mov.u32', 0x11111111), self.op('and.b32', '%r2', 3))
        elif f[0] == 'vote':
            p, mask = self.new('p'), self.new()
            x = '%r0' if f[1] == 'even' else self.number('in tid') if f[1] == 'in' else self.op('shr.u32', '%r0', 2)
            self.say('setp.eq.u32 %s, %s, 0;' % (p, self.op('and.b32', x, 1)))
            self.say('vote.sync.ballot.b32 %s, %s, -1;' % (mask, p))
        elif f[0] == 'active':
            mask = self.new()
            self.say('activemask.b32 %s;' % mask)
        else:
            mask = self.op('match.any.sync.b32', self.op('and.b32', '%r0', 3), -1)
        below = self.op('and.b32', mask, '%r4')
        self.say('popc.b32 %s, %s;' % (self.var(v), below))
        if more and f[0] != 'tile':
            self.say('add.u32 %s, %s, %d;' % (self.var(v), self.var(v), more))

    def calc(self, v, how, at, n):
        x = self.var(v)
        if how == 'field':
            self.say('bfe.u32 %s, %s, %d, %d;' % (x, x, at, at))
        elif how == 'insert':
            self.say('bfi.b32 %s, %d, %s, %d, 4;' % (x, n, x, at))
        elif how == 'mix':
            y = self.op('and.b32', x, ~(15 << at))
            self.say('or.b32 %s, %s, %d;' % (x, y, n << at))
        elif how in ('shift', 'bit', 'low'):
            name = {'shift': 'shl', 'bit': 'or', 'low': 'and'}[how]
            self.say('%s.b32 %s, %s, %d;' % (name, x, x, at if how == 'shift' else n))
        elif how == 'times':
            self.say('mad.lo.u32 %s, %s, %d, %d;' % (x, x, 1 << at, n))
        else:
            p = self.new('p')
            self.say('setp.lt.u32 %s, %%r0, 32;' % p)
            self.say('selp.b32 %s, %s, %d, %s;' % (x, x, n << at, p))

    def point(self, v, what):
        p = self.var(v)
        if what == 'out block':
            self.say('mad.wide.u32 %s, %%r8, 4, %%w0;' % p)
        elif what in ('row', 'row 32', 'cell'):
            self.say('cvta.shared.u64 %s, %s;' % (p, self.op('mov.u64', '%s_%s' % (self.name, 'c' if what == 'cell' else 's'))))
            if what == 'row 32':
                self.say('add.u64 %s, %s, 128;' % (p, p))
        elif what == 'malloc':
            self.say('{ .param .b64 size; .param .b64 at; st.param.b64 [size], 256;')
            self.say('call.uni (at), malloc, (size); ld.param.b64 %s, [at]; }' % p)
        else:
            self.say('mov.u64 %s, %s;' % (p, self.var(what) if what in POINTERS else {'out': '%w0', 'in': '%w2', 'table': '%w1'}[what]))

    def shift(self, v, n):
        self.say('add.u64 %s, %s, %d;' % (self.var(v), self.var(v), n))

    def statement(self, s):
        kind = s[0]
        if kind == 'if':
            self.only(self.guard(s[1]), s[2])
        elif kind in ('test', 'bits'):
            p, k = self.new('p'), FLOATS.get(s[3], 0) if kind == 'bits' else s[3]
            self.say('setp.%s.u32 %s, %s, %d;' % (s[2], p, self.var(s[1]), k))
            self.only(p, s[4])
        elif kind == 'exit':
            end, p = self.label(), self.guard(s[1])
            self.say('@!%s bra %s;' % (p, end))
            self.say('ret;')
            self.out.append(end + ':')
        elif kind in ('repeat', 'while', 'times', 'each'):
            self.loop(s)
        elif kind == 'bar':
            self.say('bar.sync 0;')
        elif kind == 'syncwarp':
            self.say('bar.warp.sync -1;')
        elif kind == 'fence':
            self.say('fence.acq_rel.gpu;')
        elif kind == 'get':
            self.say('mov.b%d %s, %s;' % (64 if s[1] in POINTERS else 32, self.var(s[1]), self.load(s[2], s[3], s[1] in POINTERS)))
        elif kind == 'set':
            self.say('mov.b32 %s, %s;' % (self.var(s[1]), self.number(s[2])))
        elif kind == 'touch':
            space, a = self.element(s[2])
            if s[1] == 'st':
                self.say('st%s.u32 %s, %%r7;' % (space, a))
            else:
                r = self.new()
                self.say('ld%s.u32 %s, %s;' % (space, r, a))
                self.say('add.u32 %%r7, %%r7, %s;' % r)
        else:
            {'put': self.put, 'shift': self.shift, 'draw': self.draw, 'lead': self.lead, 'rank': self.rank, 'calc': self.calc, 'point': self.point}[kind](*s[1:])

    def loop(self, s):
        """Of at most three turns."""
        i, p, top, end = self.op('mov.u32', 0), self.new('p'), self.label(), self.label()
        n = self.op('and.b32', self.var(s[1]), 3) if s[0] == 'repeat' else 3
        if s[0] in ('times', 'each'):
            n = self.weight() if s[1] == 'in tid' else min(3, int(s[1]))
        before, self.turn = self.turn, i if s[0] == 'each' else self.turn
        self.out.append(top + ':')
        self.say('setp.ge.u32 %s, %s, %s;' % (p, i, n))
        self.say('@%s bra %s;' % (p, end))
        if s[0] == 'while':
            self.say('mov.u32 %s, %s;' % (self.var(s[1]), self.load(s[2], s[3], False)))
            self.say('setp.le.s32 %s, %s, 0;' % (p, self.var(s[1])))
            self.say('@%s bra %s;' % (p, end))
        self.body(s[-1])
        self.turn = before
        self.say('add.u32 %s, %s, 1;' % (i, i))
        self.say('bra %s;' % top)
        self.out.append(end + ':')

    def body(self, statements):
        for s in statements:
            self.statement(s)

    def ptx(self, statements):
        self.body(statements)
        n = self.name
        self.say('st.global.u32 [%s+65536], %%r7;' % self.wide('%r3', 4, '%w0'))  # so that loads are made use of
        head = ['.visible .entry %s(.param .u64 %s_d, .param .u64 %s_f, .param .u64 %s_i)' % (n, n, n, n), '{',
                '\t.reg .pred %%p<%d>;' % self.n['p'], '\t.reg .b32 %%r<%d>;' % self.n['r'],
                '\t.reg .b64 %%w<%d>;' % self.n['w'], '\t.reg .f32 %f<2>;',
                '\t.shared .align 8 .b8 %s_s[256];' % n, '\t.shared .align 8 .b8 %s_c[32];' % n]
        head += ['\tld.param.u64 %%w%d, [%s_%s];' % (i, n, p) for i, p in enumerate('dfi')]
        head += ['\tcvta.to.global.u64 %%w%d, %%w%d;' % (i, i) for i in range(3)]
        head += ['\tmov.u32 %r0, %tid.x;', '\tmov.u32 %r1, %ctaid.x;', '\tand.b32 %r2, %r0, 31;', '\tshl.b32 %r8, %r1, 6;',
                 '\tadd.u32 %r3, %r8, %r0;', '\tshl.b32 %r4, 1, %r2;', '\tsub.u32 %r4, %r4, 1;', '\tmov.u32 %r5, 0;',
                 '\tmov.u32 %r6, 0;', '\tmov.u32 %r7, 1;', '\tmov.u64 %w3, 0;', '\tmov.u64 %w4, %w0;', '\tmov.u64 %w5, %w0;']
        return '\n'.join(head + self.out + ['\tret;', '}', ''])


HEAD = '.version 8.3\n.target sm_90\n.address_size 64\n\n' \
       '.extern .func (.param .b64 at) malloc(.param .b64 size);\n\n'

if __name__ == '__main__':
    ONLY = globals()[sys.argv[5]] if len(sys.argv) > 5 else None
    random_judge.main(shape, change, lambda i, k: Text('k%d' % i).ptx(k), HEAD, BLOCK, GRID, ('zeros', 'ramp'), SEEDS)
