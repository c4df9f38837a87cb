#!/bin/sh
# host_accesses.sh COLLIDER PROGRAM - --host-accesses: races of host code with kernels are reported, with
# the host's function; what is ordered isn't, and no program behaves differently than without the option.
set -eu
collider=$1
program=$2
out=$(mktemp)
trap 'rm -f "$out"' EXIT
[ "$(uname -m)" = x86_64 ] || exit 0 # there is no such option elsewhere

# judge CASE TEXT...: the report holds the texts; "no race seen" excludes all races
judge() {
	how=$1
	shift
	for seed in 1 2 3; do
		rc=0
		timeout 120 "$collider" run --detector=oracle $options --seed=$seed -- "$program" $how \
			>"$out" 2>&1 || rc=$?
		if [ $rc != 0 ] || ! grep -q "^ok$" "$out"; then
			cat "$out"
			echo "$how, seed $seed: exit code $rc, expected ok" >&2
			exit 1
		fi
		for t in "$@"; do
			grep -qF -- "$t" "$out" && continue
			cat "$out"
			echo "$how, seed $seed: expected: $t" >&2
			exit 1
		done
	done
}
clean="no race seen"
for apart in one separate; do
	options="--host-accesses --host-threads=$apart --verbose" # says 0, too
	judge read_beside "DATA RACE: unordered" "of host code: read_beside"
	judge write_beside "DATA RACE: unordered" "of host code: write_beside"
	judge variable "DATA RACE: unordered" "of host code: by_variable"
	judge forms_race "DATA RACE: unordered" "of host code: all_forms"
	judge to_kernel_relaxed "DATA RACE: unordered" "of host code: to_kernel"
	for how in read_behind write_before other_bytes to_kernel from_kernel calls handler threads forms child; do
		judge $how "$clean" " of them "
	done
done
judge registered "$clean" "bytes of memory that the program registered (cudaHostRegister," \
	"    2 calls); from the first on none of its loads and stores was judged" \
	"host code could not be watched, or not in full"
# Without the option, too, but for programs with handlers of their own.
options=
judge write_beside "DATA RACE: unordered" "of host code: write_beside"
# It can be switched off, and the report says so.
options=--host-accesses=no
judge write_beside "$clean" "not seen: loads and stores of host code"
