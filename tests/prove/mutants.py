#!/usr/bin/env python3
"""mutants.py - kernels with a barrier, guard or stride taken out, by prove and by the oracle.

    [JOBS=2] [MISSED=1] mutants.py COLLIDER ORACLE_RUN NVCC ROOT COUNT FILE.cu...

Of each labelled kernel (kernels.py) COUNT mutants are made in its unoptimised PTX: one barrier is
deleted, one forward branch goes one way or the other way round, or one stride is lost: a
multiplication, shift, mask or division of an index is left out, an element's size becomes 0 or
doubles, a step of more than 1 becomes 1, a position of the thread or block becomes 0, 1, the
other's or the lane's, a block's size 1, a store goes to the next element. Two changes at once make
up for places that a small kernel doesn't have. Each is judged by `collider prove` with the
preconditions of the label (without --level and --warp-lockstep, which the oracle doesn't know), and
run under the oracle on the CPU device in a few launches that keep to the contract: dimensions that
the contract says are 1 are, what collider_assume() says traps where it doesn't hold, and launches
that trap or leave their arrays don't count (of a mutant that is proven: it must race with its shared
arrays apart, too). Where the contract says that something holds 0 before the launch, all arrays do.
A mutant that races and has a potential alarm is asked about with --confirm. A mutant that is proven
and races in one of its launches is the only failure. With MISSED set, those that race and have no
true or confirmed alarm are listed, with what prove says of them.

Misses: the oracle sees a few launches and two contents of memory; a mutant that it finds clean may
be racy in others.
"""
import ast, concurrent.futures, json, os, random, re, subprocess, sys, tempfile

collider, oracle, nvcc, root = sys.argv[1:5]
count, files = int(sys.argv[5]), sys.argv[6:]
BARRIER, GUARD, STRIDE = 'barrier', 'guard', 'stride'
SHORT = {'race-free': 'free', 'race-free-single': 'free', 'true-alarm': 'true', 'potential-alarm': 'potential',
         'could-not-prove': 'unproven', 'vacuous': 'vacuous'}
TRAP = ('{ .reg .pred %p; .reg .b32 %r; ld.param.u32 %r, [__collider_assume_param_0];'
        ' setp.eq.u32 %p, %r, 0; @%p trap; ret; }')
# a table of values seen, by their low 16 bits: values that collide there only lose a launch
DISTINCT = ('{ .reg .pred %p; .reg .b32 %r; .reg .b64 %a, %b; ld.param.u64 %a, [__collider_distinct_param_0];'
            ' and.b64 %a, %a, 65535; shl.b64 %a, %a, 2; mov.u64 %b, seen_before; add.s64 %a, %a, %b;'
            ' atom.relaxed.gpu.global.exch.b32 %r, [%a], 1; setp.ne.u32 %p, %r, 0; @%p trap; ret; }')
# the same of each of n values; so many that the table would be full only lose a launch, too
APART = ('{ .reg .pred %p; .reg .b32 %r; .reg .b64 %a, %b, %c, %n; ld.param.u64 %a, [__collider_apart_param_0];'
         ' ld.param.u64 %n, [__collider_apart_param_1]; mov.u64 %c, seen_before; setp.gt.s64 %p, %n, 4096; @%p trap;'
         ' again: setp.lt.s64 %p, %n, 1; @%p ret; and.b64 %b, %a, 65535; shl.b64 %b, %b, 2; add.s64 %b, %b, %c;'
         ' atom.relaxed.gpu.global.exch.b32 %r, [%b], 1; setp.ne.u32 %p, %r, 0; @%p trap;'
         ' add.s64 %a, %a, 1; sub.s64 %n, %n, 1; bra again; }')


def ptx_of(path, out):
    source = open(path).read()
    arch = 'sm_90a' if 'wgmma' in source else 'sm_90'
    has_groups = re.search('cooperative_groups.h|<cuda/', source)
    flags = ['-U_CG_LIMIT_INCLUDED_DEPENDENCIES', '-std=c++17'] if has_groups else []
    subprocess.run([nvcc, '-ptx', '-arch=' + arch, '-D__COLLIDER_PROVE__=1', '-I', root + '/include',
                    '-include', 'collider/assume.h', '-G', *flags, '-o', out, path], check=True,
                   stderr=subprocess.DEVNULL)
    # debug sections are half of the text, and say nothing about races
    text = open(out).read()
    return re.sub(r'^\t?\.section\s+\.debug.*?^\t?\}', '', text, flags=re.M | re.S).split('\n')


