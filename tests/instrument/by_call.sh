# by_call.sh COLLIDER DIR SITES_DUMP - which functions check by call: more than 160 groups, or more than 200
# accesses, one in fewer than 14 lines; unless a number is asked for, or a call is not wanted.
collider=$1
name=by_call.sh
. "$2/lib.sh"

# made ACCESSES LINES TARGET: a kernel with so many loads, three in a group, and so many other lines.
made() {
	awk -v n="$1" -v lines="$2" -v target="$3" 'BEGIN {
		print ".version 8.8\n.target " target "\n.address_size 64"
		print ".visible .entry kernel(.param .u64 p)\n{\n\t.reg .b32 %r<4>;\n\t.reg .b64 %rd<2>;"
		print "\tld.param.u64 %rd1, [p];\n\tmov.u32 %r3, 0;"
		for (i = 0; i < n; i++) {
			print "\tld.global.u32 %r" (i % 3) ", [%rd1+" 4 * i "];"
			if (i % 3 == 2)
				print "\tadd.u32 %r3, %r0, %r1;\n\txor.b32 %r3, %r3, %r2;\n\tst.volatile.global.u32 [%rd1], %r3;"
		}
		for (i = 0; i < lines; i++)
			print "\tadd.u32 %r3, %r3, 7;"
		print "\tst.volatile.global.u32 [%rd1], %r3;\n\tret;\n}"
	}'
}
# checks call|inline ACCESSES LINES OPTIONS...
checks() {
	want=$1 n=$2 lines=$3
	shift 3
	made "$n" "$lines" sm_80 >"$T/in.ptx"
	"$collider" instrument "$@" "$T/in.ptx" -o "$T/out.ptx" 2>"$T/err" || fail "$(cat "$T/err")"
	got=inline
	users_part "$T/out.ptx" | grep -q 'call (__collider_c2), __collider_check' && got=call
	[ $got = "$want" ] || fail "$n accesses, $lines more lines, '$*': found $got, expected $want"
	before=$(wc -l <"$T/in.ptx")
	after=$(users_part "$T/out.ptx" | sed -n '/\.entry kernel/,/^}/p' | wc -l)
}
checks inline 198 0
checks call 201 400
[ "$after" -le $((7 * before / 2)) ] || fail "by call: $after lines of $before, expected at most 3.5 times as many"
checks inline 201 5000
[ "$after" -le $((3 * before)) ] || fail "inlined: $after lines of $before, expected at most three times as many"
checks inline 201 0 --inline-checks=160
checks call 12 0 --inline-checks=3
checks inline 12 0 --inline-checks=4
checks call 3 0 --inline-checks=0
checks inline 201 0 --call-free
checks inline 201 0 --trap
checks call 483 20000
checks inline 480 20000
exit $bad
