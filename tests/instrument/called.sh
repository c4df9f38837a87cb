# called.sh COLLIDER HERE SITES_DUMP CUBIN_SAME - functions that are called (cases/called.ptx), for the
# detectors that follow them, alone and with the others: ptxas takes the result for each target, what --strip
# leaves has the original's machine code, and a kernel that calls nothing is the same as without the others.
collider=$1 here=$2 same=$4
name=called
. "$here/lib.sh"
needs ptxas

entry() { sed -n "/\.entry $2(/,/^}/p" "$1" | sed -e 's/0x[0-9a-f]\{16\}/HASH/g' | numberless; }

while read -r sm detectors; do
	sed "s/^\.target.*/.target sm_$sm/" "$here/cases/called.ptx" >"$T/in.ptx"
	"$collider" instrument --sanitize=$detectors "$T/in.ptx" -o "$T/out.ptx" 2>"$T/log" ||
		{ fail "$detectors: $(head -1 "$T/log")"; continue; }
	# -c: not once more for each kernel.
	ptxas -c -arch=sm_$sm "$T/out.ptx" -o "$T/out.cubin" >"$T/log" 2>&1 ||
		fail "$detectors, sm_$sm: $(grep -m1 error "$T/log")"
	"$collider" instrument --strip "$T/out.ptx" -o "$T/plain.ptx" || fail "$detectors: --strip"
	ptxas -arch=sm_$sm "$T/in.ptx" -o "$T/in.cubin" >"$T/log" 2>&1 &&
		ptxas -arch=sm_$sm "$T/plain.ptx" -o "$T/plain.cubin" >"$T/log" 2>&1 &&
		"$same" "$T/in.cubin" "$T/plain.cubin" >"$T/log" ||
		fail "$detectors, sm_$sm, after --strip: $(head -1 "$T/log")"
done <<END
75 hirace
90 collide,hirace,iguard,watch
100a iguard
END
# Without the functions, and the kernels that call them.
sed -e '/^\.func/,/^}/d' -e '/^\.global/d' -e '/\.entry kernel/,/^}/d' -e '/\.entry other/,/^}/d' \
	"$here/cases/called.ptx" >"$T/alone.ptx"
for detector in hirace iguard; do
	"$collider" instrument --sanitize=$detector "$here/cases/called.ptx" -o "$T/out.ptx" || fail instrument
	"$collider" instrument --sanitize=$detector "$T/alone.ptx" -o "$T/plain.ptx" || fail instrument
	entry "$T/plain.ptx" alone >"$T/a"
	entry "$T/out.ptx" alone >"$T/b"
	[ -s "$T/a" ] || fail "no kernel is left"
	# A number of its site, 20 bits of what a check is given, differs.
	sed 's/__collider_[hg]_what\], [0-9]*/WHAT/; s/, [0-9]*; *$/;/' "$T/a" >"$T/a1"
	sed 's/__collider_[hg]_what\], [0-9]*/WHAT/; s/, [0-9]*; *$/;/' "$T/b" | cmp -s - "$T/a1" ||
		fail "$detector: a kernel that calls nothing is another one"
done
exit $bad
