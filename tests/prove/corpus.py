#!/usr/bin/env python3
"""corpus.py - kernels in the style of what people write, each in several forms, and what prove says.

    [JOBS=2] corpus.py COLLIDER NVCC ROOT [--form=FORM,...] [--kernel=REGEX] [--show] FILE.cu...

Before each kernel stands a label, in the form of kernels.py's, and what its host gives its scalars:

    // prove: NAME VERDICT --block-dim=... --grid-dim=...
    // pin: NAME w=1024 h=768
    // free: NAME VERDICT
    // weak: NAME FORM VERDICT

Three forms are made of one source. *literal*: the scalars are constants of the program, *pinned*:
they are parameters that __requires(w == 1024) pins; both have the label's dimensions and its
verdict. *free*: scalars may have any value, `// free:` says the verdict (race-free or true; not
looked at where there is none). A `// weak:` line says what a form has today where that is less than
the label's. The table has the shares that issue and paper count: proven within a block, proven at
all levels, not proven, potential alarms a kernel, and what is unsound.
"""
import concurrent.futures, json, os, re, subprocess, sys, tempfile

collider, nvcc, root = sys.argv[1:4]
option = dict(re.findall(r'--(\w+)=?(.*)', a)[0] for a in sys.argv[4:] if a.startswith('--'))
files = [a for a in sys.argv[4:] if not a.startswith('--')]
forms = option.get('form', 'literal,pinned').split(',')
wanted = re.compile(option.get('kernel', ''))
VERDICTS = {'race-free': 'race-free', 'race-free-single': 'race-free', 'true-alarm': 'true', 'potential-alarm': 'potential',
            'could-not-prove': 'unproven', 'vacuous': 'vacuous'}


def bound(text, name, pins, form):
    """The source with a kernel's scalars as literals, or pinned."""
    m = re.search(r'__global__ void (?:__launch_bounds__\([^)]*\) )?%s\(([^)]*)\)\s*\{' % name, text)
    if not m or not pins:
        return text
    params, extra = m.group(1), ''
    for var, value in (p.split('=') for p in pins.split()):
        if form == 'literal':
            d = re.search(r'(?:^|,)\s*([^,]*?)\b%s\s*(?=,|$)' % var, params)
            if not d:
                sys.exit('%s: no parameter %s' % (name, var))
            params = params[:d.start(0)] + re.sub(r'\b%s\b' % var, var + '_', d.group(0)) + params[d.end(0):]
            extra += ' const %s %s = %s;' % (d.group(1).replace('const ', '').strip(), var, value)
        else:
            extra += ' __requires(%s == %s);' % (var, value)
    return text[:m.start(1)] + params + text[m.end(1):m.end(0)] + extra + text[m.end(0):]


def compile_form(path, form, labels, pins, tmp):
    text = open(path).read()
    if form in ('literal', 'pinned'):
        for name, _, _ in labels:
            text = bound(text, name, pins.get(name, ''), form)
    stem = os.path.join(tmp, os.path.basename(path)[:-3] + '.' + form)
    open(stem + '.cu', 'w').write('#line 1 "%s"\n%s' % (os.path.basename(path), text))
    r = subprocess.run([nvcc, '-ptx', '-arch=sm_90', '-std=c++17', '-D__COLLIDER_PROVE__=1', '-I', root + '/include',
                        '-include', 'collider/assume.h', '-G', '-rdc=true', '-o', stem + '.ptx', stem + '.cu'],
                       capture_output=True, text=True)
    if r.returncode:
        sys.exit(r.stderr)
    return stem + '.ptx'


def analyse(job):
    ptx, form, name, want, options = job
    r = subprocess.run([collider, 'prove', '--format=json', '--no-cache', '--no-remedies', '--kernel=' + name,
                        *options, ptx], capture_output=True, text=True)
    if r.stdout:
        for k in json.loads(r.stdout)['kernels']:
            if re.split(r'[<( ]', k['name'].replace('void ', ''))[0] == name:
                return job, k, VERDICTS[k['verdict']]
    return job, None, 'missing: ' + r.stderr.strip()


def show(k):
    seen = []
    for a in k['alarms']:
        line = '     %s %s %s %s' % ('true' if a['true'] else 'potential', a['level'],
                                     [s['line'] for s in a['sides']], a['reason'])
        if line not in seen:
            seen.append(line)
    for p in k['problems']:
        seen.append('     %s %s %s' % (p['kind'], p['line'], p['text']))
    print('\n'.join(seen[:6]))


failed, table, times = 0, {}, []
with tempfile.TemporaryDirectory() as tmp:
    jobs = []
    for path in files:
        text = open(path).read()
        labels = [x for x in re.findall(r'^// prove: (\w+) (\S+)(.*)$', text, re.M) if wanted.search(x[0])]
        pins = dict(re.findall(r'^// pin: (\w+) (.*)$', text, re.M))
        free = dict(re.findall(r'^// free: (\w+) (\S+)$', text, re.M))
        weak = {(n, f): v for n, f, v in re.findall(r'^// weak: (\w+) (\w+) (\S+)', text, re.M)}
        for form in forms:
            ptx = compile_form(path, form, labels, pins, tmp) if labels else None
            for name, verdict, rest in labels:
                want = free.get(name) if form == 'free' else verdict
                jobs.append((ptx, form, name, (weak.get((name, form), want), want),
                             [w for w in rest.split() if w.startswith('--')]))
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get('JOBS', '2'))) as pool:
        for (ptx, form, name, (today, want), _), k, got in pool.map(analyse, jobs):
            t = table.setdefault(form, dict(kernels=0, block=0, free=0, unproven=0, potential=0, unsound=0, ms=[]))
            alarms = k['alarms'] if k else []
            near = [a for a in alarms if a['level'] in ('warp', 'block')]
            t['kernels'] += 1
            t['free'] += got == 'race-free'
            t['block'] += got == 'race-free' or (got in ('potential', 'true') and not near)
            t['unproven'] += got not in ('race-free', 'true', 'potential')
            t['potential'] += sum(not a['true'] for a in alarms)
            unsound = {got, want} == {'race-free', 'true'}
            t['unsound'] += unsound
            t['ms'].append(k['ms'] if k else 0)
            bad = unsound or (today is not None and got != today)
            failed += bad
            if bad or ('show' in option and got != want):
                print('%s %s %s %s: expected %s, found %s, %d ms' % (
                    'FAIL' if bad else 'weak', os.path.basename(ptx).split('.')[0], form, name, today, got, t['ms'][-1]))
                if k:
                    show(k)
                sys.stdout.flush()
print('%-8s %7s %6s %6s %9s %16s %8s %7s %7s' % ('form', 'kernels', 'block', 'all', 'unproven', 'potential/kernel',
                                                 'unsound', 'median', 'most'))
for form, t in table.items():
    n, ms = t['kernels'], sorted(t['ms'])
    print('%-8s %7d %5.1f%% %5.1f%% %8.1f%% %16.2f %8d %4d ms %4d ms' % (
        form, n, 100 * t['block'] / n, 100 * t['free'] / n, 100 * t['unproven'] / n, t['potential'] / n,
        t['unsound'], ms[n // 2], ms[-1]))
sys.exit(1 if failed else 0)
