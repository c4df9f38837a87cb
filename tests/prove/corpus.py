#!/usr/bin/env python3
"""corpus.py - kernels in the style of what people write, each in several forms, and what prove says.

    [JOBS=2] corpus.py COLLIDER NVCC ROOT [--form=FORM,...] [--kernel=REGEX] [--show] FILE.cu...

Before each kernel stands a label, in the form of kernels.py's, and what its host gives its scalars:

    // prove: NAME VERDICT --block-dim=... --grid-dim=...
    // pin: NAME w=1024 h=768
    // weak: NAME FORM VERDICT
    // races: NAME

Three forms are made of one source. *literal*: the scalars are constants of the program, *pinned*:
they are parameters that __requires(w == 1024) pins; both have the label's dimensions and its
verdict. *free*: scalars may have any value; a kernel that isn't proven then should have a remedy
that its host's dimensions and scalars keep to ("helped" in the table), and none is true where the
label's verdict is race-free and the scalars aren't in the way ("unsound" is where proof and label
contradict). A kernel of which the corpus says that it `races` is no right one: corpus_mutants.py judges it,
and the table has the shares with and without such kernels. A `// weak:` line says what a form has today where that is less than the label's; what
it says of the literal form it says of the pinned one. The table has the shares that issue and paper count: proven within a block, proven at all levels, not
proven, potential alarms a kernel, and what is unsound.
"""
import concurrent.futures, json, os, re, subprocess, sys, tempfile

VERDICTS = {'race-free': 'race-free', 'race-free-single': 'race-free', 'true-alarm': 'true', 'potential-alarm': 'potential',
            'could-not-prove': 'unproven', 'vacuous': 'vacuous'}
HEAD = r'__global__ void (?:__launch_bounds__\([^)]*\) )?%s\(([^)]*)\)\s*\{'


def bound(text, name, pins, form):
    """The source with a kernel's scalars as literals, or pinned."""
    m = re.search(HEAD % name, text)
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


def labels_of(text):
    """(name, verdict, options) of each kernel, and what its host gives its scalars."""
    return ([(n, v, [w for w in rest.split() if w.startswith('--')])
             for n, v, rest in re.findall(r'^// prove: (\w+) (\S+)(.*)$', text, re.M)],
            dict(re.findall(r'^// pin: (\w+) (.*)$', text, re.M)))


def racy_of(text):
    """Names of the kernels that race as they were written."""
    return set(re.findall(r'^// races: (\w+)', text, re.M))


def compile_text(text, stem, nvcc, root):
    """What the compiler says against it, or None: the PTX is stem.ptx."""
    with open(stem + '.cu', 'w') as f:
        f.write(text)
    r = subprocess.run([nvcc, '-ptx', '-arch=sm_90', '-std=c++17', '-D__COLLIDER_PROVE__=1', '-I', root + '/include',
                        '-U_CG_LIMIT_INCLUDED_DEPENDENCIES',
                        '-include', 'collider/assume.h', '-G', '-rdc=true', '-o', stem + '.ptx', stem + '.cu'],
                       capture_output=True, text=True)
    return r.stderr or 'nvcc failed' if r.returncode else None


def compile_form(path, form, labels, pins, tmp, nvcc, root):
    text = open(path).read()
    if form in ('literal', 'pinned'):
        for name, _, _ in labels:
            text = bound(text, name, pins.get(name, ''), form)
    stem = os.path.join(tmp, os.path.basename(path)[:-3] + '.' + form)
    wrong = compile_text('#line 1 "%s"\n%s' % (os.path.basename(path), text), stem, nvcc, root)
    if wrong:
        sys.exit(wrong)
    return stem + '.ptx'


def analyse(collider, ptx, name, options):
    """The kernel's part of the report, and its verdict in the label's words."""
    mangled = '%d%s' % (len(name), name)  # not also each kernel whose name begins so
    r = subprocess.run([collider, 'prove', '--format=json', '--no-cache', '--no-confirm', '--kernel=' + mangled, *options, ptx],
                       capture_output=True, text=True)
    if r.stdout:
        for k in json.loads(r.stdout)['kernels']:
            if re.split(r'[<( ]', k['name'].replace('void ', ''))[0] == name:
                return k, VERDICTS[k['verdict']]
    return None, 'missing: ' + r.stderr.strip()


def fits(expr, options, pins):
    """Do the host's dimensions and scalars keep to a remedy? What isn't known counts as no."""
    values = dict(p.split('=') for p in pins.split())
    for o in options:
        m = re.match(r'--(block|grid)-dim=([\d,]+)', o)
        if m:
            d = (m.group(2).split(',') + ['1', '1'])[:3]
            values.update({'%sDim.%s' % (m.group(1), 'xyz'[i]): d[i] for i in range(3)})
    if re.search(r'injective|distinct|sorted|apart', expr):
        return True  # of contents: the label says that they are right
    e = re.sub(r'[a-zA-Z_][\w.]*', lambda m: values.get(m.group(0), m.group(0)), expr)
    e = e.replace('&&', ' and ').replace('||', ' or ').replace('/', '//')
    try:
        return bool(eval(re.sub(r'!(?!=)', ' not ', e), {'__builtins__': {}}))
    except (NameError, SyntaxError, TypeError, ZeroDivisionError):
        return False


