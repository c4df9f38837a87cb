#!/bin/bash
# sampled.sh - launches of a kernel that has run clean are sampled, with proofs and without (sampled.cu):
#
#   sampled.sh COLLIDER SAMPLED.CU cpu|gpu
#
# On a GPU, as loaded and as built: after 64 clean launches about 15 of 16 go unchecked, which the report
# says; a race in each launch is found, and keeps all checked from when the host has seen it (on a busy
# machine that is late: launches are queued faster); one in the last launch is found
# in some runs and missed in others, and in each with --dense=0, which checks all. The CPU device checks
# all launches of the same built code. Exit code 77 without a GPU.
set -u
collider=$1 source=$2 device=$3
[ "$device" = cpu ] || nvidia-smi -L >/dev/null 2>&1 || exit 77
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
unset COLLIDER_OPTIONS COLLIDER_TOOL_OPTIONS
export XDG_CACHE_HOME=$dir/cache
mkdir "$dir/cache"
flags=(-std=c++14 -O2 -lineinfo -cudart shared -gencode "arch=compute_90,code=[sm_90,compute_90]")
failed=0

fail() {
	echo "FAIL $program, $detector, --prune=$prune: $*"
	cat "$dir/log"
	failed=1
}

# run FORM OPTIONS...: the exit code in $code, how many launches were left out in $out
run() {
	local form=$1 judge=
	shift
	[ "$device" = cpu ] || judge=--judge=off
	timeout 100 "$collider" run --device="$device" ${judge:+"$judge"} --detector=$detector --prune=$prune \
		--error-exitcode=10 --log-file="$dir/log" --json="$dir/json" "$@" -- "$dir/$program" "$form" >"$dir/out" 2>&1
	code=$?
	grep -qx ok "$dir/out" || fail "$form: the program: $(cat "$dir/out")"
	out=$(sed -n 's/.*"type":"kernel","function":"step.*"sampled":\([0-9]*\).*/\1/p' "$dir/json")
	out=${out:-0}
}

expect() { # expect FORM CODE LEAST MOST OPTIONS...
	local form=$1 want=$2 least=$3 most=$4
	shift 4
	run "$form" "$@"
	[ $code = "$want" ] || fail "$form $*: exit code $code, $want expected"
	[ "$out" -ge "$least" ] && [ "$out" -le "$most" ] || fail "$form $*: $out launches left out"
	[ "$out" = 0 ] || grep -q 'SAMPLED' "$dir/log" || fail "$form $*: the report doesn't say so"
}

# The race of the last launch: which launches are checked hangs on the seed.
late() {
	local found=0 missed=0 seed
	for ((seed = 1; seed <= 100; seed++)); do
		run late --seed=$seed
		case $code in
		10) found=1 ;;
		0) missed=1 ;;
		*) fail "late: exit code $code" ;;
		esac
		[ $found$missed = 11 ] && return
	done
	fail "late: found in none of 100 runs, or in all: $found $missed"
}

program=plain detector=- prune=-
: >"$dir/log"
if [ "$device" = gpu ]; then
	nvcc "${flags[@]}" "$source" -o "$dir/plain" || exit 2
fi
for detector in hirace iguard hirace,iguard; do
	for prune in none auto; do
		program=built
		"$collider" nvcc --sanitize=$detector --prune=$prune "${flags[@]}" "$source" -o "$dir/built" || exit 2
		"$collider" nvcc --sanitize=$detector --prune=$prune --no-fit -arch=sm_90 -ptx -o "$dir/text" "$source" || exit 2
		grep -q collider_plain "$dir/text" || fail 'no code for a sample'
		if [ "$device" = cpu ]; then
			for form in every late; do expect $form 10 0 0; done
			expect apart 0 0 0
			continue
		fi
		for program in plain built; do
			expect every 10 0 919
			expect every 10 0 0 --dense=0
			expect apart 0 810 920
			expect apart 0 0 0 --dense=0
			expect late 10 0 0 --dense=0
			[ $program != plain ] || [ $detector != hirace,iguard ] || late
			echo "$program, $detector, --prune=$prune: done"
		done
	done
done
exit $failed
