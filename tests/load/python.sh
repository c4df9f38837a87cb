#!/bin/bash
# python.sh - compilers that Python programs bring get checks with nothing set: python.sh COLLIDER BUILT SOURCES
#
# The libraries are stand-ins with the parts of theirs that our module changes.
. "$(dirname "$0")/lib.sh"
unset PYTHONPATH XLA_FLAGS NUMBA_CACHE_DIR TRITON_PTXAS_PATH
nvcc -ptx -lineinfo -arch=sm_90 sum.cu -o sum.ptx || exit 2

# Triton's way: what our ptxas says of its version is another text for other checks.
cat >triton.sh <<'S'
"$TRITON_PTXAS_PATH" --version >"$1.version" && [ "$TRITON_PTXAS_BLACKWELL_PATH" = "$TRITON_PTXAS_PATH" ] &&
	"$TRITON_PTXAS_PATH" -lineinfo -v --gpu-name=sm_90 sum.ptx -o "$1.cubin"
S
for detector in collide hirace; do
	go t --detector=$detector -- bash triton.sh $detector || fail "t: $(cat t.err)"
	says $detector.version 'release [0-9]+\.[0-9]+, V[0-9.]+'
	says $detector.version '^Collider [0-9.]+, [0-9a-f]{16}$'
done
cmp -s collide.version hirace.version && fail "one version for two detectors"
grep -q __collider_knobs collide.cubin || fail "collide.cubin has no checks"
grep -q __collider_hirace hirace.cubin || fail "hirace.cubin has no checks"
# What it compiles is the source where it has no lines of one.
nvcc -ptx -arch=sm_90 sum.cu -o bare.ptx && go t -- sh -c '"$TRITON_PTXAS_PATH" -arch=sm_90 bare.ptx -o bare.cubin' ||
	fail "t: $(cat t.err)"
"$built/load_sites" bare.cubin >bare.sites
expect bare.sites "$(echo "$work"/cache/collider/text/block_sum-*.ptx):$(grep -n 'ld\.global' bare.ptx | head -1 | cut -d: -f1)"
go t --load=off -- sh -c 'echo "$TRITON_PTXAS_PATH$PYTHONPATH$COLLIDER_TOOLKIT"' && expect t.out ""

mkdir -p lib/numba/cuda lib/cupy/cuda lib/jaxlib site
touch lib/numba/__init__.py lib/numba/cuda/__init__.py lib/cupy/__init__.py lib/cupy/cuda/__init__.py
cat >lib/numba/cuda/codegen.py <<'P'
class driver:
    class ObjectCode:
        def __init__(self, code): self.code = code
        @staticmethod
        def from_cubin(code, *, name=""): return driver.ObjectCode(code)
class CUDACodeLibrary:
    def __init__(self, files=()):
        self._cubin_cache, self._linkerinfo_cache, self._linking_files = {}, {}, files
        self.needs_cudadevrt, self._max_registers, self._name = False, 32, "block_sum"
    def _ensure_cc(self, cc): return cc or (9, 0, "")
    def get_asm_strs(self, cc=None): return [open("sum.ptx").read()]
    def get_cubin(self, cc=None): return driver.ObjectCode(b"plain")
P
cat >lib/numba/cuda/decorators.py <<'P'
def jit(func_or_sig=None, device=False, inline="never", debug=None, lineinfo=False, **kws): return lineinfo
P
cat >lib/cupy/cuda/compiler.py <<'P'
class _NVRTCProgram:
    def __init__(self, src, name="default_program", headers=(), include_names=(), **kws): self.name = name
    def compile(self, options=(), log_stream=None): return options
P
cat >lib/jaxlib/__init__.py <<'P'
import os
flags = os.environ.get("XLA_FLAGS", "")
P
echo "__version__ = '1'" >lib/jaxlib/version.py
# XLA dies of a flag that it doesn't know; this one calls ptxas if its modules are compiled in parallel. Where
# tools lie, JAX says, which has found NVIDIA's wheels.
mkdir -p lib/jax/_src && touch lib/jax/_src/__init__.py && echo 'cuda_path = "/wheels"' >lib/jax/_src/lib.py
cat >lib/jax/__init__.py <<'P'
import os, subprocess, sys
flags = dict(f[2:].split("=") for f in os.environ["XLA_FLAGS"].split())
if "COLLIDER_TRIED" in os.environ:
    open("tried", "a").write("x")
if "xla_gpu_enable_libnvjitlink" in flags:
    sys.exit("F0000 Unknown flag in XLA_FLAGS: --xla_gpu_enable_libnvjitlink")
class numpy:
    ones = staticmethod(lambda n: n)
class Array:
    block_until_ready = staticmethod(lambda: None)
def jit(f):
    if "xla_gpu_enable_llvm_module_compilation_parallelism" in flags:
        from jax._src import lib
        subprocess.run([lib.cuda_path + "/bin/ptxas", "--version"], check=True)
    return lambda x: Array
