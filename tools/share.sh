#!/bin/sh
# share.sh COLLIDER SHARE - what the program writes about itself: manual pages and completions of
# shells, where an installed tree has them.
set -eu
collider=$1 share=$2
man=$share/man/man1
mkdir -p "$man" "$share/bash-completion/completions" "$share/zsh/site-functions" \
	"$share/fish/vendor_completions.d"
"$collider" help --man >"$man/collider.1"
for command in $("$collider" help | sed -n '/^Commands:/,/^$/s/^  \([a-z+]*\) .*/\1/p'); do
	"$collider" help --man "$command" >"$man/collider-$command.1"
done
"$collider" help --completion=bash >"$share/bash-completion/completions/collider"
"$collider" help --completion=zsh >"$share/zsh/site-functions/_collider"
"$collider" help --completion=fish >"$share/fish/vendor_completions.d/collider.fish"
: >"$share/made"
