#!/bin/sh
# nvcc_spellings.sh NVCC CHECKER SNIPPETS - compiles each snippet to PTX and asks whether the ISA
# table knows every instruction in it. The first line of a snippet names its targets and the
# least number of distinct spellings that it must give ("// targets: sm_80 sm_90a; at least 50").
set -eu
nvcc=$1 checker=$2 snippets=$3
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0
for src in "$snippets"/*.cu; do
	head=$(head -n 1 "$src")
	targets=$(echo "$head" | sed -n 's/.*targets: \([^;]*\);.*/\1/p')
	least=$(echo "$head" | sed -n 's/.*at least \([0-9]*\).*/\1/p')
	for t in $targets; do
		"$nvcc" -std=c++17 -arch="$t" -ptx "$src" -o "$tmp/x.ptx"
		# Statements end at ; or a brace. Of each, the first word after labels and a guard
		# is the spelling; directives, operands and comments start otherwise.
		sed -e 's,//.*,,' "$tmp/x.ptx" | tr '\n\t' '  ' | tr ';{}' '\n\n\n' |
			sed -e 's/^ *//' -e ':l' -e 's/^[$%_A-Za-z0-9]*: *//' -e 'tl' \
				-e 's/^@!\{0,1\}[%A-Za-z0-9_$]* *//' |
			sed -n 's/^\([a-z][a-z0-9_]*\(\.[A-Za-z0-9_:.]*\)\{0,1\}\)\( .*\)\{0,1\}$/\1/p' |
			sort -u >"$tmp/list"
		echo "== $(basename "$src") for $t"
		"$checker" <"$tmp/list" || failed=1
		if [ "$(wc -l <"$tmp/list")" -lt "$least" ]; then
			echo "fewer than $least spellings: the extraction is broken"
			failed=1
		fi
	done
done
exit $failed
