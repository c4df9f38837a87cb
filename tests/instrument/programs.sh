# programs.sh COLLIDER PROGRAM.cu - a program and its racy variant (-DRACY) on the CPU device: the
# first must give its result and no report with any of 20 seeds, the other what its header expects,
# in at least 9 of 10 runs, and no data race on a line without a mark:
#   // expect: KIND at TAG     TAG: lines that end in "// race: TAG"; other tags may be reported
#   // told: TEXT              in the report of the race-free program
#   // also: OPTION            both once more with this option of collider run
#   // also built: OPTION      both once more, built with this option of collider nvcc
collider=$1 src=$2
name=$(basename "$src" .cu)
. "$(dirname "$0")/lib.sh"
command -v nvcc >/dev/null || { echo "no nvcc"; exit 77; }
unset COLLIDER_OPTIONS
arch=$(sed -n 's,^// arch: ,,p' "$src")

build() { # build OUTPUT FLAGS
	out=$1
	shift
	"$collider" nvcc -O3 -lineinfo -arch="${arch:-sm_90}" -cudart shared "$@" \
		-I"$(dirname "$0")/../../examples" "$src" -o "$out" >"$T/log" 2>&1 ||
		{ fail "can't be built: $(head -3 "$T/log")"; exit 1; }
}
# run PROGRAM SEED: its findings that are data races as "kind line" in $T/found
run() {
	rm -f "$T/json"
	# shellcheck disable=SC2086
	timeout 60 "$collider" run --device=cpu --seed="$2" --json="$T/json" --rdelay=5000 \
		--wdelay=5000 $option -- "$1" >"$T/stdout" 2>"$T/stderr"
	rc=$?
	grep -q '"verdict":"\(races\|no-race-seen\)"' "$T/json" ||
		fail "seed $2: no report: $(tail -1 "$T/stderr")"
	grep '"type":"finding"' "$T/json" | grep '"counts":true' |
		sed 's/.*"kind":"\([^"]*\)".*"line":\([0-9]*\),"column".*/\1 \2/' >"$T/found"
}

# A run of the race-free program; of the racy one, which sets hit.
run_fixed() {
	run "$T/fixed" "$1"
	[ $rc -eq 0 ] || fail "seed $1 $option: exit code $rc: $(tail -1 "$T/stdout")"
	[ -s "$T/found" ] && fail "seed $1 $option: false positive: $(cat "$T/found")"
}
run_racy() {
	run "$T/racy" "$1"
	hit=0
	while read -r k line; do
		if [ "$k" = "$kind" ] && grep -qx "$line" "$T/lines"; then
			hit=1
		elif ! sed -n "${line}p" "$src" | grep -q '// race: '; then
			fail "seed $1 $option: false positive $k at line $line"
		fi
	done <"$T/found"
}

option=
build "$T/fixed"
build "$T/racy" -DRACY
for seed in $(seq 20); do
	run_fixed "$seed"
done
sed -n 's,^// told: ,,p' "$src" >"$T/told"
while IFS= read -r want; do
	grep -Fq "$want" "$T/stderr" || fail "not told: $want"
done <"$T/told"
kind=$(sed -n 's,^// expect: \(.*\) at .*,\1,p' "$src")
tag=$(sed -n 's,^// expect: .* at ,,p' "$src")
grep -n "// race: $tag\$" "$src" | cut -d: -f1 >"$T/lines"
good=0
for seed in $(seq 10); do
	run_racy "$seed"
	good=$((good + hit))
done
[ $good -ge 9 ] || fail "racy variant found in $good of 10 runs: $kind at $(tr '\n' ' ' <"$T/lines")"
once() { # both once, with seed $1
	run_fixed "$1"
	run_racy "$1"
	[ $hit -eq 1 ] || fail "racy variant not found with $option"
}
option=$(sed -n 's,^// also: ,,p' "$src")
[ -z "$option" ] || once 21
flags=$(sed -n 's,^// also built: ,,p' "$src")
if [ -n "$flags" ]; then
	option=
	build "$T/fixed" "$flags"
	build "$T/racy" "$flags" -DRACY
	once 22
fi
exit $bad
