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

# What is not checked is told by name.
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
exit $bad
