# strip.sh COLLIDER CUBIN_SAME PTX... - what --strip leaves of an instrumented file has the original's
# machine code and names nothing of ours; what was not instrumented is left as it is.
#
# A file that doesn't assemble by itself (a case may be a fragment for a newer ptxas) is compared as
# text, without .version and .loc. At least half of the files must assemble.
here=$(cd "$(dirname "$0")" && pwd)
collider=$1 same=$2
shift 2
name=strip
. "$here/lib.sh"
command -v ptxas >/dev/null || { echo "strip: found no ptxas, expected that of the CUDA toolkit"; exit 1; }
assembled=0

text_of() { # without what may differ
	"$collider" instrument --sanitize=none "$1" -o - | grep -vE '^\.version|^[[:space:]]*(\.loc|//)'
}

for f; do
	grep -q '__collider_' "$f" && continue # made to look instrumented
	arch=$(sed -n 's/^\.target[[:space:]]*\(sm_[0-9]*[af]\{0,1\}\).*/\1/p' "$f" | head -1)
	"$collider" instrument "$f" -o "$T/in.ptx" 2>"$T/err" || continue
	"$collider" instrument --strip "$T/in.ptx" -o "$T/out.ptx" || { fail "$f: --strip"; continue; }
	grep -v '^[[:space:]]*//' "$T/out.ptx" | grep -E '[%$_]collider_' &&
		fail "$f: names of ours are left"
	"$collider" instrument --strip "$f" -o "$T/plain.ptx" || fail "$f: --strip of the original"
	text_of "$f" >"$T/a"
	text_of "$T/plain.ptx" | cmp -s - "$T/a" || fail "$f: --strip changed the original"
	if ptxas -arch="$arch" "$f" -o "$T/orig.cubin" >/dev/null 2>&1; then
		assembled=$((assembled + 1))
		ptxas -arch="$arch" "$T/out.ptx" -o "$T/out.cubin" >"$T/log" 2>&1 ||
			{ fail "$f: $(head -1 "$T/log")"; continue; }
		"$same" "$T/orig.cubin" "$T/out.cubin" >"$T/log" || fail "$f: $(head -1 "$T/log")"
	else
		text_of "$T/out.ptx" | cmp -s - "$T/a" || fail "$f: other text"
	fi
done
[ $((2 * assembled)) -ge $# ] || fail "only $assembled of $# files assembled"
[ $bad -ne 0 ] || echo "$# files, $assembled of them compared by their machine code"
exit $bad
