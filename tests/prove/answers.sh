#!/bin/bash
# answers.sh COLLIDER STEPS: the solver's answers are kept by query. They are found again after
# another kernel of the file was edited, and not where the query, the contract or the encoding is
# another; a file that is cut off is no answer.
collider=$1 steps=$2
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
export XDG_CACHE_HOME=$tree/cache
mkdir "$tree/cache"
failed=0

expect() { # expect VERDICT CONDITION ARGUMENTS...: of kernel "kept"; q queries, r of them recalled
	local verdict=$1 condition=$2 out
	shift 2
	out=$("$collider" prove --format=json --no-remedies "$@")
	printf '%s' "$out" >"$tree/out"
	python3 - "$verdict" "$condition" "$tree/out" <<'PY' || { echo "FAIL prove $*"; failed=1; }
import json, sys
verdict, condition, path = sys.argv[1:]
k = next(k for k in json.load(open(path))['kernels'] if k['name'] != 'other')
q, r = k['queries'], k['recalled']
if k['verdict'] != verdict or not eval(condition, {'q': q, 'r': r, 'cached': k['cached']}):
    print('found', k['verdict'], q, 'queries', r, 'recalled', 'not', verdict, condition)
    sys.exit(1)
PY
}

# kept: each thread stores into its own row of $3 words, where it is in the row
ptx() { # ptx FILE OTHER LIMIT [STEP]
	cat >"$1" <<PTX
.version 8.0
.target sm_90
.address_size 64
.visible .entry other(.param .u64 p)
{
.reg .b32 %r<4>; .reg .b64 %rd<4>;
ld.param.u64 %rd0, [p];
mov.u32 %r0, %tid.x;
mul.wide.u32 %rd1, %r0, $2;
add.s64 %rd2, %rd0, %rd1;
st.global.u32 [%rd2], %r0;
ret;
}
.visible .entry kept(.param .u64 p, .param .u32 n, .param .u32 at)
{
.reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<4>;
ld.param.u64 %rd0, [p];
ld.param.u32 %r1, [n];
ld.param.u32 %r2, [at];
mov.u32 %r0, %tid.x;
setp.ge.u32 %p0, %r2, %r1;
@%p0 bra DONE;
setp.ge.u32 %p1, %r1, $3;
@%p1 bra DONE;
mul.lo.u32 %r3, %r0, %r1;
add.u32 %r4, %r3, %r2;
mul.wide.u32 %rd1, %r4, ${4:-4};
add.s64 %rd2, %rd0, %rd1;
st.global.u32 [%rd2], %r0;
DONE:
ret;
}
PTX
}

ptx "$tree/a.ptx" 4 64
expect race-free-single 'q > 0 and r == 0' "$tree/a.ptx"
expect race-free-single 'cached' "$tree/a.ptx"
[ -n "$(find "$tree/cache" -path '*/answers/*' -type f)" ] ||
	{ echo 'FAIL no answers were kept'; failed=1; }
ptx "$tree/a.ptx" 8 64 # the other kernel
expect race-free-single 'q > 0 and r == q and not cached' "$tree/a.ptx"
expect race-free-single 'r == 0' --no-cache "$tree/a.ptx"
ptx "$tree/a.ptx" 8 32 # another query
expect race-free-single 'q > 0 and r == 0' "$tree/a.ptx"
expect race-free-single 'q > 0 and r == 0' --block-dim=48 "$tree/a.ptx" # another contract
# what was proven isn't, a word overlaps the next: no answer of the other query is taken
ptx "$tree/a.ptx" 8 64 2
expect true-alarm 'r == 0' "$tree/a.ptx"
# cut off
ptx "$tree/a.ptx" 12 64
find "$tree/cache" -path '*/answers/*' -type f |
	while read -r f; do truncate -s 20 "$f"; done
expect race-free-single 'q > 0 and r == 0' "$tree/a.ptx"
ptx "$tree/a.ptx" 16 64 # and written anew
expect race-free-single 'q > 0 and r == q' "$tree/a.ptx"
# many queries: what came before a query doesn't matter, so that all are found
for k in lanes_too_few:potential-alarm pointer_induction_racy:true-alarm; do
	cp "$steps/${k%:*}.ptx" "$tree/b.ptx"
	expect "${k#*:}" 'q > 2' "$tree/b.ptx"
	echo '// edited' >>"$tree/b.ptx"
	expect "${k#*:}" 'q > 2 and r == q and not cached' "$tree/b.ptx"
done
exit $failed
