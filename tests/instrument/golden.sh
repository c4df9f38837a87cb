# golden.sh COLLIDER CASE.ptx - compares the complete user's part of the output with CASE.out.
# UPDATE=1 writes CASE.out anew. The compressed site table and its hash are left out: they depend
# on the path of the file and on libzstd.
collider=$1 case=$2
name=$(basename "$case")
. "$(dirname "$0")/lib.sh"
want=${case%.ptx}.out

"$collider" instrument $(sed -n 's|^// args: ||p' "$case") "$case" -o "$T/out.ptx" 2>"$T/err" ||
	fail "exit code $?: $(cat "$T/err")"
users_part "$T/out.ptx" | sed -e '/__collider_sites_/d' \
	-e 's/0x[0-9a-f]\{16\}/HASH/g' >"$T/have"
if [ -n "$UPDATE" ]; then
	cp "$T/have" "$want"
else
	diff -u "$want" "$T/have" >&2 || fail "differs from $want (UPDATE=1 writes it anew)"
fi
exit $bad
