#!/usr/bin/env python3
"""random_orders.py - random kernels around locks, flags, counters, numbered barriers and mbarriers.

    random_orders.py COLLIDER ORACLE_RUN [SEED [COUNT [mbarriers|copies|products]]]

With `mbarriers` all kernels have such: one that all threads use, or rings of stages that a
producer's warp (or one thread, by bulk copies) fills and a consumer's warp reads. With `copies` they
have groups of cp.async in stages, cp.async that arrives on mbarriers, or bulk stores. With `products`
a warpgroup multiplies what it has stored, or what bulk copies bring (wgmma).

A right kernel is made of one of some shapes, with random places, strengths and widths, and then
changed in none to three places: a statement is deleted, doubled or moved, a guard, place, value or
scope becomes another one. Each is judged by `collider prove` and run under the oracle on the CPU
device, with contents 0, from several seeds of the scheduler. Race-free must mean that no run races;
that is the only failure. It is printed how many are proven, and how many race.

Misses: runs see some schedules of one launch. Kernels that wait for ever say what raced until then.
"""
import random, sys

import random_judge

SEED = int(sys.argv[3]) if len(sys.argv) > 3 else 1
SEEDS = 6  # of the scheduler
ONLY_COPIES = sys.argv[5:6] == ['copies']
ONLY_PRODUCTS = sys.argv[5:6] == ['products']
ONLY_MBARRIERS = sys.argv[5:6] == ['mbarriers'] or ONLY_COPIES or ONLY_PRODUCTS
BLOCK, GRID, TURNS = (128 if SEED % 2 else 160, 2, 5) if ONLY_PRODUCTS else (64, 4, 5)
MORE = 100  # from this on a loop has so many turns less, and one more in odd blocks
WORDS = 576 if ONLY_PRODUCTS else 32  # of a stage: 2048 bytes of A, 256 of B

# ---- trees: ('if', guard, [statements]), ('loop', n, [statements]), or (name, field...) ----------
# A place is (array, expression); an expression is a key of INDEX.

INDEX = {'0': lambda k: k.const(0), '1': lambda k: k.const(1), 'block': lambda k: '%r1', 'thread': lambda k: '%r0',
         'before': lambda k: k.op('sub', '%r1', 1), 'after': lambda k: k.op('add', '%r1', 1),
         'half': lambda k: k.op('shr', '%r1', 1), 'odd': lambda k: k.op('and', '%r1', 1),
         'lane': lambda k: k.op('and', '%r0', 31), 'own': lambda k: k.op('add', k.op('mul', '%r1', BLOCK), '%r0'),
         'turn': lambda k: k.loops[-1] if k.loops else k.const(0)}
# Of mbarriers: which stage a turn uses, the parity of its phase, and places in the stage.
STAGE = {'mod%d' % m: lambda k, m=m: k.op('rem', INDEX['turn'](k), m) for m in (1, 2, 3, 4)}
STAGE.update({'ahead%d' % m: lambda k, m=m: k.op('rem', k.op('add', INDEX['turn'](k), m - 1), m) for m in (2, 3, 4)})
STAGE.update({'plus%d' % m: lambda k, m=m: k.op('rem', k.op('add', INDEX['turn'](k), 1), m) for m in (2, 3, 4)})
STAGE.update({'fix%d' % i: lambda k, i=i: k.const(i) for i in (0, 1, 2)})
# ... as Triton carries them around the loop: -1, then 0, 1, ... and 0 again; the parity changes there.
STAGE.update({'roll%d' % m: lambda k, m=m: k.rolls[-1].get(m, (0, 0))[0] or k.const(0) for m in (2, 3, 4)})
# ... after a loop: of the number of its turns, or of the last one.
STAGE.update({'gone%d' % m: lambda k, m=m: k.op('rem', k.done or k.const(0), m) for m in (2, 3, 4)})
STAGE.update({'gone before%d' % m: lambda k, m=m: k.op('rem', k.op('add', k.done or k.const(0), m - 1), m) for m in (2, 3, 4)})
STAGE['next'] = lambda k: k.op('rem', k.op('add', INDEX['turn'](k), 1), 2)
PARITY = {'phase%d' % m: lambda k, m=m: k.op('and', k.op('div', INDEX['turn'](k), m), 1) for m in (1, 2, 3, 4)}
PARITY.update({'rolled%d' % m: lambda k, m=m: k.rolls[-1].get(m, (0, 0))[1] or k.const(0) for m in (2, 3, 4)})
PARITY.update({'plus phase%d' % m: lambda k, m=m: k.op('and', k.op('div', k.op('add', INDEX['turn'](k), 1), m), 1) for m in (2, 3, 4)})
# ... of the turn before, for a stage 'ahead': of turn 0 what is over at once
PARITY.update({'behind%d' % m: lambda k, m=m: k.op('xor', k.op('and', k.op('div', k.op('add', INDEX['turn'](k), m - 1), m), 1), 1) for m in (2, 3, 4)})
PARITY.update({'not ' + n: lambda k, f=f: k.op('xor', f(k), 1) for n, f in PARITY.items()})
PARITY.update({'even': lambda k: k.const(0), 'odd': lambda k: k.const(1)})
IN_STAGE = {'%s %s' % (n, w): lambda k, f=f, g=g: k.op('add', k.op('mul', f(k), WORDS), g(k)) for n, f in STAGE.items()
            for w, g in (('lane', INDEX['lane']), ('back', lambda k: k.op('xor', INDEX['lane'](k), 31)))}
