#!/bin/bash
# proven.sh - launches that are proven are judged as a whole, and no finding disappears by that.
#
#   proven.sh COLLIDER PROGRAM
#
# Each case of proven.cu runs with --prune=none and with --prune=proved: what races is the same, twins
# are silent, and the report says which of these were proven. The program runs once.
collider=$1 program=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export XDG_CACHE_HOME=$dir/cache
failed=0

fail() {
	echo "FAIL $*"
	cat "$dir/proved"
	failed=1
}

# run PRUNE CASE... : the report in $dir/PRUNE, the exit code in $code
run() {
	local prune=$1
	shift
	"$collider" run --device=cpu --detector=oracle --seed=1 --error-exitcode=10 --prune=$prune \
		--log-file="$dir/$prune" --json="$dir/$prune.json" "$program" "$@" >"$dir/out" 2>&1
	code=$?
}

says() {
	grep -qF -- "$1" "$dir/proved" || fail "$case: expected: $1"
}

# The findings of a run, without the threads of the first sighting.
findings() {
	grep '"type":"finding"' "$dir/$1.json" | sed 's/.*"fingerprint":"\([^"]*\)".*/\1/' | sort
}

same() {
	findings none >"$dir/first"
	findings proved >"$dir/then"
	[ -s "$dir/first" ] && diff "$dir/first" "$dir/then" || fail "$case: the findings differ"
}

# Racy: the same is found, with the threads of both sides, in one run of the program.
for case in streams unused reuse host copy overlap tiles index slip far undo given either partly places wraps; do
	run none $case racy
	[ $code = 10 ] || fail "$case racy: --prune=none: expected exit code 10, found $code"
	rm -f "$dir/runs"
	run proved $case racy "$dir/runs"
	[ $code = 10 ] || fail "$case racy: expected exit code 10, found $code"
	[ "$(wc -l <"$dir/runs")" = 1 ] || fail "$case racy: the program ran twice"
	# What is freed too early may be an error, too.
	[ $case = reuse ] || grep -qx 'no error' "$dir/out" || fail "$case racy: what it prints isn't right"
	grep -q '^a\[' "$dir/out" && fail 'undo: what was written before it was taken back is there'
	grep -q 'By  *: Thread' "$dir/proved" || fail "$case racy: no thread is named"
	grep -q "a launch's accesses" "$dir/proved" && fail "$case racy: a side is a whole launch"
	same
done

# Not racy, and proven.
for case in streams reuse host copy overlap tiles slip far undo given scalars; do
	run proved $case
	[ $code = 0 ] || fail "$case: expected exit code 0, found $code"
	says 'Complete (proven)'
	says 'proven for these launches (every schedule), 0 checked, 0 partial'
done
case=scalars
says '6 of 6 launches proven'
case=tiles
run none tiles
[ $code = 0 ] || fail "tiles: --prune=none: expected exit code 0, found $code"
grep -q 'proven for' "$dir/none" && fail 'tiles: --prune=none speaks of proofs'

# An element of a load that no path uses is only perhaps read, with a proof, too.
case=unused
run none unused
run proved unused
[ $code = 0 ] || fail "unused: expected exit code 0, found $code"
says '2 kernels: 2 proven for these launches (every schedule)'
grep -q '"class":"possible"' "$dir/proved.json" || fail 'unused: nothing is possible'
same

case=input
echo 1 >"$dir/racy"
run none input <"$dir/racy"
run proved input < <(echo 1)
[ $code = 10 ] || fail "input: expected exit code 10, found $code"
same
run proved input < <(echo 0)
says 'Complete (proven)'

# A counter that comes around leads to other threads' elements only with an odd step.
for case in partly places wraps; do
	run proved $case
	[ $code = 0 ] || fail "$case: expected exit code 0, found $code"
done

# Not racy, and not proven: nothing tests what the code assumes, or which of two arrays was meant.
case=either
run proved either
[ $code = 0 ] || fail "either: expected exit code 0, found $code"
grep -q 'proven for' "$dir/proved" && fail 'either: is proven, and not tested'
case=index
run proved index
[ $code = 0 ] || fail "index: expected exit code 0, found $code"
grep -q 'proven for' "$dir/proved" && fail 'index: is proven by what it assumes'
# A kernel with little to do isn't put to a proof by default.
case=small
run auto streams
grep -q 'proven for' "$dir/auto" && fail 'streams: --prune=auto proves what is quicker to check'
# Before a launch has ended that says how much is executed, its text doesn't earn it more than a
# budget; later the launches do.
guess() {
	"$collider" run --device=cpu --detector=oracle --log-file="$dir/proved" -- \
		env COLLIDER_CPU=seed=1:detector=oracle:prune=auto:prover="$collider":proof-guess=$1 "$program" turns \
		>"$dir/out" 2>&1
}
case=turns
guess 0
says '1 of 2 launches proven'
rm -rf "$XDG_CACHE_HOME"
guess 600000
says '1 proven for these launches (every schedule), 0 checked, 0 partial'
exit $failed
