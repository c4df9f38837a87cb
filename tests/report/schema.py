#!/usr/bin/env python3
"""schema.py COLLIDER SOURCE BUILD WORK - what is written as JSON keeps to docs/*.schema.json.

Saved reports (golden), runs of programs of other tests under all detectors, with copies, graphs, faults,
refused kernels and host code, and proofs. A key that the schema doesn't have is an error, so that each is documented.
"""
import glob
import json
import os
import re
import subprocess
import sys

collider, source, build, work = sys.argv[1:5]
os.makedirs(work, exist_ok=True)
os.environ["XDG_CACHE_HOME"] = os.environ["XDG_RUNTIME_DIR"] = work
failures = 0
seen = {}


TYPES = {"string": str, "boolean": bool, "integer": int, "null": type(None), "object": dict, "array": list}
ABOUT = {"$schema", "title", "description", "$defs"}


class Schema:
    """What our schemas use of JSON Schema (draft 2020-12); another keyword is an error."""

    def __init__(self, name):
        self.root = json.load(open(os.path.join(source, "docs", name)))

    def is_type(self, o, name):
        return isinstance(o, TYPES[name]) and not (name == "integer" and isinstance(o, bool))

    def errors(self, o, s, at=""):
        for key, want in s.items():
            if key == "$ref":
                yield from self.errors(o, self.root["$defs"][want.rsplit("/", 1)[1]], at)
            elif key == "type":
                if not any(self.is_type(o, t) for t in ([want] if isinstance(want, str) else want)):
                    yield f"{at}: {o!r:.99} is no {want}"
                    return
            elif key == "enum" or key == "const":
                if o not in (want if key == "enum" else [want]) or isinstance(o, bool) != (want is True):
                    yield f"{at}: {o!r:.99} isn't {want!r:.99}"
            elif key == "pattern":
                if not re.search(want, o):
                    yield f"{at}: {o!r:.99} doesn't match {want}"
            elif key == "minimum":
                if o < want:
                    yield f"{at}: {o} is below {want}"
            elif key in ("minItems", "maxItems"):
                if len(o) < want if key == "minItems" else len(o) > want:
                    yield f"{at}: {len(o)} items"
            elif key == "items":
                for i, item in enumerate(o):
                    yield from self.errors(item, want, f"{at}/{i}")
            elif key == "properties":
                for name in want.keys() & o.keys():
                    yield from self.errors(o[name], want[name], f"{at}/{name}")
            elif key == "required":
                for name in set(want) - o.keys():
                    yield f"{at}: {name} is missing"
            elif key == "additionalProperties":
                for name in o.keys() - s["properties"].keys():
                    yield f"{at}: the schema has no {name}"
            elif key == "dependentRequired":
                for name in want.keys() & o.keys():
                    for other in set(want[name]) - o.keys():
                        yield f"{at}: {name} without {other}"
            elif key == "oneOf":
                if sum(not any(self.errors(o, each, at)) for each in want) != 1:
                    yield f"{at}: not exactly one of {len(want)}"
            elif key not in ABOUT:
                raise ValueError(f"{at}: keyword {key}")


report = Schema("report.schema.json")
proof = Schema("proof.schema.json")
line_of = {ref["$ref"].rsplit("/", 1)[1] for ref in report.root["oneOf"]}


def errors_of(o):
    return list(report.errors(o, {"$ref": "#/$defs/" + o["type"]}))


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
        for e in errors_of(o)[:3]:
            fail(f"{what}:{number}: {o['type']}{e}")
        if len(errors_of(o)) == 0 and any(report.errors(o, report.root)):
            fail(f"{what}:{number}: {o['type']} is more than one kind of line")


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
    if not errors_of(o):
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
        for e in list(proof.errors(json.loads(text), proof.root))[:3]:
            fail(f"prove {path}: {e}")
    if not r.stdout:
        fail(f"prove {path}: {r.stderr[-300:]}")

# The history's answers: three commits, of which the second has findings.
history = Schema("history.schema.json")
db = os.path.join(work, "history.db")
if os.path.exists(db):
    os.remove(db)
golden = os.path.join(source, "tests/report/golden")


def ask(*args):
    r = subprocess.run([collider, "history", "--db=" + db, *args], cwd="/", capture_output=True, text=True)
    if r.returncode:
        fail(f"history {args}: {r.stderr}")
    return r.stdout


for commit, name in (("aaaa", "host"), ("bbbb", "pairs"), ("cccc", "every_kind")):
    ask("add", "--commit=" + commit, os.path.join(golden, name + ".jsonl"))
for args in (["list"], ["compare", "aaaa", "bbbb"], ["compare", "bbbb", "cccc"], ["unchecked"]):
    o = json.loads(ask(*args, "--format=json"))
    for e in list(history.errors(o, history.root))[:3]:
        fail(f"history {args}: {e}")
    if args[0] != "unchecked" and not o["findings"]:
        fail(f"history {args}: no finding")
for f in json.loads(ask("list", "--format=json"))["findings"]:
    o = json.loads(ask("bisect", f["fingerprint"], "--format=json"))
    for e in list(history.errors(o, history.root))[:3]:
        fail(f"history bisect: {e}")
sys.exit(failures > 0)
