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
mkdir -p triton/backends/nvidia
touch triton/__init__.py triton/backends/__init__.py triton/backends/nvidia/__init__.py
cat >triton/backends/nvidia/compiler.py <<'P'
class CUDABackend:
    def make_cubin(self, src, metadata, opt, capability): return b"\x7fELF machine code"
P
cat >triton/backends/nvidia/driver.py <<'P'
import collections
Target = collections.namedtuple("Target", "backend arch warp_size")
class CudaDriver:
    def get_current_target(self): return Target("cuda", 90, 32)
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
if sys.argv[2] == "triton":
    from triton.backends.nvidia import compiler, driver
    assert driver.CudaDriver().get_current_target() == ("cuda", 89, 32) # no wgmma
    assert os.path.exists(os.environ["TRITON_LIBCUDA_PATH"] + "/libcuda.so.1")
    code = compiler.CUDABackend().make_cubin(codegen.TEXT % os.getcwd(), {}, None, 89)
ok(cu.cuModuleLoadData(ctypes.byref(module), code))
ok(cu.cuModuleGetFunction(ctypes.byref(f), module, b"fill"))
ok(cu.cuMemAlloc_v2(ctypes.byref(p), ctypes.c_size_t(256)))
args = (ctypes.c_void_p * 2)(ctypes.addressof(p), ctypes.addressof(step))
ok(cu.cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, None, args, None))
ok(cu.cuCtxSynchronize())
P
run() {
	rc=0
	"$collider" run --device=cpu --error-exitcode=9 -- python3 kernel.py "$1" "$2" >out 2>&1 || rc=$?
	[ $rc = "$3" ] || { cat out; echo "FAILED: $1 $2: exit code $rc"; exit 1; }
}
for library in numba triton; do
	run fixed $library 0
	run racy $library 9
	grep -q "kernel.py:3:1 in fill$" out || { cat out; echo "FAILED: no line"; exit 1; }
done
