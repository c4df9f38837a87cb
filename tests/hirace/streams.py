#!/usr/bin/env python3
"""streams.py - random launches in streams: streams.py COLLIDER NVCC SOURCE WORK FIRST PROGRAMS

What hirace calls a data race on the CPU device, by its two launches, must be one to the oracle, in one of SEEDS runs: of
one schedule the one looks at the first race of a location only. Some must be, and some only possible.
"""
import json
import os
import re
import subprocess
import sys

collider, nvcc, source, work, first, programs = sys.argv[1:7]
SEEDS = range(1, 9)
os.makedirs(work, exist_ok=True)
program, report = os.path.join(work, "streams"), os.path.join(work, "report")
subprocess.run([nvcc, "-O2", "-lineinfo", "-cudart", "shared", "-gencode", "arch=compute_90,code=compute_90", source,
                "-o", program], check=True)


def launch_of(side):
    found = re.search(r"kernel(\d)<", side["function"])
    return int(found.group(1)) if found else -1  # where the word had changed meanwhile


def races(detector, which, seed):
    """Pairs of launches: of data races, and of what is undecided."""
    subprocess.run([collider, "run", "--device=cpu", "--detector=" + detector, "--show-possible", "--both-sides",
                    "--format=json", f"--seed={seed}", "--log-file=" + report, program, str(which)], check=True)
    found = {True: set(), False: set()}
    for f in map(json.loads, open(report)):
        if f["type"] == "finding":
            found[f["class"] == "data-race"].add(frozenset((launch_of(f), launch_of(f["second"]))))
    return found[True], found[False]


bad = certain = possible = 0
for i in range(int(first), int(first) + int(programs)):
    said, undecided = races("hirace", i, 1)
    certain += len(said)
    possible += len(undecided)
    left = [p - {-1} for p in said]
    for seed in SEEDS:
        real = races("oracle", i, seed)[0] if left else ()
        left = [p for p in left if not any(p <= q for q in real)]
    if left:
        print(f"FAIL: program {i}: launches {sorted(map(sorted, left))} don't race")
        bad += 1
print(f"{programs} programs: {certain} data races, {possible} undecided, {bad} wrong")
sys.exit(bad != 0 or certain == 0 or possible == 0)
