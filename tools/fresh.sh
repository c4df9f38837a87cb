#!/bin/bash
# fresh.sh - demo and check on machines that nobody has prepared.
#
#   tools/fresh.sh [PART,...] [-k]        (make fresh PARTS=...; as root)
#
# Root file systems are made by debootstrap in a scratch folder, for Debian 12 (bookworm) and for Ubuntu
# 24.04 (noble) where apt of this machine knows a source of its packages. They hold git, make, CA
# certificates, and a clone of the committed HEAD of this repository. Parts, in this order:
#
#   demo      as root, no CUDA toolkit: make demo
#   check     as root, no CUDA toolkit: make setup, then make check with nothing built (make clean)
#   again     after check: make check once more, built
#   user      as a user with sudo: make demo, make all
#   toolkit   a CUDA toolkit on PATH that has nvcc and no disassembler: make demo, make all, and the
#             tests that want a disassembler
#
# The first three share a file system, the others have one each. Without arguments all of them run. -k
# keeps the file systems, and says where. TMPDIR is where they go (10 GB).
#
# Apt's and pip's settings, proxies and CA certificates are those of this machine: its sources of the
# suite's packages, apt's Acquire settings, pip's files, /usr/local/share/ca-certificates and the
# variables named in `passed`. Nothing of the kind is written into the log.
#
# Everything is mounted and started in namespaces of its own (unshare), so nothing stays mounted or
# running, however this ends. Output: a table of steps with wall time and CPU time; the whole is in
# build/fresh/log. Exit code 1: a step failed; 2: wrong usage, or no file system can be made.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
all_parts="demo check again user toolkit"
usage="usage: $0 [PART,...] [-k], parts: $all_parts"

# ---- in namespaces of its own, with a scratch folder that goes away ---------------------------

if [ -z "${FRESH_INSIDE:-}" ]; then
	[ "$(id -u)" -eq 0 ] || { echo "fresh: only root can make root file systems" >&2; exit 2; }
	for tool in debootstrap unshare git; do
		command -v $tool >/dev/null || { echo "fresh: $tool is missing" >&2; exit 2; }
	done
	keep=
	parts=
	for arg; do
		case $arg in
		-k) keep=1 ;;
		-*) echo "$usage" >&2; exit 2 ;;
		*) parts="$parts ${arg//,/ }" ;;
		esac
	done
	for p in $parts; do
		case " $all_parts " in
		*" $p "*) ;;
		*) echo "fresh: no part $p; $usage" >&2; exit 2 ;;
		esac
	done
	scratch=$(mktemp -d "${TMPDIR:-/var/tmp}/collider-fresh.XXXXXX") || exit 2
	[ "$keep" ] && echo "fresh: file systems stay in $scratch" ||
		trap 'rm -rf --one-file-system "$scratch"' EXIT
	child=
	trap 'kill $child; wait; exit 130' INT TERM HUP
	FRESH_INSIDE=$scratch FRESH_PARTS=${parts:-$all_parts} \
		unshare --mount --propagation private --pid --fork --kill-child bash "$0" &
	child=$!
	wait $child
	exit
fi
scratch=$FRESH_INSIDE
unset TMPDIR # a path of this machine means nothing inside
has_part() { # has_part NAME...: is one of them asked for?
	local p
	for p; do
		case " $FRESH_PARTS " in
		*" $p "*) return 0 ;;
		esac
	done
	return 1
}
mkdir -p "$root/build/fresh" || exit 2
log=$root/build/fresh/log
: >"$log"
say() { echo "$*" | tee -a "$log"; }

# ---- settings of this machine ------------------------------------------------------------------

passed="http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY PIP_INDEX_URL PIP_EXTRA_INDEX_URL
PIP_CERT PIP_DEFAULT_TIMEOUT SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE"

# A source of the suite's packages: apt's own, "main" of the suite itself.
mirror_of() { # mirror_of SUITE
	apt-get indextargets --format '$(CODENAME) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
		sed -n "s/^$1 main //p" | head -n 1
}

