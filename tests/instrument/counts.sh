# counts.sh COLLIDER DIR SITES_DUMP - a program with its checks inlined, and the same with calls, on the CPU
# device: the same number of checked accesses, the same findings.
collider=$1
name=counts.sh
. "$2/lib.sh"
needs nvcc
unset COLLIDER_OPTIONS

for how in 160 0; do
	"$collider" nvcc -lineinfo -O0 -arch=compute_90 --no-fit -cudart shared --inline-checks=$how \
		"$2/counts.cu" -o "$T/program.$how" >"$T/log" 2>&1 ||
		{ fail "can't be built: $(head -3 "$T/log")"; exit 1; }
done
cmp -s "$T/program.160" "$T/program.0" && fail "the same program with and without calls"

# run HOW SEED ARGUMENTS: the report in $T/json
run() {
	how=$1 seed=$2
	shift 2
	"$collider" run --detector=collide --device=cpu --seed="$seed" --rdelay=5000 --wdelay=5000 \
		--json="$T/json" -- "$T/program.$how" "$@" >"$T/out" 2>"$T/err"
	rc=$?
	[ $rc -le 1 ] && grep -q '^done$' "$T/out" || fail "$how, seed $seed: exit code $rc: $(cat "$T/out" "$T/err")"
}
findings() {
	grep '"type":"finding"' "$T/json" | sed 's/"launched":\[[^]]*\],//' |
		sed 's/.*"class":"\([^"]*\)","kind":"\([^"]*\)".*"line":\([0-9]*\),"column".*/\1 \2 \3/'
}

for how in 160 0; do
	run $how 1
	checked=$(grep '"type":"summary"' "$T/json" | grep -o '"checked":[0-9]*' | head -1 | cut -d: -f2)
	[ "$checked" = 928 ] || fail "--inline-checks=$how: $checked checked accesses, expected 14 * 64 + 32"
	[ -z "$(findings)" ] || fail "--inline-checks=$how: false positive: $(findings)"
	: >"$T/findings.$how"
	for seed in 1 2 3 4 5 6; do
		run $how $seed racy
		findings >>"$T/findings.$how"
	done
	sort -u "$T/findings.$how" >"$T/seen.$how"
done
cmp -s "$T/seen.160" "$T/seen.0" || fail "inlined: $(cat "$T/seen.160"), by call: $(cat "$T/seen.0")"
grep -q '^data-race clobbered-read' "$T/seen.0" || fail "no read was found to race: $(cat "$T/seen.0")"
exit $bad
