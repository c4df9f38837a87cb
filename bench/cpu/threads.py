#!/usr/bin/env python3
"""threads.py - how much sooner programs end with several threads: plain, and with the oracle.

  threads.py [--threads=8] [--seconds=2] [--runs=1] [--mode=MODE] DIR COLLIDER NVCC [NAME ...]

The three kernels of speed.cu and the sixteen of bench/overhead (size small), which are built in
DIR. Each is launched so often, or made so large, that one thread takes about that many seconds: the
start of a process, 0.05 s, isn't what is asked about. Then seconds of the whole process, with one
thread and with N, the least of the runs in turn; what it prints must be the same. No program is
left out: those that one thread executes (bfs: its atomics' results are used) count in the mean.
"""
import argparse
import math
import os
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
    """Seconds, and what it printed."""
    start = time.monotonic()
    p = subprocess.run([args.collider, "run", "--device=cpu", "--seed=1", "--repeats=run",
                        f"--detector={'none' if mode == 'plain' else mode}",
                        f"--threads={threads}", "--", *command(args, name, size)],
                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return time.monotonic() - start, p.stdout


def choose_size(args, mode, name):
    """Twice, as the first run is short."""
    size, power = SPEED[name[6:]] if name.startswith("speed.") else (BEGIN, 1)
    step = STEP if name.startswith("speed.") else 1
    start = run(args, mode, name, step, 1)[0]
    for _ in range(2):
        took = max(run(args, mode, name, size, 1)[0] - start, 0.005)
        if took > args.seconds / 2:
            break
        size = max(int(size * (args.seconds / took) ** (1 / power) / step), 1) * step
    return size


def measure(args, mode, name):
    size = choose_size(args, mode, name)
    best, said = {}, set()
    for _ in range(args.runs):
        for threads in (1, args.threads):
            took, out = run(args, mode, name, size, threads)
            best[threads] = min(took, best.get(threads, took))
            said.add(out)
    times = best[1] / best[args.threads]
    print(f"{mode:6} {name:14} {size:9} {best[1]:8.3f} {best[args.threads]:8.3f} {times:6.2f}"
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
    print(f"{'mode':6} {'program':14} {'size':>9} {'1':>8} {args.threads:8} {'times':>6}")
    for mode in (args.mode,) if args.mode else ("plain", "oracle"):
        times = [measure(args, mode, n) for n in names]
        mean = math.exp(sum(map(math.log, times)) / len(times))
        print(f"{mode:6} geometric mean of {len(times)}: {mean:.2f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
