"""
driver.py - Triton's driver for the CPU device: loads and launches by the driver's API, through ctypes.

A launch waits for its end, so that host code needs no synchronisation to see what it did, as with any other
operation of torch's CPU; for the time of the launch the arguments' memory is the kernel's. Triton compiles for
sm_89, the newest device whose code needs no wgmma.

Misses: launches that run beside each other. Costs: some 20 microseconds a launch.
"""
import ctypes
import re
import struct
import threading

from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase

from . import IS_ON

ARCH = 89
# CUdevice_attribute, CUfunction_attribute, CUlaunchAttributeID
_PROPERTIES = {
    "max_shared_mem": 97,
    "max_num_regs": 12,
    "multiprocessor_count": 16,
    "warpSize": 10,
    "sm_clock_rate": 13,
    "mem_clock_rate": 36,
    "mem_bus_width": 37,
}
_FUNC_MAX_THREADS, _FUNC_LOCAL, _FUNC_REGISTERS, _FUNC_MAX_SHARED = 0, 3, 4, 8
_LAUNCH_COOPERATIVE, _LAUNCH_CLUSTER, _LAUNCH_PROGRAMMATIC = 2, 4, 6
_SHARED_WITHOUT_ASKING = 48 * 1024
_DEVICE_POINTER = 3  # CU_POINTER_ATTRIBUTE_DEVICE_POINTER

# How a parameter of a type lies in memory. Pointers are all that begins with "*".
_FORMATS = {
    "i1": "b", "i8": "b", "i16": "h", "i32": "i", "i64": "q",
    "u1": "B", "u8": "B", "u16": "H", "u32": "I", "u64": "Q",
    "fp16": "e", "fp32": "f", "f32": "f", "fp64": "d",
}
_DESCRIPTOR = re.compile(r"tensordesc(?:_im2col)?<([^[>]*)\[([^\]]*)\]")


class _Attribute(ctypes.Structure):
    _fields_ = [("id", ctypes.c_uint), ("pad", ctypes.c_uint), ("value", ctypes.c_uint * 16)]


class _Config(ctypes.Structure):
    _fields_ = [("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3), ("shared", ctypes.c_uint),
                ("stream", ctypes.c_void_p), ("attributes", ctypes.c_void_p), ("count", ctypes.c_uint)]


class _Cuda:
    """The driver's functions: each raises when it fails."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")
        self.device = ctypes.CDLL(None)  # ours, preloaded
        self.is_ready = False

    def __getattr__(self, name):
        plain = getattr(self.library, name)

        def call(*args):
            if not self.is_ready:
                self.begin()
            self.check(plain(*args))

        setattr(self, name, call)
        return call

    def check(self, code):
        if code:
            text = ctypes.c_char_p()
            self.library.cuGetErrorString(code, ctypes.byref(text))
            raise RuntimeError("Triton Error [CUDA]: %s" % (text.value or b"unknown").decode())

    def begin(self):
        """The device's primary context, unless the program has made one."""
        current = ctypes.c_void_p()
        self.check(self.library.cuInit(0))
        self.check(self.library.cuCtxGetCurrent(ctypes.byref(current)))
        if not current:
            self.check(self.library.cuDevicePrimaryCtxRetain(ctypes.byref(current), 0))
            self.check(self.library.cuCtxSetCurrent(current))
        self.is_ready = True

    def is_known(self, address):
        found = ctypes.c_uint64()
        return self.library.cuPointerGetAttribute(ctypes.byref(found), _DEVICE_POINTER,
                                                  ctypes.c_uint64(address)) == 0


# ---- memory of arguments --------------------------------------------------------------------------------


def _extent(cuda, arg):
    """Where the memory of an argument lies, if it is the host's: (address, bytes) or None."""
    if hasattr(arg, "untyped_storage"):
        storage = arg.untyped_storage()
        return (storage.data_ptr(), storage.nbytes())
    address = arg.data_ptr()
    if not address or cuda.is_known(address):
        return None
    if hasattr(arg, "base") and hasattr(arg.base, "data_ptr"):  # Triton's reinterpret()
        return _extent(cuda, arg.base)
    size = getattr(arg, "nbytes", None)
    size = size() if callable(size) else size
    if size is None:
        raise ValueError("collider: a kernel's argument of type %s lies at 0x%x, which is no memory of the device: "
                         "an attribute nbytes would say how much of the host's it is" % (type(arg).__name__, address))
    return (address, int(size))


def _joined(extents):
    """Extents without those that overlap."""
    out = []
    for address, size in sorted(extents):
        if out and address < out[-1][0] + out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], address + size - out[-1][0]))
        elif size:
            out.append((address, size))
    return out


