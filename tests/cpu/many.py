#!/usr/bin/env python3
"""many.py - many random programs on several workers, as one table.

  many.py [--programs=10000] [--jobs=N] [--seconds=S] [--slow=900] [--from=SEED] BIN LITMUS...

BIN has the programs of the build, LITMUS are files of tests/oracle. Each row of the table is a
generator: programs, those of which something is wrong, calls that failed or didn't end, processor
seconds. A call that takes --slow seconds doesn't end. Calls have some programs each, and are made
side by side, all rows' in turn, until --seconds have passed: then the table says how many programs
there were. Words of what went wrong come before it. Ends with 1 if there are any.

  launches   apart_random quick: one thread, interpreted, against four with machine code executed
             both ways: memory, faults, schedule, counts, findings of the oracle in their order
  collide    cpu_soundness: detector, oracle and a model of its own, four threads, both ways
  executions oracle_compare: the oracle against the memory model as the manual has it
  litmus     oracle_litmus
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import time

# Name, command, programs of a call, share of --programs, environment, what says how many are wrong.
ROWS = (
    ("launches", "{bin}/apart_random {n} {seed} quick", 50, 1, {},
     r"^(?P<n>\d+) programs, (?P<wrong>\d+) differ"),
    ("collide", "{bin}/cpu_soundness {n} {seed}", 25, 1, {"COLLIDER_SOUNDNESS_THREADS": "4"},
     r"^(?P<wrong>\d+) failures"),
    ("executions", "{bin}/oracle_compare {n} {seed}", 2500, 10, {},
     r"(?P<wrong>\d+) wrong"),
)


class Row:
    def __init__(self, name):
        self.name, self.programs, self.wrong, self.failed, self.seconds = name, 0, 0, 0, 0.0

    def add(self, programs, wrong, failed, seconds):
        self.programs += programs
        self.wrong += wrong
        self.failed += failed
        self.seconds += seconds


def call(command, environment, end, slow):
    """Exit code (None: it didn't end, or wasn't begun), and words."""
    if time.monotonic() > end:
        return None, ""
    with open(os.devnull) as nothing, subprocess.Popen(
            command, stdin=nothing, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={**os.environ, **environment}) as p:
        try:
            words = p.communicate(timeout=slow)[0]
        except subprocess.TimeoutExpired:
            p.kill()
            return None, "didn't end:\n" + p.communicate()[0]
    return p.returncode, words


def measured(command, environment, end, slow):
    """In a process of its own, whose children's time is the call's."""
    before = os.times()
    code, words = call(command, environment, end, slow)
    after = os.times()
    return code, words, (after.children_user - before.children_user + after.children_system -
                         before.children_system)


def calls_of(args):
    """Row, command, environment, programs, pattern of each call; rows in turn."""
    each = []
    for name, command, n, share, environment, pattern in ROWS:
        total = args.programs * share
        each.append([(name, command.format(bin=args.bin, n=min(n, total - at),
                                           seed=args.first + at).split(),
                      environment, min(n, total - at), pattern) for at in range(0, total, n)])
    most = max(len(calls) for calls in each)
    for calls in each:  # spread, so that all end at about the same time
        for i, c in enumerate(calls):
            yield i * most // len(calls), c
    yield -1, ("litmus", [f"{args.bin}/oracle_litmus", *args.litmus], {}, len(args.litmus), None)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", type=int, default=10000)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--slow", type=float, default=900)
    parser.add_argument("--from", dest="first", type=int, default=20000000)
    parser.add_argument("bin")
    parser.add_argument("litmus", nargs="+")
    args = parser.parse_args()
    begin = time.monotonic()
    rows = {name: Row(name) for name in [r[0] for r in ROWS] + ["litmus"]}
    todo = [c for _, c in sorted(calls_of(args), key=lambda x: x[0])]
    with concurrent.futures.ProcessPoolExecutor(args.jobs) as pool:
        end = begin + args.seconds
        futures = [(c, pool.submit(measured, c[1], c[2], end, args.slow)) for c in todo]
        for (name, command, _, n, pattern), future in futures:
            code, words, seconds = future.result()
            if code is None and not words:
                continue  # too late to be begun
            found = re.search(pattern, words, re.M) if pattern else None
            wrong = int(found["wrong"]) if found else 0
            failed = code is None or (pattern and not found) or (not pattern and code != 0)
            rows[name].add(n, wrong, bool(failed), seconds)
            if failed or wrong:
                print(f"{' '.join(command)}: exit code {code}\n{words}", flush=True)
    print(f"{'':12}{'programs':>10}{'wrong':>8}{'failed':>8}{'seconds':>10}")
    for r in rows.values():
        print(f"{r.name:12}{r.programs:10}{r.wrong:8}{r.failed:8}{r.seconds:10.1f}")
    print(f"{time.monotonic() - begin:.0f} s, {args.jobs} calls at a time")
    sys.exit(any(r.wrong or r.failed or not r.programs for r in rows.values()))


if __name__ == "__main__":
    main()
