# case.sh COLLIDER CASE.ptx - instruments one PTX file and compares with what its comments say:
#   // args: ...          further arguments of `collider instrument`
#   // expect: LINE       a line of the output; * stands for any text
#   // expect-not: LINE   no such line
#   // expect-count: N LINE
#   // expect-added-count: N LINE   the same with what Collider's own functions hold
#   // expect-stats: TEXT in the line that --stats prints
#   // expect-said: TEXT  another line on standard error
#   // expect-order: A >> B >> C   lines in this order, the first match of each after the one before
#   // not-assembled: WHY
# Every output must assemble for each target that the original assembles for; without calls and
# with --trap for sm_75, sm_90a, sm_100 and sm_100a; with all checks by calls for sm_75, sm_90a and sm_100.
# ptxas makes machine code for sm_90a, where anything can; for the others it reads the text as for a virtual
# architecture, which takes a twentieth of the time and refuses what is no legal PTX. ASSEMBLE=all (`make soak`): machine
# code for each target. ASSEMBLE=no, for the sanitizers' build: ptxas is not ours, and gets the same texts from the plain
# build; they are only made, for the case's own target.
collider=$1 case=$2
name=$(basename "$case")
. "$(dirname "$0")/lib.sh"

said() { sed -n "s|^[[:space:]]*// $1: ||p" "$case"; }
# A pattern with * as an anchored regular expression.
regex() {
	printf '%s' "$1" | sed -e 's/[][\.|$(){}+?^]/\\&/g' -e 's/\*/.*/g' -e 's/^/^[[:space:]]*/' -e 's/$/$/'
}

# shellcheck disable=SC2046
"$collider" instrument --stats $(said args) "$case" -o "$T/out.ptx" 2>"$T/err" ||
	fail "exit code $?: $(cat "$T/err")"
users_part "$T/out.ptx" | numberless >"$T/users"

said expect >"$T/list"
while IFS= read -r want; do
	grep -Eq "$(regex "$want")" "$T/users" || fail "no line: $want"
done <"$T/list"
said expect-not >"$T/list"
while IFS= read -r want; do
	grep -E "$(regex "$want")" "$T/users" >"$T/hit" && fail "unexpected: $(head -1 "$T/hit")"
done <"$T/list"
said expect-count >"$T/list"
while read -r n want; do
	have=$(grep -Ec "$(regex "$want")" "$T/users")
	[ "$have" = "$n" ] || fail "found $have times, expected $n: $want"
done <"$T/list"
said expect-added-count >"$T/list"
while read -r n want; do
	have=$(grep -Ec "$(regex "$want")" "$T/out.ptx")
	[ "$have" = "$n" ] || fail "found $have times in all, expected $n: $want"
done <"$T/list"
said expect-stats >"$T/list"
while IFS= read -r want; do
	grep -Fq "$want" "$T/err" || fail "stats without '$want': $(cat "$T/err")"
done <"$T/list"
said expect-said >"$T/list"
while IFS= read -r want; do
	grep -Fq "$want" "$T/err" || fail "not said: $want; but: $(cat "$T/err")"
done <"$T/list"
said expect-order >"$T/list"
while IFS= read -r want; do
	from=1
	printf '%s\n' "$want" | sed 's/ >> /\
/g' >"$T/steps"
	while IFS= read -r step; do
		at=$(tail -n +$from "$T/users" | grep -En -m1 "$(regex "$step")" | cut -d: -f1)
		[ -n "$at" ] || { fail "not after line $from of the user's part: $step ($want)"; break; }
		from=$((from + at))
	done <"$T/steps"
done <"$T/list"

if [ "${ASSEMBLE:-}" = no ]; then
	"$collider" instrument --call-free --trap "$case" -o "$T/b.ptx" 2>"$T/err" ||
		fail "call-free: $(cat "$T/err")"
elif [ -z "$(said not-assembled)" ]; then
	needs ptxas
	tried=0
	for sm in 75 80 86 89 90 90a 100 100a; do
		sed "s/^\.target sm_[0-9]*[af]*/.target sm_$sm/" "$case" >"$T/in.ptx"
		arch=compute_$sm
		[ $sm != 90a ] && [ "${ASSEMBLE:-}" != all ] || arch=sm_$sm
		ptxas -arch=$arch -o "$T/a.cubin" "$T/in.ptx" >/dev/null 2>&1 || continue
		tried=$((tried + 1))
		# calls for every target, call-free for one of each kind: ptxas is the time of this test
		free= calls=
		case $sm in 75 | 90a | 100 | 100a) free="--call-free --trap" ;; esac
		case $sm in 75 | 90a | 100) calls="--inline-checks=0" ;; esac
		for args in "" ${free:+"$free"} ${calls:+"$calls"}; do
			# shellcheck disable=SC2086
			"$collider" instrument $args "$T/in.ptx" -o "$T/b.ptx" 2>"$T/err" ||
				fail "sm_$sm $args: $(cat "$T/err")"
			ptxas -arch=$arch -o "$T/b.cubin" "$T/b.ptx" >"$T/err" 2>&1 ||
				fail "ptxas -arch=$arch ($args): $(head -3 "$T/err")"
		done
	done
	[ $tried -gt 0 ] || fail "the case itself assembles for no target"
fi
exit $bad
