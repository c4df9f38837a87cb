#!/bin/bash
# rows.sh - a finding names the thread of a proven launch that accessed the element, however its warp lies.
#
#   rows.sh COLLIDER PROGRAM
#
# Each case of rows.cu: the threads are those that are found without proofs. An element at the image's edge, which
# no thread of the first launch accesses, doesn't race.
collider=$1 program=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export XDG_CACHE_HOME=$dir/cache
failed=0

# run PRUNE ARGUMENTS... : the threads
run() {
	local prune=$1
	shift
	"$collider" run --device=cpu --detector=oracle --seed=1 --prune=$prune --log-file="$dir/$prune" "$program" "$@" \
		>/dev/null 2>&1
	grep 'By  *: ' "$dir/$prune"
}

while read -r races arguments; do
	# shellcheck disable=SC2086
	none=$(run none $arguments) proved=$(run proved $arguments)
	[ "$none" = "$proved" ] || { echo "FAIL $arguments: $none, but with proofs $proved" && failed=1; }
	[ -n "$proved" ] && found=yes || found=no
	[ $found = "$races" ] || { echo "FAIL $arguments: a race: $found" && failed=1; }
	grep -q '2 proven for these launches' "$dir/proved" || { echo "FAIL $arguments: not proven" && failed=1; }
done <<'CASES'
yes 64 32 1
yes 64 32 130
yes 64 32 190
yes 64 16 1037
yes 40 8 85
yes 34 16 250
yes 33 32 400
yes 100 32 4321
yes 300 0 1
yes 300 0 299
yes 64 0 33
no 64 32 64
no 64 16 63
no 34 16 33
no 33 8 1088
no 300 0 300
CASES
exit $failed
