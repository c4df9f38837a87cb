# common.sh - what run_races.sh, run_racefree.sh and tests/hadron share. Sourced; plain bash, grep,
# sed. What is asked of each report starts no process: that took longer than the runs themselves.

# DEVICE=cpu runs all of it on Collider's CPU device, seed by seed, in place of a GPU.
device=${DEVICE:-gpu}
# DETECTOR=oracle (with DEVICE=cpu) judges every access of the plain programs.
detector=${DETECTOR:-collide}

# Marked lines of a source as numbers, joined by blanks: lines_of FILE race|quiet TAG
lines_of() {
	local n=0 line
	while IFS= read -r line || [ "$line" ]; do
		n=$((n + 1))
		[[ $line != *"// $2: $3" ]] || printf '%s ' $n
	done <"$1"
}

# How many seeds the oracle gets: the program's `// seeds:` line where it is below the number given.
seeds_of() {
	local n
	n=$(sed -n 's,^// seeds: ,,p' "$1")
	[ "${n:-$2}" -lt "$2" ] && echo "$n" || echo "$2"
}

# One value of a JSON line, the first with this key: json_get LINE KEY (strings and numbers)
json_get() {
	local rest="${1#*\"$2\":}"
	[ "$rest" != "$1" ] || return 0
	rest=${rest%%[,\}]*}
	rest=${rest#\"}
	printf '%s\n' "${rest%\"}"
}

# Where one side stands, as "file|line": place_of JSON. Code of a header counts where it was called.
place_of() {
	local file line rest
	file=$(json_get "$1" file)
	line=$(json_get "$1" line)
	rest=${1#*\"inlined_at\":[}
	case ${file##*/} in
	*.cu) ;;
	*) case $rest in
		{*) file=$(json_get "$rest" file) line=$(json_get "$rest" line) ;;
		esac ;;
	esac
	echo "${file##*/}|$line"
}

# Findings of a report as lines "kind|class|file|line", one for each side: findings_of FILE
findings_of() {
	local l second head
	grep '"type"[[:space:]]*:[[:space:]]*"finding"' "$1" 2>/dev/null | while IFS= read -r l; do
		head="$(json_get "$l" kind)|$(json_get "$l" class)"
		echo "$head|$(place_of "$l")"
		second=${l#*\"second\":}
		# An operation of the host has no line.
		[ "$second" = "$l" ] || [ "$(json_get "$second" host)" = true ] ||
			echo "$head|$(place_of "$second")"
	done
}

# run_collider LIMIT REPORT SEED RDELAY WDELAY PROGRAM [ARGS]: stdout of the program in REPORT.out. On a
# GPU without the judge: what is expected is what the detector says, and its copies keep launches apart.
run_collider() {
	local limit=$1 report=$2 seed=$3 rdelay=$4 wdelay=$5 judge=
	[ "$device" = cpu ] || judge=--judge=off
	shift 5
	rm -f "$report"
	timeout "$limit" "$collider" run --device="$device" --seed="$seed" --json="$report" \
		--detector="$detector" ${judge:+"$judge"} \
		--rdelay="$rdelay" --wdelay="$wdelay" -- "$@" >"$report.out" 2>"$report.err"
}

# run_plain LIMIT PROGRAM [ARGS]: without checks
run_plain() {
	local limit=$1
	shift
	if [ "$device" = cpu ]; then
		timeout "$limit" "$collider" run --device=cpu --log-file=/dev/null -- "$@"
	else
		timeout "$limit" "$@"
	fi
}

# Lines where a race may be reported: all tags of expect and may.
allowed_lines() {
	local src=$1 tag
	for tag in $(sed -n "s,^// expect $detector: .* at ,,p; s,^// may: ,,p" "$src" | tr '|' ' '); do
		lines_of "$src" race "$tag"
	done
}

# Checks the report of a racy program: check_racy SOURCE REPORT. Prints nothing when all is well,
# else "missed TAG", "false positive ..." or "reported never: ...".
check_racy() {
	local src=$1 report=$2 spec kinds tags tag lines found kind class file line ok allowed never
	findings_of "$report" >"$report.found"
	sed -n "s,^// expect $detector: ,,p" "$src" >"$report.want"
	while IFS= read -r spec; do
		kinds=$(echo "${spec% at *}" | tr '|' ' ')
		lines=
		for tag in $(echo "${spec##* at }" | tr '|' ' '); do
			lines="$lines $(lines_of "$src" race "$tag")"
		done
		ok=0
		while IFS='|' read -r kind class file line; do
			# The oracle is to be sure.
			[ "$detector/$class" = oracle/possible ] && continue
			has_word "$kind" "$kinds" && has_word "$line" "$lines" && ok=1
		done <"$report.found"
		[ $ok -eq 1 ] || echo "missed ${spec##* at }"
	done <"$report.want"
	allowed=$(allowed_lines "$src")
	while IFS='|' read -r kind class file line; do
		[ "$file" = "$(basename "$src")" ] && has_word "$line" "$allowed" && continue
		case $class in
		possible* | undecided*) never= ;;
		*) never="false positive $kind at $file:$line" ;;
		esac
		for tag in $(sed -n 's,^// never: ,,p' "$src"); do
			has_word "$line" "$(lines_of "$src" quiet "$tag")" &&
				never="reported never:$tag ($kind, $class)"
		done
		[ -z "$never" ] || echo "$never"
	done <"$report.found"
}

# What a program printed on a GPU (outputs.tsv): gpu_output NAME; nothing when it isn't known
gpu_output() {
	[ ! -f "$dir/outputs.tsv" ] || sed -n "s/^$1\t//p" "$dir/outputs.tsv"
}

has_word() { # has_word WORD LIST
	case " $2 " in
	*" $1 "*) return 0 ;;
	*) return 1 ;;
	esac
}
