#!/usr/bin/env python3
# cases.py - runs the kernels of tests/iguard: cases.py COLLIDER NVCC WORK SEEDS DEVICE [BUILT]
#
# SEEDS runs with iguard on DEVICE (cpu or gpu; without a GPU the exit code is 77) and one with the
# oracle on the CPU device; each kernel's findings are compared with what the end
# of its name, and the line "says:" above it, ask for. Also writes the lists of the kernels, so that
# none is forgotten, and prints the table of docs/iguard.md. BUILT: a folder that has the programs for
# the GPU, and what the oracle found; DEVICE build: makes such a folder in WORK, and ends.
#
# On the CPU device the last of several runs has --all-loads: no load of shared memory is left out.
import json
import os
import re
import subprocess
import sys

collider, nvcc, work, seeds, device = sys.argv[1:6]
built = sys.argv[6] if len(sys.argv) > 6 else work
if device == "gpu" and not os.path.exists("/dev/nvidia0"):
    sys.exit(77)
os.makedirs(work, exist_ok=True)
here = os.path.dirname(os.path.abspath(__file__))
FILES = ("scopes", "locks", "blocks", "rows")
names, says, sides = {}, {}, []
for name in FILES:
    text = open(os.path.join(here, name + ".cu")).read()
    for shared in re.findall(r'^#include "(\.\./.*)"', text, re.M):
        text += open(os.path.join(here, shared)).read()
    names[name] = re.findall(r"__global__ void (\w+)\(", text)
    says.update({m[1]: set(m[0].split()) for m in
                 re.findall(r"// says: ([^\n]*)\n__global__ void (\w+)\(", text)})
    with open(os.path.join(work, name + "_launches.h"), "w") as out:
        out.writelines(f"LAUNCH({n})\n" for n in names[name])
everything = [n for name in FILES for n in names[name]]
assert len(everything) == len(set(everything)) and len(everything) > 110, everything
assert sum(n.endswith("_race") for n in everything) >= 60


def build():
    for name in FILES:
        command = ["-O2", "-std=c++14", "-lineinfo", "-cudart", "shared", "-I", work,
                   os.path.join(here, name + ".cu"), "-o"]
        program = os.path.join(work, name)
        if device != "gpu" or built == work:
            subprocess.run([nvcc, *command, program, "-gencode", "arch=compute_90,code=compute_90"],
                           check=True)
        # Without -rdc ptxas compiles the checks once more for each kernel: 43 s in place of 3.
        if device != "cpu" and built == work:
            subprocess.run([collider, "nvcc", "--sanitize=iguard", "-rdc=true", *command,
                            program + ".gpu", "-arch=" + ("sm_90" if device == "build" else "native")],
                           check=True)


def findings(detector, seed, name, found, loads):
    report = os.path.join(work, detector + ".json")
    is_gpu = device == "gpu" and detector == "iguard"
    program = os.path.join(built if is_gpu else work, name)
    # (With the judge beside it a finding would have the oracle's kind.)
    done = subprocess.run([collider, "run", "--device=" + ("gpu" if is_gpu else "cpu"),
                           *(["--judge=off"] if is_gpu else []), *loads, "--detector=" + detector, "--seed=" + seed, "--format=json",
                           "--log-file=" + report, program + (".gpu" if is_gpu else "")],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert done.returncode in (0, 1), (done.returncode, done.stderr)
    for f in map(json.loads, open(report)):
        if f["type"] != "finding":
            continue
        func = next(n for n in names[name] if f["function"].startswith(n + "("))
        found[func][0].add(f["class"])
        if f["class"] == "data-race":
            found[func][1].update([f["kind"]] + [a["kind"] for a in f.get("also", [])])
        # What is undecided is no finding, and says what may order the two.
        assert (f["class"] == "undecided") == ("may_order" in f) == (f["ignored"] == "undecided"), f
        if "iguard" in detector:
            # Both sides are of this kernel, in words. What lies beside hirace's word, in a kernel that it judges
            # for iguard, may come too late: seldom.
            sides.append(f["second"]["function"] == f["function"])
            assert f["side"]["function"] == f["function"] and (sides[-1] or not f["second"]["function"]), f


def all_findings(detector, seed, *loads):
    found = {n: (set(), set()) for n in everything}
    for name in FILES:
        findings(detector, seed, name, found, loads)
    return found


build()
judged = os.path.join(built, "oracle.json")
if built == work:
    oracle = {n: sorted(f[0]) for n, f in all_findings("oracle", "0").items()}
    json.dump(oracle, open(judged, "w"))
oracle = json.load(open(judged))
if device == "build":
    sys.exit(0)
bad = 0
for seed in map(str, range(int(seeds))):
    is_last = device == "cpu" and 0 < int(seed) == int(seeds) - 1
    iguard = all_findings("iguard", seed, *(["--all-loads"] if is_last else []))
    for n in everything:
        want = n.rsplit("_", 1)[1]
        told, kinds = iguard[n]
        real = oracle[n]
        is_good = {"race": "data-race" in told and real,
                   "possible": told == {"undecided"} and real,
                   "quiet": not told - {"undecided"} and not real,
                   "clean": not told and not real}[want]
        if n in says and not says[n] & kinds:
            is_good = False
        if not is_good:
            print(f"FAIL {n}, seed {seed}: iguard {sorted(told)} {sorted(kinds)}, "
                  f"oracle {sorted(real)}")
            bad += 1
        if seed == "0":
            print(f"{n}: {', '.join(sorted(told)) or 'nothing'} ({', '.join(sorted(kinds))})")
if device == "cpu":
    # iguard knows locks that hirace doesn't: beside it hirace doubts no pair of theirs.
    both, alone = all_findings("hirace,iguard", "0"), all_findings("hirace", "0")
    doubts = [sum("undecided" in found[n][0] for n in everything if not oracle[n]) for found in (both, alone)]
    for n in everything:
        # In plain kernels it is hirace that finds what iguard would.
        if n.endswith("_race") and "data-race" not in both[n][0]:
            print(f"FAIL {n}, hirace beside iguard: {sorted(both[n][0])}")
            bad += 1
        if n.endswith("_clean") and both[n][0] or n.endswith("_quiet") and both[n][0] - {"undecided"}:
            print(f"FAIL {n}, hirace beside iguard: {sorted(both[n][0])}")
            bad += 1
    print(f"undecided in race-free kernels: hirace alone {doubts[1]}, beside iguard {doubts[0]}")
    bad += not 0 < 2 * doubts[0] < doubts[1]
late = sides.count(False)
print(f"{len(everything)} kernels, {seeds} seeds, {bad} wrong; {late} of {len(sides)} findings without the earlier line")
bad += 20 * late > len(sides)
sys.exit(bad != 0)
