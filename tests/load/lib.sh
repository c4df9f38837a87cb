# lib.sh - what the scripts of this folder share: lib.sh COLLIDER BUILT SOURCES, sourced.
set -u
collider=$1
built=$2
here=$3
bad=0
fail() {
	echo "FAIL: $*"
	bad=1
}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
unset COLLIDER_OPTIONS COLLIDER_TOOL_OPTIONS COLLIDER_GPU COLLIDER_AGENT LD_PRELOAD CUDA_MODULE_LOADING
export XDG_CACHE_HOME=$work/cache TMPDIR=$work/tmp
mkdir -p "$work/tmp"
cd "$work" || exit 2
cp "$here/sum.cu" .

# go OUT OPTIONS... -- PROGRAM...: under collider run with the stand-in driver; images to OUT.N.
# What is proven hangs on the time that there is: nothing, but where prune.sh asks for it.
go() {
	local out=$1
	shift
	rm -f "$out" "$out".*
	STANDIN_LOG=$work/$out LD_LIBRARY_PATH=$built/driver timeout 200 "$collider" run --device=gpu --prune=none "$@" \
		>"$out.out" 2>"$out.err"
}
# settled OUT ...: go, until nothing is being proven for a later load, however long that takes.
settled() {
	while :; do
		go "$@" || fail "$1: $(cat "$1.err")"
		grep -q 'being proven' "$1.err" || break
		sleep 0.2
	done
}
expect() { # expect FILE TEXT: a line of it
	grep -qxF -- "$2" "$1" || fail "$1: expected '$2', found: $(cat "$1")"
}
says() { # says FILE PATTERN
	grep -Eq -- "$2" "$1" || fail "$1: expected /$2/, found: $(cat "$1")"
}
same() { # same A B: cubins of one program
	"$built/load_same_code" "$1" "$2" >same.out || fail "$1 and $2: $(cat same.out)"
}
