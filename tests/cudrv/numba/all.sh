#!/bin/bash
# all.sh COLLIDER - six kernels in Numba: the right ones give their results and are silent, of the racy ones a line that is
# marked is reported, and the line of the launch. Needs $COLLIDER_NUMBA_PYTHON, a Python with numba-cuda.
set -eu
collider=$1
python=${COLLIDER_NUMBA_PYTHON:-}
[ "$python" ] || { echo "skipped: COLLIDER_NUMBA_PYTHON names no Python (make python)"; exit 77; }
script=$(cd "$(dirname "$0")" && pwd)/kernels.py
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export XDG_CACHE_HOME=$dir/cache
failed=0
for name in add reverse histogram total stencil publish; do
	for kind in right racy; do
		rc=0
		"$collider" run --device=cpu --error-exitcode=9 -- "$python" "$script" $name $kind >"$dir/out" 2>&1 || rc=$?
		[ $kind = right ] && [ $rc = 0 ] && grep -q "^Result  : no race seen" "$dir/out" && continue
		at=$(grep -o "memory at .*kernels.py:[0-9]*" "$dir/out" | sed 's/.*://' | sort -u)
		if [ $kind = racy ] && [ $rc = 9 ] && grep -q "Launched     : .*kernels.py:[0-9]* in run_$name$" "$dir/out"; then
			is_marked=1
			for line in $at; do sed -n "${line}p" "$script" | grep -q "# race" || is_marked=0; done
			[ $is_marked = 1 ] && continue
		fi
		cat "$dir/out"
		echo "FAILED: $name $kind: exit code $rc"
		failed=1
	done
done
exit $failed
