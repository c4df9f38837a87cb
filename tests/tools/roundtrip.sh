#!/bin/sh
# roundtrip.sh FILE.ptx TARGET [PTXAS-OPTIONS] - is ptxas(print(parse(x))) the code of ptxas(x)?
#
# TARGET is an architecture (sm_90). The printed text must also print as itself. Uses ptxas of
# $PTXAS or the PATH, and ptx_roundtrip of $ROUNDTRIP or build/bin. Prints nothing when all is well.
set -eu
[ $# -ge 2 ] || { echo "usage: roundtrip.sh FILE.ptx TARGET [PTXAS-OPTIONS]" >&2; exit 2; }
here=$(dirname "$0")
file=$1 arch=$2
shift 2
tool=${ROUNDTRIP:-$here/../../build/bin/ptx_roundtrip}
ptxas=${PTXAS:-ptxas}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$tool" "$file" "$dir/out.ptx"
"$tool" "$dir/out.ptx" "$dir/again.ptx"
cmp "$dir/out.ptx" "$dir/again.ptx"
"$ptxas" -arch="$arch" -c "$@" "$file" -o "$dir/a.cubin"
"$ptxas" -arch="$arch" -c "$@" "$dir/out.ptx" -o "$dir/b.cubin"
"$here/cubin_same" "$dir/a.cubin" "$dir/b.cubin"
