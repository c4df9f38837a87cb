"""script.py - Python's lines of a call into a library: script.py LIBRARY"""
import ctypes
import os
import sys
import threading

free, held = ctypes.CDLL(sys.argv[1]), ctypes.PyDLL(sys.argv[1])
for lib in free, held:
    lib.lines.restype = lib.lines_meanwhile.restype = ctypes.c_char_p


def inner(lib):
    return lib.lines()


def outer(lib):
    return inner(lib)


def check(got, wanted, what):
    if got != wanted:
        sys.exit("%s: %r, wanted %r" % (what, got, wanted))


def frames(text):
    return [(os.path.basename(f), int(n), name) for f, n, name in (l.split("\t") for l in text.decode().splitlines())]


first, second = inner.__code__.co_firstlineno + 1, outer.__code__.co_firstlineno + 1
for lib, what in (free, "without the lock"), (held, "with the lock"):
    got = frames(outer(lib))
    check(got[:2], [("script.py", first, "inner"), ("script.py", second, "outer")], what)
    check(len(got), 3, what)
    check(eval("outer(lib)") is not None, True, "text without a file")
    check(lib.has_lines_elsewhere(), 0, "a thread of another's")

# What libraries have between the program and the driver isn't the program's.
scope = {"lib": free}
exec(compile("def run(): return lib.lines()", "/v/site-packages/torch/_inductor/run.py", "exec"), scope)
check([g[2] for g in frames(scope["run"]())], ["<module>"], "a library's frames")

# Each thread has its own.
got = []
t = threading.Thread(target=lambda: got.append(frames(inner(free))))
t.start()
t.join()
check([g[2] for g in got[0][:2]], ["inner", "<lambda>"], "a thread of Python's")

# Where the lock can't be had there are none, and the call goes on. So it is again then.
(told, tells), (told_back, tells_back) = os.pipe(), os.pipe()
t = threading.Thread(target=lambda: held.keep(tells, told_back))
got = []
u = threading.Thread(target=lambda: got.append(free.lines_meanwhile(told, tells_back)))
u.start()
t.start()
u.join()
t.join()
check(got, [None], "a lock that another thread keeps")
check(frames(inner(free))[0], ("script.py", first, "inner"), "afterwards")

# An error that is on its way stays.
try:
    raise ValueError("mine")
except ValueError:
    inner(held)
    check(str(sys.exc_info()[1]), "mine", "an error")
