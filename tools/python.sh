#!/bin/bash
# python.sh [BUILD] - the tests of Python's libraries on the CPU device: Triton, Numba, CuPy, as `make python`.
#
# They are in `make soak`, too, and are skipped there unless COLLIDER_TRITON_PYTHON, COLLIDER_NUMBA_PYTHON and
# COLLIDER_CUPY_PYTHON name a Python that has the library. This makes one in .deps/python where they don't: pip's newest, with
# torch for the CPU. No GPU is needed, and 2 GB of disk. A library that can't be installed is named, its test skipped.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${1:-$root/build}" && pwd) || exit 2
venv=$root/.deps/python
export COLLIDER_TRITON_PYTHON=${COLLIDER_TRITON_PYTHON:-} COLLIDER_NUMBA_PYTHON=${COLLIDER_NUMBA_PYTHON:-}
export COLLIDER_CUPY_PYTHON=${COLLIDER_CUPY_PYTHON:-}

# has MODULES PACKAGES...: the environment has them, or gets them
has() {
	local modules=$1
	shift
	[ -x "$venv/bin/python" ] || python3 -m venv "$venv" || return 1
	"$venv/bin/python" -c "import $modules" 2>/dev/null ||
		{ "$venv/bin/pip" install -q "$@" && "$venv/bin/python" -c "import $modules"; } ||
		{ echo "$modules: can't be installed; their test is skipped" >&2; return 1; }
}

cpu=https://download.pytorch.org/whl/cpu
if [ ! "$COLLIDER_TRITON_PYTHON" ]; then
	has torch torch --index-url $cpu 2>/dev/null || has torch torch
	has triton,torch,pytest triton numpy pytest pytest-xdist && COLLIDER_TRITON_PYTHON=$venv/bin/python
fi
if [ ! "$COLLIDER_NUMBA_PYTHON" ]; then
	has numba.cuda 'numba-cuda[cu13]' && COLLIDER_NUMBA_PYTHON=$venv/bin/python
fi
if [ ! "$COLLIDER_CUPY_PYTHON" ]; then
	has cupy 'cupy-cuda13x[ctk]' && COLLIDER_CUPY_PYTHON=$venv/bin/python
fi
ctest --test-dir "$build" --output-on-failure -R '^cudrv\.(triton|numba|cupy)$'
