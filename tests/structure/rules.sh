#!/bin/bash
# rules.sh - check the rules that no compiler checks: rules.sh ROOT
#
# 1. A room of src/ includes only what rooms.tsv allows, and of another room only its front headers;
#    sub-rooms, tests/ and bench/ by the same table. "..", and a bare name that isn't in the same
#    folder, are breaches too.
# 2. include/ includes nothing of ours.
# 3. Every .c and .cu of src/, tests/ and bench/ begins with a comment that names the file.
# 4. No folder of src/ holds more than 40 files, of the oracle and the prover 30; no file more than 650
#    lines.
# 5. No line of the sources in C, of src/ in CUDA C too, is longer than 100 columns, a tab being
#    eight. Wider are isa.def, a table, and templates.
# 6. No function takes more than seven parameters; more are a struct. Interfaces of others (CUDA's,
#    what PTX calls) are as they are.
# 7. PTX is spelled in src/ptx and in templates: no string of C holds an instruction, or the head of a
#    declaration. src/device speaks to nvcc in inline assembly; src/report reads a site's text.
# 8. A detector's runtime block is found by its row: no marker is named in src/agent or src/toolchain.
# 9. Each pass of base/passes.def has its function in instrument/pipeline.c (or is strip.c's), and
#    inst_end_pass (or inst_pass_end) follows each call of one.
# 10. No comment and no text of docs/ says tell, tells, told or telling: CONTRIBUTING.md's glossary has
#    the words for it (report, say, distinguish), nor does a name in src/. Keywords ("// told:") are exempt.
#    No comment of src/ and no text of docs/ says nobody or somebody: it names the thread, the program or
#    the host. None, and no string of src/, says behind for after.
# 11. A header of src/device that a .cu includes after its first function is part of it: its second line
#    says so ("part of FILE.cu"), and only such files, and parts of them, include it.
# 12. What stands under both of CUDA's APIs (src/cudart/state, graph, report) includes no header of
#    CUDA's and defines no entry point.
# Prints one line (file:line: what, what is allowed) per breach; exit code 1 when there is one.
set -u
export LC_ALL=C # bytes are enough, and quicker
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

room_of=
find_room() { # find_room PATH: the longest folder of it that is a room, in room_of ("" if none)
	room_of=${1%/*}
	while [ -z "${may[$room_of]+x}" ]; do
		case $room_of in
		*/*) room_of=${room_of%/*} ;;
		*) room_of= && return ;;
		esac
	done
}

# May files of room $1 include header $2 of room $3?
is_allowed() {
	[[ ${may[$1]} == *" $3 "* || ${may[$1]} == *" $2 "* ]]
}
is_front() { # is_front ROOM HEADER OTHER
	local name=${2#"$3"/}
	[[ ${may[$1]} == *" $2 "* || ${fronts[$3]} == " * " || ${fronts[$3]} == *" $name "* ]] && return
	# The room's own folder, for its sub-rooms.
	[[ $1 == "$3"/* && $name != */* ]]
}

check_src() { # check_src ROOM FILE:LINE NAME
	local room=$1 at=$2 name=$3
	find_room "$name"
	[ "$room_of" = "$room" ] && return
	if [ -z "$room_of" ]; then
		breach "$at: includes \"$name\": ${name%%/*} is no room of rooms.tsv"
	elif ! is_allowed "$room" "$name" "$room_of"; then
		breach "$at: $room includes $room_of: allowed are${may[$room]}"
	elif ! is_front "$room" "$name" "$room_of"; then
		breach "$at: includes \"$name\": from another room only${fronts[$room_of]}"
	fi
}

