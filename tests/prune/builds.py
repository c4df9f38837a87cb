#!/usr/bin/env python3
"""builds.py - no program's race is missed in a build with proofs that one without them shows.

    builds.py [--jobs=N] COLLIDER WORK SEEDS [NAME...]

Each racy program of examples and tests/hadron, or those NAMEd, and its twin: built by collider nvcc for
each detector, with --prune=none and with --prune=proved, which is --prune=auto with all the time that it
needs. Each build of a racy program runs on the CPU device by SEEDS seeds. What classes they find without
proofs they must find with them; a twin must have no data race. The last line counts. Some 25 s of the processor
for each program.
"""
import argparse, concurrent.futures, os, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
FOLDERS = [os.path.join(TESTS, '../examples'), os.path.join(TESTS, 'hadron')]
DETECTORS = ['collide', 'hirace', 'iguard']
PRUNES = ['none', 'proved']
sys.path.append(os.path.join(TESTS, 'detectors'))
import table  # with what a program runs, as its source says


def pairs(names):
    """(folder, racy program, its twin); a source with both has -DFIXED."""
    for folder in FOLDERS:
        sources = {f[:-3] for f in os.listdir(folder) if f.endswith('.cu')}
        for name in sorted(sources):
            twin, racy = (name, name + '.racy') if name + '.racy' in sources else (name + '.fixed', name)
            has_both = '// twin: -DFIXED' in open(os.path.join(folder, name + '.cu')).read()
            if (twin in sources or has_both) and (not names or name in names):
                yield folder, racy, twin


def build(collider, work, folder, name, detector, prune):
    """Where its programs are."""
    at = os.path.join(work, detector + '.' + prune)
    env = dict(os.environ, SCENARIOS=folder, ARCH='compute_90', JOBS='1', XDG_CACHE_HOME=os.path.join(work, 'cache'),
               BUILD_FLAGS='--sanitize=%s --prune=%s' % (detector, prune))
    done = subprocess.run(['bash', os.path.join(TESTS, 'hadron/run.sh'), at, collider, '-b', name], env=env,
                          capture_output=True, text=True)
    if done.returncode:
        raise SystemExit('%s: %s' % (at, done.stdout + done.stderr))
    return os.path.join(at, 'bin')


def found(collider, program, detector, seeds):
    with tempfile.TemporaryDirectory() as tmp:
        return set().union(*(table.found_by(collider, program, detector, s, tmp) for s in seeds))


def try_compare(*job):
    """compare(), what can't be built or run being wrong, too."""
    try:
        return compare(*job)
    except (SystemExit, subprocess.TimeoutExpired) as e:
        return ['%s, %s: %s' % (job[4], job[6], e)], set()


def compare(collider, work, seeds, folder, racy, twin, detector):
    """What is wrong, and the classes that were found without proofs."""
    bins = [build(collider, work, folder, min(racy, twin, key=len), detector, p) for p in PRUNES]
    none, proved = [found(collider, os.path.join(b, racy), detector, seeds) for b in bins]
    wrong = []
    if none - proved:
        wrong.append('%s, %s: with proofs there is no %s' % (racy, detector, ', '.join(sorted(none - proved))))
    if 'data-race' in found(collider, os.path.join(bins[1], twin), detector, seeds[:1]):
        wrong.append('%s, %s: a data race with proofs' % (twin, detector))
    return wrong, none


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--jobs', type=int, default=1)
    p.add_argument('collider')
    p.add_argument('work')
    p.add_argument('seeds', type=int)
    p.add_argument('names', nargs='*')
    o = p.parse_args()
    collider, work, seeds = os.path.abspath(o.collider), os.path.abspath(o.work), range(1, o.seeds + 1)
    # One program's builds are in a folder of their own: those of others may be made at the same time.
    jobs = [(collider, os.path.join(work, racy), seeds, folder, racy, twin, d) for folder, racy, twin in pairs(o.names)
            for d in DETECTORS]
    failed = races = 0
    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        ends = {pool.submit(try_compare, *j): j for j in jobs}
        for end in concurrent.futures.as_completed(ends):
            (wrong, none), job = end.result(), ends[end]
            for line in wrong:
                print('FAIL ' + line, flush=True)
            failed += len(wrong)
            races += bool(none)
            if os.environ.get('VERBOSE'):
                print('%s, %s: %s' % (job[4], job[6], ', '.join(sorted(none)) or '-'), flush=True)
    print('%d programs and twins, %d detectors: %d found without proofs, %d wrong' %
          (len(jobs) // len(DETECTORS), len(DETECTORS), races, failed))
    sys.exit(1 if failed or not races else 0)


main()
