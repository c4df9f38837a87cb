#!/bin/bash
# launched.sh - what a run noted of its launches is proven after it, and hides no race of others.
#
#   launched.sh COLLIDER LAUNCHED
#
# The second run of launched.cu has the proof; runs that are outside of it are checked, and their races
# are found in one of SEEDS (5) runs. Exit code 77 without a GPU.
set -u
collider=$1
program=$2
nvidia-smi -L >/dev/null 2>&1 || exit 77
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
unset COLLIDER_OPTIONS COLLIDER_TOOL_OPTIONS
export XDG_CACHE_HOME=$work/cache
mkdir "$work/cache"
bad=0
fail() {
	echo "FAIL: $*"
	bad=1
}

# run SEED ARGUMENT...: $work/err is the report
run() {
	local seed=$1
	shift
	timeout 60 "$collider" run --device=gpu --judge=off --seed="$seed" --json="$work/report" -- \
		"$program" "$@" >"$work/out" 2>"$work/err"
	[ "$(tail -1 "$work/out")" = done ] || fail "$*: $(cat "$work/out" "$work/err")"
}
found() {
	grep '"type"[[:space:]]*:[[:space:]]*"finding"' "$work/report" | grep -vc possible
}
wait_for_proofs() {
	for ((i = 0; i < 600; i++)); do
		grep -q "@collider-later-$(id -u)-" /proc/net/unix || return 0
		sleep 0.1
	done
	fail "proofs take a minute"
}
is_proven='1 kernel: 1 proven for these launches'

run 1 16 16 16
grep -q "$is_proven" "$work/err" && fail "the first run has a proof: $(cat "$work/err")"
[ "$(found)" = 0 ] || fail "a race in the first run: $(cat "$work/err")"
wait_for_proofs
run 1 16 16 16
grep -q "$is_proven" "$work/err" || fail "the second run has none: $(cat "$work/err")"
[ "$(found)" = 0 ] || fail "a race in the second run: $(cat "$work/err")"
# Larger numbers than were noted are as good.
run 1 16 16 40
grep -q "$is_proven" "$work/err" || fail "a larger number: $(cat "$work/err")"
for other in '16 16 8' '32 8 16'; do
	for ((seed = 1; seed <= ${SEEDS:-5}; seed++)); do
		# shellcheck disable=SC2086
		run $seed $other
		grep -q "$is_proven" "$work/err" && fail "$other: proven"
		[ "$(found)" = 0 ] || break
	done
	[ "$(found)" = 0 ] && fail "$other: no race: $(cat "$work/err")"
done
exit $bad
