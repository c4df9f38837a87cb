#!/usr/bin/env python3
"""kernels.py - the labelled kernels: each verdict stands in a comment before its kernel.

    kernels.py COLLIDER NVCC ROOT [--optimised] FILE.cu...

    // prove: NAME race-free|single|benign|true|potential|unproven|vacuous [TRUTH] [CIDI...] [excludes=N] [class=CLASS] [--options]

TRUTH says what the kernel is where the verdict doesn't: free or racy (figures.py).

A file is compiled once, each kernel is analysed with its own options. With --optimised the PTX of
-O3 is analysed too, and must not be proven where the unoptimised one has a true alarm or the label
says racy, nor the other way round (race-free by the label).
"""
import json, os, re, subprocess, sys, tempfile

VERDICTS = {'race-free': 'race-free', 'race-free-single': 'single',
            'race-free-up-to-same-value': 'benign', 'true-alarm': 'true', 'potential-alarm': 'potential',
            'could-not-prove': 'unproven', 'vacuous': 'vacuous'}
CODES = {'race-free': 0, 'true': 10, 'unproven': 11, 'vacuous': 11, 'potential': 12}
collider, nvcc, root = sys.argv[1:4]
optimised = '--optimised' in sys.argv
files = [a for a in sys.argv[4:] if not a.startswith('--')]
failed, counts, times = 0, {}, []


def ptx_of(path, flags, out):
    text = open(path).read()
    arch = 'sm_90a' if 'wgmma' in text else 'sm_90'
    if re.search('cooperative_groups.h|<cuda/', text): # as users have it: with CCCL
        flags = ['-U_CG_LIMIT_INCLUDED_DEPENDENCIES', '-std=c++17', *flags]
    subprocess.run([nvcc, '-ptx', '-arch=' + arch, '-D__COLLIDER_PROVE__=1', '-I', root + '/include',
                    '-include', 'collider/assume.h', *flags, '-o', out, path], check=True)


def verdict_of(ptx, name, options):
    r = subprocess.run([collider, 'prove', '--format=json', '--no-cache', '--no-remedies', '--no-confirm', *options, ptx],
                       capture_output=True, text=True)
    if not r.stdout:
        sys.exit('%s: %s' % (name, r.stderr))
    for k in json.loads(r.stdout)['kernels']:
        if re.split(r'[<( ]', k['name'].replace('void ', ''))[0] == name:
            return k, r.returncode
    sys.exit('%s: no such kernel in %s' % (name, ptx))


def classes(k):
    sides = [s for a in k['alarms'] for s in a['sides']]
    return 'C%sD%s' % ('I' if all(s['reachable'] for s in sides) else 'D',
                       'I' if all(s['exact_index'] for s in sides) else 'D')


with tempfile.TemporaryDirectory() as tmp:
    for path in files:
        labels = re.findall(r'^// prove: (\w+) (\S+)(.*)$', open(path).read(), re.M)
        if not labels:
            sys.exit(path + ': no kernel has a label')
        plain, fast = os.path.join(tmp, 'plain.ptx'), os.path.join(tmp, 'fast.ptx')
        ptx_of(path, ['-G'], plain)
        if optimised:
            ptx_of(path, ['-O3', '-lineinfo'], fast)
        for name, expected, rest in labels:
            words = rest.split()
            # as it is mangled: not also each kernel whose name begins so
            options = ['--kernel=%d%s' % (len(name), name)] + [w for w in words if w.startswith('--')]
            cls = [w for w in words if re.fullmatch('C[ID]D[ID]', w)]
            k, code = verdict_of(plain, name, options)
            got = VERDICTS[k['verdict']]
            times.append(k['ms'])
            counts[got] = counts.get(got, 0) + 1
            bad = got != expected or (bool(cls) and classes(k) != cls[0])
            out = [p for p in k['problems'] if p['kind'] == 'excluded']
            bad |= any(w != 'excludes=%d' % len(out) for w in words if w.startswith('excludes='))
            # the only class among the alarms
            bad |= any({'class=' + a['class'] for a in k['alarms']} != {w} for w in words if w.startswith('class='))
            # a contradiction is named, and nothing is vacuous without one
            named = any(p['kind'] == 'vacuous' for p in k['problems'])
            bad |= (got == 'vacuous' and not named) or (got in ('race-free', 'single') and named)
            if bad:
                failed += 1
                print('FAIL %s: %s: expected %s%s, found %s %s' % (
                    os.path.basename(path), name, expected, ' ' + cls[0] if cls else '', got,
                    classes(k)))
                for a in k['alarms']:
                    print('    ', 'true' if a['true'] else 'potential', a['level'],
                          [s['line'] for s in a['sides']], a['reason'])
                for p in k['problems']:
                    print('    ', p['line'], p['text'])
            if optimised:
                o, _ = verdict_of(fast, name, options)
                both = {got, VERDICTS[o['verdict']]}
                is_wrong = 'racy' in words and VERDICTS[o['verdict']] in ('race-free', 'single')
                if is_wrong or both in ({'race-free', 'true'}, {'single', 'true'}):
                    failed += 1
                    print('FAIL %s: %s: %s unoptimised, %s at -O3' % (
                        os.path.basename(path), name, got, VERDICTS[o['verdict']]))
                counts['same at -O3'] = counts.get('same at -O3', 0) + (len(both) == 1)
times.sort()
print('%d kernels: %s; %d ms median, %d ms at most' % (
    len(times), ', '.join('%d %s' % (v, k) for k, v in sorted(counts.items())),
    times[len(times) // 2], times[-1]))
sys.exit(1 if failed else 0)
