# lib.sh - what the toolchain tests share: a scratch folder with blanks in its name, the three
# stand-ins by name, and checks that say what they expected. $1 is the program under test.
set -eu
tool=$(readlink -f "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/a folder/bin" "$work/tmp" "$work/cache dir"
cd "$work/a folder"
ln -s "$tool" bin/collider-nvcc
ln -s "$tool" bin/collider-ptxas
export XDG_CACHE_HOME="$work/cache dir" TMPDIR="$work/tmp"
unset COLLIDER_TOOL_OPTIONS COLLIDER_DISABLE || true
real=$(readlink -f "${COLLIDER_TEST_CUDA:-/usr/local/cuda}")
export CUDA_HOME=$real
# What is embedded can be searched for.
export NVCC_APPEND_FLAGS=-no-compress
nvcc="$PWD/bin/collider-nvcc"
marker=__collider_knobs

fail()
{
	echo "FAILED: $*" >&2
	exit 1
}

# has FILE, hasnt FILE: does the marker stand in it?
has()
{
	grep -aq $marker "$1" || fail "$1: expected instrumented code"
}

hasnt()
{
	test -e "$1" || fail "$1: expected the file"
	if grep -aq $marker "$1"; then fail "$1: expected no instrumented code"; fi
}

# rc_of CODE COMMAND...: the command must end with this code; its output goes to ./log.
rc_of()
{
	local want=$1 rc=0
	shift
	"$@" >log 2>&1 || rc=$?
	test $rc -eq "$want" || { cat log >&2; fail "exit code $rc, expected $want: $*"; }
}

# Nothing may be left in TMPDIR by our tools (nvcc removes its own).
no_leftovers()
{
	local left
	left=$(find "$TMPDIR" -mindepth 1 -name 'collider-*' ! -name "collider-$(id -u)")
	test -z "$left" || fail "left behind: $left"
}

cat >k.cu <<'CU'
__global__ void k(int *p) { p[threadIdx.x] += p[threadIdx.x + 1]; }
int main(int argc, char **) { if (argc > 9) k<<<1, 32>>>(nullptr); return 0; }
CU
