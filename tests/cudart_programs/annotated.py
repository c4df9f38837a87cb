#!/usr/bin/env python3
"""annotated.py COLLIDER SOURCE PROGRAM - a comment above each kernel of SOURCE says what is reported of it: "found:
DETECTORS" (by others nothing is expected), "meant" (nothing but what is left out as annotated) or "none"."""
import json
import re
import subprocess
import sys

KERNEL = re.compile(r"(found: ([a-z ]+)|meant|none)\n__global__ void (\w+)\(")


def main():
    collider, source, program = sys.argv[1:]
    kernels = KERNEL.findall(open(source, encoding="utf-8").read())
    bad = 0
    for detector in ("collide", "oracle", "hirace", "iguard", "watch", "collide,oracle"):
        done = subprocess.run([collider, "run", "--device=cpu", "--detector=" + detector, "--format=json", program],
                              capture_output=True, text=True, timeout=300, check=False)
        shown, left = set(), set()
        for line in done.stderr.splitlines():
            if line.startswith('{"type":"finding"'):
                o = json.loads(line)
                name = re.match(r"\w+", o["function"])[0]
                (left if o["ignored"] else shown).add(name)
                if o["ignored"] not in ("", "annotated", "possible", "undecided"):
                    print(f"{detector}: {o['function']}: ignored as {o['ignored']}")
                    bad += 1
        for what, found, name in kernels:
            if found and detector in found.split() and name not in shown:
                print(f"{detector}: nothing found in {name}")
                bad += 1
            # collide sees that a value changed, not who did it.
            if not found and name in shown and (detector, name) != ("collide", "meant_store"):
                print(f"{detector}: a finding in {name}")
                bad += 1
            if what == "meant" and detector == "oracle" and name not in left:
                print(f"{detector}: nothing left out in {name}")
                bad += 1
        if detector == "oracle" and '"annotated":' not in done.stderr:
            print("no number of annotated findings")
            bad += 1
    print(f"{len(kernels)} kernels, {bad} wrong")
    return bad > 0 or not kernels


sys.exit(main())