def body_of(lines, mangled):
    """First and last line of a function's body, its header's first line."""
    for i, s in enumerate(lines):
        if re.search(r'\.(entry|func)\b', s) and re.search(r'(?<![\w$])%s(?![\w$])' % re.escape(mangled), s):
            j = i
            while lines[j] not in ('{', ';') and not lines[j].endswith(';'):
                j += 1
            if lines[j] == '{':
                return i, j, next(k for k in range(j, len(lines)) if lines[k] == '}')
    return None


def called(lines, mangled):
    """The kernel and the functions it calls, that have a body."""
    todo, seen = [mangled], {}
    while todo:
        f = todo.pop()
        b = None if f in seen else body_of(lines, f)
        if not b:
            continue
        seen[f] = b
        text = '\n'.join(lines[b[1]:b[2]])
        todo += re.findall(r'call(?:\.uni)?\s+(?:\([^)]*\),\s*)?([\w$]+)', text)
    return list(seen.values())


def candidates(lines, bodies):
    """(kind, first line, lines to replace, new text)"""
    out = []
    for _, first, last in bodies:
        labels = {m.group(1): i for i in range(first, last)
                  for m in [re.match(r'(\$\w+):', lines[i])] if m}
        loops = [(labels[m.group(1)], i) for i in range(first, last)
                 for m in [re.search(r'\bbra(?:\.uni)?\s+(\$\w+)', lines[i])]
                 if m and labels.get(m.group(1), last) < i]
        for i in range(first, last):
            s = lines[i].strip()
            if re.match(r'(bar|barrier)(\.warp|\.cta)?\.sync|barrier\.cluster|bar\.arrive|mbarrier\.(try|test)', s):
                out.append((BARRIER, i, 1, '' if 'mbarrier' not in s else None))
            elif re.match(r'call\.uni\s*$', s) and 'sync' in lines[i + 1] and '@' not in s:
                end = next(k for k in range(i, last) if lines[k].rstrip().endswith(';'))
                out.append((BARRIER, i, end - i + 1, ''))
            m = re.match(r'@(!?%p\d+) bra(?:\.uni)?\s+(\$\w+);', s)
            if m and labels.get(m.group(2), 0) > i and not any(
                    a <= i <= b < labels[m.group(2)] for a, b in loops):
                out.append((GUARD, i, 1, ''))
                out.append((GUARD, i, 1, '\tbra %s;' % m.group(2)))
                flipped = m.group(1)[1:] if m.group(1)[0] == '!' else '!' + m.group(1)
                out.append((GUARD, i, 1, '\t@%s bra %s;' % (flipped, m.group(2))))
            m = re.match(r'(mul\.lo|mul\.wide|mad\.lo|shl)\.(\w+)\s+(%\w+), (%\w+), ([^,;]+)(?:, ([^;]+))?;', s)
            # 64 bits, and a constant widened: an element's size, without which addresses are unaligned
            if m and m.group(1) != 'mul.wide' and m.group(2)[1:] != '64':
                op, ty, d, a, _, c = m.groups()
                w = ty[1:]
                if op == 'mad.lo':
                    out.append((STRIDE, i, 1, '\tadd.%s %s, %s, %s;' % (ty, d, a, c)))
                else:
                    out.append((STRIDE, i, 1, '\tmov.b%s %s, %s;' % (w, d, a)))
            m = re.match(r'(mul\.wide\.\w+)\s+(%\w+), (%\w+), (\d+);', s)
            if m:  # all at one element, or at every other
                out.append((STRIDE, i, 1, '\tmov.u64 %s, 0;' % m.group(2)))
                out.append((STRIDE, i, 1, '\t%s %s, %s, %d;' % (*m.group(1, 2, 3), 2 * int(m.group(4)))))
            m = re.match(r'(?:and|rem|div)\.\w(32|64)\s+(%\w+), (%\w+), \d+;', s)
            if m:
                out.append((STRIDE, i, 1, '\tmov.b%s %s, %s;' % m.groups()))
            m = re.match(r'mov\.u32\s+(%\w+), %(tid|ctaid|ntid)\.([xyz]);', s)
            if m:
                d, which, axis = m.groups()
                out.append((STRIDE, i, 1, '\tmov.u32 %s, 1;' % d))
                if which != 'ntid':
                    out.append((STRIDE, i, 1, '\tmov.u32 %s, 0;' % d))
                others = {'tid': ('ctaid',), 'ctaid': ('tid',), 'ntid': ()}[which]
                for other in others:
                    out.append((STRIDE, i, 1, '\tmov.u32 %s, %%%s.%s;' % (d, other, axis)))
                if which == 'tid' and axis == 'x':
                    out.append((STRIDE, i, 1, '\tmov.u32 %s, %%laneid;' % d))
            m = re.match(r'((?:st|atom|red)\S*\.[usbf](8|16|32|64)\s+(?:%\w+, )?\[%\w+)\](.*)', s)
            if m:
                out.append((STRIDE, i, 1, '\t%s+%d]%s' % (m.group(1), int(m.group(2)) // 8, m.group(3))))
            m = re.match(r'add\.([su]32)\s+(%\w+), (%\w+), (\d+);', s)
            if m and int(m.group(4)) > 1:
                out.append((STRIDE, i, 1, '\tadd.%s %s, %s, 1;' % m.group(1, 2, 3)))
    return [c for c in out if c[3] is not None]


def choose(all_of, n, rng):
    """n lists of changes, the kinds in turn."""
    by = {k: [c for c in all_of if c[0] == k] for k in (BARRIER, GUARD, STRIDE)}
    for v in by.values():
        rng.shuffle(v)
    out = []
    while len(out) < n and any(by.values()):
        for k in by:
            if by[k] and len(out) < n:
                out.append([by[k].pop()])
    # a small kernel has fewer places: two at once
    pairs = [[a, b] for a in all_of for b in all_of if a[1] < b[1]]
    rng.shuffle(pairs)
    return out + pairs[:n - len(out)]


def params_of(lines, head, mangled):
    """'p' or the width of each, for a launch; structures are zero."""
    shown = subprocess.run(['c++filt', mangled], capture_output=True, text=True).stdout.strip()
    text = '\n'.join(lines[head:head + 80]).split(')')[0]
    found = re.findall(r'\.param (?:\.align \d+ )?\.(\w\d+)\s*([^,\n]*)', text)
    m = re.search(r'\((.*)\)$', shown)
    types = re.split(r',\s*(?![^<(]*[>)])', m.group(1)) if m and m.group(1) else []
    out = []
    for i, (t, rest) in enumerate(found):
        is_array = '[' in rest
        is_pointer = (types[i].rstrip().endswith(('*', '&', '__restrict__')) if len(types) == len(found)
                      else t[1:] == '64')
        out.append('0' if is_array else 'p' if is_pointer and t[1:] == '64' else 's')
    return out


def with_assumes(lines):
    """What is assumed gets bodies that trap; injective() holds by what the arrays have."""
    text = '\n'.join(lines)
    for name, body in (('__collider_assume', TRAP),
                       ('__collider_distinct', DISTINCT), ('__collider_apart', APART), ('__collider_injective', '{ ret; }'), ('__collider_sorted', '{ ret; }')):
        text = re.sub(r'\.extern (\.func\s+%s\s*\([^)]*\))\s*;' % name, r'\1 ' + body, text)
    return text.replace('.address_size 64', '.address_size 64\n.global .align 4 .b8 seen_before[262144];', 1)


def with_space(text, mangled):
    """A kernel's shared arrays lie apart, the largest last: what leaves one reaches no other."""
    lines = text.split('\n')
    _, start, end = body_of(lines, mangled)
    at = [i for i in range(start, end) if re.match(r'\s*\.shared .*;$', lines[i])]
    size = [int((re.findall(r'\[(\d+)\];', lines[i]) or ['8'])[0]) for i in at]
    moved = [re.sub(r'\[(\d+)\];', lambda m: '[%d];' % (int(m.group(1)) + 1024), lines[i])
             for _, i in sorted(zip(size, at))]
    for i, line in zip(at, moved):
        lines[i] = line
    return '\n'.join(lines)


def dims(options, which, default):
    for o in options:
        if o.startswith('--%s=' % which):
            v = [int(x) for x in o.split('=')[1].split(',')]
            return [(v + [1, 1])[:3]]
    return default


def launches(mangled, params, options, ones, text, fills, rng):
    """Lines for oracle_run, within the contract."""
    is_2d, is_2d_grid = '%tid.y' in text, '%ctaid.y' in text
    blocks = dims(options, 'block-dim', [[8, 4, 1], [32, 2, 1]] if is_2d else [[64, 1, 1], [5, 1, 1], [128, 1, 1]])
    grids = dims(options, 'grid-dim', [[2, 2, 1]] if is_2d_grid else [[2, 1, 1], [1, 1, 1], [4, 1, 1]])
    given = {}
    for o in options:
        if o.startswith('--param='):
            given = dict(p.split('=') for p in o[8:].split(','))
    assumes = ' && '.join('(%s)' % a for o in options if o.startswith('--assume=')
                          for a in o[9:].split(';'))
    out = []
    for turn in range(6):
        b, g = list(blocks[turn % len(blocks)]), list(grids[turn % len(grids)])
        for d in range(3):
            b[d] = 1 if 'blockDim.' + 'xyz'[d] in ones else b[d]
            g[d] = 1 if 'gridDim.' + 'xyz'[d] in ones else g[d]
        values = {'blockDim.x': b[0], 'blockDim.y': b[1], 'blockDim.z': b[2],
                  'gridDim.x': g[0], 'gridDim.y': g[1], 'gridDim.z': g[2]}
        e = assumes.replace('&&', ' and ').replace('||', ' or ')
        for k, v in values.items():
            e = e.replace(k, str(v))
        try:
            if e and not eval(compile(ast.parse(e, mode='eval'), 'assume', 'eval'), {}):
                continue
        except (NameError, SyntaxError):
            pass
        n = b[0] * b[1] * g[0] * g[1]
        choice = [n, b[0], 2, 1, 33, 100, 16, 64]
        args = [given.get(str(i + 1)) or
                (p if p != 's' else str(n if turn == 0 else b[0] if turn == 1 else rng.choice(choice)))
                for i, p in enumerate(params)]
        out.append(' '.join([mangled, *map(str, b + g), fills[turn % len(fills)], *args]))
    return out


def judge(job):
    name, mangled, mutant, options, lines, head, source, tmp, serial = job
    kind, at, _, new = mutant[0]
    text = lines
    for _, i, n, s in mutant:
        text = text[:i] + [s] + [''] * (n - 1) + text[i + n:]
    path = os.path.join(tmp, '%s.%d.ptx' % (name, serial))
    with open(path, 'w') as f:
        f.write('\n'.join(text))
    r = subprocess.run([collider, 'prove', '--format=json', '--no-cache', '--no-remedies', '--no-confirm', '--kernel=' + mangled,
                        *options, path], capture_output=True, text=True)
    ks = [k for k in json.loads(r.stdout)['kernels'] if k['mangled'] == mangled] if r.stdout else []
    if not ks:
        os.unlink(path)
        return {'name': name, 'kind': kind, 'verdict': 'refused', 'race': None, 'ran': 0, 'at': at}
    k = ks[0]
    ones = [c['text'] for c in k['contract'] if c['text'].startswith('1: ')]
    has_unsaid = bool(re.search(r'collider_(distinct|apart|injective|sorted)|injective|distinct|sorted|apart\(', source + ' '.join(options)))
    # flags and locks hold 0 at first, by the contract
    is_zero = any('holds 0 before the launch' in c['text'] for c in k['contract'])
    fills = ['ramp'] if has_unsaid else ['zeros'] if is_zero else ['zeros', 'ramp']
    runs = launches(mangled, params_of(lines, head, mangled), options, ones[0] if ones else '',
                    '\n'.join(text), fills, random.Random(name + str(serial)))
    run_path = path + '.run.ptx'
    with open(run_path, 'w') as f:
        f.write(with_assumes(text))
    r = subprocess.run([oracle, run_path], input='\n'.join(runs) + '\n', capture_output=True, text=True)
    if os.environ.get('SHOW'):
        print(name, kind, r.stdout, r.stderr)
    answers = r.stdout.strip().split('\n') if r.stdout.strip() else []
    race = next(((a, l) for a, l in zip(answers, runs) if a.startswith('race')), None)
    if race and SHORT[k['verdict']] == 'free':
        with open(run_path, 'w') as f:
            f.write(with_space(with_assumes(text), mangled))
        r = subprocess.run([oracle, run_path], input=race[1] + '\n', capture_output=True, text=True)
        race = race if r.stdout.startswith('race') else None
    out = {'name': name, 'kind': kind, 'verdict': SHORT[k['verdict']], 'race': race, 'at': at,
           'ran': sum(not a.startswith('fault') for a in answers), 'new': new.strip(), 'old': lines[at].strip()}
    out['confirmed'] = out['verdict'] == 'true'
    out['why'] = '; '.join(sorted({a['reason'] for a in k['alarms']} | {p['text'] for p in k['problems']}))
    if race and out['verdict'] == 'potential':
        r = subprocess.run([collider, 'prove', '--format=json', '--no-cache', '--no-remedies', '--confirm',
                            '--kernel=' + mangled, *options, path], capture_output=True, text=True)
        out['confirmed'] = bool(re.search(r'"confirmed": ?"confirmed"', r.stdout))
    keep = os.environ.get('KEEP')
    if keep and race and out['verdict'] == 'free':
        os.replace(path, os.path.join(keep, os.path.basename(path)))
    for p in (path, run_path):
        if os.path.exists(p):
            os.unlink(p)
    return out


jobs = []
with tempfile.TemporaryDirectory() as tmp:
    for path in files:
        source = open(path).read()
        lines = ptx_of(path, os.path.join(tmp, 'k.ptx'))
        entries = {}
        for s in lines:
            m = re.search(r'\.entry ([\w$]+)\(', s)
            if m:
                shown = subprocess.run(['c++filt', m.group(1)], capture_output=True, text=True).stdout
                entries[re.split(r'[<( ]', shown.replace('void ', ''))[0].strip()] = m.group(1)
        done = set()
        for name, _, rest in re.findall(r'^// prove: (\w+) (\S+)(.*)$', source, re.M):
            if name in done or name not in entries:
                continue
            done.add(name)
            options = [w for w in rest.split() if w.startswith('--') and
                       not w.startswith(('--level', '--warp-lockstep'))]
            bodies = called(lines, entries[name])
            body = source[source.index(' ' + name + '('):].split('\n}\n')[0]
            chosen = choose(candidates(lines, bodies), count, random.Random(name))
            for i, m in enumerate(chosen):
                jobs.append((name, entries[name], m, options, lines, body_of(lines, entries[name])[0],
                             body, tmp, i))
    with concurrent.futures.ThreadPoolExecutor(max_workers=int(os.environ.get('JOBS', '2'))) as pool:
        rows = list(pool.map(judge, jobs))

failed = 0
print('| mutant | made | run | race under the oracle | of them proven | proven | true | potential | '
      'could not prove |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |')
for kind in (BARRIER, GUARD, STRIDE, 'all'):
    of = [r for r in rows if kind in (r['kind'], 'all') and r['verdict'] != 'refused']
    wrong = [r for r in of if r['race'] and r['verdict'] == 'free']
    failed += len(wrong) if kind != 'all' else 0
    v = [sum(r['verdict'] == x for r in of) for x in ('free', 'true', 'potential', 'unproven')]
    print('| %s | %d | %d | %d | %d | %s |' % (
        kind, len(of), sum(r['ran'] > 0 for r in of), sum(bool(r['race']) for r in of), len(wrong),
        ' | '.join(map(str, v))))
for r in rows:
    if r['race'] and r['verdict'] == 'free':
        print('FAIL %s: proven without %s (PTX line %d, "%s" became "%s"), but %s in %s' % (
            r['name'], r['kind'], r['at'] + 1, r['old'], r['new'], *r['race']))
racy = [r for r in rows if r['race']]
for r in racy if os.environ.get('MISSED') else []:
    if not r['confirmed']:
        print('missed %s, line %d, "%s" became "%s": %s, %s; %s in %s' % (
            r['name'], r['at'] + 1, r['old'], r['new'], r['verdict'], r['why'][:200], *r['race']))
print('%d kernels, %d mutants; of %d that race %d have a true alarm, %d a true or confirmed one; refused %d, vacuous %d' % (
    len({r['name'] for r in rows}), len(rows), len(racy), sum(r['verdict'] == 'true' for r in racy),
    sum(r['confirmed'] for r in racy),
    sum(r['verdict'] == 'refused' for r in rows), sum(r['verdict'] == 'vacuous' for r in rows)))
if not racy:
    sys.exit('no mutant raced: the oracle was not asked')
sys.exit(1 if failed else 0)
