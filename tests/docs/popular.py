#!/usr/bin/env python3
"""popular.py COLLIDER ROOT PROGRAMS [--renew] - docs/popular-races.md shows reports as they are.

After a line `<!-- report: NAME -->` the page has what a run of PROGRAMS/NAME (examples/NAME.cu, by plain nvcc) on the
CPU device says of its first data race: kind, both sides, source, what helps; without addresses, threads and counts.
Each line of code after `<!-- fix: NAME -->` must be in examples/NAME.fixed.cu. --renew writes the reports anew."""
import os
import re
import subprocess
import sys

DROPPED = re.compile(r" {4}(By|Memory|Launched|Occurrences) *:")
BLOCK = re.compile(r"<!-- report: (\w+) -->\n\n((?: {4}.*\n|\n(?= {4}))*)")
FIX = re.compile(r"<!-- fix: (\w+) -->\n\n((?: {4}.*\n|\n(?= {4}))*)")


def report(collider, root, programs, name):
    """The first data race of the program, as lines of the page."""
    done = subprocess.run([collider, "run", "--device=cpu", "--color=never", os.path.join(programs, name)],
                          capture_output=True, text=True, timeout=300, check=False)
    m = re.search(r"^1\. (DATA RACE.*?)\n\n", done.stderr, re.M | re.S)
    if not m:
        sys.exit(f"{name}: no data race:\n{done.stderr[:2000]}")
    lines = [x for x in m[1].split("\n") if not DROPPED.match(x)]
    text = "\n".join(lines).replace(root + "/", "")
    text = re.sub(r"(of the toolkit, to )\S+/include/", r"\1/usr/local/cuda/include/", text)  # wherever that is
    return "".join("    " + re.sub(r"^ {4}", "  ", x) + "\n" for x in text.split("\n"))


def main():
    renews = "--renew" in sys.argv
    collider, root, programs = [a for a in sys.argv[1:] if a != "--renew"]
    path = os.path.join(root, "docs", "popular-races.md")
    page = open(path, encoding="utf-8").read()
    bad = 0

    def fresh(m):
        nonlocal bad
        now = report(collider, root, programs, m[1])
        if now != m[2] and not renews:
            print(f"{path}: of {m[1]} it shows\n{m[2]}where a run says\n{now}")
            bad += 1
        return f"<!-- report: {m[1]} -->\n\n{now}"

    renewed = BLOCK.sub(fresh, page)
    names = BLOCK.findall(page)
    for name, code in FIX.findall(page):
        fixed = {line.strip() for line in open(os.path.join(root, "examples", name + ".fixed.cu"), encoding="utf-8")}
        for line in filter(None, (x.strip() for x in code.split("\n"))):
            if line not in fixed:
                print(f"{path}: {name}'s fix has '{line}'")
                bad += 1
    if len(names) < 12 or len(FIX.findall(page)) != len(names):
        print(f"{path}: {len(names)} reports, {len(FIX.findall(page))} fixes, expected 12 or more of each")
        bad += 1
    if renews:
        open(path, "w", encoding="utf-8").write(renewed)
    return bad > 0


sys.exit(main())
