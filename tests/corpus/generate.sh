#!/bin/bash
# generate.sh - make the PTX corpus from the table corpus.tsv.
#
#   tests/corpus/generate.sh OUTDIR [NAME...]
#
# Writes OUTDIR/NAME.TARGET.ptx for each row and target, and OUTDIR/manifest.tsv (file, target, ptxas
# flags), which check.sh and bench/ptx read; with MANIFEST=only nothing but the latter. A handwritten .ptx is copied once per target. Files
# that are newer than their source are kept. JOBS (2) compilers run at a time. TARGETS=main is the
# subset that is small enough for every check: CUDA C for sm_90 (with or without a), PTX for sm_75,
# sm_90 and sm_100, or for the last target if a row has none of these. One in brackets is never of it.
set -u

here=$(cd "$(dirname "$0")" && pwd)
nvcc=${NVCC:-nvcc}

# make_one SOURCE FLAGS TARGET FILE
if [ "${GENERATE_ONE:-}" ]; then
	src=$here/$1
	[ "$2" != - ] || set -- "$1" "" "$3" "$4"
	[ "$4" -nt "$src" ] && [ "$4" -nt "$here/corpus.tsv" ] && exit 0
	case $src in
	*.ptx) cp "$src" "$4" ;;
	*)
		# shellcheck disable=SC2086
		"$nvcc" -ptx $2 -arch="$3" "$src" -o "$4.tmp" >"$4.log" 2>&1 || {
			echo "FAIL $(basename "$4"):" >&2
			head -5 "$4.log" >&2
			rm -f "$4.tmp"
			exit 1
		}
		mv "$4.tmp" "$4" && rm -f "$4.log"
		;;
	esac
	exit
fi

[ $# -ge 1 ] || { echo "usage: $0 OUTDIR [NAME...]" >&2; exit 2; }
mkdir -p "$1" || exit 2
out=$(cd "$1" && pwd)
shift

main_targets() { # main_targets LIST SOURCE: those of a list with commas that TARGETS=main keeps
	local own kept of='sm_(75|90a?|100a?)'
	[ "$2" = "${2%.cu}" ] || of='sm_90a?'
	own=$(tr , '\n' <<<"$1" | grep -v '^(')
	kept=$(grep -Ex "$of" <<<"$own")
	echo "${kept:-${own##*$'\n'}}"
}

names=" $* "
jobs_list=$(mktemp) || exit 2
trap 'rm -f "$jobs_list"' EXIT
exec 3>"$out/manifest.tmp"
while IFS=$'\t' read -r name src flags ptxas targets; do
	case $name in
	'' | '#'*) continue ;;
	esac
	[ "$names" = "  " ] || [[ $names == *" $name "* ]] || continue
	[ "$flags" = - ] && flags=
	[ "${TARGETS:-all}" = main ] && targets=$(main_targets "$targets" "$src")
	for target in ${targets//[,()]/ }; do
		file=$name.$target.ptx
		printf '%s\t%s\t%s\n' "$file" "$target" "$ptxas" >&3
		printf '%s\0%s\0%s\0%s\0' "$src" "$flags" "$target" "$out/$file" >>"$jobs_list"
	done
done <"$here/corpus.tsv"
exec 3>&-
# One that says the same stays: what was made from it is still good.
cmp -s "$out/manifest.tmp" "$out/manifest.tsv" && rm "$out/manifest.tmp" ||
	mv "$out/manifest.tmp" "$out/manifest.tsv" || exit 2
[ "${MANIFEST:-}" != only ] || exit 0
GENERATE_ONE=1 xargs -0 -n 4 -P "${JOBS:-2}" bash "$0" <"$jobs_list"
rc=$?
echo "$(wc -l <"$out/manifest.tsv") PTX files, $(du -ck "$out"/*.ptx | tail -1 | cut -f1) KiB in $out"
[ $rc -eq 0 ] || exit 1