settings_into() { # settings_into FILE-SYSTEM
	local fs=$1 f
	cp /etc/resolv.conf /etc/hosts "$fs/etc/" 2>/dev/null
	apt-config dump | grep -E '^Acquire::(http|https|Check-|Retries|ForceIPv4)' >"$fs/etc/apt/apt.conf.d/90machine"
	for f in /etc/pip.conf "${XDG_CONFIG_HOME:-$HOME/.config}/pip/pip.conf"; do
		[ ! -f "$f" ] || cat "$f" >>"$fs/etc/pip.conf"
	done
	if ls /usr/local/share/ca-certificates/*.crt >/dev/null 2>&1; then
		mkdir -p "$fs/usr/local/share/ca-certificates"
		cp /usr/local/share/ca-certificates/*.crt "$fs/usr/local/share/ca-certificates/"
		chroot "$fs" update-ca-certificates >>"$log" 2>&1
	fi
}

# ---- file systems -------------------------------------------------------------------------------

make_base() { # make_base SUITE MIRROR: $scratch/SUITE.base
	debootstrap --variant=minbase --include=git,make,ca-certificates "$1" "$scratch/$1.base" "$2" \
		>>"$log" 2>&1 && settings_into "$scratch/$1.base" &&
		git clone -q --no-hardlinks "$root" "$scratch/$1.base/root/collider" >>"$log" 2>&1
}

make_system() { # make_system NAME: a copy of the base, mounted; sets fs
	fs=$scratch/$suite.$1
	cp -a "$scratch/$suite.base" "$fs" && mount -t proc proc "$fs/proc" &&
		mount -t devpts -o newinstance,ptmxmode=0666 devpts "$fs/dev/pts" &&
		mkdir -p "$fs/dev/shm" && mount -t tmpfs tmpfs "$fs/dev/shm" && chmod 1777 "$fs/dev/shm"
}

inside() { # inside USER COMMAND: in $fs, in the clone of that user
	local user=$1 v env=()
	for v in $passed; do
		[ -z "${!v:-}" ] || env+=("$v=${!v}")
	done
	local home=/root
	[ "$user" = root ] || home=/home/$user
	chroot --userspec="$user:$user" "$fs" /usr/bin/env -i HOME="$home" USER="$user" SHELL=/bin/bash LANG=C.UTF-8 \
		PATH="$extra_path/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" "${env[@]}" \
		bash -c "cd ~/collider && $2" </dev/null
}

failed=0
# step PART WHAT USER COMMAND: a row of the table; false when it failed
step() {
	local rc wall user sys result=ok
	echo "==== $suite, $1: $2" >>"$log"
	{ TIMEFORMAT='%R %U %S'; time inside "$3" "$4" >>"$log" 2>&1; } 2>"$scratch/time"
	rc=$?
	read -r wall user sys <"$scratch/time"
	[ $rc -eq 0 ] || { result="FAILED ($rc)" failed=1; }
	say "$(printf '| %-9s | %-7s | %-42s | %6.0f | %6.0f | %s |' "$suite" "$1" "$2" "$wall" \
		"$(awk "BEGIN { print $user + $sys }")" "$result")"
	[ $rc -eq 0 ] || { tail -n 30 "$log" | sed 's/^/    /' >&2; return 1; }
}

# ---- the parts ------------------------------------------------------------------------------------

as_root() {
	make_system root || return 1
	if has_part demo; then
		step demo "make demo" root "make demo" || return
	fi
	if has_part check again; then
		step check "make setup" root "make setup" || return
		step check "make check, nothing built" root "make clean && make check" || return
	fi
	if has_part again; then
		step again "make check, built" root "make check" || return
	fi
}

as_user() {
	make_system user || return 1
	{ chroot "$fs" apt-get -qq update && chroot "$fs" env DEBIAN_FRONTEND=noninteractive \
		apt-get -qq -y --no-install-recommends install sudo adduser; } >>"$log" 2>&1 </dev/null &&
		chroot "$fs" useradd -m -s /bin/bash dev && mv "$fs/root/collider" "$fs/home/dev/" &&
		chroot "$fs" chown -R dev:dev /home/dev &&
		echo 'dev ALL=(ALL) NOPASSWD: ALL' >"$fs/etc/sudoers.d/dev" || { say "no user could be made"; return 1; }
	step user "make demo" dev "make demo" && step user "make all" dev "make all"
}

with_toolkit() {
	make_system toolkit || return 1
	# NVIDIA's wheels hold one without a disassembler; here it lies where nothing of ours looks.
	inside root "tools/setup.sh --build-only --cuda && mv .deps/cuda /opt/cuda && rm -r .deps" >>"$log" 2>&1 ||
		{ say "no toolkit could be made"; return 1; }
	extra_path=/opt/cuda/bin:
	step toolkit "make demo" root "command -v nvcc && ! command -v cuobjdump && ! command -v nvdisasm &&
		make demo && [ ! -e .deps ]" &&
		step toolkit "make all" root "make all" &&
		step toolkit "make setup, tests with a disassembler" root "make setup && [ ! -e .deps/cuda ] &&
			ctest --test-dir build --no-tests=error --output-on-failure -R '^(instrument.(rdc|sass)|toolchain_trap)\$'"
	local rc=$?
	extra_path=
	return $rc
}

extra_path=
ran=0
say "commit $(git -C "$root" rev-parse --short HEAD), $(nproc) cores, load $(cut -d' ' -f1 /proc/loadavg) at the start"
[ -z "$(git -C "$root" status --porcelain)" ] || say "(what isn't committed is not in it)"
say ""
say "| system    | part    | step                                       | wall s |  CPU s | result |"
say "| ---       | ---     | ---                                        |    --: |    --: | ---    |"
for suite in bookworm noble; do
	mirror=$(mirror_of $suite)
	[ "$mirror" ] || { say "| $suite | | no source of its packages on this machine | | | left out |"; continue; }
	make_base $suite "$mirror" ||
		{ say "| $suite | | debootstrap | | | FAILED, see the log |"; failed=1; continue; }
	ran=$((ran + 1))
	! has_part demo check again || as_root || failed=1
	! has_part user || as_user || failed=1
	! has_part toolkit || with_toolkit || failed=1
done
say ""
[ $ran -gt 0 ] || { say "fresh: no file system could be made"; exit 2; }
[ $failed -eq 0 ] && say "fresh: all is well" || say "fresh: NOT all is well"
exit $failed
