# swaps.sh COLLIDER DIR - iguard's and watch's code assembles for every target, alone and beside the other
# detectors; from sm_90 on iguard swaps both words of an entry at once, below them one by one.
collider=$1 dir=$2
name=swaps
. "$dir/lib.sh"
needs ptxas

# ASSEMBLE: the targets for which ptxas makes machine code, which takes most of the time (all; "no": it isn't asked at
# all, under the sanitizers). For the others it says whether the text is legal. The verifier holds the code of each
# against isa_forms.def in any case.
assemble() { # assemble ARCH: $T/out.ptx
	local arch=$1
	[ "${ASSEMBLE-}" != no ] || return 0
	case " ${ASSEMBLE-$1} " in *" $1 "*) ;; *) arch=compute_${1#sm_} ;; esac
	ptxas -c -arch="$arch" "$T/out.ptx" -o "$T/out.cubin" 2>"$T/err"
}

for arch in sm_75 sm_80 sm_90 sm_90a sm_100 sm_120; do
	sed -e "s/^\.target.*/.target $arch/" -e 's/^\.version.*/.version 9.0/' "$dir/golden/iguard.ptx" >"$T/in.ptx"
	sets=iguard
	[ $arch != sm_90 ] || sets="iguard collide,hirace,iguard collide,hirace,iguard,watch"
	for set in $sets; do
		"$collider" instrument --sanitize=$set "$T/in.ptx" -o "$T/out.ptx" 2>"$T/err" ||
			fail "$arch $set: $(cat "$T/err")"
		assemble $arch ||
			fail "$arch $set: $(head -3 "$T/err")"
		pairs=$(grep -c 'atom\.relaxed\.gpu\.cas\.b128' "$T/out.ptx")
		case $arch in
		sm_75 | sm_80) [ "$pairs" -eq 0 ] || fail "$arch: swaps of 16 bytes" ;;
		*) [ "$pairs" -gt 0 ] || fail "$arch: no swap of 16 bytes" ;;
		esac
	done
done
# The others' for every target. watch: -O0 code with generic addresses, and constants without room; hirace:
# words of shared memory in a table and in global memory.
for arch in sm_75 sm_80 sm_90 sm_90a sm_100 sm_120; do
	for case in watch.watch watch.generic_call_free watch.shared_constant watch.speculated \
		hirace.hirace hirace.shared_constant hirace.speculated; do
		sed -e "s/^\.target.*/.target $arch/" -e 's/^\.version.*/.version 9.0/' "$dir/golden/${case#*.}.ptx" \
			>"$T/in.ptx"
		"$collider" instrument --sanitize=${case%.*} "$T/in.ptx" -o "$T/out.ptx" 2>"$T/err" ||
			fail "$arch $case: $(cat "$T/err")"
		assemble $arch ||
			fail "$arch $case: $(head -3 "$T/err")"
	done
done
# watch in clusters, alone and beside the others.
for arch in sm_90 sm_90a sm_100 sm_120; do
	for set in watch collide,hirace,iguard,watch; do
		sed -e "s/^\.target.*/.target $arch/" -e 's/^\.version.*/.version 9.0/' "$dir/golden/watch_cluster.ptx" \
			>"$T/in.ptx"
		"$collider" instrument --sanitize=$set "$T/in.ptx" -o "$T/out.ptx" 2>"$T/err" ||
			fail "$arch $set: $(cat "$T/err")"
		assemble $arch ||
			fail "$arch $set: $(head -3 "$T/err")"
		grep -q 'getctarank' "$T/out.ptx" || fail "$arch $set: no owner of shared memory is looked for"
	done
done
# Shared memory of another block of the cluster is neither shared nor global, and has no words: looked up as
# global memory it found others', and made kernels fail on a GPU.
for d in hirace iguard; do
	"$collider" instrument --sanitize=$d "$dir/cases/hirace_cluster.ptx" -o "$T/out.ptx" 2>"$T/err" || fail "$d: $(cat "$T/err")"
	grep -q 'isspacep\.global' "$T/out.ptx" || fail "$d: a generic address may be of another block of the cluster"
done
# hirace's, with words of shared memory in global memory.
for arch in sm_75 sm_90 sm_120; do
	sed -e "s/^\.target.*/.target $arch/" -e 's/^\.version.*/.version 9.0/' "$dir/cases/hirace_shared.ptx" >"$T/in.ptx"
	"$collider" instrument --sanitize=hirace "$T/in.ptx" -o "$T/out.ptx" 2>"$T/err" ||
		fail "$arch: $(cat "$T/err")"
	assemble $arch ||
		fail "$arch: $(head -3 "$T/err")"
done
exit $bad