INDEX.update(IN_STAGE)
PLAIN = [i for i in INDEX if i not in IN_STAGE]
GUARD = {'first': ('setp.eq.u32', '%r0', 0), 'second': ('setp.eq.u32', '%r0', 1), 'warp 0': ('setp.lt.u32', '%r0', 32),
         'warp 1': ('setp.ge.u32', '%r0', 32), 'block 0': ('setp.eq.u32', '%r1', 0), 'not block 0': ('setp.ne.u32', '%r1', 0),
         'warp 0 first': ('setp.eq.u32', '%r0', 0), 'warp 1 first': ('setp.eq.u32', '%r0', 32), 'block 1': ('setp.eq.u32', '%r1', 1), 'low blocks': ('setp.lt.u32', '%r1', 2), 'odd blocks': None, 'all': ('setp.ge.u32', '%r0', 0),
         'later turns': ('setp.ge.u32', 'turns', 1)}
if ONLY_MBARRIERS:
    GUARD.update({'elected': ('elect', '%r0', 0, 1024), 'elected 0': ('elect', '%r0', 0, 32), 'elected 1': ('elect', '%r0', 32, 1024)})
    GUARD.update({'odd turns': ('setp.ne.u32', 'turn', 0), 'even turns': ('setp.eq.u32', 'turn', 0)})
if ONLY_PRODUCTS:
    GUARD = {n: g for n, g in GUARD.items() if 'block' not in n}
    GUARD.update({'group': ('setp.lt.u32', '%r0', 128), 'producer': ('setp.eq.u32', '%r0', 128 % BLOCK), 'leaders': ('setp.eq.u32', 'lane', 0)})
SCOPES, VALUES = ('gpu', 'gpu', 'gpu', 'cta', 'sys'), (0, 1, 2, 3, 256)


def first(*body):
    return ('if', 'first', list(body))


def lock(r, what, release=True):
    at = ('f', r.choice(('0', '1')))
    take = ('take', at, r.choice(('cas', 'exch')), 0, 1, 'gpu')
    give = ('give', at, r.choice(('exch', 'volatile', 'relaxed')), 0, 'gpu')
    return [take, ('fence', 'gpu'), *what, ('fence', 'gpu'), give]


def more(r, n):
    """Turns, or what counts as these and one more in odd blocks."""
    return n + (MORE if r.random() < .5 else 0)


def tried(r, body):
    """With some of its waits as those that are tried once before."""
    return [(('m try',) + s[1:]) if s[0] == 'm wait' and r.random() < .5 else
            tuple(tried(r, f) if isinstance(f, list) else f for f in s) for s in body]


def shifted(r, take, give, others=()):
    """A reader that takes its first stage in front of its loop, gives stages back a turn late (then
    perhaps the last one after it; by one lane), or has one more filled in each turn than in front;
    take(stage, phase) and give(stage)."""
    m, kind = r.randint(2, 4), r.choice(('ahead', 'ahead', 'behind', 'filled', *others))
    mod, phase = 'mod%d' % m, 'phase%d' % m
    tail = r.random() < .5  # the last stage is given back after the loop
    if kind == 'ahead':
        return m, kind, [*take('fix0', 'even'), ('loop', more(r, TURNS - 1), [*take('plus%d' % m, 'plus phase%d' % m), ('m arrive', 'E', mod)]),
                         *([('w wait', 0)] * ONLY_PRODUCTS + [('m arrive', 'E', 'gone%d' % m)]) * tail]
    if kind == 'by lane':
        late = ('if', 'later turns', [('if', 'warp 1 first', [('m arrive', 'E', 'ahead%d' % m)])])
        return m, kind, [('loop', more(r, TURNS), [*take(mod, phase), ('syncwarp', 0), late]),
                         *[('syncwarp', 0), ('if', 'warp 1 first', [('m arrive', 'E', 'gone before%d' % m)])] * tail]
    if kind == 'behind':
        return m, kind, [('loop', more(r, TURNS), [*take(mod, phase), ('if', 'later turns', [('m arrive', 'E', 'ahead%d' % m)])]),
                         *([('w wait', 0)] * ONLY_PRODUCTS + [('m arrive', 'E', 'gone before%d' % m)]) * tail]
    front = [s for i in range(m - 1) for s in give('fix%d' % i)]
    again = [('m wait', 'E', 'ahead%d' % m, 'behind%d' % m), *give('ahead%d' % m)]
    return m, kind, [first(*front), ('loop', TURNS, [*take(mod, phase), ('m arrive', 'E', mod), first(*again)])]


