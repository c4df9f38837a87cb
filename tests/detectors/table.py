#!/usr/bin/env python3
"""table.py COLLIDER DOCS GPU HADRON SEEDS [--update] [--examples] - docs/detectors.md's table, run.

For each program of the table and each detector alone, SEEDS runs on the CPU device. A cell says what
they must find: "race" in each run, "some" in some runs of 20 and not in all, "possible" in each run and no race, "-"
nothing in any. A race-free twin, where its binary is there, must have no data race with any detector.

GPU and HADRON: folders with the binaries (tests/gpu, tests/hadron/bin of a build). --update writes
the table anew from what was found; read it before you commit it. --examples runs the rows of
examples/ only, and neither those of the oracle nor twins with collide, which other tests run (tests/install, tests/cpu), nor
what is named in LONG. With fewer than 20 seeds "some" is not tested.
"""
import json
import os
import subprocess
import sys
import tempfile

DETECTORS = ["collide", "oracle", "hirace", "iguard", "watch"]
BEGIN, END = "<!-- table.py: begin -->", "<!-- table.py: end -->"

# Most of the time of all: each takes two seconds or more. detectors.all (make soak) runs them with 20 seeds. Of each of
# these programs the other half or the other detector is run.
LONG = {("counter", "iguard"), ("histogram", "iguard"), ("bfs", "iguard"), ("bfs", "hirace"), ("bfs.fixed", "hirace"),
        ("stencil", "iguard"), ("stencil.fixed", "hirace"), ("reduction", "iguard"), ("reduction.fixed", "hirace")}


def binary_of(name, gpu, hadron):
    for path in (f"{gpu}/plain/{name}", f"{hadron}/{name}"):
        if os.path.exists(path):
            return path
    return None


def header_of(name):
    """What the source says about a run: devices, options, delays (tests/hadron/README.md)."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    found = {"devices": "1", "options": "", "delays": "5000/5000"}
    for source in (f"{root}/examples/{name}.cu", f"{root}/tests/hadron/{name}.cu"):
        if not os.path.exists(source):
            continue
        with open(source, encoding="utf-8") as f:
            for line in f:
                key, _, value = line.removeprefix("// ").strip().partition(": ")
                if line.startswith("// ") and key in found:
                    found[key] = value
    return found


def found_by(collider, binary, detector, seed, folder):
    """The set of classes of findings of one run."""
    report = f"{folder}/report.json"
    if os.path.exists(report):
        os.unlink(report)
    env = dict(os.environ)
    header = header_of(os.path.basename(binary).replace(".fixed", ""))
    rdelay, wdelay = header["delays"].split("/")
    env["COLLIDER_OPTIONS"] = f"cpu-devices={header['devices']}:{header['options']}".rstrip(":")
    run = subprocess.run(
        [collider, "run", "--device=cpu", f"--detector={detector}", f"--seed={seed}",
         f"--rdelay={rdelay}", f"--wdelay={wdelay}", f"--json={report}", "--", binary],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, env=env, check=False)
    classes = set()
    try:
        with open(report, encoding="utf-8") as f:
            rows = [json.loads(line) for line in f]
    except (OSError, ValueError):
        rows = []
    if not any(r.get("type") == "summary" for r in rows):
        raise SystemExit(f"FAIL: {binary}, {detector}, seed {seed}: no report: "
                         f"{run.stdout.decode(errors='replace')[-300:]}")
    for r in rows:
        if r.get("type") == "finding":
            classes.add(r["class"])
    return classes


def cell_of(runs):
    races = sum("data-race" in r for r in runs)
    if races == len(runs):
        return "race"
    if races:
        return "some"
    return "possible" if all("possible" in r for r in runs) else "-"


def main():
    args = [a for a in sys.argv[1:] if not a.startswith("--")]
    collider, docs, gpu, hadron, seeds = args[0], args[1], args[2], args[3], int(args[4])
    with open(docs, encoding="utf-8") as f:
        text = f.read()
    head, rest = text.split(BEGIN)
    body, tail = rest.split(END)
    lines = body.strip("\n").split("\n")
    rows, bad, runs_made = lines[:2], 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for line in lines[2:]:
            cells = [c.strip() for c in line.strip("|").split("|")]
            name = cells[0].strip("`")
            if "--examples" in sys.argv and not os.path.exists(f"{gpu}/plain/{name}"):
                continue
            binary = binary_of(name, gpu, hadron)
            if not binary:
                raise SystemExit(f"FAIL: {name}: no binary in {gpu}/plain or {hadron}: build 'programs'")
            seen = []
            for i, detector in enumerate(DETECTORS):
                if "--examples" in sys.argv and ((name, detector) in LONG or detector == "oracle"):
                    seen.append(cells[2 + i])
                    continue
                runs = [found_by(collider, binary, detector, s, folder) for s in range(1, seeds + 1)]
                runs_made += seeds
                seen.append(cell_of(runs))
                want = cells[2 + i]
                if "--update" in sys.argv:
                    continue
                if seeds < 20 and want == "some" and seen[-1] in ("race", "-", "possible"):
                    continue
                if seen[-1] != want:
                    print(f"FAIL: {name}, {detector}: {seen[-1]}, expected {want}: "
                          f"{[sorted(r) for r in runs]}")
                    bad += 1
            rows.append(f"| `{name}` | {cells[1]} | " + " | ".join(seen) + " |")
            twin = binary_of(f"{name}.fixed", gpu, hadron)
            if not twin:
                continue
            alone = DETECTORS
            if "--examples" in sys.argv: # one run for all of them: any data race is wrong
                alone = [",".join(d for d in DETECTORS[2:] if (f"{name}.fixed", d) not in LONG)]
            for detector in alone:
                for s in range(1, min(seeds, 3) + 1):
                    runs_made += 1
                    if "data-race" in found_by(collider, twin, detector, s, folder):
                        print(f"FAIL: {name}.fixed, {detector}, seed {s}: a data race")
                        bad += 1
    if "--update" in sys.argv:
        with open(docs, "w", encoding="utf-8") as f:
            f.write(head + BEGIN + "\n" + "\n".join(rows) + "\n" + END + tail)
    print(f"{len(rows) - 2} programs, {runs_made} runs, {bad} wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
