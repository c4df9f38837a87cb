#!/bin/bash
# build.sh - build the GPU tests on a machine without a GPU, and pack them for one that has it.
#
#   tests/gpu/build.sh OUTDIR [COLLIDER]
#
# Every program of examples/ and tests/gpu/racefree/, and bench/overhead, is built twice, by plain nvcc into
# OUTDIR/plain and by `collider nvcc` into OUTDIR/collide, for $ARCH (sm_90; compute_90: PTX alone, for
# the CPU device); SETS=examples and SETS=racefree leave it at these, HOWS=plain at the first way. What
# is newer than its source, the headers and COLLIDER stays. The shared
# cudart is linked (CUDART=static: the other way, 0.7 MB a program) and packed once, so the GPU
# machine needs only a driver. COLLIDER is the binary
# (default: build/bin/collider of this repository); without one only the plain half is built
# and the exit code is 3. OUTDIR/gpu.tar.gz holds the binaries, the sources with their expectations
# and the scripts that run them; the collider binary and its library travel separately.
set -u

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
[ $# -ge 1 ] || { echo "usage: $0 OUTDIR [COLLIDER]" >&2; exit 2; }
mkdir -p "$1" || exit 2
out=$(cd "$1" && pwd)
collider=${2:-$root/build/bin/collider}
arch=${ARCH:-sm_90}
host=-O3 # nvcc's -O is the host's half
[ "$arch" = "${arch#compute_}" ] || host=-O0
jobs=${JOBS:-2}
nvcc=${NVCC:-nvcc}
cudart=${CUDART:-shared}

mkdir -p "$out/lib" "$out/plain" "$out/collide" "$out/ptx" "$out/src" "$out/log"

# Flags that a program's header asks for; -G excludes -lineinfo.
flags_of() {
	local own
	own=$(sed -n 's,^// flags: ,,p' "$1")
	case " $own " in
	*" -G "*) echo "$own" ;;
	*) echo "$host -lineinfo $own" ;;
	esac
}

is_current() { # is_current FILE SOURCE
	local f
	for f in "$2" "$root"/examples/*.h "$here"/racefree/*.h; do
		[ "$1" -nt "$f" ] || return 1
	done
}

# build_one HOW SOURCE: HOW is plain, collide or ptx
build_one() {
	local how=$1 src=$2 name cmd
	name=$(basename "$src" .cu)
	case $how in
	plain) cmd=("$nvcc") ;;
	collide)
		cmd=("$collider" nvcc)
		# Without machine code no register is to be counted.
		[ "$arch" = "${arch#compute_}" ] || cmd+=(--no-fit)
		;;
	ptx) cmd=("$nvcc" -ptx) ;;
	esac
	[ "$how" = ptx ] || cmd+=(-cudart "$cudart" -Xlinker -rpath '-Xlinker=$ORIGIN/../lib')
	# shellcheck disable=SC2046
	cmd+=($(flags_of "$src") -arch="$arch" -I"$root/examples" "$src" -o "$out/$how/$name")
	is_current "$out/$how/$name" "$src" && { [ "$how" != collide ] || [ "$out/$how/$name" -nt "$collider" ]; } &&
		return
	if ! "${cmd[@]}" >"$out/log/$how.$name" 2>&1; then
		echo "FAIL $how $name: see $out/log/$how.$name" >&2
		return 1
	fi
}

# The optimiser must really do what an invented_* program is about: `// ptx: REGEX`.
check_ptx() {
	local src=$1 name pattern
	name=$(basename "$src" .cu)
	pattern=$(sed -n 's,^// ptx: ,,p' "$src")
	[ -n "$pattern" ] || return 0
	build_one ptx "$src" || return 1
	if ! tr -d '\n' <"$out/ptx/$name" | grep -Eq -- "$pattern"; then
		echo "FAIL ptx $name: no match for $pattern" >&2
		return 1
	fi
}

# Beside the programs: their sources with what they must show, the scripts that run them, the runtime.
stage() {
	local lib
	mkdir -p "$out/src/examples" "$out/src/racefree" || return 1
	cp "$root"/examples/*.cu "$root"/examples/*.h "$out/src/examples/" &&
		cp "$here"/racefree/*.cu "$here"/racefree/*.h "$out/src/racefree/" &&
		cp "$here"/run_races.sh "$here"/run_racefree.sh "$here"/common.sh "$here"/outputs.tsv "$out/" &&
		cp "$root/bench/overhead/run.sh" "$out/run_overhead.sh" || return 1
	[ "$cudart" = shared ] || return 0
	lib=$(dirname "$(readlink -f "$(command -v "$nvcc")")")/../lib64/libcudart.so
	cp "$(readlink -f "$lib")" \
		"$out/lib/$(readelf -d "$lib" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')"
}

case ${BUILD_ONE:-} in
'') ;;
stage)
	stage
	exit
	;;
check_ptx)
	check_ptx "$3"
	exit
	;;
*)
	build_one "$BUILD_ONE" "$3"
	exit
	;;
esac

case ${SETS:-all} in
examples) sources=("$root"/examples/*.cu) ;;
racefree) sources=("$here"/racefree/*.cu) ;;
*) sources=("$root"/examples/*.cu "$here"/racefree/*.cu "$root/bench/overhead/overhead.cu") ;;
esac
failed=0
hows=plain
if [ -x "$collider" ]; then
	hows=${HOWS:-plain collide}
else
	echo "no collider binary at $collider: plain programs only" >&2
fi
for how in $hows; do
	printf '%s\n' "${sources[@]}" |
		BUILD_ONE=$how xargs -P "$jobs" -I{} bash "$0" "$out" "$collider" {} || failed=1
done
for src in "${sources[@]}"; do
	check_ptx "$src" || failed=1
done
stage || failed=1
tar -C "$out" -czf "$out/gpu.tar.gz" lib plain collide src run_races.sh run_racefree.sh \
	run_overhead.sh common.sh outputs.tsv || exit 1
echo "built $(ls "$out/plain" | wc -l) plain and $(ls "$out/collide" | wc -l) instrumented programs," \
	"$out/gpu.tar.gz is $(du -k "$out/gpu.tar.gz" | cut -f1) KiB"
[ $failed -eq 0 ] || exit 1
[ -x "$collider" ] || exit 3