def is_helped(k, options, pins):
    return any(r['all'] and fits(r['assume'], options, pins) for r in k['remedies'])


def show(k):
    seen = []
    for a in k['alarms']:
        line = '     %s %s %s %s' % ('true' if a['true'] else 'potential', a['level'],
                                     [s['line'] for s in a['sides']], a['reason'])
        if line not in seen:
            seen.append(line)
    for p in k['problems']:
        seen.append('     %s %s %s' % (p['kind'], p['line'], p['text']))
    seen += ['     helps: ' + r['assume'] for r in k['remedies']]
    print('\n'.join(seen[:6]))


COLUMNS = ('kernels', 'block', 'free', 'helped', 'unproven', 'potential', 'unsound')


def count(t, k, got, want, form, options, pins):
    """Adds a kernel to its form's line. True: proof and label contradict."""
    alarms = k['alarms'] if k else []
    near = [a for a in alarms if a['level'] in ('warp', 'block')]
    # a free form may race where the label's dimensions and scalars don't
    unsound = got == 'race-free' and want == 'true' or (form != 'free' and got == 'true' and want == 'race-free')
    t['kernels'] += 1
    t['free'] += got == 'race-free'
    t['block'] += got == 'race-free' or (got in ('potential', 'true') and not near)
    t['helped'] += got in ('potential', 'true', 'unproven') and bool(k) and is_helped(k, options, pins)
    t['unproven'] += got not in ('race-free', 'true', 'potential')
    t['potential'] += sum(not a['true'] for a in alarms)
    t['unsound'] += unsound
    t['ms'].append(k['ms'] if k else 0)
    return unsound


def print_table(table):
    print('| form | kernels | within a block | at all levels | a remedy that fits | could not prove | '
          'potential a kernel | unsound | median | 95% | most |')
    print('|' + ' --- |' * 11)
    for form, t in table.items():
        n, ms = t['kernels'], sorted(t['ms'])
        if not n:
            continue
        print('| %s | %d | %.1f%% | %.1f%% | %.1f%% | %.1f%% | %.2f | %d | %d ms | %d ms | %d ms |' % (
            form, n, *[100 * t[c] / n for c in ('block', 'free', 'helped', 'unproven')], t['potential'] / n,
            t['unsound'], ms[n // 2], ms[min(n * 95 // 100, n - 1)], ms[-1]))


def main():
    collider, nvcc, root = sys.argv[1:4]
    option = dict(re.findall(r'--(\w+)=?(.*)', a)[0] for a in sys.argv[4:] if a.startswith('--'))
    forms = option.get('form', 'literal,pinned').split(',')
    wanted = re.compile(option.get('kernel', ''))
    failed, table, racy = 0, {}, set()
    with tempfile.TemporaryDirectory() as tmp, \
            concurrent.futures.ThreadPoolExecutor(int(os.environ.get('JOBS', '2'))) as pool:
        asked = []
        for path in (a for a in sys.argv[4:] if not a.startswith('--')):
            text = open(path).read()
            labels, pins = labels_of(text)
            racy |= racy_of(text)
            labels = [x for x in labels if wanted.search(x[0])]
            weak = {(n, f): v for n, f, v in re.findall(r'^// weak: (\w+) (\w+) (\S+)', text, re.M)}
            weak.update({(n, 'pinned'): v for (n, f), v in weak.items() if f == 'literal'} | weak)
            asked += [(path, form, labels, pins, weak) for form in forms if labels]

        def jobs_of(source):
            path, form, labels, pins, weak = source
            ptx = compile_form(path, form, labels, pins, tmp, nvcc, root)
            return [(ptx, form, name, want, weak.get((name, form), want), options, pins.get(name, ''))
                    for name, want, options in labels]

        jobs = [job for jobs in pool.map(jobs_of, asked) for job in jobs]

        def run(job):
            ptx, form, name, _, _, options, _ = job
            return job, analyse(collider, ptx, name, options + ([] if form == 'free' else ['--no-remedies']))

        for (ptx, form, name, want, today, options, pin), (k, got) in pool.map(run, jobs):
            for line in (form, form + ', and those that race', 'all forms'):
                t = table.setdefault(line, dict({c: 0 for c in COLUMNS}, ms=[]))
                if line != form or name not in racy:
                    bad = count(t, k, got, want, form, options, pin) or (form != 'free' and got != today)
            failed += bad
            if bad or ('show' in option and got != want):
                print('%s %s %s %s: expected %s, found %s, %d ms' % (
                    'FAIL' if bad else 'weak', os.path.basename(ptx).split('.')[0], form, name, today, got,
                    t['ms'][-1]))
                if k:
                    show(k)
                if form == 'free' and k and not is_helped(k, options, pin):
                    print('     no remedy that its host keeps to')
                sys.stdout.flush()
    if table:
        table['all forms'] = table.pop('all forms')
    print_table(table)
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main()
