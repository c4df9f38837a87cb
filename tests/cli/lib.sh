# lib.sh - what the shell tests share. Sourced with: COLLIDER FAKE_APP SOURCE-FOLDER
#
#	try CODE COMMAND...     runs it, output in $T/out and $T/err; its exit code must be CODE
#	has out|err TEXT        the output has a line with this text
#	hasnt out|err TEXT      it has not
#	lines out|err N         it has N lines
#	is out|err TEXT         it is exactly this text
#	needs COMMAND           what `make setup` installs: the test ends without it
collider=$1
fake=$2
src=$3
unset COLLIDER_OPTIONS COLLIDER_AGENT NO_COLOR CUDA_MODULE_LOADING
T=$(mktemp -d) || exit 1
trap 'rm -rf "$T"' EXIT
failed=0

fail() {
	echo "FAILED: $*"
	echo "  last command: $last"
	sed 's/^/  out: /' "$T/out"
	sed 's/^/  err: /' "$T/err"
	failed=1
}

try() {
	want=$1
	shift
	last="$*"
	"$@" >"$T/out" 2>"$T/err" </dev/null
	got=$?
	[ "$got" = "$want" ] || fail "exit code $got, expected $want"
}

needs() {
	command -v "$1" >/dev/null || { echo "FAILED: $1 is missing: run 'make setup'"; exit 1; }
}

has() {
	grep -qF -e "$2" "$T/$1" || fail "no line with '$2' in $1"
}

hasnt() {
	! grep -qF -e "$2" "$T/$1" || fail "a line with '$2' in $1"
}

lines() {
	[ "$(wc -l <"$T/$1")" -eq "$2" ] || fail "not $2 lines in $1"
}

is() {
	[ "$(cat "$T/$1")" = "$2" ] || fail "$1 is not '$2'"
}

finish() {
	exit "$failed"
}
