#!/usr/bin/env python3
# hecbench.py - what checking costs programs of HeCBench on a GPU: kernel times and whole processes.
#
#   hecbench.py [-n PROGRAMS] [-s SEED] [-t SECONDS] [-T SECONDS] [-j JOBS] [-o FILE.csv]
#               HECBENCH COLLIDER [OPTION...]
#
# HECBENCH is a checkout of zjin-lcf/HeCBench. Its CUDA programs that need no library beyond the
# runtime are drawn by chance (SEED) and built as they are (nvcc -lineinfo, sm_90) by JOBS at once.
# Then each runs alone: natively, and if it ends well within SECONDS (4), under `collider run
# OPTION...` once to fill the cache of checked code, once with the judge off and once with it on,
# until there are PROGRAMS (60) or the time in all (-T) is over. All but the first of the checked runs
# are under CUPTI (kernel_times.c), whose records make the kernels' time: of 23 programs (2026-11-28)
# the processes' ratio is 1.16 with it and 1.18 without. A row of FILE.csv each run, a line each
# program, and geometric means at the end.
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
RUNS = [('off', 'off'), ('on', 'auto')]  # the way's name, and the judge


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

    def measure(self, folder, line):
        """The rows of one program, by way; an empty dictionary where it isn't kept."""
        plain = self.run(folder, line, None, True, self.args.seconds)
        if plain['exit'] or not plain.get('kernels_ms'):
            why = 'late' if plain['exit'] == 124 else f'exit code {plain["exit"]}' if plain['exit'] else 'no kernels'
            print(f'{plain["program"]:24} left out: {why}', flush=True)
            return {}
        rows, limit = {'plain': plain}, 6 + 6 * plain['seconds']
        self.run(folder, line, 'off', False, 2 * limit)
        for name, judge in RUNS:
            rows[name] = self.run(folder, line, judge, True, limit)
        return rows


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else 0


def show(rows, ratios):
    """One program's line; its ratios join those of the others."""
    if any(r['exit'] or not r.get('kernels_ms') for r in rows.values()):
        return 'exit codes ' + ', '.join(f'{w} {r["exit"]}' for w, r in rows.items())
    plain, off, on = rows['plain'], rows['off'], rows['on']
    new = (off['kernels_ms'] / plain['kernels_ms'], off['seconds'] / plain['seconds'], on['seconds'] / off['seconds'])
    for ratio, value in zip(ratios.values(), new):
        ratio.append(value)
    return f'{plain["kernels_ms"]:9.2f} ms {new[0]:6.2f}   {plain["seconds"]:5.2f} s {new[1]:5.2f}   {new[2]:5.2f}'


def main():
    p = argparse.ArgumentParser()
    p.add_argument('-n', dest='programs', type=int, default=60)
    p.add_argument('-s', dest='seed', type=int, default=20261128)
    p.add_argument('-t', dest='seconds', type=float, default=4)
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
        ratios = {'kernels': [], 'processes': [], 'with the judge over without': []}
        for folder, line in [x for x in zip(folders, pool.map(build, folders)) if x[1]]:
            if time.time() > bench.end - args.seconds or len(ratios['kernels']) == args.programs:
                break
            rows = bench.measure(folder, line)
            out.writerows({'way': way, **row} for way, row in rows.items())
            table.flush()
            if rows:
                print(f'{rows["plain"]["program"]:24} {show(rows, ratios)}', flush=True)
    if not ratios['kernels']:
        return 1
    print(f'{len(ratios["kernels"])} programs: ' + '; '.join(
        f'{what} {geomean(values):.2f}, at worst {max(values):.2f}' for what, values in ratios.items()))
    return 0


if __name__ == '__main__':
    sys.exit(main())
