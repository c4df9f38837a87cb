#!/bin/bash
# named.sh - files of ours that the documentation names exist, architecture.md has each room (in its table and its picture) and
# each table, and report-format.md each kind of findings: named.sh ROOT
#
# A name is what stands in backquotes, has a folder and ends in .c, .h, .cu, .def, .map, .sh, .py or .md;
# it begins at the root or in src/. Names with capitals for a part (tests/NAME) and with braces are patterns.
set -u
cd "$1" || exit 2
failed=0
said() {
	echo "$1"
	failed=1
}
while IFS=: read -r doc line name; do
	name=${name#\`}
	name=${name%\`}
	[ -e "$name" ] || [ -e "src/$name" ] || [ -e "$(dirname "$doc")/$name" ] ||
		said "$doc:$line: names $name, which does not exist"
done < <(grep -noHE '`[a-z][a-z0-9_]*(/[a-z0-9_.-]+)+\.(c|h|cu|def|map|sh|py|md)`' \
	README.md CONTRIBUTING.md docs/*.md)

table=$(sed -n '/^| folder of/,/^$/p' docs/architecture.md | grep -o '^|[^|]*|' | grep -o '`[a-z_/]*`' | tr -d '`')
while IFS= read -r room; do
	[ "$room" = src ] && continue
	grep -qx "$room" <<<"$table" || [ "$room" = host/linked ] ||
		said "docs/architecture.md: the table of rooms lacks $room"
done < <(find src -mindepth 1 -type d | sed 's|^src/||' | sort)
while IFS= read -r room; do
	case $room in src/ | '') continue ;; esac
	[ -d "src/$room" ] || said "docs/architecture.md: the table has $room, which does not exist"
done <<<"$table"

# The picture of the house, with its introduction, has each room.
house=$(sed -n '/^The house:/,/^Before/p' docs/architecture.md)
[ -z "$house" ] || for room in src/*/; do
	room=$(basename "$room")
	grep -qw -- "$room" <<<"$house" || said "docs/architecture.md: the picture of the house lacks $room"
done

# Where a new thing goes: each table has its list.
while IFS= read -r def; do
	grep -qF "\`$def\`" docs/architecture.md || said "docs/architecture.md: no list names the table $def"
done < <(find src -name '*.def' | sed 's|^src/||' | sort)

# report-format.md lists the kinds of findings by the detector that finds them, in the order of the rows.
kinds=src/race/kinds.def
if [ -f $kinds ]; then
	n=0
	while read -r source; do
		names=$(sed -n "s/^KIND(.*, \"\(.*\)\", $source, .*/\\\`\1\\\`/p" $kinds | paste -sd, | sed 's/,/, /g')
		by=$(tr A-Z a-z <<<"$source")
		[ "$by" != oracle ] || by="the oracle"
		grep -qF "of $by: $names" docs/report-format.md ||
			said "docs/report-format.md: the kinds of $source are not those of $kinds: $names"
		n=$((n + 1))
	done < <(sed -n 's/^KIND([A-Z_]*, [0-9]*, "[a-z-]*", \([A-Z]*\), .*/\1/p' $kinds | sort -u)
	[ $n -gt 0 ] || said "$kinds: no rows found"
fi
exit $failed
