#!/bin/bash
# one.sh - builds one program twice for run.sh and prints a line of its table: one.sh "GROUP<TAB>PATH<TAB>OPTIONS".
set -u
[ -z "$BENCH_ENDS" ] || [ "$(date +%s)" -lt "$BENCH_ENDS" ] || exit 0
IFS=$'\t' read -r group path options <<<"$1"
target=
case $path in *:*) target=${path##*:} path=${path%:*} ;; esac
name=$(basename "$path" .cu)
work=$BENCH_TMP/work/$group.$name
mkdir -p "$work"

# The core of this slot, among those that this process may use.
cores=$(taskset -cp $$ | sed 's/.*: //' | tr ',' '\n' |
	while IFS=- read -r a b; do seq "$a" "${b:-$a}"; done)
core=$(echo "$cores" | sed -n "$((BENCH_SLOT % $(echo "$cores" | wc -l) + 1))p")

# The folder copied, what lies beside it and above it linked.
mirror() # PATH TO
{
	local up=$2/up p
	mkdir -p "$up/$(basename "$(dirname "$1")")"
	for p in "$(dirname "$(dirname "$1")")"/*; do
		ln -s "$p" "$up/" 2>/dev/null
	done
	tree=$up/$(basename "$(dirname "$1")")
	if [ "$(ls "$(dirname "$1")" | wc -l)" -gt 1 ]; then
		for p in "$(dirname "$1")"/*; do
			[ "$p" = "$1" ] || ln -s "$p" "$tree/"
		done
	fi
	cp -r "$1" "$tree/"
	tree=$tree/$(basename "$1")
	chmod -R u+w "$tree"
}

# Builds in $tree: $work/SIDE.{log,s,csv}; its exit code.
build() # SIDE
{
	local side=$1 rc files
	export PATH=$BENCH_TMP/$side:$PATH XDG_CACHE_HOME=$BENCH_TMP/cache
	export NVCC_APPEND_FLAGS="--time=$work/$side.csv"
	cd "$tree" || return 1
	if [ -e Makefile ]; then
		set -- make -s ARCH="$BENCH_ARCH" $target
	else
		files=$(find . -maxdepth 1 -name '*.cu' -o -maxdepth 1 -name '*.cpp' -o -maxdepth 1 -name '*.c' | sort)
		[ ! -f "$only" ] || files=$only
		set -- nvcc -O3 -std=c++17 -arch="$BENCH_ARCH" $options $files -o "$work/$side.out"
	fi
	TIMEFORMAT='%U %S'
	{ time timeout "$BENCH_LIMIT" taskset -c "$core" "$@" >"$work/$side.log" 2>&1; } 2>"$work/$side.s"
	rc=$?
	[ -e "$work/$side.out" ] ||
		for f in "$tree/main" "$tree/${name%-cuda}" $(find "$tree" -maxdepth 2 -type f -perm -u+x -newer "$work/start"); do
			[ -f "$f" ] && [ -x "$f" ] && cp "$f" "$work/$side.out" && break
		done
	if [ -n "$BENCH_BUILT" ] && [ -e "$work/$side.out" ]; then
		mkdir -p "$BENCH_BUILT/$side"
		mv "$work/$side.out" "$BENCH_BUILT/$side/$group.$name"
	fi
	[ -z "$BENCH_BUILT" ] || { mkdir -p "$BENCH_BUILT/log"; cp "$work/$side.log" "$BENCH_BUILT/log/$group.$name.$side"; }
	return $rc
}

sum_of() # FILE PHASE
{
	awk -F' *, *' -v p="$2" '$2 == p { s += $7 } END { printf "%.2f", s / 1000 }' "$1" 2>/dev/null
}

only=
folder=$path
if [ -f "$path" ]; then
	only=./$(basename "$path")
	folder=$(dirname "$path")
fi
touch "$work/start"
for side in plain collide; do
	mirror "$folder" "$work/$side"
	if [ -n "$only" ]; then only=$tree/$(basename "$path"); fi
	(build $side)
	echo $? >"$work/$side.rc"
	[ "$(cat "$work/plain.rc")" -eq 0 ] || break
done
plain_rc=$(cat "$work/plain.rc") rc=-
[ ! -e "$work/collide.rc" ] || rc=$(cat "$work/collide.rc")
seconds() { tail -n 1 "$work/$1.s" 2>/dev/null | awk '{ printf "%.2f", $1 + $2 }'; }
# What --collider-verbose said, summed over the modules.
said=$(cat "$work/collide.log" 2>/dev/null | sed -n 's/^collider: [^:]*: //p' | awk '
	/accesses in/ { sites += $1; kernels += $4 }
	/groups; / {
		modules++; groups += $1; lines += $3; after += $7; pass += $10
		original += $16; trial += $21; trials += substr($25, 2)
	}
	/ s for proofs/ { proofs += $4 }
	END { print lines + 0, after + 0, kernels + 0, sites + 0, groups + 0, pass + 0, original + 0, trial + 0, trials + 0, modules + 0, proofs + 0 }')
read -r lines after kernels sites groups pass original trial trials modules proofs <<<"$said"
printf '%s\t' "$group" "$name" "$plain_rc" "$rc" "$(seconds plain)" "$(seconds collide)" "$lines" "$after" \
	"$kernels" "$sites" "$groups" "$(sum_of "$work/plain.csv" ptxas)" "$pass" "$original" "$trial" "$trials" \
	"$(sum_of "$work/collide.csv" ptxas)"
printf '%s\t%s\n' "$modules" "$proofs"
# Functions with more than 200 sites: what their PTX became.
sed -n 's/^collider: .*: function \([^ ]*\): \([0-9]*\) sites, \([0-9]*\) groups, \([0-9]*\) lines, \([0-9]*\) .*/\1\t\2\t\3\t\4\t\5/p' \
	"$work/collide.log" 2>/dev/null | sed "s,^,$group/$name\t," >>"$BENCH_TMP/functions"
rm -rf "$work"
