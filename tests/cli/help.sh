# help.sh - help, version, manual page, and the generated docs/options.md.
. "$(dirname "$0")/lib.sh"

try 0 "$collider" help
has out "Usage: collider COMMAND"
for c in nvcc ptxas instrument run report sweep reduce suppress history hirace prove doctor; do
	has out "  $c "
done
is err ""
try 0 "$collider" --help
has out "Usage: collider COMMAND"
try 0 "$collider" help --help
has out "Usage: collider COMMAND"

# Each command explains itself in two ways, with the same words.
for c in instrument run report sweep reduce suppress history hirace prove doctor; do
	try 0 "$collider" help $c
	has out "Usage: collider $c"
	[ $c = run ] || has out "Options:"
	has out "Examples:"
	cp "$T/out" "$T/help"
	try 0 "$collider" $c --help
	cmp -s "$T/out" "$T/help" || fail "$c --help differs from help $c"
	try 0 "$collider" $c -h
	cmp -s "$T/out" "$T/help" || fail "$c -h differs from help $c"
	is err ""
done
for c in nvcc ptxas; do
	try 0 "$collider" help $c
	has out "Usage: collider $c"
done

try 0 "$collider" --version
lines out 1
has out "collider "

# docs/options.md is what the table says, and docs/exit-codes.md knows every code of it.
try 0 "$collider" help --markdown
cmp -s "$T/out" "$src/docs/options.md" ||
	fail "docs/options.md is old; renew it: collider help --markdown > docs/options.md"
for code in $(sed -n '/^## Exit codes/,$s/^- `\([0-9]*\)`.*/\1/p' "$T/out"); do
	grep -q "| $code |" "$src/docs/exit-codes.md" || fail "docs/exit-codes.md lacks $code"
done

# The manual page goes through a roff without a complaint.
try 0 "$collider" help --man
has out ".TH COLLIDER 1"
has out ".SH EXIT STATUS"
cp "$T/out" "$T/collider.1"
needs groff
try 0 groff -man -Tascii -P-c -P-b -P-u -ww "$T/collider.1"
is err ""
has out "--rdelay=NS"
man=$(dirname "$collider")/../share/man/man1/collider.1
cmp -s "$T/collider.1" "$man" || fail "the built manual page differs from help --man"

# A full disk is an error.
if [ -w /dev/full ]; then
	"$collider" help >/dev/full 2>"$T/err"
	[ $? = 3 ] || fail "help to /dev/full"
	has err "No space left"
fi

# The help of run is in groups, of which research is the last; each option is in one of them.
try 0 "$collider" help run
has out "The report:"
names() { grep -oE '^ {2,6}(-[a-z], )?--[a-z-]+' | grep -oE -- '--[a-z-]+' | sort; }
sed -n '/^Examples:/q;p' "$T/out" | names >"$T/grouped"
"$collider" help --markdown | sed -n '/^## collider run$/,/^Examples:/p' | grep -oE '^- `(-[a-z], )?--[a-z-]+' |
	grep -oE -- '--[a-z-]+' | sort >"$T/all"
cmp -s "$T/grouped" "$T/all" || fail "options of run in no group, or in two: $(diff "$T/grouped" "$T/all")"
[ "$(grep -E '^[A-Z][^:]*:$' "$T/out" | tail -2 | head -1)" = "For research:" ] || fail "research isn't last"

# The completion knows the commands, a command's options and the choices of an option.
try 0 "$collider" help --completion=bash
cp "$T/out" "$T/completion"
completed() {
	bash -c '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); compopt() { :; }
		_collider; printf "%s\n" "${COMPREPLY[@]}"' - "$T/completion" "$@" >"$T/out"
}
completed collider ru
lines out 1
has out run
completed collider run --mem
lines out 1
has out "--memory-model="
completed collider run --memory-model = w
lines out 1
has out weak

# Those of zsh and fish have each command, and an option's choices; quotes within help are escaped.
for shell in zsh fish; do
	try 0 "$collider" help --completion=$shell
	for c in nvcc run report history; do
		grep -q "['( ]$c[:) ' ]" "$T/out" || fail "$shell: no $c"
	done
	has out "sc weak"
	try 2 "$collider" help --completion=csh
	[ "$(tr -cd "'" <"$T/out" | wc -c)" = 0 ] || fail "something of csh"
done
"$collider" help --completion=zsh >"$T/out"
[ "$(sed "s/'\\\\''//g" "$T/out" | tr -cd "'" | wc -c | awk '{print $1 % 2}')" = 0 ] || fail "zsh: a quote is open"
"$collider" help --completion=fish >"$T/out"
[ "$(sed "s/\\\\'//g" "$T/out" | tr -cd "'" | wc -c | awk '{print $1 % 2}')" = 0 ] || fail "fish: a quote is open"

# A command's manual page: its options, and no other's.
try 0 "$collider" help --man history
has out ".SH OPTIONS"
has out "\\-\\-db"
hasnt out "\\-\\-detector"

# -qv is -q and -v.
try 0 "$collider" run -qv -- true
try 2 "$collider" run -qx -- true
finish
