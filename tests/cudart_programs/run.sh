#!/bin/sh
# run.sh FACADE [--stderr TEXT]... PROGRAM ARGUMENTS... - runs a program on the CPU device; it must
# print "ok" and end well. --stderr: exactly one line of its standard error holds TEXT (else it is
# empty).
set -eu
facade=$1
shift
texts=$(mktemp)
err=$(mktemp)
trap 'rm -f "$err" "$texts"' EXIT
while [ "$1" = --stderr ]; do
	printf '%s\n' "$2" >>"$texts"
	shift 2
done
rc=0
out=$(LD_PRELOAD=$facade "$@" 2>"$err") || rc=$?
cat "$err" >&2
[ $rc = 0 ] || { echo "exit code $rc" >&2; exit 1; }
[ "$out" = ok ] || { echo "found \"$out\", expected ok" >&2; exit 1; }
while read -r text; do
	[ "$(grep -cF -- "$text" "$err")" = 1 ] || { echo "expected once: $text" >&2; exit 1; }
done <"$texts"
if [ ! -s "$texts" ] && [ -s "$err" ]; then
	echo "expected nothing on standard error" >&2
	exit 1
fi
