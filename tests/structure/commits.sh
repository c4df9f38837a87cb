#!/bin/bash
# commits.sh - commits after SINCE have a subject under 72 columns and a body: commits.sh ROOT [SINCE]
#
# Merges don't count. Without a history, or where SINCE isn't in it (an archive, a shallow clone), there is
# nothing to check.
set -u
cd "$1" || exit 2
# "tests: the remedy of a matrix, and none that nobody can use": of the 1027 commits up to it 432 have no body.
since=${2:-4c95ea6f9b98eb32}
git rev-parse -q --verify HEAD >/dev/null 2>&1 || exit 0
[ "$(git rev-parse --show-toplevel)" = "$(pwd -P)" ] || exit 0 # a copy within another repository
git merge-base --is-ancestor "$since" HEAD 2>/dev/null || exit 0
failed=0
# One call of git for all of them: the id and the subject in a line, the body's lines, an end.
body= id=
while IFS= read -r line; do
	case $line in
	$'\x01'*)
		read -r id subject <<<"${line#?}"
		body=
		;;
	$'\x02')
		[ ${#subject} -lt 72 ] ||
			{ echo "commit ${id:0:10}: its subject has ${#subject} columns, under 72 were expected: $subject"; failed=1; }
		[ -n "$body" ] ||
			{ echo "commit ${id:0:10}: has no body, the reason was expected: $subject"; failed=1; }
		;;
	*)
		[[ $line =~ ^[A-Z][A-Za-z-]*:\  ]] || body=$body${line//[[:space:]]/}
		;;
	esac
done < <(git log --no-merges --format='%x01%H %s%n%b%n%x02' "$since..HEAD")
exit $failed
