"""random_judge.py - kernels as trees with random changes, judged by prove and by runs under the oracle.

Each kernel is analysed by `collider prove` and run on the CPU device with each of some contents, from
several seeds of the scheduler. Race-free must mean that no run races; that is the only failure. It is
printed how many are proven, and how many race. One with a true alarm whose runs are clean is asked about
with --confirm, which counts loads, too, of which the oracle doesn't know whether their values are used.

Misses: runs see some schedules of one launch. Kernels that wait for ever say what raced until then.
"""
import json, os, random, subprocess, sys, tempfile

PER_FILE = 25

def lists_of(body):
    """All lists of statements."""
    return [body] + [x for s in body if isinstance(s[-1], list) for x in lists_of(s[-1])]


def copy(body):
    return [tuple(copy(f) if isinstance(f, list) else f for f in s) for s in body]


def rearrange(r, body):
    """Leaves one statement out (how below .3), doubles it (.36) or moves it (.5); else it is only chosen, to be changed
    otherwise. Its list, its place there, how (below 1) and the statement."""
    where = r.choice([x for x in lists_of(body) if x])
    i, how = r.randrange(len(where)), r.random()
    s = where[i]
    if how < .3:
        del where[i]
    elif how < .36:
        where.insert(i, copy([s])[0])
    elif how < .5:
        del where[i]
        to = r.choice(lists_of(body))
        to.insert(r.randint(0, len(to)), s)
    return where, i, how, s


def prove(collider, path, block, grid):
    """Each kernel's verdict."""
    r = subprocess.run([collider, 'prove', '--format=json', '--no-cache', '--no-remedies', '--no-confirm',
                        '--block-dim=%d' % block, '--grid-dim=%d' % grid, '--prove-timeout=2', path],
                       capture_output=True, text=True)
    if not r.stdout:
        sys.exit('%s: %s' % (path, r.stderr))
    return {k['mangled']: k['verdict'] for k in json.loads(r.stdout)['kernels']}


def is_confirmed(collider, path, name, block, grid):
    """Does a true alarm of it race in the launch that it names?"""
    r = subprocess.run([collider, 'prove', '--format=json', '--no-cache', '--no-remedies', '--confirm', '--kernel=' + name,
                        '--block-dim=%d' % block, '--grid-dim=%d' % grid, '--prove-timeout=2', path],
                       capture_output=True, text=True)
    return any(a['confirmed'] == 'confirmed' for k in json.loads(r.stdout)['kernels'] if k['mangled'] == name
               for a in k['alarms'] if a['true'])


def run(oracle, path, names, block, grid, fill, seeds):
    """What the oracle says of each."""
    lines = ['%s %d 1 1 %d 1 1 %s p p p' % (n, block, grid, fill) for n in names]
    r = subprocess.run([oracle, path, '1', str(seeds)], input='\n'.join(lines) + '\n', capture_output=True, text=True)
    answers = r.stdout.strip().split('\n')
    if len(answers) != len(names):
        sys.exit('%s: %s' % (path, r.stderr))
    return answers


def judge(kernels, first, tmp, counts, collider, oracle, text, head, block, grid, fills, seeds):
    """The kernels of one file; first is the number of the first of them."""
    path, names, failed = os.path.join(tmp, 'k.ptx'), ['k%d' % i for i in range(len(kernels))], 0
    with open(path, 'w') as f:
        f.write(head + '\n'.join(text(i, k) for i, k in enumerate(kernels)))
    verdicts = prove(collider, path, block, grid)
    answers = zip(*(run(oracle, path, names, block, grid, fill, seeds) for fill in fills))
    for i, (name, a) in enumerate(zip(names, answers)):
        race = next((x for x in a if x.startswith('race')), None)
        is_free, is_true = verdicts[name].startswith('race-free'), verdicts[name] == 'true-alarm'
        says, is_clean = '\n  '.join(map(str, kernels[i])), all(x == 'clean' for x in a)
        counts['proven'] += is_free
        counts['race'] += race is not None
        counts['true'] += race is not None and is_true
        counts['false true'] += is_true and is_clean
        if is_true and is_clean and not is_confirmed(collider, path, name, block, grid):
            counts['not confirmed'] += 1
            print('true, but neither raced nor confirmed: kernel %d\n  %s' % (first + i, says))
        elif os.environ.get('SHOW') and is_true and is_clean:
            print('true, but clean: kernel %d\n  %s' % (first + i, says))
        if is_free and race:
            failed += 1
            print('FAIL: kernel %d is proven, but %s:\n  %s' % (first + i, race, says))
            if os.environ.get('KEEP'):
                with open(os.environ['KEEP'], 'w') as f:
                    f.write(head + text(i, kernels[i]))
    return failed


def main(shape, change, *how):
    """COLLIDER ORACLE_RUN [SEED [COUNT ...]]: shape makes a kernel, change changes it in one place."""
    collider, oracle = sys.argv[1:3]
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    count = int(sys.argv[4]) if len(sys.argv) > 4 else 100
    rng, failed = random.Random(seed), 0
    counts = dict.fromkeys(('proven', 'race', 'true', 'false true', 'not confirmed'), 0)
    with tempfile.TemporaryDirectory() as tmp:
        for at in range(0, count, PER_FILE):
            kernels = []
            for _ in range(min(PER_FILE, count - at)):
                body = shape(rng)
                for _ in range(rng.choice((0, 1, 1, 1, 2, 2, 3))):
                    if any(lists_of(body)[0]):
                        change(rng, body)
                kernels.append(body)
            failed += judge(kernels, at, tmp, counts, collider, oracle, *how)
    print('seed %d: %d kernels: %d proven, %d race, %d of these with a true alarm, %d clean ones with a true alarm, %d of these not confirmed; %d wrong' % (
        seed, count, *counts.values(), failed))
    if not counts['proven'] or not counts['race']:
        sys.exit('nothing was asked')
    sys.exit(failed > 0)
