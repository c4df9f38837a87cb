#!/bin/bash
# decode_corpus.sh - links and decodes all PTX of the corpus (decode_all.c says what is checked).
#
#   decode_corpus.sh DECODE_ALL DIR
#
# The two halves of the -rdc program, rdc_a and rdc_b, are linked for each target.
set -u

list=()
for f in "$2"/*.ptx; do
	case $f in
	*/rdc_a.*) list+=("$f,${f/rdc_a/rdc_b}") ;;
	*/rdc_b.*) ;;
	*) list+=("$f") ;;
	esac
done
[ ${#list[@]} -gt 20 ] || { echo "$2 holds no corpus" >&2; exit 1; }
exec "$1" -u "${list[@]}"
