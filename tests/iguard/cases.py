#!/usr/bin/env python3
# cases.py - runs tests/iguard/cases.cu: cases.py COLLIDER NVCC SOURCE WORK SEEDS DEVICE
#
# SEEDS runs with iguard on DEVICE (cpu or gpu; without a GPU the exit code is 77) and one with the
# oracle on the CPU device; each kernel's findings are compared with what the end
# of its name, and the line "says:" above it, ask for. Also writes launches.h, the list of the kernels,
# so that none is forgotten, and prints the table of docs/iguard.md.
import json
import os
import re
import subprocess
import sys

collider, nvcc, source, work, seeds, device = sys.argv[1:7]
if device == "gpu" and not os.path.exists("/dev/nvidia0"):
    sys.exit(77)
os.makedirs(work, exist_ok=True)
text = open(source).read()
names = re.findall(r"__global__ void (\w+)\(", text)
says = {m[1]: set(m[0].split()) for m in
        re.findall(r"// says: ([^\n]*)\n__global__ void (\w+)\(", text)}
assert len(names) == len(set(names)) and len(names) > 80, names
assert sum(n.endswith("_race") for n in names) >= 40
with open(os.path.join(work, "launches.h"), "w") as out:
    out.writelines(f"LAUNCH({n})\n" for n in names)
program = os.path.join(work, "cases")
subprocess.run([nvcc, "-O2", "-std=c++14", "-lineinfo", "-cudart", "shared", "-I", work, "-gencode",
                "arch=compute_90,code=compute_90", source, "-o", program], check=True)
if device == "gpu":
    subprocess.run([collider, "nvcc", "--sanitize=iguard", "-O2", "-std=c++14", "-I", work,
                    "-arch=native", source, "-o", program + ".gpu"], check=True)


def findings(detector, seed):
    report = os.path.join(work, detector + ".json")
    is_gpu = device == "gpu" and detector == "iguard"
    done = subprocess.run([collider, "run", "--device=" + ("gpu" if is_gpu else "cpu"),
                           "--detector=" + detector, "--seed=" + seed, "--format=json",
                           "--log-file=" + report, program + (".gpu" if is_gpu else "")],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert done.returncode in (0, 1), (done.returncode, done.stderr)
    found = {n: (set(), set()) for n in names}
    for f in map(json.loads, open(report)):
        if f["type"] != "finding":
            continue
        func = next(n for n in names if f["function"].startswith(n + "("))
        found[func][0].add(f["class"])
        if f["class"] == "data-race":
            found[func][1].add(f["kind"])
        if detector == "iguard":
            # Both sides are of this kernel, in words.
            for side in ("side", "second"):
                assert f[side]["function"] == f["function"], f
    return found


oracle = findings("oracle", "0")
bad = 0
for seed in map(str, range(int(seeds))):
    iguard = findings("iguard", seed)
    for n in names:
        want = n.rsplit("_", 1)[1]
        told, kinds = iguard[n]
        real = oracle[n][0]
        is_good = {"race": "data-race" in told and real,
                   "possible": told == {"possible"} and real,
                   "quiet": "data-race" not in told and not real,
                   "clean": not told and not real}[want]
        if n in says and not says[n] & kinds:
            is_good = False
        if not is_good:
            print(f"FAIL {n}, seed {seed}: iguard {sorted(told)} {sorted(kinds)}, "
                  f"oracle {sorted(real)}")
            bad += 1
        if seed == "0":
            print(f"{n}: {', '.join(sorted(told)) or 'nothing'} ({', '.join(sorted(kinds))})")
print(f"{len(names)} kernels, {seeds} seeds, {bad} wrong")
sys.exit(bad != 0)
