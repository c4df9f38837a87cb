# dirty.sh COLLIDER SOURCE_DIR CPU_RUN - what the check of a copy leaves at the destination, the dirty value,
# is there before each word of the copy lands, and is never there when it has: dirty.ptx is run as it is
# instrumented, and with the copies taken out after the checks. (Tensor copies need a tensor map that
# the run knows: programs/tensor_boxes.cu and tensor_races.cu compare each word of theirs.)
collider=$1 src=$2 cpu_run=$3
name=dirty
. "$src/lib.sh"

# values XOR: what comes to `out`, as expectations of cpu_run; of a block: two parts of its own, two of its peer
values() {
	awk -v x="$1" 'function bits(a, b,  r, p) {
		for (p = 1; a || b; p *= 2) {
			if (a % 2 != b % 2) r += p
			a = int(a / 2); b = int(b / 2)
		}
		return r + 0
	}
	BEGIN {
		for (i = 0; i < 832; i++) {
			part = i % 416 < 256 ? i : (i + 416) % 832
			printf("%s%d", i % 16 ? " " : sprintf("// expect out[%d] = ", i), bits(part, x))
			if (i % 16 == 15) print ""
		}
	}'
}

# --trap: checks run without an agent. cpu_run reads comments, which the instrumented text keeps only in part.
sed -n '/^\/\/ buffer/p; /^\/\/ launch/p' "$src/dirty.ptx" >"$T/head"
"$collider" instrument --trap "$src/dirty.ptx" -o "$T/out.ptx" 2>"$T/err" || fail "$(cat "$T/err")"
grep -v '^//' "$T/out.ptx" >"$T/body"
(cat "$T/head"; values 0; cat "$T/body") >"$T/with.ptx"
"$cpu_run" "$T/with.ptx" >"$T/log" 2>&1 || fail "a dirty value survives: $(head -3 "$T/log")"
# 0x0badbeef
(cat "$T/head"; values 195935983; sed -e '/^[[:space:]]*cp\.async\.[bc][ug]/d' -e '/^[[:space:]]*st\.async/d' \
	-e 's/arrive\.expect_tx\(.*\), 1152;/arrive\1;/' "$T/body") >"$T/without.ptx"
"$cpu_run" "$T/without.ptx" >"$T/log" 2>&1 || fail "not dirty: $(head -3 "$T/log")"
exit $bad
