#!/usr/bin/env python3
# ordered.py - the race-free programs of this folder: ordered.py COLLIDER NVCC WORK SEEDS DEVICE [PROGRAM...]
#
# Each is run by the default detectors and by hirace,iguard on DEVICE: nothing may be found, no result may
# be wrong. Counts and prints the pairs that hirace and iguard leave undecided. DEVICE cpu: built by NVCC, all
# programs of a file in one run; gpu: built with checks, each program a run of its own and a row of a
# table; build: only builds those for a GPU, in WORK, where gpu finds them.
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

collider, nvcc, work, seeds, device = sys.argv[1:6]
chosen = sys.argv[6:]
here = os.path.dirname(os.path.abspath(__file__))
FILES = ("locks", "flags", "blocks", "rings", "warps")
WAYS = ("default", "hirace,iguard")
os.makedirs(work, exist_ok=True)
names = {}
for file in FILES:
    text = open(os.path.join(here, file + ".cu")).read()
    names[file] = re.findall(r"^PROGRAM\((\w+)\)", text, re.M)
    assert names[file] == re.findall(r"ROW\((\w+)\)", text), file
everything = [n for file in FILES for n in names[file]]
assert len(set(everything)) == len(everything) >= 60, len(everything)


def built(file, way):
    return os.path.join(work, file if device == "cpu" else f"{file}.{way}")


def build(file, way):
    source = os.path.join(here, file + ".cu")
    common = ["-O3", "-std=c++14", "-lineinfo", "-I", here, source, "-o", built(file, way)]
    if device == "cpu":
        subprocess.run([nvcc, "-cudart", "shared", "-gencode", "arch=compute_90,code=compute_90", *common],
                       check=True)
    else:
        checks = [] if way == "default" else ["--sanitize=" + way, "-rdc=true"]
        subprocess.run([collider, "nvcc", *checks, "-arch=sm_90", *common], check=True)


def run(file, way, seed, programs):
    """The exit code, the findings and the number of undecided pairs."""
    report = os.path.join(work, f"{file}.{programs[0]}.{way}.json")
    try:
        done = subprocess.run([collider, "run", "--device=" + device, f"--seed={seed}", "--format=json",
                               "--error-exitcode=9", "--log-file=" + report,
                               *([] if way == "default" else ["--detector=" + way]), built(file, way),
                               *programs],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=20 if device == "gpu" else 120)
    except subprocess.TimeoutExpired:
        return 124, ["it doesn't end"], 0
    found, undecided = [], 0
    for f in map(json.loads, open(report)):
        if f["type"] == "finding" and f["ignored"] == "undecided":
            undecided += 1
        elif f["type"] == "finding" and not f["ignored"]:
            found.append(f"{f['class']} ({f.get('detector', '')} {f.get('kind', '')}) in "
                         f"{f['function'].split('(')[0]}:{f.get('line', '')}")
    if done.returncode:
        found.append(f"exit code {done.returncode}: {done.stdout}{done.stderr}"[:600])
    return done.returncode, found, undecided


bad, total = 0, dict.fromkeys(WAYS, 0)
for file in FILES:
    here_chosen = [n for n in names[file] if n in chosen] if chosen else names[file]
    if not here_chosen:
        continue
    for way in WAYS:
        if device != "gpu" and (device == "build" or way == WAYS[0]):
            build(file, way)
    if device == "build":
        continue
    groups = [[n] for n in here_chosen] if device == "gpu" else [here_chosen]
    jobs = [(way, group, seed) for way in WAYS for group in groups for seed in range(1, int(seeds) + 1)]
    with ThreadPoolExecutor(4 if device == "gpu" else 1) as pool:
        results = list(pool.map(lambda job: run(file, job[0], job[2], job[1]), jobs))
    for (way, group, seed), (code, found, undecided) in zip(jobs, results):
        total[way] += undecided
        bad += bool(found)
        if device == "gpu":
            print(f"{group[0]:36} {way:14} {code:3} {len(found):3} {undecided:3}")
        for f in found:
            print(f"FAIL {file}, {way}, seed {seed}: {f}")
if device != "build":
    print(f"{len(everything)} programs, {seeds} seeds: {bad} wrong; undecided pairs: " +
          ", ".join(f"{total[w]} by {w}" for w in WAYS))
sys.exit(bad != 0)
