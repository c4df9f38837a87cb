#!/usr/bin/env python3
"""growth.py COLLIDER NVCC [--limit=SECONDS] [--only=NAME,...] [--from=N] - time against every count that a
program has: loads in a block, kernels, sites, functions, streams, findings and so on.

Each row raises one count tenfold, from --from (100) on, until a run takes more than --limit (10) seconds of
processor time or the count has grown by four decades; a process that takes 40 times --limit is ended (what is quadratic
takes a hundredfold). --limit=1 takes a quarter of an hour for all rows. Printed are the times in ms, less that of the smallest
input, and the exponent between the last two that are long enough to be measured: 1.0 is linear, n log n up to 1.2 here,
2.0 is quadratic. The exit code is 1 if a row is above LARGEST.
"""
import json
import math
import os
import resource
import subprocess
import sys
import tempfile

LARGEST = 1.3  # n log n, and what a loaded machine adds
SHORTEST = 0.05  # seconds: shorter differences aren't measured

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"
REGS = ".reg .b32 %r<8>; .reg .b64 %d<8>; .reg .pred %p<4>;\nld.param.u64 %d1, [p];\nmov.u32 %r1, %tid.x;\n"


def kernel(body, name="k", params=".param .u64 p"):
    return ".visible .entry %s(%s)\n{\n%s%s\nret;\n}\n" % (name, params, REGS, body)


def ptx_loads(n):
    return HEAD + kernel("".join("ld.global.u32 %%r2, [%%d1+%d];\nadd.u32 %%r1, %%r1, %%r2;\n" % (4 * i) for i in range(n)))


def ptx_stores(n):
    return HEAD + kernel("".join("st.global.u32 [%%d1+%d], %%r1;\n" % (4 * i) for i in range(n)))


def ptx_blocks(n):
    return HEAD + kernel("".join("setp.eq.u32 %%p1, %%r1, %d;\n@%%p1 bra L%d;\nst.global.u32 [%%d1+%d], %%r1;\nL%d:\n" %
                                 (i, i, 4 * i, i) for i in range(n)))


def ptx_loops(n):
    return HEAD + kernel("".join("mov.u32 %%r3, 0;\nL%d:\nld.global.u32 %%r2, [%%d1];\nadd.u32 %%r3, %%r3, 1;\n"
                                 "setp.lt.u32 %%p1, %%r3, %%r1;\n@%%p1 bra L%d;\n" % (i, i) for i in range(n)))


def ptx_nested_loops(n):
    text = "".join("mov.u32 %%x%d, 0;\nL%d:\n" % (i, i) for i in range(n)) + "st.global.u32 [%d1], %r1;\n"
    text += "".join("add.u32 %%x%d, %%x%d, 1;\nsetp.lt.u32 %%p1, %%x%d, 4;\n@%%p1 bra L%d;\n" % (i, i, i, i)
                    for i in reversed(range(n)))
    return HEAD + kernel(".reg .b32 %%x<%d>;\n" % (n + 1) + text)


def ptx_nested_braces(n):
    return HEAD + kernel("{\n" * n + "st.global.u32 [%d1], %r1;\n" + "}\n" * n)


def ptx_registers(n):
    return HEAD + kernel(".reg .b32 %%x<%d>;\n" % (n + 1) + "".join(
        "ld.global.u32 %%x%d, [%%d1+%d];\n" % (i, 4 * i) for i in range(n)) + "".join(
            "add.u32 %%r1, %%r1, %%x%d;\n" % i for i in range(n)) + "st.global.u32 [%d1], %r1;\n")


def ptx_kernels(n):
    return HEAD + "".join(kernel("ld.global.u32 %r2, [%d1];\nst.global.u32 [%d1+4], %r2;\n", "k%d" % i) for i in range(n))


def ptx_functions(n):
    text = HEAD
    for i in range(n):
        call = "call f%d, (%%d1);\n" % (i - 1) if i else ""
        text += (".func f%d(.param .b64 p)\n{\n%s%sst.global.u32 [%%d1+%d], %%r1;\nret;\n}\n" %
                 (i, REGS, call.replace("(%d1)", "(q)").replace("call", "{ .param .b64 q; st.param.b64 [q], %d1;\ncall") +
                  ("}\n" if i else ""), 4 * i))
    return text + kernel("{ .param .b64 q; st.param.b64 [q], %%d1;\ncall f%d, (q);\n}\n" % (n - 1))


def ptx_parameters(n):
    n = min(n, 1000)  # 4 KiB of them are all that a kernel may have
    return HEAD + kernel("".join("ld.param.u32 %%r2, [q%d];\nst.global.u32 [%%d1+%d], %%r2;\n" % (i, 4 * i) for i in range(n)),
                         params=".param .u64 p" + "".join(", .param .u32 q%d" % i for i in range(n)))


def ptx_lines(n):
    return HEAD + '.file 1 "a.cu"\n' + kernel("".join(
        ".loc 1 %d 3\nst.global.u32 [%%d1+%d], %%r1;\n" % (i + 1, 4 * i) for i in range(n)))


def ptx_files(n):
    return HEAD + "".join('.file %d "a%d.cu"\n' % (i + 1, i) for i in range(n)) + kernel("".join(
        ".loc %d 1 3\nst.global.u32 [%%d1+%d], %%r1;\n" % (i + 1, 4 * i) for i in range(n)))


def ptx_variables(n):
    return HEAD + "".join(".visible .global .align 4 .u32 v%d;\n" % i for i in range(n)) + kernel("".join(
        "st.global.u32 [v%d], %%r1;\n" % i for i in range(n)))


