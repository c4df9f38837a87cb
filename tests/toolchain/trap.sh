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
nvdisasm=$("$(dirname "$0")/../../tools/find_cuda.sh" nvdisasm) ||
	{ echo "nvdisasm is missing: run 'make setup'"; exit 1; }
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

# The lines that hold a breakpoint: the last line information before each.
stops_in() { # stops_in CUBIN
	"$nvdisasm" -g -c "$1" |
		awk '/## File .*line [0-9]+/ { match($0, /line [0-9]+/); line = substr($0, RSTART + 5, RLENGTH - 5) }
		     /BPT/ { print line }' | sort -u
}

# Each breakpoint stands in the kernel, at a racy line: a debugger needs no unwinding to show it.
look_at() { # look_at CUBIN TWIN: the twin is built without --trap; ptxas -G has breakpoints of its own
	local line
	"$nvdisasm" -c "$1" | grep -q 'CALL.*__collider' && fail "$1: a report function is called"
	stops_in "$2" >own
	stops_in "$1" | grep -vxFf own >stops
	[ -s stops ] || fail "$1: no breakpoint"
	for line in $(cat stops); do
		case " $lines " in
		*" $line "*) ;;
		*) fail "$1: a breakpoint at $file:$line, which is no racy line ($lines)" ;;
		esac
	done
}

for how in -lineinfo -G; do
	build "with$how.cubin" --trap "$how" -cubin
	build "without$how.cubin" "$how" -cubin
	look_at "with$how.cubin" "without$how.cubin"
done
[ "$(stops_in without-lineinfo.cubin)" ] && fail "a breakpoint without --trap"

# ---- does it stop? --------------------------------------------------------------------

# No agent: the shared file that is named does not exist, so the knobs stay as they were built.
run() { # run PROGRAM: exit code, with its messages in PROGRAM.err
	COLLIDER_SHM_FD=none LD_PRELOAD=$cudart timeout 120 "./$1" >"$1.out" 2>"$1.err"
}

stops() {
	build "$1" "${@:2}"
	run "$1" && fail "$1 does not stop"
	grep -q 'a breakpoint, and no debugger; thread (.*) of block (.*) in ' "$1.err" ||
		fail "$1 does not report a breakpoint: $(head -3 "$1.err")"
}

at_a_racy_line() {
	local line
	for line in $lines; do
		grep -q "$file:$line" "$1.err" && return
	done
	fail "$1 stops elsewhere: $(head -3 "$1.err")"
}

stops with_trap --trap -lineinfo
at_a_racy_line with_trap
stops with_trap_debug --trap -G
at_a_racy_line with_trap_debug
build without -lineinfo
run without
grep -q 'breakpoint' without.err && fail "a build without --trap stops"
[ $bad -ne 0 ] || echo "all is there"
exit $bad
