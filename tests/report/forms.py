#!/usr/bin/env python3
"""forms.py COLLIDER GOLDEN WORK [_soak] - the forms of a report that programs read, and the page.

Each form is made from saved reports (golden/*.jsonl, every kind of finding, and 2,000 findings with
awkward names) and read back: SARIF and JUnit as GitHub, GitLab and Jenkins require them, GitHub's
commands, lines of editors, and the HTML page, whose findings must be there without its script.
"""
import html.parser
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

collider, golden, work = sys.argv[1:4]
os.makedirs(work, exist_ok=True)
failures = 0


def check(ok, what):
    global failures
    if not ok:
        failures += 1
        print("FAILED:", what)


def report(fmt, path, *options):
    r = subprocess.run([collider, "report", "--format=" + fmt, *options, path],
                       capture_output=True, text=True)
    check(r.returncode in (0, 1), f"{fmt} of {path} ends with {r.returncode}: {r.stderr}")
    return r.stdout


def findings_of(path):
    lines = [json.loads(line) for line in open(path)]
    return [o for o in lines if o["type"] == "finding"]


def many(path, n, first_line=1):
    """A report of n findings in 40 kernels, with names that each form must escape."""
    lines = open(os.path.join(golden, "pairs.jsonl")).read().split("\n")
    pair = next(l for l in lines if '"second"' in l)
    o = json.loads(pair)
    o.pop("fingerprint", None)  # made anew
    for side in (o, o["side"], o["second"]):
        side["function"] = 'k@K<int, "a&b">(float*, int)'
        side["function_mangled"] = "k@K"
        side["file"] = "/src/dir, with:odd%name/f@F.cu"
        side["line"] = -2 if side is o["second"] else -1
    for side in (o["side"], o["second"]):
        side["kernel"] = o["function"]
    text = json.dumps(o, separators=(",", ":"))
    with open(path, "w") as out:
        out.write(lines[0] + "\n")
        for i in range(n):
            line = first_line + i // 7 * 3
            out.write(text.replace("@K", str(i % 40)).replace("@F", str(i % 7))
                      .replace(":-1,", f":{line},").replace(":-2,", f":{line + 1},") + "\n")
        out.write(next(l for l in lines if '"summary"' in l) + "\n")
    return path


# ---- SARIF: what the standard and GitHub ask for ----------------------------------------------

def check_location(loc, where):
    physical = loc["physicalLocation"]
    uri = physical["artifactLocation"]["uri"]
    check(re.fullmatch(r"[-A-Za-z0-9._~/!$&'()*+,;=:@%]+", uri), f"{where}: URI {uri}")
    below = physical["artifactLocation"].get("uriBaseId") == "SRCROOT"
    check(below != uri.startswith("file:///"), f"{where}: base of {uri}")
    check(physical["region"]["startLine"] >= 1, where)


def check_sarif(text, found):
    o = json.loads(text)
    check(o["version"] == "2.1.0" and "sarif-2.1.0" in o["$schema"], "SARIF's version")
    check(set(o) == {"$schema", "version", "runs"} and len(o["runs"]) == 1, "SARIF's keys")
    run = o["runs"][0]
    driver = run["tool"]["driver"]
    rules = driver["rules"]
    check(driver["name"] == "Collider", "the tool's name")
    check(len({r["id"] for r in rules}) == len(rules), "rules are there once")
    for r in rules:
        check(r["help"]["text"] and r["shortDescription"]["text"], f"help of {r['id']}")
        check(r["defaultConfiguration"]["level"] in ("error", "warning", "note"), r["id"])
    check(len(run["results"]) == len(found), f"{len(run['results'])} results of {len(found)}")
    prints = set()
    for r in run["results"]:
        check(rules[r["ruleIndex"]]["id"] == r["ruleId"], "ruleIndex")
        check(r["level"] in ("error", "warning", "note") and r["message"]["text"], "level")
        prints.add(r["partialFingerprints"]["colliderFinding/v1"])
        check(len(r["locations"]) == 1, "one location")
        check_location(r["locations"][0], "location")
        for loc in r.get("relatedLocations", []):
            check_location(loc, "related location")
            check(loc["message"]["text"], "message of a related location")
        flows = r["codeFlows"][0]["threadFlows"]
        check(len(flows) == 1 + len(r.get("relatedLocations", [])), "a thread flow a side")
        for flow in flows:
            check_location(flow["locations"][0]["location"], "thread flow")
    check(len(prints) == len(run["results"]), "fingerprints are unique")
    return run


