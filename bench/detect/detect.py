#!/usr/bin/env python3
"""detect.py - the share of planted races that each detector finds, in one run and in five, and its cost.

    detect.py COLLIDER [JOBS]

Builds planted.cu as the shell's PATH has nvcc, runs each of its 60 kernels on the CPU device under each
detector with five seeds, and the twins without a race with one. Prints a table in Markdown: by grade,
the share of the 12 kernels in which a run finds the race (of 60 runs), and in which one of five does (of
12); processor time against the plain run's, in geomean over kernels. A finding in a twin ends with 1.
"""
import concurrent.futures, math, os, subprocess, sys, tempfile

GRADES = ['each execution', 'one of 1,024', 'one of 25,600', 'one of 1,024, far apart', 'the last of 100 launches']
PATTERNS, SEEDS, RACES = 12, range(1, 6), 10
DETECTORS = ['none', 'collide', 'collide,watch', 'hirace', 'iguard', 'oracle', 'default']


def run(job):
    collider, program, detector, pattern, grade, seed, is_fixed = job
    command = [collider, 'run', '--device=cpu', '--quiet', '--seed=%d' % seed, '--error-exitcode=%d' % RACES,
               '--timeout=60']
    if detector != 'default':
        command += ['--detector=' + detector]
    null = subprocess.DEVNULL
    child = subprocess.Popen(command + [program, str(pattern), str(grade)] + ['fixed'] * is_fixed,
                             stdin=null, stdout=null, stderr=null)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return job, child.returncode, used.ru_utime + used.ru_stime


def main():
    collider = os.path.abspath(sys.argv[1])
    jobs = int(sys.argv[2]) if len(sys.argv) > 2 else os.cpu_count()
    here = os.path.dirname(os.path.abspath(__file__))
    with tempfile.TemporaryDirectory() as tmp:
        program = os.path.join(tmp, 'planted')
        subprocess.run([collider, 'nvcc', '-std=c++17', '-arch=sm_90', '-lineinfo', '-o', program,
                        os.path.join(here, 'planted.cu')], check=True)
        work = [(collider, program, d, p, g, s, False) for d in DETECTORS for g in range(len(GRADES))
                for p in range(PATTERNS) for s in (SEEDS if d != 'none' else [1])]
        work += [(collider, program, d, p, g, 1, True) for d in DETECTORS[1:] for g in range(len(GRADES))
                 for p in range(PATTERNS)]
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            done = list(pool.map(run, work))
    wrong = [job[2:] for job, code, _ in done if job[6] and code != 0]
    odd = [(job[2:], code) for job, code, _ in done if not job[6] and code not in (0, RACES)]
    found = {job[2:6] for job, code, _ in done if code == RACES and not job[6]}
    took = {job[2:6]: seconds for job, _, seconds in done if not job[6]}
    print('| | ' + ' | '.join(GRADES) + ' | time |\n|' + ' --- |' * (len(GRADES) + 2))
    for d in DETECTORS[1:]:
        cells = []
        for g in range(len(GRADES)):
            one = sum((d, p, g, s) in found for p in range(PATTERNS) for s in SEEDS)
            five = sum(any((d, p, g, s) in found for s in SEEDS) for p in range(PATTERNS))
            cells.append('%d%%, %d of %d' % (round(100 * one / (PATTERNS * len(SEEDS))), five, PATTERNS))
        ratios = [took[d, p, g, 1] / max(took['none', p, g, 1], 0.001)
                  for p in range(PATTERNS) for g in range(len(GRADES))]
        print('| `%s` | %s | %.1f |' % (d, ' | '.join(cells), math.exp(sum(map(math.log, ratios)) / len(ratios))))
    missed = sorted({(d, p, g) for d in DETECTORS[1:] for p in range(PATTERNS) for g in range(len(GRADES))
                     if not any((d, p, g, s) in found for s in SEEDS)})
    print('never found:', missed)
    print('findings in twins:', wrong, 'other exit codes:', odd)
    sys.exit(1 if wrong else 0)


main()
