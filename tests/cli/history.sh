# history.sh - reports of many runs in one file, and the questions about it.
. "$(dirname "$0")/lib.sh"
needs git

# A report with one finding, or without: report FILE PID [LINE]. The pid makes runs differ.
report() {
	{
		echo '{"type":"header","schema":"collider-report","version":1,"command":"./app","agent":"attached",' \
			'"runs":1,"seed":'"$2"',"contexts":[]}'
		[ -z "${3-}" ] || grep -m1 '"second"' "$src/tests/report/golden/pairs.jsonl" |
			sed "s/\"fingerprint\":\"[0-9a-f]*\",//; s/\"function\":\"[^\"]*\"/\"function\":\"$3\"/g"
		grep '"summary"' "$src/tests/report/golden/pairs.jsonl"
	} >"$1"
}
cd "$T" || exit 1
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
unset GITHUB_SHA CI_COMMIT_SHA GIT_COMMIT
mkdir repo && cd repo && git init -q . || exit 1
db=--db=$T/h.db

# Five commits; the finding comes with the fourth. The third has no run.
for i in 1 2 3 4 5; do
	echo $i >file
	git add file
	git commit -qm $i
	git rev-parse HEAD >"$T/commit.$i"
	[ $i = 3 ] && continue
	for run in 1 2 3 4; do
		if [ $i -ge 4 ] && [ $run != 4 ]; then
			report "$T/$i.$run" $i$run store_all
		else
			report "$T/$i.$run" $i$run
		fi
	done
	try 0 "$collider" history add "$db" "$T/$i.1" "$T/$i.2" "$T/$i.3" "$T/$i.4"
	has err "4 of 4 reports added to $T/h.db, commit $(cat "$T/commit.$i")"
done
c1=$(cat "$T/commit.1") c2=$(cat "$T/commit.2") c3=$(cat "$T/commit.3") c4=$(cat "$T/commit.4") c5=$(cat "$T/commit.5")

try 0 "$collider" history add "$db" "$T/1.1"
has err "0 of 1 reports added"
try 0 "$collider" history list "$db"
has out "1 finding in 16 runs"
has out "in 6 runs"
print=$(sed -n 's/^    \([0-9a-f]\{16\}\).*/\1/p' "$T/out")

# By chance a race of 3 in 4 runs is missed by 4 runs in 0.4%: not worth a word.
try 0 "$collider" history compare "$db" "$c2" "$c4"
has out "1 new, 0 gone, 0 flaky, 0 still there"
hasnt out "by chance"
try 5 "$collider" history compare "$db" --error-exitcode=5 "$c2" "$c4"
try 0 "$collider" history compare "$db" --error-exitcode=5 "$c4" "$c5"
has out "0 new, 0 gone, 1 flaky, 0 still there"
try 0 "$collider" history compare "$db" --error-exitcode=5 "$c4" "$c1"
has out "0 new, 1 gone, 0 flaky, 0 still there"

# A single run that is clean says little; one with changes of its own isn't the commit.
echo 6 >file
report "$T/6" 6
try 0 "$collider" history add "$db" "$T/6"
has err "commit $c5+"
try 0 "$collider" history compare "$db" "$c5" "$c5+"
has out "by chance in 25%, if nothing has changed"

try 0 "$collider" history bisect "$db" "$print"
has out "first seen in $(echo "$c4" | cut -c1-12), in 3 of 4 runs"
has out "last commit without it: $(echo "$c2" | cut -c1-12), 4 runs"
has out "1 commit between has no run; the middle: $c3"
report "$T/3" 3
try 0 "$collider" history add "$db" --commit="$c3" "$T/3"
try 0 "$collider" history bisect "$db" "$print"
has out "1 run, which would miss it by chance in 25%"
has out "it came with $c4"
try 0 "$collider" history bisect "$db" "$print" --format=json
has out "\"first_with\":\"$c4\""

# Sites that were checked, from the file of --coverage.
cat >"$T/cov" <<-'EOF'
{"runs":1,"tables":[{"table":"edbad01ba7d63a4a","module":"a.cu","target":"sm_90","leads":"1101","checked":"1000"}]}
EOF
report "$T/7" 7
try 0 "$collider" history add "$db" --coverage="$T/cov" "$T/7"
try 0 "$collider" history unchecked "$db"
has out "a.cu (sm_90): 3 of 4 sites never checked in 1 run"

# A worker's file: many runs, packed by zstd, in frames of their own.
try 0 "$collider" run --seed=11 --save="$T/11.zst" "$fake" race
try 0 "$collider" run --seed=12 --save="$T/12.zst" "$fake" race
try 0 "$collider" run --seed=12 --save="$T/12.plain" "$fake" race
[ "$(wc -c <"$T/12.zst")" -lt "$(wc -c <"$T/12.plain")" ] || fail "not packed"
cat "$T/11.zst" "$T/12.zst" >"$T/worker.zst"
try 0 "$collider" history add "$db" "$T/worker.zst"
has err "2 of 2 reports added"
try 0 "$collider" history add "$db" "$T/12.zst"
has err "0 of 1 reports added"
try 0 "$collider" report "$T/worker.zst"
has out "data race found"
# Which of several reports has it.
report "$T/14" 14
try 0 "$collider" report --verbose "$T/11.zst" "$T/14" "$T/12.zst"
has out "    in: $T/11.zst $T/12.zst"
head -c 100 "$T/worker.zst" >"$T/cut.zst"
try 1 "$collider" history add "$db" "$T/cut.zst"
has err "$T/cut.zst: Bad message"
try 1 "$collider" report "$T/cut.zst"

# What is wrong is said in one line, and nothing of it stays.
head -c 300 "$T/4.1" >"$T/bad"
report "$T/8" 8
try 1 "$collider" history add "$db" "$T/8" "$T/none"
try 0 "$collider" history add "$db" "$T/8"
has err "1 of 1 reports added"
try 2 "$collider" history
try 2 "$collider" history look "$db"
try 2 "$collider" history compare "$db" "$c1"
try 2 "$collider" history list "$db" --format=html
has err "found 'html', expected text or json"
try 1 "$collider" history list --db="$T/nothing.db"
[ ! -e "$T/nothing.db" ] || fail "a question made a file"
echo text >"$T/text"
try 1 "$collider" history list --db="$T/text"
lines err 1
try 1 "$collider" history compare "$db" "$c1" 1999-01-01
has err "no run of 1999-01-01"
try 1 "$collider" history bisect "$db" 0123456789
finish
