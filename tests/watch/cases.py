#!/usr/bin/env python3
# cases.py - detector watch on small kernels: cases.py COLLIDER NVCC SOURCE WORK SEEDS DEVICE [twins]
#
# A race of a kernel with `_first_` in its name must be in the memory of the first block of a cluster.
# SEEDS runs with watch on DEVICE (cpu or gpu; without a GPU the exit code is 77) and one with the oracle
# on the CPU device; each kernel's findings are compared with what the end of its name asks for. With
# `twins` SOURCE is another detector's, where races may be too far apart in time to be met: then only
# kernels without a race are judged, and the others are counted. Also writes launches.h, the list of
# the kernels, so that none is forgotten.
import json
import os
import re
import subprocess
import sys

collider, nvcc, source, work, seeds, device = sys.argv[1:7]
is_twins = sys.argv[7:] == ["twins"]
if device == "gpu" and not os.path.exists("/dev/nvidia0"):
    sys.exit(77)
os.makedirs(work, exist_ok=True)
text = open(source).read()
names = re.findall(r"(?:__global__ void|KERNEL) (\w+_(?:race|clean|readonly|quiet|possible))\(", text)
names += [n + end for n in re.findall(r"^PAIR\((\w+)\)", text, re.M) for end in ("_race", "_clean")]
names += re.findall(r"^KERNEL\((\w+)\)", text, re.M)
assert len(names) == len(set(names)) and len(names) > 20, names
CLUSTER = 2  # blocks of a cluster, where there are clusters
stem = os.path.splitext(os.path.basename(source))[0]
for header in ("launches.h", stem + "_launches.h"):
    with open(os.path.join(work, header), "w") as out:
        out.writelines(f"LAUNCH({n})\n" for n in names)
program = os.path.join(work, "cases")
flags = ["-O2", "-I", work]
subprocess.run([nvcc, *flags, "-lineinfo", "-cudart", "shared", "-gencode",
                "arch=compute_90,code=compute_90", source, "-o", program], check=True)
if device == "gpu":
    subprocess.run([collider, "nvcc", "--sanitize=watch", *flags, "-arch=native", source, "-o",
                    program + ".gpu"], check=True)


def findings(detector, seed):
    report = os.path.join(work, detector + ".json")
    is_gpu = device == "gpu" and detector == "watch"
    done = subprocess.run([collider, "run", "--device=" + ("gpu" if is_gpu else "cpu"),
                           "--dense=0", "--detector=" + detector, "--seed=" + seed, "--format=json",
                           "--log-file=" + report, program + (".gpu" if is_gpu else "")],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert done.returncode in (0, 1), (done.returncode, done.stderr)
    found = {n: set() for n in names}
    for f in map(json.loads, open(report)):
        if f["type"] != "finding":
            continue
        # Either side may be the one that is in a function of the kernel.
        sides = [f["function"], (f.get("second") or {}).get("function") or ""]
        func = next((n for n in names for s in sides if s.startswith(n + "(")), None)
        if not func:
            sys.exit(f"FAIL: a finding in {sides}, which are no kernels here: {f}")
        if f["class"] == "data-race" and detector == "watch" and not f["second"]["line"]:
            found[func].add("one side")
            continue
        found[func].add(f["class"])
        memory = f.get("memory", {})
        if "_first_" in func and detector == "watch" and memory.get("kind") == "shared":
            owner, sides = memory["block"][0], [f[s]["block"][0] for s in ("side", "second")]
            if owner % CLUSTER or any(b // CLUSTER != owner // CLUSTER for b in sides):
                found[func].add(f"memory of block {owner}, by {sides}")
        elif "_first_" in func and detector == "watch":
            found[func].add("memory of no block")
    return found


oracle = findings("oracle", "0")
bad = met = races = 0
for seed in map(str, range(int(seeds))):
    watch = findings("watch", seed)
    for n in names:
        want = n.rsplit("_", 1)[1]
        told, real = watch[n], oracle[n]
        wrong = [t for t in told if t.startswith("memory")]
        is_race = want in ("race", "possible") or (is_twins and bool(real))
        races += is_race
        met += is_race and "data-race" in told
        if is_race:
            is_good = real and ("data-race" in told or is_twins) and not wrong
        elif want == "readonly":
            is_good = told == {"read-only-changed"}
        else:
            is_good = not told & {"data-race", "one side"} and not real
            is_good = is_good and (is_twins or not told)
        if not is_good:
            print(f"FAIL {n}, seed {seed}: watch {sorted(told)}, oracle {sorted(real)}")
            bad += 1
print(f"{len(names)} kernels, {seeds} seeds, {met} of {races} races met, {bad} wrong")
sys.exit(bad != 0)
