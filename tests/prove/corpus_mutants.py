#!/usr/bin/env python3
"""corpus_mutants.py - the corpus' kernels made wrong by rule, by prove and by the oracle.

    [JOBS=2] corpus_mutants.py COLLIDER ORACLE_RUN NVCC ROOT [--kernel=REGEX] [--show] FILE.cu...

Of each kernel of corpus.py that is race-free five mutants are made of its source, in the literal
form, one of each kind where the kernel has a place for it (up to three places are tried, until the
mutant differs); and kernels of which the corpus says that they race are judged as they are written:

    barrier   one barrier or wait is dropped
    index     one index of an array becomes the one before; the first stays
    guard     one condition without else is dropped
    order     x and y change places in one index, or a row's and a column's
    stride    one factor of an index, or one step of a loop, is halved
    written   a kernel that races as it is

Each is judged with the label's dimensions, at all levels. One that has alarms and isn't truly racy is asked about
with --confirm, which runs the alarm's launch under the oracle; one that is proven is run by the oracle
in the label's launch, with arrays of zeros and of ramps. A mutant that is proven and races there, with
a trap where it leaves a shared array (which the contract excludes), fails the test; one that is
proven and doesn't is taken for equal to the kernel, and not counted; nor is one of which prove says
that each launch leaves an array, if that trap shows it in this launch (outside; pointers in structures
aren't run): no race of it is within the contract. Of the others the shares of true and confirmed alarms are printed.

Misses: the oracle sees two contents of memory, and two seconds of a launch.
"""
import collections, concurrent.futures, json, os, random, re, subprocess, sys, tempfile

from corpus import HEAD, VERDICTS, analyse, bound, compile_text, labels_of, racy_of

TURNS = 3  # places of a kind that are tried
KINDS = ('barrier', 'index', 'guard', 'order', 'stride')
WRITTEN = 'written'
BARRIER = r'(?:__sync(?:threads|warp)\([^;]*\)|\w+\.sync\(\)|cg::wait\w*\([^;]*\)|__pipeline_wait_prior\(\d+\));'


def closing(s, at):
    """The place behind the bracket that closes the one at s[at]."""
    depth = 0
    for i in range(at, len(s)):
        depth += (s[i] in '([{') - (s[i] in ')]}')
        if not depth:
            return i + 1
    return len(s)


def indices(body):
    """(start, end) of the index of each access to an array that is written, declarations left out."""
    out, written = [], set(re.findall(r'\b(\w+)\[[^;{}=]*\][\w.]* [-+*/|^&]?= ', body))
    for m in re.finditer(r'\b(\w+)\[', body):
        line = body[body.rfind('\n', 0, m.start()) + 1:m.start()]
        if m.group(1) not in written:
            continue
        if re.search(r'__shared__|^\s*(?:const )?(?:float|int|unsigned|float2|uchar4|double)\s[^=(]*$', line):
            continue
        out.append((m.end(), closing(body, m.end() - 1) - 1))
    return out


def places(body):
    """{kind: [(start, end, new text)]}"""
    out = {k: [] for k in KINDS}
    for m in re.finditer(BARRIER, body):
        out['barrier'].append((m.start(), m.end(), ';'))
    for a, b in indices(body):
        text = body[a:b]
        out['index'].append((a, b, 'max((int)(%s), 1) - 1' % text))
        for m in re.finditer(r'\* ?(\w+|\([^()]*\))', text):
            out['stride'].append((a + m.start(), a + m.end(), '* (%s) / 2' % m.group(1)))
        if body[b + 1:b + 2] == '[':
            end = closing(body, b + 1)
            out['order'].append((a - 1, end, body[b + 1:end] + body[a - 1:b + 1]))
        m = re.fullmatch(r'(\w+|\([^()]*\)) \* (\w+) \+ (\w+)', text)
        if m:
            out['order'].append((a, b, '%s * %s + %s' % (m.group(3), m.group(2), m.group(1))))
    for m in re.finditer(r'\bif (\()', body):
        end = closing(body, m.start(1))
        if not re.match(r'\s*(?:return|break|[^;{]*;\s*else)', body[end:]):
            out['guard'].append((m.start(1), end, '(true)'))
    for m in re.finditer(r'\b(thread|block)Idx\.([xy])', body):
        if re.search(r'\b%sIdx\.%s' % (m.group(1), 'yx'['xy'.index(m.group(2))]), body):
            out['order'].append((m.start(), m.end(), '%sIdx.%s' % (m.group(1), 'yx'['xy'.index(m.group(2))])))
    for m in re.finditer(r'blockIdx\.[xyz] \* (\d+|blockDim\.[xyz])|\+= (blockDim\.x \* gridDim\.x|\d\d+)', body):
        g = 1 if m.group(1) else 2
        out['stride'].append((m.start(g), m.end(g), '(%s) / 2' % m.group(g)))
    return out


