#!/bin/sh
# doctor.sh COLLIDER - collider doctor names what is there and what is missing, with and without a driver.
set -eu
collider=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0

fail() {
	echo "FAILED: $*"
	sed 's/^/  /' "$dir/out"
	failed=1
}
# run CODE [NAME=VALUE...]: collider doctor in this environment
run() {
	want=$1 rc=0
	shift
	env "$@" "$collider" doctor >"$dir/out" 2>&1 || rc=$?
	[ $rc = "$want" ] || fail "exit code $rc, expected $want: $*"
}
has() { grep -qE -e "$1" "$dir/out" || fail "no line with '$1'"; }
hasnt() { ! grep -qE -e "$1" "$dir/out" || fail "a line with '$1'"; }

export XDG_CACHE_HOME="$dir/cache/below"
run 0
has '^  ok +CPU device +/.*libcudart\.so\.13$'
has '^  ok +CUDA toolkit +1[3-9]\.[0-9.]+ in /'
has "^  ok +cache +$dir/cache/below/collider$"
has 'check programs without a GPU +collider run --device=cpu'
hasnt '^  missing'

# Something is missing: its line, what helps, and the exit code.
run 3 XDG_CACHE_HOME="$dir/out/below"
has "^  missing +cache +$dir/out/below/collider can.t be written to"
has '-> set XDG_CACHE_HOME'
run 3 COLLIDER_CUDART="$dir/none"
has '^  missing +CPU device .*none'
hasnt 'check programs without a GPU'
run 3 PATH=/nowhere
has '^  missing +host compiler'
has '^ +-> .*g\+\+'

# A driver with two GPUs; one that doesn't start; one that crashes.
driver() { # driver NAME 'BODY OF cuInit'
	mkdir -p "$dir/$1"
	cat >"$dir/$1/cuda.c" <<EOF
#include <stdio.h>
int cuInit(unsigned f) { $2; }
int cuDriverGetVersion(int *v) { return *v = 13000, 0; }
int cuDeviceGetCount(int *n) { return *n = 2, 0; }
int cuDeviceGetName(char *s, int n, int d) { return snprintf(s, n, "Pretend GPU %d", d) < 0; }
int cuDeviceGetAttribute(int *v, int a, int d) { return *v = a == 75 ? 9 : d, 0; }
EOF
	cc -shared -fPIC -o "$dir/$1/libcuda.so.1" "$dir/$1/cuda.c"
}
driver good 'return 0'
driver stopped 'return 100'
driver broken 'return *(volatile int *)8'
rc=0
LD_LIBRARY_PATH=$dir/good "$collider" doctor >"$dir/out" 2>&1 || rc=$?
has '^  ok +CUDA driver +for CUDA 13\.0$'
has '^  ok +GPU 1 +Pretend GPU 1, sm_91$'
if grep -q '^  missing +CUPTI' "$dir/out"; then
	[ $rc = 3 ] || fail "exit code $rc without CUPTI"
fi
run 0 LD_LIBRARY_PATH="$dir/stopped"
has '^  - +CUDA driver +libcuda.so.1 is there, but doesn.t start'
hasnt 'on its GPU'
run 0 LD_LIBRARY_PATH="$dir/broken"
has '^  - +CUDA driver'
has 'check programs without a GPU'

rc=0
"$collider" doctor now >"$dir/out" 2>&1 || rc=$?
[ $rc = 2 ] || fail "exit code $rc with an argument"
has "takes no arguments, found 'now'"
exit $failed
