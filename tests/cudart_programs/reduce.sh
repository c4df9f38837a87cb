#!/bin/sh
# reduce.sh COLLIDER PROGRAM LAUNCHES - collider reduce leaves out what a finding doesn't need, keeps what it needs, and
# its command shows the finding. PROGRAM is sweep.cu; LAUNCHES launches a racy kernel more than once (examples/stencil.cu).
set -u
collider=$1 program=$2 launches=$3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cp "$program" "$dir/app" && cp "$launches" "$dir/many" && cd "$dir" || exit 1
export XDG_RUNTIME_DIR="$dir"
unset COLLIDER_OPTIONS COLLIDER_CPU
failed=0

fail() {
	echo "FAILED: $*"
	head -12 out | sed 's/^/  /'
	failed=1
}
# reduce CODE ARGUMENTS...
reduce() {
	want=$1 rc=0
	shift
	"$collider" reduce --device=cpu "$@" >out 2>&1 || rc=$?
	[ $rc = "$want" ] || fail "exit code $rc, expected $want: $*"
}
has() { grep -qE -e "$1" out || fail "no line with '$1'"; }
hasnt() { ! grep -qE -e "$1" out || fail "a line with '$1'"; }

# found ARGUMENT KERNEL: found.jsonl has a finding in KERNEL of `app ARGUMENT`, by some seed; $finding is its fingerprint.
found() {
	seed=0
	until "$collider" run --device=cpu --detector=oracle --seed=$seed --save=found.jsonl -- ./app "$1" >/dev/null 2>&1
		grep -q '"type":"finding".*"function":"'"$2" found.jsonl; do
		seed=$((seed + 1))
		[ $seed -lt 100 ] || { echo "FAILED: no seed shows $2"; exit 1; }
	done
	finding=$(grep '"type":"finding"' found.jsonl | grep '"function":"'"$2" | grep -o '"fingerprint":"[0-9a-f]*' | head -1)
	finding=${finding#*:\"}
}

# A race of one schedule: two threads of one block show it in any.
found both sometimes
reduce 9 --error-exitcode=9 --finding="$finding" --shuffle=off --memory-model=sc --detector=oracle --save=least.jsonl \
	found.jsonl -- ./app both
has "^shows it in 10 of 10 runs, found in [0-9]+$"
has "^    collider run --device=cpu .*--kernel-name=_Z9sometimes[A-Za-z0-9_]* --only=2[.][01],2[.][01] --random-turns=0 -- ./app both$"
hasnt '^    collider run .*(shuffle|memory-model|seed)'
has '^with --delay=2[.][01]@[0-9]+ only thread [01] waits, before line [0-9]+, and thread [01] at line [0-9]+ writes first'
grep -q '"type":"finding".*"function":"sometimes' least.jsonl || fail "--save has another report"
command=$(sed -n 's/^    collider run /run /p' out)
eval "\"$collider\" $command" >again 2>&1 || true
grep -q '1 data race found' again || fail "the command doesn't show it: $command"

# One thread must wait; the seed isn't needed.
found late late
reduce 0 --detector=oracle found.jsonl -- ./app late
has '^    collider run --device=cpu .*--random-turns=0 --delay=0.0 -- ./app late$'
has '^shows it in 10 of 10 runs'

# Drawn turns are needed, as few as show it.
found window between
reduce 0 --detector=oracle found.jsonl -- ./app window
has '^    collider run --device=cpu .*--random-turns=[1-9][0-9]* -- ./app window$'
has '^shows it in 10 of 10 runs'
turns=$(sed -n 's/^    collider run .*--random-turns=\([0-9]*\) .*/\1/p' out)
"$collider" run --device=cpu --detector=oracle --seed="$seed" --random-turns=0 -- ./app window >out 2>&1
has 'no race seen'
[ "${turns:-0}" -gt 0 ] || fail "no turns"

# One launch of many, within the runs that are allowed.
"$collider" run --device=cpu --seed=3 --save=many.jsonl -- ./many >/dev/null 2>&1
reduce 0 --most-runs=30 many.jsonl -- ./many
has '^shows it in 10 of 10 runs, found in ([0-9]|1[0-9]|20)$'
has '^    collider run .*--launch-(skip=[0-9]+|count=1) '
hasnt '^    collider run .*--seed'

# What isn't there, and what isn't a report or a program.
mkdir kept
"$collider" run --device=cpu --detector=oracle --capsules=kept -- ./app >/dev/null 2>&1
for command in sweep reduce; do
	"$collider" $command --device=cpu kept/* -- ./app >out 2>&1
	[ $? = 1 ] || fail "$command takes a capsule"
	has "error: kept/.*: found a capsule, which is one launch: collider judge --judge-seeds=N executes it"
done
reduce 1 --finding=0123456789 found.jsonl -- ./app both
has 'none with fingerprint 0123456789'
cp /bin/true nothing
reduce 1 found.jsonl -- ./nothing
has "two runs with these options didn't show it"
grep -v '"type":"finding"' found.jsonl >none.jsonl
reduce 1 none.jsonl -- ./app
has 'found 0 findings, expected a data race'
reduce 2 found.jsonl
has 'needs a report and a program'
reduce 2 --json=x found.jsonl -- ./app
[ ! -e x ] || fail "a file of --json"
for bad in x 1. 1.2@x 3-2 1:2:3:4 ''; do
	"$collider" run --device=cpu --delay=$bad -- ./app >out 2>&1
	[ $? = 2 ] || fail "--delay=$bad"
	has "error: --delay: found '$bad', expected BLOCK"
done
"$collider" run --device=cpu --only=1.2@3 -- ./app >out 2>&1
has "error: --only: found '1.2@3', expected BLOCK.\[?.THREAD"
exit $failed