# A test of a room sees all of that room, and what its room and sub-rooms see of others.
check_test() { # check_test FOLDER FILE:LINE NAME
	local folder=$1 at=$2 name=$3 own=${1#tests/} r
	find_room "$name"
	[ -n "$room_of" ] || { breach "$at: includes \"$name\": ${name%%/*} is no room of rooms.tsv"; return; }
	[ "${room_of%%/*}" = "$own" ] && return
	for r in "${!may[@]}"; do
		[[ $r == "$folder" || $r == "$own" || $r == "$own"/* ]] || continue
		is_allowed "$r" "$name" "$room_of" && is_front "$r" "$name" "$room_of" && return
	done
	breach "$at: $folder includes \"$name\": neither its room nor its row of rooms.tsv allows it"
}

check_include() { # check_include FILE:LINE NAME
	local at=$1 name=$2 file=${1%%:*}
	case $name in
	*..*) breach "$at: includes \"$name\": a path from src/ was expected, without .." ;;
	*/*)
		case $file in
		src/*)
			find_room "${file#src/}"
			[ -z "$room_of" ] || check_src "$room_of" "$at" "$name"
			;;
		tests/*)
			file=${file#tests/}
			[ -f "tests/$name" ] || check_test "tests/${file%%/*}" "$at" "$name"
			;;
		bench/*) check_test bench "$at" "$name" ;;
		esac
		;;
	*) [ -f "${file%/*}/$name" ] || breach "$at: \"$name\" is not in ${file%/*}" ;;
	esac
}

while IFS= read -r dir; do
	find_room "${dir#src/}/x"
	[ "$room_of" = "${dir#src/}" ] || breach "$dir: a room that rooms.tsv does not know"
	n=$(find "$dir" -maxdepth 1 -type f | wc -l)
	case $dir in src/oracle* | src/prove*) most=30 ;; *) most=40 ;; esac
	[ "$n" -le $most ] || breach "$dir: $n files in one folder: up to $most are allowed"
done < <(find src -mindepth 1 -type d | sort)
while IFS=: read -r file line text; do
	name=${text#*\"}
	check_include "$file:$line" "${name%%\"*}"
done < <(
	pattern='^[[:space:]]*#[[:space:]]*include[[:space:]]*"'
	grep -rnE --include='*.[ch]' --include='*.cu' --include='*.def' "$pattern" src
	# Of tests and bench only what leads into src/: programs are built with includes of their own.
	grep -rnE --include='*.[ch]' "$pattern[a-z_]+/" tests bench 2>/dev/null
)
[ ! -d include ] || while IFS= read -r hit; do
	breach "${hit%%:\#*}: a header for users includes nothing of ours"
done < <(grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' include)

while IFS= read -r hit; do
	breach "$hit"
done < <(find src tests bench -name '*.c' 2>/dev/null | sort | xargs -r awk '
	function check(    name) {
		name = file
		sub(/.*\//, "", name)
		if (index(first, "/* ") != 1 || !index(first, " * " name " - "))
			if (index(first, "// " name " - ") != 1)
				print file ":1: begins with \x27" substr(first, 1, 40) "\x27: a comment \x27" name " - what it does\x27 was expected"
	}
	FNR == 1 { if (file) check(); file = FILENAME; first = $0; next }
	FNR == 2 { first = first " " $0 " "; nextfile }
	END { if (file) check() }')

# ---- sizes -------------------------------------------------------------------------------------

sizes() { # sizes FILE...: a line per breach of 4 to 6
	awk '
		function columns(s,    n, i) {
			n = 0
			for (i = index(s, "\t"); i; i = index(s, "\t")) {
				n += i - 1
				n += 8 - n % 8
				s = substr(s, i + 1)
			}
			return n + length(s)
		}
		# The parameters of the function whose declaration is s; 0: it is not complete yet.
		function parameters(s,    i, c, depth, n) {
			sub(/^[^(]*\(/, "", s)
			depth = n = 1
			for (i = 1; i <= length(s); i++) {
				c = substr(s, i, 1)
				if (c == "(") depth++
				if (c == ")" && --depth == 0) return n
				if (c == "," && depth == 1) n++
			}
			return 0
		}
		function end_of_file() {
			if (lines > 650 && file ~ /^src\//)
				print file ": " lines " lines: up to 650 are allowed"
		}
		FNR == 1 { end_of_file(); file = FILENAME; text = "" }
		{ lines = FNR }
		file !~ /\.ptxt$/ && columns($0) > 100 { print file ":" FNR ": " columns($0) " columns: up to 100 are allowed" }
		file !~ /\.[ch]$/ { next }
		text == "" && /^[A-Za-z_][^;={]*\(/ { text = $0; at = FNR; next_is = 1 }
		text != "" && !next_is { text = text " " $0 }
		text != "" {
			next_is = 0
			while (match(text, /__attribute__ *\(\([^()]*(\([^()]*\))?[^()]*\)\)/))
				text = substr(text, 1, RSTART - 1) substr(text, RSTART + RLENGTH)
			n = text ~ /\(/ ? parameters(text) : 0
			name = text
			sub(/ *\(.*/, "", name)
			sub(/.*[ *]/, "", name)
			if (n > 7 && name !~ /^(_*cu[A-Z]|_*cuda[A-Z]|__collider_)/)
				print file ":" at ": " name " takes " n " parameters: up to 7 are allowed"
			if (n || length(text) > 2000) text = ""
		}
		END { end_of_file() }
	' "$@"
}
while IFS= read -r hit; do
	breach "$hit"
done < <(
	mapfile -t files < <(
		find src -name '*.[ch]' -o -name '*.cu' -o -name '*.ptxt' -o \
			-name '*.def' ! -name isa.def
		find include tests bench -name '*.[ch]' ! -name samples.h 2>/dev/null
	)
	sizes "${files[@]}"
)

# ---- PTX, detectors, passes ---------------------------------------------------------------------

