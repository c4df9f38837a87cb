#!/usr/bin/env python3
"""figures.py - how well prove does on the labelled kernels, as a table.

    [JOBS=2] figures.py COLLIDER NVCC ROOT [FILE.cu...]

Each kernel is proved with the preconditions of its label (kernels.py), unoptimised and at -O3. What
is true of it stands in the label: race-free, true, or the word free or racy behind the verdict.
Kernels of vacuous.cu and outside.cu aren't counted: they are about the contract. A share that is
missed makes the exit code 1, an unsound answer 2.
"""
import concurrent.futures, glob, json, os, re, statistics, subprocess, sys, tempfile

collider, nvcc, root = sys.argv[1:4]
files = sys.argv[4:] or sorted(glob.glob(root + '/tests/prove/kernels/*.cu'))
SHORT = {'race-free': 'free', 'race-free-single': 'free', 'true-alarm': 'true', 'potential-alarm': 'potential',
         'could-not-prove': 'unproven', 'vacuous': 'vacuous'}


def ptx_of(path, flags, out):
    subprocess.run([nvcc, '-ptx', '-arch=sm_90', '-D__COLLIDER_PROVE__=1', '-I', root + '/include',
                    '-include', 'collider/assume.h', *flags, '-o', out, path], check=True,
                   stderr=subprocess.DEVNULL)


def prove(ptx, name, options):
    r = subprocess.run([collider, 'prove', '--format=json', '--no-cache', '--no-remedies', '--no-confirm',
                        '--kernel=%d%s' % (len(name), name), *options, ptx], capture_output=True, text=True)
    for k in json.loads(r.stdout)['kernels']:
        if re.split(r'[<( ]', k['name'].replace('void ', ''))[0] == name:
            return k
    sys.exit('%s: no such kernel in %s: %s' % (name, ptx, r.stderr))


def one(job):
    name, truth, options, plain, fast = job
    k, o = prove(plain, name, options), prove(fast, name, options)
    v = SHORT[k['verdict']]
    is_confirmed = v == 'true'
    if truth == 'racy' and v == 'potential':
        k2 = prove(plain, name, options + ['--confirm'])
        is_confirmed = any(a.get('confirmed') == 'confirmed' for a in k2['alarms'])
    return {'name': name, 'truth': truth, 'verdict': v, 'fast': SHORT[o['verdict']], 'ms': k['ms'],
            'kb': k['memory_kb'], 'confirmed': is_confirmed, 'has_precondition': bool(options),
            'why': [p['text'] for p in k['problems']][:1]}


jobs = []
files = [f for f in files if not f.endswith(('vacuous.cu', 'outside.cu'))]
workers = int(os.environ.get('JOBS', '2'))
with tempfile.TemporaryDirectory() as tmp, \
        concurrent.futures.ThreadPoolExecutor(max_workers=workers) as pool:
    def both(path):
        n = os.path.join(tmp, os.path.basename(path)[:-3])
        ptx_of(path, ['-G'], n + '.plain.ptx')
        ptx_of(path, ['-O3', '-lineinfo'], n + '.fast.ptx')
        return n + '.plain.ptx', n + '.fast.ptx'

    for path, (plain, fast) in zip(files, list(pool.map(both, files))):
        text = open(path).read()
        for name, expected, rest in re.findall(r'^// prove: (\w+) (\S+)(.*)$', text, re.M):
            words = rest.split()
            body = text[text.index(' ' + name + '('):].split('\n}\n')[0]
            truth = {'race-free': 'free', 'single': 'free', 'true': 'racy'}.get(expected)
            truth = truth or next((w for w in words if w in ('free', 'racy')), 'other')
            options = [w for w in words if w.startswith('--')]
            jobs.append((name, truth, options, plain, fast))
            if re.search('collider_(assume|distinct|apart|injective|sorted)', body):
                jobs[-1] = (name, truth, options + ['--level=all'], plain, fast)
    rows = list(pool.map(one, jobs))

wrong = [r for r in rows if (r['truth'] == 'free' and 'true' in (r['verdict'], r['fast'])) or
         (r['truth'] == 'racy' and 'free' in (r['verdict'], r['fast']))]
free = [r for r in rows if r['truth'] == 'free']
bare = [r for r in free if not r['has_precondition']]
racy = [r for r in rows if r['truth'] == 'racy']
alike = [r for r in rows if r['verdict'] == r['fast']]
torn = [r for r in rows if {r['verdict'], r['fast']} == {'free', 'true'}]
ms, kb = sorted(r['ms'] for r in rows), sorted(r['kb'] for r in rows)
missed = []


def line(what, part, whole, least=None, most=None):
    share = 100.0 * part / max(1, whole)
    asked = '%d%% or more' % least if least is not None else '%d%% or less' % most
    if (least is not None and share < least) or (most is not None and share > most):
        missed.append(what)
    print('| %s | %d of %d, %.1f%% | %s |' % (what, part, whole, share, asked))


print('| measure | found | asked |\n| --- | --- | --- |')
print('| labels | %d, of %d kernels | 120 |' % (len(rows), len({r['name'] for r in rows})))
print('| unsound answers | %d | 0 |' % len(wrong))
line('race-free, proven with their preconditions', sum(r['verdict'] == 'free' for r in free), len(free), 95)
line('race-free, proven without any', sum(r['verdict'] == 'free' for r in bare), len(bare), 80)
line('racy, true or confirmed', sum(r['confirmed'] for r in racy), len(racy), 80)
line('could not prove', sum(r['verdict'] == 'unproven' for r in rows), len(rows), most=3)
line('same verdict from -G and -O3', len(alike), len(rows), 85)
print('| proven from one, true from the other | %d | 0 |' % len(torn))
print('| time, median and 95th percentile | %d ms, %d ms | 50 ms, 1 s |' % (
    statistics.median(ms), ms[int(.95 * (len(ms) - 1))]))
print('| memory, median and largest | %d MB, %d MB | 100 MB, 1 GiB |' % (
    statistics.median(kb) / 1024, kb[-1] / 1024))
print('\n| not as hoped | true of it | -G | -O3 | ms | cause |\n| --- | --- | --- | --- | --- | --- |')
for r in rows:
    good = {'free': ('free',), 'racy': ('true',)}.get(r['truth'], ('potential', 'unproven'))
    if r['verdict'] not in good or r['verdict'] != r['fast'] or r['ms'] > 1000:
        print('| %s | %s | %s%s | %s | %d | %s |' % (
            r['name'], r['truth'], r['verdict'],
            ', confirmed' if r['confirmed'] and r['verdict'] != 'true' else '', r['fast'], r['ms'],
            '; '.join(r['why'])))
sys.exit(2 if wrong or torn else 1 if missed else 0)
