#!/usr/bin/env python3
# hecbench.py - what checking costs programs of HeCBench on a GPU: kernel times and whole processes.
#
#   hecbench.py [-n PROGRAMS] [-s SEED] [-t SECONDS] [-j JOBS] HECBENCH COLLIDER [OPTION...]
#
# HECBENCH is a checkout of zjin-lcf/HeCBench. Its CUDA programs that need no library beyond the
# runtime are drawn by chance (SEED), built as they are (nvcc -lineinfo, sm_90) by JOBS at once, and
# those that end well natively within a third of SECONDS (12), with kernels of 0.05 to 1,500 ms in
# all, are kept, at most PROGRAMS (60). Each then runs alone under `collider run --device=gpu OPTION...`,
# once before to fill the cache of checked code, and once timed. Kernel times are sums of CUPTI's
# records (kernel_times.c); one line a program, and geometric means at the end.
import argparse
import math
import os
import random
import re
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

LIBRARIES = re.compile(
    r'-l(cublas|cufft|cusparse|cusolver|curand|cudnn|nccl|mpi|nvjpeg|npp|nvrtc|cuda\b|gomp|boost|gsl'
    r'|z\b|omp|tbb|nvshmem|cutensor|GL)|mpicc|mpicxx|nvc\+\+|\.\./data|wget|openmp|-rdc', re.I)
HERE = os.path.dirname(os.path.abspath(__file__))


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

    def run(self, folder, line, under, limit):
        """(exit code, seconds, kernels' ns), under: what stands in front of the program."""
        sums = os.path.join(self.work, os.path.basename(folder))
        inner = f'LD_PRELOAD={self.preload}${{LD_PRELOAD:+:$LD_PRELOAD}} KERNEL_TIMES={sums} exec {line}'
        if os.path.exists(sums):
            os.unlink(sums)
        start = time.time()
        rc = subprocess.run(['timeout', '-k', '1', str(limit), *under, 'sh', '-c', inner], cwd=folder,
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
        seconds = time.time() - start
        try:
            ns = int(open(sums).read().split()[0])
        except (OSError, IndexError):
            ns = 0
        return rc, seconds, ns

    def native(self, folder, line):
        rc, seconds, ns = self.run(folder, line, [], self.args.seconds / 3)
        return (seconds, ns) if rc == 0 and 5e4 <= ns <= 1.5e9 else None


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else 0


def main():
    p = argparse.ArgumentParser()
    p.add_argument('-n', dest='programs', type=int, default=60)
    p.add_argument('-s', dest='seed', type=int, default=20261127)
    p.add_argument('-t', dest='seconds', type=float, default=12)
    p.add_argument('-j', dest='jobs', type=int, default=os.cpu_count())
    p.add_argument('hecbench')
    p.add_argument('collider')
    p.add_argument('option', nargs=argparse.REMAINDER)
    args = p.parse_args()
    src = os.path.join(args.hecbench, 'src')
    names = list(candidates(src))
    random.Random(args.seed).shuffle(names)
    folders = [os.path.join(src, n) for n in names[:4 * args.programs]]
    under = [os.path.abspath(args.collider), 'run', '--device=gpu', '--log-file=/dev/null', *args.option, '--']
    with tempfile.TemporaryDirectory() as work, ThreadPoolExecutor(args.jobs) as pool:
        bench = Bench(args, work)
        built = [(f, l) for f, l in zip(folders, pool.map(build, folders)) if l]
        kept = []
        for folder, line in built:
            found = bench.native(folder, line) if len(kept) < args.programs else None
            if found:
                kept.append((folder, line, *found))
        with ThreadPoolExecutor(8) as warm:
            list(warm.map(lambda k: bench.run(k[0], k[1], under, 2 * args.seconds), kept))
        kernels, processes = [], []
        for folder, line, seconds, ns in kept:
            rc, with_checks, checked = bench.run(folder, line, under, args.seconds)
            name = os.path.basename(folder)[:-5]
            if rc == 124 or not checked:
                print(f'{name:24} {"late" if rc == 124 else "no kernel times, exit code %d" % rc}', flush=True)
                continue
            kernels.append(checked / ns)
            processes.append(with_checks / seconds)
            print(f'{name:24} {ns / 1e6:8.2f} ms {kernels[-1]:6.2f}   {seconds:5.2f} s {processes[-1]:5.2f}', flush=True)
    if kernels:
        print(f'{len(kernels)} programs: kernels {geomean(kernels):.2f}, at worst {max(kernels):.2f}; '
              f'processes {geomean(processes):.2f}, at worst {max(processes):.2f}')
    return 0 if kernels else 1


if __name__ == '__main__':
    raise SystemExit(main())
