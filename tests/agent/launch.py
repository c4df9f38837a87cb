"""launch.py FOLDER - launches the kernel `race` from two lines, without and with Python's lock."""
import ctypes
import os
import sys

free, held = ctypes.CDLL("libcuda.so.1"), ctypes.PyDLL("libcuda.so.1")
context, module, kernel = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()


def check(result):
    if result:
        sys.exit("error %d" % result)


def launch(lib):
    check(lib.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, None, None, None))


with open(os.path.join(sys.argv[1], "instrumented.cubin"), "rb") as f:
    code = f.read()
sized = ctypes.create_string_buffer(len(code).to_bytes(8, "little") + code)
check(free.cuInit(0))
check(free.cuCtxCreate(ctypes.byref(context), 0, 0))
check(free.cuModuleLoadData(ctypes.byref(module), ctypes.c_void_p(ctypes.addressof(sized) + 8)))
check(free.cuModuleGetFunction(ctypes.byref(kernel), module, b"race"))
for i in range(5):
    launch(free)
launch(held)
check(free.cuCtxSynchronize())
print("ok")
