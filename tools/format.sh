#!/bin/sh
# format.sh - check (or with --write: make) the format of the C sources. --which: only name the tool.
#
# Only clang-format 14 counts, Debian 12's: other versions break lines otherwise, and a check that
# depends on who runs it is worth nothing. Where it isn't installed one line says so.
set -u
cd "$(dirname "$0")/.." || exit 2
tool=
for c in clang-format-14 clang-format; do
	if command -v $c >/dev/null && $c --version | grep -q 'version 14\.'; then
		tool=$c
		break
	fi
done
if [ "${1:-}" = --which ]; then
	echo "${tool:?}"
	exit
fi
if [ -z "$tool" ]; then
	echo "format: clang-format 14 was not found, format not checked"
	[ "${1:-}" != --write ]
	exit
fi
jobs=$(nproc 2>/dev/null || echo 2)
files() { git ls-files -z --cached --others --exclude-standard '*.c' '*.h'; }
if [ "${1:-}" = --write ]; then
	files | xargs -0 -n 100 -P "$jobs" "$tool" -i
	exit
fi
bad=$(files | xargs -0 -n 100 -P "$jobs" "$tool" --dry-run 2>&1 | sed -n 's/^\([^: ]*\):.*warning: .*/\1/p' | sort | uniq -c)
[ -z "$bad" ] && exit 0
echo "format: these files differ from clang-format 14's (lines); 'make format' changes them" >&2
echo "$bad" >&2
exit 1