# ---- parameters -----------------------------------------------------------------------------------------


def _packed(kind, value):
    if kind == "bf16":
        return struct.pack("<f", value)[2:]
    return struct.pack("<" + _FORMATS[kind], value)


def _descriptor(kind, arg):
    """What a tensor descriptor is to a kernel for a device without TMA: types and values."""
    n = len(arg.shape)
    has_round = hasattr(arg, "round_f32_to_tf32")
    kinds = ["*" + _DESCRIPTOR.match(kind).group(1)] + ["i64"] * (2 * n) + ["i1"] * (1 + has_round)
    values = [arg.base, *arg.shape, *arg.strides, arg.padding == "nan"]
    if has_round:
        values.append(bool(arg.round_f32_to_tf32))
    return kinds + ["i32"] * n + ["i64"] * n, values + [*arg.shape, *arg.strides]


class _Parameters:
    """The values of one launch, and the host's memory that they point to."""

    def __init__(self, cuda, kinds, args):
        self.cuda, self.values, self.extents = cuda, [], set()
        for kind, arg in zip(kinds, args):
            self.add(kind, arg)

    def add(self, kind, arg):
        if isinstance(kind, (tuple, list)):
            for k, a in zip(kind, arg):
                self.add(k, a)
        elif kind.startswith("tensordesc"):
            for k, a in zip(*_descriptor(kind, arg)):
                self.add(k, a)
        elif kind.startswith("*"):
            self.add_pointer(arg)
        elif kind != "constexpr":
            self.values.append(_packed(kind, arg))

    def add_pointer(self, arg):
        address = arg
        if arg is None:
            address = 0
        elif not isinstance(arg, int):
            extent = _extent(self.cuda, arg)
            address = arg.data_ptr()
            if extent and extent[0]:
                self.extents.add(extent)
        self.values.append(struct.pack("<Q", address))

    def pointers(self):
        self.kept = [ctypes.create_string_buffer(v, len(v)) for v in self.values]
        return (ctypes.c_void_p * (len(self.kept) + 1))(*[ctypes.addressof(k) for k in self.kept])


class _Launcher:
    """Triton makes one of each compiled kernel and calls it for each launch."""

    lock = threading.Lock()

    def __init__(self, src, metadata):
        self.kinds = list(src.signature.values())
        self.metadata = metadata
        self.cuda = _cuda

    def scratch(self, size, align, grid, stream, name):
        if not size:
            return None
        from triton.runtime import _allocation

        allocator = getattr(_allocation, name)
        return allocator.get()(grid[0] * grid[1] * grid[2] * getattr(self.metadata, "num_ctas", 1) * size, align, stream)

    def attributes(self):
        m, out = self.metadata, []
        clusters = getattr(m, "num_ctas", 1)
        if getattr(m, "launch_pdl", False):
            out.append(_Attribute(_LAUNCH_PROGRAMMATIC, 0, (1, )))
        if getattr(m, "launch_cooperative_grid", False):
            out.append(_Attribute(_LAUNCH_COOPERATIVE, 0, (1, )))
        if clusters != 1:
            out.append(_Attribute(_LAUNCH_CLUSTER, 0, (clusters, 1, 1)))
        return (_Attribute * len(out))(*out)

    def __call__(self, x, y, z, stream, function, kernel_metadata, launch_metadata, enter, leave, *args):
        m = self.metadata
        scratch = self.scratch(getattr(m, "global_scratch_size", 0), getattr(m, "global_scratch_align", 1), (x, y, z),
                               stream, "_allocator")
        profile = self.scratch(getattr(m, "profile_scratch_size", 0), getattr(m, "profile_scratch_align", 1),
                               (x, y, z), stream, "_profile_allocator")
        if enter is not None:
            enter(launch_metadata)
        if x * y * z > 0:
            given = _Parameters(self.cuda, self.kinds + ["*i8", "*i8"], [*args, scratch, profile])
            attributes = self.attributes()
            config = _Config((x * getattr(m, "num_ctas", 1), y, z), (32 * m.num_warps, 1, 1), m.shared, stream,
                             ctypes.addressof(attributes), len(attributes))
            self.launch(config, function, given)
        if leave is not None:
            leave(launch_metadata)

    def launch(self, config, function, given):
        cuda, lent = self.cuda, []
        pointers = given.pointers()
        with self.lock:
            try:
                for address, size in _joined(given.extents):
                    if cuda.device.collider_cpu_lend(ctypes.c_void_p(address), ctypes.c_size_t(size)):
                        lent.append(address)
                cuda.cuLaunchKernelEx(ctypes.byref(config), ctypes.c_void_p(function), pointers, None)
                cuda.cuCtxSynchronize()
            finally:
                for address in lent:
                    cuda.device.collider_cpu_take_back(ctypes.c_void_p(address))


