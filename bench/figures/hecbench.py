#!/usr/bin/env python3
# hecbench.py - what checking costs programs of HeCBench on a GPU: kernel times and whole processes.
#
#   hecbench.py [-n PROGRAMS] [-s SEED] [-t SECONDS] [-T SECONDS] [-w SECONDS] [-j JOBS] [-a]
#               [-o FILE.csv] HECBENCH COLLIDER [OPTION...]
#
# HECBENCH is a checkout of zjin-lcf/HeCBench. Its CUDA programs that need no library beyond the
# runtime are drawn by chance (SEED) and built as they are (nvcc -lineinfo, sm_90) by JOBS at once.
# Then each runs alone: natively, and if it ends well within SECONDS (4), under `collider run
# OPTION...` in each of the ways below, until there are PROGRAMS (60) or the time in all (-T) is
# over. The cache is empty at the start; after a run that fills it proofs have up to SECONDS (-w,
# 60) to end. With -a hirace,iguard and racecheck run as well, each up to 20 s. All are under CUPTI
# (kernel_times.c) but racecheck, whose kernels have no records; of 23 programs (2026-11-28) the
# processes' ratio was 1.16 with it and 1.18 without. A row of FILE.csv each run, of FILE.csv.kernels
# each kernel (nanoseconds, launches, the first's, the name), a line each program, and geometric
# means at the end.
import argparse
import csv
import math
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

LIBRARIES = re.compile(
    r'-l(cublas|cufft|cusparse|cusolver|curand|cudnn|nccl|mpi|nvjpeg|npp|nvrtc|cuda\b|gomp|boost|gsl'
    r'|z\b|omp|tbb|nvshmem|cutensor|GL)|mpicc|mpicxx|nvc\+\+|\.\./data|wget|openmp|-rdc', re.I)
HERE = os.path.dirname(os.path.abspath(__file__))
# Each way's name and the options of `collider run`.
OFF = ['--judge=off']
BOTH = ['--judge=off', '--detector=hirace,iguard']
WAYS = [('first', OFF), ('second', OFF), ('judge', ['--judge=auto'])]
ALL_WAYS = [('both fills', BOTH), ('both', BOTH), ('none fills', BOTH + ['--prune=none']),
            ('none', BOTH + ['--prune=none']), ('racecheck', 'racecheck')]
ALL_LIMIT = 20  # seconds
LATER = 'collider-later-'  # sockets of those who prove after a load (toolchain/later.c)


def candidates(src):
    for name in sorted(os.listdir(src)):
        makefile = os.path.join(src, name, 'Makefile')
        if name.endswith('-cuda') and os.path.exists(makefile):
            text = open(makefile, errors='replace').read()
            if re.search(r'^run:', text, re.M) and not LIBRARIES.search(text):
                yield name


def build_preload(folder):
    cuda = os.environ.get('CUDA_HOME', '/usr/local/cuda')
    folders = [os.path.join(cuda, d) for d in ('', 'extras/CUPTI', 'targets/x86_64-linux')]
    out = os.path.join(folder, 'kernel_times.so')
    subprocess.run(['gcc', '-shared', '-fPIC', '-O2', os.path.join(HERE, 'kernel_times.c'), '-o', out]
                   + [f'-I{d}/include' for d in folders]
                   + [o for d in folders for l in ('lib64', 'lib') for o in (f'-L{d}/{l}', f'-Wl,-rpath,{d}/{l}')]
                   + ['-lcupti'], check=True)
    return out


def build(folder):
    """The line that runs the program, None where it wasn't built."""
    try:
        subprocess.run(['make', 'ARCH=sm_90', 'CC=nvcc', 'EXTRA_CFLAGS=-lineinfo'], cwd=folder, timeout=300,
                       capture_output=True)
    except subprocess.TimeoutExpired:
        return None
    lines = subprocess.run(['make', '-n', 'run', 'ARCH=sm_90'], cwd=folder, capture_output=True, text=True).stdout
    lines = [l.strip() for l in lines.splitlines() if re.search(r'\./main\b', l)]
    return lines[0] if lines and os.path.exists(os.path.join(folder, 'main')) else None


def prove_on():
    """Does a process of this user still prove what was loaded?"""
    with open('/proc/net/unix') as sockets:
        return f'@{LATER}{os.getuid()}-' in sockets.read()