ops='ld|st|mov|add|sub|mul|mad|and|or|xor|not|shl|shr|setp|selp|cvt|cvta|atom|red|bar|barrier|fence'
ops="$ops|membar|shfl|vote|match|mbarrier|cp|bra|ret|call|wmma|mma|ldmatrix|stmatrix|nanosleep|isspacep"
instruction="\"(\\\\t|\\\\n| )*(@[^ \"]+ )?($ops)\\.[a-z][a-z0-9_.:]*(\"|\\\\t|;| *[%{[\$@])"
declaration='"(\\t|\\n| )*\.(weak|visible|extern) \.|"(\\t|\\n| )*\.(reg|param|shared|global|const|local) \.'
declaration="$declaration"'|"(\\t|\\n| )*\.(version [0-9%]|target sm|maxnreg [0-9%]|maxntid [0-9%]|entry |func )'
while IFS= read -r hit; do
	breach "$(cut -d: -f1,2 <<<"$hit"): PTX in a string: it is spelled in src/ptx and in templates (.ptxt)"
done < <(grep -rnE --include='*.[ch]' "$instruction|$declaration" src |
	grep -v '^src/ptx/\|^src/device/\|^src/report/\|/\*.*"')

while IFS= read -r hit; do
	breach "$(cut -d: -f1,2 <<<"$hit"): names a runtime block: its row of base/detectors.def does"
done < <(grep -rnE --include='*.[ch]' '__collider_knobs|RACE_KNOBS_SYMBOL' src/agent src/toolchain 2>/dev/null)

# A detector is a row and folders of its name: elsewhere code asks for a column of the row.
if [ -f src/base/detectors.def ]; then
	ids=$(sed -n 's/^\(DETECTOR\|JUDGE\)(\([A-Z]*\), .*/\2/p' src/base/detectors.def | paste -sd'|')
	words=$(sed -n 's/^\(DETECTOR\|JUDGE\)([A-Z]*, \([a-z]*\)[,)].*/\2/p' src/base/detectors.def | paste -sd'|')
	[ -n "$ids" ] && [ -n "$words" ] || breach "src/base/detectors.def: no rows found"
	while IFS= read -r hit; do
		breach "$(cut -d: -f1,2 <<<"$hit"): names a detector: a column of base/detectors.def says what differs"
	done < <(grep -rnE --include='*.[ch]' \
		"RACE_DETECT(OR_|\\()($ids)\\b|RACE_WORDS_($ids)\\b|OPTION_DETECTOR, \"[a-z,]*\\b($words)\\b" src |
		grep -vE "^src/([a-z]*/)?($words)/|^src/instrument/($words)/")
fi

pipeline=src/instrument/pipeline.c
[ ! -f src/base/passes.def ] || while IFS=$'\t' read -r id scope; do
	case $scope in
	MODULE | FUNCTION) grep -qE "\[INST_PASS_$id\] = " $pipeline ;;
	*) false ;;
	esac || grep -rqE --include='*.c' "(pass_end|end_pass)\(.*INST_PASS_$id" src/instrument || breach "src/base/passes.def: pass $id has no function, or is not verified"
done < <(sed -n 's/^PASS(\([A-Z]*\), "[a-z]*", \([A-Z]*\),.*/\1\t\2/p' src/base/passes.def)
[ ! -f $pipeline ] || while IFS=: read -r line _; do
	sed -n "$line,$((line + 1))p" $pipeline | grep -qE '(pass_end|end_pass)\(' ||
		breach "$pipeline:$line: runs a pass that nothing verifies"
done < <(grep -nE '^[^/]*on_(module|function)\[p(ass)?\]\(' $pipeline)

# ---- parts of a .cu -----------------------------------------------------------------------------

declare -A part_of
while IFS= read -r f; do
	named=$(sed -n '2s/.* - part of \([^:]*\):.*/\1/p' "$f")
	[ -z "$named" ] || part_of[$f]=" $(sed 's/ and / /; s/,//g' <<<"$named") "
done < <(find src/device -name '*.h' 2>/dev/null | sort)
while IFS=: read -r f line header is_late; do
	case $header in device/*) h=src/$header ;; */*) continue ;; *) h=${f%/*}/$header ;; esac
	parts=${part_of[$h]:-}
	case $f in
	*.cu) [ "$is_late" = 0 ] || [ -n "$parts" ] ||
		breach "$f:$line: includes $header after its first function: its head names the .cu of which it is a part" ;;
	esac
	[ -n "$parts" ] || continue
	for owner in ${part_of[$f]:-${f##*/}}; do
		[[ $parts == *" $owner "* ]] || breach "$f:$line: includes $header, which is part of$parts"
	done
