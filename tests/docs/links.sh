#!/bin/bash
# links.sh - relative links, the headings that they name, and `make TARGET`s of the documentation exist, and
# numbers in the text of a link to docs/results are those of that page: links.sh ROOT
set -u
cd "$1" || exit 2
failed=0
# The names by which headings of a page are linked: small letters, blanks as hyphens, no punctuation.
anchors() {
	sed -n 's/^#\+ *//p' "$1" | tr 'A-Z ' 'a-z-' | sed 's/[^a-z0-9_-]//g'
	sed -n 's/.*<a \(id\|name\)="\([^"]*\)".*/\2/p' "$1"
}
while IFS= read -r doc; do
	while IFS=: read -r line link; do
		target=${link#\](}
		target=${target%)}
		case $target in http*://*) continue ;; esac
		page=$doc
		[ -z "${target%%#*}" ] || page=$(dirname "$doc")/${target%%#*}
		if [ ! -e "$page" ]; then
			echo "$doc:$line: points to ${target%%#*}, which does not exist"
			failed=1
		elif [[ $target == *.md#* || $target == '#'* ]] &&
			! anchors "$page" | grep -qx -- "${target#*#}"; then
			echo "$doc:$line: points to ${target#*#}, which is no heading of $page"
			failed=1
		fi
	done < <(grep -noE '\]\([^) ]+\)' "$doc")
	case $doc in docs/*/*) continue ;; esac # other projects' targets
	while IFS= read -r link; do
		page=$(dirname "$doc")/${link##*](}
		page=${page%%[#)]*}
		for number in $(grep -oE '[0-9]+([.,-][0-9]+)*' <<<"${link%](*}"); do
			grep -qE "(^|[^0-9.,-])${number//./\\.}([^0-9]|$)" "$page" && continue
			echo "$doc: $link: $number is not on that page"
			failed=1
		done
	done < <(tr '\n' ' ' <"$doc" | grep -oE '\[[^][]*\]\((docs/)?results/[^)]+\)')
	while IFS=: read -r line target; do
		grep -Eq "^${target#make }:" Makefile && continue
		echo "$doc:$line: $target: no such target"
		failed=1
	done < <(grep -noE '(^( {4})?|`)make [a-z-]+' "$doc" | sed -E 's/:[` ]+make/:make/')
done < <(ls README.md CONTRIBUTING.md docs/*.md docs/*/*.md examples/*.md tests/*/README.md 2>/dev/null)
exit $failed
