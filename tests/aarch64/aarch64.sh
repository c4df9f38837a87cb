#!/bin/bash
# aarch64.sh - Collider built for aarch64 by a cross compiler; its tests and programs run under qemu-user.
#
#   aarch64.sh SOURCE HERE BUILD [CTEST'S ARGUMENTS]
#
# SOURCE is the root of the sources, HERE a build folder of them for this machine, up to date; BUILD is
# made, and kept for the next time. Needs gcc- and g++-aarch64-linux-gnu and qemu-user-static of Debian;
# the libraries for arm64 come from apt (unpacked into BUILD, nothing is installed), the CUDA runtime for it
# from pip. A namespace of its own has qemu execute aarch64's programs: the machine's settings stay.
# Exit code 77: some of it isn't there.
#
# Left out are tests that need programs which nvcc has built for this machine, two that compute long or ask
# for more addresses than there are, random programs under hirace and iguard, whose tables need them, too,
# those of several threads, whose machines find no room after some programs,
# and all that wait until a deadlock is proven: the emulator has a thread of its own, so the process never
# looks closed (src/cpu/deadlock.c). An emulator on x86-64 doesn't show what a weaker order of memory does.
set -u
source=$(cd "$1" && pwd) here=$(cd "$2" && pwd)
mkdir -p "$3" || exit 2
build=$(cd "$3" && pwd)
shift 3
root=$build/root cuda=$build/cuda
packages='libelf-dev libdw-dev libzstd-dev libcjson-dev libsqlite3-dev libz3-dev liblz4-dev
	libcmocka-dev zlib1g-dev uthash-dev libstdc++-12-dev libc6-dev'

skip() { echo "aarch64: $*" && exit 77; }

qemu=$(command -v qemu-aarch64-static) || skip "no qemu-aarch64-static"
command -v aarch64-linux-gnu-g++ >/dev/null || skip "no aarch64-linux-gnu-g++"

# The libraries, in apt's own folders below BUILD.
unpack() {
	local apt=$build/apt link to
	mkdir -p "$apt/lists/partial" "$apt/archives/partial" && : >"$apt/status" || return 1
	cat >"$apt/conf" <<-CONF
		APT::Architecture "arm64";
		APT::Architectures { "arm64"; };
		APT::Sandbox::User "";
		Dir::State "$apt";
		Dir::State::status "$apt/status";
		Dir::Cache "$apt";
	CONF
	# shellcheck disable=SC2086
	APT_CONFIG=$apt/conf apt-get -qq update && APT_CONFIG=$apt/conf apt-get -qq -y -d \
		--no-install-recommends install $packages >/dev/null || return 1
	for package in "$apt"/archives/*.deb; do
		dpkg -x "$package" "$root.tmp" || return 1
	done
	# As seen from here.
	find "$root.tmp" -type l -lname '/*' | while read -r link; do
		to=$(readlink "$link") && ln -sfr "$root.tmp$to" "$link"
	done
	mv "$root.tmp" "$root"
}
[ -d "$root" ] || unpack || skip "no libraries for arm64 from apt"

# A toolkit whose target is aarch64: this machine's, with the runtime of the other.
make_toolkit() {
	local nvcc real
	nvcc=$(sed -n 's/^COLLIDER_NVCC:[A-Z]*=//p' "$here/CMakeCache.txt")
	real=$(cd "$(dirname "$(readlink -f "$nvcc")")/.." && pwd) || return 1
	mkdir -p "$cuda.tmp/bin" "$cuda.tmp/targets/sbsa-linux" || return 1
	ln -s "$real"/bin/* "$cuda.tmp/bin/" && ln -s "$real/nvvm" "$real/include" "$cuda.tmp/" || return 1
	# nvcc looks for the rest beside itself.
	rm "$cuda.tmp/bin/nvcc" "$cuda.tmp/bin/nvcc.profile" || return 1
	cp "$real/bin/nvcc" "$real/bin/nvcc.profile" "$cuda.tmp/bin/" || return 1
	python3 -m pip install -q --no-deps --no-cache-dir --disable-pip-version-check --target "$cuda.tmp/pip" \
		--platform manylinux2014_aarch64 --only-binary=:all: 'nvidia-cuda-runtime==13.0.*' || return 1
	ln -s "$real/include" "$cuda.tmp/targets/sbsa-linux/include" &&
		ln -s ../../pip/nvidia/cu13/lib "$cuda.tmp/targets/sbsa-linux/lib" && mv "$cuda.tmp" "$cuda"
}
[ -d "$cuda" ] || make_toolkit || skip "no CUDA runtime for aarch64 from pip"

# What follows runs in a namespace in which the kernel hands aarch64's programs to qemu. 4 GiB of addresses:
# it keeps a record for each page that is reserved, and the CPU device reserves half of all that there are.
export COLLIDER_AARCH64=$root QEMU_LD_PREFIX=$root QEMU_RESERVED_VA=0x100000000
inside() {
	# shellcheck disable=SC2016
	unshare --user --map-root-user --mount bash -c '
		mount -t binfmt_misc none /proc/sys/fs/binfmt_misc || exit 77
		head="\\x7fELF\\x02\\x01\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x02\\x00\\xb7\\x00"
		mask="\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\x00\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xfe\\xff\\xff\\xff"
		printf "%s" ":aarch64:M::$head:$mask:$0:PF" >/proc/sys/fs/binfmt_misc/register || exit 77
		exec "$@"' "$qemu" "$@"
}
inside true || skip "this kernel has no binfmt_misc of a user namespace"

inside cmake -G Ninja -S "$source" -B "$build/build" --toolchain "$source/tests/aarch64/toolchain.cmake" \
	-DCOLLIDER_PTX_OF="$here" -DCOLLIDER_STATIC_RUNTIME="$cuda/pip/nvidia/cu13/lib/libcudart_static.a" \
	>"$build/cmake.log" 2>&1 || { cat "$build/cmake.log"; exit 1; }
inside ninja -C "$build/build" -j"${JOBS:-$(nproc)}" --quiet || exit 1
wrong=0
nvcc='built_|choice$|cut$|defaults|detectors|followed|invented|looked_at|cpu.oracle|replay|same_report|soundness|race.script'
tables='(kept_random|barriers_random)_.*(hirace|iguard)|apart_random'
waits='deadlock|expects_more|test_judged|test_space|spin_ends'
inside ctest --test-dir "$build/build" -R '^(base|cpu|flow|lib|oracle|race)\.' -LE 'soak|gpu' -E "$nvcc|$tables|$waits" \
	-j"${JOBS:-$(nproc)}" --timeout 1800 --output-on-failure "$@" || wrong=1

# The examples, linked as nvcc does it by default, with the runtime in them: outputs and verdicts.
export CUDA_HOME=$cuda NVCC=$cuda/bin/nvcc
NVCC_APPEND_FLAGS='-ccbin aarch64-linux-gnu-g++ -target-dir sbsa-linux' ARCH=compute_90 SETS=examples HOWS=plain \
	CUDART=static JOBS=${JOBS:-$(nproc)} "$source/tests/gpu/build.sh" "$build/programs" "$here/bin/collider" || exit 1
unset COLLIDER_OPTIONS
export DETECTOR=oracle DEVICE=cpu
inside "$build/programs/run_races.sh" "$build/programs" "$build/build/bin/collider" -k 2 || wrong=1
exit $wrong
