#!/bin/sh
# check_errors.sh ROUNDTRIP FILE.ptx... - bad input gives exactly the errors that its own lines
# "// expect-error: LINE:COL: TEXT" announce, exit code 1, and no output file.
tool=$1
shift
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
bad=0
for f in "$@"; do
	rm -f "$dir/out"
	"$tool" "$f" "$dir/out" 2>"$dir/got"
	code=$?
	sed -n "s|^// expect-error: \([0-9]*:[0-9]*\): |$f:\1: error: |p" "$f" >"$dir/want"
	if [ ! -s "$dir/want" ] || ! diff "$dir/want" "$dir/got" || [ $code -ne 1 ] || [ -e "$dir/out" ]; then
		echo "$f: exit code $code, expected the errors above"
		bad=1
	fi
done
exit $bad