P
# torch.compile copies a kernel of the program's to a file of its own, which Triton compiles.
mkdir -p lib/torch/_inductor/codegen lib/triton/compiler && touch lib/torch/__init__.py lib/torch/_inductor/__init__.py
touch lib/torch/_inductor/codegen/__init__.py lib/triton/__init__.py lib/triton/compiler/__init__.py
cat >lib/torch/_inductor/codegen/wrapper.py <<'P'
class PythonWrapperCodegen:
    def define_kernel(self, kernel_name, kernel_body, metadata=None, gpu=True): return kernel_body, metadata, gpu
P
echo 'def get_jit_fn_file_line(fn): return fn.place' >lib/triton/compiler/code_generator.py
printf '%s\n' '# a kernel' '@triton.jit' 'def racy(out):' '    pass' >kernel.py
echo 'print("own sitecustomize")' >site/sitecustomize.py
cat >all.py <<'P'
import os, sys
sys.path.insert(0, "lib")
from numba.cuda import codegen, decorators
made = codegen.CUDACodeLibrary()
print("checks", b"__collider_knobs" in made.get_cubin().code, made.get_cubin() is made.get_cubin())
print("linked", codegen.CUDACodeLibrary(["a.o"]).get_cubin().code)
print("lines", decorators.jit(), decorators.jit(debug=True), decorators.jit(lineinfo=False))
from cupy.cuda import compiler
text = 'extern "C" __global__ void twice(int *p)\n{\n}\n'
p = compiler._NVRTCProgram(text, "/tmp/x/9f.cubin.cu")
print(os.path.basename(p.name).split("-")[0], open(p.name).read() == text, p.compile(("-O3",)), p.compile(("-G",)))
print("unnamed", repr(compiler._NVRTCProgram("", "").name), os.environ["CUPY_COMPILE_WITH_PTX"])
from torch._inductor.codegen import wrapper
from triton.compiler import code_generator
define = wrapper.PythonWrapperCodegen().define_kernel
start = "async_compile.triton('racy', '''\n\n"
body = start + "import triton\n@triton.jit\ndef racy(out):\n    pass\n''', device_str='cuda')"
got, about, gpu = define("racy_0", body, "# Original path: %s:2" % os.path.abspath("kernel.py"), gpu=False)
folder = os.environ["TORCHINDUCTOR_CACHE_DIR"]
os.makedirs(folder, exist_ok=True)
copy, other = os.path.join(folder, "copy.py"), os.path.join(folder, "other.py")
open(copy, "w").write(got[len(start):got.rindex("'''")])
open(other, "w").write("def racy(out): pass\n")
class Function:
    def __init__(self, name, place): self.__name__, self.place = name, place
for name, place in ("racy", (copy, 3)), ("helper", (copy, 9)), ("racy", (other, 1)), ("racy", ("kernel.py", 3)):
    file, line = code_generator.get_jit_fn_file_line(Function(name, place))
    print(os.path.basename(file), line, end=" ")
print(gpu, define("fused_0", body)[0] == body)
import jaxlib
from jax._src import lib
print(lib.cuda_path == jaxlib.flags.split()[1].split("=")[1])
print(" ".join(f.split("=")[0] for f in jaxlib.flags.split()))
print(os.path.exists(jaxlib.flags.split()[1].split("=")[1] + "/bin/ptxas"), len(open("tried").read()))
P
cat >want <<'L'
own sitecustomize
checks True True
linked b'plain'
lines True False False
twice True ('-O3', '-lineinfo') ('-G',)
unnamed '' 1
kernel.py 3 copy.py 9 other.py 1 kernel.py 3 False True
True
--xla_own --xla_gpu_cuda_data_dir --xla_gpu_enable_llvm_module_compilation_parallelism
True 3
L
export PYTHONPATH=$work/site:$work/lib XLA_FLAGS=--xla_own=1
for i in 1 2; do
	go p -- python3 all.py || fail "p: $(cat p.err)"
	diff want p.out || fail "p: other output: $(cat p.err)"
done
says p.err "^collider: Numba's block_sum: its GPU code runs as it was: it is linked with code of others"

# Whatever a library has become, it works as without us, and one line says so.
echo 'class CUDACodeLibrary: pass' >lib/numba/cuda/codegen.py
go q -- python3 -c 'from numba.cuda import codegen; print(codegen.CUDACodeLibrary)' || fail "q: $(cat q.err)"
expect q.out "<class 'numba.cuda.codegen.CUDACodeLibrary'>"
says q.err "^collider: Numba: its GPU code runs as it was: AttributeError"

# A Python that reads no environment, and an empty one. (The folder is the last one, for collider_triton.)
go q -- python3 -I -c 'print(1)' && expect q.out 1
unset PYTHONPATH
go q -- python3 -c 'import sys; print("collider/python" in " ".join(sys.path[:-1]))' && expect q.out False
exit $bad
