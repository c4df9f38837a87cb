"""
collider_pytest - pytest --collider: a test whose kernels raced fails, with its races as the report.

Without `collider run` around it pytest is started again under it, on the CPU device; under -n each worker is a
process of the run whose findings are its own tests'. A race that an earlier test had found, too, fails the later
one as well.

Misses: kernels that still run when their test ends; what processes do that a test starts.
"""
import ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile

import pytest

_RUN = "COLLIDER_SHM_PATH"  # the file of the run, which `collider report --rescue` reads


def _program():
    """The collider of the run, of this package, or of PATH."""
    here = os.path.dirname(os.path.abspath(__file__))
    for path in (os.path.join(here, "..", "..", "..", "bin", "collider"), shutil.which("collider")):
        if path and os.access(path, os.X_OK):
            return path
    raise pytest.UsageError("--collider: no program collider, neither beside this plug-in nor in PATH")


def pytest_addoption(parser):
    group = parser.getgroup("collider", "data races of GPU kernels")
    group.addoption("--collider", action="store_true",
                    help="run kernels on Collider's CPU device; a test whose kernels raced fails")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config, parser, args):
    if early_config.known_args_namespace.collider and _RUN not in os.environ:
        program = _program()
        capture = early_config.pluginmanager.getplugin("capturemanager")
        if capture is not None:
            capture.stop_global_capturing()
        os.execv(program, [program, "run", "--device=cpu", "--log-file=" + os.devnull, "--", sys.executable, "-m",
                           "pytest", *early_config.invocation_params.args])


def pytest_configure(config):
    # Not in the process that only hands tests to its workers.
    if config.option.collider and not getattr(config.option, "numprocesses", None):
        config.pluginmanager.register(_Checker(), "collider_checker")


class _Checker:
    def __init__(self):
        self.program = _program()
        self.launches = getattr(ctypes.CDLL(None), "collider_cpu_launches", None)
        if self.launches is not None:
            self.launches.restype = ctypes.c_uint64
        self.looked = 0
        self.counts = {}  # sightings of each finding so far, by its fingerprint

    def report(self, *options):
        env = {k: v for k, v in os.environ.items() if not k.startswith("COLLIDER_")}
        env.pop("LD_PRELOAD", None)
        got = subprocess.run([self.program, "report", "--rescue", "--process=%d" % os.getpid(), *options,
                              os.environ[_RUN]], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, encoding="utf-8", errors="replace")
        if not got.stdout:
            raise RuntimeError("collider report: " + got.stderr.strip())
        return got.stdout

    def raced(self):
        """The report of what has raced since the last call; None: nothing has."""
        launches = self.launches() if self.launches is not None else None
        if launches == self.looked:
            return None
        self.looked = launches
        risen, known = 0, []
        for line in self.report("--format=json").splitlines():
            finding = json.loads(line)
            key = finding.get("fingerprint")
            is_more = key is not None and finding["count"] > self.counts.get(key, 0)
            if key is not None:
                self.counts[key] = finding["count"]
            if is_more and finding["counts"]:
                risen += 1
            else:
                known.append(line)
        if not risen:
            return None
        with tempfile.NamedTemporaryFile("w", suffix=".json") as old:
            old.write("\n".join(known) + "\n")
            old.flush()
            return self.report("--new-since=" + old.name)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item, call):
        outcome = yield
        if call.when == "setup":
            return
        text = self.raced()
        if not text:
            return
        report = outcome.get_result()
        if report.outcome == "passed":
            report.outcome = "failed"
            report.longrepr = text
        else:
            report.sections.append(("Collider", text))
