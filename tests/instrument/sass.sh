# sass.sh COLLIDER SOURCE_DIR - what ptxas makes of a check: access, sleep, second read, in this
# order, and no barrier, fence or cache invalidation that the original lacks.
collider=$1 src=$2
name=sass
. "$src/lib.sh"
needs ptxas
nvdisasm=$("$src/../../tools/find_cuda.sh" nvdisasm) ||
	{ echo "sass: nvdisasm is missing: run 'make setup'" >&2; exit 1; }

# Memory and ordering instructions of one kernel, by name, in text order.
sass_of() { # PTX sm
	ptxas -arch="$2" "$1" -o "$T/x.cubin" || return 1
	"$nvdisasm" -c "$T/x.cubin" >"$T/x.sass" || return 1
	awk '/^\/\/-+ / { mine = $2 == ".text.check" } mine' "$T/x.sass" |
		grep -Eo '(LDG|STG|LDS|STS|NANOSLEEP|BAR|MEMBAR|ERRBAR|CCTL|FENCE|DEPBAR|LD|ST)(\.[A-Z0-9_.]*)?[ ;]' | tr -d ' ;'
}

for sm in sm_75 sm_80 sm_90 sm_100; do
	sed "s/^\.target.*/.target $sm/" "$src/sass.ptx" >"$T/in.ptx"
	"$collider" instrument "$T/in.ptx" -o "$T/out.ptx" || fail "instrument"
	sass_of "$T/in.ptx" $sm >"$T/plain" || fail "$sm: ptxas"
	sass_of "$T/out.ptx" $sm >"$T/checked" || fail "$sm: ptxas, instrumented"
	grep -E '^(BAR|MEMBAR|ERRBAR|CCTL|FENCE)' "$T/plain" | sort | uniq -c >"$T/a"
	grep -E '^(BAR|MEMBAR|ERRBAR|CCTL|FENCE)' "$T/checked" | sort | uniq -c >"$T/b"
	cmp -s "$T/a" "$T/b" || fail "$sm: ordering instructions differ: $(diff "$T/a" "$T/b")"
	# the count of launches; late warps; loads, sleep, strong re-reads; late warps after the barrier; the
	# store, sleep, strong re-read
	want='LDG NANOSLEEP LDG LDG NANOSLEEP LDG.STRONG LDG.STRONG BAR NANOSLEEP STG NANOSLEEP LDG.STRONG'
	have=$(sed -e 's/^LDG.*STRONG.*/LDG.STRONG/' -e 's/^LDG\.E.*/LDG/' -e 's/^STG.*/STG/' \
		-e 's/^BAR.*/BAR/' -e 's/^NANOSLEEP.*/NANOSLEEP/' "$T/checked" | grep -E '^(LDG|STG|BAR|NANOSLEEP)' | tr '\n' ' ')
	case $have in
	"$want "*) ;;
	*) fail "$sm: found $have, expected $want" ;;
	esac
done
exit $bad
