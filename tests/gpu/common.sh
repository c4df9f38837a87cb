# common.sh - what run_races.sh and run_racefree.sh share. Sourced; plain bash, grep and sed.

# Marked lines of a source as numbers, joined by blanks: lines_of FILE race|quiet TAG
lines_of() {
	grep -n "// $2: $3\$" "$1" | cut -d: -f1 | tr '\n' ' '
}

# One value of a JSON line, the first with this key: json_get LINE KEY (strings and numbers)
json_get() {
	printf '%s\n' "$1" | grep -o "\"$2\"[[:space:]]*:[[:space:]]*[^,}]*" | head -1 |
		sed 's/^[^:]*:[[:space:]]*//; s/^"//; s/"$//'
}

# Findings of a report as lines "kind|class|file|line": findings_of FILE
findings_of() {
	local l file
	grep '"type"[[:space:]]*:[[:space:]]*"finding"' "$1" 2>/dev/null | while IFS= read -r l; do
		file=$(json_get "$l" file)
		echo "$(json_get "$l" kind)|$(json_get "$l" class)|${file##*/}|$(json_get "$l" line)"
	done
}

# run_collider LIMIT REPORT RDELAY WDELAY PROGRAM [ARGS]: stdout of the program in REPORT.out
run_collider() {
	local limit=$1 report=$2 rdelay=$3 wdelay=$4
	shift 4
	rm -f "$report"
	timeout "$limit" "$collider" run --json="$report" --rdelay="$rdelay" --wdelay="$wdelay" -- \
		"$@" >"$report.out" 2>"$report.err"
}

has_word() { # has_word WORD LIST
	case " $2 " in
	*" $1 "*) return 0 ;;
	*) return 1 ;;
	esac
}
