#!/bin/sh
# setup.sh - install what Collider needs and the machine lacks. Idempotent; silent when nothing is
# missing.
#
#   tools/setup.sh [--build-only] [--cuda]
#
# Packages come from apt-get (Debian 12, Ubuntu 24.04; sudo unless root), never with a question.
# Where no CUDA 13 toolkit is found, NVIDIA's compiler is installed by pip into .deps/ of this
# folder: about 300 MB, no driver and no GPU needed. --build-only leaves out what only the
# tests need (clang, gdb, groff, NVIDIA's disassembler where the toolkit lacks it). --cuda installs
# the toolkit even if there is one.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
cuda_version='13.0.*'
cuda_parts='nvcc nvvm crt runtime cccl cupti'
# There is no package of it for 13.0; a newer one reads the older toolkit's files.
nvdisasm_version='13.2.*'

build_only=
force_cuda=
for arg; do
	case $arg in
	--build-only) build_only=1 ;;
	--cuda) force_cuda=1 ;;
	*) echo "usage: $0 [--build-only] [--cuda]" >&2; exit 2 ;;
	esac
done

say() { echo "setup: $*"; }
die() { echo "setup: $*" >&2; exit 1; }
has() { command -v "$1" >/dev/null 2>&1; }

missing=
need() { # need PACKAGE COMMAND...: the package is missing when the command fails
	package=$1
	shift
	"$@" >/dev/null 2>&1 || missing="$missing $package"
}

# Asked of the compiler and of pkg-config, not of dpkg: what was installed by hand counts too.
header() { echo "#include <$1>" | cc -E -x c - >/dev/null 2>&1; }

# libFuzzer and the sanitizers are a package of their own.
clang_has_fuzzer() { ls "$(clang -print-resource-dir)"/lib/*/libclang_rt.fuzzer*; }

# Only this version's format counts (tools/format.sh), and not every system has it.
has_format_or_never() { tools/format.sh --which || ! apt-cache show clang-format-14; }

list_missing() {
	missing=
	need gcc has cc
	need g++ has g++ # nvcc's host compiler
	need libc6-dev header stdlib.h
	need cmake has cmake
	need ninja-build has ninja
	need pkg-config has pkg-config
	need libzstd-dev pkg-config --exists libzstd
	need liblz4-dev pkg-config --exists liblz4
	need libelf-dev pkg-config --exists libelf
	need libdw-dev pkg-config --exists libdw
	need libsqlite3-dev pkg-config --exists sqlite3
	need libcjson-dev pkg-config --exists libcjson
	need libcmocka-dev pkg-config --exists cmocka
	need libz3-dev pkg-config --exists z3
	need uthash-dev header uthash.h
	[ "$(uname -m)" != x86_64 ] || need libzydis-dev header Zydis/Zydis.h
	need python3 has python3
	if [ -z "$build_only" ]; then
		need clang has clang
		need libclang-rt-dev clang_has_fuzzer
		need clang-format-14 has_format_or_never
		need gdb has gdb
		need groff-base has groff
	fi
	if [ -z "$cuda" ] || { [ -z "$build_only" ] && ! tools/find_cuda.sh nvdisasm >/dev/null; }; then
		need python3-pip python3 -m pip --version
	fi
}

install_packages() {
	has apt-get || die "please install what these packages hold:$missing"
	sudo=
	if [ "$(id -u)" -ne 0 ]; then
		sudo="sudo -n"
		has sudo && $sudo true 2>/dev/null ||
			die "please run this first: sudo apt-get install$missing"
	fi
	say "installing$missing"
	log=$(mktemp)
	# shellcheck disable=SC2086
	if ! { $sudo env DEBIAN_FRONTEND=noninteractive apt-get -qq update &&
		$sudo env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends \
			install $missing; } >"$log" 2>&1 </dev/null; then
		tail -n 20 "$log" >&2
		rm -f "$log"
		die "apt-get could not install$missing"
	fi
	rm -f "$log"
}

pip_into() { # pip_into FOLDER PACKAGE...
	python3 -m pip install -q --no-deps --no-cache-dir --disable-pip-version-check \
		--root-user-action=ignore --target "$@" </dev/null
}

# NVIDIA's wheels hold one toolkit spread over packages; nvcc wants it the way its own installer
# lays it out: lib64/ beside bin/, and library names without a version for the linker.
install_cuda() {
	dir=$root/.deps
	say "no CUDA 13 toolkit found: installing $cuda_version into $dir (about 300 MB)"
	rm -rf "$dir/wheels.tmp" "$dir/cuda.tmp"
	mkdir -p "$dir"
	set --
	for part in $cuda_parts; do
		set -- "$@" "nvidia-cuda-$part==$cuda_version"
	done
	# nvcc's NVVM was renamed on its way: the package carries no "cuda" in its name.
	# shellcheck disable=SC2046
	pip_into "$dir/wheels.tmp" \
		$(printf '%s\n' "$@" | sed 's/^nvidia-cuda-nvvm/nvidia-nvvm/') ||
		die "pip could not install the CUDA toolkit"
	mv "$dir/wheels.tmp/nvidia/cu13" "$dir/cuda.tmp" || die "the wheels look other than expected"
	(
		cd "$dir/cuda.tmp"
		chmod +x bin/* nvvm/bin/*
		[ -e lib64 ] || ln -s lib lib64
		for lib in lib/*.so.*; do
			short=${lib%%.so.*}.so
			[ -e "$short" ] || ln -s "$(basename "$lib")" "$short"
		done
	)
	rm -rf "$dir/wheels.tmp" "$dir/cuda"
	mv "$dir/cuda.tmp" "$dir/cuda"
}

install_nvdisasm() {
	dir=$root/.deps
	say "the toolkit has no nvdisasm: installing $nvdisasm_version into $dir (5 MB)"
	rm -rf "$dir/nvdisasm.tmp"
	mkdir -p "$dir"
	pip_into "$dir/nvdisasm.tmp" "nvidia-cuda-nvdisasm==$nvdisasm_version" ||
		die "pip could not install NVIDIA's disassembler"
	rm -rf "$dir/nvdisasm"
	mv "$dir/nvdisasm.tmp/nvidia/cu13" "$dir/nvdisasm" || die "the wheel looks other than expected"
	rm -rf "$dir/nvdisasm.tmp"
	chmod +x "$dir/nvdisasm/bin/nvdisasm"
}

cuda=$(tools/find_cuda.sh) || cuda=
[ -z "$force_cuda" ] || cuda=
list_missing
if [ "$missing" ]; then
	install_packages
	list_missing
	[ -z "$missing" ] || die "still missing after apt-get:$missing"
fi
if [ -z "$cuda" ]; then
	install_cuda
	cuda=$(CUDA_HOME='' tools/find_cuda.sh) || die "the toolkit in .deps/cuda does not work"
	say "CUDA toolkit: $cuda"
fi
if [ -z "$build_only" ] && ! tools/find_cuda.sh nvdisasm >/dev/null; then
	install_nvdisasm
	tools/find_cuda.sh nvdisasm >/dev/null || die "the disassembler in .deps/nvdisasm does not work"
fi
