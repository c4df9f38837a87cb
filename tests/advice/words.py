#!/usr/bin/env python3
"""words.py COLLIDER SOURCE PROGRAM - the advice on each race of PROGRAM.

A comment of SOURCE says what advice a finding in kernels of that name must have:

    // case NAME by DETECTOR ... [unless DETECTOR ...]: REGEX, ... not: REGEX, ...

Each detector runs alone. Those that `by` names must find a race whose function's name begins with
NAME, with these words; what others find there must not have those behind `not`. Of `unless`, and of
collide, which doesn't know the other thread, nothing is expected: they can't know better. Nor is a
word of a finding whose other place the detector hasn't kept; what it must not say holds for it, too.
"""
import json
import re
import subprocess
import sys

DETECTORS = ("collide", "oracle", "hirace", "iguard", "watch")
CASE = re.compile(r"^// case (\w+) by ([\w ]+?)(?: unless ([\w ]+))?: (.+) not: (.+)$", re.M)


def findings(collider, detector, program):
    """(function, advice) of each finding of one detector."""
    done = subprocess.run(
        [collider, "run", "--device=cpu", "--cpu-devices=2", "--seed=1", "--detector=" + detector,
         "--show-possible=yes", "--format=json", program],
        capture_output=True, text=True, timeout=300, check=False)
    out = []
    for line in (done.stdout + done.stderr).splitlines():
        if line.startswith('{"type":"finding"'):
            o = json.loads(line)
            is_kept = "second" not in o or o["second"]["line"]
            out.append((o["function"], o["advice"], o["kind"], o["line"], is_kept))
    if not out and detector == "oracle":
        sys.exit(f"the oracle found nothing:\n{done.stderr[:2000]}")
    return out


def main():
    collider, source, program = sys.argv[1:]
    text = open(source, encoding="utf-8").read()
    cases = CASE.findall(text)
    if len(cases) != text.count("// case "):
        sys.exit(f"{source}: a case that can't be read")
    bad = seen = 0
    for detector in DETECTORS:
        all_found = findings(collider, detector, program)
        for name, by, unless, has, hasnt in cases:
            mine = [f for f in all_found if re.match(name + r"(_put|_take|_add)?\b", f[0])]
            if not mine and detector in by.split():
                print(f"{detector}: {name}: found nothing")
                bad += 1
            for _, advice, kind, line, is_kept in mine:
                seen += 1
                flat = advice.replace("\n", " ")
                wrong = [w for w in has.split(", ") if detector in by.split() and is_kept
                         and not re.search(w, flat)]
                if detector != "collide" and detector not in unless.split():
                    wrong += ["not: " + w for w in hasnt.split(", ") if re.search(w, flat)]
                if wrong:
                    print(f"{detector}: {name}, line {line}, {kind}: {wrong}\n    {flat}")
                    bad += 1
    print(f"{len(cases)} cases, {seen} findings, {bad} wrong")
    return bad > 0


sys.exit(main())
