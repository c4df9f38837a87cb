#!/bin/bash
# breaches.sh - rules.sh finds each kind of breach, and nothing in a clean tree: breaches.sh RULES
set -u
rules=$1
tree=$(mktemp -d) || exit 2
trap 'rm -rf "$tree"' EXIT
failed=0

# Breaches in different files are looked for together: what, pattern, and what is removed then.
what=() pattern=() path=()

put() { # put FILE TEXT
	local p
	for p in "${path[@]}"; do
		[[ $tree/$1 == "$p" || $tree/$1 == "$p"/* ]] && { flush; break; }
	done
	mkdir -p "$tree/$(dirname "$1")"
	printf '/*\n * %s - a test\n */\n%s\n' "$(basename "$1")" "$2" >"$tree/$1"
}
expect() { # expect WHAT PATTERN PATH: rules.sh must fail and name it; the path below src is removed then
	what+=("$1") pattern+=("$2") path+=("$(realpath -m "$tree/src/$3")")
}
flush() { # each of those that were expected was found once, and nothing else
	local out i n=${#what[@]}
	[ "$n" -gt 0 ] || return
	out=$(bash "$rules" "$tree") && { echo "FAIL ${what[*]}: not found"; failed=1; }
	for ((i = 0; i < n; i++)); do
		[ "$(grep -Ec "${pattern[i]}" <<<"$out")" -eq 1 ] ||
			{ echo "FAIL ${what[i]}: expected ${pattern[i]}, found: $out"; failed=1; }
	done
	[ "$(grep -c . <<<"$out")" -eq $((n + 1)) ] || { echo "FAIL $n breaches expected: $out"; failed=1; }
	rm -rf "${path[@]}"
	what=() pattern=() path=()
}
clean() { # clean WHAT: there is nothing to find
	flush
	bash "$rules" "$tree" || { echo "FAIL $1"; failed=1; }
}

mkdir -p "$tree/src" "$tree/tests" "$tree/bench"
put src/base/base.h ''
put src/ptx/ptx.h '#include "base/base.h"'
put src/ptx/lexer.h ''
put src/ptx/lexer.c '#include "lexer.h"'
put src/flow/cfg.c '#include "ptx/ptx.h"'
put src/race/any.h ''
put src/instrument/plan.c '#include "race/any.h"'
put tests/ptx/t.c '#include "ptx/lexer.h"'
put src/race/record.h ''
put src/device/a.c '#include "race/record.h"'
put src/cpu/machine.h ''
put src/cpu/load/load.h '#include "cpu/machine.h"'
put src/cpu/load/inner.h ''
put src/cpu/load/load.c '#include "flow/flow.h"'
put src/cpu/exec/atomic.c '#include "cpu/load/load.h"'
put src/cpu/events/internal.h ''
put tests/cpu/t.c '#include "cpu/load/inner.h"'
put tests/cpu/sound/t.c '#include "instrument/instrument.h"'
clean "a clean tree"

put src/ptx/up.c '#include "flow/flow.h"'
expect "a room to the left" '^src/ptx/up.c:4: ptx includes flow: allowed are base $' ptx/up.c
put src/flow/in.c '#  include "ptx/lexer.h"'
expect "an inner header" '^src/flow/in.c:4: .*only ptx.h debug.h isa.def matrix.h $' flow/in.c
put src/flow/dots.c '#include "../ptx/ptx.h"'
expect "a path with dots" '^src/flow/dots.c:4: .*without \.\.$' flow/dots.c
put src/flow/gone.c '#include "gone.h"'
expect "a bare name from elsewhere" '^src/flow/gone.c:4: "gone.h" is not in src/flow$' flow/gone.c
put src/agent/a.c '#include "cpu/cpu.h"'
expect "sources of findings that see each other" '^src/agent/a.c:4: agent includes cpu' agent
put src/extra/a.c ''
expect "an unknown room" '^src/extra: ' extra
put src/cpu/up.c '#include "cpu/load/load.h"'
expect "a core that knows its sub-rooms" '^src/cpu/up.c:4: cpu includes cpu/load: ' cpu/up.c
put src/cpu/exec/in.c '#include "cpu/load/inner.h"'
expect "a sub-room's inner header" '^src/cpu/exec/in.c:4: .*only load.h decode.h fragment.h $' cpu/exec/in.c
put src/cpu/exec/j.c '#include "cpu/events/internal.h"'
expect "a sub-room that nobody includes" '^src/cpu/exec/j.c:4: cpu/exec includes cpu/events: ' cpu/exec/j.c
put src/cudart/a.c '#include "cpu/load/load.h"'
expect "another room's sub-room" '^src/cudart/a.c:4: cudart includes cpu/load: ' cudart/a.c
put src/cudart/b.c '#include "cpu/machine.h"'
expect "another room's inner header" '^src/cudart/b.c:4: .*only cpu.h virtual.h proven.h begin.h $' cudart/b.c
put src/cpu/new/a.c ''
expect "an unknown sub-room" '^src/cpu/new: ' cpu/new
put src/device/b.c '#include "race/any.h"'
expect "a header the GPU doesn't get" '^src/device/b.c:4: device includes race: ' device/b.c
put tests/flow/t.c '#include "ptx/lexer.h"'
expect "a test of another room's inside" '^tests/flow/t.c:4: tests/flow includes "ptx/lexer.h"' ../tests/flow
flush
for i in $(seq 41); do put "src/ptx/many$i.c" ''; done
expect "a folder too full" '^src/ptx: 44 files' ptx
flush
for i in $(seq 31); do put "src/prove/many$i.c" ''; done
expect "a folder of the prover too full" '^src/prove: 31 files' prove
put src/ptx/long.c "$(seq -f '/* %g */' 650)"
expect "a file too long" '^src/ptx/long.c: 653 lines: up to 650' ptx/long.c
put src/ptx/wide.h "$(printf '\t\t/* %085d */' 0)"
expect "a line too wide, by its tabs" '^src/ptx/wide.h:4: 107 columns: up to 100' ptx/wide.h
put src/ptx/many.h "$(printf 'int many(int a, int (*b)(int, int), int c, int d, int e,\n\t int f, int g, int h);')"
expect "too many parameters" '^src/ptx/many.h:4: many takes 8 parameters: up to 7' ptx/many.h
put src/ptx/seven.h "$(printf 'int seven(int a, int (*b)(int, int), int c, int d, int e,\n\t int f, int g);')
__attribute__((format(printf, 1, 2))) static int cudaMany(int a, int b, int c, int d, int e,
	int f, int g, int h);
$(printf '\t\t/* %078d */' 0)"
clean "seven parameters, CUDA's own, 100 columns"
flush
rm "$tree/src/ptx/seven.h"
flush
echo 'int x;' >"$tree/src/base/bare.c"
expect "a file without its comment" '^src/base/bare.c:1: ' base/bare.c
flush
rm -f "$tree"/src/ptx/many*.c "$tree/src/base/bare.c"
put src/base/long.c '' && seq 651 | sed 's|^|// |' >>"$tree/src/base/long.c"
expect "a file too long" '^src/base/long.c: 655 lines' base/long.c
put src/cpu/spelled1.c '' && echo 'const char *s = "ld.global.u32 %r1, [%rd1];";' >>"$tree/src/cpu/spelled1.c"
expect "an instruction in a string" '^src/cpu/spelled1.c:[0-9]*: PTX in a string' cpu/spelled1.c
put src/cpu/spelled2.c '' && echo 'const char *s = ".weak .global .align 8 .b64 x;";' >>"$tree/src/cpu/spelled2.c"
expect "a declaration in a string" '^src/cpu/spelled2.c:[0-9]*: PTX in a string' cpu/spelled2.c
put src/agent/m.c '' && echo 'x(RACE_KNOBS_SYMBOL);' >>"$tree/src/agent/m.c"
expect "a runtime block by its name" '^src/agent/m.c:[0-9]*: names a runtime block' agent/m.c
flush
printf '%s\n' 'DETECTOR(WATCH, watch, WEAK)' 'JUDGE(SEER, seer)' >"$tree/src/base/detectors.def"
put src/device/watch/look.c 'int x = RACE_DETECTOR_WATCH;'
clean "a detector in a folder of its name"
put src/cli/run1.c 'int x = list & RACE_DETECT(WATCH);'
expect "a detector by its name" '^src/cli/run1.c:4: names a detector' cli/run1.c
put src/cli/run2.c '	option_put(set, OPTION_DETECTOR, "watch,seer");'
expect "a detector by its word" '^src/cli/run2.c:4: names a detector' cli/run2.c
flush
rm -r "$tree/src/base/detectors.def" "$tree/src/device/watch"
flush
echo 'PASS(FROB, "frob", MODULE, "x")' >"$tree/src/base/passes.def"
put src/instrument/pipeline.c '	return on_module[pass](cx) && pass_end(cx);'
expect "a pass without a function" '^src/base/passes.def: pass FROB' base/passes.def
put src/instrument/pipeline.c '	on_module[pass](cx);'
expect "a pass that nothing verifies" '^src/instrument/pipeline.c:4: runs a pass' instrument/pipeline.c
flush
mkdir -p "$tree/src/device/watch"
flush
printf '/*\n * piece.h - what frob.cu has.\n */\n' >"$tree/src/device/watch/piece.h"
put src/device/watch/frob.cu 'int f(void)
{
	return 1;
}
#include "piece.h"'
expect "a piece of a .cu whose head does not say so" '^src/device/watch/frob.cu:[0-9]*: includes piece.h after' device/watch/frob.cu
flush
printf '/*\n * piece.h - part of other.cu: what it has.\n */\n' >"$tree/src/device/watch/piece.h"
put src/device/watch/frob.cu '#include "piece.h"'
expect "a piece of another .cu" '^src/device/watch/frob.cu:[0-9]*: includes piece.h, which is part of other.cu' device/watch/frob.cu
flush
rm -r "$tree/src/device/watch"
put src/cudart/state/in.c '#include <cuda_runtime_api.h>'
expect "a header of CUDA below its entry points" '^src/cudart/state/in.c:4: of CUDA' cudart
put src/cudart/graph/entry.c 'cudaError_t cudaGraphFrob(int x)
{
	return x;
}'
expect "an entry point below the entry points" '^src/cudart/graph/entry.c:4: of CUDA' cudart
mkdir -p "$tree/docs" "$tree/tools"
put src/race/words1.c 'int intelligible(int threshold); /* told.h */
// told: a keyword of a test'
flush
echo '# fine: `tell(x)`' >"$tree/docs/fine.md"
clean "keywords and parts of words are no words"
put src/race/words2.c 'bool is_told(void);'
expect "a name that tells" '^src/race/words2.c:4: a name says "tell"' race/words2.c
put src/race/words3.c "$(printf '/* ---- parts\n * ------- */')"
expect "a broken ruler" '^src/race/words3.c:4: a ruler' race/words3.c
put src/race/words4.c 'int is_nobody(int somebodyelse);'
expect "a name about nobody" '^src/race/words4.c:4: a name says "nobody"' race/words4.c
put src/race/words5.c 'int x; /* what the check tells */'
expect "a comment that tells" '^src/race/words5.c:4: says "tell"' race/words5.c
put src/race/words6.c 'int x; /* nobody waits */'
expect "a comment about nobody" '^src/race/words6.c:4: says "nobody"' race/words6.c
put src/race/words7.c 'int x; /* ordered behind the store */'
expect "a comment that says behind for after" '^src/race/words7.c:4: says "behind"' race/words7.c
put src/race/words8.c 'const char *advice = "a fence behind the read";'
expect "a text that says behind for after" '^src/race/words8.c:4: says "behind"' race/words8.c
put src/race/words9.c 'int x; /* what it left behind */'
clean "what is left behind"
flush
echo 'x # the race is told' >"$tree/tools/words.sh"
expect "a script's comment that tells" '^tools/words.sh:1: says "tell"' ../tools/words.sh
flush
echo 'The oracle tells each pair.' >"$tree/docs/words.md"
expect "a text that tells" '^docs/words.md:1: says "tell"' ../docs/words.md
flush
exit $failed