def with_mbarriers(r):
    """One that all threads use in turns, or a full and an empty one for each stage."""
    if r.random() < .3:
        give = lambda s: [('m expect', 'F', s, 128), ('fill', s, 128, 'F', s)]
        m, kind, body = shifted(r, lambda s, p: [('m wait', 'F', s, p), ('load', ('s', s + ' back'))], give, ('by lane',) * 2)
        of_empty = {'filled': BLOCK, 'by lane': 1}.get(kind, 32)
        up = [first(('set up', 'F', 1, m), ('set up', 'E', of_empty, m)), ('bar', 0)]
        if kind == 'filled':
            return up + body
        fill = [('loop', TURNS + MORE, [('m wait', 'E', 'mod%d' % m, 'not phase%d' % m), *give('mod%d' % m)])]
        return up + [('if', 'warp 0 first', fill), ('if', 'warp 1', body)]
    m = r.randint(1, 4)
    stage, phase = ('roll%d' % m, 'rolled%d' % m) if m > 1 and r.random() < .3 else ('mod%d' % m, 'phase%d' % m)
    one = 'elected' if 'elected' in GUARD and r.random() < .4 else 'warp'  # who copies, or gives a stage back
    mine, other = ('s', stage + ' lane'), ('s', stage + ' back')
    def set_up(*rings):
        return [first(*(('set up', b, n, m) for b, n in rings), *([('init fence', 0)] if r.random() < .5 else [])), ('bar', 0)]
    kind = r.choice(('all', 'all token', 'stored', 'stored', 'copied', 'copied', 'copied', 'by warps', 'one loop', 'once'))
    if kind in ('all', 'all token'):
        both = [('m token', 'F', stage)] if kind == 'all token' else [('m arrive', 'F', stage), ('m wait', 'F', stage, phase)]
        return set_up(('F', BLOCK)) + [('loop', TURNS, [('if', 'warp 0', [('store', mine)]), *both, ('if', 'warp 1', [('load', other)])])]
    take = [('m wait', 'F', stage, phase), ('load', other), ('m arrive', 'E', stage)]
    empty = ('m wait', 'E', stage, 'not ' + phase)
    if kind == 'stored':
        give = [empty, ('store', mine), ('m arrive', 'F', stage)]
        return set_up(('F', 32), ('E', 32)) + [('if', 'warp 0', [('loop', TURNS, give)]), ('if', 'warp 1', [('loop', TURNS, take)])]
    give = [empty, ('m expect', 'F', stage, 128), ('fill', stage, 128, 'F', stage)]
    if kind == 'once':
        return set_up(('F', 1)) + [first(*give[1:]), ('m wait', 'F', stage, phase), ('load', ('s', stage + ' back'))]
    if kind == 'one loop':
        return set_up(('F', 1), ('E', BLOCK)) + [('loop', TURNS, [first(*give), *take])]
    if kind == 'by warps':
        back = 'warp 1 first' if one == 'warp' else r.choice(('elected', 'elected 1'))
        take = take[:2] + [('syncwarp', 0), ('if', back, take[2:])]
    return set_up(('F', 1), ('E', 1 if kind == 'by warps' else 32)) + [('if', 'elected 0' if one == 'elected' else 'warp 0 first', [('loop', TURNS, give)]), ('if', 'warp 1', [('loop', TURNS, take)])]


def with_copies(r):
    """A pipeline of groups, a ring that cp.async arrives on, or bulk stores."""
    m, kind = r.randint(2, 4), r.choice(('groups', 'groups', 'arrive', 'arrive', 'send', 'send loop'))
    stage, phase = ('roll%d' % m, 'rolled%d' % m) if r.random() < .3 else ('mod%d' % m, 'phase%d' % m)
    if kind == 'groups':
        body = []
        for i in range(m - 1):
            body += [('if', 'warp 0', [('copy', 'fix%d lane' % i)]), ('commit', 0)]
        ahead = [('if', 'warp 0', [('copy', 'ahead%d lane' % m)]), ('commit', 0)]
        turn = [('wait group', m - 2), ('bar', 0), ('load', ('s', stage + ' back')), *ahead]
        return body + [('loop', TURNS, turn), ('wait all', 0)]
    if kind == 'arrive':
        give = [('m wait', 'E', stage, 'not ' + phase), ('copy', stage + ' lane'), ('m copied', 'F', stage)]
        take = [('m wait', 'F', stage, phase), ('load', ('s', stage + ' back')), ('m arrive', 'E', stage)]
        return [first(('set up', 'F', 32, m), ('set up', 'E', 32, m)), ('bar', 0),
                ('if', 'warp 0', [('loop', TURNS, give)]), ('if', 'warp 1', [('loop', TURNS, take)])]
    where, behind = (stage, m - 1) if kind == 'send loop' else ('fix0', 0)
    put, fence = ('if', 'warp 0', [('store', ('s', where + ' lane'))]), ('proxy fence', 0)
    send = [('send', where, 128), ('send commit', 0), ('send taken', behind)]
    if r.random() < .5:
        body = [put, fence, ('bar', 0), first(*send), ('bar', 0)]
    else:
        body = [put, ('bar', 0), first(fence, *send), ('bar', 0)]
    if kind == 'send loop':
        return [('loop', TURNS, body), first(('send taken', 0))]
    return body + [r.choice((('store', ('s', 'fix0 lane')), ('if', 'warp 1', [('store', ('s', 'fix0 lane'))]))), ('bar', 0),
                   first(('send wait', 0)), ('bar', 0), ('load', ('d', 'block'))]


