#!/usr/bin/env python3
"""detect.py - the share of planted races that each detector finds, in one run and in five, and its cost.

    detect.py [--jobs=N] [--limit=SECONDS] [--grades=N,...] COLLIDER PROGRAM cpu|gpu [DETECTOR...]

PROGRAM is planted.cu, built by `collider nvcc -lineinfo`. Each detector runs its kernels at each grade
with five seeds, and the twins without a race with one, at the first grade. Prints a table in Markdown:
by grade, the share of the kernels in which a run finds the race, and in how many kernels one of the five
does; processor time on the CPU device, else the time of a run, against one without checks. Then which
races were never found, and what was said of twins: a data race there ends with 1. No run begins after
the limit; a cell with fewer runs says how many it has. On a GPU the judge beside it is off. In the last
of 1,000 launches each kernel runs in a process of its own: launches are left out by a sample only as
long as the process has found nothing.
"""
import argparse, collections, concurrent.futures, json, math, os, re, subprocess, sys, tempfile, time

GRADES = ['each execution', 'one of 1,024', 'one of 10,240', 'one of 1,024, far apart',
          'the last of 1,000 launches', 'one block of 1,024']
BIG = 'one of 1,048,576'
RARE, LAST, LONG, SEEDS, PARTS = 2, 4, (2, 4, 5), range(1, 6), 6
DETECTORS = ['collide', 'collide,watch', 'hirace', 'iguard', 'hirace,iguard', 'oracle', 'default']
Job = collections.namedtuple('Job', 'detector grade seed is_fixed names')


def command(job, where, collider, program, log):
    c = [collider, 'run', '--device=' + where, '--quiet', '--seed=%d' % job.seed, '--timeout=40', '--json=' + log]
    if job.detector != 'default':
        c += ['--detector=' + job.detector]
    if where == 'gpu':
        c += ['--judge=off']
    return c + [program, str(job.grade), ','.join(job.names)] + ['fixed'] * job.is_fixed + ['big'] * (where == 'gpu')


def run(job, where, collider, program):
    """(job, exit code, seconds, kernels with a data race, kernels with something else said)"""
    null, races, others = subprocess.DEVNULL, set(), set()
    with tempfile.TemporaryDirectory() as tmp:
        log = os.path.join(tmp, 'report')
        begin = time.monotonic()
        child = subprocess.Popen(command(job, where, collider, program, log), stdin=null, stdout=null, stderr=null)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        seconds = used.ru_utime + used.ru_stime if where == 'cpu' else time.monotonic() - begin
        for line in open(log) if os.path.exists(log) else []:
            e = json.loads(line)
            names = set(re.findall(r'planted<(\w+)>', line)) & set(job.names)
            if e['type'] == 'finding':
                (races if e.get('class') == 'data-race' else others).update(names)
    return job, child.returncode, seconds, races, others


def cells(detector, done, names):
    """By grade, "share of runs, kernels"."""
    out = []
    for g in range(len(GRADES)):
        runs = [d for d in done if d[0].detector == detector and d[0].grade == g and not d[0].is_fixed]
        times = collections.Counter(name for d in runs for name in d[3])
        made = sum(len(d[0].names) for d in runs)
        out.append('%d%%, %d%s' % (round(100 * sum(times.values()) / made), len(times),
                   '' if made == len(names) * len(SEEDS) else ' (%.1f runs)' % (made / len(names))) if made else '-')
    return out


def cost(detector, done):
    """Geometric mean over the grades, of all kernels together."""
    took = collections.defaultdict(float)
    for job, _, seconds, _, _ in done:
        if job.seed == 1 and not job.is_fixed:
            took[job.detector, job.grade] += seconds
    ratios = [took[detector, g] / took['none', g] for g in range(len(GRADES))
              if took.get((detector, g)) and took.get(('none', g))]
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else 0


def options():
    p = argparse.ArgumentParser()
    p.add_argument('--jobs', type=int, default=os.cpu_count())
    p.add_argument('--limit', type=int, default=36000)
    p.add_argument('--grades', default=','.join(map(str, range(len(GRADES)))), help='numbers from 0, by commas')
    p.add_argument('collider')
    p.add_argument('program')
    p.add_argument('where', choices=['cpu', 'gpu'])
    p.add_argument('detectors', nargs='*')
    return p.parse_args()


def main():
    o = options()
    collider, program, end = os.path.abspath(o.collider), os.path.abspath(o.program), time.monotonic() + o.limit
    detectors = ['none'] + (o.detectors or [d for d in DETECTORS if o.where == 'cpu' or d != 'oracle'])
    names = subprocess.run([program, 'list'], check=True, capture_output=True, text=True).stdout.split()
    grades = [int(g) for g in o.grades.split(',')]
    parts = {g: [names[i::n] for i in range(n)] for g in grades for n in [len(names) if g == LAST else PARTS]}
    # Plain runs first, then the short grades and the twins, then the long ones, seed by seed.
    work = [Job(d, g, s, is_fixed, part) for d in detectors for g in grades for part in parts[g]
            for is_fixed in (False, True) for s in (SEEDS if d != 'none' and not is_fixed else [1])
            if not is_fixed or (d != 'none' and g == 0)]
    work.sort(key=lambda j: (j.detector != 'none', j.seed if j.grade in LONG else 0))
    if o.where == 'gpu':
        GRADES[RARE] = BIG
    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        done = list(pool.map(lambda j: run(j, o.where, collider, program) if time.monotonic() < end else None, work))
    left, done = done.count(None), [d for d in done if d]
    print('| of %d kernels | %s | time |\n|%s' % (len(names), ' | '.join(GRADES), ' --- |' * (len(GRADES) + 2)))
    for d in detectors:
        if d != 'none':
            print('| `%s` | %s | %.1f |' % (d, ' | '.join(cells(d, done, names)), cost(d, done)))
    for d in detectors:
        for g in grades:
            runs = [x for x in done if x[0].detector == d and x[0].grade == g and not x[0].is_fixed]
            lost = set(names) - set().union(*(x[3] for x in runs)) if runs and d != 'none' else set()
            if lost:
                print('never found: %s, %s: %s' % (d, GRADES[g], ' '.join(sorted(lost))))
    twins = [(d[0].detector, GRADES[d[0].grade], sorted(d[3]), sorted(d[4])) for d in done
             if d[0].is_fixed and (d[3] or d[4])]
    for t in twins:
        print('twins: %s, %s: data races %s, other findings %s' % t)
    codes = collections.Counter(d[1] for d in done)
    print('runs: %d, left out: %d; exit codes: %s' % (len(done), left, dict(codes)))
    sys.exit(1 if any(t[2] for t in twins) else 0)


main()
