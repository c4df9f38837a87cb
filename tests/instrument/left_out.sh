# left_out.sh COLLIDER DIR SITES_DUMP - which kernels iguard leaves to hirace: --iguard-kernels=strong does so where
# all accesses are plain, or sums of which no access is out of scope, and nothing but barriers of the block orders threads; all and auto leave none. Each access is
# checked once then, and the text is legal. Where iguard alone is asked for, hirace checks those kernels and no other;
# which of the two a module doesn't need isn't in it.
collider=$1
name=left_out.sh
. "$2/lib.sh"
needs ptxas

# kernel NAME TEXT: one that stores, does TEXT, and loads what another thread may have stored.
kernel() {
	printf '.visible .entry %s(.param .u64 p)\n{\n\t.reg .pred %%p<2>;\n\t.reg .b32 %%r<6>;\n\t.reg .b64 %%rd<4>;\n' "$1"
	printf '\t.shared .align 4 .b8 s_%s[512];\n' "$1"
	printf '\tld.param.u64 %%rd1, [p];\n\tmov.u32 %%r1, %%tid.x;\n\tmul.wide.u32 %%rd2, %%r1, 4;\n'
	printf '\tadd.s64 %%rd3, %%rd1, %%rd2;\n\tsetp.lt.u32 %%p1, %%r1, 32;\n\tmov.u32 %%r4, s_%s;\n' "$1"
	printf '\tst.global.u32 [%%rd3], %%r1;\n\tst.shared.u32 [%%r4], %%r1;\n\t%s\n' "$2"
	printf '\tld.global.u32 %%r2, [%%rd1];\n\tst.global.u32 [%%rd3+4096], %%r2;\n\tret;\n}\n'
}

{
	printf '.version 8.4\n.target sm_90\n.address_size 64\n'
	kernel left_barrier 'bar.sync 0;'
	kernel left_nothing ''
	kernel left_shuffle 'shfl.sync.bfly.b32 %r3, %r1, 1, 31, -1;'
	kernel kept_warp 'bar.warp.sync -1;'
	kernel kept_fence 'membar.gl;'
	kernel left_sum 'red.relaxed.gpu.global.add.u32 [%rd1], 1; bar.sync 0; red.relaxed.cta.shared.add.u32 [%r4], 1;'
	kernel left_unused 'atom.relaxed.gpu.global.exch.b32 %r3, [%rd1], 1;'
	kernel kept_block 'red.relaxed.cta.global.add.u32 [%rd1], 1;'
	kernel kept_drawn 'atom.relaxed.gpu.global.add.u32 %r3, [%rd1], 1; st.global.u32 [%rd3], %r3;'
	kernel kept_released 'red.release.gpu.global.add.u32 [%rd1], 1;'
	kernel kept_store 'st.relaxed.gpu.global.u32 [%rd1], 1;'
	kernel kept_flag 'ld.volatile.global.u32 %r3, [%rd1];'
	kernel kept_named 'barrier.sync 1, 64;'
	kernel kept_exit '@%p1 ret; bar.sync 0;'
} >"$T/in.ptx"

# Kernels with a check of iguard's.
checked() {
	awk '/\.entry/ { split($3, part, "("); kernel = part[1] }
	     /^}/ { kernel = "" }
	     kernel && /call .*__collider_iguard_/ { print kernel }' "$T/out.ptx" | sort -u | tr '\n' ' '
}

kept="kept_block kept_drawn kept_exit kept_fence kept_flag kept_named kept_released kept_store kept_warp "
every="${kept}left_barrier left_nothing left_shuffle left_sum left_unused "
while read -r set which want; do
	"$collider" instrument --sanitize=$set --iguard-kernels=$which "$T/in.ptx" -o "$T/out.ptx" 2>"$T/err" ||
		fail "$set $which: $(cat "$T/err")"
	# Machine code takes minutes; whether the text is legal doesn't.
	[ "$want" = all ] || ptxas -c -arch=compute_90 "$T/out.ptx" -o "$T/out.cubin" 2>"$T/err" ||
		fail "$set $which: $(head -3 "$T/err")"
	expected=$every
	[ "$want" = all ] || expected=$kept
	[ "$(checked)" = "$expected" ] || fail "$set $which: iguard checks $(checked)"
	# left_barrier's four accesses: hirace's calls are there in any case.
	n=$(awk '/\.entry left_barrier/ { is = 1 } /^}/ { is = 0 } is && /call .*__collider_hirace_[gs],/' "$T/out.ptx" | wc -l)
	case ${set#collide,},$which,$n in iguard,strong,4 | iguard,all,0 | *hirace*,4) ;; *) fail "$set $which: $n checks of hirace" ;; esac
	# Kernels that iguard keeps have hirace's checks where it is asked for, and never twice the same.
	n=$(awk '/\.entry kept_/ { is = 1 } /^}/ { is = 0 } is && /call .*__collider_hirace_/' "$T/out.ptx" | wc -l)
	case ${set#collide,},$((n > 0)) in iguard,0 | *hirace*,1) ;; *) fail "$set $which: $n calls of hirace's in iguard's kernels" ;; esac
done <<END
hirace,iguard strong some
collide,hirace,iguard strong some
hirace,iguard all all
hirace,iguard auto all
iguard strong some
collide,iguard strong some
iguard all all
END

# A module that has kernels of one kind only. hirace's functions, iguard's, the mark that iguard needs no words.
while read -r only hirace iguard idle; do
	awk -v only="$only" '/^\.visible/ { is = index($0, only) } !/^\.visible/ && !inside { is = is || /^\.(version|target|address)/ }
	     /^\.visible/ { inside = 1 } is || !inside { print } /^}/ { inside = 0 }' "$T/in.ptx" >"$T/one.ptx"
	"$collider" instrument --sanitize=iguard --iguard-kernels=strong "$T/one.ptx" -o "$T/out.ptx" 2>"$T/err" ||
		fail "$only: $(cat "$T/err")"
	ptxas -c -arch=compute_90 "$T/out.ptx" -o "$T/out.cubin" 2>"$T/err" || fail "$only: $(head -3 "$T/err")"
	got="$(grep -c 'func.*__collider_hirace_word' "$T/out.ptx") $(grep -c 'func.*__collider_iguard_g\b' "$T/out.ptx") $(
		grep -c '__collider_iguard_idle' "$T/out.ptx")"
	got=$(for n in $got; do echo $((n > 0)); done | tr '\n' ' ')
	[ "$got" = "$hirace $iguard $idle " ] || fail "$only: $got"
	grep -q '__collider_iguard\[' "$T/out.ptx" || fail "$only: iguard's mark is missing"
	# What was put in is taken out again.
	"$collider" instrument --strip "$T/out.ptx" -o "$T/back.ptx" 2>"$T/err" || fail "$only: $(cat "$T/err")"
	grep -q '__collider_hirace\|__collider_iguard' "$T/back.ptx" && fail "$only: checks stay"
done <<END
left_ 1 0 1
kept_ 0 1 0
END
exit $bad
