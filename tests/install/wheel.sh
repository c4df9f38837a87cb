#!/bin/bash
# wheel.sh BUILD SOURCE PROGRAM - a wheel of BUILD, unpacked as pip does into a folder of its own: the program by
# `python -m collider` finds the race of PROGRAM (built by nvcc for the CPU device), its packages are there, and its list of files is
# right. With COLLIDER_WHEEL_VENV=1 pip installs it into a new virtual environment, by which `collider` is found.
set -eu
build=$1 source=$2 program=$3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() {
	echo "FAILED: $*"
	exit 1
}
bash "$source/tools/wheel.sh" "$build" "$dir/out" >"$dir/log" 2>&1 || { cat "$dir/log"; fail "no wheel"; }
wheel=$(echo "$dir"/out/collider-*.whl)
[ "$(stat -c %s "$wheel")" -lt $((60 << 20)) ] || fail "the wheel has $(stat -c %s "$wheel") bytes"
unset PYTHONPATH
if [ "${COLLIDER_WHEEL_VENV:-}" ]; then
	python3 -m venv "$dir/venv"
	"$dir/venv/bin/pip" install -q "$wheel"
	[ -x "$dir/venv/bin/collider" ] || fail "no command collider"
	"$dir/venv/bin/collider" --version >/dev/null
	python=$dir/venv/bin/python3
else
	python3 - "$wheel" "$dir/site" <<'P'
import base64, hashlib, os, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as z:
    z.extractall(sys.argv[2])
    for entry in z.infolist():
        os.chmod(os.path.join(sys.argv[2], entry.filename), entry.external_attr >> 16 & 0o777 or 0o644)
    names = set(z.namelist())
    record = [n for n in names if n.endswith("/RECORD")]
    for line in z.read(record[0]).decode().splitlines():
        name, digest, size = line.rsplit(",", 2)
        names.discard(name)
        if digest:
            want = base64.urlsafe_b64encode(hashlib.sha256(z.read(name)).digest()).rstrip(b"=").decode()
            assert digest == "sha256=" + want and int(size) == len(z.read(name)), name
    assert not names, names
P
	export PYTHONPATH=$dir/site
	python=python3
fi
cd "$dir"
"$python" -c "
import collider_triton
from importlib.metadata import entry_points
for group, value in (('pytest11', 'collider_pytest'), ('triton.backends', 'collider_triton')):
    assert any(e.value == value for e in entry_points().select(group=group)), group
"
"$python" -m collider --version | grep -q . || fail "python -m collider"
rc=0
"$python" -m collider run --device=cpu --error-exitcode=9 -- "$program" >run.out 2>&1 || rc=$?
[ $rc = 9 ] && grep -q "DATA RACE" run.out || { cat run.out; fail "$program: exit code $rc"; }
