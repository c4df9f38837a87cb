#!/bin/bash
# trap.sh - what `collider nvcc --trap` builds stops at a race, and is there for cuda-gdb to find.
#
#   trap.sh COLLIDER CPU_CUDART SOURCE WORKDIR
#
# SOURCE is a racy example with a line `// race: ...`. See docs/cuda-gdb.md.
set -u

collider=$1
cudart=$2
source=$3
dir=$4
mkdir -p "$dir" && cd "$dir" || exit 2
bad=0

fail() {
	echo "FAIL: $*"
	bad=1
}

build() { # build OUTPUT OPTIONS
	local out=$1
	shift
	"$collider" nvcc -O3 -arch=sm_90 -I"$(dirname "$source")" "$@" "$source" -o "$out" >build.log 2>&1 ||
		{ cat build.log; exit 1; }
}

lines=$(grep -n '// race: ' "$source" | cut -d: -f1 | tr '\n' ' ')
file=$(basename "$source")

# ---- what is in the files --------------------------------------------------------------

# The functions' bodies hold the breakpoint, and each call of theirs stands at a racy line.
look_at() { # look_at CUBIN
	local functions name call line
	nvdisasm -g -c "$1" >sass || { fail "nvdisasm"; return; }
	functions=$(cuobjdump -elf "$1" | grep 'FUNC .*__collider_changed' | grep -o '[^ ]*__collider_changed$')
	[ "$functions" ] || fail "$1: no function named __collider_changed"
	for name in $functions; do
		sed -n "/^.*$(printf %s "$name" | sed 's/[$.]/\\&/g'):$/,/\.size\|^\.section/p" sass |
			grep -q 'BPT' || fail "$1: no breakpoint in $name"
	done
	# "LINE|" for every call: the last line information before it
	awk '/## File .*line [0-9]+/ { match($0, /line [0-9]+/); line = substr($0, RSTART + 5, RLENGTH - 5) }
	     /CALL.*__collider_changed/ { print line }' sass | sort -u >called
	[ -s called ] || fail "$1: nothing calls __collider_changed"
	for line in $(cat called); do
		case " $lines " in
		*" $line "*) ;;
		*) fail "$1: a call at $file:$line, which is no racy line ($lines)" ;;
		esac
	done
	cuobjdump -elf "$1" | grep -q 'debug_frame' || fail "$1: no unwind table"
}

build lineinfo.cubin --trap -lineinfo -cubin
look_at lineinfo.cubin
build debug.cubin --trap -G -cubin
nvdisasm -c debug.cubin >sass
grep -q 'CALL.ABS.*(__collider_changed)' sass || fail "-G: no plain call of __collider_changed"
build callfree.cubin --trap --call-free -lineinfo -cubin
nvdisasm -c callfree.cubin | grep -q BPT || fail "--call-free: no breakpoint"

# ---- does it stop? --------------------------------------------------------------------

# No agent: the shared file that is named does not exist, so the knobs stay as they were built.
run() { # run PROGRAM: exit code, with its messages in PROGRAM.err
	COLLIDER_SHM_FD=none LD_PRELOAD=$cudart timeout 120 "./$1" >"$1.out" 2>"$1.err"
}

stops() {
	build "$1" "${@:2}"
	run "$1" && fail "$1 does not stop"
	grep -q 'a breakpoint, and no debugger; thread (.*) of block (.*) in ' "$1.err" ||
		fail "$1 does not tell of a breakpoint: $(head -3 "$1.err")"
}

stops with_trap --trap -lineinfo
stops with_trap_callfree --trap --call-free -lineinfo
for line in $lines; do
	grep -q "$file:$line" with_trap_callfree.err && line= && break
done
[ -z "$line" ] || fail "--call-free stops elsewhere: $(head -3 with_trap_callfree.err)"
build without -lineinfo
run without
grep -q 'breakpoint' without.err && fail "a build without --trap stops"
[ $bad -ne 0 ] || echo "all is there"
exit $bad
