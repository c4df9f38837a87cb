#!/usr/bin/env python3
# equal.py - runs equal.cu with hirace and iguard: equal.py COLLIDER NVCC SOURCE WORK
#
# A kernel whose name ends in _whole has no gap, one whose name ends in _part has. Nothing is found in any.
import json
import os
import re
import subprocess
import sys

collider, nvcc, source, work = sys.argv[1:5]
os.makedirs(work, exist_ok=True)
names = re.findall(r"^K\((\w+),", open(source).read(), re.M)
assert len(names) > 15 and sum(n.endswith("_part") for n in names) == 2, names
with open(os.path.join(work, "launches.h"), "w") as out:
    out.writelines(f"LAUNCH({n})\n" for n in names)
program, report = os.path.join(work, "equal"), os.path.join(work, "report.json")
subprocess.run([nvcc, "-O3", "-std=c++14", "-lineinfo", "-cudart", "shared", "-I", work, "-gencode",
                "arch=compute_90,code=compute_90", source, "-o", program], check=True)
bad = 0
for detector in ("hirace", "iguard"):
    subprocess.run([collider, "run", "--device=cpu", "--seed=1", "--detector=" + detector, "--format=json",
                    "--log-file=" + report, program], check=True)
    lines = [json.loads(line) for line in open(report)]
    gaps = {f["function"].split("(")[0]: f["what"] for f in lines if f["type"] == "gap"}
    found = [f["function"] for f in lines if f["type"] == "finding"]
    for n in names:
        if (n in gaps) != n.endswith("_part"):
            print(f"FAIL {n}, {detector}: {gaps.get(n, 'complete')}")
            bad += 1
    if found or set(gaps) - set(names):
        print(f"FAIL {detector}: findings in {found}; gaps of {sorted(set(gaps) - set(names))}")
        bad += 1
sys.exit(bad != 0)
