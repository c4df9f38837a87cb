#!/bin/sh
# suppress.sh COLLIDER FAKE_APP SOURCE - rules made from a saved report leave out its findings, and no others.
set -eu
collider=$1
golden=$3/tests/report/golden
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
failed=0

fail() {
	echo "FAILED: $*"
	failed=1
}
shown() { # shown REPORT [RULES]: how many findings the report counts
	"$collider" report --format=json --show-possible ${2:+--suppressions="$2"} "$1" |
		grep '"type":"finding"' | grep -c '"ignored":""' || true
}

for name in pairs every_kind host; do
	report=$golden/$name.jsonl
	before=$(shown "$report")
	[ "$before" -gt 0 ] || fail "$name: nothing to suppress"
	"$collider" suppress --show-possible "$report" >rules || fail "$name: exit code $?"
	after=$(shown "$report" rules)
	[ "$after" = 0 ] || fail "$name: $after of $before findings are still shown"
	"$collider" suppress --show-possible --suppressions=rules "$report" | grep -v '^#' | grep -q . &&
		fail "$name: rules for what is suppressed already"
	grep -v '^#' rules | grep . | sort | uniq -d | grep . && fail "$name: a rule twice"
done

# Another line, and another kind at the same line, stay.
pair=$(grep -m1 '"second"' "$golden/pairs.jsonl")
line=$(printf "%s\n" "$pair" | grep -o '"line":[0-9]*' | head -1 | cut -d: -f2)
{ sed -n 1p "$golden/pairs.jsonl"; printf "%s\n" "$pair"; grep '"summary"' "$golden/pairs.jsonl"; } >one.jsonl
{
	sed -n 1p "$golden/pairs.jsonl"
	printf "%s\n" "$pair" | sed "s/\"line\":$line/\"line\":99999/g"
	grep '"summary"' "$golden/pairs.jsonl"
} >other.jsonl
"$collider" suppress one.jsonl >rules
[ "$(shown one.jsonl rules)" = 0 ] || fail "the finding itself is shown"
[ "$(shown other.jsonl rules)" = 1 ] || fail "a finding at another line is left out"

rc=0
"$collider" suppress >out 2>&1 || rc=$?
[ $rc = 2 ] || fail "exit code $rc without a report"
rc=0
"$collider" suppress none.jsonl >out 2>&1 || rc=$?
[ $rc = 1 ] || fail "exit code $rc for a report that isn't there"
exit $failed
