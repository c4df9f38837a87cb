#!/bin/bash
# rules.sh - check the rules that no compiler checks: rules.sh ROOT
#
# 1. A room of src/ includes only the rooms that rooms.tsv allows, and of another room only its front
#    headers. "..", and a bare name that isn't in the same folder, are breaches too.
# 2. include/ includes nothing of ours.
# 3. Every .c and .cu of src/, tests/ and bench/ begins with a comment that names the file.
# Prints one line (file:line: what, what is allowed) per breach; exit code 1 when there is one.
set -u
here=$(cd "$(dirname "$0")" && pwd)
cd "$1" || exit 2

declare -A fronts may
while IFS=$'\t' read -r room front allowed; do
	case $room in '' | '#'*) continue ;; esac
	fronts[$room]=" $front "
	may[$room]=" $allowed "
done <"$here/rooms.tsv"

breaches=0
breach() {
	echo "$1"
	breaches=$((breaches + 1))
}

check_include() { # check_include ROOM FILE:LINE NAME FOLDER
	local room=$1 at=$2 name=$3 folder=$4 other=${3%%/*}
	case $name in
	*..*) breach "$at: includes \"$name\": a path from src/ was expected, without .." ;;
	*/*)
		[ "$other" = "$room" ] && return
		if [ -z "${fronts[$other]+x}" ]; then
			breach "$at: includes \"$name\": $other is no room of rooms.tsv"
		elif [[ ${may[$room]} != *" $other "* ]]; then
			breach "$at: $room includes $other: allowed are${may[$room]}"
		elif [[ ${fronts[$other]} != *" ${name#*/} "* && ${fronts[$other]} != " * " ]]; then
			breach "$at: includes \"$name\": from another room only${fronts[$other]}"
		fi
		;;
	*) [ -f "$folder/$name" ] || breach "$at: \"$name\" is not in $folder" ;;
	esac
}

for dir in src/*/; do
	room=$(basename "$dir")
	[ "${fronts[$room]+x}" ] || breach "src/$room: a room that rooms.tsv does not know"
done
while IFS=: read -r file line text; do
	room=${file#src/}
	room=${room%%/*}
	[ "${may[$room]+x}" ] || continue
	name=${text#*\"}
	check_include "$room" "$file:$line" "${name%%\"*}" "$(dirname "$file")"
done < <(grep -rnE --include='*.[ch]' --include='*.cu' --include='*.def' \
	'^[[:space:]]*#[[:space:]]*include[[:space:]]*"' src)
[ ! -d include ] || while IFS= read -r hit; do
	breach "${hit%%:\#*}: a header for users includes nothing of ours"
done < <(grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' include)

while IFS= read -r file; do
	name=$(basename "$file")
	first=$(head -n 2 "$file" | tr '\n' ' ')
	case $first in
	"/* "*"* $name - "* | "// $name - "*) ;;
	*) breach "$file:1: begins with '${first:0:40}': a comment '$name - what it does' was expected" ;;
	esac
done < <(find src tests bench -name '*.c' 2>/dev/null | sort)

[ $breaches -eq 0 ] || { echo "$breaches breaches"; exit 1; }
