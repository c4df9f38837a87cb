#!/bin/sh
# replay.sh COLLIDER PROGRAM - --replay watches what an earlier report has found, and nothing else; a file
# that is no such report is refused with its line.
collider=$1
program=$2
. "$(dirname "$0")/../cli/lib.sh"
first=replay.cu:15 second=replay.cu:23

# one REPORT LINE: the report without its findings but that of a line
one() {
	grep -v '"type":"finding"' "$1"
	grep '"type":"finding"' "$1" | grep "\"line\":$2,"
}

# The report of another detector, where memory may have lain elsewhere: one finding, then the other.
try 0 "$collider" run --device=cpu --detector=oracle --quiet --save="$T/oracle" -- "$program"
for place in $first $second; do
	one "$T/oracle" "${place#*:}" | sed 's/"0x2[0-9a-f]*"/"0x0"/g' >"$T/one"
	other=$first
	[ $place != $first ] || other=$second
	for seed in 1 2 3; do
		try 0 "$collider" run --device=cpu --replay="$T/one" --seed=$seed -- "$program"
		has err "$place"
		hasnt err "$other"
		has err "watchpoints only at 1 of the report's 1 place, which this program has, and at 0 addr"
	done
done
# Without it both are found. A place that the program doesn't have, and no address: nothing is.
try 0 "$collider" run --device=cpu --detector=watch --dense=0 --save="$T/watch" -- "$program"
has err $first
has err $second
sed 's/"line":/"line":9/g; s/"0x2[0-9a-f]*"/"0x0"/g' "$T/watch" >"$T/moved"
try 0 "$collider" run --device=cpu --replay="$T/moved" -- "$program"
has err "watchpoints only at 0 of the report's 2 places, which this program has, and at 0 addresses"
has err "no race seen"
# The address alone is enough.
one "$T/watch" 23 | sed 's/"line":/"line":9/g' >"$T/address"
try 0 "$collider" run --device=cpu --replay="$T/address" -- "$program"
has err "at 0 of the report's 1 place, which this program has, and at 1 address"
has err $second
hasnt err $first

# refused FILE TEXT: one line, and the program isn't started
refused() {
	try 1 "$collider" run --device=cpu --replay="$1" -- "$program"
	lines err 1
	has err "$2"
}
refused "$T/none" "the report can't be read"
echo 'hello' >"$T/text"
refused "$T/text" "text:1:1: error: found 'hello', expected one JSON object per line"
grep -v '"type":"finding"' "$T/oracle" >"$T/clean"
refused "$T/clean" "clean:1:1: error: found a report of 0 findings, none with a line of GPU code"
sed '2s/"kind":"[a-z-]*"/"kind":"nothing"/' "$T/oracle" >"$T/kind"
refused "$T/kind" "kind:2:1: error: found a finding of kind 'nothing'"
try 2 "$collider" run --device=cpu --replay="$T/watch" --detector=collide -- "$program"
has err "--replay works with detector watch"
finish
