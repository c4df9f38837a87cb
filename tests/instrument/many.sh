# many.sh COLLIDER - a block of very many loads of one register, discarded and used: what is done for each of them must
# not look at all of them.
#
# Twice as many took four times as long once: 200,000 would take 80 seconds of processor time, and take one.
collider=$1
name=many
. "$(dirname "$0")/lib.sh"

# many COUNT END COUNTED: so many loads, then END; what --stats must say.
many() {
	awk -v n="$1" -v end="$2" 'BEGIN {
		print ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p) {"
		print ".reg .b32 %r<4>;\n.reg .b64 %rd<3>;\nld.param.u64 %rd1, [p];"
		for (i = 0; i < n; i++)
			printf "ld.global.u32 %%r2, [%%rd1+%d];\nadd.u32 %%r1, %%r1, %%r2;\n", 4 * i
		print end "\nret;\n}"
	}' >"$T/in.ptx"
	(
		ulimit -t 40
		exec "$collider" instrument --stats "$T/in.ptx" -o "$T/out.ptx"
	) >"$T/log" 2>&1 || fail "$1 loads: exit code $?: $(tail -1 "$T/log")"
	grep -q " $3[ ,]" "$T/log" || fail "$1 loads: found $(tail -1 "$T/log"), expected $3"
}

many 200000 '' '200000 dead'
many 20000 'st.global.u32 [%rd1+800000], %r1;' '20001 sites'
exit $bad
