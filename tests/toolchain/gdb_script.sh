#!/bin/bash
# gdb_script.sh - tools/cuda-gdb/collider.gdb loads, and its commands do what they say: gdb_script.sh CC ROOT
#
# No GPU is needed: a host program plays the kernel. With plain gdb the one command of cuda-gdb that
# is used is played, too; `make setup` installs it.
# A real session on a GPU is tests/gpu/cuda_gdb.sh.
set -u
cc=$1
script=$2/tools/cuda-gdb/collider.gdb
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
bad=0

fail() {
	echo "FAIL: $*"
	bad=1
}

cat >"$work/kernel.c" <<'C'
static __attribute__((noinline)) int step(int *a)
{
	return ++*a; /* race: here */
}

int main(int argc, char **argv)
{
	(void)argv;
	return step(&argc) != 2;
}
C
"$cc" -g -O0 "$work/kernel.c" -o "$work/kernel" || exit 2
cat >"$work/stand_in.gdb" <<'G'
define cuda
  echo [cuda $arg0 $arg1 $arg2]\n
end
G

command -v gdb >/dev/null || { echo "gdb is missing: run 'make setup'"; exit 1; }
tried=0
for gdb in "${CUDA_GDB:-cuda-gdb}" gdb; do
	command -v "$gdb" >/dev/null || continue
	tried=$((tried + 1))
	out=$work/out
	timeout 60 "$gdb" -nx -batch -x "$script" -ex 'help collider-race' \
		-ex 'show pagination' >"$out" 2>&1 || fail "$gdb: exit code $?"
	grep -q "Shows the thread that stopped at a race" "$out" || fail "$gdb: collider-race is not defined"
	grep -q "pagination is off" "$out" || fail "$gdb: pagination is on"
	grep -qiE 'error|undefined' "$out" && fail "$gdb: the script has errors"
	[ $bad -eq 0 ] || cat "$out"
	[ "$gdb" = gdb ] || continue # without a GPU `cuda kernel` is an error

	timeout 60 gdb -nx -batch -x "$work/stand_in.gdb" -x "$script" -ex 'set debuginfod enabled off' \
		-ex 'break 3' -ex run -ex collider-race --args "$work/kernel" >"$out" 2>&1
	grep -q '^\[cuda kernel block thread\]' "$out" || fail "the thread is not asked for"
	grep -q '^#0 .*step .*kernel.c:3' "$out" || fail "frame 0 is not the access"
	grep -q '^#1 .* main ' "$out" || fail "the backtrace ends early"
	sed '1,/== the source/d' "$out" | grep -q '/\* race: here \*/' || fail "the source is not shown"
	[ $bad -eq 0 ] || cat "$out"
done
[ $bad -eq 0 ] && echo "loaded by $tried debugger(s)"
exit $bad