def mutants_of(text, name, pins):
    """(kind, turn, source) of each."""
    m = re.search(HEAD % name, bound(text, name, pins, 'literal'))
    text = bound(text, name, pins, 'literal')
    end = closing(text, m.end() - 1)
    body, rng = text[m.end():end - 1], random.Random(name)
    found, out = places(body), []
    for kind in KINDS:
        for turn, (a, b, new) in enumerate(rng.sample(found[kind], min(TURNS, len(found[kind])))):
            head = re.sub(r'\b%s\(' % name, '%s__%s%d(' % (name, kind, turn), text[m.start():m.end()])
            out.append((kind, turn, head + body[:a] + new + body[b:] + '}\n'))
    return out


def as_written(text, name, pins):
    text = bound(text, name, pins, 'literal')
    m = re.search(HEAD % name, text)
    head = re.sub(r'\b%s\(' % name, '%s__%s0(' % (name, WRITTEN), text[m.start():m.end()])
    return head + text[m.end():closing(text, m.end() - 1)] + '\n'


def with_checks(text, name):
    """The source, with a trap where kernel `name` leaves a shared array."""
    m = re.search(HEAD % name, text)
    end = closing(text, m.end() - 1)
    body = text[m.end():end]
    arrays = {}
    for d in re.findall(r'__shared__ \w+ ([^;]+);', body):
        for a, dims in re.findall(r'(\w+)((?:\[[^\]]*\])+)', d):
            arrays[a] = re.findall(r'\[([^\]]*)\]', dims)
    at = 0
    while True:
        m2 = re.compile(r'\b(\w+)\[').search(body, at)
        if not m2:
            break
        at = m2.end()
        line = body[body.rfind('\n', 0, m2.start()) + 1:m2.start()]
        if m2.group(1) not in arrays or '__shared__' in line:
            continue
        i = m2.end() - 1
        for size in arrays[m2.group(1)]:
            if body[i:i + 1] != '[':
                break
            e = closing(body, i)
            checked = '[within_(%s, %s)]' % (body[i + 1:e - 1], size)
            body = body[:i] + checked + body[e:]
            i += len(checked)
    return ('static __device__ long within_(long i, long n) { if (i < 0 || i >= n) asm volatile("trap;"); return i; }\n'
            + text[:m.end()] + body + text[end:])


def compile_all(path, wanted, tmp, nvcc, root):
    """The jobs of a file; what nvcc refuses is left out."""
    text = open(path).read()
    labels, pins = labels_of(text)
    made = []
    for name, verdict, options in labels:
        options = [o for o in options if not o.startswith('--level=')] # the oracle asks about all
        if verdict == 'race-free' and wanted.search(name):
            made += [(name, kind, turn, s, options)
                     for kind, turn, s in mutants_of(text, name, pins.get(name, ''))]
        elif name in racy_of(text) and wanted.search(name):
            made.append((name, WRITTEN, 0, as_written(text, name, pins.get(name, '')), options))
    stem = os.path.join(tmp, os.path.basename(path)[:-3])
    while made:
        all_text, lines = text + '\n', []
        for m in made:
            first = all_text.count('\n') + 1
            all_text += m[3]
            lines.append((first, all_text.count('\n')))
        wrong = compile_text(all_text, stem, nvcc, root)
        if not wrong:
            jobs = {}
            for name, kind, turn, mutant, options in made:
                jobs.setdefault((stem + '.ptx', name, kind, tuple(options)), {})[turn] = text + '\n' + mutant
            return [(*key, turns) for key, turns in jobs.items()]
        at = [int(x) for x in re.findall(r'\.cu\((\d+)\): error', wrong)]
        bad = {i for i, (a, b) in enumerate(lines) for x in at if a <= x <= b}
        if not bad:
            sys.exit(wrong)
        made = [m for i, m in enumerate(made) if i not in bad]
    return []


def checked(source, ptx, mutant, nvcc, root):
    """The text of the mutant with a trap where it leaves an array."""
    stem = '%s.%s' % (ptx[:-4], mutant)
    wrong = compile_text(with_checks(source, mutant), stem, nvcc, root)
    if wrong:
        sys.exit(wrong)
    return stem + '.ptx'


def raced(oracle, ptx, k, options):
    """What the oracle says of the label's launch: a line that begins with "race", or None."""
    return next((a for a in runs(oracle, ptx, k, options) if a.startswith('race')), None)