class Bench:
    def __init__(self, args, work):
        self.args, self.work, self.preload = args, work, build_preload(work)
        self.end = time.time() + args.in_all
        os.environ['XDG_CACHE_HOME'] = os.path.join(work, 'cache')

    def front(self, tool, report):
        """What stands in front of the program: nothing, racecheck, or `collider run` with options."""
        if tool is None:
            return []
        if tool == 'racecheck':
            return ['compute-sanitizer', '--tool=racecheck', f'--log-file={report}']
        return [os.path.abspath(self.args.collider), 'run', '--device=gpu', f'--log-file={report}', *tool,
                *self.args.option, '--']

    def read_sums(self, row, path):
        """The kernels' times into the row; a row for each kernel."""
        lines = open(path, errors='replace').read().splitlines()
        row['kernels_ms'], row['launches'] = (int(x) for x in lines[0].split())
        row['kernels_ms'] /= 1e6
        for line in lines[1:]:
            self.kernels.writerow([row['program'], row['way'], *line.split(' ', 3)])

    def run(self, folder, line, way, tool, limit):
        """One run, as a row of the table."""
        row = {'program': os.path.basename(folder)[:-5], 'way': way}
        report, sums = (os.path.join(self.work, row['program'] + end) for end in ('.txt', '.sums'))
        inner = f'exec {line}'
        if tool != 'racecheck':
            inner = f'LD_PRELOAD={self.preload}${{LD_PRELOAD:+:$LD_PRELOAD}} KERNEL_TIMES={sums} {inner}'
        for path in (sums, report):
            if os.path.exists(path):
                os.unlink(path)
        start = time.time()
        row['exit'] = subprocess.run(
            ['timeout', '-k', '1', str(limit), *self.front(tool, report), 'sh', '-c', inner], cwd=folder,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
        row['seconds'] = round(time.time() - start, 3)
        if os.path.exists(sums):
            self.read_sums(row, sums)
        if os.path.exists(report):
            notes = re.findall(r'^(?:Note|Result|===* RACECHECK).*', open(report, errors='replace').read(), re.M)
            row['notes'] = ' | '.join(notes)[:600]
        return row

    def wait_for_proofs(self):
        end = time.time() + self.args.proofs
        while time.time() < end and prove_on():
            time.sleep(0.1)

    def measure(self, folder, line):
        """The rows of one program, by way; an empty dictionary where it isn't kept."""
        plain = self.run(folder, line, 'plain', None, self.args.seconds)
        if plain['exit'] or not plain.get('kernels_ms'):
            why = 'late' if plain['exit'] == 124 else f'exit code {plain["exit"]}' if plain['exit'] else 'no kernels'
            print(f'{plain["program"]:24} left out: {why}', flush=True)
            return {}
        rows, limit = {'plain': plain}, 6 + 6 * plain['seconds']
        for way, tool in WAYS:
            rows[way] = self.run(folder, line, way, tool, limit)
            if way == 'first':
                self.wait_for_proofs()
        for way, tool in ALL_WAYS if self.args.all else []:
            rows[way] = self.run(folder, line, way, tool, 3 * ALL_LIMIT if 'fills' in way else ALL_LIMIT)
            if 'fills' in way:
                self.wait_for_proofs()
        return rows


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else 0


RATIOS = [  # their name, what is measured, of which way over which
    ('kernels', 'kernels_ms', 'second', 'plain'), ('processes', 'seconds', 'second', 'plain'),
    ('first processes', 'seconds', 'first', 'plain'), ('with the judge over without', 'seconds', 'judge', 'second'),
    ('kernels, both', 'kernels_ms', 'both', 'plain'), ('kernels, both, none', 'kernels_ms', 'none', 'plain'),
    ('processes, racecheck', 'seconds', 'racecheck', 'plain')]


def show(rows, ratios):
    """One program's line; its ratios join those of the others."""
    text = f'{rows["plain"]["kernels_ms"]:9.2f} ms {rows["plain"]["seconds"]:5.2f} s'
    for name, what, above, below in RATIOS:
        row = rows.get(above, {})
        if row.get('exit') or not row.get(what):
            text += '     - '
            continue
        ratios[name].append(row[what] / rows[below][what])
        text += f' {ratios[name][-1]:6.2f}'
    return text


def read_arguments():
    p = argparse.ArgumentParser()
    p.add_argument('-n', dest='programs', type=int, default=60)
    p.add_argument('-s', dest='seed', type=int, default=20261128)
    p.add_argument('-t', dest='seconds', type=float, default=4)
    p.add_argument('-T', dest='in_all', type=float, default=1e5)
    p.add_argument('-w', dest='proofs', type=float, default=60)
    p.add_argument('-j', dest='jobs', type=int, default=os.cpu_count())
    p.add_argument('-a', dest='all', action='store_true')
    p.add_argument('-o', dest='table', default=os.devnull)
    p.add_argument('hecbench')
    p.add_argument('collider')
    p.add_argument('option', nargs=argparse.REMAINDER)
    return p.parse_args()


def main():
    args = read_arguments()
    src = os.path.join(args.hecbench, 'src')
    names = list(candidates(src))
    random.Random(args.seed).shuffle(names)
    folders = [os.path.join(src, n) for n in names[:3 * args.programs]]
    ratios, kept = {r[0]: [] for r in RATIOS}, 0
    of_kernels = os.devnull if args.table == os.devnull else args.table + '.kernels'
    with tempfile.TemporaryDirectory() as work, ThreadPoolExecutor(args.jobs) as pool, \
            open(args.table, 'w') as table, open(of_kernels, 'w') as kernels:
        bench = Bench(args, work)
        bench.kernels = csv.writer(kernels)
        out = csv.DictWriter(table, ['program', 'way', 'exit', 'seconds', 'kernels_ms', 'launches', 'notes'])
        out.writeheader()
        print(f'{"":24} plain; ' + '; '.join(ratios))
        for folder, line in [x for x in zip(folders, pool.map(build, folders)) if x[1]]:
            if time.time() > bench.end - args.seconds or kept == args.programs:
                break
            rows = bench.measure(folder, line)
            out.writerows(rows.values())
            table.flush()
            if rows:
                kept += 1
                print(f'{rows["plain"]["program"]:24} {show(rows, ratios)}', flush=True)
    print(f'{kept} programs: ' + '; '.join(
        f'{what} {geomean(values):.2f}, at worst {max(values):.2f} ({len(values)})'
        for what, values in ratios.items() if values))
    return 0 if kept else 1


if __name__ == '__main__':
    sys.exit(main())
