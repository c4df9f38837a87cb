#!/bin/bash
# symbols.sh LIBRARY HEADER - the library exports the header's functions, each with a version, and nothing else.
set -eu
nm -D --defined-only "$1" | awk '$2 != "A" { print $3 }' | sort >"${TMPDIR:-/tmp}/have.$$"
grep -o '\bcollider_ptx_[a-z_]*(' "$2" | tr -d '(' | sort -u | sed 's/$/@@COLLIDER_PTX_1/' >"${TMPDIR:-/tmp}/want.$$"
trap 'rm -f "${TMPDIR:-/tmp}/have.$$" "${TMPDIR:-/tmp}/want.$$"' EXIT
[ "$(wc -l <"${TMPDIR:-/tmp}/want.$$")" -ge 14 ]
diff -u "${TMPDIR:-/tmp}/want.$$" "${TMPDIR:-/tmp}/have.$$"
