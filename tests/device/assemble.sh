#!/bin/sh
# assemble.sh PTXAS EMBED_TEXT - the report functions assemble for every target, uses nothing newer
# than PTX 6.3, and holds no fence, barrier or weak access.
set -e
ptxas=$1
text=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

grep -q '^\.weak \.func __collider_changed(' "$text" || { echo "not .weak"; exit 1; }
if grep -nE 'fence|membar|bar\.|barrier|\.acquire|\.release|acq_rel' "$text"; then
	echo "orders memory"
	exit 1
fi
# Parameters are read with ld.param, results given with st.param, knobs with ld.const; every other access says .relaxed.
if grep -E '^[[:space:]]*(@%p[0-9]+ )?(ld|st|atom|red)\.' "$text" |
	grep -vE 'ld\.param|st\.param|ld\.const|\.relaxed\.(gpu|sys)\.global'; then
	echo "an access that is not .relaxed on .global"
	exit 1
fi
# The oldest language that instrumented modules have; ptxas knows targets from sm_75 on.
knobs='.const .align 16 .b32 __collider_knobs[16];'
sed -e 's/^\.version.*/.version 6.3/' -e "s/^\.address_size.*/&\n$knobs/" "$text" >"$tmp/old.ptx"
"$ptxas" -c -arch=sm_75 "$tmp/old.ptx" -o "$tmp/old.cubin"
sed -e 's/^\.target.*/.target sm_70/' "$tmp/old.ptx" >"$tmp/70.ptx"
"$ptxas" -c -arch=sm_75 "$tmp/70.ptx" -o "$tmp/70.cubin"
for arch in sm_75 sm_80 sm_86 sm_89 sm_90 sm_90a sm_100 sm_100a sm_120; do
	sed -e "s/^\.target.*/.target $arch/" -e "s/^\.address_size.*/&\n$knobs/" "$text" >"$tmp/$arch.ptx"
	"$ptxas" -c -arch=$arch "$tmp/$arch.ptx" -o "$tmp/$arch.cubin"
	# A kernel that calls it, whole program: the frame must not grow past the budget.
	cat "$tmp/$arch.ptx" "$(dirname "$0")/caller.ptxt" >"$tmp/k.ptx"
	"$ptxas" -v -arch=$arch "$tmp/k.ptx" -o "$tmp/k.cubin" 2>"$tmp/v"
	regs=$(sed -n 's/.*Used \([0-9]*\) registers.*/\1/p' "$tmp/v")
	echo "$arch: saxpy with one checked load uses $regs registers"
	[ "$regs" -le 48 ] || { echo "over budget"; exit 1; }
	if grep -qE '[1-9][0-9]* bytes (stack|spill)' "$tmp/v"; then
		echo "stack frame or spill"
		cat "$tmp/v"
		exit 1
	fi
done