def with_products(r):
    """A warpgroup stores tiles and multiplies them, or multiplies what bulk copies bring."""
    if r.random() < .3:
        give = lambda s: [('m expect', 'F', s, 4 * WORDS), ('fill', s, 4 * WORDS, 'F', s)]
        m, kind, body = shifted(r, lambda s, p: [('m wait', 'F', s, p), ('mma', s), ('w commit', 0), ('w wait', 1)], give)
        body = ('if', 'group', body + [('w wait', 0)])
        up = [first(('set up', 'F', 1, m), ('set up', 'E', 128, m)), ('bar', 0)]
        if kind == 'filled' or BLOCK == 128:
            return up + [body]
        return up + [('if', 'producer', [('loop', TURNS + MORE, [('m wait', 'E', 'mod%d' % m, 'not phase%d' % m), *give('mod%d' % m)])]), body]
    m, kind = r.randint(1, 4), r.choice(('stored', 'stored', 'stored', 'ring', 'ring', 'ring', 'ring by warps', 'ring by one', 'one loop', 'barrier', 'once'))
    stage, phase = 'mod%d' % m, 'phase%d' % m
    product = [('mma', stage), *([('mma', stage)] if r.random() < .3 else []), ('w commit', 0)]
    if kind == 'stored':
        put = ('if', 'group', [('put', stage), *([('put right', stage)] if r.random() < .5 else []), ('proxy fence', 0)])
        late = r.random() < .4  # one product is under way while the next tile is stored
        body = [put, ('bar', 0), ('if', 'group', product + [('w wait', 1 if late else 0)])]
        return [('loop', TURNS, body + ([('bar', 0)] if r.random() < .6 else [])), ('if', 'group', [('w wait', 0)])]
    by = {'ring by warps': ('leaders', 4), 'ring by one': ('first', 1)}.get(kind, ('all', 128))
    set_up = [first(('set up', 'F', 1, m), ('set up', 'E', by[1], m)), ('bar', 0)]
    give = [('m wait', 'E', stage, 'not ' + phase), ('m expect', 'F', stage, 4 * WORDS), ('fill', stage, 4 * WORDS, 'F', stage)]
    take = [('m wait', 'F', stage, phase), *product, ('w wait', 0)]
    back = ('if', by[0], [('m arrive', 'E', stage)]) if by[0] != 'all' else ('m arrive', 'E', stage)
    if kind == 'once':
        return set_up + [first(*give[1:]), ('if', 'group', take), ('bar', 0), ('store', ('s', stage + ' lane'))]
    if kind == 'barrier':
        return set_up + [('loop', TURNS, [first(*give[1:]), ('if', 'group', take), ('bar', 0)])]
    if kind == 'one loop' or BLOCK == 128:
        return set_up + [('if', 'group', [('loop', TURNS, [first(*give), *take, back])])]
    return set_up + [('if', 'producer', [('loop', TURNS, give)]), ('if', 'group', [('loop', TURNS, take + [back]), ('w wait', 0)])]


def shape(r):
    body = plain_shape(r)
    return tried(r, body) if r.random() < .3 else body


def plain_shape(r):
    if ONLY_PRODUCTS:
        return with_products(r)
    if ONLY_COPIES:
        return with_copies(r)
    if ONLY_MBARRIERS or r.random() < .25:
        return with_mbarriers(r)
    data = ('d', r.choice(('0', '0', '1', 'half', 'odd')))
    touch = [('load', data), ('store', data)]
    own = ('d', 'own')
    kind = r.choice(('lock', 'lock', 'lock block', 'lock each', 'ticket', 'ticket loop', 'look back', 'producer', 'last', 'grid barrier',
                     'named', 'named back', 'named loop', 'named sides'))
    if kind == 'lock':
        return [first(*lock(r, touch))]
    if kind == 'lock block':
        return [first(('take', ('f', '0'), 'cas', 0, 1, 'gpu'), ('fence', 'gpu')), ('bar', 0), ('load', ('d', 'thread')),
                ('store', ('d', 'thread')), ('bar', 0), first(('fence', 'gpu'), ('give', ('f', '0'), 'exch', 0, 'gpu'))]
    if kind == 'lock each':
        at = r.choice(('half', 'odd', '0'))
        return [first(('take', ('f', at), 'cas', 0, 1, 'gpu'), ('fence', 'gpu'), ('load', ('d', at)), ('store', ('d', at)),
                      ('fence', 'gpu'), ('give', ('f', at), 'exch', 0, 'gpu'))]
    if kind in ('ticket', 'ticket loop'):
        body = [('ticket', ('f', '0'), 1, 'gpu'), ('turn wait', ('f', '1'), r.choice(('volatile', 'relaxed', 'add')), 'gpu'), ('fence', 'gpu'), *touch,
                ('fence', 'gpu'), ('next', ('f', '1'), r.choice(('add', 'volatile', 'relaxed')), 1, 'gpu')]
        return [first(*body)] if kind == 'ticket' else [first(('loop', 2, body))]
    if kind == 'look back':
        return [first(('if', 'not block 0', [('wait', ('f', 'before'), 'volatile', 'ne', 0, 'gpu'), ('fence', 'gpu'), ('load', ('d', 'before'))]),
                      ('store', ('d', 'block')), ('fence', 'gpu'), ('set', ('f', 'block'), 'volatile', 1, 'gpu'))]
    if kind == 'producer':
        return [('if', 'block 0', [('store', ('d', 'thread')), ('bar', 0), first(('fence', 'gpu'), ('set', ('f', '0'), 'volatile', 1, 'gpu'))]),
                ('if', 'not block 0', [first(('wait', ('f', '0'), r.choice(('volatile', 'relaxed')), r.choice(('eq', 'ge')), 1, 'gpu'), ('fence', 'gpu')),
                                       ('bar', 0), ('load', ('d', 'thread'))])]
    if kind == 'last':
        return [('store', own), ('bar', 0), first(('fence', 'gpu'), ('last', ('f', '0'), 1, GRID - 1, 'gpu', [('fence', 'gpu'), ('load', ('d', r.choice(('0', '1')))),
                                                                                  ('store', ('d', '0'))]))]
    if kind == 'grid barrier':
        return [('store', own), ('bar', 0), first(('fence', 'gpu'), ('add', ('f', '0'), 1, 'gpu'), ('wait', ('f', '0'), r.choice(('volatile', 'add')), 'ge', GRID, 'gpu'),
                                                  ('fence', 'gpu')), ('bar', 0), ('load', ('d', 'thread'))]
    if kind == 'named':
        return [('if', 'warp 0', [('store', ('s', 'lane')), ('arrive', 1, BLOCK)]), ('if', 'warp 1', [('sync', 1, BLOCK), ('load', ('s', 'lane'))])]
    if kind == 'named back':
        return [('if', 'warp 0', [('store', ('s', 'lane')), ('arrive', 1, BLOCK), ('sync', 2, BLOCK), ('store', ('s', 'lane'))]),
                ('if', 'warp 1', [('sync', 1, BLOCK), ('load', ('s', 'lane')), ('arrive', 2, BLOCK)])]
    if kind == 'named sides':
        put, get = [('store', ('s', 'lane')), ('arrive', 1, BLOCK), ('sync', 2, BLOCK)], [('sync', 1, BLOCK), ('load', ('s', 'lane')), ('arrive', 2, BLOCK)]
        is_ahead = r.random() < .5
        sides = ('loop', 3, [('if', 'warp 0', put[2:] + put[:2] if is_ahead else put), ('if', 'warp 1', get)])
        return [('if', 'warp 1', [('arrive', 2, BLOCK)]), sides] if is_ahead else [sides]
    return [('if', 'warp 0', [('loop', 3, [('store', ('s', 'lane')), ('arrive', 1, BLOCK), ('sync', 2, BLOCK)])]),
            ('if', 'warp 1', [('loop', 3, [('sync', 1, BLOCK), ('load', ('s', 'lane')), ('arrive', 2, BLOCK)])])]


