#!/bin/bash
# packages.sh TREE ROOT RACY FIXED - find_package(Collider) and pkg-config from the installed tree TREE, and the commands of the
# jobs for CI. RACY and FIXED are programs.
set -u
tree=$1 root=$2 racy=$3 fixed=$4
bad=0
fail() {
	echo "FAIL: $*"
	bad=1
}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache
cd "$work" || exit 2
unset COLLIDER_OPTIONS

# A project with a test of each kind: only the race is to fail.
cat >CMakeLists.txt <<C
cmake_minimum_required(VERSION 3.22)
project(user LANGUAGES NONE)
enable_testing()
find_package(Collider 0.1 REQUIRED)
collider_add_checked_test(NAME racy COMMAND $racy OPTIONS --seed=3)
collider_add_checked_test(NAME fixed COMMAND $fixed)
collider_add_checked_test(NAME nothing COMMAND true)
collider_add_checked_test(NAME nothing_allowed COMMAND true ALLOW_PARTIAL)
get_target_property(where Collider::annotations INTERFACE_INCLUDE_DIRECTORIES)
if(NOT EXISTS \${where}/collider/assume.h)
  message(FATAL_ERROR "no header in \${where}")
endif()
C
"${CMAKE:-cmake}" -S . -B b -DCMAKE_PREFIX_PATH="$tree" >log 2>&1 || { cat log; exit 1; }
(cd b && "${CTEST:-ctest}" >../log 2>&1)
for t in racy:Failed fixed:Passed nothing:Failed nothing_allowed:Passed; do
	grep -q " ${t%:*} .*${t#*:}" log || { cat log; fail "test ${t%:*} isn't ${t#*:}"; }
done
"${CMAKE:-cmake}" -E rm -rf b
sed -i 's/Collider 0.1/Collider 7/' CMakeLists.txt
"${CMAKE:-cmake}" -S . -B b -DCMAKE_PREFIX_PATH="$tree" >log 2>&1 && fail "version 7 is found"

export PKG_CONFIG_PATH=$tree/lib/pkgconfig
flags=$(pkg-config --cflags collider) || fail "pkg-config"
echo '#include <collider/assume.h>' | gcc -E $flags - >/dev/null || fail "no header with $flags"
[ -x "$(pkg-config --variable=bindir collider)/collider" ] || fail "bindir"

# The C library, as pkg-config and as CMake find it, by the example: the race is found, and not by its twin.
cp "$root/examples/library/histogram.c" racy.c
sed 's/ld.global.u32 %n, \[%p\];.nadd.u32 %n, %n, 1;.nst.global.u32 \[%p\], %n;/red.relaxed.gpu.global.add.u32 [%p], 1;/' racy.c >fixed.c
cmp -s racy.c fixed.c && fail "the example has no twin"
flags=$(pkg-config --cflags --libs collider-ptx) || fail "pkg-config collider-ptx"
for kind in racy:1 fixed:0; do
	name=${kind%:*}
	gcc -std=c11 -Wall -Wextra -Werror -pedantic $name.c $flags -o $name || fail "$name.c can't be built"
	LD_LIBRARY_PATH=$tree/lib ./$name >log 2>&1
	rc=$?
	[ $rc = "${kind#*:}" ] || { cat log; fail "$name: exit code $rc"; }
	[ "$(grep -c 'races with' log)" = $((${kind#*:} * 2)) ] || { cat log; fail "$name: other findings"; }
done
echo '#include <collider/ptx.h>' | g++ -fsyntax-only -Wall -Wextra -Werror -pedantic -x c++ $flags - || fail "ptx.h in C++"
cat >CMakeLists.txt <<'C'
cmake_minimum_required(VERSION 3.22)
project(user LANGUAGES C)
find_package(Collider REQUIRED)
add_executable(racy racy.c)
target_link_libraries(racy PRIVATE Collider::ptx)
C
"${CMAKE:-cmake}" -S . -B c -DCMAKE_PREFIX_PATH="$tree" >log 2>&1 && "${CMAKE:-cmake}" --build c >>log 2>&1 ||
	{ cat log; fail "CMake doesn't find the C library"; }
./c/racy >log 2>&1
[ $? = 1 ] || { cat log; fail "racy by CMake"; }

# What the jobs run: the racy program is to end with 99 and a file, the right one with 0.
awk '/run: \|/ { on = 1; next } on && /^      - / { exit } on { print substr($0, 11) }' "$root/examples/ci/github.yml" >github
awk '/^  script:/ { on = 1; next } on && !/^    - / { exit } on { print substr($0, 7) }' "$root/examples/ci/gitlab-ci.yml" >gitlab
mkdir bin
printf '#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\ncp "$BUILT" "$2"\n' >bin/nvcc
chmod +x bin/nvcc
for job in github:races.sarif:ruleId gitlab:races.xml:failure; do
	IFS=: read -r name file word <<<"$job"
	for kind in racy:99 fixed:0; do
		rm -f races.*
		program=${kind%:*}
		BUILT=${!program} PATH=$work/bin:$tree/bin:$PATH bash -e ./$name >log 2>&1
		rc=$?
		[ $rc = "${kind#*:}" ] || { cat log; fail "$name, $program: exit code $rc"; }
		[ $rc = 99 ] && ! grep -q "$word" "$file" && fail "$name: nothing like $word in $file"
		[ $rc = 0 ] && grep -q "$word\"" "$file" && fail "$name, $program: $word in $file"
	done
done
[ $bad -ne 0 ] || echo "found by CMake and pkg-config, and the jobs ran"
exit $bad
