# instrument.sh - collider instrument from outside: files in and out, exit codes, no half output.
. "$(dirname "$0")/lib.sh"
cat >"$T/in.ptx" <<'PTX'
.version 8.0
.target sm_80
.address_size 64
.visible .entry copy(.param .u64 copy_p0, .param .u64 copy_p1)
{
	.reg .b32 %r<2>;
	.reg .b64 %rd<5>;
	ld.param.u64 %rd1, [copy_p0];
	ld.param.u64 %rd2, [copy_p1];
	cvta.to.global.u64 %rd3, %rd1;
	cvta.to.global.u64 %rd4, %rd2;
	ld.global.u32 %r1, [%rd3];
	st.global.u32 [%rd4], %r1;
	ret;
}
PTX

try 0 "$collider" instrument --sanitize=none "$T/in.ptx" -o "$T/plain.ptx"
is out ""
is err ""
grep -q __collider "$T/plain.ptx" && fail "--sanitize=none put something in"
grep -q 'ld.global.u32' "$T/plain.ptx" || fail "--sanitize=none lost the load"
try 0 "$collider" instrument "$T/in.ptx" -o "$T/checked.ptx" --stats
has err "1 kernels"
has err "2 sites"
grep -q __collider_knobs "$T/checked.ptx" || fail "no marker"
try 0 "$collider" instrument "$T/in.ptx"
cmp -s "$T/out" "$T/checked.ptx" || fail "standard output differs from -o"
"$collider" instrument - <"$T/in.ptx" >"$T/out" 2>"$T/err" || fail "standard input"
grep -q __collider_knobs "$T/out" || fail "no marker from standard input"

# --dump knows every pass: those over functions print functions, the others the module.
tables=$(dirname "$0")/../../src/base
{
	sed -n 's/^PASS([A-Z]*, "\([a-z]*\)", \([A-Z]*\),.*/\1 \2/p' "$tables/passes.def"
	sed -n 's/^DETECTOR([A-Z]*, \([a-z]*\),.*/\1 FUNCTION/p' "$tables/detectors.def"
} >"$T/passes"
[ "$(wc -l <"$T/passes")" -ge 11 ] || fail "no passes in passes.def"
while read -r pass scope; do
	case $scope in
	ALONE) set -- --strip "$T/checked.ptx" ;;
	*) set -- "$T/in.ptx" ;;
	esac
	case $pass in hirace | iguard | watch) set -- --sanitize="$pass" "$@" ;; esac
	try 0 "$collider" instrument --dump="$pass" "$@" -o "$T/dumped.ptx"
	has err "ld.global.u32"
	grep -q '^\.version' "$T/err" && head=yes || head=no
	case $scope-$head in
	FUNCTION-no | MODULE-yes | ALONE-yes) ;;
	*) fail "--dump=$pass: head of a module: $head" ;;
	esac
done <"$T/passes"
try 2 "$collider" instrument --dump=frob "$T/in.ptx"
has err "expected one of none|called|runtime|"

# Never twice.
try 0 "$collider" instrument "$T/checked.ptx" -o "$T/again.ptx"
has err "already"
cmp -s "$T/checked.ptx" "$T/again.ptx" || fail "instrumented twice"

# Both assemble.
needs ptxas
for f in plain checked; do
	try 0 ptxas -arch=sm_80 -o "$T/$f.cubin" "$T/$f.ptx"
done

# Too old: as it was, and said; --raise-target instruments it.
sed 's/sm_80/sm_60/' "$T/in.ptx" >"$T/old.ptx"
try 0 "$collider" instrument "$T/old.ptx" -o "$T/old.out"
has err "below sm_70"
grep -q __collider "$T/old.out" && fail "an old target was instrumented"
try 0 "$collider" instrument --raise-target "$T/old.ptx" -o "$T/old.out"
grep -q __collider_knobs "$T/old.out" || fail "--raise-target did nothing"

# Bad input: one line with the place, exit code 1, and the old output is still there.
echo old >"$T/kept"
try 1 "$collider" instrument "$T/none.ptx" -o "$T/kept"
lines err 1
has err "none.ptx: No such file"
try 1 "$collider" instrument "$T" -o "$T/kept"
lines err 1
echo 'int main(void) { return 0; }' >"$T/c.ptx"
try 1 "$collider" instrument "$T/c.ptx" -o "$T/kept"
has err "c.ptx:1:"
head -n 10 "$T/in.ptx" >"$T/cut.ptx"
try 1 "$collider" instrument "$T/cut.ptx" -o "$T/kept"
has err "cut.ptx:"
try 1 "$collider" instrument --sanitize=none "$T/cut.ptx" -o "$T/kept"
try 1 "$collider" instrument /dev/zero -o "$T/kept"
has err "/dev/zero: File too large"
[ "$(cat "$T/kept")" = old ] || fail "an output was changed on an error"
try 1 "$collider" instrument "$T/in.ptx" -o "$T/no/such/folder"
has err "No such file"

# Each opcode without operands, a kernel for each: ptxas refuses them, and we don't die of one before.
{
	printf '.version 8.8\n.target sm_100a\n.address_size 64\n.shared .align 8 .b64 s[64];\n'
	n=0
	sed -n 's/^OP([A-Z0-9_]*, "\([^"]*\)".*/\1/p' "$src/src/ptx/isa.def" | while read -r op; do
		n=$((n + 1))
		printf '.visible .entry k%d(.param .u64 p)\n{\n.reg .b32 %%r<3>; .reg .b64 %%d<2>;\n' $n
		printf 'ld.param.u64 %%d1, [p];\nst.shared.u32 [s], %%r1;\n%s;\n' "$op"
		printf 'ld.shared.u32 %%r2, [s];\nst.global.u32 [%%d1], %%r2;\nret;\n}\n'
	done
} >"$T/bare.ptx"
grep -q '^bar.warp.sync;' "$T/bare.ptx" || fail "no opcodes were found"
for detector in collide hirace iguard watch; do
	try 0 "$collider" instrument --sanitize=$detector "$T/bare.ptx" -o "$T/out.ptx"
done
finish
