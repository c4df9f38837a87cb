#!/usr/bin/env python3
# hecbench.py - what checking costs programs of HeCBench on a GPU: kernel times and whole processes.
#
#   hecbench.py [-n PROGRAMS] [-s SEED] [-t SECONDS] [-T SECONDS] [-j JOBS] [-o FILE.csv]
#               HECBENCH COLLIDER [OPTION...]
#
# HECBENCH is a checkout of zjin-lcf/HeCBench. Its CUDA programs that need no library beyond the
# runtime are drawn by chance (SEED) and built as they are (nvcc -lineinfo, sm_90). JOBS at once, each
# then runs natively, and once under `collider run OPTION...`, which fills the cache of checked code.
# Those that ended well natively within SECONDS (6) are kept, at most PROGRAMS (60), or as many of the
# shortest as the rest of the time in all (-T) has room for. Each then runs alone: natively, with the
# judge off and with it on, for the times of whole processes, and natively and with the judge off once
# more under CUPTI (kernel_times.c), whose records make the kernels' time; CUPTI costs a process some
# tenths of a second, so it is not in the former. A row of FILE.csv each run, a line each program, and
# geometric means at the end.
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
# (name, the judge or None for native, under CUPTI)
RUNS = [('plain', None, False), ('off', 'off', False), ('on', 'auto', False),
        ('plain kernels', None, True), ('off kernels', 'off', True)]


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


class Bench:
    def __init__(self, args, work):
        self.args, self.work, self.preload = args, work, build_preload(work)
        self.end = time.time() + args.in_all

    def under(self, folder, judge):
        """What stands in front of the program, and the file of its report."""
        if judge is None:
            return [], None
        report = os.path.join(self.work, os.path.basename(folder) + '.txt')
        return [os.path.abspath(self.args.collider), 'run', '--device=gpu', f'--log-file={report}',
                f'--judge={judge}', *self.args.option, '--'], report

    def run(self, folder, line, judge, cupti, limit):
        """One run, as a row of the table."""
        front, report = self.under(folder, judge)
        sums = os.path.join(self.work, os.path.basename(folder))
        inner = f'exec {line}'
        if cupti:
            inner = f'LD_PRELOAD={self.preload}${{LD_PRELOAD:+:$LD_PRELOAD}} KERNEL_TIMES={sums} {inner}'
        for path in (sums, report):
            if path and os.path.exists(path):
                os.unlink(path)
        start = time.time()
        rc = subprocess.run(['timeout', '-k', '1', str(limit), *front, 'sh', '-c', inner], cwd=folder,
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
        row = {'program': os.path.basename(folder)[:-5], 'exit': rc, 'seconds': round(time.time() - start, 3)}
        if cupti and os.path.exists(sums):
            row['kernels_ms'], row['launches'] = (int(x) for x in open(sums).read().split())
            row['kernels_ms'] /= 1e6
        if report and os.path.exists(report):
            notes = re.findall(r'^(?:Note|Summary|Verdict).*', open(report, errors='replace').read(), re.M)
            row['notes'] = ' | '.join(notes)[:600]
        return row

    def draw(self, folder):
        """Builds a program and tries it: (folder, line, seconds natively), or why it is left out."""
        line = build(folder)
        if not line:
            return 'not built'
        if time.time() > self.end - 3 / 4 * self.args.in_all:
            return 'no time left to try it'
        native = self.run(folder, line, None, True, self.args.seconds)
        if native['exit']:
            return 'late' if native['exit'] == 124 else f'exit code {native["exit"]}'
        if not native.get('kernels_ms'):
            return 'no kernels'
        self.run(folder, line, 'off', False, 3 * self.args.seconds)
        return folder, line, native['seconds']

    def choose(self, kept):
        """The shortest that the time has room for, in the order in which they were drawn; then the rest."""
        left, n = self.end - time.time(), 0
        by_time = sorted(kept, key=lambda k: k[2])[:self.args.programs]
        for program in by_time:
            left -= len(RUNS) * 1.2 * program[2]
            n += left > 0
        return sorted(by_time[:n], key=kept.index) + by_time[n:]

    def measure(self, folder, line, seconds):
        for name, judge, cupti in RUNS:
            row = self.run(folder, line, judge, cupti, max(1, min(6 + 6 * seconds, self.end - time.time())))
            yield {'way': name, **row}


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else 0


def show(rows, ratios):
    """One program's line; its ratios join those of the others."""
    if any(r['exit'] or ('kernels' in w and not r.get('kernels_ms')) for w, r in rows.items()):
        return 'exit codes ' + ', '.join(f'{w} {r["exit"]}' for w, r in rows.items())
    native = rows['plain kernels']['kernels_ms'], rows['plain']['seconds']
    new = (rows['off kernels']['kernels_ms'] / native[0], rows['off']['seconds'] / native[1],
           rows['on']['seconds'] / rows['off']['seconds'])
    for ratio, value in zip(ratios.values(), new):
        ratio.append(value)
    return f'{native[0]:9.2f} ms {new[0]:6.2f}   {native[1]:5.2f} s {new[1]:5.2f}   {new[2]:5.2f}'


def main():
    p = argparse.ArgumentParser()
    p.add_argument('-n', dest='programs', type=int, default=60)
    p.add_argument('-s', dest='seed', type=int, default=20261128)
    p.add_argument('-t', dest='seconds', type=float, default=6)
    p.add_argument('-T', dest='in_all', type=float, default=1e5)
    p.add_argument('-j', dest='jobs', type=int, default=os.cpu_count())
    p.add_argument('-o', dest='table', default=os.devnull)
    p.add_argument('hecbench')
    p.add_argument('collider')
    p.add_argument('option', nargs=argparse.REMAINDER)
    args = p.parse_args()
    src = os.path.join(args.hecbench, 'src')
    names = list(candidates(src))
    random.Random(args.seed).shuffle(names)
    folders = [os.path.join(src, n) for n in names[:3 * args.programs]]
    with tempfile.TemporaryDirectory() as work, ThreadPoolExecutor(args.jobs) as pool, open(args.table, 'w') as table:
        bench = Bench(args, work)
        out = csv.DictWriter(table, ['program', 'way', 'exit', 'seconds', 'kernels_ms', 'launches', 'notes'])
        out.writeheader()
        kept = []
        for folder, drawn in zip(folders, pool.map(bench.draw, folders)):
            if isinstance(drawn, tuple):
                kept.append(drawn)
            else:
                print(f'{os.path.basename(folder)[:-5]:24} left out: {drawn}')
        ratios = {'kernels': [], 'processes': [], 'with the judge over without': []}
        for program in bench.choose(kept):
            if time.time() > bench.end - len(RUNS) * 1.2 * program[2]:
                continue
            rows = {}
            for row in bench.measure(*program):
                rows[row['way']] = row
                out.writerow(row)
                table.flush()
            print(f'{row["program"]:24} {show(rows, ratios)}', flush=True)
    if not ratios['kernels']:
        return 1
    print(f'{len(ratios["kernels"])} programs: ' + '; '.join(
        f'{what} {geomean(values):.2f}, at worst {max(values):.2f}' for what, values in ratios.items()))
    return 0


if __name__ == '__main__':
    sys.exit(main())
