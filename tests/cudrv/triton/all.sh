#!/bin/bash
# all.sh COLLIDER - Triton's tutorials under `pytest --collider`: each right kernel gives torch's results and is silent, each
# racy twin fails its test with one report, which has both Python lines; the same with two workers where pytest-xdist is.
# Needs $COLLIDER_TRITON_PYTHON, a Python with triton, torch and pytest.
set -eu
collider=$1
python=${COLLIDER_TRITON_PYTHON:-}
[ "$python" ] || { echo "skipped: COLLIDER_TRITON_PYTHON names no Python (make python)"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
here=$(cd "$(dirname "$0")" && pwd)
export PATH=$(dirname "$collider"):$PATH PYTHONPATH=$(dirname "$collider")/../lib/collider/python XDG_CACHE_HOME=$dir/cache
export PYTHONDONTWRITEBYTECODE=1
cp "$here"/*.py "$dir"
cd "$dir"
check() {
	rc=0
	"$python" -m pytest -p no:collider -p collider_pytest --collider -p no:cacheprovider -q test_kernels.py "$@" >out 2>&1 || rc=$?
	[ $rc = 1 ] && grep -q "^7 failed, 10 passed" out || { cat out; echo "FAILED: $*: exit code $rc"; exit 1; }
	[ "$(grep -c "^======== COLLIDER REPORT" out)" -ge 7 ] || { cat out; echo "FAILED: a test without its report"; exit 1; }
	for kernel in add softmax matmul layer_norm attention histogram reverse; do
		grep -q "RACES WITH .*kernels.py:[0-9]*:[0-9]* in ${kernel}_kernel$" out ||
			{ cat out; echo "FAILED: $kernel: not both lines"; exit 1; }
	done
	! grep "Launched" out | grep -v "kernels.py:[0-9]* in [a-z_]*$" || { echo "FAILED: a launch is not the program's"; exit 1; }
}
check
if "$python" -c "import xdist" 2>/dev/null; then check -n 2; fi