# ---- JUnit: the schema that Jenkins and GitLab read -------------------------------------------

def check_junit(text):
    root = xml.fromstring(text)
    check(root.tag == "testsuites", "root of JUnit")
    cases = root.findall("testsuite/testcase")
    suite = root.find("testsuite")
    failed = [c for c in cases if c.find("failure") is not None]
    skipped = [c for c in cases if c.find("skipped") is not None]
    for key, list_ in (("tests", cases), ("failures", failed), ("skipped", skipped)):
        check(int(suite.get(key)) == len(list_), f"JUnit's {key}")
    check(len({c.get("name") for c in cases}) == len(cases), "a case a kernel")
    check(cases, "an empty suite would be green")
    for c in cases:
        check(set(c.attrib) == {"name", "classname", "time"}, "attributes of a case")
        check({e.tag for e in c} <= {"failure", "skipped", "system-out"}, "elements of a case")
    return cases, failed, skipped


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.n, self.shown, self.open, self.bad, self.text = 0, 0, [], [], []

    def handle_starttag(self, tag, attrs):
        self.n += tag == "details"
        self.shown += tag == "details" and ("open", None) in attrs
        for name, value in attrs:
            if name in ("src", "href") and not value.startswith("#"):
                self.bad.append(value)
        if tag in ("details", "section", "div", "span", "pre", "b", "form", "table"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in ("details", "section", "div", "span", "pre", "b", "form", "table"):
            if not self.open or self.open.pop() != tag:
                self.bad.append("</" + tag + ">")

    def handle_data(self, data):
        self.text.append(data)


def check_page(text, n):
    page = Page()
    page.feed(text)
    check(page.n == n, f"{page.n} findings on the page, {n} in the report")
    check(page.shown == (n if n <= 3 else 0), f"{page.shown} of {n} findings are open")
    check(not page.bad, f"page: {page.bad[:3]}")
    check(not page.open, f"page: {page.open} stays open")
    return "".join(page.text)


for name in ("every_kind", "pairs", "host"):
    path = os.path.join(golden, name + ".jsonl")
    found = findings_of(path)
    shown = [o for o in found if not o["ignored"]]
    counted = [o for o in shown if o["class"] == "data-race"]
    run = check_sarif(report("sarif", path), found)
    check(len([r for r in run["results"] if r["level"] == "error"]) ==
          len([o for o in found if o["class"] == "data-race"]), f"{name}: errors are data races")
    cases, failed, skipped = check_junit(report("junit", path))
    check(bool(failed) == bool(counted), f"{name}: failures")
    short = report("short", path).splitlines()
    check(short[-1].startswith("collider: "), f"{name}: the last line is the result")
    check(len(short) == len(shown) + 1, f"{name}: a line a finding")
    for line in short[:-1]:
        check(re.match(r"\S.*: (error|warning|note): .*", line), f"{name}: {line}")
    commands = report("github", path).splitlines()
    check(len(commands) == len(shown) + 1, f"{name}: a command a finding")
    for line in commands:
        check(re.match(r"::(error|warning|notice) [^:]*::.", line), f"{name}: {line}")
    check_page(report("html", path), len(found))

path = many(os.path.join(work, "many.jsonl"), 2000)
found = findings_of(path)
run = check_sarif(report("sarif", path, "--source-root=/src"), found)
check(run["originalUriBaseIds"]["SRCROOT"]["uri"] == "file:///src/", "SRCROOT")
uri = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
check(re.fullmatch(r"dir,%20with%3Aodd%25name/f\d.cu", uri), f"path below the root: {uri}")
cases, failed, skipped = check_junit(report("junit", path))
check(len(failed) == 40, "JUnit: one failed case a kernel")
page = report("html", path)
check(len(page) < 3 << 20, f"the page of 2,000 findings has {len(page)} bytes")
check('k7<int, "a&b">' in check_page(page, 2000), "names are escaped and whole")
line = report("github", path).splitlines()[0]
check("file=/src/dir%2C with%3Aodd%25name/" in line, f"GitHub's escapes: {line}")

# Fingerprints stay when lines above are added, as long as the files' text isn't there to tell more.
moved = many(os.path.join(work, "moved.jsonl"), 2000, first_line=100)
prints = [{r["partialFingerprints"]["colliderFinding/v1"] for r in
           json.loads(report("sarif", p))["runs"][0]["results"]} for p in (path, moved)]
check(prints[0] == prints[1], "fingerprints stay when lines move")

# --new-since: what an earlier report has, wherever its lines are now, doesn't count; one more does.
saved = os.path.join(work, "saved.jsonl")
with open(saved, "w") as out:
    out.write(report("json", many(os.path.join(work, "few.jsonl"), 70)))
check(len({f["fingerprint"] for f in findings_of(saved)}) == 70, "JSON: a fingerprint a finding")
for n, name in (70, "same"), (71, "more"):
    later = many(os.path.join(work, name + ".jsonl"), n, first_line=200)
    since = ["--new-since=" + saved, "--error-exitcode=9"]
    r = subprocess.run([collider, "report", *since, later], capture_output=True, text=True)
    check(r.returncode == (9 if n > 70 else 0), f"{name}: exit code {r.returncode}")
    check("known from an earlier report (--new-since): 70\n" in r.stdout, f"{name}: counted")
    check(r.stdout.count(". DATA RACE: ") == n - 70, f"{name}: only new ones are shown")
    lines = [json.loads(line) for line in subprocess.run(
        [collider, "report", "--format=json", *since, later], capture_output=True).stdout.splitlines()]
    check(lines[-1]["known"] == 70 and lines[-1]["races"] == n - 70, f"{name}: JSON's summary")
    check(sum(o.get("ignored") == "known" for o in lines) == 70, f"{name}: JSON's findings")
    states = [x["baselineState"] for x in json.loads(subprocess.run(
        [collider, "report", "--format=sarif", *since, later],
        capture_output=True).stdout)["runs"][0]["results"]]
    check(states.count("unchanged") == 70 and states.count("new") == n - 70, f"{name}: SARIF")
for bad, words in (path, "without a fingerprint"), (os.path.join(work, "absent"), "No such file"):
    r = subprocess.run([collider, "report", "--new-since=" + bad, saved],
                       capture_output=True, text=True)
    check(r.returncode == 1 and words in r.stderr and not r.stdout, f"--new-since={bad}: {r}")

# GitHub takes 25,000 results of a run; what is beyond that is counted.
if sys.argv[4:]:
    path = many(os.path.join(work, "too_many.jsonl"), 25100)
    run = json.loads(report("sarif", path))["runs"][0]
    check(len(run["results"]) == 25000, f"{len(run['results'])} results")
    notes = [n["message"]["text"] for n in run["invocations"][0]["toolExecutionNotifications"]]
    check(any("100 findings left out" in n for n in notes), f"what is left out is counted: {notes}")

# A report in which nothing was checked is no green suite.
path = os.path.join(work, "nothing.jsonl")
with open(path, "w") as out:
    lines = open(os.path.join(golden, "pairs.jsonl")).read().split("\n")
    out.write(lines[0] + "\n" + '{"type":"summary","verdict":"nothing-checked","checked":0}\n')
cases, failed, skipped = check_junit(report("junit", path))
check(len(skipped) == 1 and not failed, "nothing checked: skipped")

print(f"{failures} failures")
sys.exit(1 if failures else 0)
