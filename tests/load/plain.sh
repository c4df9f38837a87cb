#!/bin/bash
# plain.sh - preloading the forwarded driver breaks nothing: plain.sh COLLIDER BUILT SOURCES
#
# Programs that use no GPU give the same output and exit code as without it; so do those that a
# preloaded library could disturb.
. "$(dirname "$0")/lib.sh"
program=$built/load_program
nvcc -ptx -arch=sm_90 sum.cu -o sum.ptx || exit 2

plain=0
as_plain() { # as_plain PROGRAM...: the same with and without
	local rc want
	plain=$((plain + 1))
	LD_LIBRARY_PATH=$built/driver "$@" >plain.out 2>plain.err </dev/null
	want=$?
	go p -- "$@" </dev/null
	rc=$?
	[ $rc -eq $want ] || fail "$*: exit code $rc, expected $want: $(head -5 p.err)"
	cmp plain.out p.out || fail "$*: other output"
	grep -q 'ERROR: ld.so' p.err && fail "$*: $(grep ld.so p.err)"
}
as_plain true
as_plain false
as_plain ls "$here"
as_plain cat "$here/sum.cu"
as_plain sort -r "$here/sum.cu"
as_plain sh -c 'echo from a shell; exit 7'
as_plain bash -c 'for i in 1 2 3; do /bin/echo $i; done | tail -1'
as_plain env -i /bin/echo without an environment
as_plain awk 'BEGIN { print 2 ^ 10 }'
as_plain python3 -c 'import subprocess; print(subprocess.check_output(["echo", "a child"]))'
as_plain python3 -c 'import ctypes; print(ctypes.CDLL(None).getppid() > 0)'
as_plain perl -e 'fork ? wait : exit 3; print $? >> 8, "\n"'
as_plain bash -c '(sleep 0.1; echo late) & wait; kill -USR1 $$' 2>/dev/null
as_plain dd if=/dev/zero bs=1k count=3 status=none
cat >hello.c <<'C'
#include <stdio.h>
#include <stdlib.h>
int main(void) { char *p = malloc(10); puts("hello"); free(p); return 5; }
C
cc -fsanitize=address hello.c -o asan && as_plain ./asan
cc -static hello.c -o static && as_plain ./static
[ $plain -ge 16 ] || fail "$plain programs"

# With another user's rights: the loader takes nothing preloaded, which is said before it starts.
if [ "$(id -u)" = 0 ]; then
	cp /bin/echo rights && chown nobody rights && chmod u+s rights || exit 2
	go s -- ./rights runs || fail "s: $(cat s.err)"
	expect s.out runs
	says s.err "^collider: GPU code isn't instrumented as it is loaded: the program runs with another user's rights"
	chown root rights && go s -- ./rights runs || fail "s: $(cat s.err)"
	grep -q "another user's" s.err && fail "s: $(cat s.err)"
fi

# Fork, then the driver in parent and child, and by its path.
cat >forks.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static int count(const char *path)
{
	void *lib = dlopen(path, RTLD_NOW);
	int (*f)(int *) = lib ? (int (*)(int *))dlsym(lib, "cuDeviceGetCount") : 0, n = -1;
	return f && !f(&n) ? n : -1;
}
int main(int argc, char **argv)
{
	int status;
	(void)argc;
	if (!fork())
		_exit(count("libcuda.so.1"));
	wait(&status);
	printf("child %d, ", WEXITSTATUS(status));
	printf("parent %d, ", count("libcuda.so.1"));
	printf("by path %d\n", count(argv[1]));
	return 0;
}
C
cc forks.c -o forks -ldl && as_plain ./forks "$built/driver/libcuda.so.1"

# Opened by other names it is ours, too: what is loaded so has checks, and goes to the program's own
# driver, if it has one. Where there is none, none is found.
mkdir own && cp "$built/driver/libcuda.so.1" own/libcuda.so.580.1 && ln -s libcuda.so.580.1 own/libcuda.so
cat >opens.py <<'P'
import ctypes, sys
lib = ctypes.CDLL(sys.argv[1])
module = ctypes.c_void_p()
print(lib.cuInit(0), lib.cuModuleLoadData(ctypes.byref(module), open("sum.ptx", "rb").read()),
      any("/own/libcuda" in line for line in open("/proc/self/maps")))
