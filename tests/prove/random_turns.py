#!/usr/bin/env python3
"""random_turns.py - random loops over sums of counters, compiled by nvcc, judged by prove and by running them.

    random_turns.py COLLIDER NVCC [SEED [COUNT [-G | -O3]]]

Loops of all heads and steps, some unrolled, left early, with what they leave used after them; numbers
that they carry; choices; indices that are sums of numbers times counters, positions and their digits,
with 32 or 64 bits, signed or not, and stores of 1 to 16 bytes. The sizes mostly fit, so that most
kernels are proven. The tree itself is run, by an interpreter that shares nothing with prove nor with
nvcc, for some values of the two scalars: race-free must mean that no two threads store to one byte. A
launch in which a signed number overflows or a loop doesn't end isn't judged.
"""
import json, os, random, subprocess, sys, tempfile

PER_FILE = 25
SCALARS = ((0, 1), (1, 2), (3, 4), (5, 1), (8, 7), (13, 2), (-1, 3), (64, 5))
STEPS = 1000
MASK = (1 << 32) - 1


class Skip(Exception):
    pass


class Leave(Exception):
    pass


class Next(Exception):
    pass


# ---- trees ------------------------------------------------------------------------------------------
# An expression: ('c', n), ('v', name), (op, x, y), ('?', cond, x, y), ('long', x), ('uns', x). A condition: (rel, x, y).

