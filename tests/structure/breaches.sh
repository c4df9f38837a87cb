#!/bin/bash
# breaches.sh - rules.sh finds each kind of breach, and nothing in a clean tree: breaches.sh RULES
set -u
rules=$1
tree=$(mktemp -d) || exit 2
trap 'rm -rf "$tree"' EXIT
failed=0

put() { # put FILE TEXT
	mkdir -p "$tree/$(dirname "$1")"
	printf '/*\n * %s - a test\n */\n%s\n' "$(basename "$1")" "$2" >"$tree/$1"
}
expect() { # expect WHAT PATTERN: rules.sh must fail and name it; the file is removed again
	local out
	out=$(bash "$rules" "$tree") && { echo "FAIL $1: not found"; failed=1; }
	grep -Eq "$2" <<<"$out" || { echo "FAIL $1: expected $2, found: $out"; failed=1; }
	[ "$(grep -c . <<<"$out")" -eq 2 ] || { echo "FAIL $1: one breach expected: $out"; failed=1; }
	rm -rf "$tree/src/$3"
}

mkdir -p "$tree/src" "$tree/tests" "$tree/bench"
put src/base/base.h ''
put src/ptx/ptx.h '#include "base/base.h"'
put src/ptx/lexer.h ''
put src/ptx/lexer.c '#include "lexer.h"'
put src/flow/cfg.c '#include "ptx/ptx.h"'
put src/race/any.h ''
put src/instrument/plan.c '#include "race/any.h"'
put tests/flow/t.c '#include "ptx/lexer.h"'
bash "$rules" "$tree" || { echo "FAIL a clean tree"; failed=1; }

put src/ptx/up.c '#include "flow/flow.h"'
expect "a room to the left" '^src/ptx/up.c:4: ptx includes flow: allowed are base $' ptx/up.c
put src/flow/in.c '#  include "ptx/lexer.h"'
expect "an inner header" '^src/flow/in.c:4: .*only ptx.h $' flow/in.c
put src/flow/dots.c '#include "../ptx/ptx.h"'
expect "a path with dots" '^src/flow/dots.c:4: .*without \.\.$' flow/dots.c
put src/flow/gone.c '#include "gone.h"'
expect "a bare name from elsewhere" '^src/flow/gone.c:4: "gone.h" is not in src/flow$' flow/gone.c
put src/agent/a.c '#include "cpu/cpu.h"'
expect "sources of findings that see each other" '^src/agent/a.c:4: agent includes cpu' agent
put src/extra/a.c ''
expect "an unknown room" '^src/extra: ' extra
echo 'int x;' >"$tree/src/base/bare.c"
expect "a file without its comment" '^src/base/bare.c:1: ' base/bare.c
exit $failed
