# lib.sh - what the scripts here share: a scratch folder, failures, the user's part of an output.
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
bad=0
fail() {
	echo "$name: $*" >&2
	bad=1
}

# needs COMMAND...: what `make setup` installs and this test can't do without
needs() {
	for tool; do
		command -v "$tool" >/dev/null ||
			{ echo "$name: $tool is missing: run 'make setup'" >&2; exit 1; }
	done
}

# The output without comments and the report functions.
users_part() {
	awk '/^\.(weak|visible|extern) .func __collider_/ { skip = 1 }
	     /^\.func .*__collider_check/ || /__collider_(chosen|block)\($/ { skip = 1 }
	     /^\.func .*__collider_(hirace|iguard|watch)_/ { skip = 1 }
	     /^\.weak \.global .*__collider_hirace_table/ { skip = 1 }
	     !skip && !/^[[:space:]]*\/\// { print }
	     skip { depth += gsub(/{/, "{") - gsub(/}/, "}") }
	     skip && /}/ && depth == 0 { skip = 0 }' "$1"
}

# Our registers and labels without their numbers.
numberless() { sed -e 's/%collider_[0-9][0-9]*/%c/g' -e 's/\$collider_[0-9][0-9]*/$c/g'; }