def words_of(body):
    """All words in the fields of statements."""
    out = []
    for s in body:
        for f in s[1:]:
            out += words_of(f) if isinstance(f, list) else [w for w in (f if isinstance(f, tuple) else (f,)) if isinstance(w, str)]
    return out


def change(r, body):
    """One change, in place."""
    where, i, how, s = random_judge.rearrange(r, body)
    if how < .5:
        return
    if how < .58:
        where.insert(i, r.choice((('if', r.choice(list(GUARD)), [s]), ('loop', 2, [s]), ('exit', r.choice(list(GUARD))))))
        if where[i][0] != 'exit':
            del where[i + 1]
    elif how < .64:
        where.insert(i, (r.choice(('load', 'store')), r.choice((('d', r.choice(PLAIN)), ('s', r.choice(list(IN_STAGE)))) if ONLY_MBARRIERS else (('d', r.choice(PLAIN)),))))
    else:
        k = r.choice([x for x in range(1, len(s)) if not isinstance(s[x], list)])
        f = s[k]
        if isinstance(f, tuple):
            f = (f[0], r.choice(list(IN_STAGE) if f[1] in IN_STAGE and r.random() < .8 else PLAIN)) if r.random() < .8 else (r.choice('df') if f[0] in 'df' else 's', f[1])
        elif f in GUARD:
            f = r.choice(list(GUARD))
        elif f in IN_STAGE:
            f = r.choice(list(IN_STAGE))
        elif f in STAGE or f in PARITY:
            f = r.choice(list(STAGE if f in STAGE else PARITY))
        elif f in ('F', 'E'):
            f = r.choice('FE')
        elif s[0] in ('m expect', 'fill', 'send'):
            f = r.choice([x * WORDS // 2 for x in (4, 7, 8, 9)])
        elif f in SCOPES:
            f = r.choice(SCOPES)
        elif isinstance(f, int):
            f = r.choice((f + 1, f - 1, *VALUES)) if f >= 0 and s[0] not in ('arrive', 'sync', 'bar', 'loop') else r.choice((1, 2, 32, 64, 96)) \
                if s[0] in ('arrive', 'sync') and k == 2 else max(0, f + r.choice((-1, 1)))
        elif f in ('volatile', 'relaxed', 'weak', 'exch', 'add'):
            f = r.choice(('volatile', 'relaxed', 'weak', 'exch', 'add'))
        elif f in ('eq', 'ne', 'ge', 'gt', 'lt'):
            f = r.choice(('eq', 'ne', 'ge', 'gt', 'lt'))
        where[i] = s[:k] + (f,) + s[k + 1:]


# ---- as PTX --------------------------------------------------------------------------------------

class Text:
    def __init__(self, name):
        self.name, self.out, self.regs, self.wide, self.preds, self.labels = name, [], 8, 8, 1, 0  # %p0: of products
        self.loops, self.rolls, self.ticket, self.done = [], [{}], None, None

    def say(self, s):
        self.out.append('\t' + s)

    def reg(self):
        self.regs += 1
        return '%%r%d' % (self.regs - 1)

    def pred(self):
        self.preds += 1
        return '%%p%d' % (self.preds - 1)

    def label(self):
        self.labels += 1
        return '$%s_%d' % (self.name, self.labels)

    def const(self, n):
        r = self.reg()
        self.say('mov.u32 %s, %d;' % (r, n))
        return r

    def op(self, name, a, b):
        r, full = self.reg(), {'sub': 'sub.u32', 'add': 'add.u32', 'shr': 'shr.u32', 'and': 'and.b32', 'mul': 'mul.lo.u32',
                             'xor': 'xor.b32', 'rem': 'rem.u32', 'div': 'div.u32'}
        self.say('%s %s, %s, %s;' % (full[name], r, a, b))
        return r

    def at(self, place):
        i = INDEX[place[1]](self)
        base = {'d': '%w0', 'f': '%w1', 's': '%w2', 'out': '%w3'}[place[0]]
        self.wide += 2
        self.say('mul.wide.s32 %%w%d, %s, 4;' % (self.wide - 2, i))
        self.say('add.u64 %%w%d, %s, %%w%d;' % (self.wide - 1, base, self.wide - 2))
        return ('.shared' if place[0] == 's' else '.global'), '[%%w%d]' % (self.wide - 1)

    def load(self, place, how, scope='gpu'):
        space, a = self.at(place)
        r = self.reg()
        if how in ('add', 'exch'):
            self.say('atom.relaxed.%s%s.add.u32 %s, %s, 0;' % (scope, space, r, a))
        else:
            self.say('ld%s%s.u32 %s, %s;' % ({'volatile': '.volatile', 'relaxed': '.relaxed.' + scope}.get(how, ''), space, r, a))
        return r

    def store(self, place, how, v, scope='gpu'):
        space, a = self.at(place)
        if how == 'exch':
            self.say('atom.relaxed.%s%s.exch.b32 %s, %s, %s;' % (scope, space, self.reg(), a, v))
        elif how == 'add':
            self.say('red.relaxed.%s%s.add.u32 %s, %s;' % (scope, space, a, v))
        else:
            self.say('st%s%s.u32 %s, %s;' % ({'volatile': '.volatile', 'relaxed': '.relaxed.' + scope}.get(how, ''), space, a, v))

    def mbarrier(self, ring, stage):
        r = self.op('mul', STAGE[stage](self), 8)
        return '[%s]' % self.op('add', r, '%r5' if ring == 'F' else '%r6')

    def try_wait(self, form, what, is_tried=False):
        top, p, end = self.label(), self.pred(), self.label()
        if is_tried:
            self.say('mbarrier.try_wait%s.shared.b64 %s, %s;' % (form, p, what))
            self.say('@%s bra %s;' % (p, end))
        self.out.append(top + ':')
        self.say('mbarrier.try_wait%s.shared.b64 %s, %s;' % (form, p, what))
        self.say('@!%s bra %s;' % (p, top))
        self.out.append(end + ':')

    def with_mbarrier(self, s):
        if s[0] == 'set up':
            for i in range(s[3]):
                self.say('mbarrier.init.shared.b64 [%s+%d], %d;' % ('%r5' if s[1] == 'F' else '%r6', 8 * i, max(1, s[2])))
        elif s[0] == 'init fence':
            self.say('fence.mbarrier_init.release.cluster;')
        elif s[0] == 'syncwarp':
            self.say('bar.warp.sync -1;')
        elif s[0] == 'm arrive':
            self.say('mbarrier.arrive.shared.b64 %%w7, %s;' % self.mbarrier(s[1], s[2]))
        elif s[0] == 'm expect':
            self.say('mbarrier.arrive.expect_tx.shared.b64 %%w7, %s, %d;' % (self.mbarrier(s[1], s[2]), s[3]))
        elif s[0] in ('m wait', 'm try'):
            self.try_wait('.parity', '%s, %s' % (self.mbarrier(s[1], s[2]), PARITY[s[3]](self)), s[0] == 'm try')
        elif s[0] == 'm token':
            self.wide += 1
            t, at = '%%w%d' % (self.wide - 1), self.mbarrier(s[1], s[2])
            self.say('mbarrier.arrive.shared.b64 %s, %s;' % (t, at))
            self.try_wait('', '%s, %s' % (at, t))
        elif s[0] == 'm copied':
            self.say('cp.async.mbarrier.arrive.noinc.shared.b64 %s;' % self.mbarrier(s[1], s[2]))
        else:
            to, n = self.op('add', '%r4', self.op('mul', STAGE[s[1]](self), 4 * WORDS)), self.mbarrier(s[3], s[4])
            self.say('cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%%w0], %d, %s;' % (to, s[2], n))

    def with_copy(self, s):
        if s[0] == 'copy':
            place = INDEX[s[1] if s[1] in IN_STAGE else 'lane'](self)
            to = self.op('add', '%r4', self.op('mul', place, 4))
            self.say('cp.async.ca.shared.global [%s], [%%w0], 4;' % to)
        elif s[0] == 'send':
            at = self.op('add', '%r4', self.op('mul', STAGE[s[1]](self), 128))
            self.wide += 2
            self.say('mul.wide.u32 %%w%d, %%r1, 128;' % (self.wide - 2))
            self.say('add.u64 %%w%d, %%w0, %%w%d;' % (self.wide - 1, self.wide - 2))
            self.say('cp.async.bulk.global.shared::cta.bulk_group [%%w%d], [%s], %d;' % (self.wide - 1, at, s[2]))
        else:
            self.say({'commit': 'cp.async.commit_group;', 'wait all': 'cp.async.wait_all;', 'wait group': 'cp.async.wait_group %d;' % max(0, s[1]),
                      'proxy fence': 'fence.proxy.async;', 'send commit': 'cp.async.bulk.commit_group;',
                      'send taken': 'cp.async.bulk.wait_group.read %d;' % max(0, s[1]), 'send wait': 'cp.async.bulk.wait_group %d;' % max(0, s[1])}[s[0]])

    def with_product(self, s):
        if s[0] in ('w commit', 'w wait'):
            self.say('wgmma.commit_group.sync.aligned;' if s[0] == 'w commit' else 'wgmma.wait_group.sync.aligned %d;' % max(0, s[1]))
            return
        at = self.op('add', '%r4', self.op('mul', STAGE[s[1] if s[1] in STAGE else 'fix0'](self), 4 * WORDS))
        if s[0] != 'mma':
            to, p = self.op('add', at, self.op('mul', '%r0', 16)), self.pred()
            self.say('setp.lt.u32 %s, %%r0, %d;' % (p, 128 if s[0] == 'put' else 16))
            self.say('@%s st.shared.v4.b32 [%s+%d], {%%r7, %%r7, %%r7, %%r7};' % (p, to, 0 if s[0] == 'put' else 2048))
            return
        # no swizzle: 128 bytes between the halves of k, 256 between groups of 8 rows
        x, self.wide = self.op('shr', at, 4), self.wide + 3
        a, b, c = ('%%w%d' % (self.wide - i) for i in (1, 2, 3))
        self.say('cvt.u64.u32 %s, %s;' % (c, x))
        self.say('add.u64 %s, %s, 0x1000080000;' % (a, c))
        self.say('add.u64 %s, %s, 128;' % (b, a))
        self.say('wgmma.fence.sync.aligned;')
        self.say('wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%%f0, %%f1, %%f2, %%f3}, %s, %s, %%p0, 1, 1, 0, 0;' % (a, b))

    def guard(self, g):
        p = self.pred()
        if GUARD[g] and GUARD[g][0] == 'elect':
            q, lo, hi = self.pred(), *GUARD[g][2:]
            self.say('elect.sync _|%s, -1;' % q)
            self.say('setp.ge.and.u32 %s, %%r0, %d, %s;' % (p, lo, q))
            self.say('setp.lt.and.u32 %s, %%r0, %d, %s;' % (p, hi, p))
        elif GUARD[g] and GUARD[g][1] == 'lane':
            self.say('%s %s, %s, 0;' % (GUARD[g][0], p, INDEX['lane'](self)))
        elif GUARD[g] and GUARD[g][1] == 'turns':
            self.say('%s %s, %s, %d;' % (GUARD[g][0], p, INDEX['turn'](self), GUARD[g][2]))
        elif GUARD[g] and GUARD[g][1] == 'turn':
            self.say('%s %s, %s, 0;' % (GUARD[g][0], p, self.op('and', INDEX['turn'](self), 1)))
        elif GUARD[g]:
            self.say('%s %s, %s, %d;' % (GUARD[g][0], p, *GUARD[g][1:]))
        else:
            self.say('setp.ne.u32 %s, %s, 0;' % (p, self.op('and', '%r1', 1)))
        return p

    def until(self, make, compare, v):
        """Repeats until what `make` reads compares so."""
        top = self.label()
        self.out.append(top + ':')
        x, p = make(), self.pred()
        self.say('setp.%s.u32 %s, %s, %s;' % (compare, p, x, v))
        self.say('@!%s bra %s;' % (p, top))

    def statement(self, s):
        kind = s[0]
        if kind in ('if', 'exit'):
            p = self.guard(s[1])
            if kind == 'exit':
                end = self.label()
                self.say('@!%s bra %s;' % (p, end))
                self.say('ret;')
                self.out.append(end + ':')
                return
            end = self.label()
            self.say('@!%s bra %s;' % (p, end))
            self.body(s[2])
            self.out.append(end + ':')
        elif kind == 'loop':
            i, top, p, turns = self.const(0), self.label(), None, str(s[1])
            turns = self.op('add', INDEX['odd'](self), s[1] - MORE) if s[1] >= MORE else turns
            rolls = {m: (self.const(-1), self.const(0)) for m in (2, 3, 4) if any('roll%d' % m in w or 'rolled%d' % m in w for w in words_of(s[2]))}
            self.out.append(top + ':')
            for m, (stage, phase) in rolls.items():
                p, more, back = self.pred(), self.op('add', stage, 1), self.reg()
                self.say('setp.gt.s32 %s, %s, %d;' % (p, more, m - 1))
                self.say('selp.b32 %s, 0, %s, %s;' % (stage, more, p))
                self.say('selp.b32 %s, 1, 0, %s;' % (back, p))
                self.say('xor.b32 %s, %s, %s;' % (phase, phase, back))
            self.loops.append(i)
            self.rolls.append(rolls)
            self.body(s[2])
            self.loops.pop()
            self.rolls.pop()
            p = self.pred()
            self.say('add.u32 %s, %s, 1;' % (i, i))
            self.say('setp.lt.u32 %s, %s, %s;' % (p, i, turns))
            self.say('@%s bra %s;' % (p, top))
            self.done = i
        elif kind == 'load':
            self.say('add.u32 %%r7, %%r7, %s;' % self.load(s[1], ''))
        elif kind == 'store':
            self.store(s[1], '', '%r7')
        elif kind in ('set up', 'init fence', 'syncwarp', 'm arrive', 'm expect', 'm wait', 'm try', 'm token', 'fill', 'm copied'):
            self.with_mbarrier(s)
        elif kind in ('copy', 'send', 'commit', 'wait all', 'wait group', 'proxy fence', 'send commit', 'send taken', 'send wait'):
            self.with_copy(s)
        elif kind in ('mma', 'put', 'put right', 'w commit', 'w wait'):
            self.with_product(s)
        elif kind == 'fence':
            self.say('fence.acq_rel.%s;' % s[1])
        elif kind == 'bar':
            self.say('bar.sync %d;' % s[1])
        elif kind in ('arrive', 'sync'):
            self.say('bar.%s %d, %d;' % (kind, s[1], max(32, s[2] // 32 * 32)))
        elif kind == 'take':
            def take():
                space, a = self.at(s[1])
                r = self.reg()
                if s[2] == 'cas':
                    self.say('atom.relaxed.%s%s.cas.b32 %s, %s, %d, %d;' % (s[5], space, r, a, s[3], s[4]))
                else:
                    self.say('atom.relaxed.%s%s.exch.b32 %s, %s, %d;' % (s[5], space, r, a, s[4]))
                return r
            self.until(take, 'eq', 0)
        elif kind in ('give', 'set'):
            self.store(s[1], s[2], s[3], s[4])
        elif kind == 'wait':
            self.until(lambda: self.load(s[1], s[2], s[5]), s[3], s[4])
        elif kind in ('add', 'ticket', 'last'):
            space, a = self.at(s[1])
            r = self.reg()
            self.say('atom.relaxed.%s%s.add.u32 %s, %s, %d;' % (s[4] if kind == 'last' else s[3], space, r, a, s[2]))
            if kind == 'ticket':
                self.ticket = r
            if kind == 'last':
                p, end = self.pred(), self.label()
                self.say('setp.ne.u32 %s, %s, %d;' % (p, r, s[3]))
                self.say('@%s bra %s;' % (p, end))
                self.body(s[5])
                self.out.append(end + ':')
        elif kind == 'turn wait':
            t = self.ticket or '%r1'
            self.until(lambda: self.load(s[1], s[2], s[3]), 'eq', t)
        elif kind == 'next':
            t = self.ticket or '%r1'
            self.store(s[1], s[2], s[3] if s[2] == 'add' else self.op('add', t, s[3]), s[4])

    def body(self, statements):
        for s in statements:
            self.statement(s)

    def ptx(self, statements):
        self.body(statements)
        self.store(('out', 'own'), '', '%r7')  # so that what is loaded is made use of
        head = ['.visible .entry %s(.param .u64 %s_d, .param .u64 %s_f, .param .u64 %s_o)' % (4 * (self.name,)), '{',
                '\t.reg .pred %%p<%d>;' % (self.preds + 1), '\t.reg .b32 %%r<%d>;' % self.regs, '\t.reg .b64 %%w<%d>;' % self.wide,
                '\t.reg .f32 %f<4>;', '\tsetp.eq.u32 %p0, 0, 0;', *('\tmov.f32 %%f%d, 0f00000000;' % i for i in range(4)),
                '\t.shared .align 128 .b8 %s_s[%d];' % (self.name, 32 * WORDS), '\t.shared .align 8 .b8 %s_F[32];' % self.name,
                '\t.shared .align 8 .b8 %s_E[32];' % self.name, '\tmov.u32 %%r4, %s_s;' % self.name, '\tmov.u32 %%r5, %s_F;' % self.name,
                '\tmov.u32 %%r6, %s_E;' % self.name,
                '\tld.param.u64 %%w0, [%s_d];' % self.name, '\tld.param.u64 %%w1, [%s_f];' % self.name, '\tmov.u64 %%w2, %s_s;' % self.name,
                '\tld.param.u64 %%w3, [%s_o];' % self.name,
                '\tcvta.to.global.u64 %w0, %w0;', '\tcvta.to.global.u64 %w1, %w1;', '\tcvta.to.global.u64 %w3, %w3;',
                '\tmov.u32 %r0, %tid.x;', '\tmov.u32 %r1, %ctaid.x;', '\tmov.u32 %r7, 1;']
        return '\n'.join(head + self.out + ['\tret;', '}', ''])


HEAD = '.version 8.3\n.target sm_90a\n.address_size 64\n\n'

if __name__ == '__main__':
    random_judge.main(shape, change, lambda i, k: Text('k%d' % i).ptx(k), HEAD, BLOCK, GRID, ('zeros',), SEEDS)
