#!/bin/bash
# table.sh - the tables as `collider hirace` prints them: table.sh COLLIDER
set -u
collider=$1
here=$(cd "$(dirname "$0")" && pwd)
T=$(mktemp -d) || exit 2
trap 'rm -rf "$T"' EXIT
fail() {
	echo "FAIL: $*"
	exit 1
}

# The published variant is the published file, row by row.
"$collider" hirace --table --hirace=published --csv >"$T/published" || fail "exit code $?"
cmp <(sort "$T/published") <(sort "$here/published.csv") ||
	fail "the published variant is not the published table"
# Ours differs from it in the corrections alone, and 1,200 transitions have their reasons.
"$collider" hirace --table --csv >"$T/ours" || fail "exit code $?"
differ=$(diff "$T/published" "$T/ours" | grep -c '^>')
[ "$differ" = 15 ] || fail "$differ entries differ from the published table, 15 expected"
"$collider" hirace --table >"$T/table" || fail "exit code $?"
rows=$(grep -cE '^  (R |W |BA|GA) [UWB] [SWBG]  [A-Z-]+ +=? +[^ ]' "$T/table")
[ "$rows" = 1200 ] || fail "$rows transitions with reasons, 1200 expected"
[ "$(grep -c '(published: ' "$T/table")" = 15 ] || fail "the corrections are not named in the table"
# What the update leaves out: a read of data that the block, or everybody, reads.
awk '/^BREAD$/ { on = 1; next } /^$/ { on = 0 } on && /^  R  [UW] [SWB]/ && !/BREAD +=/' "$T/table" |
	grep . && fail "a read in BREAD by its own block must leave the word alone"
awk '/^GREAD$/ { on = 1; next } /^$/ { on = 0 } on && /^  R / && !/GREAD +=/' "$T/table" |
	grep . && fail "a read in GREAD must leave the word alone"
# Wrong use: one line, exit code 2, nothing on standard output.
for args in "" "--csv" "--table extra" "--table --hirace=other"; do
	# shellcheck disable=SC2086
	"$collider" hirace $args >"$T/out" 2>"$T/err"
	[ $? = 2 ] || fail "hirace $args: exit code 2 expected"
	[ ! -s "$T/out" ] || fail "hirace $args: standard output is not empty"
	[ "$(wc -l <"$T/err")" = 1 ] || fail "hirace $args: one line expected"
done
exit 0
