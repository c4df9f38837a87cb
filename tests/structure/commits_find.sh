#!/bin/bash
# commits_find.sh - commits.sh finds what it must, and nothing else: commits_find.sh COMMITS
set -u
check=$1
T=$(mktemp -d) || exit 2
trap 'rm -rf "$T"' EXIT
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
expect() { # expect RC TEXT
	local out rc
	out=$(bash "$check" "$T" "$since")
	rc=$?
	[ $rc -eq "$1" ] && grep -q "$2" <<<"$out" || { echo "expected $1 and '$2', found $rc: $out"; exit 1; }
}
commit() { git -C "$T" -c user.name=a -c user.email=a@b commit -q --allow-empty "$@"; }
since=HEAD
expect 0 '^$' # no history
git init -q "$T" || exit 2
commit -m "without a body, before"
since=$(git -C "$T" rev-parse HEAD)
commit -m "$(printf '%071d' 0)" -m "A reason."
expect 0 '^$'
commit -m "short" -m "Signed-off-by: a"
expect 1 'short$'
git -C "$T" reset -q --hard HEAD~1
commit -m "$(printf '%072d' 0)" -m "A reason."
expect 1 'has 72 columns'
since=0123456789abcdef
expect 0 '^$' # a history without that commit
