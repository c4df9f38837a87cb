"""
sitecustomize.py - for Python programs under `collider run`: libraries that compile GPU code hand over PTX, so
that checks can be put in or the CPU device can execute it, and keep the lines of their source.

Python reads it at its start, as it is first in PYTHONPATH (cli/python.c). It does nothing but wait for
the import of the libraries below, and then runs the sitecustomize that the program would have had.
Whatever fails, the library works as without us, and one line says so.

  jaxlib   XLA calls ptxas, ours, in place of the compiler that is built into it
  numba    machine code is assembled by our ptxas, from what NVVM compiles; NVIDIA's linker makes it of
           LTO-IR by default, of which no tool can get PTX with lines
           On the CPU device the PTX is handed over in place of machine code, and nothing is assembled
  triton   On the CPU device: PTX in place of machine code, and a driver of ours (collider_triton).
           On a GPU it is told of our ptxas (cli/python.c)
  torch    a Triton kernel of the program's that torch.compile copies into a file of its own keeps its lines
  cupy     lines; the text of a kernel is kept in a file that has its name

Misses: Numba's kernels that link code of others; what isn't imported by name.
"""
import os
import sys

_FOLDER = os.environ.get("COLLIDER_PYTHON")
_TOOLKIT = os.environ.get("COLLIDER_TOOLKIT")
_PTXAS = os.path.join(_TOOLKIT or "/", "bin", "ptxas")
_ON_CPU = "COLLIDER_CPU" in os.environ


def _say(what, why):
    sys.stderr.write("collider: %s: its GPU code runs as it was: %s\n" % (what, why))


# ---- JAX ------------------------------------------------------------------------------------------------

# What makes XLA call ptxas differs between its versions, and it ends the process at a flag that it doesn't
# know. So each is tried once, in another process, with a ptxas that leaves a mark. Where its tools lie, JAX says
# by jax._src.lib.cuda_path, which counts for more than the flag: NVIDIA's wheels, if they are installed.
_XLA_FLAGS = [
    "--xla_gpu_enable_libnvptxcompiler=false --xla_gpu_enable_libnvjitlink=false",
    "--xla_gpu_enable_libnvptxcompiler=false",
    "--xla_gpu_enable_llvm_module_compilation_parallelism=true",
]
_TRY_XLA = """
import os, jax
from jax._src import lib
lib.cuda_path = os.environ["COLLIDER_TRIED"]
jax.jit(lambda x: x * 2 + 1)(jax.numpy.ones(64)).block_until_ready()
"""
_TRY_SECONDS = 60
_MARKING_PTXAS = '#!/bin/sh\n: >"${0%/bin/ptxas}/mark"\nexec "$COLLIDER_TRIED_PTXAS" "$@"\n'


def _is_taken(flags, folder):
    """Does XLA call the ptxas of this folder then?"""
    import subprocess

    env = {k: v for k, v in os.environ.items() if not k.startswith(("COLLIDER_", "CUDA_INJECTION64", "JAX_"))}
    env.pop("LD_PRELOAD", None)
    env.update(XLA_FLAGS="--xla_gpu_cuda_data_dir=%s %s" % (folder, flags), COLLIDER_TRIED_PTXAS=_PTXAS,
               COLLIDER_TRIED=folder, COLLIDER_DISABLE="1", XLA_PYTHON_CLIENT_PREALLOCATE="false")
    try:
        subprocess.run([sys.executable, "-c", _TRY_XLA], env=env, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=_TRY_SECONDS)
    except (OSError, subprocess.SubprocessError):
        return False
    return os.path.exists(os.path.join(folder, "mark"))


def _try_xla():
    import tempfile

    for flags in _XLA_FLAGS:
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "bin"))
            for sub in ("", "bin"):
                for name in os.listdir(os.path.join(_TOOLKIT, sub)):
                    if os.path.join(sub, name) not in ("bin", "bin/ptxas"):
                        os.symlink(os.path.join(_TOOLKIT, sub, name), os.path.join(folder, sub, name))
            ptxas = os.path.join(folder, "bin", "ptxas")
            with open(ptxas, "w") as out:
                out.write(_MARKING_PTXAS)
            os.chmod(ptxas, 0o700)
            if _is_taken(flags, folder):
                return flags
    return ""


def _find_xla_flags(version):
    name = os.path.join(os.path.dirname(_FOLDER), "xla-" + version)
    try:
        with open(name) as kept:
            return kept.read()
    except OSError:
        flags = _try_xla()
    with open(name + ".%d" % os.getpid(), "w") as new:
        new.write(flags)
    os.rename(new.name, name)
    return flags