P
for name in libcuda.so "$built/driver/libcuda.so.1" "$work/own/libcuda.so" own/libcuda.so.580.1; do
	go u -- python3 opens.py "$name" || fail "u: $name: $(cat u.err)"
	case $name in *own/*) expect u.out "0 0 True" ;; *) expect u.out "0 0 False" ;; esac
	expect u "cuModuleLoadData code 0"
done
as_plain python3 -c 'import ctypes; ctypes.CDLL("/nowhere/libcuda.so.1")'
as_plain python3 -c 'import ctypes; ctypes.CDLL("libcuda.so.what")'

# A sanitizer's runtime has a vfork, a dlopen and a waitpid of its own.
cat >asan_load.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW), *module;
	int (*load)(void **, const void *) = (int (*)(void **, const void *))dlsym(lib, "cuModuleLoadData");
	FILE *f = fopen("sum.ptx", "r");
	char *text = calloc(1, 1 << 20);
	fread(text, 1, (1 << 20) - 1, f);
	fclose(f);
	printf("%d\n", load(&module, text));
	free(text);
	return 0;
}
C
cc -fsanitize=address -w asan_load.c -o asan_load -ldl || exit 2
ASAN_OPTIONS=detect_leaks=0 go as -- ./asan_load || fail "as: $(cat as.err)"
expect as.out 0
expect as "cuModuleLoadData code 0"

# What a user preloads comes first, and calls on.
LD_PRELOAD=$built/libload_watcher.so go w -- "$program" . data:sum.ptx || fail "w: $(cat w.err)"
expect w.out watched
expect w "cuModuleLoadData code 0"

# Two GPUs: a library is for both, a module for the current one.
nvcc -fatbin -arch=sm_90 sum.cu -o sum.fatbin || exit 2
for sm in 90 80; do
	STANDIN_SECOND=$sm go g -- "$program" . library:sum.fatbin data:sum.ptx || fail "g: $(cat g.err)"
	[ $sm = 90 ] && expect g "cuLibraryLoadData code 0" || expect g "cuLibraryLoadData fatbin 0"
	expect g "cuModuleLoadData code 1"
done
says g.err "^collider: load_program: its GPU code runs as it was: the GPUs are of several versions"

# Private functions of the driver: who asks for others than CUDA's own libraries do is named, once a table.
known=6bd5fb6c5bf4e74a8987d93912fd9df9 other=00112233445566778899aabbccddeeff
go t -- "$program" . table:$known data:sum.ptx || fail "t: $(cat t.err)"
grep -q "private functions" t.err && fail "t: $(cat t.err)"
go t -- "$program" . table:$other table:$known table:$other data:sum.ptx || fail "t: $(cat t.err)"
says t.err '^collider: load_program has private functions of the driver \(00112233-4455-6677-8899-aabbccddeeff\): '
[ "$(grep -c '^collider: .*private functions' t.err)" = 1 ] || fail "t: $(cat t.err)"

# Asked for nothing, nothing is done.
go o --load=off -- "$program" . look data:sum.ptx || fail "o: $(cat o.err)"
expect o "cuModuleLoadData text 0"
cmp o.0 sum.ptx || fail "--load=off changed the text"
go o --detector=none -- "$program" . data:sum.ptx || fail "o: $(cat o.err)"
expect o "cuModuleLoadData text 0"

# Code is loaded when the program uses it, as without us; where it is as it was built, at the start.
go l -- sh -c 'echo "${CUDA_MODULE_LOADING-as it is}"' && expect l.out "as it is"
go l --load=off -- sh -c 'echo "$CUDA_MODULE_LOADING"' && expect l.out EAGER

# Without a toolkit, without a folder for the copy: one line, and the program runs.
COLLIDER_GPU=/nonexistent go n -- "$program" . data:sum.ptx || fail "n: $(cat n.err)"
expect n "cuModuleLoadData text 0"
says n.err "^collider: GPU code isn't instrumented as it is loaded: "
XDG_CACHE_HOME=/proc/none TMPDIR=/proc/none go n -- "$program" . data:sum.ptx || fail "n: $(cat n.err)"
expect n "cuModuleLoadData text 0"
says n.err "^collider: GPU code isn't instrumented as it is loaded: there is no folder"

# A child of the program that runs collider itself.
go c -- "$collider" run --device=gpu -- "$program" . data:sum.ptx || fail "c: $(cat c.err)"
expect c "cuModuleLoadData code 0"
exit $bad
