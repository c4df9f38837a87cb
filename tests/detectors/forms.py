#!/usr/bin/env python3
# forms.py - runs forms.cu: forms.py COLLIDER NVCC SOURCE WORK SEEDS DETECTORS.MD
#
# What the default and each detector alone say of each kernel, with SEEDS seeds: the row of the table in DETECTORS.MD
# ("forms: begin") must say no more than that, and of race-free twins nothing may be found. SEEDS 0: prints
# the table, with 3 seeds.
import json
import os
import re
import subprocess
import sys

collider, nvcc, source, work, seeds, page = sys.argv[1:7]
os.makedirs(work, exist_ok=True)
text = open(source).read()
stems = re.findall(r"^PAIR\((\w+),", text, re.M) + re.findall(r"^__global__ void (\w+)_race\(", text, re.M)
names = [s + "_race" for s in stems]
names += [s + "_clean" for s in stems if f"{s}_clean" in text or f"PAIR({s}," in text]
names += re.findall(r"^__global__ void (\w+_equal)\(", text, re.M)
pairs = re.findall(r"^PAIR\((\w+),", text, re.M)


def run_of(name):
    """The run in which it is launched: none with another kernel of the same lines."""
    stem = name.rsplit("_", 1)[0]
    return pairs.index(stem) if stem in pairs else int(name.endswith("_equal"))


assert len(stems) >= 11 and len(names) >= 2 * len(stems), names
with open(os.path.join(work, "launches.h"), "w") as out:
    out.writelines(f"LAUNCH({run_of(n)}, {n})\n" for n in names)
program = os.path.join(work, "forms")
subprocess.run([nvcc, "-O3", "-std=c++14", "-lineinfo", "-cudart", "shared", "-I", work, "-gencode",
                "arch=compute_90,code=compute_90", source, "-o", program], check=True)
WAYS = ("default", "oracle", "hirace", "iguard", "watch", "collide")
RANK = {"-": 0, "undecided": 1, "possible": 2, "some": 3, "race": 4, "equal": 4}


def said(way, seed):
    """Of each kernel: the strongest of what is said."""
    report = os.path.join(work, "report.json")
    found = dict.fromkeys(names, "-")
    for run in range(len(pairs)):
        done = subprocess.run([collider, "run", "--device=cpu", f"--seed={seed}", "--format=json",
                               "--log-file=" + report, *([] if way == "default" else ["--detector=" + way]),
                               program, str(run)],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        assert done.returncode == 0, (way, done.returncode, done.stderr)
        for f in map(json.loads, open(report)):
            if f["type"] != "finding" or f["ignored"] not in ("", "undecided"):
                continue
            is_race = f["class"] == "data-race"
            what = ("undecided" if f["ignored"] else "equal" if is_race and f.get("same_value") else
                    "race" if is_race else "possible")
            name = f["function"].split("(")[0].split("<")[0].split()[-1]
            if RANK[what] > RANK[found[name]] or what == "race":
                found[name] = what
    return found


def summary(values):
    """One word for all seeds."""
    if len(set(values)) == 1:
        return values[0]
    return "some" if "race" in values or "equal" in values else max(values, key=RANK.get)


count = int(seeds) or 3
cells = {}
for way in WAYS:
    runs = [said(way, s) for s in range(1, count + 1)]
    for n in names:
        cells[n, way] = summary([r[n] for r in runs])
bad = 0
for n in names:
    for way in WAYS:
        if n.endswith("_clean") and cells[n, way] not in ("-", "undecided"):
            print(f"FAIL {n}, {way}: {cells[n, way]}")
            bad += 1
if seeds == "0":
    for n in names:
        if not n.endswith("_clean"):
            print(f"| `{n}` | " + " | ".join(cells[n, w] for w in WAYS) + " |")
    sys.exit(bad != 0)
table = open(page).read().split("<!-- forms: begin -->")[1].split("<!-- forms: end -->")[0]
rows = {r[0].strip(" `"): [c.strip() for c in r[1:]] for r in
        (line.strip("|").split("|") for line in table.strip().splitlines()[2:])}
assert sorted(rows) == sorted(n for n in names if not n.endswith("_clean")), (sorted(rows), names)
for n, row in rows.items():
    for way, claimed in zip(WAYS, row):
        got = cells[n, way]
        # More than the table claims is no failure. What watch and collide see depends on the schedule.
        if way in ("hirace", "iguard") and RANK[got] < RANK[claimed]:
            print(f"FAIL {n}, {way}: {got}, the table says {claimed}")
            bad += 1
        if way in ("default", "oracle") and got != claimed:
            print(f"FAIL {n}, {way}: {got}, the table says {claimed}")
            bad += 1
print(f"{len(names)} kernels, {count} seeds, {bad} wrong")
sys.exit(bad != 0)