def _before_jaxlib(spec):
    old = os.environ.get("XLA_FLAGS", "")
    kept = os.environ.get("JAX_COMPILATION_CACHE_DIR")
    if not (_FOLDER and _TOOLKIT):
        return
    import hashlib

    place = "%s %s %s %s" % (sys.executable, spec.origin, "\n".join(_XLA_FLAGS), _TRY_XLA)
    with open(os.path.join(os.path.dirname(spec.origin), "version.py")) as version:
        place += version.read()
    flags = _find_xla_flags(hashlib.md5(place.encode()).hexdigest())
    if not flags or (old and not old.lstrip().startswith("-")):
        _say("JAX", "XLA takes no other ptxas")
        return
    os.environ["XLA_FLAGS"] = ("%s --xla_gpu_cuda_data_dir=%s %s" % (old, _TOOLKIT, flags)).strip()
    if kept:
        os.environ["JAX_COMPILATION_CACHE_DIR"] = os.path.join(kept, os.path.basename(_FOLDER))


def _after_jax_lib(module):
    if ("--xla_gpu_cuda_data_dir=%s" % _TOOLKIT) in os.environ.get("XLA_FLAGS", ""):
        module.cuda_path = _TOOLKIT


# ---- Numba ----------------------------------------------------------------------------------------------


def _appended(texts):
    """A file of no machine code, with PTX after it as the CPU device looks for it (docs/cpu-device.md)."""
    head = bytearray(64)
    head[:7] = b"\x7fELF\x02\x01\x01"
    head[9:16] = b"CLDRPTX"
    head[52] = len(head)
    return bytes(head) + b"".join(text.encode() + b"\0" for text in texts) + b"\0"


