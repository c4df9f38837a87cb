#!/bin/sh
# names.sh COLLIDER FAKE_APP SOURCE-FOLDER - a module whose source has Latin-1, markup, a control byte and half a character in
# its name: every form of what prove says is UTF-8, JSON parses, and XML does.
set -u
. "$(dirname "$0")/lib.sh"
needs python3
cat >"$T/name.ptx" <<'P'
.version 7.0
.target sm_70
.address_size 64
.visible .entry k$_x(.param .u64 p)
{
	.reg .b64 %rd<3>;
	.reg .b32 %r<2>;
	ld.param.u64 %rd1, [p];
	cvta.to.global.u64 %rd2, %rd1;
	mov.u32 %r1, %tid.x;
	.loc 1 4 2
	st.global.u32 [%rd2], %r1;
	ret;
}
P
printf '.file 1 "caf\351<&>\001 \355\240\200/\342\202%sx.cu"\n' "'" >>"$T/name.ptx"
for format in text short github json sarif junit html; do
	try 10 "$collider" prove --format=$format "$T/name.ptx"
	last="prove --format=$format"
	has out "caf"
	python3 - $format "$T/out" <<'P' >"$T/err" 2>&1 || fail "not well-formed"
import json, sys, xml.dom.minidom
text = open(sys.argv[2], "rb").read().decode()
assert not [c for c in text if ord(c) < 32 and c not in "\n\t"], "a control character"
if sys.argv[1] == "json":
    [json.loads(line) for line in text.splitlines()]
elif sys.argv[1] == "sarif":
    json.loads(text)
elif sys.argv[1] == "junit":
    xml.dom.minidom.parseString(text)
P
done
exit $failed
