#!/usr/bin/env python3
"""threads.py - how much sooner launches end with several threads: plain, and with the oracle.

  threads.py [--threads=8] [--seconds=2] [--runs=1] [--mode=MODE] DIR COLLIDER NVCC [NAME ...]

The three kernels of speed.cu and the sixteen of bench/overhead (size small), which are built in
DIR. Sizes are chosen first, for many programs at once, then each is measured with nothing beside
it: launched so often, or made so large, that its launches take one thread at least that many
seconds. For one thread and for N, the least of the runs in turn, it prints seconds of the launches
and of the whole process, which has a start of 0.05 s and the program's own work, too, and the
processor seconds that this took: more with N is work that one thread doesn't have, or memory that
is waited for. What it prints must be the same. No program is left out: one that hardly gains (bfs: its
atomics come in the order of blocks) counts in the means.
"""
import argparse
import concurrent.futures
import math
import os
import re
import resource
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
OVERHEAD = ("triad matmul reduction scan histogram stencil2d stencil3d bfs radix_sort transpose "
            "spmv nbody softmax attention convolution bitonic").split()
# The size at which it begins, and the power of it that its time grows with.
SPEED = {"sgemm": (256, 3), "nbody": (2048, 2), "options": (65536, 1)}
BEGIN = 4  # repeats of the others
STEP = 128  # all sizes are multiples of it
SPARE = 1.15  # times the size that seems to be enough


def build(directory, nvcc):
    for source in (f"{HERE}/speed.cu", f"{HERE}/../overhead/overhead.cu"):
        out = f"{directory}/{os.path.basename(source)[:-3]}"
        if os.path.exists(out) and os.path.getmtime(out) > os.path.getmtime(source):
            continue
        subprocess.run([nvcc, "-O3", "-gencode", "arch=compute_90,code=compute_90", "-lineinfo",
                        "-cudart", "shared", f"-I{HERE}/../../examples", "-o", out, source],
                       check=True)


def command(args, name, size):
    if name.startswith("speed."):
        return [f"{args.dir}/speed", name[6:], str(size)]
    return [f"{args.dir}/overhead", "--size", "small", "--only", name, "--repeat", str(size)]


def run(args, mode, name, size, threads):
    """Seconds of the launches, of the process and of processors, and what it printed. Of processors
    it is right while nothing else is run."""
    start, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    p = subprocess.run([args.collider, "run", "--device=cpu", "--seed=1", "--repeats=run",
                        f"--detector={'none' if mode == 'plain' else mode}",
                        f"--threads={threads}", "--log-file=/dev/null", "--",
                        *command(args, name, size)],
                       capture_output=True, text=True, check=False)
    took = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    launches = re.search(r"^launches \S+ s ([0-9.]+)$", p.stderr, re.M)
    return (float(launches[1]), took,
            after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, p.stdout)


def larger(args, name, size, took):
    """A size at which launches that took so long with this one should take long enough."""
    power, step = (SPEED[name[6:]][1], STEP) if name.startswith("speed.") else (1, 1)
    times = min(args.seconds * SPARE / max(took, 0.001), 300)
    return math.ceil(size * times ** (1 / power) / step) * step


def choose_size(args, mode, name):
    size = SPEED[name[6:]][0] if name.startswith("speed.") else BEGIN
    while (took := run(args, mode, name, size, 1)[0]) < args.seconds / 2:
        size = larger(args, name, size, took)
    return larger(args, name, size, took)


def measure(args, mode, name, size):
    while (one := run(args, mode, name, size, 1))[0] < args.seconds:
        size = larger(args, name, size, one[0])
    best, said = {1: one[:3]}, {one[3]}
    for i in range(args.runs):
        for threads in (1, args.threads) if i else (args.threads,):
            *took, out = run(args, mode, name, size, threads)
            best[threads] = [min(a, b) for a, b in zip(took, best.get(threads, took))]
            said.add(out)
    times = [best[1][i] / best[args.threads][i] for i in range(2)]
    print(f"{mode:6} {name:14} {size:9} "
          + " ".join(f"{best[1][i]:8.3f} {best[args.threads][i]:8.3f} {times[i]:6.2f}"
                     for i in range(2))
          + f" {best[1][2]:8.3f} {best[args.threads][2]:8.3f}"
          + ("" if len(said) == 1 else "  OTHER OUTPUT"), flush=True)
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("dir")
    parser.add_argument("collider")
    parser.add_argument("nvcc")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--mode", choices=("plain", "oracle"))
    args = parser.parse_args()
    build(args.dir, args.nvcc)
    names = args.names or [f"speed.{n}" for n in SPEED] + OVERHEAD
    modes = (args.mode,) if args.mode else ("oracle", "plain")
    all_ = [(mode, n) for mode in modes for n in names]
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        sizes = dict(zip(all_, pool.map(lambda x: choose_size(args, *x), all_)))
    print(f"{'':31} {'launches':24} {'process':24} processors\n"
          + f"{'mode':6} {'program':14} {'size':>9} " + f"{'1':>8} {args.threads:8} {'times':>6} " * 2
          + f"{'1':>8} {args.threads:8}")
    for mode in modes:
        times = [measure(args, mode, n, sizes[mode, n]) for n in names]
        means = [math.exp(sum(map(math.log, t)) / len(t)) for t in zip(*times)]
        print(f"{mode:6} geometric mean of {len(times)}: launches {means[0]:.2f}, "
              f"process {means[1]:.2f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
