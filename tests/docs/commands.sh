#!/bin/bash
# commands.sh - run the commands that the documentation shows: commands.sh COLLIDER ROOT CUDA_BIN
#
# Runs each ```sh block of the .md files that follows a line `<!-- run -->`, in a scratch copy of
# examples/ with collider and nvcc on PATH and the build folder as build/; README.md has to say itself how
# collider comes onto PATH, which later blocks of a document keep. `<!-- run: N -->` expects exit code N.
# After a block an optional `<!-- says: REGEX -->` is looked for in its output; what is indented after
# `<!-- sample: N -->` is what block N printed from its first finding on, but for numbers. Nothing here needs a GPU.
#
# Indented commands of ours that no test runs are errors unless `<!-- not run: REASON -->` stands
# before them (options.md has summaries and examples out of the option table); so are options that
# no command has.
set -u
collider=$1 root=$2 cuda=$3
export PATH=$cuda:$PATH
work=$(mktemp -d) || exit 2
export XDG_CACHE_HOME=$work/cache # a proof that was kept before would add lines
trap 'rm -rf "$work"' EXIT
cp -r "$root/examples" "$work/" && cd "$work" || exit 2
bin=$(cd "$(dirname "$collider")" && pwd)
ln -s "$(dirname "$bin")" build

# Blocks as files N.sh, with N.code and N.says beside them; numbering is per document.
split() {
	awk -v out="$2" '
	/^<!-- run(: [0-9]+)? -->$/ { code = $3 + 0; armed = 1; next }
	armed && /^```sh$/ { n++; inside = 1; armed = 0; file = out "." n; print NR + 1 > (file ".line")
		print code > (file ".code"); printf "" > (file ".sh"); next }
	armed && NF { print FILENAME ":" NR ": no ```sh block after the mark" > (out ".bad"); armed = 0 }
	inside && /^```$/ { inside = 0; next }
	inside { print > (file ".sh") }
	/^<!-- says: .* -->$/ { sub(/^<!-- says: /, ""); sub(/ -->$/, ""); print > (file ".says") }
	/^<!-- sample: [0-9]+ -->$/ { sample = out "." ($3 + 0) ".sample"; next }
	sample && /^    / { print substr($0, 5) > sample; next }
	sample && NF { sample = "" }
	/^<!-- not run: .+ -->$/ { excused = 1 }
	FILENAME !~ /options\.md$/ && /^    (collider|nvcc|cuda-gdb|cmake|gcc|clang) / && !inside && !excused {
		print FILENAME ":" NR ": a command that no test runs" > (out ".bad") }
	/^[^ <]/ { excused = 0 }
	END { if (inside || armed) print FILENAME ": a block has no end" > (out ".bad") }' "$1"
}

# not_again SCRIPT: a program that an earlier block built with the same words is there already.
declare -A built_by=()
not_again() {
	local line words out
	while IFS= read -r line; do
		words=${line%%[[:space:]]#*}
		if [[ $words =~ ^(collider\ )?nvcc\ .*\ -o\ ([a-z.]+)( |$) ]] && [ -z "$(grep '^cd ' "$1")" ]; then
			out=${BASH_REMATCH[2]}
			[ "${built_by[$out]:-}" != "$words" ] || [ ! -s "$out" ] || continue
			built_by[$out]=$words
		fi
		printf '%s\n' "$line"
	done <"$1" >"$1.rest"
}

shown() { sed -E "s,$work/,,g" | sed -E 's/0x[0-9a-f]+/N/g; s/[0-9][0-9,]*/N/g; /^$/d'; } # any numbers

failed=0 blocks=0
while IFS= read -r doc; do
	name=${doc//\//_}
	split "$root/$doc" "$work/$name"
	path=$PATH
	[ "$doc" = README.md ] || path=$bin:$PATH
	[ ! -e "$work/$name.bad" ] || { cat "$work/$name.bad"; failed=1; }
	while IFS= read -r script; do # by number: the 10th after the 9th
		block=${script%.sh}
		blocks=$((blocks + 1))
		not_again "$script"
		env PATH="$path" bash -eu -c 'trap "printf %s \"\$PATH\" >\"$1.path\"" EXIT; . "$1.sh.rest"' \
			- "$block" >"$block.out" 2>&1 </dev/null
		rc=$?
		path=$(cat "$block.path")
		bad=
		[ $rc -eq "$(cat "$block.code")" ] || bad="exit code $rc, expected $(cat "$block.code")"
		while IFS= read -r says; do
			grep -Eq -- "$says" "$block.out" || bad="$bad; nothing like '$says' in its output"
		done < <(cat "$block.says" 2>/dev/null)
		[ ! -s "$block.sample" ] || diff <(shown <"$block.sample") <(sed -n '/^1\. /,$p' "$block.out" | shown) ||
			bad="$bad; another output than the sample"
		[ "$bad" ] || continue
		failed=1
		echo "FAIL $doc:$(cat "$block.line"): $bad"
		sed 's/^/  /' "$script" "$block.out"
	done < <(ls -v "$work/$name".*.sh 2>/dev/null)
done < <(cd "$root" && ls README.md CONTRIBUTING.md docs/*.md examples/*.md)

# What `help` and the options of the wrappers name; --args is the debuggers', --renew the
# developers' tool's for docs, and docs/coming-from.md names options of compute-sanitizer.
{
	cat "$root/docs/options.md"
	for command in nvcc ptxas cc; do "$collider" help $command; done
	echo --args --renew --tool --racecheck-report --racecheck-detect-level --kernel-regex --read --xml
} >"$work/known"
while IFS=: read -r doc line option; do
	grep -qwF -e "$option" "$work/known" && continue
	echo "FAIL $doc:$line: $option: no command has this option"
	failed=1
done < <(cd "$root" && grep -noE -e '[ `(]--[a-z][a-z-]+' README.md CONTRIBUTING.md docs/*.md examples/*.md |
	sed -E 's/:[ `(]--/:--/' | sort -t: -u -k3,3) # each once
echo "$blocks blocks run"
[ $blocks -gt 0 ] && [ $failed -eq 0 ]