def _assemble(text, arch, cap):
    import subprocess
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        source, code = os.path.join(folder, "numba.ptx"), os.path.join(folder, "numba.cubin")
        with open(source, "w") as out:
            out.write(text)
        line = [_PTXAS, "-arch=" + arch, "--generate-line-info", source, "-o", code]
        if cap:
            line.append("-maxrregcount=%d" % cap)
        got = subprocess.run(line, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        if got.returncode:
            return None
        with open(code, "rb") as made:
            return made.read()


def _after_numba_codegen(module):
    library, object_code = module.CUDACodeLibrary, getattr(module.driver, "ObjectCode", None)
    # Older ones hand PTX to the driver's linker.
    if object_code is None or not hasattr(library, "get_asm_strs") or not (_TOOLKIT or _ON_CPU):
        return
    plain = library.get_cubin

    def get_cubin(self, cc=None):
        cc = self._ensure_cc(cc)
        kept = self._cubin_cache.get(cc)
        if kept:
            return kept
        if self._linking_files or self.needs_cudadevrt:
            _say("Numba's %s" % self._name, "it is linked with code of others")
            return plain(self, cc)
        texts = self.get_asm_strs(cc=cc)
        code = _appended(texts) if _ON_CPU else None
        if code is None and len(texts) == 1:
            code = _assemble(texts[0], "sm_" + "".join(map(str, cc)), self._max_registers)
        if code is None:
            return plain(self, cc)
        self._cubin_cache[cc] = object_code.from_cubin(code, name=self._name)
        self._linkerinfo_cache[cc] = ""
        return self._cubin_cache[cc]

    library.get_cubin = get_cubin


def _after_numba_decorators(module):
    import functools

    plain = module.jit

    @functools.wraps(plain)
    def jit(*args, **options):
        if not options.get("debug") and len(args) < 2:
            options.setdefault("lineinfo", True)
        return plain(*args, **options)

    module.jit = jit


# ---- Triton ---------------------------------------------------------------------------------------------


def _after_triton_compiler(module):
    """On the CPU device only: on a GPU Triton is told of our ptxas."""
    if _ON_CPU:
        module.CUDABackend.make_cubin = lambda self, src, *more: _appended([src])


def _after_triton_driver(module):
    """Triton's own would be a second active one."""
    if _ON_CPU:
        module.CudaDriver.is_active = staticmethod(lambda: False)


def _after_triton_runtime(module):
    if not _ON_CPU:
        return

    def create():
        from collider_triton.driver import ColliderDriver

        return ColliderDriver()

    module._create_driver = create


# ---- torch.compile --------------------------------------------------------------------------------------

_ORIGINAL = "# Original path: "


def _after_inductor_wrapper(module):
    """Where a kernel was copied from, PyTorch writes beside it: it goes with the text, behind it."""
    wrapper = getattr(module, "PythonWrapperCodegen", None) or module.WrapperCodeGen
    plain = wrapper.define_kernel

    def define_kernel(self, name, body, metadata=None, *args, **options):
        import re

        found = re.search(r"async_compile\.triton\('(\w+)'", body)
        text, end, rest = body.rpartition("\n''', device_str=")
        if found and end and str(metadata).startswith(_ORIGINAL) and "\n" not in metadata:
            body = "%s\n%s %s%s%s" % (text, metadata, found.group(1), end, rest)
        return plain(self, name, body, metadata, *args, **options)

    wrapper.define_kernel = define_kernel


def _find_original(path, function):
    """The file and line of the function that was copied to this file; None: it wasn't."""
    with open(path) as copy:
        last = copy.read().rstrip().rpartition("\n")[2]
    place, _, name = last[len(_ORIGINAL):].rpartition(" ")
    source, _, line = place.rpartition(":")
    if not last.startswith(_ORIGINAL) or name != function:
        return None
    with open(source) as original:
        lines = original.read().split("\n")
    for at in range(int(line) - 1, len(lines)):
        if lines[at].strip().startswith("def "):
            return source, at + 1
    return None


def _after_triton_generator(module):
    plain = module.get_jit_fn_file_line

    def get_jit_fn_file_line(fn):
        place = plain(fn)
        folder = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
        try:
            if folder and place[0].startswith(folder):
                return _find_original(place[0], fn.__name__) or place
        except (OSError, ValueError, AttributeError, TypeError):
            pass
        return place

    module.get_jit_fn_file_line = get_jit_fn_file_line


# ---- CuPy -----------------------------------------------------------------------------------------------


def _file_of(text):
    """A file with the kernel's text, named by its first kernel."""
    import hashlib
    import re

    found = re.search(r"__global__[^;{(]*?(\w+)\s*\(", text)
    name = "%s-%s.cu" % (found.group(1) if found else "kernel", hashlib.md5(text.encode()).hexdigest()[:8])
    folder = os.path.join(os.environ["CUPY_CACHE_DIR"], "source")
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with open(path + ".%d" % os.getpid(), "w") as new:
            new.write(text)
        os.rename(new.name, path)
    return path


def _after_cupy_compiler(module):
    program = module._NVRTCProgram
    plain_init, plain_compile = program.__init__, program.compile

    def __init__(self, src, name="default_program", *args, **options):
        text = src.decode("UTF-8") if isinstance(src, bytes) else src
        self._has_lines = bool(text and name and str(name).endswith(".cu"))
        if self._has_lines:
            try:
                name = _file_of(text)
            except (OSError, KeyError):
                pass
        plain_init(self, src, name, *args, **options)

    def compile(self, options=(), *args, **more):
        lines = ("-lineinfo", "--generate-line-info", "-G", "--device-debug")
        if self._has_lines and not any(o in lines for o in options):
            options = tuple(options) + ("-lineinfo",)
        return plain_compile(self, options, *args, **more)

    program.__init__, program.compile = __init__, compile


# ---- imports --------------------------------------------------------------------------------------------

# The library's name, what is called before it with its spec, and behind it with the module.
_HOOKS = {
    "jaxlib": ("JAX", _before_jaxlib, None),
    "jax._src.lib": ("JAX", None, _after_jax_lib),
    "numba.cuda.codegen": ("Numba", None, _after_numba_codegen),
    "numba.cuda.decorators": ("Numba", None, _after_numba_decorators),
    "triton.backends.nvidia.driver": ("Triton", None, _after_triton_driver),
    "triton.backends.nvidia.compiler": ("Triton", None, _after_triton_compiler),
    "triton.runtime.driver": ("Triton", None, _after_triton_runtime),
    "triton.compiler.code_generator": ("Triton", None, _after_triton_generator),
    "torch._inductor.codegen.wrapper": ("torch.compile", None, _after_inductor_wrapper),
    "cupy.cuda.compiler": ("CuPy", None, _after_cupy_compiler),
}


def _call(what, hook, arg):
    try:
        if hook:
            hook(arg)
    except Exception as why:
        _say(what, "%s: %s" % (type(why).__name__, why))


class _Finder:
    busy = set()

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name not in _HOOKS or name in cls.busy:
            return None
        cls.busy.add(name)
        try:
            spec = None
            for finder in sys.meta_path:
                find = None if finder is cls else getattr(finder, "find_spec", None)
                spec = find(name, path, target) if find else None
                if spec is not None:
                    break
        finally:
            cls.busy.discard(name)
        load = getattr(getattr(spec, "loader", None), "exec_module", None)
        if load is None:
            return spec
        what, before, after = _HOOKS[name]

        def exec_module(module):
            _call(what, before, spec)
            load(module)
            _call(what, after, module)

        spec.loader.exec_module = exec_module
        return spec


def _go_on():
    """The sitecustomize that the program would have had."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != here]
    sys.meta_path.insert(0, _Finder)
    own = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize
    except ImportError as why:
        if getattr(why, "name", None) != "sitecustomize":
            raise
        if own is not None:
            sys.modules["sitecustomize"] = own
    sys.path.append(here)  # collider_triton, collider_pytest


_go_on()
