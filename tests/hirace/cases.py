#!/usr/bin/env python3
# cases.py - runs cases.cu, memory.cu, launches.cu, shared.cu, called.cu, rows.cu, barriers.cu, matrix.cu, wmma.cu or copies.cu:
#	cases.py COLLIDER NVCC SOURCE WORK DEVICE [DETECTOR,...]
#
# DEVICE is cpu or gpu; without a GPU the exit code is 77 then. The oracle judges on the CPU device.
# On a GPU no judge works beside: what is asked is what the detector finds.
# One run with each DETECTOR (hirace) and one with the oracle; each kernel's findings are compared with what the end of
# its name asks for. hirace+: with --all-loads, so that no load of shared memory is left out; both: hirace and iguard in
# one run, where hirace judges plain kernels alone. Also writes launches.h, the list of the kernels, so that none is
# forgotten.
#
# With ONE_SIDE in the environment the earlier side isn't asked for, so that a GPU takes steps of global memory inline.
# FLAGS in the environment are nvcc's, in place of -O2 -lineinfo. BUILT is a folder of programs, each with the name of
# its DETECTOR, that aren't built here (ptxas takes minutes for some).
#
# What is found in a function FUNC_in, or FUNC_in2, that kernel FUNC calls counts as found in FUNC, and what is
# found in one of the toolkit's as found where the other access is.
import json
import os
import re
import subprocess
import sys

collider, nvcc, source, work, device = sys.argv[1:6]
variants = (sys.argv[6] if len(sys.argv) > 6 else "hirace").split(",")
if device == "gpu" and not os.path.exists("/dev/nvidia0"):
    sys.exit(77)
os.makedirs(work, exist_ok=True)
sides = [] if os.environ.get("ONE_SIDE") else ["--both-sides"]
flags = os.environ.get("FLAGS", "-O2 -lineinfo").split()
text = open(source).read()
# Kernels that two files share.
for shared in re.findall(r'^#include "(rows\.h)"', text, re.M):
    text += open(os.path.join(os.path.dirname(source), shared)).read()
names = re.findall(r"^__global__ void (\w+)\(", text, re.M)
names += re.findall(r"^KERNEL\((\w+)\)", text, re.M)
names += [n + end for n in re.findall(r"^PAIR\((\w+)\)", text, re.M) for end in ("_race", "_clean")]
assert len(names) == len(set(names)) and len(names) > 20, names
with open(os.path.join(work, "launches.h"), "w") as out:
    out.writelines(f"LAUNCH({n})\n" for n in names)
# How many accesses find no room: "// N accesses step aside".
aside = sum(map(int, re.findall(r"^// (\d+) accesses step aside", text, re.M)))
program = os.path.join(work, "cases")
subprocess.run([nvcc, *flags, "-cudart", "shared", "-I", work, "-gencode",
                "arch=compute_90,code=compute_90", source, "-o", program], check=True)


def loads_of(variant):
    return ["--all-loads"] if variant.endswith("+") else []


def case_of(function):
    return max((n for n in names if n in function.split("(")[0]), key=len, default="")


def findings(variant):
    checks = variant.rstrip("+").replace("both", "hirace,iguard")
    report = os.path.join(work, checks + ".json")
    is_gpu = device == "gpu" and checks != "oracle"
    built = os.path.join(os.environ["BUILT"], checks) if "BUILT" in os.environ else program + ".gpu"
    if is_gpu and "BUILT" not in os.environ:
        subprocess.run([collider, "nvcc", "--sanitize=" + checks, *loads_of(variant), *flags, "-I", work,
                        "-arch=native", source, "-o", built], check=True)
    done = subprocess.run([collider, "run", "--device=" + ("gpu" if is_gpu else "cpu"),
                           *(["--judge=off"] if is_gpu else loads_of(variant)), *sides, "--detector=" + checks, "--format=json",
                           "--log-file=" + report, built if is_gpu else program,
                           "3" if checks == "oracle" else "1300"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert done.returncode in (0, 1), (done.returncode, done.stderr)
    found = {n: set() for n in names}
    for f in map(json.loads, open(report)):
        if f["type"] == "summary" and checks != "oracle":
            # Each of two detectors counts them.
            most = aside * (1 + checks.count(","))
            assert not f.get("threads_aside") and f.get("accesses_aside", 0) == most, f
        if f["type"] != "finding":
            continue
        func = case_of(f["function"]) or case_of(f["second"]["function"])
        # A line that several kernels have inlined is one finding.
        for each in {func, *map(case_of, f.get("functions", []))}:
            found[each].add(f["class"])
        if checks != "oracle" and sides:
            # Both sides are of this kernel, in words.
            for side in ("side", "second"):
                assert case_of(f[side]["function"]) in ("", func, *map(case_of, f.get("functions", []))), f
    return found


oracle = findings("oracle")
bad = 0
for variant in variants:
    found_by = findings(variant)
    for n in names:
        want = n.rsplit("_", 1)[1]
        told, real = found_by[n], oracle[n]
        is_good = {"race": "data-race" in told and real,
                   "possible": told == {"undecided"} and real,
                   "quiet": not told - {"undecided"} and not real,
                   "clean": not told and not real,
                   "unseen": not told and real,
                   # A thread that leaves before a barrier: iguard asks whether it came there.
                   "iguard": ("data-race" in told) == (variant in ("iguard", "both")) and real,
                   # Of graphs a GPU doesn't know which kernels overlap.
                   "cpu": ("data-race" in told) == (device == "cpu") and real}[want]
        if not is_good:
            print(f"FAIL {n}: {variant} {sorted(told)}, oracle {sorted(real)}")
            bad += 1
    print(f"{variant}: {len(names)} kernels")
print(f"{bad} wrong")
sys.exit(bad != 0)
