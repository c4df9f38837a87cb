#!/bin/bash
# decode_forms.sh - every form of the sections on data movement, synchronisation and matrices is decoded.
#
#   decode_forms.sh ISA_LEGAL DECODE_ALL REFUSED SAMPLES
#
# ISA_LEGAL prints so many spellings of each row of src/ptx/isa_forms.def (PTX ISA 9.7.9, 9.7.13 to 9.7.16, and
# 9.7.19 with setmaxnreg), which its own test gives to ptxas for their targets; DECODE_ALL says which of
# them the CPU device doesn't execute. These must be the lines of REFUSED, one spelling a line with its reason.
set -u

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
"$1" --kernel "$4" 9.7.9 9.7.13 9.7.14 9.7.15 9.7.16 9.7.19 >"$tmp/forms.ptx" || exit 1
"$2" -u "$tmp/forms.ptx" >"$tmp/out" || exit 1
tail -1 "$tmp/out"
n=$(sed -n 's/.* functions, \([0-9]*\) instructions.*/\1/p' "$tmp/out")
[ "${n:-0}" -gt 1500 ] || { echo "too few forms"; exit 1; }
sed -n 's/^ *[0-9][0-9]* \([a-z][^ ]*\) (.*/\1/p' "$tmp/out" | sort >"$tmp/is"
grep -v '^#' "$3" | cut -f1 | sort >"$tmp/expected"
diff "$tmp/expected" "$tmp/is" && exit 0
echo "FAILED: < is refused by the list alone, > by the CPU device alone"
exit 1
