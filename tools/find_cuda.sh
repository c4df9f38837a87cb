#!/bin/sh
# find_cuda.sh - print the folder of the CUDA toolkit to use, or nothing (exit code 1).
#
# The one place that knows where to look: CMakeLists.txt and setup.sh both ask it. In this order:
# CUDA_HOME (taken as it is), .deps/cuda (which setup.sh makes), nvcc on PATH, /usr/local/cuda. All
# but the first must be of CUDA 13 and have CUPTI's headers, which distributions pack apart.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)

usable() { # usable FOLDER
	[ -x "$1/bin/nvcc" ] || return 1
	[ -f "$1/include/cupti.h" ] || [ -f "$1/extras/CUPTI/include/cupti.h" ] || return 1
	"$1/bin/nvcc" --version 2>/dev/null | grep -Eq 'release (1[3-9]|[2-9][0-9])\.'
}

if [ "${CUDA_HOME:-}" ] && [ -x "$CUDA_HOME/bin/nvcc" ]; then
	echo "$CUDA_HOME"
	exit 0
fi
on_path=$(command -v nvcc) && on_path=$(dirname "$(dirname "$(readlink -f "$on_path")")")
for dir in "$root/.deps/cuda" "${on_path:-}" /usr/local/cuda; do
	[ "$dir" ] && usable "$dir" && { echo "$dir"; exit 0; }
done
exit 1
