#!/bin/sh
# find_cuda.sh - print the folder of the CUDA toolkit to use, or nothing (exit code 1).
#
#   tools/find_cuda.sh            the toolkit
#   tools/find_cuda.sh nvdisasm   the disassembler, which tests need and toolkits may lack
#
# The one place that knows where to look: CMakeLists.txt, setup.sh and the tests ask it. In this
# order: CUDA_HOME (taken as it is), .deps/cuda (which setup.sh makes), nvcc on PATH,
# /usr/local/cuda. All but the first must be of CUDA 13 and have CUPTI's headers, which
# distributions pack apart. The disassembler is the toolkit's own, that of .deps/nvdisasm (which
# setup.sh makes), or that on PATH, of CUDA 13, too: an older one doesn't know all targets.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)

case ${1:-} in
'') ;;
nvdisasm)
	for file in "$("$0")/bin/nvdisasm" "$root/.deps/nvdisasm/bin/nvdisasm" \
		"$(command -v nvdisasm)"; do
		[ -x "$file" ] || continue
		"$file" --version 2>/dev/null | grep -Eq 'release (1[3-9]|[2-9][0-9])\.' || continue
		echo "$file"
		exit 0
	done
	exit 1
	;;
*)
	echo "usage: $0 [nvdisasm]" >&2
	exit 2
	;;
esac

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
