# sites.sh COLLIDER SOURCE_DIR SITES_DUMP - the site table of what nvcc made, with inlined calls.
collider=$1 src=$2 dump=$3
name=sites
. "$src/lib.sh"
needs nvcc
line() { grep -n "// $1\$" "$src/inlined.cu" | cut -d: -f1; }

nvcc -arch=sm_80 -lineinfo -ptx "$src/inlined.cu" -o "$T/in.ptx" || fail "nvcc"
"$collider" instrument "$T/in.ptx" -o "$T/out.ptx" || fail "instrument"
"$dump" "$T/out.ptx" >"$T/sites" || fail "the table doesn't decode"
grep -q "^kernel inlined.cu:$(line 'the store') store global 4x1: st.global.* | in _Z5innerPii at inlined.cu:$(line 'inner called here') | in _Z5outerPii at inlined.cu:$(line 'outer called here')\$" "$T/sites" ||
	fail "not the chain inner, outer: $(cat "$T/sites")"

# What is not checked is named.
"$collider" instrument "$src/cases/untouched.ptx" -o "$T/out.ptx" || fail "instrument"
"$dump" "$T/out.ptx" >"$T/sites" || fail "the table doesn't decode"
grep -q '^unchecked 1 wmma.load.*s4' "$T/sites" || fail "wmma.load of 4 bits: $(cat "$T/sites")"
"$collider" instrument "$src/cases/tensor_forms.ptx" -o "$T/out.ptx" || fail "instrument"
"$dump" "$T/out.ptx" >"$T/sites" || fail "the table doesn't decode"
for want in 'tensor.4d.*\.im2col\.' 'tensor.3d.*\.im2col::w\.' 'async.bulk.tensor.3d.*\.im2col_no_offs' \
	'tensor.2d.*gather4' 'tensor.2d.*scatter4' 'reduce.async.bulk.tensor.3d.*im2col_no_offs'; do
	grep -q "^unchecked 1 cp\..*$want" "$T/sites" || fail "no $want: $(cat "$T/sites")"
done
"$collider" instrument "$src/cases/cp_async.ptx" -o "$T/out.ptx" || fail "instrument"
"$dump" "$T/out.ptx" >"$T/sites" || fail "the table doesn't decode"
for want in 'copy global 4x4: cp.async.cg' 'copy shared 4x4: cp.async.cg' 'copy global 4x2: .* %r2;$' \
	'copy shared 4x2: .* %r2;$'; do
	grep -q "^copies .* $want" "$T/sites" || fail "no $want: $(cat "$T/sites")"
done
"$collider" instrument "$src/cases/strength.ptx" -o "$T/out.ptx" || fail "instrument"
"$dump" "$T/out.ptx" >"$T/sites" || fail "the table doesn't decode"
grep -q '^unchecked 1 ld.acquire.gpu.global.u32' "$T/sites" || fail "ld.acquire"
grep -q ' nc-load global 4x1: ld.global.nc.u32' "$T/sites" || fail "ld.nc"
"$collider" instrument "$src/cases/speculated.ptx" -o "$T/out.ptx" || fail "instrument"
"$dump" "$T/out.ptx" >"$T/sites" || fail "the table doesn't decode"
grep -q '^select .* load global 4x1 speculated: ld.global.u32' "$T/sites" || fail "speculated"
grep -q '^sure .* load global 4x1: ld.global.u32' "$T/sites" || fail "sure"

# The line of an instruction that has none is the nearest one; `x += 1` is known as an update.
cat >"$T/lines.ptx" <<'EOF'
.version 8.0
.target sm_90
.address_size 64
.visible .entry lines(.param .u64 p)
{
	.reg .b64 %rd<3>;
	.reg .b32 %r<5>;
	.loc 1 7 2
	ld.param.u64 %rd1, [p];
	ld.global.u32 %r1, [%rd1];
	.loc 1 0 2
	st.global.u32 [%rd1+4], %r1;
	.loc 1 9 2
	ld.global.u32 %r2, [%rd1+8];
	add.s32 %r3, %r2, 1;
	st.global.u32 [%rd1+8], %r3;
	ret;
}
.file 1 "lines.cu"
EOF
"$collider" instrument "$T/lines.ptx" -o "$T/out.ptx" || fail "instrument"
"$dump" "$T/out.ptx" >"$T/sites" || fail "the table doesn't decode"
grep -q '^lines lines.cu:7 load global 4x1: ld.global.u32 %r1' "$T/sites" || fail "line 7: $(cat "$T/sites")"
grep -q '^lines lines.cu:7 store global 4x1 near: st.global' "$T/sites" || fail "near: $(cat "$T/sites")"
grep -q '^lines lines.cu:9 load global 4x1 add: ' "$T/sites" || fail "add: $(cat "$T/sites")"
grep -q '^lines lines.cu:9 store global 4x1 add: ' "$T/sites" || fail "add: $(cat "$T/sites")"
exit $bad
