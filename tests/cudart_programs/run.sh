#!/bin/sh
# run.sh FACADE [--stderr TEXT] PROGRAM ARGUMENTS... - runs a program on the CPU device; it must print
# "ok" and end well. --stderr: exactly one line of its standard error holds TEXT (else it is empty).
set -eu
facade=$1
shift
text=
if [ "$1" = --stderr ]; then
	text=$2
	shift 2
fi
err=$(mktemp)
trap 'rm -f "$err"' EXIT
rc=0
out=$(LD_PRELOAD=$facade "$@" 2>"$err") || rc=$?
cat "$err" >&2
[ $rc = 0 ] || { echo "exit code $rc" >&2; exit 1; }
[ "$out" = ok ] || { echo "found \"$out\", expected ok" >&2; exit 1; }
if [ "$text" ]; then
	[ "$(grep -cF -- "$text" "$err")" = 1 ] || { echo "expected once: $text" >&2; exit 1; }
else
	[ ! -s "$err" ] || { echo "expected nothing on standard error" >&2; exit 1; }
fi