def ptx_barriers(n):
    return HEAD + ".shared .align 4 .b8 s[4096];\n" + kernel(
        "mov.u32 %r4, s;\nshl.b32 %r5, %r1, 2;\nadd.u32 %r4, %r4, %r5;\n" +
        "".join("st.shared.u32 [%r4], %r1;\nbar.sync 0;\nld.shared.u32 %r2, [%r4+4];\nbar.sync 0;\n" for i in range(n)))


class Bench:
    def __init__(self, collider, nvcc, limit, first):
        self.collider, self.nvcc, self.limit, self.first = collider, nvcc, limit, first
        self.dir = tempfile.TemporaryDirectory()

    def path(self, name):
        return os.path.join(self.dir.name, name)

    def time(self, command, env=None):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        most = int(40 * self.limit)
        rc = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=self.dir.name,
                            env=dict(os.environ, **(env or {})),
                            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (most, most)))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, rc

    def file(self, make, n):
        path = self.path("in.ptx")
        with open(path, "w") as f:
            f.write(make(n))
        return path

    # ---- what is timed ----------------------------------------------------------------------
    def instrument(self, make, *options):
        return lambda n: self.time([self.collider, "instrument", *options, self.file(make, n), "-o", "/dev/null"])

    def prove(self, make):
        return lambda n: self.time([self.collider, "prove", "--no-cache", "--no-remedies", "--prove-timeout=%d" % (2 * self.limit),
                                    "--block-dim=64", "--grid-dim=2", self.file(make, n)])

    def program(self, what, *options):
        def run(n):
            app = self.path("app")
            if not os.path.exists(app):
                source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "growth.cu")
                subprocess.run([self.nvcc, "-std=c++14", "-gencode", "arch=compute_90,code=compute_90", "-lineinfo",
                                "-cudart", "shared", source, "-o", app], check=True)
            return self.time([self.collider, "run", "--device=cpu", *options, "--", app, what, str(n)])
        return run

    def report(self, n):
        """n findings, each in a line of its own, made of one that is real."""
        path, one = self.path("one.jsonl"), self.path("many.jsonl")
        if not os.path.exists(path):
            self.program("race", "--json=" + path)(1)
        lines = [json.loads(s) for s in open(path)]
        with open(one, "w") as f:
            for o in lines:
                if o["type"] != "finding":
                    f.write(json.dumps(o) + "\n")
                    continue
                for i in range(n):
                    for side in (o, o.get("side", {}), o.get("second", {})):
                        side["line"] = 10 + i
                    f.write(json.dumps(o) + "\n")
        return self.time([self.collider, "report", "--print-limit=0", one])

    # ---- the table -------------------------------------------------------------------------------
    def row(self, name, run, most):
        times, n = [], self.first
        while n <= most:
            t, rc = run(n)
            if rc.returncode < 0:
                print("%-34s n=%d: signal %d" % (name, n, -rc.returncode))
                return False
            times.append((n, t))
            if t > self.limit:
                break
            n *= 10
        base = times[0][1]
        long = [(n, t - base) for n, t in times[1:] if t - base > SHORTEST]
        exponent = None
        if len(long) >= 2:
            (n1, t1), (n2, t2) = long[-2:]
            exponent = math.log(t2 / t1) / math.log(n2 / n1)
        elif len(long) == 1 and len(times) >= 2:
            # From the whole time before, or from nothing that could be measured: at most this.
            exponent = math.log10(times[-1][1] / max(times[-2][1], SHORTEST)) if times[-2][1] - base <= SHORTEST else None
        text = " ".join("%d:%.0f" % (n, 1000 * t) for n, t in times)
        is_good = exponent is None or exponent <= LARGEST
        print("%-34s %-6s %s %s" % (name, "-" if exponent is None else "%.2f" % exponent, "  " if is_good else "!!", text),
              flush=True)
        return is_good


def rows(b):
    ptx = {"loads in a block": ptx_loads, "stores in a block": ptx_stores, "blocks": ptx_blocks, "loops": ptx_loops,
           "nested loops": ptx_nested_loops, "nested braces": ptx_nested_braces, "registers": ptx_registers, "kernels": ptx_kernels,
           "functions in a chain": ptx_functions, "parameters": ptx_parameters, "lines of .loc": ptx_lines,
           "files": ptx_files, "variables": ptx_variables, "barriers": ptx_barriers}
    for what, make in ptx.items():
        most = {"nested loops": 10000, "nested braces": 100000, "parameters": 1000}.get(what, 1000000)
        for d in ("collide", "hirace", "iguard", "watch"):
            yield "%s %s" % (d, what), b.instrument(make, "--sanitize=" + d), most
    for what in ("stores in a block", "blocks", "loops", "kernels", "barriers", "parameters"):
        yield "prove " + what, b.prove(ptx[what]), 100000
    for what in ("launches", "streams", "events", "nodes", "allocations", "blocks", "threads", "copies", "modules", "atomics",
                 "locks", "words"):
        for d in ("collide,oracle", "hirace", "iguard"):
            yield "%s %s" % (d, what), b.program(what, "--detector=" + d), 1000000
    yield "findings in a report", b.report, 1000000


def main():
    options = dict(a[2:].split("=", 1) for a in sys.argv[1:] if a.startswith("--"))
    args = [a for a in sys.argv[1:] if not a.startswith("--")]
    if len(args) != 2:
        sys.exit(__doc__)
    b = Bench(os.path.abspath(args[0]), args[1], float(options.get("limit", 10)), int(options.get("from", 100)))
    only = [s for s in options.get("only", "").split(",") if s]
    bad = 0
    for name, run, most in rows(b):
        if not only or any(s in name for s in only):
            bad += not b.row(name, run, most)
    print("%d above n^%.1f" % (bad, LARGEST))
    sys.exit(bad != 0)


main()