class Maker:
    def __init__(self, r):
        self.r, self.n, self.block, self.grid = r, 0, r.choice((4, 6, 8, 16, 32)), r.choice((1, 1, 2, 3))
        self.counters = []  # (name, how many values, smallest value's tree)
        self.left = []      # names that loops left
        self.stores = 0

    def name(self):
        self.n += 1
        return 'v%d' % self.n

    def number(self, *more):
        return ('c', self.r.choice((0, 1, 2, 3, 4, 5, 7, 8, 16, *more)))

    def leaf(self):
        r = self.r
        pool = [('v', 'tid'), ('v', 'tid'), ('v', 'bid'), ('v', 'n'), ('v', 'm'), self.number(-1)]
        pool += [('v', c[0]) for c in self.counters] * 2 + [('v', x) for x in self.left]
        return r.choice(pool)

    def cond(self):
        r = self.r
        a = self.leaf()
        return (r.choice(('<', '<', '>=', '==', '!=', '>', '<=')), a, r.choice((self.number(), self.number(), self.leaf())))

    def start(self):
        r = self.r
        return r.choice((('c', 0), ('c', 0), ('c', 0), ('c', 1), ('c', -3), ('v', 'tid'), ('*', ('v', 'tid'), self.number()), ('v', 'n'), ('v', 'm'),
                         self.number(), self.leaf(), ('+', self.leaf(), self.number())))

    def loop(self, depth):
        """The statement, with the counter's name, how many turns it has at most and where it starts, None if that isn't known."""
        r, v = self.r, self.name()
        kind = r.choice(('up', 'up', 'up', 'down', 'until', 'until', 'countdown', 'do', 'wide', 'free'))
        s, turns, step = self.start(), r.choice((1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 17)), r.choice((1, 1, 1, 1, 2, 3, 4))
        typ, unroll = r.choice(('int', 'int', 'int', 'unsigned')), r.choice((None, None, None, 1, 2, 3, 4, 8))
        low = s
        if kind in ('up', 'wide'):
            end = ('+', s, ('c', turns * step - r.randrange(step))) if s[0] != 'c' else ('c', s[1] + turns * step - r.randrange(step))
            if r.random() < .1:
                end = r.choice((('v', 'n'), ('v', 'm'), ('c', turns * step)))
            head = (v, typ, s, '<', end, step)
            if kind == 'wide':
                head = (v, 'int', s, '<', ('wide', end), step)
        elif kind == 'down':
            low = s
            head = (v, 'int', ('+', s, ('c', (turns - 1) * step)), '>=', s, -step)
        elif kind == 'until':
            step = r.choice((1, 1, 1, -1, -1, 2))
            if step > 0:
                head = (v, typ, s, '!=', ('+', s, ('c', turns * step)), step)
            else:
                head = (v, 'int', ('+', s, ('c', turns)), '!=', s, -1)
                low = ('+', s, ('c', 1))
        elif kind == 'countdown':
            head, low = (v, typ, r.choice((('c', turns), ('v', 'n'), ('v', 'm'))), 'while', None, -1), ('c', 0)
        elif kind == 'do':
            head = (v, typ, s, 'do', ('+', s, ('c', turns * step)), step)
        else:
            head = (v, typ, s, r.choice(('<', '!=', '>', '>=', '<=')), r.choice((('v', 'n'), ('v', 'm'), self.number(), self.leaf())), r.choice((1, 1, 2, -1, -1, 3, -2)))
        self.counters.append((v, turns, low, abs(step) if kind != 'countdown' else 1))
        body = self.several(depth + 1)
        if r.random() < .2:
            body.insert(r.randrange(len(body) + 1), (r.choice(('break', 'break', 'continue')), self.cond()))
        self.counters.pop()
        if r.random() < .6:
            self.left.append(v)
        return ('loop', head, unroll, body)

    def parts(self):
        """What the thread's own numbers and the counters around are: (tree, how many values)."""
        r, parts, own = self.r, [], ('v', 'tid')
        if self.grid > 1:
            own = ('+', ('*', ('v', 'bid'), ('c', self.block)), own)
        k, total = r.choice((2, 3, 4, 8)), self.block * self.grid
        x = r.random()
        if x < .5:
            parts.append((own, total))
        elif x < .7:
            parts += [(('%', own, ('c', k)), k), (('/', own, ('c', k)), -(-total // k))]
        elif x < .85 and k in (2, 4, 8):
            parts += [(('&', own, ('c', k - 1)), k), (('>>', own, ('c', k.bit_length() - 1)), -(-total // k))]
        else:
            parts += [(('v', 'tid'), self.block), (('v', 'bid'), self.grid)]
        for v, turns, low, step in self.counters:
            if r.random() < .95:
                t = ('v', v)
                if r.random() < .9 and low != ('c', 0):
                    t = ('-', t, low)
                parts.append((t, (turns - 1) * step + 1))
                if r.random() < .15:
                    k = r.choice((2, 3, 4))
                    parts[-1:] = [(('%', ('uns', t), ('c', k)), k), (('/', ('uns', t), ('c', k)), (turns * step + k - 1) // k)]
        if r.random() < .1:
            parts.append((('?', self.cond(), self.leaf(), self.leaf()), 8))
        if self.left and r.random() < .15:
            parts.append((('v', r.choice(self.left)), r.choice((1, 8, 16))))
        r.shuffle(parts)
        return parts

    def index(self):
        r, sum, size = self.r, None, self.r.choice((1, 1, 1, 2, 3))
        is_long = r.random() < .2
        for t, n in self.parts():
            k = size + (r.choice((-1, 1, 1, 2, -size + 1)) if r.random() < .05 else 0)
            t = ('long', t) if is_long else t
            term = t if k == 1 else ('*', t, ('c', k))
            if r.random() < .1:
                term = ('*', t, ('c', -k))
            sum = term if sum is None else ('+', sum, term)
            size *= max(n, 1)
        if self.stores > 1 and r.random() < .75:  # elsewhere than the others
            sum = ('+', sum, ('c', self.stores * 20000))
        if r.random() < .3:
            sum = ('+', sum, r.choice((self.number(-1), ('v', 'n'), ('v', 'm'), ('c', size))))
        if r.random() < .1:
            sum = ('uns', sum)
        return sum

    def store(self):
        self.stores += 1
        return ('store', self.r.choice((4, 4, 4, 8, 1, 16)), self.index())

    def several(self, depth):
        r, out = self.r, []
        for _ in range(r.choice((1, 1, 1, 2, 2, 3)) if depth else r.choice((1, 1, 2, 2))):
            x = r.random()
            if x < (.7, .35, .15)[min(depth, 2)] and depth < 3:
                out.append(self.loop(depth))
            elif x < .85:
                s = self.store()
                out.append(s)
                if r.random() < .1:
                    out.append(('store', s[1], ('+', s[2], self.number(-1, 64))))
                    self.stores += 1
            elif x < .95:
                out.append(('if', self.cond(), [self.store()] if depth > 2 or r.random() < .7 else self.several(depth + 1)))
            elif self.left:
                out.append((r.choice(('set', 'more')), r.choice(self.left), r.choice((self.leaf(), self.number(-1)))))
        return out

    def kernel(self):
        body = self.several(0)
        while not self.stores:
            body += self.several(0)
        return body


# ---- as CUDA C++ --------------------------------------------------------------------------------------

TYPES = {1: 'unsigned char', 4: 'int', 8: 'int2', 16: 'int4'}


def text_of(x):
    if x[0] == 'c':
        return '(%d)' % x[1] if x[1] < 0 else str(x[1])
    if x[0] == 'v':
        return x[1]
    if x[0] == '?':
        return '(%s ? %s : %s)' % tuple(map(text_of, x[1:]))
    if x[0] in ('long', 'uns', 'wide'):
        return '(%s)%s' % ({'long': 'long long', 'uns': 'unsigned', 'wide': 'size_t'}[x[0]], '(%s)' % text_of(x[1]))
    return '(%s %s %s)' % (text_of(x[1]), x[0], text_of(x[2]))


def lines_of(body, tabs, names):
    out, t = [], '\t' * tabs
    for s in body:
        if s[0] == 'store':
            out.append('%s((%s *)a)[%s] = %s;' % (t, TYPES[s[1]], text_of(s[2]), {8: 'make_int2(1, 2)', 16: 'make_int4(1, 2, 3, 4)'}.get(s[1], '1')))
        elif s[0] == 'if':
            out += ['%sif (%s) {' % (t, text_of(s[1])), *lines_of(s[2], tabs + 1, names), t + '}']
        elif s[0] in ('break', 'continue'):
            out.append('%sif (%s) %s;' % (t, text_of(s[1]), s[0]))
        elif s[0] in ('set', 'more'):
            out.append('%s%s %s %s;' % (t, s[1], '=' if s[0] == 'set' else '+=', text_of(s[2])))
        else:
            (v, typ, start, rel, end, step), unroll, inner = s[1:]
            names.append((typ, v))
            hint = ['%s#pragma unroll %d' % (t, unroll)] if unroll else []
            inner = lines_of(inner, tabs + 1, names)
            if rel == 'while':
                out += hint + ['%sfor (%s = %s; %s-- > 0;) {' % (t, v, text_of(start), v), *inner, t + '}']
            elif rel == 'do':
                out += ['%s%s = %s;' % (t, v, text_of(start)), *hint, t + 'do {', *inner, '%s\t%s += %d;' % (t, v, step), '%s} while (%s < %s);' % (t, v, text_of(end))]
            else:
                out += hint + ['%sfor (%s = %s; %s %s %s; %s += %d) {' % (t, v, text_of(start), v, rel, text_of(end), v, step), *inner, t + '}']
    return out


def source(name, body):
    names = []
    inner = lines_of(body, 1, names)
    return 'extern "C" __global__ void %s(char *a, int n, int m)\n{\n\tint tid = threadIdx.x, bid = blockIdx.x;\n%s%s\n}\n' % (
        name, ''.join('\t%s %s = 0;\n' % x for x in names), '\n'.join(inner))


# ---- running it ---------------------------------------------------------------------------------------
# A value is (number, kind): kind 'i', 'u' or 'l' (long long), as C converts them.

def fit(n, kind):
    if kind == 'u':
        return n & MASK, kind
    if kind == 'z':
        return n & (1 << 64) - 1, kind
    if not -(1 << (31 if kind == 'i' else 63)) <= n < 1 << (31 if kind == 'i' else 63):
        raise Skip
    return n, kind


def common(x, y):
    for kind in 'zlu':
        if kind in (x[1], y[1]):
            return convert(x, kind), convert(y, kind), kind
    return x[0], y[0], 'i'


def convert(x, kind):
    return x[0] & MASK if kind == 'u' else x[0] & (1 << 64) - 1 if kind == 'z' else x[0]


def signed(n):
    n &= MASK
    return n - (1 << 32) if n >> 31 else n


class Thread:
    def __init__(self, tid, bid, n, m):
        self.v = {'tid': (tid, 'i'), 'bid': (bid, 'i'), 'n': (n, 'i'), 'm': (m, 'i')}
        self.kind, self.steps, self.bytes = {}, 0, {}

    def ev(self, x):
        op = x[0]
        if op == 'c':
            return x[1], 'i'
        if op == 'v':
            return self.v.get(x[1], (0, 'i'))
        if op == '?':
            a, b = self.ev(x[2]), self.ev(x[3])
            p, q, kind = common(a, b)
            return (p if self.cond(x[1]) else q), kind
        if op == 'long':
            return self.ev(x[1])[0], 'l'
        if op == 'uns':
            return self.ev(x[1])[0] & MASK, 'u'
        if op == 'wide':
            return self.ev(x[1])[0] & (1 << 64) - 1, 'z'
        a, b, kind = common(self.ev(x[1]), self.ev(x[2]))
        if op == '>>':
            return a >> b, kind
        if op in '/%':
            q = abs(a) // abs(b) * (-1 if (a < 0) != (b < 0) else 1)
            return (q if op == '/' else a - q * b), kind
        return fit({'+': a + b, '-': a - b, '*': a * b, '&': a & b}[op], kind)

    def cond(self, c):
        a, b, _ = common(self.ev(c[1]), self.ev(c[2]))
        return {'<': a < b, '>=': a >= b, '==': a == b, '!=': a != b, '>': a > b, '<=': a <= b}[c[0]]

    def put(self, v, value):
        kind = self.kind.get(v, 'i')
        self.v[v] = (value[0] & MASK, 'u') if kind == 'u' else (signed(value[0]), 'i')

    def move(self, v, by):
        x, kind = self.v[v]
        if kind == 'u' and not 0 <= x + by <= MASK:
            raise Skip  # the contract has no counter that comes around
        self.v[v] = fit(x + by, kind)

    def turn(self, body):
        self.steps += 1
        if self.steps > STEPS:
            raise Skip
        try:
            self.run(body)
        except Next:
            pass

    def loop(self, head, body):
        v, typ, start, rel, end, step = head
        self.kind[v] = typ[0]
        self.put(v, self.ev(start))
        while rel == 'do' or rel == 'while' or self.cond((rel, ('v', v), end)):
            if rel == 'while':
                x = self.v[v][0]
                self.v[v] = (x - 1 & MASK, 'u') if typ[0] == 'u' else fit(x - 1, 'i')
                if x <= 0:
                    return
            self.turn(body)
            if rel != 'while':
                self.move(v, step)
            if rel == 'do' and not self.cond(('<', ('v', v), end)):
                return

    def run(self, body):
        for s in body:
            if s[0] == 'store':
                at = self.ev(s[2])[0] * s[1]
                for i in range(s[1]):
                    self.bytes[at + i] = True
            elif s[0] == 'if':
                if self.cond(s[1]):
                    self.run(s[2])
            elif s[0] == 'break':
                if self.cond(s[1]):
                    raise Leave
            elif s[0] == 'continue':
                if self.cond(s[1]):
                    raise Next
            elif s[0] == 'set':
                self.put(s[1], self.ev(s[2]))
            elif s[0] == 'more':
                self.put(s[1], self.ev(('+', ('v', s[1]), s[2])))
            else:
                try:
                    self.loop(s[1], s[3])
                except Leave:
                    pass


def race_of(body, block, grid, scalars=SCALARS):
    """The scalars with which two threads store to one byte, or None; and how many launches were run."""
    ran = 0
    for n, m in scalars:
        owner = {}
        try:
            for bid in range(grid):
                for tid in range(block):
                    t = Thread(tid, bid, n, m)
                    t.run(body)
                    for at in t.bytes:
                        if owner.setdefault(at, (bid, tid)) != (bid, tid):
                            return (n, m, at, owner[at], (bid, tid)), ran + 1
            ran += 1
        except Skip:
            pass
    return None, ran


def is_none(body, alarm):
    """Is a true alarm's launch one without a race?"""
    value = {p['offset']: p['value'] for p in alarm['params']}
    (block, *y), (grid, *z) = alarm['blockDim'], alarm['gridDim']
    if y != [1, 1] or z != [1, 1]:
        return False
    race, ran = race_of(body, block, grid, ((signed(value.get(8, 0)), signed(value.get(12, 0))),))
    return not race and ran > 0


def prove(collider, path, block, grid):
    r = subprocess.run([collider, 'prove', '--format=json', '--no-cache', '--no-remedies', '--no-confirm', '--block-dim=%d' % block,
                        '--grid-dim=%d' % grid, '--prove-timeout=300ms', path], capture_output=True, text=True)
    if not r.stdout:
        sys.exit('%s: %s' % (path, r.stderr))
    return {k['mangled']: k for k in json.loads(r.stdout)['kernels']}


def main():
    collider, nvcc = sys.argv[1:3]
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    count = int(sys.argv[4]) if len(sys.argv) > 4 else 50
    ways = [sys.argv[5]] if len(sys.argv) > 5 else ['-O3']
    if os.environ.get('ONLY'):
        m = Maker(random.Random(seed * 1000003 + int(os.environ['ONLY'])))
        return print(source('k', m.kernel()), m.block, m.grid)
    counts, failed = dict.fromkeys(('proven', 'race', 'true', 'clean'), 0), 0
    with tempfile.TemporaryDirectory() as tmp:
        for first in range(0, count, PER_FILE):
            makers = [Maker(random.Random(seed * 1000003 + i)) for i in range(first, min(count, first + PER_FILE))]
            for m in makers:  # of one launch's dimensions
                m.block, m.grid = makers[0].block, makers[0].grid
            bodies = [m.kernel() for m in makers]
            block, grid = makers[0].block, makers[0].grid
            path = os.path.join(tmp, 'k')
            with open(path + '.cu', 'w') as f:
                f.write('\n'.join(source('k%d' % i, b) for i, b in enumerate(bodies)))
            results = [race_of(b, block, grid) for b in bodies]
            for way in ways:
                r = subprocess.run([nvcc, '-ptx', '-arch=sm_90', '-w', way, '-o', path + '.ptx', path + '.cu'], capture_output=True, text=True)
                if r.returncode:
                    sys.exit(r.stderr + open(path + '.cu').read())
                for name, k in prove(collider, path + '.ptx', block, grid).items():
                    i = int(name[1:])
                    race, ran = results[i]
                    is_free = k['verdict'].startswith('race-free')
                    counts['proven'] += is_free
                    counts['race'] += race is not None
                    counts['true'] += k['verdict'] == 'true-alarm'
                    for a in k['alarms']:
                        if a['true'] and is_none(bodies[i], a):
                            failed += 1
                            print('FAIL: seed %d kernel %d %s has no race in the launch %s %s\n%s' % (
                                seed, first + i, way, a['blockDim'], a['params'], source(name, bodies[i])), flush=True)
                    counts['clean'] += race is None and ran > 0
                    if is_free and race:
                        failed += 1
                        print('FAIL: seed %d kernel %d %s (%d, %d) is proven, but with n, m, byte, threads %s\n%s' % (
                            seed, first + i, way, block, grid, race, source(name, bodies[i])), flush=True)
    print('seed %d: %d kernels: %d proven, %d race, %d true alarms, %d clean; %d wrong' % (seed, count * len(ways), *counts.values(), failed), flush=True)
    sys.exit(failed > 0)


if __name__ == '__main__':
    main()
