#!/usr/bin/env python3
# verdicts.py - runs verdicts.cu: verdicts.py COLLIDER NVCC SOURCE WORK SEEDS
#
# With each detector and with several beside each other: what is said of each kernel must be what the
# end of its name asks for. No detector may pair a load with a load, or a thread with itself. Also writes launches.h, the list
# of the kernels, so that none is forgotten.
import json
import os
import re
import subprocess
import sys

collider, nvcc, source, work, seeds = sys.argv[1:6]
os.makedirs(work, exist_ok=True)
text = open(source).read()
names = re.findall(r"^(?:__global__ void) (\w+_(?:same|clean|seed|race|lockstep))\(", text, re.M)
names += [n + "_seed" for n in re.findall(r"^SEEDS\((\w+)\)", text, re.M)]
names += [n + "_race" for n in re.findall(r"^RACES\((\w+)\)", text, re.M)]
assert len(names) == len(set(names)) and len(names) > 20, names
with open(os.path.join(work, "launches.h"), "w") as out:
    out.writelines(f"LAUNCH({n})\n" for n in names)
program = os.path.join(work, "verdicts")
subprocess.run([nvcc, "-O2", "-std=c++14", "-lineinfo", "-cudart", "shared", "-I", work, "-gencode",
                "arch=compute_90,code=compute_90", source, "-o", program], check=True)


judged = {}  # accesses, by detectors


def findings(detectors, seed, *options):
    report = os.path.join(work, "report.json")
    done = subprocess.run([collider, "run", "--device=cpu", *detectors, f"--seed={seed}", "--format=json",
                           "--log-file=" + report, *options, program],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, (done.returncode, done.stderr)
    found = {n: [] for n in names}
    for f in map(json.loads, open(report)):
        if f["type"] == "summary" and "oracle" in f:
            judged[detectors[0] if detectors else "default"] = f["oracle"]["judged"]
        if f["type"] == "finding":
            found[f["function"].split("(")[0]].append(f)
    return found


def says(name, found, detectors):
    """What is wrong with what was found of a kernel; None: nothing."""
    want = name.rsplit("_", 1)[1]
    shown = [f for f in found if not f["ignored"]]
    classes = {f["class"] for f in shown}
    for f in shown:
        if "side" not in f:
            continue
        one, two = f["side"], f["second"]
        if one["access"] == "load" and two["access"] == "load":
            return "two loads"
        # Of an unknown side (watch: the value changed, nobody was seen) no thread is known either.
        is_known = two["access"] != "unknown" and not two.get("some_thread")
        if is_known and all(one[k] == two[k] for k in ("thread", "block", "grid")):
            return "a thread with itself"
        if name.startswith("within_a_vector") and detectors in (("watch",), ("oracle",)):
            at = {s["bytes"]: int(s["address"], 0) % 16 for s in (one, two)}
            if at.get(16, 0) != 0 or at.get(4, 8) != 8:
                return f"addresses {at}"
    if detectors == ("watch",):  # only what meets
        most = {"clean": set(), "seed": {"cas-seed", "possible"}, "lockstep": set()}.get(want, {"data-race", "cas-seed"})
        return f"{classes}" if classes - most else None
    if want == "lockstep":  # iguard and hirace: where a load follows a store
        is_seen = "oracle" in detectors or (set(detectors) & {"iguard", "hirace"} and name == "tail_lockstep")
        return None if classes == ({"volatile-conflict"} if is_seen else set()) else f"{classes}"
    if want == "clean":
        return f"{classes}" if classes else None
    if want == "race":
        return None if "data-race" in classes else f"{classes}"
    if want == "seed" and detectors == ("hirace",):  # doesn't store it: an atomic that follows isn't seen
        return None if classes <= {"cas-seed"} else f"{classes}"
    if want == "seed":
        return None if classes == {"cas-seed"} else f"{classes}"
    if "data-race" not in classes:
        return f"{classes}"
    if "oracle" in detectors and not all(f.get("same_value") for f in shown):
        return "not said to be equal"
    return None


bad = runs = 0
for option in (), ("oracle",), ("hirace",), ("iguard",), ("watch",), ("hirace", "iguard"), ("iguard", "oracle"):
    detectors = ["--detector=" + ",".join(option)] if option else []
    for seed in range(1, int(seeds) + 1):
        found = findings(detectors, seed)
        runs += 1
        for n in names:
            why = says(n, found[n], option or ("oracle",))
            # That lanes aren't in lockstep shows in most schedules, not in all.
            for more in seed + 100, seed + 200:
                if why and n.endswith("_lockstep") and "oracle" in (option or ("oracle",)):
                    why = says(n, findings(detectors, more)[n], option or ("oracle",))
            if why:
                print(f"FAIL {n}, {','.join(option) or 'default'}, seed {seed}: {why}")
                bad += 1
# Beside collide, whose checks delay whoever holds a lock, no more is done than without it, twice over.
alone = judged["--detector=oracle"]
print(f"judged {judged}")
if not alone < judged["default"] < 3 * alone:
    print(f"FAIL judged by default {judged['default']} accesses, {alone} by the oracle alone")
    bad += 1
quiet = findings([], 1, "--same-value=ignore")
for n in names:
    left = {f["ignored"] for f in quiet[n]}
    if n.endswith("_same") and left != {"same-value"}:
        print(f"FAIL {n}, --same-value=ignore: {left}")
        bad += 1
    if n.endswith("_race") and "" not in left:
        print(f"FAIL {n}, --same-value=ignore: nothing")
        bad += 1
print(f"{len(names)} kernels, {runs} runs, {bad} wrong")
sys.exit(bad != 0)
