#!/bin/bash
# named_finds.sh - named.sh finds a file and a room that don't exist, and a room that the table lacks: named_finds.sh NAMED
set -u
T=$(mktemp -d) || exit 2
trap 'rm -rf "$T"' EXIT
mkdir -p "$T/docs" "$T/src/base" "$T/src/ptx"
touch "$T/src/ptx/ptx.h" "$T/README.md" "$T/CONTRIBUTING.md"
page() { # page NAME ROOM
	printf '| folder of `src/` | holds |\n| --- | --- |\n| `base` | x |\n| `%s` | y |\n\nSee `%s`, `tests/NAME`.\n' "$2" "$1" \
		>"$T/docs/architecture.md"
}
expect() { # expect RC TEXT
	local out rc
	out=$(bash "$named" "$T")
	rc=$?
	[ $rc -eq "$1" ] && grep -q "$2" <<<"$out" || { echo "expected $1 and '$2', found $rc: $out"; exit 1; }
}
named=$1
page ptx/ptx.h ptx
expect 0 '^$'
page ptx/gone.h ptx
expect 1 '^docs/architecture.md:6: names ptx/gone.h'
page ptx/ptx.h flow
expect 1 'the table has flow, which'
expect 1 'the table of rooms lacks ptx'
page ptx/ptx.h ptx
printf '\nThe house: base is below all\n\n    ptx\n\nBefore, all was one.\n' >>"$T/docs/architecture.md"
expect 0 '^$'
sed -i 's/^    ptx$/    flow/' "$T/docs/architecture.md"
expect 1 'the picture of the house lacks ptx'
mkdir -p "$T/src/race"
page ptx/ptx.h ptx
page_rooms=$(sed 's/^| `base` | x |/&\n| `race` | z |/' "$T/docs/architecture.md")
echo "$page_rooms" >"$T/docs/architecture.md"
printf 'KIND(A, 1, "a-kind", COLLIDE, ONE, RACE, "t",\n     "s")\nKIND(B, 2, "b-kind", ORACLE, TWO, RACE, "t",\n     "s")\n' \
	>"$T/src/race/kinds.def"
echo 'of collide: `a-kind`; of the oracle: `b-kind`' >"$T/docs/report-format.md"
expect 1 'no list names the table race/kinds.def'
echo 'A kind: `race/kinds.def`.' >>"$T/docs/architecture.md"
echo 'of collide: `a-kind`; of the oracle: `b-kind`' >"$T/docs/report-format.md"
expect 0 '^$'
echo 'of collide: `a-kind`; of the oracle: `c-kind`' >"$T/docs/report-format.md"
expect 1 'the kinds of ORACLE are not those'
