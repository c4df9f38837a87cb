#!/bin/bash
# python.sh COLLIDER - a Python program on the CPU device: what a compiler in it has as PTX is handed
# to the driver in place of machine code, with nothing set. The compilers are stand-ins with the parts
# of Numba and Triton that our module changes.
set -eu
collider=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
unset PYTHONPATH NUMBA_CACHE_DIR
export XDG_CACHE_HOME=$dir/cache
mkdir -p numba/cuda
touch numba/__init__.py numba/cuda/__init__.py
cat >numba/cuda/codegen.py <<'P'
TEXT = """.version 8.0
.target sm_80
.address_size 64
.file 1 "%s/kernel.py"
.visible .entry fill(.param .u64 out, .param .u32 step)
{
	.reg .b32 %%r<4>;
	.reg .b64 %%rd<5>;
	ld.param.u64 %%rd1, [out];
	ld.param.u32 %%r1, [step];
	cvta.to.global.u64 %%rd2, %%rd1;
	mov.u32 %%r2, %%tid.x;
	mul.lo.u32 %%r3, %%r2, %%r1;
	mul.wide.u32 %%rd3, %%r3, 4;
	add.s64 %%rd4, %%rd2, %%rd3;
	.loc 1 3 1
	st.global.u32 [%%rd4], %%r2;
	ret;
}
"""
class driver:
    class ObjectCode:
        def __init__(self, code): self.code = code
        @staticmethod
        def from_cubin(code, *, name=""): return driver.ObjectCode(code)
class CUDACodeLibrary:
    def __init__(self, folder):
        self._cubin_cache, self._linkerinfo_cache, self._linking_files = {}, {}, ()
        self.needs_cudadevrt, self._max_registers, self._name, self.folder = False, 32, "fill", folder
    def _ensure_cc(self, cc): return cc or (9, 0)
    def get_asm_strs(self, cc=None): return [TEXT % self.folder]
    def get_cubin(self, cc=None): return driver.ObjectCode(b"\x7fELF machine code")
P
mkdir -p triton/backends/nvidia triton/runtime
touch triton/__init__.py triton/backends/__init__.py triton/backends/nvidia/__init__.py
cat >triton/backends/compiler.py <<'P'
import collections
GPUTarget = collections.namedtuple("GPUTarget", "backend arch warp_size")
P
cat >triton/backends/driver.py <<'P'
class DriverBase: pass
P
cat >triton/backends/nvidia/compiler.py <<'P'
class CUDABackend:
    def make_cubin(self, src, metadata, opt, capability): return b"\x7fELF machine code"
P
cat >triton/backends/nvidia/driver.py <<'P'
class CudaDriver:
    @staticmethod
    def is_active(): return True
P
cat >triton/runtime/__init__.py <<'P'
from .driver import driver
P
cat >triton/runtime/driver.py <<'P'
def _create_driver(): raise RuntimeError("no GPU")
class DriverConfig:
    _active = None
    @property
    def active(self):
        if self._active is None: self._active = _create_driver()
        return self._active
    def set_active(self, driver): self._active = driver
driver = DriverConfig()
P
cat >tile.py <<'P'
# As Triton launches: a compiled kernel's launcher is called with what the caller gave.
import array, collections, sys
from numba.cuda.codegen import TEXT
from triton.backends.nvidia import compiler, driver as theirs
from triton.runtime import driver
class Tensor:
    def __init__(self, n): self.a = array.array("I", [7] * n)
    def data_ptr(self): return self.a.buffer_info()[0]
    @property
    def nbytes(self): return len(self.a) * 4
Src = collections.namedtuple("Src", "signature")
Metadata = collections.namedtuple("Metadata", "num_warps num_ctas shared global_scratch_size")
d = driver.active
assert d.get_current_target() == ("cuda", 89, 32) # no wgmma
assert d.is_active() and not theirs.CudaDriver.is_active()
properties = d.utils.get_device_properties(0)
assert properties["warpSize"] == 32 and properties["max_shared_mem"] >= 99 * 1024
folder, step = sys.argv[2], int(sys.argv[1] == "fixed")
code = compiler.CUDABackend().make_cubin(TEXT % folder, {}, None, 89)
module, function, registers, spills, threads = d.utils.load_binary("fill", code, 0, 0)
assert threads >= 64
launch = d.launcher_cls(Src({"out": "*i32", "n": "constexpr", "step": ("i32",)}), Metadata(2, 1, 0, 0))
out = Tensor(64)
hooks = []
def go():
    launch(1, 1, 1, d.get_current_stream(0), function, None, "data", hooks.append, hooks.append, out, 64, (step,))