done < <(find src/device \( -name '*.cu' -o -name '*.h' \) 2>/dev/null | sort | xargs -r awk '
	FNR == 1 { late = 0 }
	/^#include "/ { split($0, q, "\""); print FILENAME ":" FNR ":" q[2] ":" late }
	/^[a-zA-Z].*\)$/ || /^\{/ { late = 1 }')

# ---- CUDA's APIs --------------------------------------------------------------------------------

while IFS= read -r hit; do
	breach "$(cut -d: -f1,2 <<<"$hit"): of CUDA's API, which only src/cudart/api and src/cudrv speak"
done < <(grep -rnE --include='*.[ch]' \
	-e '^[ \t]*#[ \t]*include[ \t]*<cu' -e '^[A-Za-z].*\b(__)?(cuda|cu)[A-Z][A-Za-z0-9_]*\(' \
	src/cudart/state src/cudart/graph src/cudart/report 2>/dev/null)

# ---- words --------------------------------------------------------------------------------------

# A word after the start of a comment; no call, no file's name, no keyword before a colon.
tell='\b(tells?|told|telling)\b(?![:(_]|\.[a-z])'
while IFS= read -r hit; do
	breach "$(cut -d: -f1,2 <<<"$hit"): says \"tell\": report, say or distinguish (CONTRIBUTING.md)"
done < <(
	grep -rnP --include='*.[ch]' --include='*.cu' --include='*.def' --include='*.ptx' \
		--include='*.ptxt' "(//|/\*|^[ \t]*\*[ /]).*$tell" src include examples bench tests 2>/dev/null
	grep -rnP --include='*.sh' --include='*.litmus' --include=CMakeLists.txt --include=Makefile \
		"(^|[ \t])# .*$tell" src examples bench tests tools Makefile 2>/dev/null |
		grep -v '^tests/structure/'
	grep -nHP "$tell" README.md docs/*.md 2>/dev/null
)
while IFS= read -r hit; do
	breach "$(cut -d: -f1,2 <<<"$hit"): says \"nobody\": name the thread, the program or the host (CONTRIBUTING.md)"
done < <(
	grep -rniP --include='*.[ch]' --include='*.cu' --include='*.def' --include='*.ptxt' \
		'(//|/\*|^[ \t]*\*[ /]).*\b(no|some)body\b' src 2>/dev/null
	grep -niHP '\b(no|some)body\b' README.md docs/*.md 2>/dev/null
)
# "Behind" is a place: of memory, of what is left, of code that a branch guards.
behind='(left|leave|leaves|stay|lag|far|memory|arrays?|bodies|caches|lies|theirs|structure)\b.*behind|weak access behind'
behind="$behind|behind (a|that) branch|behind conditions?|behind a condition|behind its handle|behind[[:space:]]+enum|^[^:]*:[0-9]*:.*\`behind\`"
while IFS= read -r hit; do
	breach "$(cut -d: -f1,2 <<<"$hit"): says \"behind\": after (CONTRIBUTING.md)"
done < <(
	grep -rniP --include='*.[ch]' --include='*.cu' --include='*.def' --include='*.ptxt' \
		'(//|/\*|^[ \t]*\*[ /]).*\bbehind\b' src 2>/dev/null | grep -viE "$behind"
	# What users read: texts of tables and of reports, and the documentation.
	grep -rniP --include='*.[ch]' --include='*.def' '"[^"]*\bbehind\b[^"]*"' src 2>/dev/null |
		grep -viE "$behind"
	grep -niHP '\bbehind\b' README.md docs/*.md 2>/dev/null | grep -viE "$behind"
)
# The formatter breaks a ruler that is too long.
while IFS= read -r hit; do
	breach "$(cut -d: -f1,2 <<<"$hit"): a ruler that goes on in the next line"
done < <(grep -rnE --include='*.[ch]' --include='*.cu' '^/\* -{4}[^*]*$' src tests 2>/dev/null)
# A name of src/: a whole word of it, between underscores or capitals.
name_rule() { # name_rule "WORD|WORD" WHAT ADVICE
	local hit
	while IFS= read -r hit; do
		breach "$(cut -d: -f1,2 <<<"$hit"): a name says \"$2\": $3 (CONTRIBUTING.md)"
	done < <(grep -rnP --include='*.[ch]' --include='*.cu' '^(?!.*(//|/\*|^[ \t]*\*[ /])).*\b([a-z0-9_]*_)?('"$1|${1^^}"')(_[a-z0-9_]*)?\b(?=[^"]*("[^"]*"[^"]*)*$)' src 2>/dev/null)
}
name_rule 'tell|tells|told' tell 'report, record or inform'
name_rule 'nobody|somebody' nobody 'the thread, the program or the host'

[ $breaches -eq 0 ] || { echo "$breaches breaches"; exit 1; }
