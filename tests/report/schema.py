#!/usr/bin/env python3
"""schema.py COLLIDER SOURCE BUILD WORK - what is written as JSON keeps to docs/*.schema.json.

Saved reports (golden), runs of programs of other tests under all detectors, with copies, graphs, faults,
refused kernels and host code, and proofs. A key that the schema doesn't have is an error, so that each is documented;
its lists of names are compared with the tables by test_schema.c.
"""
import glob
import json
import os
import subprocess
import sys

import jsonschema

collider, source, build, work = sys.argv[1:5]
os.makedirs(work, exist_ok=True)
os.environ["XDG_CACHE_HOME"] = os.environ["XDG_RUNTIME_DIR"] = work
failures = 0
seen = {}


def validator(name):
    schema = json.load(open(os.path.join(source, "docs", name)))
    jsonschema.Draft202012Validator.check_schema(schema)
    return schema, jsonschema.Draft202012Validator(schema)


report, _ = validator("report.schema.json")
proof, is_proof = validator("proof.schema.json")
line_of = {ref["$ref"].rsplit("/", 1)[1]: None for ref in report["oneOf"]}
for name in line_of:
    line_of[name] = jsonschema.Draft202012Validator({"$ref": "#/$defs/" + name, "$defs": report["$defs"]})


def fail(what):
    global failures
    failures += 1
    print("FAILED:", what)


def check_report(path, what):
    for number, text in enumerate(open(path), 1):
        o = json.loads(text)
        if o.get("type") not in line_of:
            fail(f"{what}:{number}: a line of type {o.get('type')}")
            continue
        seen.setdefault(o["type"], set()).update(o)
        for e in list(line_of[o["type"]].iter_errors(o))[:3]:
            fail(f"{what}:{number}: {o['type']}: {'/'.join(map(str, e.path))}: {e.message[:200]}")


def run(what, *args):
    path = os.path.join(work, "report.jsonl")
    if os.path.exists(path):
        os.remove(path)
    r = subprocess.run([collider, "run", "--device=cpu", "--json=" + path, *args], cwd=work,
                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if not os.path.exists(path):
        fail(f"{what}: no report: {r.stderr[-300:]}")
        return
    check_report(path, what)


def must_fail(o, why):
    """The schema isn't one that takes anything."""
    if not list(line_of[o["type"]].iter_errors(o)):
        fail("accepted: " + why)


for path in glob.glob(os.path.join(source, "tests/report/golden/*.jsonl")):
    check_report(path, path)
    for text in open(path):
        o = json.loads(text)
        must_fail({**o, "unknown_key": 1}, "a key that isn't documented")
        if "kind" in o:
            must_fail({**o, "kind": "no-such-kind"}, "an unknown kind")
        if "count" in o:
            must_fail({k: v for k, v in o.items() if k != "count"}, "a line without its count")

programs = os.path.join(build, "tests/cudart_programs")
for program, *options in (
        ["graphs"], ["streams"], ["cooperative", "--detector=collide,watch"], ["symbols", "--detector=hirace"],
        ["cluster", "--detector=iguard"], ["refused_kernels"], ["launch_errors"], ["heap"], ["no_ptx"],
        ["textures", "--shuffle=all"], ["host_accesses"], ["repeats", "--kernel-name=nothing"],
        ["waiting", "--timeout=2"], ["tiles", "--detector=hirace,iguard", "--show-possible"]):
    path = os.path.join(programs, program)
    if not os.path.exists(path):
        fail(f"{path} isn't there (ninja programs)")
        continue
    run(program, *options, "--", path)
run("no program of CUDA", "--", "/bin/true")
for wanted in ("header", "finding", "unchecked", "kernel", "gap", "summary", "note"):
    if wanted not in seen:
        fail(f"no line of type {wanted} was seen")

for name in ("reduction.cu", "scan.fixed.cu", "stencil.cu"):
    path = os.path.join(source, "examples", name)
    r = subprocess.run([collider, "prove", "--no-cache", "--format=json", "--prove-timeout=5", path],
                       cwd=work, capture_output=True, text=True)
    for text in r.stdout.splitlines():
        for e in list(is_proof.iter_errors(json.loads(text)))[:3]:
            fail(f"prove {path}: {'/'.join(map(str, e.path))}: {e.message[:200]}")
    if not r.stdout:
        fail(f"prove {path}: {r.stderr[-300:]}")
sys.exit(failures > 0)
