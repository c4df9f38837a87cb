#!/usr/bin/env python3
"""compare.py - what a run says of programs with proofs and without.

    compare.py COLLIDER SEEDS PATH...

PATH: a program, or a folder whose programs with GPU code are all taken. Each runs with --prune=none and
--prune=proved, by the same seeds: exit code, findings (by fingerprint and class), gaps and, where nothing
races, what it prints must be the same. With proofs the oracle may have room that it lacks without. A racy program's schedule isn't the same where a launch was taken
back, so there its findings of all seeds together are compared. The last line counts; a run without a
proven launch fails the test.
"""
import json, os, subprocess, sys, tempfile

TIMEOUT = int(os.environ.get('TIMEOUT', '120'))


def programs(path):
    if os.path.isfile(path):
        return [path]
    found = []
    for folder, dirs, files in os.walk(path):
        dirs.sort()
        for name in sorted(files):
            p = os.path.join(folder, name)
            if os.access(p, os.X_OK) and b'.nv_fatbin' in open(p, 'rb').read():
                found.append(p)
    return found


def run(collider, prune, seed, program, tmp):
    path = os.path.join(tmp, prune + '.json')
    command = [collider, 'run', '--device=cpu', '--seed=%d' % seed, '--error-exitcode=10', '--quiet',
               '--timeout=%d' % TIMEOUT, '--prune=' + prune, '--json=' + path, program]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, cwd=tmp, timeout=3 * TIMEOUT)
    out = {'code': done.returncode, 'text': done.stdout, 'findings': set(), 'gaps': set(), 'proven': 0,
           'launches': 0, 'is_stopped': False}
    if not os.path.exists(path):
        return out
    for line in open(path):
        e = json.loads(line)
        if e['type'] == 'finding':
            out['findings'].add((e.get('class'), e['function'], e['fingerprint']))
        if e['type'] == 'gap':
            if e['why'] != 'forgotten':
                out['gaps'].add((e['why'], e.get('kernel')))
            out['is_stopped'] |= e['why'] == 'stopped'
        if e['type'] == 'kernel':
            out['proven'] += e.get('proven', 0)
            out['launches'] += e['launches']
    os.unlink(path)
    return out


def differences(none, proved):
    """Of the runs of one program, by seed."""
    both = list(zip(none, proved))
    if any(a['is_stopped'] or b['is_stopped'] for a, b in both):
        return []
    out = []
    for key in 'code', 'gaps', 'launches':
        out += ['%s: %s, with proofs %s' % (key, a[key], b[key]) for a, b in both if a[key] != b[key]]
    first = set().union(*(a['findings'] for a in none))
    then = set().union(*(b['findings'] for b in proved))
    if first != then:
        out.append('lost %s, new %s' % (sorted(first - then, key=str), sorted(then - first, key=str)))
    if not first and not then:
        out += ['output: %r, with proofs %r' % (a['text'][-200:], b['text'][-200:])
                for a, b in both if a['text'] != b['text']]
    return out


def main():
    collider, seeds = os.path.abspath(sys.argv[1]), range(1, int(sys.argv[2]) + 1)
    n = failed = racy = proven = launches = with_proof = 0
    with tempfile.TemporaryDirectory() as tmp:
        os.environ['XDG_CACHE_HOME'] = tmp
        for program in [p for path in sys.argv[3:] for p in programs(os.path.abspath(path))]:
            none = [run(collider, 'none', s, program, tmp) for s in seeds]
            proved = [run(collider, 'proved', s, program, tmp) for s in seeds]
            d = differences(none, proved)
            n += 1
            failed += bool(d)
            racy += any(a['findings'] for a in none)
            proven += proved[0]['proven']
            launches += proved[0]['launches']
            with_proof += proved[0]['proven'] != 0
            for line in d:
                print('FAIL %s: %s' % (program, line), flush=True)
            if os.environ.get('VERBOSE'):
                print('%s: %d of %d launches proven' % (program, proved[0]['proven'], proved[0]['launches']),
                      flush=True)
    print('%d programs (%d racy), %d with a proven launch: %d of %d launches' %
          (n, racy, with_proof, proven, launches))
    sys.exit(1 if failed or not proven else 0)


main()