def runs(oracle, ptx, k, options, fills=('zeros', 'ramp')):
    """What it says of it, by contents."""
    dims, many = [], '1' if k['verdict'] == 'race-free-single' else '4'
    for which in ('block', 'grid'):
        given = [o.split('=')[1] for o in options if o.startswith('--%s-dim=' % which)]
        dims += ((given[0] if given else many).split(',') + ['1', '1'])[:3]
    head = re.search(r'\.entry %s\(([^)]*)\)' % re.escape(k['mangled']), open(ptx).read()).group(1)
    args = ['p' if t == '64' and not array else '1' if not array else '0'
            for t, array in re.findall(r'\.param (?:\.align \d+ )?\.\w(\d+) \S+?(\[\d+\])?(?:,|\s|$)', head)]
    runs = [' '.join([k['mangled'], *dims, fill, *args]) for fill in fills]
    r = subprocess.run([oracle, ptx, '32'], input='\n'.join(runs) + '\n', capture_output=True, text=True)
    return r.stdout.strip().split('\n')


def judge(job, collider, oracle, nvcc, root):
    """The first of a kind's mutants that differs from the kernel."""
    *place, options, turns = job
    for turn, source in turns.items():
        found = judge_one(*place, list(options), turn, collider, oracle)
        if found[0] == 'UNSOUND':
            race = raced(oracle, checked(source, place[0], '%s__%s%d' % (*place[1:], turn), nvcc, root), found[2], options)
            found = found if race else ('equal', '', found[2])
        if found[0] == 'outside' and not any('own memory' in p['text'] for p in found[2]['problems']):
            text = checked(source, place[0], '%s__%s%d' % (*place[1:], turn), nvcc, root)
            said = runs(oracle, text, found[2], options, ['zeros.exact'])
            if not said[0].startswith('fault') or not re.search('trap|shared', said[0]):
                found = 'unproven', '; '.join(said), found[2]
        if found[0] != 'equal':
            break
    return found


def judge_one(ptx, name, kind, options, turn, collider, oracle):
    mutant = '%s__%s%d' % (name, kind, turn)
    k, got = analyse(collider, ptx, mutant, options + ['--no-remedies'])
    if got == 'race-free':
        race = raced(oracle, ptx, k, options)
        return 'UNSOUND' if race else 'equal', race or '', k
    if got == 'unproven' and any('there is no such launch' in p['text'] for p in k['problems']):
        return 'outside', '', k
    if got in ('potential', 'unproven') and k['alarms']:
        r = subprocess.run([collider, 'prove', '--format=json', '--no-cache', '--no-remedies', '--confirm',
                            '--kernel=' + mutant, *options, ptx], capture_output=True, text=True)
        if r.stdout and any(a['confirmed'] == 'confirmed' for a in json.loads(r.stdout)['kernels'][0]['alarms']):
            got = 'confirmed'
    return got, '', k


def main():
    collider, oracle, nvcc, root = sys.argv[1:5]
    option = dict(re.findall(r'--(\w+)=?(.*)', a)[0] for a in sys.argv[5:] if a.startswith('--'))
    table = {k: collections.Counter() for k in KINDS + (WRITTEN, 'all')}
    failed = 0
    with tempfile.TemporaryDirectory() as tmp:
        jobs = []
        for path in (a for a in sys.argv[5:] if not a.startswith('--')):
            jobs += compile_all(path, re.compile(option.get('kernel', '')), tmp, nvcc, root)
        with concurrent.futures.ThreadPoolExecutor(int(os.environ.get('JOBS', '2'))) as pool:
            for job, (got, race, k) in zip(jobs, pool.map(lambda j: judge(j, collider, oracle, nvcc, root), jobs)):
                got = got.split(':')[0]
                table[job[2]][got] += 1
                table['all'][got] += 1
                failed += got == 'UNSOUND'
                if got in ('UNSOUND', 'missing') or ('show' in option and got not in ('true', 'confirmed', 'equal')):
                    reasons = sorted({a['reason'] for a in k['alarms']} | {p['text'] for p in k['problems']}) if k else []
                    print(got, job[1], job[2], race, '; '.join(reasons)[:200], flush=True)
    print('| mutant | made | equal | outside | true | confirmed | potential | could not prove | vacuous | proven, but races |')
    print('|' + ' --- |' * 10)
    for kind, t in table.items():
        print('| %s | %d | %s |' % (kind, sum(t.values()), ' | '.join(str(t[v]) for v in (
            'equal', 'outside', 'true', 'confirmed', 'potential', 'unproven', 'vacuous', 'UNSOUND'))))
    t = table['all']
    n = sum(t.values()) - t['equal'] - t['outside']
    if not t['true']:
        sys.exit('no mutant is racy')
    print('%d kernels, %d mutants that differ: %.1f%% true or confirmed' % (
        len({j[1] for j in jobs}), n, 100 * (t['true'] + t['confirmed']) / n))
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main()
