#!/bin/sh
# own_runtime.sh COLLIDER NVCC SOURCE_FOLDER - programs as nvcc builds them run on the CPU device: the static runtime in
# the executable, in a library that is linked and in one that is opened, with symbols and without; NVIDIA's shared
# runtime opened by its path; runtimes of another version are named, and functions of the program's own stay.
set -eu
collider=$1 nvcc=$2
src=$3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
export XDG_RUNTIME_DIR="$dir"
unset COLLIDER_OPTIONS COLLIDER_CPU
failed=0

fail() {
	echo "FAILED: $*"
	sed 's/^/  /' out
	failed=1
}
# run CODE ARGUMENTS...: the program's output is in out, a line for each finding in found
run() {
	want=$1 rc=0
	shift
	"$collider" run --device=cpu --detector=oracle --error-exitcode=9 --fail-partial "$@" >out 2>&1 || rc=$?
	[ $rc = "$want" ] || fail "$*: exit code $rc, expected $want"
	grep -E ' races with ' out >found || true
}
has() { grep -qF -e "$1" out || fail "no line with '$1'"; }
build() { "$nvcc" -arch=compute_90 -lineinfo -Wno-deprecated-gpu-targets "$@" >out 2>&1 || fail "nvcc $*"; }

own=$src/own_runtime.cu
build -DLIBRARY -shared -Xcompiler -fPIC $own -o liblinked.so
build -DPLUGIN -shared -Xcompiler -fPIC $own -o plugin.so
build $own -o app -L. -llinked -Xlinker -rpath="$dir" -ldl
build -DRACE $own -o racy -L. -llinked -Xlinker -rpath="$dir" -ldl
build -DRACE -cudart shared $own -o shared -L. -llinked -Xlinker -rpath="$dir" -ldl
run 0 ./app ./plugin.so
has done
run 9 ./racy
cp found racy.found
run 9 ./shared
cmp found racy.found || fail "another finding than with the shared runtime"
[ -s found ] || fail "no finding"

# Without symbols: by the code. (The libraries, too; then each alone.)
for f in app racy; do
	strip -o $f.bare $f
done
mkdir bare
strip -o bare/liblinked.so liblinked.so
strip -o bare/plugin.so plugin.so
LD_LIBRARY_PATH=$dir/bare run 0 ./app.bare bare/plugin.so
has done
run 0 ./app bare/plugin.so
run 9 ./racy.bare
cmp found racy.found || fail "another finding without symbols"

# A runtime of CUDA 12 (its functions have a name that CUDA 13's lack): it stays, and is named.
cat >old.c <<'EOF'
#include <stdio.h>
int cudaGetDeviceProperties_v2(void *p, int d) { return p ? d : 1; }
int cudaMalloc(void **p, unsigned long n) { return p ? (int)n : puts("its own cudaMalloc"); }
void **__cudaRegisterFatBinary(void *p) { return p; }
int main(void) { return cudaMalloc(0, 4) + cudaGetDeviceProperties_v2(0, 0) < 0; }
EOF
cc -O1 -fno-inline old.c -o old
run 73 ./old
has 'its own cudaMalloc'
has 'NOTHING WAS CHECKED: GPU code could not be loaded'
has 'old: its CUDA runtime is that of CUDA 12 or older'

# A function that a newer runtime of CUDA 13 has: refused by its name; the others are ours.
cat >new.c <<'EOF'
#include <stdio.h>
int cudaBrandNew(int a) { for (volatile int i = 0; i < a; i++) puts("its own"); return 0; }
int cudaFree(void *p) { for (volatile int i = 0; i < 3; i++) puts("its own"); return p != 0; }
void **__cudaRegisterFatBinary(void *p) { for (volatile int i = 0; i < 3; i++) puts("its own"); return p; }
int main(void) { return printf("%d %d\n", cudaBrandNew(7), cudaFree(0)) < 0; }
EOF
cc -O1 -fno-inline new.c -o new
run 73 ./new
has '801 0'
has 'cudaBrandNew is not available on the CPU device'
! grep -q 'its own' out || fail "a function that should be replaced"

# A program's own function of such a name, beside the shared runtime, is no runtime.
cat >mine.c <<'EOF'
#include <stdio.h>
int cudaRuntimeGetVersion(int *v);
int cudaGetLastError(void) { for (volatile int i = 0; i < 1; i++) puts("its own"); return 0; }
int main(void) { int v; return cudaRuntimeGetVersion(&v) + cudaGetLastError(); }
EOF
root=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
for lib in "$root"/lib64 "$root"/lib "$root"/targets/x86_64-linux/lib; do
	[ -e "$lib/libcudart.so.13" ] && break
done
cc -O1 -fno-inline mine.c -o mine "$lib/libcudart.so.13"
run 73 ./mine
has 'its own'

# NVIDIA's shared runtime, opened by its path.
cat >path.c <<'EOF'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	void *p = 0, *lib = dlopen(argv[argc - 1], RTLD_NOW);
	int (*alloc)(void **, unsigned long) = (int (*)(void **, unsigned long))dlsym(lib, "cudaMalloc");
	int (*set)(void *, int, unsigned long) = (int (*)(void *, int, unsigned long))dlsym(lib, "cudaMemset");
	int e = alloc(&p, 64);
	return printf("%d %d\n", e, set(p, 0, 64)) < 0;
}
EOF
cc path.c -o path -ldl
run 73 ./path "$lib/libcudart.so.13"
has '0 0'
exit $failed
