#!/bin/bash
# links.sh - relative links and `make TARGET`s of the documentation exist: links.sh ROOT
set -u
cd "$1" || exit 2
failed=0
while IFS= read -r doc; do
	while IFS=: read -r line link; do
		target=${link#\](}
		target=${target%)}
		target=${target%%#*}
		case $target in '' | http*://*) continue ;; esac
		[ -e "$(dirname "$doc")/$target" ] && continue
		echo "$doc:$line: points to $target, which does not exist"
		failed=1
	done < <(grep -noE '\]\([^) ]+\)' "$doc")
	while IFS=: read -r line target; do
		grep -Eq "^${target#make }:" Makefile && continue
		echo "$doc:$line: $target: no such target"
		failed=1
	done < <(grep -noE '(^( {4})?|`)make [a-z-]+' "$doc" | sed -E 's/:[` ]+make/:make/')
done < <(ls README.md CONTRIBUTING.md docs/*.md examples/*.md tests/*/README.md 2>/dev/null)
exit $failed
