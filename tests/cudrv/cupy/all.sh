#!/bin/bash
# all.sh COLLIDER - kernels in CuPy, and CuPy's own: the right ones give their results and are silent, of the racy ones a line is
# reported, and the line of the launch; cuBLAS is named. Needs $COLLIDER_CUPY_PYTHON, a Python with CuPy, and NVRTC.
set -eu
collider=$1
python=${COLLIDER_CUPY_PYTHON:-}
[ "$python" ] || { echo "skipped: COLLIDER_CUPY_PYTHON names no Python (make python)"; exit 77; }
script=$(cd "$(dirname "$0")" && pwd)/kernels.py
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export XDG_CACHE_HOME=$dir/cache
failed=0
run() {
	rc=0
	"$collider" run --device=cpu --error-exitcode=9 -- "$python" "$script" "$@" >"$dir/out" 2>&1 || rc=$?
}
fail() {
	cat "$dir/out"
	echo "FAILED: $*: exit code $rc"
	failed=1
}
for name in total histogram shared own; do
	run $name right
	[ $rc = 0 ] && grep -q "^Result  : no race seen" "$dir/out" && grep -q "^Complete: " "$dir/out" || fail $name right
done
for name in total histogram shared; do
	run $name racy
	[ $rc = 9 ] && grep -q "Launched     : .*kernels.py:[0-9]* in run_$name$" "$dir/out" || fail $name racy
	[ $name = shared ] && continue # the text is CuPy's
	grep -E "^ +[0-9]+ \|.*// race" "$dir/out" >/dev/null || fail $name, no marked line
done
run cublas right
[ $rc = 0 ] && tail -1 "$dir/out" | grep -q "PARTIAL: libcublas" || fail cublas
exit $failed