go()
go() # its memory is lent again
assert hooks == ["data"] * 4
assert list(out.a) == (list(range(64)) if step else out.a[:1].tolist() + [7] * 63), out.a
class Unknown:
    def data_ptr(self): return 4096
try:
    launch(1, 1, 1, 0, function, None, None, None, None, Unknown(), 64, (step,))
    raise SystemExit("an unknown address was taken")
except ValueError as why:
    assert "nbytes" in str(why)
P
cat >kernel.py <<'P'
import ctypes, os, sys
from numba.cuda import codegen
step = ctypes.c_uint(int(sys.argv[1] == "fixed"))
cu = ctypes.CDLL("libcuda.so.1")
def ok(r): assert r == 0, r
context, module, f = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
p = ctypes.c_uint64()
ok(cu.cuInit(0))
ok(cu.cuCtxCreate_v2(ctypes.byref(context), 0, 0))
code = codegen.CUDACodeLibrary(os.getcwd()).get_cubin().code
ok(cu.cuModuleLoadData(ctypes.byref(module), code))
ok(cu.cuModuleGetFunction(ctypes.byref(f), module, b"fill"))
ok(cu.cuMemAlloc_v2(ctypes.byref(p), ctypes.c_size_t(256)))
args = (ctypes.c_void_p * 2)(ctypes.addressof(p), ctypes.addressof(step))
ok(cu.cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, None, args, None))
ok(cu.cuCtxSynchronize())
P
run() {
	rc=0
	"$collider" run --device=cpu --error-exitcode=9 -- python3 "$1" "$2" "$dir" >out 2>&1 || rc=$?
	[ $rc = "$3" ] || { cat out; echo "FAILED: $1 $2: exit code $rc"; exit 1; }
}
for script in kernel.py tile.py; do
	run $script fixed 0
	run $script racy 9
	grep -q "kernel.py:3:1 in fill$" out || { cat out; echo "FAILED: no line"; exit 1; }
done
# The launch's line is the program's, not the package's; kernel.py calls the driver itself.
line=$(grep -n "^    launch(" tile.py | cut -d: -f1)
grep -q "Launched     : $dir/tile.py:$line in go$" out || { cat out; echo "FAILED: no line of the launch"; exit 1; }
! grep -q "registered (cudaHostRegister" out || { cat out; echo "FAILED: lent memory is unseen"; exit 1; }

# pytest --collider: its hooks alone, as pytest isn't on every machine.
cat >pytest.py <<'P'
class UsageError(Exception): pass
def hookimpl(**options): return lambda f: f
P
cat >plug.py <<'P'
import os, runpy, sys
sys.argv = ["tile.py", "", sys.argv[1]]
import collider_pytest
class Outcome:
    def __init__(self): self.report = type("Report", (), {"outcome": "passed", "sections": [], "longrepr": ""})()
    def get_result(self): return self.report
class Call: when = "call"
checker = collider_pytest._Checker()
def test(kind):
    hook, outcome = checker.pytest_runtest_makereport(None, Call), Outcome()
    next(hook)
    if kind: sys.argv[1] = kind; runpy.run_path("tile.py")
    try: hook.send(outcome)
    except StopIteration: pass
    return outcome.report
assert test("").outcome == "passed"
assert test("fixed").outcome == "passed"
raced = test("racy")
assert raced.outcome == "failed" and raced.longrepr.count("DATA RACE: ") == 1, raced.longrepr
assert test("fixed").outcome == "passed"
again = test("racy")
assert again.outcome == "failed" and "kernel.py:3:1 in fill" in again.longrepr
if not os.fork():
    assert test("").outcome == "passed" # another process: another one's findings
    os._exit(0)
assert os.wait()[1] == 0
print("plug-in: as expected")
P
run plug.py "$dir" 9
grep -q "^plug-in: as expected$" out || { cat out; echo "FAILED: the plug-in of pytest"; exit 1; }