# ---- the driver -----------------------------------------------------------------------------------------


class _Utils:
    """What Triton asks of a device and its modules."""

    def load_binary(self, name, kernel, shared, device):
        module, function, value = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
        _cuda.cuModuleLoadData(ctypes.byref(module), kernel)
        _cuda.cuModuleGetFunction(ctypes.byref(function), module, name.encode())
        found = []
        for what in (_FUNC_REGISTERS, _FUNC_LOCAL, _FUNC_MAX_THREADS):
            _cuda.cuFuncGetAttribute(ctypes.byref(value), what, function)
            found.append(value.value)
        if shared > _SHARED_WITHOUT_ASKING:
            _cuda.cuFuncSetAttribute(function, _FUNC_MAX_SHARED, shared)
        return module.value, function.value, found[0], found[1] // 4, found[2]

    def unload_module(self, module):
        _cuda.cuModuleUnload(ctypes.c_void_p(module))

    def get_device_properties(self, device):
        out, value = {}, ctypes.c_int()
        for name, what in _PROPERTIES.items():
            _cuda.cuDeviceGetAttribute(ctypes.byref(value), what, device)
            out[name] = value.value
        return out

    def set_printf_fifo_size(self, size):
        _cuda.cuCtxSetLimit(1, ctypes.c_size_t(size))


class _Interface:
    """In place of torch.cuda, for what asks the driver for it."""

    def synchronize(self, device=None):
        _cuda.cuCtxSynchronize()

    def current_device(self):
        return 0


def _run_once(call, *args, quantiles=None, **options):
    """In place of a benchmark: a time here says nothing of a GPU's."""
    import time

    start = time.perf_counter()
    call()
    took = (time.perf_counter() - start) * 1000
    return [took] * len(quantiles) if quantiles else took


class ColliderDriver(DriverBase):
    def __init__(self):
        self.utils = _Utils()
        self.launcher_cls = _Launcher

    @staticmethod
    def is_active():
        return IS_ON

    def get_current_device(self):
        return 0

    def set_current_device(self, device):
        pass

    def get_current_stream(self, device):
        return 0

    def get_device_capability(self, device=0):
        return divmod(ARCH, 10)

    def get_current_target(self):
        return GPUTarget("cuda", ARCH, 32)

    def get_active_torch_device(self):
        import torch

        return torch.device("cpu")

    def get_device_interface(self):
        return _Interface()

    def map_python_to_cpp_type(self, kind):
        from triton.backends.nvidia.driver import ty_to_cpp

        return ty_to_cpp(kind)

    def get_benchmarker(self):
        return _run_once

    def get_empty_cache_for_benchmark(self):
        return None

    def clear_cache(self, cache):
        pass

    def assemble_tensormap_to_arg(self, tensormaps_info, args):
        return args

    def allocate_default_profile_scratch(self, size, alignment, stream):
        raise RuntimeError("collider: Triton's profiler is for GPUs")


# A newer Triton may ask for more; it is missed when it is called.
ColliderDriver.__abstractmethods__ = frozenset()

_cuda = _Cuda() if IS_ON else None
