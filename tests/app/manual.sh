#!/usr/bin/env bash
# The manual page and the completions name every option that the help lists, complete what a user has begun,
# and are what groff, bash and zsh accept.
#   manual.sh BUILD
set -u
build=$1
failed=0

# check TEXT COMMAND...
check()
{
    local text=$1
    shift
    "$@" && return
    echo "manual: $text" >&2
    failed=1
}

# What bash offers behind the words of the arguments, the last of which is being typed.
offers()
{
    COMP_WORDS=(backdrop "$@")
    COMP_CWORD=$#
    COMPREPLY=()
    _backdrop
    [ ${#COMPREPLY[@]} = 0 ] || printf '%s\n' "${COMPREPLY[@]}" | sort | paste -sd' '
}

# expect WORDS OFFERED WORD...
expect()
{
    local wanted=$1
    shift
    check "'backdrop $*' offers '$(offers "$@")', not '$wanted'" [ "$(offers "$@")" = "$wanted" ]
}

compopt() { :; }
# shellcheck disable=SC1091
source "$build/backdrop.bash" || exit 1
folder=$(mktemp -d) && cd "$folder" || exit 1
trap 'rm -rf "$folder"' EXIT
touch 'a film.mp4' exported.mp4
mkdir sequences

for command in view export eval bench info; do
    while read -r option; do
        expect "$option" "$command" "$option"
        check "no $option in the manual page" grep -qF -- "B$option" <(sed 's/\\-/-/g' "$build/backdrop.1")
        check "no $option for zsh" grep -qE -- "'\*?$option\\[" "$build/_backdrop"
    done < <("$build/backdrop" $command --help | grep -oE '^ +(-., )?--[a-z-]+' | grep -oE -- '--[a-z-]+' | while read -r option; do
        # an option whose name begins another one's offers both
        [ "$(offers "$command" "$option" | wc -w)" = 1 ] && echo "$option"
    done)
done
expect '--threads --threshold' export in.mp4 --thr
expect '' info --thr
expect 'auto cpu cuda' export in.mp4 --backend ''
expect 'cpu cuda' eval --backend c
expect 'a film.mp4' export a
expect 'export exported.mp4' exp
expect 'exported.mp4' export in.mp4 --mask exp
expect 'sequences' eval --compare s
expect '' export in.mp4 --window ''

if command -v groff >/dev/null; then
    check 'groff warns of the manual page' [ -z "$(groff -man -Tutf8 -ww -z "$build/backdrop.1" 2>&1)" ]
fi
if command -v zsh >/dev/null; then
    check 'zsh does not accept its completions' zsh -n "$build/_backdrop"
fi
exit $failed
